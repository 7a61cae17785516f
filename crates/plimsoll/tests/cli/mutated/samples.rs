//! The samples: files of Plimsoll and of its tests.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

/// A kind of input, and the commands that read it.
pub(super) struct Kind {
    pub(super) name: &'static str,
    /// Name that an input gets.
    pub(super) file: &'static str,
    /// Whether inputs may be compressed as well.
    pub(super) is_packed: bool,
    /// Folders with samples, from that of the repository.
    folders: &'static [&'static str],
    /// Commands, with `FILE` for the input.
    commands: &'static [&'static [&'static str]],
}

const KINDS: [Kind; 6] = [
    Kind {
        name: "experiment",
        file: "mutated.toml",
        is_packed: false,
        folders: &["experiments"],
        commands: &[&["check", "FILE"], &["describe", "FILE"]],
    },
    Kind {
        name: "import",
        file: "printed.txt",
        is_packed: true,
        folders: &[
            "crates/plimsoll-import/tests/samples",
            "crates/plimsoll-import/tests/documented",
            "crates/plimsoll-import/tests/pages",
            "crates/plimsoll/tests/cli/saved",
        ],
        commands: &[
            &["import", "FILE", "--no-store"],
            &["import", "FILE", "--format", "json"],
            &["import", "FILE", "--no-store", "--format", "html"],
            &["import", "FILE", "--store", "imported.sqlite"],
            &["import", "FILE", "--no-store", "--judge", "factors"],
        ],
    },
    Kind {
        name: "saved_outputs",
        file: "saved.txt",
        is_packed: false,
        folders: &["crates/plimsoll-inventory/tests/saved_outputs"],
        commands: &[&["inventory", "--from", "FILE"]],
    },
    Kind {
        name: "capture",
        file: "capture",
        is_packed: true,
        folders: &[
            "crates/plimsoll-import/tests/data",
            "crates/plimsoll-explain/tests/data",
            "fuzz/corpus/packets",
            "fuzz/corpus/tcpdump_text",
        ],
        commands: &[&["trace", "FILE"], &["trace", "FILE", "FILE"], &["trace", "FILE", "--format", "html"]],
    },
    Kind { name: "numbers", file: "numbers", is_packed: false, folders: &[], commands: &[] },
    Kind {
        name: "store",
        file: "runs.sqlite",
        is_packed: false,
        folders: &[],
        commands: &[
            &["history", "--store", "FILE"],
            &["show", "latest", "--store", "FILE"],
            &["show", "xbfcwz18", "--store", "FILE", "--format", "html"],
            &["show", "vks6tahx", "--store", "FILE", "--format", "json"],
            &["export", "pz91sh5w", "--store", "FILE"],
            &["compare", "latest", "xbfcwz18", "--store", "FILE"],
        ],
    },
];

