//! The kernel of the guest in which links are shaped by netem (crates/plimsoll-host/tests/rig/guest).

use std::fs;
use std::path::Path;

use crate::shell;

/// Debian's name for the newest of its kernels for virtual machines. It is a package that depends on the kernel's own.
const NEWEST: &str = "linux-image-cloud-amd64";

/// Fetches the package and unpacks it where the test looks for it, unless it is there. It is not installed: the machine would boot it.
pub(crate) fn fetch(target: &Path) -> Result<(), String> {
    // Cargo gives tests this folder for whatever they need (CARGO_TARGET_TMPDIR).
    let folder = target.join("tmp/guest-kernel");
    if folder.exists() {
        return Ok(());
    }
    // What is unpacked gets its name when it is whole.
    let part = target.join("tmp/guest-kernel.part");
    let of_part = |error| format!("{}: {error}", part.display());
    if part.exists() {
        fs::remove_dir_all(&part).map_err(of_part)?;
    }
    fs::create_dir_all(&part).map_err(of_part)?;
    shell::run("apt-get", &["update", "--quiet"])?;
    let package = kernel_among(&shell::output("apt-cache", &["depends", NEWEST])?)?;
    let into = format!("--chdir={}", part.display());
    // As root, because the folder is root's.
    shell::run(
        "env",
        &[&into, "apt-get", "download", "--quiet", "--option=APT::Sandbox::User=root", &package],
    )?;
    let file = only_file(&part)?;
    shell::run("dpkg-deb", &["--extract", &file, &part.display().to_string()])?;
    fs::remove_file(&file).map_err(|error| format!("{file}: {error}"))?;
    fs::rename(&part, &folder).map_err(of_part)
}

/// The name of the kernel's package in what `apt-cache depends` says.
fn kernel_among(depends: &str) -> Result<String, String> {
    let mut needed = depends.lines().filter_map(|line| line.trim().strip_prefix("Depends: "));
    needed
        .find(|package| package.starts_with("linux-image-"))
        .map(Into::into)
        .ok_or_else(|| format!("{NEWEST} depends on no kernel: {depends}"))
}

fn only_file(folder: &Path) -> Result<String, String> {
    let entries = fs::read_dir(folder).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    match entries.map_err(|error| format!("{}: {error}", folder.display()))?.as_slice() {
        [file] => Ok(file.path().display().to_string()),
        files => Err(format!("{}: one package was to be downloaded, and not {files:?}", folder.display())),
    }
}
