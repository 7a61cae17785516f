//! `service.stopped`: Something stops the service for a while, and lets it go on.

use plimsoll_model::cause::{Cause, CauseId};
use plimsoll_model::report::{GrownWait, WaitFor};

use super::{Definition, Known, Page, by_levels, by_seen, cause, changes, quoted};

pub(super) const DEFINITION: Definition = Definition::new(
    Page {
        evidence_for: "threads of the service are found stopped: by a signal (do_signal_stop), by a tracer (ptrace_stop), or by a freezer of control groups",
        evidence_against: "no look finds a thread stopped. The figure does not scatter from slice to slice",
        test: "find who sends SIGSTOP (perf trace -e kill, auditd), traces the service, or writes to cgroup.freeze. Take it away",
        remedy: "end the program that stops the service: a supervisor, a debugger, a checkpoint, a power manager",
    },
    find,
)
.confirmed_by(|experiment| {
    // The guard runs until the host is removed with all its processes. Some of those that it knows may end before.
    let command =
        "setsid sh -c 'while :; do kill -CONT $*; sleep 0.01; done' guard $pids >/dev/null 2>&1 &";
    let command = format!("{{ {command} }}");
    changes::of_processes("with a guard that lets the service go on at once", &command, experiment)
});

const ID: CauseId = CauseId::ServiceStopped;
/// A process that `top` shows as stopped (T).
fn by_tools(known: &Known<'_>) -> Option<Cause> {
    let stopped = by_levels::any_above(("process.", ".stopped_share"), 0.0, known.evidence)?;
    let process = by_levels::name(stopped).strip_prefix("process.")?.strip_suffix(".stopped_share")?;
    Some(Cause { title: format!("{}: `{process}`", ID.title()), ..cause(ID, 0.8, vec![quoted(stopped)]) })
}

fn find(known: &Known<'_>) -> Vec<Cause> {
    if known.measured.hosts.is_empty() {
        return by_tools(known).into_iter().collect();
    }
    let is_measured = |it: &&GrownWait| known.measured.has(&it.who.process);
    let stopped: Vec<&GrownWait> =
        by_seen::waits(known, WaitFor::Stopped).into_iter().filter(is_measured).collect();
    let Some(first) = stopped.first() else { return Vec::new() };
    let by = if first.site.title().starts_with("ptrace") { ", by a tracer" } else { "" };
    let title = format!("{}: `{}`{by}", ID.title(), by_seen::title(&first.who));
    // Signals that end helpers are common beside a tracer, and explain no time.
    let sure = if known.took_us.is_some() && by_seen::explain(known, &stopped) { 0.95 } else { 0.9 };
    vec![Cause { title, ..cause(ID, sure, by_seen::wait_evidence(known, &stopped)) }]
}

#[cfg(test)]
mod tests {
    use plimsoll_model::report::ProfileReport;

    use super::super::fixture::{asleep, profile, relay, wait};
    use super::super::named;
    use super::*;

    #[test]
    fn a_service_that_is_found_stopped_is_named() {
        let of = |process: &str, function: &str| {
            let site = asleep(function, "read");
            let wait_for = crate::seen::wait_for(&site);
            let waits = vec![wait(process, site, wait_for)];
            let profile = ProfileReport { waits, ..profile() };
            let causes = named(&Known { profile: Some(&profile), measured: relay(), ..Known::default() });
            causes.iter().map(|cause| cause.id).collect::<Vec<_>>()
        };
        assert_eq!(of("relay", "do_signal_stop"), [ID]);
        assert_eq!(of("relay", "__refrigerator"), [ID]);
        assert!(of("shell", "do_signal_stop").is_empty(), "somebody else's job");
        assert!(of("relay", "ep_poll").is_empty());
    }
}
