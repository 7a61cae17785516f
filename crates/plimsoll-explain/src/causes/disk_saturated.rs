//! `disk.saturated`: The disk is at its capacity: requests wait in its queue.

use plimsoll_model::cause::{Cause, CauseEvidence, CauseId};
use plimsoll_model::report::{Evidence, WaitFor};

use super::{Definition, Known, Page, by_levels, by_seen, cause, quoted};

pub(super) const DEFINITION: Definition = Definition::new(
    Page {
        evidence_for: "threads wait longer for the disk in each operation, and requests spend more time in the device's queue",
        evidence_against: "other processes use the device, or a limit applies. The requests spend their time elsewhere",
        test: "use a faster device (or a RAM disk) and measure again",
        remedy: "read and write less per operation, use larger requests, or use a faster device",
    },
    find,
)
.of_use()
.where_nothing_else_fits()
.beyond_the_run();

fn find(known: &Known<'_>) -> Vec<Cause> {
    let waits = by_seen::waits(known, WaitFor::Disk);
    let queue = |it: &&Evidence| {
        let counter = it.metric.split(' ').next().unwrap_or_default();
        it.shift > 0.0 && counter.starts_with("machine.diskstats.") && counter.ends_with(".queue_time")
    };
    let queued: Vec<CauseEvidence> = known.evidence.iter().filter(queue).take(2).map(quoted).collect();
    if waits.is_empty() || queued.is_empty() || !by_seen::explain(known, &waits) {
        return by_tools(known);
    }
    let mut evidence = by_seen::wait_evidence(known, &waits);
    evidence.extend(queued);
    vec![cause(CauseId::DiskSaturated, 0.55, evidence)]
}

/// From this part of the time on a device does all that it can, in per cent.
const BUSY: f64 = 90.0;

/// A device that iostat or sar show busy all the time, and CPUs that wait for it.
fn by_tools(known: &Known<'_>) -> Vec<Cause> {
    // sar writes the device before the column.
    let is_busy = |it: &&Evidence| it.metric.contains(" %util") && it.shift > 0.0 && it.after >= BUSY;
    let busy = by_levels::any_above(("disk.", ".busy_share"), BUSY, known.evidence);
    let busy = busy.or_else(|| known.evidence.iter().find(is_busy));
    let waiting = by_levels::above(&by_levels::IOWAIT, by_levels::LEAST_IOWAIT, known.evidence);
    let slower = by_levels::any_above(("disk.", "_ms"), 0.0, known.evidence);
    if busy.is_none() || waiting.or(slower).is_none() {
        return Vec::new();
    }
    by_levels::shown(CauseId::DiskSaturated, 0.7, &[busy, waiting, slower])
}

#[cfg(test)]
mod tests {
    use plimsoll_model::report::ProfileReport;

    use super::super::fixture::{asleep, grew, ids, profile, wait};
    use super::super::named;
    use super::*;

    #[test]
    fn a_device_that_iostat_shows_busy_is_named_where_cpus_wait_for_it() {
        let busy = grew("machine", "disk.sda.busy_share (level)", 3.0, 98.0);
        let waiting = grew("vmstat", "wa (of all CPUs' time)", 1.0, 72.0);
        assert_eq!(ids(&[busy.clone(), waiting.clone()]), [CauseId::DiskSaturated]);
        assert!(ids(&[busy]).is_empty() && ids(&[waiting]).is_empty());
    }

    #[test]
    fn a_longer_queue_without_anybody_who_waits_for_it_holds_nothing_up() {
        let queue = [grew("machine", "machine.diskstats.vda.queue_time (per operation)", 10.0, 90.0)];
        let of = |waits| {
            let profile = ProfileReport { waits, ..profile() };
            named(&Known { profile: Some(&profile), evidence: &queue, ..Known::default() })
        };
        assert!(of(Vec::new()).is_empty());
        let site = asleep("jbd2_log_wait_commit", "fsync");
        assert_eq!(of(vec![wait("relay", site, WaitFor::Disk)])[0].id, CauseId::DiskSaturated);
    }
}
