//! Check of every dependency's licence and source against deny.toml.

use std::path::Path;

use crate::{shell, tool};

/// The version of cargo-deny that is used.
const VERSION: &str = "0.20.2";

/// Builds cargo-deny, unless it is there.
pub(crate) fn build(target: &Path) -> Result<(), String> {
    tool::build(target, "cargo-deny", VERSION, &[]).map(drop)
}

/// Fails on each forbidden package. Advisories are not checked, as git fetches those from outside of the registry.
pub(crate) fn check(target: &Path) -> Result<(), String> {
    let program = tool::build(target, "cargo-deny", VERSION, &[])?;
    // It checks the packages of every platform; a build downloads only its own.
    shell::cargo(&["fetch", "--locked"])?;
    shell::run(&program, &["--offline", "--locked", "--workspace", "check", "bans", "licenses", "sources"])
}
