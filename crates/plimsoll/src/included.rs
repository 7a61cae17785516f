//! Files that a program's own configuration includes, as far as `check` can know them: those that it names by a whole path.
//!
//! Postfix and HAProxy have no directive for it.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use plimsoll_model::effect::{Effect, EffectKind, word};
use plimsoll_model::experiment::Service;
use plimsoll_model::plan::Plan;

use crate::bounded;

/// Files that are followed of one configuration, and patterns that are looked up, at most: each pattern may read a folder.
const MOST: usize = 64;
/// Longest name of a file, in bytes (`NAME_MAX` in linux/limits.h). A longer pattern is not looked up.
const LONGEST_NAME: usize = 255;
/// Largest file that is followed, in bytes.
const LARGEST: u64 = 1 << 20;

/// Language of a configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Language {
    /// <https://nginx.org/en/docs/ngx_core_module.html#include>
    Nginx,
    /// <https://httpd.apache.org/docs/2.4/mod/core.html#include>
    Httpd,
    /// unbound.conf(5), `include:`
    Unbound,
    /// <https://www.postgresql.org/docs/current/config-setting.html#CONFIG-INCLUDES>
    Postgres,
}

impl Language {
    fn of(service: &Service) -> Option<Self> {
        service.processes("").iter().find_map(|program| match program.as_str() {
            "nginx" => Some(Self::Nginx),
            "apache2" | "apachectl" | "httpd" => Some(Self::Httpd),
            "unbound" => Some(Self::Unbound),
            "postgres" | "pg_ctl" => Some(Self::Postgres),
            _ => None,
        })
    }

    /// Patterns of paths that a text includes.
    fn includes(self, text: &str) -> Vec<String> {
        let directives: Vec<Vec<String>> = match self {
            Self::Nginx => statements(text),
            Self::Httpd => text.replace("\\\n", " ").lines().map(words).collect(),
            // A colon ends a name there, and an equals sign is as good as a blank here.
            Self::Unbound => text.lines().map(|line| words(&line.replacen(':', " ", 1))).collect(),
            Self::Postgres => text.lines().map(|line| words(&line.replacen('=', " ", 1))).collect(),
        };
        let found = directives.into_iter().filter_map(|words| {
            let [name, path, ..] = words.as_slice() else { return None };
            match (self, name.to_ascii_lowercase().as_str()) {
                (Self::Nginx | Self::Httpd | Self::Unbound | Self::Postgres, "include")
                | (Self::Httpd, "includeoptional")
                | (Self::Unbound, "include-toplevel")
                | (Self::Postgres, "include_if_exists") => Some(path.clone()),
                (Self::Postgres, "include_dir") => Some(format!("{path}/*.conf")),
                _ => None,
            }
        });
        found.collect()
    }
}

/// Words of a line up to a comment; one in quotation marks may have blanks.
fn words(line: &str) -> Vec<String> {
    let mut found = vec![String::new()];
    let mut quote = None;
    for c in line.trim().chars() {
        match (quote, c) {
            (None, '#') => break,
            (None, '"' | '\'') => quote = Some(c),
            (Some(open), _) if open == c => quote = None,
            (None, _) if c.is_whitespace() => found.push(String::new()),
            _ => found.iter_mut().next_back().into_iter().for_each(|word| word.push(c)),
        }
    }
    found.retain(|word| !word.is_empty());
    found
}

/// Statements of nginx, which end with `;` or a brace outside of quotation marks.
fn statements(text: &str) -> Vec<Vec<String>> {
    let lines: Vec<String> = text.lines().map(|line| uncommented(line).to_owned()).collect();
    lines.join("\n").split([';', '{', '}']).map(words).collect()
}

/// A line without its comment.
fn uncommented(line: &str) -> &str {
    let mut quote = None;
    for (at, c) in line.char_indices() {
        match (quote, c) {
            (None, '#') => return &line[..at],
            (None, '"' | '\'') => quote = Some(c),
            (Some(open), _) if open == c => quote = None,
            _ => {}
        }
    }
    line
}

/// Files that the configurations of a plan include.
pub(crate) fn effects(plan: &Plan) -> Vec<Effect> {
    let services = plan.cells.iter().flat_map(|cell| &cell.experiment.services);
    let found: BTreeSet<Effect> = services.flat_map(|(name, service)| of_service(name, service)).collect();
    found.into_iter().collect()
}

fn of_service(name: &str, service: &Service) -> Vec<Effect> {
    let (Some(language), Some(text)) = (Language::of(service), &service.template) else { return Vec::new() };
    let effect = |what: String| Effect {
        kind: EffectKind::Reads,
        what,
        by: format!("services.{name}.config"),
        host: Some(service.on.clone()),
        as_whom: None,
        needs: None,
        path: None,
        allow: None,
        quick: false,
    };
    let mut files = Followed::default();
    files.follow(language, text);
    let listed = files.found.iter().map(|path| format!("{}, which the configuration includes", shown(path)));
    let left = files.left.iter().map(|pattern| {
        format!("files that `{}` in the configuration includes, which are not followed", word(pattern))
    });
    listed.chain(left).map(effect).collect()
}

fn shown(path: &Path) -> String {
    word(&path.to_string_lossy())
}

/// Files that a configuration includes, and patterns that are not followed.
#[derive(Default)]
struct Followed {
    found: BTreeSet<PathBuf>,
    left: BTreeSet<String>,
    /// Patterns that were looked up.
    patterns: usize,
}

