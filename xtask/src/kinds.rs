//! Number of files that a new kind of something touches: the files that name one of the existing kinds.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::sources::sources;

/// Page with the table.
const PAGE: &str = "CONTRIBUTING.md";
const BEGIN: &str = "<!-- written by `cargo xtask kinds` -->\n";
const END: &str = "<!-- end -->\n";

/// A kind of something, with an existing example.
struct Kind {
    name: &'static str,
    example: &'static str,
    /// Words for the example in the program's text.
    words: &'static [&'static str],
    /// Largest number of files that we aim at.
    aim: usize,
    /// Folders in which it is counted; empty for all.
    within: &'static [&'static str],
    /// Files that name the example and are not counted, each with the reason why another of the kind need not touch it.
    besides: &'static [(&'static str, &'static str)],
}

const fn kind(name: &'static str, example: &'static str, words: &'static [&'static str], aim: usize) -> Kind {
    Kind { name, example, words, aim, within: &[], besides: &[] }
}

impl Kind {
    const fn within(self, within: &'static [&'static str]) -> Self {
        Self { within, ..self }
    }

    const fn besides(self, besides: &'static [(&'static str, &'static str)]) -> Self {
        Self { besides, ..self }
    }

    fn counts(&self, file: &Path) -> bool {
        let is_within = self.within.is_empty() || self.within.iter().any(|folder| file.starts_with(folder));
        is_within && !self.besides.iter().any(|(beside, _)| file == Path::new(beside))
    }

    /// Unit of the count: a file, or the folder with the example's name around it.
    fn place(&self, file: &Path) -> PathBuf {
        let own = file
            .ancestors()
            .skip(1)
            .filter(|folder| folder.file_name().is_some_and(|name| name == self.example));
        own.last().unwrap_or(file).to_owned()
    }
}

/// Folders with claims; tests of the command `judge` are a kind of their own.
const CLAIMED: &[&str] =
    &["crates/plimsoll-model", "crates/plimsoll-assess", "crates/plimsoll-report", "crates/plimsoll"];

/// Further files that name messaging loads.
const MESSAGING: &[(&str, &str)] = &[
    (
        "crates/plimsoll-assess/src/claims/growth.rs",
        "a claim that is about this load, and counted as a claim",
    ),
    (
        "crates/plimsoll-model/src/experiment/claim/growth.rs",
        "a claim that is about this load, and counted as a claim",
    ),
    ("crates/plimsoll/src/command/new/write.rs", "writes an experiment that uses this load"),
    ("crates/plimsoll-figures/src/formats/perf_bench.rs", "reads what a program of this name prints"),
];

/// Further files that name growth.
const GROWTH: &[(&str, &str)] =
    &[("crates/plimsoll/src/command/import/verdict.rs", "the test of the judge by the same name")];

/// Further files that name foreign flushes.
const FOREIGN_SYNC: &[(&str, &str)] = &[(
    "crates/plimsoll/src/command/selftest/cases.rs",
    "tries whether this one is named on the user's machine; a cause need not be tried there",
)];

const KINDS: &[Kind] = &[
    kind("load", "messaging", &["messaging", "Messaging"], 3).besides(MESSAGING),
    kind("claim", "growth", &["growth", "Growth"], 3).within(CLAIMED).besides(GROWTH),
    // Series grow as well, in small letters.
    kind("test of the judge", "growth", &["Growth", "mod growth"], 4).within(&["crates/plimsoll-judge"]),
    kind("built-in service", "tcp_proxy", &["tcp_proxy", "TcpProxy"], 4),
    kind("server program", "apache", &["ApacheService", "mod apache", "apache: Apache"], 3),
    kind("host transport", "local", &["HostKind::Local", "local::"], 3),
    kind("way to a machine", "ssh", &["Reach::Ssh", "Self::Ssh", "mod ssh", "ssh::"], 4),
    // Queues, fits and connections settle as well, in small letters.
    kind("kind of phase", "settle", &["Settle", "mod settle"], 5),
    kind("step", "fill", &["FillDisk", "Fill(", "mod fill"], 5),
    kind("cause", "disk.foreign_sync", &["foreign_sync", "ForeignSync"], 2).besides(FOREIGN_SYNC),
    kind("format of figures", "vegeta", &["vegeta"], 2),
    // The program also keeps packets in this format: who reads one does not touch that.
    kind("packet format", "pcapng", &["pcapng"], 2).within(&["crates/plimsoll-import"]),
    kind("chart", "storage_sweep", &["storage_sweep"], 2),
];

/// Writes the table into the page, or fails if the page has another.
pub(crate) fn run(check: bool) -> Result<(), String> {
    let page = fs::read_to_string(PAGE).map_err(|error| format!("{PAGE}: {error}"))?;
    let (before, rest) = page.split_once(BEGIN).ok_or_else(|| format!("{PAGE} has no line `{BEGIN}`"))?;
    let (_, after) = rest.split_once(END).ok_or_else(|| format!("{PAGE} has no line `{END}`"))?;
    let fresh = format!("{before}{BEGIN}{}{END}{after}", table(&sources()?));
    match (fresh == page, check) {
        (true, _) => Ok(()),
        (false, true) => Err(format!("{PAGE} is out of date; run `cargo xtask kinds`")),
        (false, false) => fs::write(PAGE, fresh).map_err(|error| format!("{PAGE}: {error}")),
    }
}

fn table(sources: &[(PathBuf, String)]) -> String {
    let mut rows = String::from("\n| kind | counted by | files | aim |\n| --- | --- | --- | --- |\n");
    let mut lists = String::new();
    for kind in KINDS {
        let Kind { name, example, words, aim, .. } = kind;
        let names = |text: &str| words.iter().any(|word| text.contains(word));
        let named = sources.iter().filter(|(file, text)| kind.counts(file) && names(text));
        let named: BTreeSet<PathBuf> = named.map(|(file, _)| kind.place(file)).collect();
        rows += &format!("| {name} | `{example}` | {} | {aim} |\n", named.len());
        lists += &format!("\n**{name}**, as `{example}`:\n\n");
        named.iter().for_each(|file| lists += &format!("- `{}`\n", file.display()));
        kind.besides.iter().for_each(|(file, why)| lists += &format!("- not counted: `{file}`, {why}\n"));
    }
    rows + &lists + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_counts_once_for_each_kind_that_it_names() {
        let source = |name: &str, text: &str| (PathBuf::from(name), text.to_owned());
        let one = source("crates/plimsoll-import/a.rs", "Messaging, messaging, pcapng");
        let table = table(&[one, source("crates/plimsoll-import/b.rs", "pcapng")]);
        assert!(table.contains("| load | `messaging` | 1 | 3 |"), "{table}");
        assert!(table.contains("| packet format | `pcapng` | 2 | 2 |"), "{table}");
        assert!(table.contains("| claim | `growth` | 0 | 3 |"), "{table}");
    }

    #[test]
    fn a_folder_of_the_kinds_own_counts_once_and_what_is_left_out_is_listed() {
        let source = |name: &str| (PathBuf::from(name), "messaging".to_owned());
        let [(beside, why), ..] = MESSAGING else { panic!("nothing is left out") };
        let sources = ["a/messaging/mod.rs", "a/messaging/crew/b.rs", "a/mod.rs", "b/messaging.rs", beside];
        let table = table(&sources.map(source));
        assert!(table.contains("| load | `messaging` | 3 | 3 |"), "{table}");
        assert!(table.contains(&format!("- not counted: `{beside}`, {why}\n")), "{table}");
    }
}
