//! Whether every dependency may be used, as deny.toml says: its licence, and where it comes from.

use std::path::Path;

use crate::{shell, tool};

/// The version of cargo-deny that is used.
const VERSION: &str = "0.20.2";

/// Builds cargo-deny, unless it is there.
pub(crate) fn build(target: &Path) -> Result<(), String> {
    tool::build(target, "cargo-deny", VERSION, &[]).map(drop)
}

/// Fails on each package that may not be used. Advisories are not looked up: those are fetched by git from elsewhere than the registry.
pub(crate) fn check(target: &Path) -> Result<(), String> {
    let program = tool::build(target, "cargo-deny", VERSION, &[])?;
    // It looks at the packages of every platform, of which a build downloads those of its own.
    shell::cargo(&["fetch", "--locked"])?;
    shell::run(&program, &["--offline", "--locked", "--workspace", "check", "bans", "licenses", "sources"])
}
