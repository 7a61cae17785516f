//! Causes by traced system calls: who flushes files, and whom the kernel kills for lack of memory.

use plimsoll_model::cause::{Cause, CauseEvidence, CauseId};
use plimsoll_model::observation::{FrameKind, TracedCall};
use plimsoll_model::report::{Evidence, GrownCalls, WaitFor};

use super::{Known, by_seen, cause, quoted};

/// What the counters of a device that is flushed begin with, and end with.
const FLUSHES: (&str, &str) = ("machine.diskstats.", ".flushes");

/// Calls that make files durable.
pub(super) struct Syncs<'k> {
    /// By what is measured.
    pub(super) own: Vec<&'k GrownCalls>,
    /// By others, where something of the run waits for the disk.
    pub(super) foreign: Vec<&'k GrownCalls>,
}

/// Flushing calls that are more frequent on the worse side.
pub(super) fn syncs<'k>(known: &'k Known<'_>) -> Syncs<'k> {
    // If any program may be the service, a program that flushes is the service if no other program waits for the disk.
    let disk_waits = by_seen::waits(known, WaitFor::Disk);
    let waits_alone = |it: &GrownCalls| disk_waits.iter().all(|wait| wait.who.process == it.process);
    let is_own = |it: &&GrownCalls| {
        let is_measured =
            if known.measured.is_everybody { waits_alone(it) } else { known.measured.has(&it.process) };
        it.owner_kind == FrameKind::Host && is_measured
    };
    // The kernel's own threads do it on behalf of others: a loop device flushes by making its file durable.
    let by_programs = calls(known).filter(|it| it.call.is_sync() && it.owner_kind != FrameKind::Shared);
    let (own, foreign): (Vec<_>, Vec<_>) = by_programs.partition(is_own);
    // Beside strangers, only what waits for the disk itself lacks what they take.
    let lacks_disk = !known.measured.is_beside_strangers || !disk_waits.is_empty();
    let is_held_up = lacks_disk && (known.measured.waits_for_disk || !own.is_empty());
    let foreign = if is_held_up { foreign } else { Vec::new() };
    let grew = |it: &&GrownCalls| by_seen::more_often(it.before_per_s, it.after_per_s);
    let foreign = foreign.into_iter().filter(grew).collect();
    Syncs { own, foreign }
}

/// Calls of this kind by what is measured.
pub(super) fn by_measured<'k>(known: &'k Known<'_>, call: TracedCall) -> Vec<&'k GrownCalls> {
    calls(known).filter(|it| it.call == call && known.measured.has(&it.process)).collect()
}

/// Processes that were killed for lack of memory, on the hosts of the run and elsewhere.
pub(super) fn killed<'k>(known: &'k Known<'_>) -> (Vec<&'k GrownCalls>, Vec<&'k GrownCalls>) {
    let killed = calls(known).filter(|it| it.call == TracedCall::OomKill);
    killed.partition(|it| is_of_the_run(known, it))
}

/// Whether a process of the run's hosts is no stranger there.
fn is_of_the_run(known: &Known<'_>, call: &GrownCalls) -> bool {
    call.owner_kind == FrameKind::Host && known.measured.concerns(&call.process)
}

/// Processes of the run's hosts that ended by a signal, except those killed for lack of memory.
pub(super) fn crashed<'k>(known: &'k Known<'_>) -> Vec<&'k GrownCalls> {
    let (starved, _) = killed(known);
    let is_other = |it: &&GrownCalls| {
        !starved.iter().any(|known| (&known.owner, &known.process) == (&it.owner, &it.process))
    };
    let crashed = calls(known).filter(|it| it.call == TracedCall::Crash && is_of_the_run(known, it));
    crashed.filter(is_other).collect()
}

fn calls<'k>(known: &'k Known<'_>) -> impl Iterator<Item = &'k GrownCalls> {
    known.profile.map_or(&[][..], |profile| &profile.calls).iter()
}

/// A cause by who makes files durable; surer where the device has flushed more often as well, since a cause is never named from one counter alone.
pub(super) fn flushed(id: CauseId, calls: &[&GrownCalls], evidence: &[Evidence]) -> Option<Cause> {
    if calls.is_empty() {
        return None;
    }
    let of_device = evidence.iter().filter(|it| it.shift > 0.0 && is_flush(&it.metric)).take(super::QUOTED);
    let of_device: Vec<CauseEvidence> = of_device.map(quoted).collect();
    let sure = if of_device.is_empty() { 0.6 } else { 0.9 };
    Some(cause(id, sure, call_evidence(calls).chain(of_device).collect()))
}

