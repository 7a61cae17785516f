//! Packages with which tests look at pages in a browser.

use std::path::Path;

use crate::shell;

/// Packages of npm: one drives Chromium, the other checks accessibility.
const PACKAGES: [&str; 2] = ["puppeteer-core@24.43.1", "axe-core@4.14.1"];

/// Installs them where the test looks for them (CARGO_TARGET_TMPDIR), unless they are there. Nothing of the system's is changed.
pub(crate) fn fetch(target: &Path) -> Result<(), String> {
    let folder = target.join("tmp/npm");
    if folder.exists() {
        return Ok(());
    }
    // The folder gets its name when it is complete.
    let part = target.join("tmp/npm.part");
    let into = part.display().to_string();
    let words = ["install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", &into];
    shell::run("npm", &[&words[..], &PACKAGES].concat())?;
    std::fs::rename(&part, &folder).map_err(|error| format!("{into}: {error}"))
}
