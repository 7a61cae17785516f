//! Doc comments that name no subject, names that say nothing, avoided phrases, and hard sentences of pages.
//!
//! The tree has old ones. `xtask/wording.tsv` holds how many each folder and each page may still have; a count never rises, and a lower one is written back.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use crate::{prose, sources};

/// Beginnings of a doc comment that leave its subject out.
const BEGINNINGS: [&str; 5] = ["The same", "It ", "What is ", "What was ", "What has "];
/// Names that say nothing of the type's content.
const NAMES: [&str; 38] = [
    "Against", "Answer", "Anybody", "AsWhom", "Asked", "At", "Beside", "Both", "Coming", "For", "Found",
    "Given", "Grown", "Guilty", "Handed", "Handing", "Happened", "Heard", "Here", "Hurts", "Known", "Made",
    "Now", "Of", "On", "Own", "Place", "Ran", "Running", "Said", "Seen", "Told", "Trouble", "Wanted", "Way",
    "What", "Which", "Why",
];
const KINDS: [&str; 4] = ["struct ", "enum ", "type ", "trait "];
/// Texts that are made from the program.
const GENERATED: &str = "docs/reference";
/// Sources that define what is avoided, and so contain it.
const DEFINITIONS: [&str; 2] = ["xtask/src/prose.rs", "xtask/src/wording.rs"];
/// Remaining findings per folder and page.
const LIMITS: &str = "xtask/wording.tsv";

struct Finding {
    file: PathBuf,
    line: usize,
    text: String,
}

/// Fails where a folder has more findings than its limit. Lowers the limit where `write` is set and the folder has fewer.
pub(crate) fn check(write: bool) -> Result<(), String> {
    let mut findings: BTreeMap<String, Vec<Finding>> = BTreeMap::new();
    sources::each_file(&mut |file, text| {
        if DEFINITIONS.iter().any(|definition| file.ends_with(definition)) {
            return;
        }
        for (line, text) in text.lines().enumerate().filter(|(_, line)| is_vague(line) || is_dialect(line)) {
            let finding = Finding { file: file.to_owned(), line: line + 1, text: text.trim().to_owned() };
            findings.entry(folder(file)).or_default().push(finding);
        }
    })?;
    for page in pages()? {
        let hard = hard_sentences(&page)?;
        let hard = hard.into_iter().map(|(line, text)| Finding { file: page.clone(), line, text });
        findings.entry(page.display().to_string()).or_default().extend(hard);
    }
    findings.retain(|_, found| !found.is_empty());
    let limits = limits(&fs::read_to_string(LIMITS).map_err(|error| format!("{LIMITS}: {error}"))?)?;
    let limit = |folder: &str| limits.get(folder).copied().unwrap_or_default();
    let mut report = String::new();
    for (folder, found) in findings.iter().filter(|(folder, found)| found.len() > limit(folder)) {
        let (count, limit) = (found.len(), limit(folder));
        writeln!(report, "{folder} has {count} vague comments, names or sentences, {limit} at most:").ok();
        for Finding { file, line, text } in found {
            writeln!(report, "  {}:{line}: {text}", file.display()).ok();
        }
    }
    if !report.is_empty() {
        return Err(format!(
            "{report}name the subject (\"Span of the enclosing item\"), and see docs/style.md"
        ));
    }
    let counts: String =
        findings.iter().map(|(folder, found)| format!("{folder}\t{}\n", found.len())).collect();
    if write {
        fs::write(LIMITS, counts).map_err(|error| format!("{LIMITS}: {error}"))?;
    }
    Ok(())
}

/// Median and longest sentence of each text, as a table.
pub(crate) fn lengths() -> Result<String, String> {
    let mut table = String::from("median  longest  text\n");
    for page in pages()? {
        let text = fs::read_to_string(&page).map_err(|error| format!("{}: {error}", page.display()))?;
        let prose::Lengths { median, longest } = prose::lengths(&read(&page, &text));
        writeln!(table, "{median:6}  {longest:7}  {}", page.display()).ok();
    }
    Ok(table)
}

