//! What tests read exported files back with, and Debian has no package of.

use std::path::Path;

use crate::shell;

/// From PyPI.
const PACKAGE: &str = "duckdb==2.0.0";

/// Installs it where the test looks for it (CARGO_TARGET_TMPDIR), unless it is there. Nothing of the system's is changed.
pub(crate) fn fetch(target: &Path) -> Result<(), String> {
    let folder = target.join("tmp/python");
    if folder.exists() {
        return Ok(());
    }
    // What is unpacked gets its name when it is whole.
    let part = target.join("tmp/python.part");
    let into = part.display().to_string();
    shell::run(
        "/usr/bin/python3",
        &["-m", "pip", "install", "--quiet", "--upgrade", "--target", &into, PACKAGE],
    )?;
    std::fs::rename(&part, &folder).map_err(|error| format!("{into}: {error}"))
}
