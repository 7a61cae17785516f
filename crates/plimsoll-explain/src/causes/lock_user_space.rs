//! `lock.user_space`: Threads of a program sleep until another of its threads releases a lock.

use plimsoll_model::cause::{Cause, CauseId};
use plimsoll_model::observation::WaitSite;
use plimsoll_model::report::{GrownWait, WaitFor};

use super::{Definition, Known, Page, When, by_counters, by_hand, by_seen, cause, quoted};

pub(super) const DEFINITION: Definition = Definition {
    page: Page {
        evidence_for: "threads of the program sleep in futexes, and hardly any did before. Calls of futex fail with EAGAIN, or threads switch more often",
        evidence_against: "as many threads slept there before. A single thread is as slow",
        test: "run the program with one thread: each operation takes as long as before",
        remedy: "find the lock's holder (perf lock contention -ab, offcputime). Hold the lock for less time, or split it",
    },
    when: When::Always,
    find,
    change: by_hand,
};

const ID: CauseId = CauseId::LockUserSpace;
/// Prefixes of the kernel functions in which a futex waiter sleeps (kernel/futex).
const FUTEX: [&str; 2] = ["futex_", "__futex"];
/// Largest share of the waiting threads that also waited before. Workers without work wait on both sides.
const HARDLY_ANY: f64 = 0.05;
/// Smallest average number of waiting threads.
const LEAST_THREADS: f64 = 0.3;
/// Switches between threads, on the whole machine.
const SWITCHES: &str = "machine.stat.ctxt";

fn find(known: &Known<'_>) -> Vec<Cause> {
    let is_futex = |site: &WaitSite| match site {
        WaitSite::Sleep { functions, .. } => {
            functions.iter().any(|function| FUTEX.iter().any(|start| function.starts_with(start)))
        }
        WaitSite::Cpu => false,
    };
    let is_new = |it: &&GrownWait| {
        known.measured.processes.contains(&it.who.process)
            && it.after_threads >= LEAST_THREADS
            && it.before_threads <= HARDLY_ANY * it.after_threads
            && is_futex(&it.site)
    };
    let waits: Vec<&GrownWait> = by_seen::waits(known, WaitFor::Lock).into_iter().filter(is_new).collect();
    let Some(first) = waits.first() else { return Vec::new() };
    let mut raced = by_seen::failures(known, &["EAGAIN"]);
    raced.retain(|it| it.call == "futex" && it.who.process == first.who.process);
    let switches = by_counters::grown(SWITCHES, known.evidence).map(quoted);
    let sure = match (raced.is_empty(), switches.is_some()) {
        (false, _) => 0.75,
        (true, true) => 0.6,
        // Workers that were started and have nothing to do look the same.
        (true, false) => 0.45,
    };
    let mut evidence = by_seen::told_waits(known, &waits);
    evidence.extend(by_seen::told_failures(&raced));
    evidence.extend(switches);
    let title = format!("{}: `{}`", ID.title(), first.who.process);
    vec![Cause { title, ..cause(ID, sure, evidence) }]
}

#[cfg(test)]
mod tests {
    use plimsoll_model::report::ProfileReport;

    use super::super::fixture::{asleep, failing, grew, relay, wait};
    use super::super::named;
    use super::*;

    #[test]
    fn threads_that_hardly_ever_waited_for_each_other_and_now_do_are_named() {
        let of = |process: &str, before_threads: f64, error: &str, switches: f64| {
            let futex = wait(process, asleep("futex_do_wait", "futex"), WaitFor::Lock);
            let waits = vec![GrownWait { before_threads, before_us: 0.0, ..futex }];
            let profile = ProfileReport { waits, ..failing("relay", "futex", error) };
            let evidence = [grew("machine", "machine.stat.ctxt (per run)", 10.0, switches)];
            let known =
                Known { profile: Some(&profile), measured: relay(), evidence: &evidence, ..Known::default() };
            named(&known).iter().map(|cause| (cause.id, cause.confidence)).collect::<Vec<_>>()
        };
        assert_eq!(of("relay", 0.0, "EAGAIN", 5.0), [(ID, 0.75)]);
        assert_eq!(of("relay", 0.0, "ETIMEDOUT", 90.0), [(ID, 0.6)]);
        assert_eq!(of("relay", 0.0, "ETIMEDOUT", 5.0), [(ID, 0.45)]);
        assert!(of("relay", 0.5, "EAGAIN", 90.0).is_empty(), "its workers waited for work before");
        assert!(of("stranger", 0.0, "EAGAIN", 90.0).is_empty(), "not what is measured");
    }
}
