//! A Debian package of the static program.
//!
//! The package takes the program and `dpkg-deb`: the program itself prints manual, completions and unit, and the installation has no scripts. So a
//! shell script packs it, which a story runs as well, without a tool to build (cargo-deb would want the printed files as assets of an earlier step).

use crate::{dist, notices, shell};

/// Builds the program for a target and packs it; the package stands in `debian` of the target folder.
pub(crate) fn run(target: &str) -> Result<(), String> {
    let architecture = match target.split('-').next() {
        Some("x86_64") => "amd64",
        Some("aarch64") => "arm64",
        _ => return Err(format!("how Debian calls the architecture of {target} is not known here")),
    };
    let folder = shell::target_folder();
    let built = |target| dist::build(target, ".".as_ref(), &folder);
    let program = built(target)?;
    // A program for another architecture cannot print its manual here.
    let prints = if target == dist::HERE { program.clone() } else { built(dist::HERE)? };
    let into = folder.join("debian");
    std::fs::create_dir_all(&into).map_err(|error| format!("{}: {error}", into.display()))?;
    let licences = folder.join("licences.txt");
    std::fs::write(&licences, notices::of(target)?)
        .map_err(|error| format!("{}: {error}", licences.display()))?;
    let [into, licences] = [into, licences].map(|path| path.display().to_string());
    shell::run("packaging/debian.sh", &[&program, architecture, &into, &prints, &licences])
}
