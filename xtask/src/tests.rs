//! Everything that must hold before a change lands.

use std::fs;
use std::io::{Write, stdout};
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::retries::Retries;
use crate::sources::{check_lengths, each_file};
use crate::test_binary::{self, TestRun};
use crate::{
    browser, circles, deny, guest_kernel, h2spec, kinds, layers, netperf, packages, python, shell, wording,
    workers,
};

/// Installs what is needed and runs every check and every test, with those that need root or another program. Fails loudly where one
/// of these is missing: no test is skipped.
pub(crate) fn run(yes: bool) -> Result<(), String> {
    packages::install(yes)?;
    if !packages::is_root()? {
        return Err("some tests make hosts as root: run `sudo -E env PATH=\"$PATH\" cargo xtask test`".into());
    }
    let target = shell::target_folder();
    guest_kernel::fetch(&target)?;
    netperf::fetch(&target)?;
    python::fetch(&target)?;
    browser::fetch(&target)?;
    h2spec::build(&target)?;
    deny::build(&target)?;
    check_sources()?;
    deny::check(&target)?;
    shell::run("env", &["RUSTDOCFLAGS=-D warnings", "cargo", "doc", "--workspace", "--no-deps", "--locked"])?;
    run_tests()?;
    // The tests have built the example with the features of the whole workspace; `cargo run` would build it once more.
    let write = target.join("debug/examples/reference");
    shell::run(&write.display().to_string(), &[FRESH])?;
    compare_docs()
}

/// What takes minutes, needs no package and no root: format, lints, layers, wording, and tests that only compute.
pub(crate) fn quick() -> Result<(), String> {
    check_sources()?;
    let packages = COMPUTING.iter().flat_map(|name| ["--package", name]);
    let computing: Vec<Binary> = build(packages)?.into_iter().filter(Binary::only_computes).collect();
    let ran = run_side_by_side(&computing, &[])?;
    let failed = ran.iter().filter(|(_, ran)| !ran.status.success());
    let failed: Vec<_> = failed.map(|(binary, _)| binary.name.as_str()).collect();
    if failed.is_empty() { Ok(()) } else { Err(format!("tests failed: {}", failed.join(", "))) }
}

/// Checks that need no test binary.
fn check_sources() -> Result<(), String> {
    format()?;
    layers::check()?;
    circles::check()?;
    check_lengths()?;
    wording::check(false)?;
    kinds::run(true)?;
    shell::cargo(&["clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"])
}

/// The black-box stories, most of which measure.
const STORIES: &str = "cli";
/// Number of stories that run at once. They mostly wait; a story looks only at its own run, so it must pass beside two others.
const AT_ONCE: usize = 3;

/// Crates that only compute: their tests measure nothing, change nothing of the machine's or the process's, and share the CPUs.
const COMPUTING: [&str; 7] = [
    "plimsoll-assess",
    "plimsoll-explain",
    "plimsoll-figures",
    "plimsoll-import",
    "plimsoll-judge",
    "plimsoll-model",
    "plimsoll-report",
];
/// Tests that are marked as ignored need root, or a program that `cargo xtask test` installs.
const ALL_TESTS: &str = "--include-ignored";
/// The one of their binaries that measures: how long reading takes, and how much memory.
const MEASURING: &str = "memory";

struct Binary {
    name: String,
    /// The folder of its package, which its tests start in.
    folder: PathBuf,
    program: String,
}

impl Binary {
    fn only_computes(&self) -> bool {
        COMPUTING.iter().any(|of| self.folder.ends_with(of)) && self.name != MEASURING
    }

    /// Runs its tests, `at_once` of them at a time, and writes to `out` what they print.
    fn run_all(&self, at_once: usize, options: &[&str], out: &mut dyn Write) -> Result<TestRun, String> {
        eprintln!("     Running {}: {}", self.name, self.program);
        let at_once = at_once.to_string();
        let args = [&["--test-threads", at_once.as_str()][..], options].concat();
        test_binary::run(&self.program, &self.folder, &args, out)
    }

    fn run_one(&self, test: &str) -> Result<TestRun, String> {
        eprintln!("     Running {test} again, by itself");
        test_binary::run(&self.program, &self.folder, &[ALL_TESTS, "--exact", test], &mut stdout())
    }
}

/// Builds the tests of these packages.
fn build<'a>(packages: impl IntoIterator<Item = &'a str>) -> Result<Vec<Binary>, String> {
    let options = ["test", "--no-run", "--locked", "--message-format=json-render-diagnostics"];
    let words: Vec<&str> = options.into_iter().chain(packages).collect();
    Ok(shell::output("cargo", &words)?.lines().filter_map(binary).collect())
}

