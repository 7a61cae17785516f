//! The kernel of the guest in which links are shaped by netem (crates/plimsoll-host/tests/rig/guest).

use std::path::Path;

use crate::{debian, shell};

/// Debian's name for the newest of its kernels for virtual machines. It is a package that depends on the kernel's own.
const NEWEST: &str = "linux-image-cloud-amd64";

/// Fetches the package and unpacks it into the test's folder, unless it is there. It is not installed: the machine would boot it.
pub(crate) fn fetch(target: &Path) -> Result<(), String> {
    if target.join("tmp/guest-kernel").exists() {
        return Ok(());
    }
    shell::run("apt-get", &["update", "--quiet"])?;
    let package = kernel_among(&shell::output("apt-cache", &["depends", NEWEST])?)?;
    debian::unpack(target, "guest-kernel", &package, &[])
}

/// Name of the kernel's package in the output of `apt-cache depends`.
fn kernel_among(depends: &str) -> Result<String, String> {
    let mut needed = depends.lines().filter_map(|line| line.trim().strip_prefix("Depends: "));
    needed
        .find(|package| package.starts_with("linux-image-"))
        .map(Into::into)
        .ok_or_else(|| format!("{NEWEST} depends on no kernel: {depends}"))
}