/// Line and text of what is hard to read in a text, and in line 1 what is wrong with all of it.
fn hard_sentences(page: &Path) -> Result<Vec<(usize, String)>, String> {
    let text = fs::read_to_string(page).map_err(|error| format!("{}: {error}", page.display()))?;
    let sentences = read(page, &text);
    let objection = prose::objection(prose::lengths(&sentences));
    let mut hard = prose::findings(sentences);
    hard.extend(objection.map(|why| (1, why)));
    Ok(hard)
}

fn read(page: &Path, text: &str) -> Vec<prose::Sentence> {
    match page.extension() {
        Some(ending) if ending == "json" => prose::sentences_of_schema(text),
        _ if page.ends_with("cli.md") => prose::sentences_of_help(text),
        _ => prose::sentences(text),
    }
}

/// Pages that people write, and what the reference has from the program: help, schemas, causes.
fn pages() -> Result<Vec<PathBuf>, String> {
    let mut pages = sources::entries(Path::new("."))?;
    for folder in ["docs", "experiments"] {
        sources::files_below(Path::new(folder), &mut pages)?;
    }
    let is_schema =
        |page: &Path| page.starts_with(GENERATED) && page.extension().is_some_and(|ending| ending == "json");
    pages.retain(|page| page.extension().is_some_and(|ending| ending == "md") || is_schema(page));
    Ok(pages.iter().map(|page| page.strip_prefix(".").unwrap_or(page).to_owned()).collect())
}

fn is_vague(line: &str) -> bool {
    let line = line.trim_start();
    if let Some(doc) = line.strip_prefix("/// ").or_else(|| line.strip_prefix("//! ")) {
        return BEGINNINGS.iter().any(|beginning| doc.starts_with(beginning));
    }
    let declared =
        KINDS.iter().find_map(|kind| line.split_once(kind).filter(|(before, _)| is_visibility(before)));
    declared.is_some_and(|(_, rest)| {
        let name = rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default();
        NAMES.contains(&name)
    })
}

/// Whether a line has an avoided phrase in its comment, its texts or its names.
fn is_dialect(line: &str) -> bool {
    prose::is_avoided(&line.replace(|c: char| !c.is_alphanumeric(), " "))
}

fn is_visibility(text: &str) -> bool {
    text.is_empty() || (text.starts_with("pub") && text.ends_with(' ') && !text.contains('='))
}

/// `crates/NAME` or `xtask`.
fn folder(file: &Path) -> String {
    let parts = if file.starts_with("crates") { 2 } else { 1 };
    file.components().take(parts).collect::<PathBuf>().display().to_string()
}

fn limits(text: &str) -> Result<BTreeMap<String, usize>, String> {
    let row = |line: &str| {
        let (folder, count) = line.split_once('\t')?;
        Some((folder.to_owned(), count.parse().ok()?))
    };
    let rows = text.lines().map(|line| row(line).ok_or(format!("{LIMITS}: not FOLDER<tab>COUNT: {line}")));
    rows.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subject_is_wanted() {
        assert!(is_vague("    /// The same of what it is in."));
        assert!(is_vague("//! It waits."));
        assert!(is_vague("/// What is read of it."));
        assert!(!is_vague("/// Span of the enclosing item."));
        assert!(!is_vague("/// Items of the list."));
        assert!(!is_vague("// It waits: code comments may continue a thought."));
    }

    #[test]
    fn type_names_say_something() {
        assert!(is_vague("pub(crate) struct Found {"));
        assert!(is_vague("enum Way<'a> {"));
        assert!(!is_vague("struct FoundRun {"));
        assert!(!is_vague("let told = \"a struct Found\";"));
    }

    #[test]
    fn phrases_are_found_in_comments_texts_and_names() {
        assert!(is_dialect("    // Whoever reads it."));
        assert!(is_dialect("    format!(\"the {what} was told\")"));
        assert!(is_dialect("fn an_error_is_told_at_once() {"));
        assert!(!is_dialect("let retold = stories.untold(); // The report names it."));
    }
}
