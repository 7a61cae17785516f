//! Sources that a recording lacks, and the rights that would allow them.

use nix::unistd::Uid;
use plimsoll_inventory::Absence;

use crate::recording::Missing;

const ROOT: &str = "sudo plimsoll record";

/// Outcomes of the first attempts to read each source.
pub(super) struct Attempts<'a> {
    pub(super) counters: &'a [Absence],
    pub(super) inventory: &'a [Absence],
    /// Why stacks are not sampled.
    pub(super) profile: Option<String>,
    /// Why sockets cannot be looked at.
    pub(super) sockets: Option<&'a str>,
    pub(super) has_rules: bool,
}

pub(super) fn of(seen: &Attempts<'_>) -> Vec<Missing> {
    let is_root = Uid::effective().is_root();
    let mut missing: Vec<Missing> = seen
        .counters
        .iter()
        .chain(seen.inventory)
        .map(|absence| Missing {
            what: absence.file.clone(),
            why: absence.why.clone(),
            allowed_by: allowed_by(absence, is_root),
        })
        .collect();
    let mut add = |what: &str, why: &str, allowed_by: Option<&str>| {
        let (what, why) = (what.to_owned(), why.to_owned());
        missing.push(Missing { what, why, allowed_by: allowed_by.map(ToOwned::to_owned) });
    };
    if let Some(why) = &seen.profile {
        let by = "sudo sysctl kernel.perf_event_paranoid=0, or CAP_PERFMON, or root";
        add("stacks on the CPUs, failing calls, flushes", why, Some(by));
    }
    if !is_root {
        let why = "only their owner and root may see them";
        add("where threads of other users wait, and their namespaces", why, Some(ROOT));
    }
    if let Some(why) = seen.sockets {
        add("sockets (TCP_INFO)", why, None);
    }
    if !seen.has_rules {
        add("the number of nftables rules", "it takes CAP_NET_ADMIN", (!is_root).then_some(ROOT));
    }
    missing
}

/// Right with which an existing file can be read.
fn allowed_by(absence: &Absence, is_root: bool) -> Option<String> {
    let is_denied = absence.why.contains("ermission") || absence.why.contains("not permitted");
    let by = match absence.file.as_str() {
        _ if !is_denied => return None,
        "dev/kmsg" => "sudo sysctl kernel.dmesg_restrict=0, or root",
        _ if is_root => return None,
        _ => ROOT,
    };
    Some(by.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_right_would_allow_is_kept_apart_from_what_the_machine_does_not_have() {
        let absence = |file: &str, why: &str| Absence { file: file.to_owned(), why: why.to_owned() };
        let denied = absence(
            "/proc/slabinfo",
            "Permission denied (os error 13): only root of the machine may read it",
        );
        assert_eq!(allowed_by(&denied, false).as_deref(), Some(ROOT));
        assert_eq!(allowed_by(&denied, true), None);
        let log = absence("dev/kmsg", "Operation not permitted (os error 1): takes root");
        assert!(allowed_by(&log, false).is_some_and(|by| by.contains("dmesg_restrict")));
        let none =
            absence("/proc/pressure/cpu", "No such file or directory (os error 2): built without CONFIG_PSI");
        assert_eq!(allowed_by(&none, false), None);
    }
}
