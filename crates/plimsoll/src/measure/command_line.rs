//! How a command line is run: as its words, or by the shell.
//!
//! A shell costs about a millisecond, and noise with it. A line of plain words needs none. All lines of one comparison are run in the
//! same way, so that the shell never stands on one side alone.

use std::path::{Path, PathBuf};

/// One way to run something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Invocation {
    /// A program and all its words, the first of which is its name.
    Words {
        /// Where the program is.
        program: PathBuf,
        /// Its words.
        words: Vec<String>,
    },
    /// A line for `sh -c`.
    Shell(String),
}

impl std::fmt::Display for Invocation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Words { words, .. } => f.write_str(&words.join(" ")),
            Self::Shell(line) => f.write_str(line),
        }
    }
}

/// How to run lines that are compared with each other: all as words where each is plain and its program is found, else all by the
/// shell.
pub(crate) fn invocations<S: AsRef<str>>(lines: &[S]) -> Vec<Invocation> {
    let as_words = |line: &S| {
        let words = plain_words(line.as_ref())?;
        Some(Invocation::Words { program: find_program(words.first()?)?, words })
    };
    let direct: Option<Vec<Invocation>> = lines.iter().map(as_words).collect();
    direct.unwrap_or_else(|| lines.iter().map(|line| Invocation::Shell(line.as_ref().to_owned())).collect())
}

/// Whether a text can only be a command: a line for the shell, words, or the name of a program.
pub(crate) fn is_command(text: &str) -> bool {
    match plain_words(text).as_deref() {
        Some([name]) => find_program(name).is_some_and(|program| is_executable(&program)),
        Some([]) => false,
        // The name of a file may have blanks in it.
        Some(_) | None => !text.trim().is_empty() && !Path::new(text).is_file(),
    }
}

/// How to run words that were given one by one. A program that is not found is left for the system to complain about.
pub(crate) fn of_words(words: Vec<String>) -> Invocation {
    let name = words.first().cloned().unwrap_or_default();
    Invocation::Words { program: find_program(&name).unwrap_or_else(|| name.into()), words }
}

/// The command for each name that `{}` stands for: a single word is a command line.
pub(crate) fn for_names(command: &[String], names: &[&str]) -> Vec<Invocation> {
    if let [line] = command {
        return invocations(&names.iter().map(|name| substituted(line, name, true)).collect::<Vec<_>>());
    }
    let words = |name: &&str| command.iter().map(|word| substituted(word, name, false)).collect();
    names.iter().map(|name| of_words(words(name))).collect()
}

/// The text with `{}` replaced by a name, quoted where the shell would read more than a word in it.
pub(crate) fn substituted(text: &str, name: &str, for_shell: bool) -> String {
    let plain = name.chars().all(is_plain) && !name.is_empty();
    if plain || !for_shell {
        text.replace("{}", name)
    } else {
        text.replace("{}", &format!("'{}'", name.replace('\'', r"'\''")))
    }
}

/// Characters that mean themselves to every shell, wherever they stand.
fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || "_-./:,@%+=".contains(c) || !c.is_ascii()
}

/// The words of a line that means the same to a shell as when it is cut at its blanks: plain characters, and text in quotes
/// without anything that is special there.
fn plain_words(line: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match c {
            ' ' | '\t' => words.extend(word.take()),
            '\'' | '"' => {
                let quoted = word.get_or_insert_default();
                loop {
                    match chars.next()? {
                        end if end == c => break,
                        '$' | '`' | '\\' if c == '"' => return None,
                        inside => quoted.push(inside),
                    }
                }
            }
            plain if is_plain(plain) => word.get_or_insert_default().push(plain),
            _ => return None,
        }
    }
    words.extend(word);
    // `NAME=value program` sets a variable.
    words.first().is_some_and(|first| !first.contains('=')).then_some(words)
}

/// The program that a shell would start for a name: a path as it is, a bare name from PATH.
fn find_program(name: &str) -> Option<PathBuf> {
    if name.contains('/') {
        return Some(name.into());
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| is_executable(file))
}

fn is_executable(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    file.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_words_and_simple_quotes_need_no_shell() {
        let words = |line: &str| plain_words(line).map(|words| words.join("|"));
        assert_eq!(words("sha256sum  /tmp/a-b.txt").as_deref(), Some("sha256sum|/tmp/a-b.txt"));
        assert_eq!(words("grep 'a b|c' \"d e\" --x=1").as_deref(), Some("grep|a b|c|d e|--x=1"));
        assert_eq!(words("printf ''").as_deref(), Some("printf|"));
    }

    #[test]
    fn an_id_is_no_command_and_a_program_or_several_words_are() {
        for text in ["sh", "sleep 1", "a | b", "/bin/sh"] {
            assert!(is_command(text), "{text}");
        }
        for text in ["latest", "20261128-005", "no-such-program", "", "results.csv"] {
            assert!(!is_command(text), "{text}");
        }
    }

    #[test]
    fn whatever_a_shell_would_read_goes_to_the_shell() {
        for line in [
            "a | b", "a > b", "a; b", "a && b", "a $B", "a `b`", "a *.c", "~/a", "A=1 b", "a \"$b\"", "a 'b",
            "a \\b", "a {1,2}", "a #b", "a\nb", "",
        ] {
            assert_eq!(plain_words(line), None, "{line}");
        }
    }

    #[test]
    fn one_line_that_needs_the_shell_sends_all_of_them_there() {
        let found = invocations(&["sleep 1", "sleep 1 && true"]);
        assert_eq!(found[0], Invocation::Shell("sleep 1".into()));
        assert!(
            matches!(&invocations(&["sleep 1"])[0], Invocation::Words { program, .. } if program.is_absolute())
        );
        assert_eq!(
            invocations(&["exit 3"])[0],
            Invocation::Shell("exit 3".into()),
            "a word of the shell's own"
        );
    }

    #[test]
    fn names_are_quoted_for_the_shell_only_where_they_need_it() {
        assert_eq!(substituted("bench {} > {}.log", "v1.2", true), "bench v1.2 > v1.2.log");
        assert_eq!(substituted("bench {}", "it's $HOME", true), r"bench 'it'\''s $HOME'");
        assert_eq!(substituted("{}", "it's", false), "it's");
    }

    #[test]
    fn a_single_word_is_a_command_line_and_several_are_taken_as_they_are() {
        let line = for_names(&["./bench {} | tail -1".into()], &["1.0", "a b"]);
        assert_eq!(line[1], Invocation::Shell("./bench 'a b' | tail -1".into()));
        let words = for_names(&["./bench".into(), "--version={}".into()], &["1.0", "a b"]);
        assert!(matches!(&words[1], Invocation::Words { words, .. } if words[1] == "--version=a b"));
    }
}
