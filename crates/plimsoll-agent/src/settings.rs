//! Settings of a host: under `/proc/sys`, and the CPUs it keeps to.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::Pid;
use plimsoll_model::experiment::sysctl;
use plimsoll_model::frame::Failure;

use crate::other;

/// The settings of a host.
pub(crate) struct Settings {
    /// Dotted names with values.
    pub(crate) sysctls: Vec<(String, String)>,
    /// The CPUs to keep to; all when empty.
    pub(crate) cpus: Vec<u32>,
    /// Whether the kernel is the host's own.
    pub(crate) own_kernel: bool,
}

impl Settings {
    pub(crate) fn apply(&self) -> Result<(), Failure> {
        for (name, value) in &self.sysctls {
            let file = if self.own_kernel { any_file_of(name)? } else { file_of(name)? };
            write(&file, &format!("set {name} = {value}"), value)?;
        }
        keep_to(&self.cpus)
    }
}

/// Changes a setting of this host.
pub(crate) fn set(name: &str, value: &str) -> Result<(), Failure> {
    write(&file_of(name)?, &format!("set {name} = {value}"), value)
}

/// Makes the kernel forget the routes that it has cached for this network namespace (Documentation/networking/ip-sysctl.rst).
pub(crate) fn flush_routes() -> Result<(), Failure> {
    write(Path::new("/proc/sys/net/ipv4/route/flush"), "forget cached routes", "1")
}

/// The file of any setting of this host's own kernel.
fn any_file_of(name: &str) -> Result<PathBuf, Failure> {
    sysctl::path(name).ok_or_else(|| other(format!("set {name}"), "this is no name of a setting"))
}

/// The file of a setting of this host.
fn file_of(name: &str) -> Result<PathBuf, Failure> {
    let path = sysctl::path(name).filter(|_| sysctl::is_of_a_host(name));
    path.ok_or_else(|| other(format!("set {name}"), "this setting does not belong to a single host"))
}

fn write(path: &Path, what: &str, value: &str) -> Result<(), Failure> {
    fs::write(path, value).map_err(|error| match error.kind() {
        ErrorKind::PermissionDenied => lacking(what, "CAP_NET_ADMIN over the host's network namespace"),
        ErrorKind::ReadOnlyFilesystem => {
            lacking(what, "a mount namespace in which /proc/sys is not mounted read-only")
        }
        ErrorKind::NotFound => {
            other(what, "this kernel has no such setting, or not in a namespace of its own")
        }
        _ => other(what, error),
    })
}

fn lacking(what: &str, needs: &str) -> Failure {
    Failure::Permission { what: what.into(), needs: Some(needs.into()) }
}

fn keep_to(cpus: &[u32]) -> Result<(), Failure> {
    if cpus.is_empty() {
        return Ok(());
    }
    let what = || format!("keep to the CPUs {cpus:?}");
    let mut set = CpuSet::new();
    for &cpu in cpus {
        set.set(cpu as usize).map_err(|error| other(what(), error))?;
    }
    sched_setaffinity(Pid::from_raw(0), &set).map_err(|error| other(what(), error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_of_the_whole_machine_is_refused() {
        for name in ["vm.drop_caches", "kernel.panic", "fs.file-max", "net.//.//.etc.passwd"] {
            let error = file_of(name).unwrap_err().to_string();
            assert!(error.contains("does not belong to a single host"), "{error}");
        }
    }
}
