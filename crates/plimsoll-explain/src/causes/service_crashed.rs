//! `service.crashed`: A signal ends a process of the service.

use plimsoll_model::cause::{Cause, CauseEvidence, CauseId};
use plimsoll_model::report::GrownCalls;

use super::{Definition, Known, Page, by_calls, by_counters, cause, quoted};

pub(super) const DEFINITION: Definition = Definition::new(
    Page {
        evidence_for: "an unhandled signal (SIGSEGV, SIGABRT, SIGBUS, SIGILL, SIGFPE) or SIGKILL ends processes on a host of the run, and connections are refused or reset",
        evidence_against: "memory ran out, and the kernel chose these processes (memory.oom). They exit on their own, with a status",
        test: "stop the process that kills them, or return to the last version that did not crash, and measure again",
        remedy: "read the process's log and its core dump (coredumpctl). Find the sender of the signal (trace signal:signal_generate)",
    },
    find,
);

const ID: CauseId = CauseId::ServiceCrashed;
/// What clients get of it.
const ERRORS: [&str; 2] = ["errors.refused", "errors.reset"];

fn find(known: &Known<'_>) -> Vec<Cause> {
    // A load generator ends its own processes.
    let load = known.measured.load.as_ref();
    let is_of_load =
        |it: &&GrownCalls| load.is_some_and(|(host, name)| it.owner == *host && it.process == *name);
    let crashed: Vec<_> = by_calls::crashed(known).into_iter().filter(|it| !is_of_load(it)).collect();
    let Some(first) = crashed.first() else { return Vec::new() };
    let errors: Vec<CauseEvidence> =
        ERRORS.iter().filter_map(|name| by_counters::grown(name, known.evidence)).map(quoted).collect();
    let is_measured = known.measured.processes.contains(&first.process);
    // A process that nothing is known of may have been of no use to what is measured.
    let sure = match (is_measured, errors.is_empty()) {
        (true, false) => 0.95,
        // Commands end their own helpers, as strace does.
        (true, true) if known.took_us.is_some() => 0.7,
        (true, true) => 0.9,
        (false, false) => 0.75,
        (false, true) => 0.5,
    };
    let title = format!("{}: `{}` on {}", ID.title(), first.process, first.owner);
    let evidence = by_calls::call_evidence(&crashed).chain(errors).collect();
    vec![Cause { title, ..cause(ID, sure, evidence) }]
}

#[cfg(test)]
mod tests {
    use plimsoll_model::observation::{FrameKind, TracedCall};
    use plimsoll_model::report::ProfileReport;

    use super::super::fixture::{calls, grew, profile, relay};
    use super::super::{Measured, named};
    use super::*;

    #[test]
    fn a_process_of_the_service_that_is_killed_is_named_unless_memory_had_run_out() {
        let of = |ended: &[TracedCall], process: &str| {
            let calls = ended.iter().map(|call| calls(*call, FrameKind::Host, process)).collect();
            let profile = ProfileReport { calls, ..profile() };
            let evidence = [grew("client", "errors.refused (per connection)", 0.0, 0.2)];
            named(&Known {
                profile: Some(&profile),
                measured: relay(),
                evidence: &evidence,
                ..Known::default()
            })
        };
        let crashed = of(&[TracedCall::Crash], "relay");
        assert_eq!((crashed[0].id, crashed[0].evidence.len()), (ID, 2));
        assert_eq!(crashed[0].evidence[0].metric, "ended by a signal: relay/relay");
        assert!(of(&[TracedCall::Crash], "helper")[0].confidence < crashed[0].confidence);
        let starved = of(&[TracedCall::Crash, TracedCall::OomKill], "relay");
        assert!(starved.iter().all(|cause| cause.id == CauseId::MemoryOom), "{starved:?}");
    }
    #[test]
    fn processes_that_the_load_ends_are_its_own() {
        let crashed = |process| {
            let calls = vec![calls(TracedCall::Crash, FrameKind::Host, process)];
            let profile = ProfileReport { calls, ..profile() };
            let load = Some(("relay".to_owned(), "plimsoll".to_owned()));
            let measured = Measured { load, ..relay() };
            !named(&Known { profile: Some(&profile), measured, ..Known::default() }).is_empty()
        };
        assert!(crashed("helper") && !crashed("plimsoll"));
    }
}
