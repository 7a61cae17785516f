//! `service.failing_calls`: A program makes the same system call again and again, and it fails.

use plimsoll_model::cause::{Cause, CauseId};
use plimsoll_model::report::GrownFailures;

use super::{Definition, Known, Page, by_functions, by_seen, cause};

pub(super) const DEFINITION: Definition = Definition::new(
    Page {
        evidence_for: "a call of the program fails thousands of times in a second, and it hardly ever did before. Each operation takes more CPU time",
        evidence_against: "the call fails as often before. It fails with EAGAIN, as calls on sockets that do not block do. The added CPU time is in other calls, or in a function of the program that does more than the call",
        test: "count the program's calls (`strace -fc -p PID`), take away what makes it repeat the failing one, and measure again",
        remedy: "a lower limit of open files for a program that closes all of them, a shorter search path, a file where the program looks for it first",
    },
    find,
)
.of_use();

const ID: CauseId = CauseId::ServiceFailingCalls;
/// Smallest number of failures in a second that takes a good part of it.
const LEAST: f64 = 5_000.0;
/// Largest share of the failures that also came before.
const FEW: f64 = 0.2;
/// Errors that say no more than that there is nothing to do yet.
const USUAL: [&str; 5] = ["EAGAIN", "EINTR", "ETIMEDOUT", "EINPROGRESS", "ECHILD"];

fn find(known: &Known<'_>) -> Vec<Cause> {
    let Some(profile) = known.profile.filter(|profile| profile.grew) else { return Vec::new() };
    if !known.is_explained_by_cpu(profile.added_us().0) {
        return Vec::new();
    }
    let is_it = |it: &&GrownFailures| {
        // A call may have failed as often in each second before.
        let [before, after] = known.of_one([it.before_per_s, it.after_per_s]);
        known.measured.has(&it.who.process)
            && it.after_per_s >= LEAST
            && before <= FEW * after
            && !USUAL.contains(&it.error.as_str())
    };
    let failing: Vec<&GrownFailures> = profile.failures.iter().filter(is_it).collect();
    let Some(first) = failing.first() else { return Vec::new() };
    // Calls that fail at once cost less than what the program makes them for.
    let mut calls = failing.iter().map(|it| it.call.as_str());
    if !profile.entered.is_empty() && !calls.any(|call| by_functions::is_called_much(profile, call)) {
        return Vec::new();
    }
    let title = format!("{}: {} of `{}`", ID.title(), first.call, first.who.process);
    vec![Cause { title, ..cause(ID, 0.8, by_seen::failure_evidence(&failing)) }]
}

#[cfg(test)]
mod tests {
    use plimsoll_model::observation::FrameKind;
    use plimsoll_model::report::{GrownFunction, ProfileReport, ProfileSide};

    use super::super::fixture::{failing, function, relay};
    use super::super::named;
    use super::*;

    #[test]
    fn a_call_that_fails_thousands_of_times_where_cpu_time_was_added_is_named() {
        let with = |entered: Vec<GrownFunction>, process: &str, error: &str, per_s: f64, added_us: f64| {
            let mut profile = failing(process, "close", error);
            profile.failures[0].after_per_s = per_s;
            let before = profile.before;
            let after = ProfileSide { cpu_us: before.cpu_us + added_us, ..before };
            let profile = ProfileReport { after, grew: true, entered, ..profile };
            let took_us = Some((1000.0, 3000.0));
            let known = Known { profile: Some(&profile), measured: relay(), took_us, ..Known::default() };
            named(&known).iter().any(|cause| cause.id == ID)
        };
        let of =
            |process: &str, error: &str, per_s, added_us| with(Vec::new(), process, error, per_s, added_us);
        assert!(of("relay", "EBADF", 60_000.0, 1500.0));
        assert!(!of("relay", "EBADF", 60_000.0, 100.0), "the added time is no CPU time");
        assert!(!of("relay", "EBADF", 300.0, 1500.0), "a few failures take no time");
        assert!(!of("relay", "EAGAIN", 60_000.0, 1500.0), "it asks whether there is more");
        assert!(!of("stranger", "EBADF", 60_000.0, 1500.0));
        let entered = |call: &str| {
            let called = function(&format!("__x64_sys_{call}"), FrameKind::Kernel, 0.4);
            with(vec![called], "relay", "EBADF", 60_000.0, 1500.0)
        };
        assert!(entered("close") && !entered("openat"), "another call takes the time");
    }
}
