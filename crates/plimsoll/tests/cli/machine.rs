//! State of the machine: processes of a run, network interfaces, control groups.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use plimsoll_host::MARKER;

/// The processes of the hosts that a controller made, except those that have ended and wait to be reaped.
pub(crate) fn processes_of(controller: u32) -> Vec<u32> {
    let mark = format!("{MARKER}={controller}:");
    let is_marked = |pid: &u32| {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|entry| entry.starts_with(mark.as_bytes()))
    };
    pids().filter(is_marked).collect()
}

/// The network namespaces in which processes of a controller are, other than this process's own.
pub(crate) fn networks_of(controller: u32) -> BTreeSet<u64> {
    let own = network_of(std::process::id());
    let networks = processes_of(controller).into_iter().filter_map(network_of);
    networks.filter(|network| Some(*network) != own).collect()
}

/// The command lines of the processes in these network namespaces.
pub(crate) fn processes_in(networks: &BTreeSet<u64>) -> Vec<String> {
    let inside = pids().filter(|pid| network_of(*pid).is_some_and(|network| networks.contains(&network)));
    inside.map(|pid| fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default()).collect()
}

/// The processes in these network namespaces.
pub(crate) fn pids_in(networks: &BTreeSet<u64>) -> Vec<u32> {
    pids().filter(|pid| network_of(*pid).is_some_and(|network| networks.contains(&network))).collect()
}

/// A process in a network namespace.
pub(crate) fn one_in(network: u64) -> Option<u32> {
    pids().find(|pid| network_of(*pid) == Some(network))
}

/// The network interfaces of the machine itself.
pub(crate) fn interfaces() -> BTreeSet<String> {
    names_in(Path::new("/sys/class/net")).collect()
}

/// The control groups that a controller made.
pub(crate) fn control_groups_of(controller: u32) -> Vec<String> {
    let own = format!("plimsoll-{controller}-");
    let mut found = Vec::new();
    let mut folders = vec![Path::new("/sys/fs/cgroup").to_owned()];
    while let Some(folder) = folders.pop() {
        for name in names_in(&folder) {
            let path = folder.join(&name);
            if path.is_dir() && !path.is_symlink() {
                if name.starts_with(&own) {
                    found.push(path.display().to_string());
                }
                folders.push(path);
            }
        }
    }
    found
}

fn pids() -> impl Iterator<Item = u32> {
    names_in(Path::new("/proc")).filter_map(|name| name.parse().ok())
}

/// Network namespace of a process; `None` if it has ended.
fn network_of(pid: u32) -> Option<u64> {
    fs::metadata(format!("/proc/{pid}/ns/net")).ok().map(|network| network.ino())
}

/// The names in a folder; empty if it has gone meanwhile.
fn names_in(folder: &Path) -> impl Iterator<Item = String> + use<> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok())
}
