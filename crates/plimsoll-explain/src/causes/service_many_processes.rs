//! `service.many_processes`: A program starts far more processes.

use plimsoll_model::cause::{Cause, CauseEvidence, CauseId};
use plimsoll_model::observation::TracedCall;
use plimsoll_model::report::GrownCalls;

use super::{Definition, Known, Page, by_calls, by_functions, cause};

pub(super) const DEFINITION: Definition = Definition::new(
    Page {
        evidence_for: "the program starts several times as many processes for each operation, or in each second. Each operation takes more CPU time",
        evidence_against: "as many processes are started before. The added time is no CPU time",
        test: "list what is started (`strace -f -e execve COMMAND`), and do the same work in one process",
        remedy: "use what the shell or the language has built in, give many items to one process (xargs), or keep a worker running",
    },
    find,
)
.of_use();

const ID: CauseId = CauseId::ServiceManyProcesses;
/// The fewest processes for each operation, or in a second, and how many times as many as before.
const LEAST: f64 = 20.0;
const TIMES: f64 = 3.0;

fn find(known: &Known<'_>) -> Vec<Cause> {
    if !by_functions::explains_all(known) {
        return Vec::new();
    }
    let per = known.took_us.and(known.profile).map_or("second", |profile| profile.per.as_str());
    let of_one = |it: &GrownCalls| known.of_one([it.before_per_s, it.after_per_s]);
    let is_it = |it: &&GrownCalls| {
        let [before, after] = of_one(it);
        after >= LEAST && after >= TIMES * before
    };
    let forked: Vec<&GrownCalls> =
        by_calls::by_measured(known, TracedCall::Fork).into_iter().filter(is_it).collect();
    let (Some(first), Some(profile)) = (forked.first(), known.profile) else { return Vec::new() };
    let started = forked.iter().map(|it| {
        let [before, after] = of_one(it);
        let metric = format!("{} {}/{} (per {per})", it.call.title(), it.owner, it.process);
        CauseEvidence { metric, before, after, unit: "count".to_owned() }
    });
    let title = format!("{}: `{}`", ID.title(), first.process);
    let entered = profile.entered.iter().take(2).map(|it| by_functions::function_evidence(it, &profile.per));
    vec![Cause { title, ..cause(ID, 0.85, started.chain(entered).collect()) }]
}

#[cfg(test)]
mod tests {
    use plimsoll_model::observation::FrameKind;
    use plimsoll_model::report::{ProfileReport, ProfileSide};

    use super::super::fixture::{calls, profile, relay};
    use super::super::named;
    use super::*;

    #[test]
    fn a_program_that_starts_a_process_for_each_item_is_named_where_cpu_time_was_added() {
        let of = |process: &str, before_per_s, added_cpu_us| {
            let forks = calls(TracedCall::Fork, FrameKind::Host, process);
            let before = profile().before;
            let after = ProfileSide { cpu_us: before.cpu_us + added_cpu_us, ..before };
            let calls = vec![GrownCalls { before_per_s, ..forks }];
            let profile = ProfileReport { calls, after, grew: true, ..profile() };
            let took_us = Some((1e6, 2e6));
            let known = Known { profile: Some(&profile), measured: relay(), took_us, ..Known::default() };
            named(&known).iter().any(|cause| cause.id == ID)
        };
        // There are 240 in the two seconds of an operation.
        assert!(of("relay", 0.0, 8e5));
        assert!(!of("relay", 100.0, 8e5), "it started half as many before");
        assert!(!of("relay", 0.0, 100.0), "the added time is no CPU time");
        assert!(!of("stranger", 0.0, 8e5));
    }
}