/// Who made calls, as evidence.
pub(super) fn call_evidence(calls: &[&GrownCalls]) -> impl Iterator<Item = CauseEvidence> {
    calls.iter().take(super::QUOTED).map(|it| CauseEvidence {
        metric: format!("{} {}/{}", it.call.title(), it.owner, it.process),
        before: it.before_per_s,
        after: it.after_per_s,
        unit: "per second".to_owned(),
    })
}

fn is_flush(metric: &str) -> bool {
    let counter = metric.split(' ').next().unwrap_or_default();
    counter.starts_with(FLUSHES.0) && counter.ends_with(FLUSHES.1)
}

#[cfg(test)]
mod tests {
    use plimsoll_model::report::ProfileReport;

    use super::super::fixture::{calls, flushes, profile, relay};
    use super::super::{Measured, named};
    use super::*;

    fn of_calls(calls: &[GrownCalls], measured: Measured, evidence: &[Evidence]) -> Vec<Cause> {
        let profile = ProfileReport { calls: calls.to_vec(), ..profile() };
        named(&Known { profile: Some(&profile), measured, evidence, ..Known::default() })
    }

    #[test]
    fn what_waits_for_no_disk_is_not_held_up_by_somebody_elses_flush() {
        let calls = [calls(TracedCall::FileSync, FrameKind::Others, "dd")];
        assert!(of_calls(&calls, Measured { waits_for_disk: false, ..relay() }, &[flushes()]).is_empty());
    }

    #[test]
    fn whoever_makes_files_durable_beside_the_service_is_named() {
        let calls = [calls(TracedCall::FileSync, FrameKind::Others, "dd")];
        let alone = of_calls(&calls, relay(), &[]);
        let sure = of_calls(&calls, relay(), &[flushes()]);
        assert_eq!(sure[0].id.id(), "disk.foreign_sync");
        assert!(sure[0].title.ends_with(": `dd` on machine"), "{}", sure[0].title);
        assert_eq!(sure[0].evidence[0].metric, "fsync of a file by machine/dd");
        assert!(sure[0].confidence > alone[0].confidence && sure[0].evidence.len() == 2);
    }

    #[test]
    fn threads_of_the_kernel_are_not_blamed() {
        let calls = [calls(TracedCall::FileSync, FrameKind::Shared, "kworker")];
        assert!(of_calls(&calls, relay(), &[]).is_empty());
    }

    #[test]
    fn what_the_service_makes_durable_itself_is_nobody_elses() {
        let own = [calls(TracedCall::FileSync, FrameKind::Host, "relay")];
        assert_eq!(of_calls(&own, relay(), &[flushes()])[0].id, CauseId::DiskSyncBound);
    }

    #[test]
    fn signals_and_flushes_of_strangers_are_no_cause_where_what_is_measured_lacks_nothing() {
        let of = |call, process: &str, is_beside_strangers| {
            let of_it = calls(call, FrameKind::Host, process);
            of_calls(&[of_it], Measured { is_beside_strangers, ..relay() }, &[]).len()
        };
        assert_eq!((of(TracedCall::Crash, "job", false), of(TracedCall::Crash, "job", true)), (1, 0));
        assert_eq!(of(TracedCall::Crash, "relay", true), 1);
        assert_eq!((of(TracedCall::FileSync, "job", false), of(TracedCall::FileSync, "job", true)), (1, 0));
    }

    #[test]
    fn the_process_that_was_killed_is_named() {
        let killed = [calls(TracedCall::OomKill, FrameKind::Host, "database")];
        let cause = &of_calls(&killed, relay(), &[])[0];
        assert_eq!(
            (cause.id, cause.evidence[0].metric.as_str()),
            (CauseId::MemoryOom, "killed for lack of memory: relay/database")
        );
        let elsewhere = [calls(TracedCall::OomKill, FrameKind::Others, "browser")];
        assert!(of_calls(&elsewhere, relay(), &[])[0].confidence < cause.confidence);
        let beside = Measured { is_beside_strangers: true, ..relay() };
        assert!(of_calls(&elsewhere, beside, &[]).is_empty());
    }
}
