//! Python packages that Debian lacks: tests read exported files back with them, and check manifests for Kubernetes.

use std::path::Path;

use crate::shell;

/// From PyPI.
const PACKAGES: [&str; 2] = ["duckdb==2.0.0", "kubernetes-validate==1.37.0"];
/// The folder of the last of them.
const LAST: &str = "kubernetes_validate";

/// Installs them into the tests' folder (CARGO_TARGET_TMPDIR), unless they are there. The system is not changed.
pub(crate) fn fetch(target: &Path) -> Result<(), String> {
    install(target, "python", &PACKAGES, LAST)
}

/// Installs packages into `tmp/NAME` of the target folder, unless the folder of the last of them is there.
pub(crate) fn install(target: &Path, name: &str, packages: &[&str], last: &str) -> Result<(), String> {
    let folder = target.join("tmp").join(name);
    if folder.join(last).exists() {
        return Ok(());
    }
    // The folder gets its name when it is complete.
    let part = target.join("tmp").join(format!("{name}.part"));
    let into = part.display().to_string();
    let install = ["-m", "pip", "install", "--quiet", "--upgrade", "--target", &into];
    shell::run("/usr/bin/python3", &[&install[..], packages].concat())?;
    let failed = |error| format!("{into}: {error}");
    if folder.exists() {
        std::fs::remove_dir_all(&folder).map_err(failed)?;
    }
    std::fs::rename(&part, &folder).map_err(failed)
}
