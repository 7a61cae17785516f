//! `service.sleeps`: A program sleeps for a time that it has set itself.

use plimsoll_model::cause::{Cause, CauseId};
use plimsoll_model::observation::StateKind;
use plimsoll_model::report::{GrownWait, RaisedState, WaitFor};

use super::{Definition, Known, Page, by_functions, by_seen, cause};

pub(super) const DEFINITION: Definition = Definition::new(
    Page {
        evidence_for: "threads of the program sleep in nanosleep(2), or in select(2) or poll(2) without descriptors, for a good part of the added time, and for less of it before. A larger timer slack (/proc/PID/timerslack_ns) makes each sleep end late",
        evidence_against: "another thread of the program uses the CPU for the added time, beside one that sleeps again and again. The sleep is as long before",
        test: "see where it sleeps (`strace -f -k -e clock_nanosleep,nanosleep -p PID`). Make that pause shorter, and measure again",
        remedy: "set the timer slack back (PR_SET_TIMERSLACK, TimerSlackNSec= of systemd), wait for an event instead of polling for it, shorten the pause between attempts, or raise the program's own rate limit",
    },
    find,
)
.of_use();

const ID: CauseId = CauseId::ServiceSleeps;
/// How sure it is where the program sleeps for more of each second, and where it sleeps for as much of it as before.
const SURE: (f64, f64) = (0.85, 0.6);
/// Where it is not known how long an operation takes: the fewest threads, on average, and the part of the operations that is lost.
const LEAST_THREADS: f64 = 0.3;
const LEAST_LOST: f64 = 0.2;
/// From this timer slack on sleeps are clearly longer than asked for: twice the kernel's default (kernel/fork.c).
const LATE_NS: u64 = 100_000;
/// The part by which it must grow for that.
const MORE: f64 = 1.5;

fn find(known: &Known<'_>) -> Vec<Cause> {
    if known.took_us.is_some() && by_functions::explains_all(known) {
        return Vec::new();
    }
    let mut sleeps = by_seen::waits(known, WaitFor::Timer);
    // A helper sleeps for longer for each operation whatever makes that slower, and for more of each second only if it is the cause.
    let is_more = |it: &GrownWait| it.after_threads >= MORE * it.before_threads;
    sleeps.retain(|it| {
        let process = &it.who.process;
        known.measured.has(process) || known.measured.depends_on(process) && is_more(it)
    });
    let Some(first) = sleeps.first().filter(|_| by_seen::explain(known, &sleeps)) else { return Vec::new() };
    let is_more = is_more(first);
    // Threads that wake up now and then look the same without the time of an operation, unless more of them sleep.
    let holds_up =
        is_more && first.after_threads >= LEAST_THREADS && known.lost.is_some_and(|lost| lost >= LEAST_LOST);
    if known.took_us.is_none() && !holds_up {
        return Vec::new();
    }
    let late = by_seen::own_states(known, StateKind::TimerSlack);
    let is_late =
        |it: &&&RaisedState| it.who == first.who && it.after >= LATE_NS && it.after >= 2 * it.before;
    let late: Vec<&RaisedState> = late.iter().filter(is_late).copied().collect();
    let why = if late.is_empty() { "" } else { ", whose timers may end late" };
    let title = format!("{}: `{}`{why}", ID.title(), first.who.process);
    let sure = if is_more || !late.is_empty() { SURE.0 } else { SURE.1 };
    let evidence = by_seen::wait_evidence(known, &sleeps).into_iter().chain(by_seen::state_evidence(&late));
    vec![Cause { title, ..cause(ID, sure, evidence.collect()) }]
}

#[cfg(test)]
mod tests {
    use plimsoll_model::report::{ProfileReport, ProfileSide};

    use super::super::fixture::{asleep, profile, relay, wait};
    use super::super::named;
    use super::*;

    #[test]
    fn sleeps_that_end_late_are_laid_to_the_timer_slack() {
        let of = |kind, after| {
            let call = format!("pselect6{}", plimsoll_model::observation::WaitSite::TIMEOUT_ALONE);
            let site = asleep("poll_schedule_timeout", &call);
            let wait_for = crate::seen::wait_for(&site);
            let waits = vec![wait("relay", site, wait_for)];
            let who = waits[0].who.clone();
            let states = vec![RaisedState { who, kind, before: 50_000, after }];
            let profile = ProfileReport { waits, states, ..profile() };
            let took_us = Some((500.0, 3500.0));
            let known = Known { profile: Some(&profile), measured: relay(), took_us, ..Known::default() };
            let found = named(&known).into_iter().find(|cause| cause.id == ID).unwrap();
            (found.title.contains("end late"), found.evidence.len())
        };
        assert_eq!(of(StateKind::TimerSlack, 900_000), (true, 2));
        assert_eq!(of(StateKind::TimerSlack, 60_000), (false, 1), "hardly later than before");
        assert_eq!(of(StateKind::FileLocks, 900_000), (false, 1));
    }

    #[test]
    fn a_program_that_sleeps_for_the_added_time_is_named_unless_it_computes_meanwhile() {
        let of_lost = |lost: Option<f64>,
                       process: &str,
                       before_threads,
                       added_cpu_us: f64,
                       took_us: Option<(f64, f64)>| {
            let site = asleep("hrtimer_nanosleep", "clock_nanosleep");
            let wait_for = crate::seen::wait_for(&site);
            let waits = vec![GrownWait { before_threads, ..wait(process, site, wait_for) }];
            let before = profile().before;
            let after = ProfileSide { cpu_us: before.cpu_us + added_cpu_us, ..before };
            let profile = ProfileReport { waits, after, grew: added_cpu_us > 0.0, ..profile() };
            let lost = if took_us.is_none() { lost } else { None };
            let known =
                Known { profile: Some(&profile), measured: relay(), took_us, lost, ..Known::default() };
            let found = named(&known).into_iter().filter(|cause| cause.id == ID);
            found.map(|cause| cause.confidence).collect::<Vec<_>>()
        };
        let of = |process: &str, before_threads, added_cpu_us: f64, took_us| {
            of_lost(Some(0.1), process, before_threads, added_cpu_us, took_us)
        };
        // The sleep grew by 2700 µs.
        let took_us = Some((500.0, 3500.0));
        assert_eq!(
            (of("relay", 0.1, 0.0, took_us), of("relay", 0.9, 0.0, took_us)),
            (vec![SURE.0], vec![SURE.1])
        );
        assert!(of("relay", 0.1, 2500.0, took_us).is_empty(), "another thread computes");
        assert!(of("relay", 0.1, 0.0, Some((500.0, 90_000.0))).is_empty(), "a small part of it");
        assert!(of("relay", 0.1, 0.0, None).is_empty(), "no operation is known to take longer");
        assert_eq!(of_lost(Some(0.7), "relay", 0.1, 0.0, None), [SURE.0]);
        assert!(of_lost(Some(0.7), "relay", 0.9, 0.0, None).is_empty(), "as many threads slept before");
        assert!(of("stranger", 0.1, 0.0, took_us).is_empty());
        assert_eq!(of("policy", 0.1, 0.0, took_us), [SURE.0]);
        assert!(
            of("policy", 0.9, 0.0, took_us).is_empty(),
            "a helper sleeps longer for each slower operation"
        );
    }
}
