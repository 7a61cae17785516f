//! `lock.user_space`: Threads of a program sleep until another of its threads releases a lock.

use plimsoll_model::cause::{Cause, CauseId};
use plimsoll_model::observation::WaitSite;
use plimsoll_model::report::{GrownWait, WaitFor};

use super::{
    Definition, Known, Page, by_counters, by_functions, by_levels, by_seen, by_settings, cause, quoted,
};

pub(super) const DEFINITION: Definition = Definition::new(
    Page {
        evidence_for: "threads of the program sleep in futexes, or its processes say in their titles that they wait for a lock (PostgreSQL), and hardly any did before. Calls of futex fail with EAGAIN, or threads switch more often",
        evidence_against: "as many threads slept there before. A single thread is as slow",
        test: "run the program with one thread: each operation takes as long as before",
        remedy: "find the lock's holder (perf lock contention -ab, offcputime). Hold the lock for less time, or split it",
    },
    find,
)
.of_use();

const ID: CauseId = CauseId::LockUserSpace;
/// Prefixes of the kernel functions in which a futex waiter sleeps (kernel/futex).
const FUTEX: [&str; 2] = ["futex_", "__futex"];
/// Largest share of the waiting threads that also waited before. Workers without work wait on both sides.
const HARDLY_ANY: f64 = 0.05;
/// Smallest average number of waiting threads.
const LEAST_THREADS: f64 = 0.3;
/// Switches between threads, on the whole machine.
const SWITCHES: &str = "machine.stat.ctxt";

/// The share of a program's calls that are futex calls, as strace counts them; fewer say nothing.
const CALLS: &str = "syscall.futex.call_share";
const LEAST_CALLS: f64 = 10.0;
/// Largest share before, relative to that after.
const FEW: f64 = 0.3;

/// The part of the time in system calls that futex calls take from which on threads sleep there, in per cent.
const TIME: (&str, f64) = ("syscall.futex.time_share", 40.0);

/// A program that calls futex(2) far more often, while the machine switches between threads more often, calls fail, or most of the time passes there.
fn by_tools(known: &Known<'_>) -> Option<Cause> {
    let calls = by_levels::above(&[CALLS], LEAST_CALLS, known.evidence)?;
    let failed = by_levels::above(&["syscall.futex.failed_share"], 1.0, known.evidence);
    let switches =
        by_counters::grown(SWITCHES, known.evidence).or_else(|| by_counters::grown("cs", known.evidence));
    let slept = by_levels::above(&[TIME.0], TIME.1, known.evidence);
    failed.or(switches).or(slept).filter(|_| calls.before <= FEW * calls.after)?;
    let evidence = [Some(calls), failed, switches, slept].into_iter().flatten().map(quoted).collect();
    Some(cause(ID, 0.7, evidence))
}

/// How sure it is where the program itself says that it waits for a lock.
const SURE_OF_TITLE: f64 = 0.88;

/// Whether the program says in its title that it waits for a lock.
fn says_so(site: &WaitSite) -> bool {
    matches!(site, WaitSite::Sleep { call: Some(call), .. } if call.ends_with(WaitSite::FOR_A_LOCK))
}

fn find(known: &Known<'_>) -> Vec<Cause> {
    if known.measured.hosts.is_empty() {
        return by_tools(known).into_iter().collect();
    }
    let is_lock = |site: &WaitSite| match site {
        WaitSite::Sleep { functions, .. } => {
            let is_futex =
                functions.iter().any(|function| FUTEX.iter().any(|start| function.starts_with(start)));
            is_futex || says_so(site)
        }
        WaitSite::Cpu => false,
    };
    // The first thread of a program waits for the others to end, before as well.
    let is_one_more = |it: &GrownWait| {
        known.took_us.is_some()
            && it.after_threads - it.before_threads >= 1.0
            && by_seen::explain(known, &[it])
    };
    let is_new = |it: &&GrownWait| {
        let is_new = it.after_threads >= LEAST_THREADS && it.before_threads <= HARDLY_ANY * it.after_threads;
        // A thread of a new helper may always have waited for work.
        let is_known = !by_settings::is_newcomer(known, &it.who.process);
        is_known
            && known.measured.depends_on(&it.who.process)
            && is_lock(&it.site)
            && (is_new || is_one_more(it))
    };
    let waits: Vec<&GrownWait> = by_seen::waits(known, WaitFor::Lock).into_iter().filter(is_new).collect();
    // A thread that starts others waits for their end, which is no lock where they compute.
    let computes = known.took_us.is_some() && by_functions::explains_all(known);
    let Some(first) = waits.first().filter(|_| !computes) else { return Vec::new() };
    let mut raced = by_seen::failures(known, &["EAGAIN"]);
    raced.retain(|it| it.call == "futex" && it.who.process == first.who.process);
    let switches = by_counters::grown(SWITCHES, known.evidence).map(quoted);
    let sure = match (raced.is_empty(), switches.is_some()) {
        _ if says_so(&first.site) => SURE_OF_TITLE,
        (false, _) => 0.75,
        _ if waits.iter().any(|it| is_one_more(it)) => 0.7,
        (true, true) => 0.6,
        // Workers that were started and have nothing to do look the same.
        (true, false) => 0.45,
    };
    let mut evidence = by_seen::wait_evidence(known, &waits);
    evidence.extend(by_seen::failure_evidence(&raced));
    evidence.extend(switches);
    let title = format!("{}: `{}`", ID.title(), first.who.process);
    vec![Cause { title, ..cause(ID, sure, evidence) }]
}

#[cfg(test)]
mod tests {
    use plimsoll_model::report::ProfileReport;

    use super::super::fixture::{asleep, failing, grew, ids, relay, wait};
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
        assert_eq!(of("policy", 0.0, "ETIMEDOUT", 90.0), [(ID, 0.6)], "what is measured waits for it");
    }

    #[test]
    fn a_server_that_says_in_its_title_that_it_waits_for_a_lock_is_named() {
        let of = |reason: &str| {
            let site = asleep("do_epoll_wait", &format!("epoll_wait{reason}"));
            let wait_for = crate::seen::wait_for(&site);
            let waits =
                vec![GrownWait { before_threads: 0.0, before_us: 0.0, ..wait("relay", site, wait_for) }];
            let profile = ProfileReport { waits, ..super::super::fixture::profile() };
            let took_us = Some((500.0, 3500.0));
            let known = Known { profile: Some(&profile), measured: relay(), took_us, ..Known::default() };
            named(&known).first().map(|cause| cause.id)
        };
        assert_eq!(of(WaitSite::FOR_A_LOCK), Some(ID));
        assert_ne!(of(""), Some(ID), "it waits for a question");
    }

    #[test]
    fn a_program_whose_calls_pass_their_time_in_futexes_is_named() {
        let of =
            |name: &str, before, after| grew("host", &format!("syscall.futex.{name} (level)"), before, after);
        let (calls, time) = (of("call_share", 0.0, 40.4), of("time_share", 0.0, 66.9));
        assert_eq!(ids(&[calls.clone(), time.clone()]), [ID]);
        assert!(ids(&[of("call_share", 35.0, 40.4), time]).is_empty(), "it called as often before");
        assert!(ids(&[calls]).is_empty(), "the calls return at once");
    }
}
