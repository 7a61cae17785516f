//! Causes from calls that the kernel traces: who makes files durable, who is killed because memory has run out.

use plimsoll_model::cause::{Cause, CauseEvidence, CauseId};
use plimsoll_model::observation::{FrameKind, TracedCall};
use plimsoll_model::report::{Evidence, GrownCalls};

use super::page;

/// What the counters of a device that is flushed begin with, and end with.
const FLUSHES: (&str, &str) = ("machine.diskstats.", ".flushes");

/// What is measured, as far as the calls of others matter to it.
#[derive(Clone, Debug, Default)]
pub struct Measured {
    /// The names of its processes on the run's hosts: what these call is nobody else's doing.
    pub processes: Vec<String>,
    /// Whether it waits for a disk, which others may keep busy. A web server that writes nothing is not held up by somebody else's flush.
    pub waits_for_disk: bool,
}

/// Causes from calls that came more often on the worse side. `evidence` is everything else that moved.
#[must_use]
pub fn of_calls(calls: &[GrownCalls], measured: &Measured, evidence: &[Evidence]) -> Vec<Cause> {
    let (killed, synced): (Vec<&GrownCalls>, Vec<&GrownCalls>) =
        calls.iter().partition(|it| it.call == TracedCall::OomKill);
    let is_own =
        |it: &&GrownCalls| it.owner_kind == FrameKind::Host && measured.processes.contains(&it.process);
    // The kernel's own threads do it on behalf of others: a loop device flushes by making its file durable.
    let by_programs = synced.into_iter().filter(|it| it.owner_kind != FrameKind::Shared);
    let (own, foreign): (Vec<&GrownCalls>, Vec<&GrownCalls>) = by_programs.partition(is_own);
    let of_device = evidence.iter().filter(|it| it.shift > 0.0 && is_flush(&it.metric)).take(super::QUOTED);
    let of_device: Vec<CauseEvidence> = of_device.map(super::quoted).collect();
    // A cause is never named from one counter alone.
    let flushed = |id, calls: &[&GrownCalls]| {
        let sure = if of_device.is_empty() { 0.6 } else { 0.9 };
        (!calls.is_empty()).then(|| cause(id, sure, calls, &of_device))
    };
    let foreign = if measured.waits_for_disk || !own.is_empty() { foreign } else { Vec::new() };
    // Whoever is killed elsewhere may have had a limit of its own.
    let (killed, killed_elsewhere): (Vec<&GrownCalls>, Vec<&GrownCalls>) =
        killed.into_iter().partition(|it| it.owner_kind == FrameKind::Host);
    let out_of_memory = match (&killed[..], &killed_elsewhere[..]) {
        ([], []) => None,
        ([], elsewhere) => Some(cause(CauseId::MemoryOom, 0.5, elsewhere, &[])),
        (own, _) => Some(cause(CauseId::MemoryOom, 0.95, own, &[])),
    };
    [out_of_memory, flushed(CauseId::DiskForeignSync, &foreign), flushed(CauseId::DiskSyncBound, &own)]
        .into_iter()
        .flatten()
        .collect()
}

fn is_flush(metric: &str) -> bool {
    let counter = metric.split(' ').next().unwrap_or_default();
    counter.starts_with(FLUSHES.0) && counter.ends_with(FLUSHES.1)
}

fn cause(id: CauseId, confidence: f64, calls: &[&GrownCalls], more: &[CauseEvidence]) -> Cause {
    let told = calls.iter().take(super::QUOTED).map(|it| CauseEvidence {
        metric: format!("{} {}/{}", it.call.title(), it.owner, it.process),
        before: it.before_per_s,
        after: it.after_per_s,
        unit: "per second".to_owned(),
    });
    let evidence = told.chain(more.iter().cloned()).collect();
    let who = calls.first().filter(|_| id == CauseId::DiskForeignSync);
    let who = who.map_or_else(String::new, |it| format!(": `{}` on {}", it.process, it.owner));
    let (title, remedy) = (format!("{}{who}", id.title()), page(id).remedy.to_owned());
    Cause { rank: 1, id, title, confidence, evidence, remedy, confirmed: false }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calls(call: TracedCall, owner_kind: FrameKind, process: &str) -> GrownCalls {
        let owner = if owner_kind == FrameKind::Host { "relay" } else { "machine" };
        GrownCalls {
            call,
            owner_kind,
            owner: owner.into(),
            process: process.into(),
            before_per_s: 0.0,
            after_per_s: 120.0,
        }
    }

    fn flushes() -> Evidence {
        Evidence {
            host: "machine".into(),
            metric: "machine.diskstats.vda.flushes (per operation)".into(),
            before: 1.0,
            after: 3.0,
            unit: "count/operation".into(),
            shift: 1.0,
            control_ratio: None,
        }
    }

    fn relay() -> Measured {
        Measured { processes: vec!["relay".into()], waits_for_disk: true }
    }

    #[test]
    fn what_waits_for_no_disk_is_not_held_up_by_somebody_elses_flush() {
        let calls = [calls(TracedCall::FileSync, FrameKind::Others, "dd")];
        assert!(of_calls(&calls, &Measured { waits_for_disk: false, ..relay() }, &[flushes()]).is_empty());
    }

    #[test]
    fn whoever_makes_files_durable_beside_the_service_is_named() {
        let calls = [calls(TracedCall::FileSync, FrameKind::Others, "dd")];
        let alone = of_calls(&calls, &relay(), &[]);
        let sure = of_calls(&calls, &relay(), &[flushes()]);
        assert_eq!(sure[0].id, CauseId::DiskForeignSync);
        assert!(sure[0].title.ends_with(": `dd` on machine"), "{}", sure[0].title);
        assert_eq!(sure[0].evidence[0].metric, "fsync of a file by machine/dd");
        assert!(sure[0].confidence > alone[0].confidence && sure[0].evidence.len() == 2);
    }

    #[test]
    fn threads_of_the_kernel_are_not_blamed() {
        assert!(
            of_calls(&[calls(TracedCall::FileSync, FrameKind::Shared, "kworker")], &relay(), &[]).is_empty()
        );
    }

    #[test]
    fn what_the_service_makes_durable_itself_is_nobody_elses() {
        let own = [calls(TracedCall::FileSync, FrameKind::Host, "relay")];
        assert_eq!(of_calls(&own, &relay(), &[flushes()])[0].id, CauseId::DiskSyncBound);
    }

    #[test]
    fn the_process_that_was_killed_is_named() {
        let killed = [calls(TracedCall::OomKill, FrameKind::Host, "database")];
        let cause = &of_calls(&killed, &relay(), &[])[0];
        assert_eq!(
            (cause.id, cause.evidence[0].metric.as_str()),
            (CauseId::MemoryOom, "killed for want of memory: relay/database")
        );
        let elsewhere = [calls(TracedCall::OomKill, FrameKind::Others, "browser")];
        assert!(of_calls(&elsewhere, &relay(), &[])[0].confidence < cause.confidence);
    }
}
