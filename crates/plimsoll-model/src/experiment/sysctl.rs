//! Whose a kernel setting is: a host's own, or the machine's.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::Experiment;

/// The settings that belong to namespaces which every host has to itself: network, IPC and user (network_namespaces(7), ipc_namespaces(7)).
/// All others are the machine's.
const OWN: [&str; 6] = ["net.", "fs.mqueue.", "kernel.msg", "kernel.sem", "kernel.shm", "user."];

/// Whether a setting is one that each host has to itself.
#[must_use]
pub fn is_of_a_host(name: &str) -> bool {
    OWN.iter().any(|start| name.starts_with(start))
}

/// The file of a setting: dots separate folders, and a `/` stands for a dot inside a name, as in sysctl(8). Nothing where this is no name
/// of a setting.
#[must_use]
pub fn path(name: &str) -> Option<PathBuf> {
    let parts: Vec<String> = name.split('.').map(|part| part.replace('/', ".")).collect();
    let sound = parts.iter().all(|part| !part.is_empty() && part != ".." && part != ".");
    (sound && parts.len() > 1).then(|| PathBuf::from("/proc/sys").join(parts.join("/")))
}

/// The settings of the machine that an experiment asks for, with their values as text.
#[must_use]
pub fn of_machine(experiment: &Experiment) -> BTreeMap<String, String> {
    let all = experiment.hosts.values().flat_map(|host| &host.sysctls);
    all.filter(|(name, _)| !is_of_a_host(name))
        .map(|(name, value)| (name.clone(), value.to_string()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_is_found_by_its_dotted_name() {
        let path = |name| path(name).unwrap().display().to_string();
        assert_eq!(path("net.ipv4.tcp_syncookies"), "/proc/sys/net/ipv4/tcp_syncookies");
        assert_eq!(path("net.ipv4.conf.eth0/7.forwarding"), "/proc/sys/net/ipv4/conf/eth0.7/forwarding");
    }

    #[test]
    fn a_name_cannot_lead_out_of_the_settings() {
        for name in ["net.//.//.etc.passwd", "", "vm", "vm..swappiness"] {
            assert_eq!(path(name), None, "{name}");
        }
    }

    #[test]
    fn the_machines_settings_are_told_from_those_of_a_host() {
        for name in ["vm.swappiness", "kernel.panic", "fs.file-max"] {
            assert!(!is_of_a_host(name), "{name}");
        }
        for name in ["net.ipv4.tcp_rmem", "kernel.shmmax", "user.max_net_namespaces"] {
            assert!(is_of_a_host(name), "{name}");
        }
    }
}
