//! `cpu.single_thread`: One thread is always busy while other CPUs are idle.

use plimsoll_model::cause::{Cause, CauseEvidence, CauseId};

use super::{Definition, Known, Page, When, by_functions, by_hand, by_seen, cause};

pub(super) const DEFINITION: Definition = Definition {
    page: Page {
        evidence_for: "a thread of the service uses a whole CPU, and other CPUs are idle. Each operation takes more CPU time",
        evidence_against: "the busiest thread leaves part of its CPU idle. All CPUs are saturated",
        test: "start a second process or thread of the service: the rate rises",
        remedy: "spread the work over more threads or processes. The profile names the functions that use the thread's time",
    },
    when: When::NothingElse,
    find,
    change: by_hand,
};

const ID: CauseId = CauseId::CpuSingleThread;
/// The smallest part of a CPU that makes a thread saturated.
const WHOLE: f64 = 0.85;

fn find(known: &Known<'_>) -> Vec<Cause> {
    let Some(profile) = known.profile else { return Vec::new() };
    let is_measured = |process: &String| known.measured.processes.contains(process);
    let busiest = profile.busiest_threads.iter().find(|it| is_measured(&it.who.process));
    let (Some(busiest), Some(idle)) = (busiest, profile.after.idle) else { return Vec::new() };
    if busiest.after_cpus < WHOLE || idle < by_functions::BUSY {
        return Vec::new();
    }
    let thread = CauseEvidence {
        metric: format!("CPUs used by the busiest thread of {}", by_seen::title(&busiest.who)),
        before: busiest.before_cpus,
        after: busiest.after_cpus,
        unit: "CPUs".to_owned(),
    };
    let idle = CauseEvidence {
        metric: "idle CPU time".to_owned(),
        before: 100.0 * profile.before.idle.unwrap_or(0.0),
        after: 100.0 * idle,
        unit: "%".to_owned(),
    };
    let functions = profile.functions.iter().take(2).map(|it| by_functions::told(it, &profile.per));
    // Without more CPU time for each operation the thread may have been as busy all along.
    let sure = if profile.grew { 0.7 } else { 0.45 };
    let title = format!("{}: `{}` on {}", ID.title(), busiest.who.process, busiest.who.owner);
    vec![Cause { title, ..cause(ID, sure, [thread, idle].into_iter().chain(functions).collect()) }]
}

#[cfg(test)]
mod tests {
    use plimsoll_model::observation::FrameKind;
    use plimsoll_model::report::{GrownCpuUse, ProfileReport, ProfileSide};

    use super::super::fixture::{profile, relay, who};
    use super::super::named;
    use super::*;

    #[test]
    fn a_thread_of_the_service_that_uses_a_whole_cpu_while_another_is_idle_is_named() {
        let of = |process: &str, after_cpus: f64, idle: f64| {
            let busy = GrownCpuUse { who: who(FrameKind::Host, process), before_cpus: 0.6, after_cpus };
            let after = ProfileSide { idle: Some(idle), ..profile().after };
            let profile = ProfileReport { busiest_threads: vec![busy], after, grew: true, ..profile() };
            let causes = named(&Known { profile: Some(&profile), measured: relay(), ..Known::default() });
            causes.iter().map(|cause| cause.id).collect::<Vec<_>>()
        };
        assert_eq!(of("relay", 0.97, 0.4), [ID]);
        assert!(of("relay", 0.6, 0.4).is_empty(), "it has a part of its CPU left");
        assert!(of("stranger", 0.97, 0.4).is_empty());
        assert!(!of("relay", 0.97, 0.05).contains(&ID), "no CPU is idle");
    }
}
