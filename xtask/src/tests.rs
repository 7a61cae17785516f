//! Everything that must hold before a change lands.

use std::fs;
use std::path::{Path, PathBuf};

use crate::sources::sources;
use crate::{browser, circles, guest_kernel, kinds, layers, licences, packages, python, shell};

/// Installs what is needed and runs every check and every test, with those that need root or another program. Fails loudly where one
/// of these is missing: no test is skipped.
pub(crate) fn run(yes: bool) -> Result<(), String> {
    packages::install(yes)?;
    if !packages::is_root()? {
        return Err("some tests make hosts as root: run `sudo -E env PATH=\"$PATH\" cargo xtask test`".into());
    }
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| PathBuf::from("target"), PathBuf::from);
    guest_kernel::fetch(&target)?;
    python::fetch(&target)?;
    browser::fetch(&target)?;
    format()?;
    layers::check()?;
    circles::check()?;
    kinds::run(true)?;
    licences::check()?;
    shell::cargo(&["clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"])?;
    shell::run("env", &["RUSTDOCFLAGS=-D warnings", "cargo", "doc", "--workspace", "--no-deps", "--locked"])?;
    // The tests that are marked as ignored are those that need root or a program which was installed above.
    shell::cargo(&[
        "test",
        "--workspace",
        "--locked",
        "--no-fail-fast",
        "--",
        "--include-ignored",
        "--test-threads=1",
    ])?;
    // The tests have built the example with the features of the whole workspace; `cargo run` would build it once more.
    let write = target.join("debug/examples/reference");
    shell::run(&write.display().to_string(), &[FRESH])?;
    compare_docs()
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
