//! Programs of crates.io that chores run, built for the project alone.

use std::path::Path;

use crate::shell;

/// Builds a program into `tmp/NAME` of the target folder, unless this version of it is there, and gives its file. `options` are cargo's.
pub(crate) fn build(target: &Path, name: &str, version: &str, options: &[&str]) -> Result<String, String> {
    let root = target.join("tmp").join(name);
    let program = root.join("bin").join(name).display().to_string();
    let marker = root.join(version);
    if marker.exists() {
        return Ok(program);
    }
    let failed = |error| format!("{}: {error}", marker.display());
    let place = root.display().to_string();
    // Without its debug information and optimisation, which it does not live long enough for.
    let install = ["cargo", "install", "--quiet", "--debug", "--locked", "--root", &place];
    let built = root.join("built").display().to_string();
    let environment = ["CARGO_PROFILE_DEV_DEBUG=0", &format!("CARGO_TARGET_DIR={built}")];
    shell::run("env", &[&environment[..], &install, &[name, "--version", version], options].concat())?;
    std::fs::remove_dir_all(&built).map_err(failed)?;
    std::fs::write(&marker, "").map_err(failed)?;
    Ok(program)
}
