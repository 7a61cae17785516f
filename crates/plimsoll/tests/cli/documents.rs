//! The pages of docs: their links lead somewhere, and the program understands their commands.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use clap::Parser;
use plimsoll::args::Args;
use regex::Regex;

use crate::lab::Lab;

fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("it is there")
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// All Markdown in a folder and those below it.
fn pages_in(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("it is there") {
        let path = entry.expect("it can be read").path();
        if path.is_dir() {
            pages_in(&path, into);
        } else if path.extension().is_some_and(|ending| ending == "md") {
            into.push(path);
        }
    }
}

/// A page without its fences, in which links and headings do not count.
fn prose(page: &str) -> String {
    let mut fenced = false;
    let mut kept = String::new();
    for line in page.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if !fenced {
            kept.push_str(line);
            kept.push('\n');
        }
    }
    kept
}

/// The names by which headings of a page are linked to, as GitHub and mdBook make them.
fn anchors(page: &str) -> BTreeSet<String> {
    let headings = prose(page);
    let headings = headings.lines().filter(|line| line.starts_with('#'));
    headings
        .map(|heading| {
            let words = heading.trim_start_matches('#').trim().to_lowercase().replace(' ', "-");
            words.chars().filter(|c| c.is_alphanumeric() || matches!(c, '-' | '_')).collect()
        })
        .collect()
}

