//! Fuzzing: every reader of text or packets for a given time, seeded with the samples of the tests.
//!
//! libFuzzer is built into the targets, and the compiler's own flags record which code ran, so the stable toolchain is enough. (`cargo +nightly fuzz run`
//! adds the address sanitizer; the readers are safe Rust.)

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::{shell, workers};

/// Compiler flags for libFuzzer's coverage: <https://clang.llvm.org/docs/SanitizerCoverage.html>.
const FLAGS: &str = "--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
                     -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
                     -Cllvm-args=-sanitizer-coverage-trace-compares -Ccodegen-units=1 -Cdebug-assertions=on -Coverflow-checks=on";
/// Targets with a single reader, each with its seed folders.
const OTHERS: [(&str, &[&str]); 11] = [
    ("packets", &["crates/plimsoll-import/tests/data", "fuzz/corpus/packets"]),
    ("tcpdump_text", &["fuzz/corpus/tcpdump_text"]),
    ("saved", &["crates/plimsoll/tests/cli/saved"]),
    ("saved_outputs", &["crates/plimsoll-inventory/tests/saved_outputs"]),
    ("numbers", &[]),
    ("experiment", &["experiments"]),
    ("frames", &["fuzz/corpus/frames"]),
    ("observations", &["fuzz/corpus/observations"]),
    ("http_answers", &["fuzz/corpus/http_answers"]),
    ("smtp", &["fuzz/corpus/smtp"]),
    ("dns_replies", &["fuzz/corpus/dns_replies"]),
];
/// Seed folders of the reader of figures.
const SAMPLES: [&str; 3] = [
    "crates/plimsoll-import/tests/samples",
    "crates/plimsoll-import/tests/documented",
    "crates/plimsoll-import/tests/pages",
];
/// Target of figures, with a reader for each format.
const FIGURES: &str = "figures";
/// Longest input: longer ones find nothing more.
const LONGEST: &str = "-max_len=16384";

/// Fuzzes every reader, or the named one, for `seconds` each; as many at once as there are CPUs.
pub(crate) fn run(only: Option<&str>, seconds: &str) -> Result<(), String> {
    seconds
        .parse::<u32>()
        .map_err(|_| format!("a number of seconds was expected in place of `{seconds}`"))?;
    let formats = formats()?;
    let all = readers(&formats);
    let wanted: Vec<&Reader<'_>> =
        all.iter().filter(|it| only.is_none_or(|only| only == it.name())).collect();
    if wanted.is_empty() {
        let names: Vec<&str> = all.iter().map(Reader::name).collect();
        return Err(format!("there is no such reader: {}", names.join(", ")));
    }
    let host = host()?;
    build(&host)?;
    let programs = format!("fuzz/target/{host}/release");
    let results = workers::each(&wanted, |reader| fuzz(&programs, reader, seconds));
    let found: Vec<String> = results.into_iter().filter_map(Result::err).collect();
    if found.is_empty() {
        eprintln!("{} readers, {seconds} s each: nothing found", wanted.len());
        return Ok(());
    }
    Err(format!(
        "{} of {} readers have found something, which is kept in fuzz/artifacts: {}",
        found.len(),
        wanted.len(),
        found.join("; ")
    ))
}

struct Reader<'r> {
    target: &'r str,
    /// Its format; empty for all, or without a choice.
    format: &'r str,
    /// Its seed folders.
    seeds: &'r [&'r str],
}

impl Reader<'_> {
    fn name(&self) -> &str {
        if self.format.is_empty() { self.target } else { self.format }
    }
}

/// All readers: the targets, and the one of figures for each of its formats.
fn readers(formats: &[String]) -> Vec<Reader<'_>> {
    let others = OTHERS.iter().map(|&(target, seeds)| Reader { target, format: "", seeds });
    let figures = formats.iter().map(String::as_str).chain([""]);
    let figures = figures.map(|format| Reader { target: FIGURES, format, seeds: &SAMPLES });
    others.chain(figures).collect()
}

/// The names of the formats, as the reference has them.
fn formats() -> Result<Vec<String>, String> {
    let path = "docs/reference/formats.md";
    let text = fs::read_to_string(path).map_err(|error| format!("cannot read {path}: {error}"))?;
    Ok(text.lines().filter_map(|line| line.strip_prefix("## ")).map(str::to_owned).collect())
}

/// Target triple of this machine. With a named target, flags do not reach the build scripts of dependencies.
fn host() -> Result<String, String> {
    let version = shell::output("rustc", &["-vV"])?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).ok_or_else(|| "rustc does not name its host".to_owned())
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

fn fuzz(programs: &str, reader: &Reader<'_>, seconds: &str) -> Result<(), String> {
    let name = reader.name();
    let (found, artifacts) = (format!("fuzz/target/corpus/{name}"), format!("fuzz/artifacts/{name}/"));
    for folder in [&found, &artifacts] {
        fs::create_dir_all(folder).map_err(|error| format!("cannot make {folder}: {error}"))?;
    }
    let seeds = reader.seeds.iter().filter(|folder| Path::new(folder).is_dir());
    let (time, artifacts) = (format!("-max_total_time={seconds}"), format!("-artifact_prefix={artifacts}"));
    let options = [time.as_str(), LONGEST, "-timeout=10", "-rss_limit_mb=1024", "-verbosity=0", &artifacts];
    let (named, program) = (format!("READER={}", reader.format), format!("{programs}/{}", reader.target));
    let mut words: Vec<&str> = vec![&named, &program, &found];
    words.extend(seeds);
    words.extend(options);
    shell::run("env", &words).map_err(|error| format!("{name}: {error}"))
}
