//! Settings of a host: under `/proc/sys`, and the CPUs it keeps to.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::Pid;
use plimsoll_model::frame::Failure;

use crate::other;

/// The settings that belong to namespaces which every host has to itself: network, IPC and user (network_namespaces(7), ipc_namespaces(7)).
/// Anything else would change the machine for everybody, and outlive the run.
const OWN: [&str; 6] = ["net.", "fs.mqueue.", "kernel.msg", "kernel.sem", "kernel.shm", "user."];

pub(crate) fn apply(sysctls: &[(String, String)], cpus: &[u32]) -> Result<(), Failure> {
    for (name, value) in sysctls {
        write(&sysctl_path(name)?, &format!("set {name} = {value}"), value)?;
    }
    keep_to(cpus)
}

/// Makes the kernel forget the routes that it has cached for this network namespace (Documentation/networking/ip-sysctl.rst).
pub(crate) fn flush_routes() -> Result<(), Failure> {
    write(Path::new("/proc/sys/net/ipv4/route/flush"), "forget cached routes", "1")
}

/// The file of a setting: dots separate folders, and a `/` stands for a dot inside a name, as in sysctl(8).
fn sysctl_path(name: &str) -> Result<PathBuf, Failure> {
    let parts: Vec<String> = name.split('.').map(|part| part.replace('/', ".")).collect();
    if !OWN.iter().any(|start| name.starts_with(start)) {
        let error = format!(
            "this is a setting of the whole machine; a host of its own namespaces has those that start with {}",
            OWN.join(" or ")
        );
        return Err(other(format!("set {name}"), error));
    }
    if parts.iter().any(|part| part.is_empty() || part == "..") {
        return Err(other(
            format!("set {name}"),
            "this is no name of a setting; expected one such as net.ipv4.tcp_syncookies",
        ));
    }
    Ok(Path::new("/proc/sys").join(parts.join("/")))
}

fn write(path: &Path, what: &str, value: &str) -> Result<(), Failure> {
    fs::write(path, value).map_err(|error| match error.kind() {
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
            Failure::Permission { what: what.into() }
        }
        ErrorKind::NotFound => {
            other(what, "this kernel has no such setting, or not in a namespace of its own")
        }
        _ => other(what, error),
    })
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
    fn a_setting_is_found_by_its_dotted_name() {
        let path = |name| sysctl_path(name).unwrap().display().to_string();
        assert_eq!(path("net.ipv4.tcp_syncookies"), "/proc/sys/net/ipv4/tcp_syncookies");
        assert_eq!(path("net.ipv4.conf.eth0/7.forwarding"), "/proc/sys/net/ipv4/conf/eth0.7/forwarding");
    }

    #[test]
    fn a_setting_of_the_whole_machine_is_refused() {
        for name in ["vm.drop_caches", "kernel.panic", "fs.file-max"] {
            let error = sysctl_path(name).unwrap_err().to_string();
            assert!(error.contains("the whole machine"), "{error}");
        }
    }

    #[test]
    fn a_name_cannot_lead_out_of_the_settings() {
        assert!(sysctl_path("net.//.//.etc.passwd").is_err());
        assert!(sysctl_path("").is_err());
    }
}
