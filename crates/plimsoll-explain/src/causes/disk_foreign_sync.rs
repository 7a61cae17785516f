//! `disk.foreign_sync`: Another process flushes the same disk, so the service's own flushes queue behind it.

use plimsoll_model::cause::{Cause, CauseEvidence, CauseId};

use super::{Definition, Flushing, Known, Page, Shown, by_calls, cause, changes};

pub(super) const DEFINITION: Definition = Definition::new(
    Page {
        evidence_for: "the device flushes and its journal commits more often per operation, but the service requests no more flushes. Each of its flushes waits longer",
        evidence_against: "the service's own flushes grew by the same factor. The device flushes no more often than before",
        test: "stop the process that calls sync and measure again: flushes per operation, and the figure, are as before",
        remedy: "find the process that calls sync, fsync or fdatasync (`strace -f -e trace=sync,syncfs,fsync,fdatasync`). Make it flush less often, or move it to its own file system and device",
    },
    find,
)
.confirmed_by(changes::without_background_loads);

const ID: CauseId = CauseId::DiskForeignSync;
/// How much more often a disk has to flush to be reported.
const MORE_FLUSHES: f64 = 1.25;

fn find(known: &Known<'_>) -> Vec<Cause> {
    let foreign = by_calls::syncs(known).foreign;
    let sampled = by_calls::flushed(ID, &foreign, known.evidence).map(|cause| {
        let who =
            foreign.first().map_or_else(String::new, |it| format!(": `{}` on {}", it.process, it.owner));
        Cause { title: format!("{}{who}", ID.title()), ..cause }
    });
    let switched = known.shown.iter().filter_map(|shown| match shown {
        Shown::Flushing(flushing) => switched(flushing),
        Shown::Background(_) => None,
    });
    sampled.into_iter().chain(switched).collect()
}

/// A background load that makes the disk flush: it was switched on and off, so it is confirmed. Named only if the disk's
/// flushes grew more than the service's own, and some task waited longer.
fn switched(what: &Flushing) -> Option<Cause> {
    let grew = |of: &CauseEvidence| if of.before > 0.0 { of.after / of.before } else { f64::INFINITY };
    let of_service = what.own.as_ref().map_or(1.0, grew).max(1.0);
    let more = what.flushes.after > 0.0 && grew(&what.flushes) >= MORE_FLUSHES * of_service;
    let waited = what.waiting.iter().any(|time| time.after > 0.0 && grew(time) >= MORE_FLUSHES);
    if !more || !waited {
        return None;
    }
    let commits = Some(&what.commits).filter(|commits| commits.before > 0.0 || commits.after > 0.0);
    let evidence =
        [Some(&what.figure), Some(&what.flushes), commits, what.own.as_ref()].into_iter().flatten();
    let evidence = evidence.chain(&what.waiting).cloned().collect();
    let title = format!("{}: the background load `{}`", ID.title(), what.background);
    Some(Cause { title, confirmed: true, ..cause(ID, what.confidence, evidence) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flushing(flushes: f64, own: f64, waiting: f64) -> Option<Cause> {
        let evidence = |metric: &str, after: f64| CauseEvidence {
            metric: metric.into(),
            before: 1.0,
            after,
            unit: String::new(),
        };
        switched(&Flushing {
            background: "writer".into(),
            confidence: 0.99,
            figure: evidence("messages per minute", 0.4),
            flushes: evidence("flushes", flushes),
            commits: evidence("commits", flushes),
            own: Some(evidence("own", own)),
            waiting: vec![evidence("waiting", waiting)],
        })
    }

    #[test]
    fn flushes_that_the_service_did_not_ask_for_and_waits_for_are_a_background_loads() {
        let cause = flushing(3.0, 1.0, 3.0).expect("it was not named");
        assert_eq!((cause.id.id(), cause.evidence.len()), ("disk.foreign_sync", 5));
        assert_eq!(flushing(3.0, 2.9, 3.0), None, "they are its own");
        assert_eq!(flushing(1.1, 1.0, 3.0), None, "there are hardly more");
        assert_eq!(flushing(3.0, 1.0, 1.0), None, "nobody waits for them");
    }
}