#[test]
fn every_link_between_pages_leads_to_a_file_and_a_heading_that_exist() {
    let project = project();
    let mut pages: Vec<PathBuf> =
        ["README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"].map(|name| project.join(name)).into();
    pages_in(&project.join("docs"), &mut pages);
    pages_in(&project.join("experiments"), &mut pages);
    let link = Regex::new(r"\]\(([^)\s]+)\)").expect("a pattern");
    let code = Regex::new(r"`[^`\n]*`").expect("a pattern");
    let (mut wrong, mut seen) = (Vec::new(), 0);
    for page in &pages {
        let text = read(page);
        let text = prose(&text);
        for found in link.captures_iter(&code.replace_all(&text, "")) {
            let target = &found[1];
            if target.contains("://") {
                continue;
            }
            seen += 1;
            let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
            let folder = page.parent().expect("a page is in a folder");
            let file = if file.is_empty() { page.clone() } else { folder.join(file) };
            let leads = file.exists() && (anchor.is_empty() || anchors(&read(&file)).contains(anchor));
            if !leads {
                wrong.push(format!("{}: {target}", page.display()));
            }
        }
    }
    assert!(seen > 50, "links are found at all: {seen}");
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn the_site_has_every_page() {
    let docs = project().join("docs");
    let mut pages = Vec::new();
    pages_in(&docs, &mut pages);
    let contents = read(&docs.join("SUMMARY.md"));
    let listed = |page: &Path| contents.contains(&format!("({})", page.display()));
    let names = pages.iter().map(|page| page.strip_prefix(&docs).expect("it is in docs"));
    let missing: Vec<_> = names.filter(|page| *page != "SUMMARY.md" && !listed(page)).collect();
    assert_eq!(missing, Vec::<&Path>::new());
}

/// Words of a command as a shell splits them, up to a pipe, a redirection, the next command, or a comment.
fn words_of(command: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for c in command.chars() {
        match (quote, c) {
            (Some(open), _) if c == open => quote = None,
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, ' ') => words.extend(word.take()),
            (None, '|' | '>' | '<' | ';' | '&') => break,
            (None, '#') if word.is_none() => break,
            _ => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

/// Checks that the program understands a command of a page, and knows its experiment and settings.
fn understood(lab: &Lab, command: &str) -> Result<(), String> {
    let words = words_of(command);
    Args::try_parse_from(&words).map_err(|error| error.to_string())?;
    let is_option = |word: &&String| word.starts_with('-');
    let name = match words[1].as_str() {
        "run" | "check" | "describe" => words.get(2).filter(|word| !is_option(word)),
        _ => words.iter().skip_while(|word| *word != "--experiment").nth(1),
    };
    // A word in capitals stands for a name of the reader's; a file of the reader's is missing here, unless the page has it.
    let Some(name) = name.filter(|name| **name != name.to_uppercase()) else { return Ok(()) };
    if name.ends_with(".toml") && !lab.path(name).exists() {
        return Ok(());
    }
    let settings = words.windows(2).filter(|pair| pair[0] == "--set").flatten();
    let words: Vec<&str> = ["check", name].into_iter().chain(settings.map(String::as_str)).collect();
    let output = lab.plimsoll(&words);
    if output.code == Some(0) { Ok(()) } else { Err(output.stderr) }
}

/// The commands of a page: lines of fences and indented ones that begin with the program's name.
fn commands(page: &str) -> Vec<&str> {
    let mut fenced = false;
    let mut found = Vec::new();
    for line in page.lines() {
        fenced ^= line.starts_with("```");
        if (fenced || line.starts_with("    ")) && line.trim_start().starts_with("plimsoll ") {
            found.push(line.trim());
        }
    }
    found
}

#[test]
fn the_program_understands_every_command_of_the_pages() {
    let project = project();
    let mut pages = vec![project.join("README.md")];
    pages_in(&project.join("docs"), &mut pages);
    pages_in(&project.join("experiments"), &mut pages);
    let lab = Lab::new();
    let own = read(&project.join("docs/first-run.md"));
    let own = own.split_once("```toml\n").and_then(|(_, rest)| rest.split_once("```")).expect("a file");
    lab.file("mine.toml", own.0);
    let (mut wrong, mut seen) = (Vec::new(), 0);
    for page in &pages {
        let text = read(page);
        for command in commands(&text) {
            seen += 1;
            if let Err(why) = understood(&lab, command) {
                wrong.push(format!("{}: {command}: {why}", page.display()));
            }
        }
    }
    assert!(seen > 60, "commands are found at all: {seen}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The experiments of a page: fences of TOML that begin with a question.
fn files_of(page: &str) -> impl Iterator<Item = &str> {
    let fences = page.split("```toml\n").skip(1).filter_map(|rest| rest.split_once("\n```"));
    fences.map(|(text, _)| text).filter(|text| text.starts_with("question = "))
}

#[test]
fn every_experiment_of_the_pages_is_in_order() {
    let project = project();
    let mut pages = vec![project.join("README.md")];
    pages_in(&project.join("docs"), &mut pages);
    let lab = Lab::new();
    for page in &pages {
        for text in files_of(&read(page)) {
            let file = lab.file("page.toml", text);
            let output = lab.plimsoll(&["check", &file]);
            assert_eq!(output.code, Some(0), "{}: {}", page.display(), output.stderr);
        }
    }
    let named =
        ["steps.md", "guests.md", "machines.md", "tls.md"].map(|page| project.join("docs").join(page));
    let how_to =
        pages.iter().filter(|page| page.starts_with(project.join("docs/how-to")) || named.contains(page));
    // `ab`, and `explain` of other tools' output, take no experiment.
    let how_to = how_to.filter(|page| !["change.md", "posted.md"].iter().any(|name| page.ends_with(name)));
    let without: Vec<_> = how_to.filter(|page| files_of(&read(page)).next().is_none()).collect();
    assert_eq!(without, Vec::<&PathBuf>::new(), "a page of instructions has a file to copy");
}

#[test]
fn a_command_that_is_misspelt_is_found() {
    let lab = Lab::new();
    for command in [
        "plimsoll run flood-relay --quik",
        "plimsoll run flod-relay --quick",
        "plimsoll run flood-relay --set hosts.fierwall.kernel=debian:6.12",
        "plimsoll runn flood-relay",
        "plimsoll gate latest --format junitt",
        "plimsoll bisect --experiment kernel/pth --versions kernels.txt",
        "plimsoll bisect --good 1 --badd 9 -- ./bench {}",
        "plimsoll bisect --good 1 --bad 9 -- ./bench {}",
    ] {
        assert!(understood(&lab, command).is_err(), "{command}");
    }
    let right = "plimsoll run flood-relay --set 'services.web.web={ clients = 4 }' | tee x # so";
    assert_eq!(understood(&lab, right), Ok(()));
}
