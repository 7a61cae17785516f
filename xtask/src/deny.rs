//! Whether every dependency may be used, as deny.toml says: its licence, and where it comes from.

use std::path::Path;

use crate::shell;

/// The version of cargo-deny that is used.
const VERSION: &str = "0.20.2";

/// Builds cargo-deny for the project alone, unless it is there.
pub(crate) fn build(target: &Path) -> Result<(), String> {
    let root = target.join("tmp/cargo-deny");
    let marker = root.join(VERSION);
    if marker.exists() {
        return Ok(());
    }
    let failed = |error| format!("{}: {error}", marker.display());
    let place = root.display().to_string();
    // Without its debug information and optimisation, which it does not live long enough for.
    let install = ["cargo", "install", "--quiet", "--debug", "--locked", "--root", &place];
    let built = root.join("built").display().to_string();
    let environment = ["CARGO_PROFILE_DEV_DEBUG=0", &format!("CARGO_TARGET_DIR={built}")];
    shell::run("env", &[&environment[..], &install, &["cargo-deny", "--version", VERSION]].concat())?;
    std::fs::remove_dir_all(&built).map_err(failed)?;
    std::fs::write(&marker, "").map_err(failed)
}

/// Fails on each package that may not be used. Advisories are not looked up: those are fetched by git from elsewhere than the registry.
pub(crate) fn check(target: &Path) -> Result<(), String> {
    let program = target.join("tmp/cargo-deny/bin/cargo-deny").display().to_string();
    shell::run(&program, &["--offline", "--locked", "--workspace", "check", "bans", "licenses", "sources"])
}
