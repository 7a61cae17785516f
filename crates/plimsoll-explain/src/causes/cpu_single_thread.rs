//! `cpu.single_thread`: One thread is always busy while other CPUs are idle.

use plimsoll_model::cause::{Cause, CauseEvidence, CauseId};
use plimsoll_model::report::Evidence;

use super::by_functions::WHOLE;
use super::known::BUSY;
use super::{Definition, Known, Page, by_functions, by_levels, by_seen, cause, quoted};

pub(super) const DEFINITION: Definition = Definition::new(
    Page {
        evidence_for: "a thread of the service uses a whole CPU, and other CPUs are idle. Each operation takes more CPU time",
        evidence_against: "the busiest thread leaves part of its CPU idle. All CPUs are saturated",
        test: "start a second process or thread of the service: the rate rises",
        remedy: "spread the work over more threads or processes. The profile names the functions that use the thread's time",
    },
    find,
)
.of_use()
.where_nothing_else_fits();

const ID: CauseId = CauseId::CpuSingleThread;
/// How sure it is where the thread had time left before, and its program uses this part of the added time or more itself: queues that are full now are its
/// doing.
const NEWLY: (f64, f64) = (0.92, 0.6);

fn find(known: &Known<'_>) -> Vec<Cause> {
    if known.measured.hosts.is_empty() {
        return by_tools(known).into_iter().collect();
    }
    let Some(profile) = known.profile else { return Vec::new() };
    let is_measured = |process: &String| known.measured.has(process);
    let busiest = profile.busiest_threads.iter().find(|it| is_measured(&it.who.process));
    let (Some(busiest), Some(idle)) = (busiest, profile.after.idle) else { return Vec::new() };
    if busiest.after_cpus < WHOLE || idle < BUSY {
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
    let functions = profile.functions.iter().take(2).chain(&profile.narrowest);
    let functions = functions.map(|it| by_functions::function_evidence(it, &profile.per));
    let (added, of_kernel) = profile.added_us();
    if profile.grew && !known.is_explained_by(added) {
        return Vec::new();
    }
    let is_new = busiest.before_cpus < WHOLE && of_kernel <= (1.0 - NEWLY.1) * added;
    // Without more CPU time for each operation the thread may have been as busy all along.
    let sure = match profile.grew {
        true if is_new && !known.measured.is_everybody => NEWLY.0,
        true => 0.7,
        false => 0.45,
    };
    let whole = format!("`{}` on {}", busiest.who.process, busiest.who.owner);
    let cause = cause(ID, sure, [thread, idle].into_iter().chain(functions).collect());
    vec![by_functions::with_computed(cause, profile, &busiest.who.process, &whole)]
}

/// The share of one CPU that a process uses which has one thread to use it with, as pidstat and top print it.
const ONE_CPU: std::ops::RangeInclusive<f64> = 90.0..=105.0;
/// How much more that is than before.
const MORE: f64 = 1.25;
/// The idle part of the CPUs' time, in per cent.
const IDLE: f64 = 100.0 * BUSY;

/// A process that uses one CPU whole, while other CPUs are idle.
fn by_tools(known: &Known<'_>) -> Option<Cause> {
    let idle = known.saved.iter().map(|cpu| cpu.after.idle).reduce(f64::min)?;
    let is_one = |it: &&Evidence| {
        let name = by_levels::name(it);
        let is_share = name.starts_with("process.") && name.ends_with(".cpu_share");
        is_share && ONE_CPU.contains(&it.after) && it.after >= MORE * it.before
    };
    let busiest = known.evidence.iter().find(is_one).filter(|_| idle >= IDLE)?;
    Some(cause(ID, 0.55, vec![quoted(busiest)]))
}

#[cfg(test)]
mod tests {
    use plimsoll_model::observation::FrameKind;
    use plimsoll_model::report::{GrownCpuUse, ProfileReport, ProfileSide};

    use super::super::fixture::{grew, profile, relay, who};
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

    #[test]
    fn queues_behind_a_thread_that_has_no_time_left_any_more_are_its_doing() {
        let of = |before_cpus: f64, kernel_us: f64| {
            let busy = GrownCpuUse { who: who(FrameKind::Host, "relay"), before_cpus, after_cpus: 0.97 };
            let (before, mut after) = (profile().before, profile().after);
            (after.cpu_us, after.kernel_us) = (before.cpu_us + 1000.0, before.kernel_us + kernel_us);
            let profile = ProfileReport { busiest_threads: vec![busy], after, grew: true, ..profile() };
            let counted = |name: &str| grew("relay", &format!("netstat.TcpExt.{name}"), 0.0, 0.2);
            let evidence = ["ListenOverflows", "TCPSynRetrans"].map(counted);
            let known =
                Known { profile: Some(&profile), measured: relay(), evidence: &evidence, ..Known::default() };
            named(&known).iter().map(|cause| cause.id).collect::<Vec<_>>()
        };
        assert_eq!(of(0.3, 100.0), [ID, CauseId::NetListenOverflow]);
        assert_eq!(of(0.95, 100.0), [CauseId::NetListenOverflow], "it was as busy before");
        assert_eq!(of(0.3, 900.0), [CauseId::NetListenOverflow], "the kernel uses the time");
    }
}
