//! `service.many_signals`: A program handles far more signals.

use plimsoll_model::cause::{Cause, CauseId};
use plimsoll_model::observation::TracedCall;
use plimsoll_model::report::GrownCalls;

use super::{Definition, Known, Page, by_calls, by_functions, cause};

pub(super) const DEFINITION: Definition = Definition::new(
    Page {
        evidence_for: "the program handles several times as many signals for each operation, and hundreds in each second. Each operation takes more CPU time",
        evidence_against: "as many signals arrive before. The added time is no CPU time",
        test: "see which signal it is, and who sends it (`strace -f -e trace=none -p PID`, `perf trace -e signal:signal_generate`). Lengthen the interval of its timer, and measure again",
        remedy: "a longer interval of the timer (setitimer, timer_create), or a counter that the program looks at by itself",
    },
    find,
)
.of_use();

const ID: CauseId = CauseId::ServiceManySignals;
/// The fewest signals in a second, and how many times as many as before.
const LEAST: f64 = 500.0;
const TIMES: f64 = 3.0;

fn find(known: &Known<'_>) -> Vec<Cause> {
    if !by_functions::explains_all(known) {
        return Vec::new();
    }
    let is_it = |it: &&GrownCalls| {
        let [before, after] = known.of_one([it.before_per_s, it.after_per_s]);
        it.after_per_s >= LEAST && after >= TIMES * before
    };
    let handled: Vec<&GrownCalls> =
        by_calls::by_measured(known, TracedCall::Signal).into_iter().filter(is_it).collect();
    let Some(first) = handled.first() else { return Vec::new() };
    let title = format!("{}: `{}`", ID.title(), first.process);
    vec![Cause { title, ..cause(ID, 0.85, by_calls::call_evidence(&handled).collect()) }]
}

#[cfg(test)]
mod tests {
    use plimsoll_model::observation::FrameKind;
    use plimsoll_model::report::{ProfileReport, ProfileSide};

    use super::super::fixture::{calls, profile, relay};
    use super::super::named;
    use super::*;

    #[test]
    fn a_program_whose_timer_interrupts_it_thousands_of_times_is_named() {
        let of = |process: &str, [before_per_s, after_per_s]: [f64; 2], added_cpu_us| {
            let signals = calls(TracedCall::Signal, FrameKind::Host, process);
            let before = profile().before;
            let after = ProfileSide { cpu_us: before.cpu_us + added_cpu_us, ..before };
            let calls = vec![GrownCalls { before_per_s, after_per_s, ..signals }];
            let profile = ProfileReport { calls, after, grew: true, ..profile() };
            let took_us = Some((1e6, 2e6));
            let known = Known { profile: Some(&profile), measured: relay(), took_us, ..Known::default() };
            named(&known).iter().any(|cause| cause.id == ID)
        };
        assert!(of("relay", [20.0, 7000.0], 8e5));
        assert!(!of("relay", [6000.0, 7000.0], 8e5), "nearly as many before");
        assert!(!of("relay", [1.0, 50.0], 8e5), "fifty in a second take no time");
        assert!(!of("relay", [20.0, 7000.0], 100.0), "the added time is no CPU time");
        assert!(!of("stranger", [20.0, 7000.0], 8e5));
    }
}
