//! Fuzzing: every reader of text or packets, for so long each, with the samples of the tests to begin with.
//!
//! libFuzzer is built into the targets, and the compiler's own flags tell it which code ran, so that the stable toolchain does. (`cargo +nightly fuzz run`
//! adds the address sanitizer; the readers are safe Rust.)

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::shell;

/// What libFuzzer needs to know of the code that runs: <https://clang.llvm.org/docs/SanitizerCoverage.html>.
const FLAGS: &str = "--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
                     -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
                     -Cllvm-args=-sanitizer-coverage-trace-compares -Ccodegen-units=1 -Cdebug-assertions=on -Coverflow-checks=on";
/// The targets that have no readers of their own, each with the folders that it begins with.
const OTHERS: [(&str, &[&str]); 5] = [
    ("packets", &["crates/plimsoll-import/tests/data", "fuzz/corpus/packets"]),
    ("tcpdump_text", &["fuzz/corpus/tcpdump_text"]),
    ("saved", &["crates/plimsoll/tests/cli/saved"]),
    ("papers", &["crates/plimsoll-probe/tests/papers"]),
    ("numbers", &[]),
];
/// What the reader of figures begins with.
const SAMPLES: [&str; 3] = [
    "crates/plimsoll-import/tests/samples",
    "crates/plimsoll-import/tests/documented",
    "crates/plimsoll-import/tests/pages",
];
/// The target of figures, of which each format is a reader of its own.
const FIGURES: &str = "figures";
/// Inputs of more bytes find nothing that shorter ones do not.
const LONGEST: &str = "-max_len=16384";

/// Fuzzes every reader, or the one of this name, for so many seconds each.
pub(crate) fn run(only: Option<&str>, seconds: &str) -> Result<(), String> {
    seconds
        .parse::<u32>()
        .map_err(|_| format!("a number of seconds was expected in place of `{seconds}`"))?;
    let host = host()?;
    build(&host)?;
    let programs = format!("fuzz/target/{host}/release");
    let readers = readers()?;
    let wanted = |name: &str| only.is_none_or(|only| only == name);
    let mut ran = 0;
    for (target, seeds) in OTHERS.iter().filter(|(target, _)| wanted(target)) {
        fuzz(&programs, (target, ""), seeds, seconds)?;
        ran += 1;
    }
    for reader in readers.iter().filter(|reader| wanted(reader)) {
        fuzz(&programs, (FIGURES, reader), &SAMPLES, seconds)?;
        ran += 1;
    }
    if wanted(FIGURES) {
        fuzz(&programs, (FIGURES, ""), &SAMPLES, seconds)?;
        ran += 1;
    }
    if ran == 0 {
        let names: Vec<&str> = OTHERS.iter().map(|(target, _)| *target).collect();
        return Err(format!(
            "there is no such reader: {}, {}, {FIGURES}",
            names.join(", "),
            readers.join(", ")
        ));
    }
    eprintln!("{ran} readers, {seconds} s each: nothing found");
    Ok(())
}

/// The names of the formats, as the reference has them.
fn readers() -> Result<Vec<String>, String> {
    let path = "docs/reference/formats.md";
    let text = fs::read_to_string(path).map_err(|error| format!("cannot read {path}: {error}"))?;
    Ok(text.lines().filter_map(|line| line.strip_prefix("## ")).map(str::to_owned).collect())
}

/// What this machine is called. Where a target is named, flags are those of the targets alone, and not of the build scripts of dependencies.
fn host() -> Result<String, String> {
    let told = shell::output("rustc", &["-vV"])?;
    let host = told.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).ok_or_else(|| "rustc does not tell its host".to_owned())
}

fn build(host: &str) -> Result<(), String> {
    eprintln!("$ cargo build --release (in fuzz, for libFuzzer)");
    let status = Command::new("cargo")
        .args(["build", "--release", "--manifest-path", "fuzz/Cargo.toml", "--target-dir", "fuzz/target"])
        .args(["--target", host])
        .env("RUSTFLAGS", FLAGS)
        .status()
        .map_err(|error| format!("cannot run cargo: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("the fuzz targets could not be built: {status}")) }
}

fn fuzz(programs: &str, (target, reader): (&str, &str), seeds: &[&str], seconds: &str) -> Result<(), String> {
    let name = if reader.is_empty() { target } else { reader };
    let (found, artifacts) = (format!("fuzz/target/corpus/{name}"), format!("fuzz/artifacts/{name}/"));
    for folder in [&found, &artifacts] {
        fs::create_dir_all(folder).map_err(|error| format!("cannot make {folder}: {error}"))?;
    }
    let seeds = seeds.iter().filter(|folder| Path::new(folder).is_dir());
    let (time, artifacts) = (format!("-max_total_time={seconds}"), format!("-artifact_prefix={artifacts}"));
    let options = [time.as_str(), LONGEST, "-timeout=10", "-rss_limit_mb=1024", "-verbosity=0", &artifacts];
    let (named, program) = (format!("READER={reader}"), format!("{programs}/{target}"));
    let mut words: Vec<&str> = vec![&named, &program, &found];
    words.extend(seeds);
    words.extend(options);
    shell::run("env", &words)
}
