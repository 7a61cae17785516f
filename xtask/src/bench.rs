//! Repeats the rows of docs/benchmarks.md in short form, against peers and against an earlier build: builds the programs of the lab, which measure
//! and judge.

use crate::shell;

/// Ratios of earlier runs. They belong to one kind of machine, so another keeps a file of its own.
const KEPT: &str = "xtask/bench.tsv";
/// Variable with the folder of an earlier build.
const BEFORE: &str = "PLIMSOLL_BENCH_BEFORE";

/// Keeps the ratios to peers.
pub(crate) fn record() -> Result<(), String> {
    build()?;
    guard("record", &kept())
}

/// Compares with the kept ratios to peers, and with the earlier build where one is given.
pub(crate) fn check(before: Option<&str>) -> Result<(), String> {
    let before = before.map(ToOwned::to_owned).or_else(|| std::env::var(BEFORE).ok());
    build()?;
    let by_peers = guard("check", &kept());
    before.map_or(Ok(()), |before| guard("before", &before)).and(by_peers)
}

/// Compares with an earlier build: the folder with its programs of the lab.
pub(crate) fn before(folder: &str) -> Result<(), String> {
    build()?;
    guard("before", folder)
}

fn kept() -> String {
    std::env::var("PLIMSOLL_BENCH_FILE").unwrap_or_else(|_| KEPT.into())
}

fn build() -> Result<(), String> {
    let lab = ["--manifest-path", "lab/Cargo.toml", "--target-dir", "lab/target"];
    shell::cargo(&[&["build", "--release", "--locked", "--examples"], &lab[..]].concat())
}

fn guard(what: &str, place: &str) -> Result<(), String> {
    shell::run("lab/target/release/examples/guard", &[what, place])
}
