//! Everything that must hold before a change lands.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::sources::{check_lengths, sources};
use crate::{
    browser, circles, deny, guest_kernel, h2spec, kinds, layers, netperf, packages, python, shell,
    test_binary,
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
    format()?;
    layers::check()?;
    circles::check()?;
    check_lengths()?;
    kinds::run(true)?;
    deny::check(&target)?;
    shell::cargo(&["clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"])?;
    shell::run("env", &["RUSTDOCFLAGS=-D warnings", "cargo", "doc", "--workspace", "--no-deps", "--locked"])?;
    run_tests()?;
    // The tests have built the example with the features of the whole workspace; `cargo run` would build it once more.
    let write = target.join("debug/examples/reference");
    shell::run(&write.display().to_string(), &[FRESH])?;
    compare_docs()
}

/// The black-box stories, most of which measure.
const STORIES: &str = "cli";
/// So many of them run at once. They mostly wait; and since a test looks only at what its own run made, each has to hold beside two others.
const AT_ONCE: &str = "3";

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
/// The one of their binaries that measures: how long reading takes, and how much memory.
const MEASURING: &str = "memory";

/// How many tests of a binary run at once.
fn at_once(name: &str, folder: &Path) -> String {
    let computes = COMPUTING.iter().any(|of| folder.ends_with(of)) && name != MEASURING;
    match (name, computes) {
        (STORIES, _) => AT_ONCE.to_owned(),
        (_, true) => std::thread::available_parallelism().map_or(1, usize::from).to_string(),
        (_, false) => "1".to_owned(),
    }
}

/// How many tests of a binary that failed are run again, each by itself, as other runners of tests do it: a neighbour on a shared machine can take both CPUs
/// for as long as a measurement lasts. What failed so is told at the end, and fails if it fails again. If more failed, that is no accident.
const RUN_AGAIN: usize = 10;

/// Builds all tests, and runs one binary of them after the other.
fn run_tests() -> Result<(), String> {
    let of_all = ["--workspace", "--locked"];
    let build = ["test", "--no-run", "--message-format=json-render-diagnostics"];
    let built = shell::output("cargo", &[&build[..], &of_all].concat())?;
    let mut failed = Vec::new();
    let mut only_once = Vec::new();
    let mut printed = Vec::new();
    for (name, folder, program) in built.lines().filter_map(binary) {
        eprintln!("     Running {name}: {program}");
        // Tests that are marked as ignored are those that need root or a program which was installed above.
        let at_once = at_once(&name, &folder);
        let ran = test_binary::run(&program, &folder, &["--include-ignored", "--test-threads", &at_once])?;
        if ran.status.success() {
            continue;
        }
        let again = (1..=RUN_AGAIN).contains(&ran.failures.len());
        if !again {
            failed.push(format!("{name}: {}", ran.status));
        }
        for failure in ran.failures {
            let test = failure.name.clone();
            printed.push(failure);
            if !again {
                continue;
            }
            eprintln!("     Running {test} again, by itself");
            let alone = test_binary::run(&program, &folder, &["--include-ignored", "--exact", &test])?;
            if alone.status.success() && alone.passed == 1 {
                only_once.push(format!("{name}: {test}"));
            } else {
                failed.push(format!("{name}: {test}, twice"));
                printed.extend(alone.failures);
            }
        }
    }
    shell::cargo(&[&["test", "--doc"][..], &of_all].concat())?;
    // Once more at the end, where also a log that is cut short has it.
    for failure in &printed {
        eprintln!("---- {}\n{}", failure.name, failure.printed.join("\n"));
    }
    if !only_once.is_empty() {
        eprintln!("failed once and passed by itself: {}", only_once.join(", "));
    }
    if failed.is_empty() { Ok(()) } else { Err(format!("tests failed: {}", failed.join(", "))) }
}

/// The name of a binary with tests, the folder of its package, and its file, from what cargo says of what it has built.
fn binary(line: &str) -> Option<(String, PathBuf, String)> {
    let built: Value = serde_json::from_str(line).ok()?;
    let is_test = built["profile"]["test"] == true;
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let manifest = PathBuf::from(text(&built["manifest_path"])?);
    let found = (text(&built["target"]["name"])?, manifest.parent()?.to_owned(), text(&built["executable"])?);
    is_test.then_some(found)
}

/// Fails where something is not formatted, also in modules that the macro of a registry declares: cargo does not find those.
fn format() -> Result<(), String> {
    shell::cargo(&["fmt", "--all", "--check"])?;
    let sources = sources()?;
    let declaring = sources.iter().filter(|(_, text)| text.contains("mod $key;"));
    let folders: Vec<_> = declaring.filter_map(|(file, _)| file.parent()).collect();
    let files = sources.iter().filter(|(file, _)| file.parent().is_some_and(|of| folders.contains(&of)));
    let files: Vec<String> = files.map(|(file, _)| file.display().to_string()).collect();
    let options = ["--check", "--edition", "2024"];
    let args: Vec<&str> = options.into_iter().chain(files.iter().map(String::as_str)).collect();
    shell::run("rustfmt", &args)
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
