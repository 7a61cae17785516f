//! `service.answers_late`: A program waits for an answer of another.

use plimsoll_model::cause::{Cause, CauseId};
use plimsoll_model::observation::WaitSite;
use plimsoll_model::report::{GrownWait, WaitFor};

use super::{Definition, Known, Page, by_functions, by_seen, cause};

pub(super) const DEFINITION: Definition = Definition::new(
    Page {
        evidence_for: "threads of the program sleep in a call that waits for something to read or for a connection, for most of the added time",
        evidence_against: "a cause in the program that should answer is known. The program waits for input on both sides",
        test: "find whom it waits for (`ss -tnp`, `lsof -p PID`), and look at that program in the same way",
        remedy: "mend what answers late. Ask several questions at a time, or keep answers that do not change",
    },
    find,
)
.of_use()
.where_nothing_else_fits();

const ID: CauseId = CauseId::ServiceAnswersLate;
/// How sure it is: of five outside cases where it came first, it named the whole fault in none (faults/measured.jsonl).
const SURE: f64 = 0.2;
/// Calls that wait for something to read, or for a connection.
const CALLS: [&str; 16] = [
    "read",
    "readv",
    "recvfrom",
    "recvmsg",
    "recvmmsg",
    "poll",
    "ppoll",
    "select",
    "pselect6",
    "epoll_wait",
    "epoll_pwait",
    "epoll_pwait2",
    "connect",
    "msgrcv",
    "mq_timedreceive",
    "io_uring_enter",
];

fn find(known: &Known<'_>) -> Vec<Cause> {
    // A service waits for questions on both sides: only who asks in turn waits for answers.
    if known.took_us.is_none() || by_functions::explains_all(known) {
        return Vec::new();
    }
    let is_it = |it: &&GrownWait| {
        call_of(it).is_some_and(|call| CALLS.contains(&call)) && known.measured.has(&it.who.process)
    };
    let kinds = [WaitFor::Other, WaitFor::Datagram, WaitFor::Connection];
    let waits = kinds.into_iter().flat_map(|kind| by_seen::waits(known, kind));
    let waits: Vec<&GrownWait> = waits.filter(is_it).collect();
    let Some(first) = waits.first().filter(|_| by_seen::explain(known, &waits)) else { return Vec::new() };
    let call = call_of(first).unwrap_or_default();
    let title = format!("{}: `{}` in {call}", ID.title(), first.who.process);
    vec![Cause { title, ..cause(ID, SURE, by_seen::wait_evidence(known, &waits)) }]
}

/// The system call that a thread sleeps in.
fn call_of(wait: &GrownWait) -> Option<&str> {
    match &wait.site {
        WaitSite::Sleep { call, .. } => call.as_deref(),
        WaitSite::Cpu => None,
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_model::report::ProfileReport;

    use super::super::fixture::{asleep, profile, relay, wait};
    use super::super::named;
    use super::*;

    #[test]
    fn a_program_that_waits_for_something_to_read_is_named_where_nothing_else_is() {
        let of = |process: &str, call: &str, took_us| {
            let waits = vec![wait(process, asleep("sk_wait_data", call), WaitFor::Other)];
            let profile = ProfileReport { waits, ..profile() };
            let known = Known { profile: Some(&profile), measured: relay(), took_us, ..Known::default() };
            named(&known).iter().map(|cause| cause.id).collect::<Vec<_>>()
        };
        // The wait grew by 2700 µs.
        let took_us = Some((500.0, 3500.0));
        assert_eq!(of("relay", "recvfrom", took_us), [ID]);
        assert!(of("relay", "wait4", took_us).is_empty(), "its child is looked at itself");
        assert!(of("relay", "recvfrom", Some((500.0, 90_000.0))).is_empty(), "a small part of it");
        assert!(of("relay", "recvfrom", None).is_empty() && of("stranger", "recvfrom", took_us).is_empty());
    }
}
