//! Repeats the comparisons with peers in short form: builds the programs of the lab, which measure and judge.

use crate::shell;

/// Ratios of earlier runs. They belong to one kind of machine, so another keeps a file of its own.
const KEPT: &str = "xtask/bench.tsv";

pub(crate) fn run(what: &str) -> Result<(), String> {
    shell::cargo(&["build", "--release", "--locked", "--package", "plimsoll"])?;
    let program = shell::target_folder().join("release/plimsoll");
    let kept = std::env::var("PLIMSOLL_BENCH_FILE").unwrap_or_else(|_| KEPT.into());
    guard(&[&program.to_string_lossy(), &kept, what])
}

/// Compares HTTP with the `generate` of an earlier build.
pub(crate) fn before(generate: &str) -> Result<(), String> {
    guard(&["before", generate])
}

fn guard(arguments: &[&str]) -> Result<(), String> {
    let lab = ["--manifest-path", "lab/Cargo.toml", "--target-dir", "lab/target"];
    shell::cargo(&[&["build", "--release", "--locked", "--examples"], &lab[..]].concat())?;
    shell::run("lab/target/release/examples/guard", arguments)
}
