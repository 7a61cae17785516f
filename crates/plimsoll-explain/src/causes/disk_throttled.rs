//! `disk.throttled`: A control group, or the kernel, limits a program's disk I/O below the disk's capacity.

use plimsoll_model::cause::{Cause, CauseEvidence, CauseId};
use plimsoll_model::observation::WaitSite;
use plimsoll_model::report::{Evidence, GrownWait, LowerIoLimit, WaitFor};

use super::{Definition, Known, Page, by_levels, by_seen, cause, changes, quoted};

pub(super) const DEFINITION: Definition = Definition::new(
    Page {
        evidence_for: "a process waits longer for the disk, and its control group has a new or lower limit (io.max, blkio.throttle.*). Or the device does as much as such a limit allows, and did more before. Or it sleeps in the kernel's write throttling (balance_dirty_pages, writeback throttling, io.cost)",
        evidence_against: "the device itself is always busy. Other processes use it. The limits are unchanged",
        test: "remove the limit (io.max, blkio.throttle.*, vm.dirty_*, queue/wbt_lat_usec) and measure again",
        remedy: "raise the limit of the control group, or request less. For throttled writers, raise vm.dirty_ratio, or write smaller parts sooner",
    },
    find,
)
.confirmed_by(|experiment| {
    changes::out_of_groups("without the I/O limits of other control groups", "blkio", changes::of_namespaces(experiment))
});

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

/// From this part of a limit on the device does what it allows; short bursts exceed it.
const AT_LIMIT: std::ops::RangeInclusive<f64> = 0.8..=1.2;

/// Rate of the limited device, where it was higher before and is as high as the limit allows after.
fn at_limit<'k>(known: &Known<'k>, limit: &LowerIoLimit) -> Option<&'k Evidence> {
    let counted = match limit.what.as_str() {
        "rbps" => "read_bytes",
        "wbps" => "written_bytes",
        "riops" => "reads",
        "wiops" => "writes",
        _ => return None,
    };
    let name = format!("machine.diskstats.{}.{counted}", limit.device);
    let is_it = |it: &&Evidence| {
        by_levels::name(it) == name
            && it.metric.ends_with("(per second)")
            && it.shift < 0.0
            && AT_LIMIT.contains(&(it.after / limit.after as f64))
    };
    known.evidence.iter().find(is_it)
}

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
    let reached = profile.io_limits.iter().find_map(|limit| at_limit(known, limit));
    let sure = match (limits.is_empty(), waits.is_empty(), held.is_empty()) {
        (false, false, _) => 0.92,
        (false, true, _) if reached.is_some() => 0.88,
        (true, _, false) => 0.6,
        _ => return Vec::new(),
    };
    let waits = if limits.is_empty() { held } else { waits };
    let seen = reached.map(quoted).into_iter().chain(by_seen::wait_evidence(known, &waits));
    vec![cause(ID, sure, limits.into_iter().chain(seen).collect())]
}

#[cfg(test)]
mod tests {
    use plimsoll_model::report::{LowerIoLimit, ProfileReport};

    use super::super::fixture::{asleep, grew, profile, relay, wait};
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
    #[test]
    fn a_device_that_does_what_a_new_limit_allows_is_held_by_it() {
        let of = |after: f64, what: &str| {
            let limit = LowerIoLimit {
                host: "here".into(),
                group: "/".into(),
                device: "loop0".into(),
                what: what.into(),
                before: None,
                after: 1_000_000,
            };
            let evidence =
                [grew("machine", "machine.diskstats.loop0.written_bytes (per second)", 4.9e6, after)];
            let profile = ProfileReport { io_limits: vec![limit], ..profile() };
            let known = Known { profile: Some(&profile), evidence: &evidence, ..Known::default() };
            named(&known).iter().map(|cause| cause.id).collect::<Vec<_>>()
        };
        assert_eq!(of(1e6, "wbps"), [ID]);
        assert!(of(4e5, "wbps").is_empty(), "the limit has room");
        assert!(of(1e6, "rbps").is_empty(), "it limits what is read");
    }
}