/// Builds all tests and runs them: first what only computes, as many binaries at once as there are CPUs, then one binary after the other.
fn run_tests() -> Result<(), String> {
    // Read first: a mistake in the list must not show after half an hour.
    let mut retries = Retries::read()?;
    let (computing, measuring): (Vec<_>, Vec<_>) =
        build(["--workspace"])?.into_iter().partition(Binary::only_computes);
    let mut results = run_side_by_side(&computing, &[ALL_TESTS])?;
    for binary in &measuring {
        let at_once = if binary.name == STORIES { AT_ONCE } else { 1 };
        results.push((binary, binary.run_all(at_once, &[ALL_TESTS], &mut stdout())?));
    }
    let mut failed = Vec::new();
    let mut flaky = Vec::new();
    let mut printed = Vec::new();
    for (binary, ran) in results {
        if !ran.status.success() && ran.failures.is_empty() {
            failed.push(format!("{}: {}", binary.name, ran.status));
        }
        for failure in ran.failures {
            let test = format!("{}: {}", binary.name, failure.name);
            let name = failure.name.clone();
            printed.push(failure);
            let Some(reason) = retries.take(&binary.name, &name) else {
                failed.push(test);
                continue;
            };
            let alone = binary.run_one(&name)?;
            if alone.status.success() && alone.passed == 1 {
                flaky.push(format!("{test} ({reason})"));
            } else {
                failed.push(format!("{test}, twice"));
                printed.extend(alone.failures);
            }
        }
    }
    shell::cargo(&["test", "--doc", "--workspace", "--locked"])?;
    // Once more at the end, where also a log that is cut short has it.
    for failure in &printed {
        eprintln!("---- {}\n{}", failure.name, failure.printed.join("\n"));
    }
    if !flaky.is_empty() {
        eprintln!("failed once and passed by itself: {}", flaky.join(", "));
    }
    if failed.is_empty() { Ok(()) } else { Err(format!("tests failed: {}", failed.join(", "))) }
}

/// Runs all of the binaries, as many at once as there are CPUs, and each with as many tests: one long test leaves no CPU idle. The output
/// of a binary is printed when it has ended.
fn run_side_by_side<'b>(
    binaries: &'b [Binary],
    options: &[&str],
) -> Result<Vec<(&'b Binary, TestRun)>, String> {
    let run = |binary: &Binary| -> Result<TestRun, String> {
        let mut printed = Vec::new();
        let ran = binary.run_all(workers::cpus(), options, &mut printed)?;
        stdout().lock().write_all(&printed).map_err(|error| format!("the standard output: {error}"))?;
        Ok(ran)
    };
    let results = binaries.iter().zip(workers::each(binaries, run));
    results.map(|(binary, ran)| Ok((binary, ran?))).collect()
}

/// A binary with tests, from what cargo says of what it has built.
fn binary(line: &str) -> Option<Binary> {
    let built: Value = serde_json::from_str(line).ok()?;
    let is_test = built["profile"]["test"] == true;
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let manifest = PathBuf::from(text(&built["manifest_path"])?);
    let folder = manifest.parent()?.to_owned();
    let found =
        Binary { name: text(&built["target"]["name"])?, folder, program: text(&built["executable"])? };
    is_test.then_some(found)
}

/// Fails if a file is not formatted. Files are named one by one: cargo does not find modules that a macro declares.
pub(crate) fn format() -> Result<(), String> {
    let mut files = Vec::new();
    each_file(&mut |path, _| files.push(path.display().to_string()))?;
    let shares: Vec<&[String]> = files.chunks(files.len().div_ceil(workers::cpus())).collect();
    let check = |files: &&[String]| {
        let options = ["--check", "--edition", "2024"];
        let args: Vec<&str> = options.into_iter().chain(files.iter().map(String::as_str)).collect();
        shell::run("rustfmt", &args)
    };
    workers::each(&shares, check).into_iter().collect()
}

/// Where the reference is written to be compared.
const FRESH: &str = "target/reference";

/// Fails when docs/reference is not what the program writes.
pub(crate) fn docs_are_current() -> Result<(), String> {
    shell::cargo(&["run", "--quiet", "--package", "plimsoll", "--example", "reference", "--", FRESH])?;
    compare_docs()
}

fn compare_docs() -> Result<(), String> {
    for entry in fs::read_dir(FRESH).map_err(|error| format!("{FRESH}: {error}"))? {
        let fresh = entry.map_err(|error| error.to_string())?.path();
        let kept = Path::new("docs/reference").join(fresh.file_name().unwrap_or_default());
        if fs::read(&fresh).ok() != fs::read(&kept).ok() {
            return Err(format!("{} is out of date; run `cargo xtask docs`", kept.display()));
        }
    }
    Ok(())
}