/// Numbers for a test of `judge`.
const NUMBERS: [(&str, &str); 14] = [
    (
        "compare",
        r#"{"id": 7, "a": [100, 101, 99, 100, 102, 98], "b": [110, 111, 109, 111, 112, 107], "paired": true, "unit": "ms"}"#,
    ),
    (
        "compare",
        "a,b\n100,110\n101,111\n99,109\n100,111\n102,112\n98,107\n100,110\n101,112\n99,108\n100,110\n",
    ),
    ("compare", "a;b\r\n80,4;100,2\r\n79,1;99,1\r\n81,2;101,0\r\n80,9;100,4\r\n"),
    (
        "recovery",
        r#"{"id": "web", "flooded": {"baseline": [219, 221, 218, 220, 222, 219], "after": [110, 109, 111, 110, 110, 109]},
        "control": {"baseline": [219, 221, 218, 220, 222, 219], "after": [111, 109, 110, 110, 112, 109]}, "margin": 0.05}"#,
    ),
    ("factors", "server,client,value\nold,1,219\nold,2,215\nnew,1,221\nnew,2,48\n"),
    (
        "factors",
        r#"{"rows": [{"server": "old", "client": 1, "value": 219}, {"server": "new", "client": 2, "value": 48}],
        "factors": ["server", "client"], "value": "value", "block": "block"}"#,
    ),
    ("growth", "n,time\n1,33\n1,34\n2,38\n2,37\n4,54\n8,110\n16,318\n32,1118\n64,4254\n"),
    (
        "load-curve",
        "utilisation,load,users\n0.801,1.797,5\n0.964,3.073,5\n0.997,4.003,5\n0.471,0.648,5\n0.246,0.283,5\n",
    ),
    ("loss", r#"{"target": {"rate": 90e6, "rtt": 0.003}}"#),
    (
        "scaling",
        "n,throughput\n1,955\n4,3697\n8,6945\n12,9761\n16,12217\n20,14301\n24,16085\n28,17590\n32,18835\n",
    ),
    ("changes", "10\n11\n10\n12\n11\n10\n11\n20\n21\n20\n22\n21\n20\n21\n22\n20\n"),
    (
        "changes",
        "time,seconds\n2026-01-01,10.5\n2026-01-02,11\n2026-01-03,10\n2026-01-04,30\n2026-01-05,31\n",
    ),
    (
        "modes",
        r#"{"values": [80.4, 79.1, 81.2, 80.9, 78.8, 80.2, 79.9, 180.5, 181.0, 179.3, 180.1, 180.7, 181.2, 179.9]}"#,
    ),
    ("modes", "12\n11\n12\n13\n12\n40\n41\n42\n41\n40\n12\n11\n"),
];

/// A file of runs as an older version wrote it.
const STORE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cli/stored/runs.sqlite.gz");

static UNPACKED: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let unpacked = Command::new("gzip").args(["-dc", STORE]).output().expect("gzip starts");
    assert!(unpacked.status.success());
    unpacked.stdout
});

pub(super) struct Sample {
    pub(super) kind: &'static Kind,
    from: From,
}

enum From {
    File(PathBuf),
    Numbers(&'static str, &'static str),
    Store,
}

impl Sample {
    /// Its name for messages.
    pub(super) fn name(&self) -> String {
        match &self.from {
            From::File(path) => path.display().to_string(),
            From::Numbers(test, _) => (*test).to_owned(),
            From::Store => STORE.to_owned(),
        }
    }

    pub(super) fn read(&self) -> Vec<u8> {
        match &self.from {
            From::File(path) => fs::read(path).expect("it was listed"),
            From::Numbers(_, text) => text.as_bytes().to_vec(),
            From::Store => UNPACKED.clone(),
        }
    }

    pub(super) fn commands(&self) -> Vec<Vec<String>> {
        let words = |words: &[&str]| words.iter().map(ToString::to_string).collect();
        match &self.from {
            From::Numbers(test, _) => {
                let judge = ["judge", test, "FILE"];
                let formats: [&[&str]; 3] = [&[], &["--batch"], &["--format", "html"]];
                let model = ["model", "--times", "FILE", "--rate", "1", "--jobs", "1000"];
                formats
                    .map(|format| words(&[&judge, format].concat()))
                    .into_iter()
                    .chain([words(&model)])
                    .collect()
            }
            From::File(_) | From::Store => self.kind.commands.iter().map(|command| words(command)).collect(),
        }
    }
}

/// All of them, kind by kind, in an order that stays the same.
pub(super) fn all() -> Vec<Sample> {
    KINDS.iter().flat_map(of_kind).collect()
}

fn of_kind(kind: &'static Kind) -> Vec<Sample> {
    let from: Vec<From> = match kind.name {
        "numbers" => NUMBERS.iter().map(|(test, text)| From::Numbers(test, text)).collect(),
        "store" => vec![From::Store],
        _ => {
            let mut files = Vec::new();
            let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
            kind.folders.iter().for_each(|folder| list(&repository.join(folder), &mut files));
            files.sort();
            assert!(files.len() > 5, "samples of {}: {files:?}", kind.name);
            files.into_iter().map(From::File).collect()
        }
    };
    from.into_iter().map(|from| Sample { kind, from }).collect()
}

fn list(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder with samples").flatten() {
        let path = entry.path();
        if path.is_dir() {
            list(&path, files);
        } else if File::open(&path).is_ok() {
            files.push(path);
        }
    }
}
