//! Whose a kernel setting is: a host's own, or the machine's.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::Experiment;

/// The settings that belong to namespaces which every host has to itself: network and IPC (network_namespaces(7), ipc_namespaces(7)).
/// All others are the machine's, or of the user namespace that all hosts share (`user.*`, namespaces(7)), which is the machine's for root.
const OWN: [&str; 5] = ["net.", "fs.mqueue.", "kernel.msg", "kernel.sem", "kernel.shm"];

/// Settings that name a program which the kernel then runs as root of the machine (Documentation/admin-guide/sysctl/kernel.rst,
/// Documentation/admin-guide/binfmt-misc.rst).
const RUNS_A_PROGRAM: [&str; 6] = [
    "kernel.core_pattern",
    "kernel.hotplug",
    "kernel.modprobe",
    "kernel.poweroff_cmd",
    "kernel.usermodehelper.",
    "fs.binfmt_misc.",
];
/// Settings that stay as they are once they were set, or whose writing does something rather than sets it.
const NOT_PUT_BACK: [&str; 7] = [
    "kernel.kexec_load_disabled",
    "kernel.modules_disabled",
    "kernel.tainted",
    "kernel.unprivileged_bpf_disabled",
    "kernel.yama.ptrace_scope",
    "vm.compact_memory",
    "vm.drop_caches",
];

/// Whether a setting is one that each host has to itself.
pub fn is_of_a_host(name: &str) -> bool {
    OWN.iter().any(|start| name.starts_with(start))
}

/// The file of a setting: dots separate folders, and a `/` stands for a dot inside a name, as in sysctl(8). `None` if this is no name
/// of a setting.
pub fn path(name: &str) -> Option<PathBuf> {
    let parts: Vec<String> = name.split('.').map(|part| part.replace('/', ".")).collect();
    let sound = parts.iter().all(|part| !part.is_empty() && part != ".." && part != ".");
    (sound && parts.len() > 1).then(|| PathBuf::from("/proc/sys").join(parts.join("/")))
}

/// The dotted name of a file below `/proc/sys`, as [`path`] reads it.
pub fn dotted(file: &str) -> String {
    let swapped = file.chars().map(|c| match c {
        '/' => '.',
        '.' => '/',
        other => other,
    });
    swapped.collect()
}

/// Why a setting is never changed, if that is so.
pub fn refusal(name: &str) -> Option<&'static str> {
    // sysctl(8) takes slashes between the parts as well.
    let name = name.replace('/', ".");
    let is_among = |list: &[&str]| {
        list.iter().any(|one| if one.ends_with('.') { name.starts_with(one) } else { name == *one })
    };
    if is_among(&RUNS_A_PROGRAM) {
        return Some("the kernel runs a program as root because of it");
    }
    is_among(&NOT_PUT_BACK).then_some("it could not be put back")
}

/// The settings of the machine that an experiment asks for, with their values as text.
pub fn of_machine(experiment: &Experiment) -> BTreeMap<String, String> {
    let on_machine = experiment.hosts.values().filter(|host| !host.kind.own().kernel);
    let all = on_machine.flat_map(|host| &host.sysctls);
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
    fn the_machines_settings_are_distinguished_from_those_of_a_host() {
        for name in ["vm.swappiness", "kernel.panic", "fs.file-max", "user.max_net_namespaces"] {
            assert!(!is_of_a_host(name), "{name}");
        }
        for name in ["net.ipv4.tcp_rmem", "kernel.shmmax"] {
            assert!(is_of_a_host(name), "{name}");
        }
    }
    #[test]
    fn what_has_the_kernel_run_a_program_or_cannot_be_put_back_is_refused() {
        for name in
            ["kernel.core_pattern", "kernel.usermodehelper.bset", "fs.binfmt_misc.register", "vm.drop_caches"]
        {
            assert!(refusal(name).is_some(), "{name}");
        }
        for name in ["kernel.core_uses_pid", "vm.swappiness", "net.ipv4.conf.eth0/7.forwarding"] {
            assert_eq!(refusal(name), None, "{name}");
            let file = path(name).unwrap();
            assert_eq!(dotted(file.strip_prefix("/proc/sys").unwrap().to_str().unwrap()), name);
        }
    }
}
