//! h2spec, with which a test checks the built-in server's conformance to HTTP/2. Debian has no package of it.

use std::path::Path;

use crate::shell;

/// Module that pins it and its dependencies.
const MODULE: &str = "xtask/h2spec";
/// The program, from Go's module proxy.
const PROGRAM: &str = "github.com/summerwind/h2spec/cmd/h2spec";

/// Builds it into the test's folder (CARGO_TARGET_TMPDIR), unless it is there. The system is not changed.
pub(crate) fn build(target: &Path) -> Result<(), String> {
    let failed = |what: &Path, error| format!("{}: {error}", what.display());
    let folder = std::path::absolute(target.join("tmp")).map_err(|error| failed(target, error))?;
    let program = folder.join("h2spec");
    if program.exists() {
        return Ok(());
    }
    // Go's downloads and objects are removed, and the program gets its name when it is complete.
    let (used, part) = (folder.join("go"), folder.join("h2spec.part"));
    let built = shell::run(
        "env",
        &[
            &format!("--chdir={MODULE}"),
            &format!("GOPATH={}", used.display()),
            &format!("GOCACHE={}", used.join("cache").display()),
            "GOFLAGS=-modcacherw",
            "GOTOOLCHAIN=local",
            "go",
            "build",
            "-o",
            &part.display().to_string(),
            PROGRAM,
        ],
    );
    if used.exists() {
        std::fs::remove_dir_all(&used).map_err(|error| failed(&used, error))?;
    }
    built?;
    std::fs::rename(&part, &program).map_err(|error| failed(&program, error))
}