impl Followed {
    fn follow(&mut self, language: Language, text: &str) {
        for pattern in language.includes(text) {
            self.patterns += 1;
            let files = if self.patterns > MOST { Vec::new() } else { matches(Path::new(&pattern)) };
            // A relative path begins in a folder that the run makes.
            if files.is_empty() || pattern.contains("{{") || !pattern.starts_with('/') {
                self.left.insert(pattern);
                continue;
            }
            for file in files {
                if self.found.len() >= MOST {
                    self.left.insert(pattern.clone());
                    break;
                }
                if !self.found.insert(file.clone()) {
                    continue;
                }
                match bounded::text(&file, LARGEST) {
                    Ok(text) => self.follow(language, &text),
                    Err(_) => drop(self.left.insert(file.display().to_string())),
                }
            }
        }
    }
}

/// Regular files that a whole path names, in which `*` and `?` of the last part stand for letters.
fn matches(pattern: &Path) -> Vec<PathBuf> {
    let (Some(folder), Some(name)) = (pattern.parent(), pattern.file_name().and_then(|name| name.to_str()))
    else {
        return Vec::new();
    };
    let is_file = |path: &PathBuf| path.is_file();
    if !name.contains(['*', '?', '[']) {
        return Some(pattern.to_owned()).filter(is_file).into_iter().collect();
    }
    if name.len() > LONGEST_NAME {
        return Vec::new();
    }
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let named = entries.filter(|entry| entry.file_name().to_str().is_some_and(|entry| fits(name, entry)));
    let mut found: Vec<PathBuf> = named.map(|entry| entry.path()).filter(is_file).collect();
    found.sort();
    found
}

/// Whether a name fits a pattern of `*` and `?` (glob(7)); brackets fit none.
fn fits(pattern: &str, name: &str) -> bool {
    let (mut pattern, name): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
    pattern.dedup_by(|a, b| *a == '*' && *b == '*');
    if pattern.iter().filter(|part| **part != '*').count() > name.len() {
        return false;
    }
    // Of each beginning of the pattern, which beginnings of the name fit.
    let mut fit: Vec<bool> = (0..=name.len()).map(|length| length == 0).collect();
    for &part in &pattern {
        let mut next = vec![part == '*' && fit[0]; name.len() + 1];
        for at in 1..=name.len() {
            next[at] = match part {
                '*' => next[at - 1] || fit[at],
                '?' => fit[at - 1],
                part => fit[at - 1] && part == name[at - 1],
            };
        }
        fit = next;
    }
    fit[name.len()] && !(name.first() == Some(&'.') && pattern.first() != Some(&'.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_language_names_what_it_includes() {
        for (language, text, expected) in [
            (
                Language::Nginx,
                "# include /no;\nevents{}\nhttp { include /etc/nginx/mime.types; include \"a b/*.conf\";\nincluded off; }",
                vec!["/etc/nginx/mime.types", "a b/*.conf"],
            ),
            (
                Language::Httpd,
                "Include conf/a.conf\n#Include no\n  IncludeOptional \\\n \"/etc/apache2/mods-enabled/*.load\"\n",
                vec!["conf/a.conf", "/etc/apache2/mods-enabled/*.load"],
            ),
            (
                Language::Unbound,
                "server:\n  include: \"/etc/unbound/a.conf\" # one\ninclude-toplevel: /b/*.conf\n",
                vec!["/etc/unbound/a.conf", "/b/*.conf"],
            ),
            (
                Language::Postgres,
                "port = 5432\ninclude 'a.conf'\ninclude_dir = '/etc/pg'\ninclude_if_exists '/x' # y\n#include 'no'",
                vec!["a.conf", "/etc/pg/*.conf", "/x"],
            ),
        ] {
            assert_eq!(language.includes(text), expected, "{language:?}");
        }
    }

    #[test]
    fn files_are_followed_once_and_what_cannot_be_is_said() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let all = format!("include {}/*.conf;", folder.path().display());
        fs::write(path("a.conf"), &all).unwrap();
        fs::write(path("b.conf"), "include more.conf;").unwrap();
        fs::write(path(".c.conf"), "").unwrap();
        let mut followed = Followed::default();
        followed.follow(Language::Nginx, &format!("{all} include /nowhere/x;"));
        assert_eq!(followed.found.into_iter().collect::<Vec<_>>(), [path("a.conf"), path("b.conf")]);
        assert_eq!(followed.left.into_iter().collect::<Vec<_>>(), ["/nowhere/x", "more.conf"]);
    }

    #[test]
    fn patterns_that_would_take_minutes_are_named_and_not_looked_up() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::write(path("a.conf"), "").unwrap();
        let last = format!("{}/*.conf", folder.path().display());
        let mut text: String = (0..MOST).map(|n| format!("include /nowhere/{n};\n")).collect();
        let mut followed = Followed::default();
        followed.follow(Language::Nginx, &format!("{text} include {last};"));
        assert!(followed.found.is_empty() && followed.left.contains(&last), "{:?}", followed.found);
        text =
            format!("include {last}; include {}/{};", folder.path().display(), "*".repeat(LONGEST_NAME + 1));
        let mut followed = Followed::default();
        followed.follow(Language::Nginx, &text);
        assert_eq!(followed.found.into_iter().collect::<Vec<_>>(), [path("a.conf")]);
        assert_eq!(followed.left.len(), 1, "its name is longer than that of any file");
    }

    #[test]
    fn patterns_fit_as_a_shell_has_them() {
        for (pattern, name, expected) in [
            ("*.conf", "a.conf", true),
            ("*.conf", ".conf", false),
            ("a?c*", "abcd", true),
            ("*a*b*", "xxaxxbxx", true),
            ("*a*b", "ba", false),
            ("***b", "ab", true),
            ("???*", "ab", false),
        ] {
            assert_eq!(fits(pattern, name), expected, "{pattern} {name}");
        }
    }
}
