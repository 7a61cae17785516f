//! `disk.throttled`: A control group, or the kernel, limits a program's disk I/O below the disk's capacity.

use plimsoll_model::cause::{Cause, CauseEvidence, CauseId};
use plimsoll_model::observation::WaitSite;
use plimsoll_model::report::{GrownWait, WaitFor};

use super::{Definition, Known, Page, When, by_hand, by_seen, cause};

pub(super) const DEFINITION: Definition = Definition {
    page: Page {
        evidence_for: "a process waits longer for the disk, and its control group has a new or lower limit (io.max, blkio.throttle.*). Or it sleeps in the kernel's write throttling (balance_dirty_pages, writeback throttling, io.cost)",
        evidence_against: "the device itself is always busy. Other processes use it. The limits are unchanged",
        test: "remove the limit (io.max, blkio.throttle.*, vm.dirty_*, queue/wbt_lat_usec) and measure again",
        remedy: "raise the limit of the control group, or request less. For throttled writers, raise vm.dirty_ratio, or write smaller parts sooner",
    },
    when: When::Always,
    find,
    change: by_hand,
};

const ID: CauseId = CauseId::DiskThrottled;
/// Kernel functions in which throttled threads sleep: mm/page-writeback.c, block/blk-rq-qos.c, blk-wbt.c, blk-iocost.c and blk-iolatency.c.
const HELD_BACK: [&str; 6] = [
    "balance_dirty_pages",
    "rq_qos_wait",
    "wbt_wait",
    "ioc_rqos_throttle",
    "blkcg_maybe_throttle",
    "blk_throtl",
];

fn find(known: &Known<'_>) -> Vec<Cause> {
    let Some(profile) = known.profile else { return Vec::new() };
    let waits = by_seen::waits(known, WaitFor::Disk);
    let is_held = |it: &&GrownWait| match &it.site {
        WaitSite::Sleep { functions, .. } => {
            functions.iter().any(|function| HELD_BACK.iter().any(|start| function.starts_with(start)))
        }
        WaitSite::Cpu => false,
    };
    let held: Vec<&GrownWait> = waits.iter().copied().filter(is_held).collect();
    let limits = profile.io_limits.iter().map(|limit| CauseEvidence {
        metric: format!(
            "{} of {} of {} on {} ({})",
            if limit.before.is_some() { "limit" } else { "new limit" },
            limit.group,
            limit.device,
            limit.host,
            limit.what
        ),
        before: limit.before.unwrap_or(0) as f64,
        after: limit.after as f64,
        unit: if limit.what.ends_with("bps") { "B/s" } else { "requests/s" }.to_owned(),
    });
    let limits: Vec<CauseEvidence> = limits.take(super::QUOTED).collect();
    let sure = match (limits.is_empty(), waits.is_empty(), held.is_empty()) {
        (false, false, _) => 0.92,
        (true, _, false) => 0.6,
        _ => return Vec::new(),
    };
    let waits = if limits.is_empty() { held } else { waits };
    vec![cause(ID, sure, limits.into_iter().chain(by_seen::told_waits(known, &waits)).collect())]
}

#[cfg(test)]
mod tests {
    use plimsoll_model::report::{LowerIoLimit, ProfileReport};

    use super::super::fixture::{asleep, profile, relay, wait};
    use super::super::named;
    use super::*;

    #[test]
    fn a_new_limit_of_a_group_is_named_where_somebody_waits_for_the_disk() {
        let of = |limited: bool, function: &str| {
            let limit = LowerIoLimit {
                host: "relay".into(),
                group: "/held".into(),
                device: "vda".into(),
                what: "wiops".into(),
                before: Some(9000),
                after: 50,
            };
            let waits = vec![wait("relay", asleep(function, "pwrite64"), WaitFor::Disk)];
            let io_limits = if limited { vec![limit] } else { Vec::new() };
            let profile = ProfileReport { waits, io_limits, ..profile() };
            named(&Known { profile: Some(&profile), measured: relay(), ..Known::default() })
        };
        let causes = of(true, "blk_io_schedule");
        assert_eq!(causes[0].id, ID);
        assert_eq!(causes[0].evidence[0].metric, "limit of /held of vda on relay (wiops)");
        assert_eq!(causes[0].evidence[1].unit, "µs/connection");
        assert!(of(false, "blk_io_schedule").is_empty());
        let held = of(false, "balance_dirty_pages");
        assert!(held[0].id == ID && held[0].confidence < causes[0].confidence);
    }
}
