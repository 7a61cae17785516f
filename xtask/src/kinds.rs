//! How many files a new kind of something touches: counted by the files that name one of the kinds that there are.

use std::fs;
use std::path::{Path, PathBuf};

use crate::sources::sources;

/// Where the table stands.
const PAGE: &str = "CONTRIBUTING.md";
const BEGIN: &str = "<!-- written by `cargo xtask kinds` -->\n";
const END: &str = "<!-- end -->\n";

/// A kind of something, by one that exists.
struct Kind {
    name: &'static str,
    example: &'static str,
    /// How the program's text names the example.
    words: &'static [&'static str],
    /// So many files at most is what we aim at.
    aim: usize,
    /// Where it is counted; everywhere where this is empty.
    within: &'static [&'static str],
}

const fn kind(name: &'static str, example: &'static str, words: &'static [&'static str], aim: usize) -> Kind {
    Kind { name, example, words, aim, within: &[] }
}

impl Kind {
    /// The same, counted in these folders alone.
    const fn within(self, within: &'static [&'static str]) -> Self {
        Self { within, ..self }
    }

    fn is_in(&self, file: &Path) -> bool {
        self.within.is_empty() || self.within.iter().any(|folder| file.starts_with(folder))
    }
}

/// Where claims are made; what the command `judge` takes by the same name is a kind of its own.
const CLAIMED: &[&str] =
    &["crates/plimsoll-model", "crates/plimsoll-assess", "crates/plimsoll-report", "crates/plimsoll"];

const KINDS: &[Kind] = &[
    kind("load", "messaging", &["messaging", "Messaging"], 5),
    kind("claim", "growth", &["growth", "Growth"], 5).within(CLAIMED),
    kind("test of the judge", "growth", &["growth", "Growth"], 4).within(&["crates/plimsoll-judge"]),
    kind("built-in service", "tcp_proxy", &["tcp_proxy", "TcpProxy"], 4),
    kind("server program", "apache", &["ApacheService", "mod apache", "apache: Apache"], 3),
    kind("host transport", "local", &["HostKind::Local", "local::"], 3),
    // Queues, fits and connections settle as well, in small letters.
    kind("kind of phase", "settle", &["Settle", "mod settle"], 5),
    kind("step", "fill", &["FillDisk", "Fill(", "mod fill"], 5),
    kind("cause", "disk.foreign_sync", &["foreign_sync", "ForeignSync"], 2),
    kind("packet format", "pcapng", &["pcapng"], 2),
    kind("chart", "sweep", &["sweep::", "mod sweep", "sweep,"], 3),
];

/// Writes the table into the page, or fails where it is not what stands there.
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
        let named: Vec<_> = sources.iter().filter(|(file, text)| kind.is_in(file) && names(text)).collect();
        rows += &format!("| {name} | `{example}` | {} | {aim} |\n", named.len());
        lists += &format!("\n**{name}**, as `{example}`:\n\n");
        named.iter().for_each(|(file, _)| lists += &format!("- `{}`\n", file.display()));
    }
    rows + &lists + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_counts_once_for_each_kind_that_it_names() {
        let source = |name: &str, text: &str| (PathBuf::from(name), text.to_owned());
        let table = table(&[source("a.rs", "Messaging, messaging, pcapng"), source("b.rs", "pcapng")]);
        assert!(table.contains("| load | `messaging` | 1 | 5 |"), "{table}");
        assert!(table.contains("| packet format | `pcapng` | 2 | 2 |"), "{table}");
        assert!(table.contains("| claim | `growth` | 0 | 5 |"), "{table}");
    }
}
