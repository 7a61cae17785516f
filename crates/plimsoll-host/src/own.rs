//! Settings and variables of every host, with this machine's kernel or a guest's.

use std::fs;

use nix::errno::Errno;

use crate::reexec::errno_of;

/// Environment variable with the folder for the files of the host's services.
pub(crate) const SCRATCH: &str = "PLIMSOLL_SCRATCH";

/// Settings of the new network namespace that it would else inherit from the machine, or that would send packets of their own; and one
/// that lets services without privileges have every port. The ones for `default` hold for the links that come later.
const SETTINGS: [(&str, &str); 4] = [
    ("/proc/sys/net/ipv4/conf/all/rp_filter", "0"),
    ("/proc/sys/net/ipv4/conf/default/rp_filter", "0"),
    ("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1"),
    ("/proc/sys/net/ipv4/ip_unprivileged_port_start", "0"),
];
/// Also inherited; written after the others, since it resets some of them to a router's or a host's defaults (RFC 1812, RFC 1122).
const FORWARD: &str = "/proc/sys/net/ipv4/ip_forward";

/// Applies the settings of a host.
pub(crate) fn settings(forward: bool) -> Result<(), (String, Errno)> {
    for (path, value) in SETTINGS {
        set(path, value)?;
    }
    set(FORWARD, if forward { "1" } else { "0" })
}

fn set(path: &str, value: &str) -> Result<(), (String, Errno)> {
    match fs::write(path, value) {
        // A kernel without IPv6 has nothing to switch off.
        Err(e) if e.kind() == std::io::ErrorKind::NotFound && path.contains("/ipv6/") => Ok(()),
        other => other.map_err(|e| (format!("writing {value} to {path}"), errno_of(&e))),
    }
}
