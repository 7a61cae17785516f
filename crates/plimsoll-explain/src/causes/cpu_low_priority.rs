//! `cpu.low_priority`: The service has a lower priority than whatever else wants the CPUs.

use plimsoll_model::cause::{Cause, CauseId};
use plimsoll_model::observation::StateKind;

use super::{Definition, Known, Page, by_levels, by_seen, cause, changes, quoted};

pub(super) const DEFINITION: Definition = Definition::new(
    Page {
        evidence_for: "the nice value of the service rose, or it has the policy SCHED_IDLE. Its threads wait longer for a CPU",
        evidence_against: "the priority was the same before. No thread of the service waits for a CPU",
        test: "start the service with nice 0 (renice -n 0, chrt --other 0) and measure again",
        remedy: "give the service its usual priority. Lower that of background work",
    },
    |known| {
        let seen = by_seen::scheduled(ID, known, &[StateKind::Nice, StateKind::IdleOnly]);
        seen.or_else(|| by_tools(known)).into_iter().collect()
    },
)
.confirmed_by(|experiment| {
    let command = "{ renice -n 0 -p $pids >/dev/null; for p in $pids; do chrt --all-tasks --other --pid 0 $p; done; }";
    changes::of_processes("with the usual priority for the service", command, experiment)
});

const ID: CauseId = CauseId::CpuLowPriority;
/// Nice values that `top` prints, and from which on a process yields most of a CPU to others.
const NICE: (&str, &str) = ("process.", ".nice");
const LEAST_NICE: f64 = 5.0;
/// From this share of its time on, in per cent, a process waits for a CPU (`pidstat`: %wait).
const LEAST_WAIT: f64 = 10.0;

/// From this share of a CPU on another process takes it.
const LEAST_TAKEN: f64 = 20.0;

/// A process with a lower priority than before that waits for a CPU, or yields it to another that uses more.
fn by_tools(known: &Known<'_>) -> Option<Cause> {
    let nicer = by_levels::any_above(NICE, LEAST_NICE, known.evidence)?;
    let process = by_levels::name(nicer).strip_prefix(NICE.0)?.strip_suffix(NICE.1)?;
    let waits = by_levels::above(&[&format!("process.{process}.wait_share")], LEAST_WAIT, known.evidence);
    let taken = by_levels::any_above(("process.", ".cpu_share"), LEAST_TAKEN, known.evidence);
    let other = taken.filter(|it| by_levels::name(it) != format!("process.{process}.cpu_share"));
    let waits = waits.or(other)?;
    let title = format!("{}: `{process}`", ID.title());
    Some(Cause { title, ..cause(ID, 0.85, [nicer, waits].map(quoted).to_vec()) })
}

#[cfg(test)]
mod tests {
    use plimsoll_model::observation::{FrameKind, WaitSite};
    use plimsoll_model::report::{ProfileReport, RaisedState, WaitFor};

    use super::super::fixture::{grew, ids, profile, relay, wait, who};
    use super::super::named;
    use super::*;

    #[test]
    fn a_process_that_top_shows_with_a_lower_priority_is_named_where_it_waits() {
        let nice = grew("host", "process.redis-server.nice (level)", 0.0, 19.0);
        let waits = grew("host", "process.redis-server.wait_share (level)", 1.0, 80.0);
        assert_eq!(ids(&[nice.clone(), waits]), [CauseId::CpuLowPriority]);
        let other = grew("host", "process.report.cpu_share (level)", 0.0, 34.0);
        assert_eq!(ids(&[nice.clone(), other]), [CauseId::CpuLowPriority]);
        assert!(ids(&[nice]).is_empty(), "no other program wants the CPU");
    }

    #[test]
    fn a_service_whose_priority_fell_is_named_and_a_stranger_is_not() {
        let of = |process: &str, kind, waits: bool| {
            let state = RaisedState { who: who(FrameKind::Host, process), kind, before: 0, after: 19 };
            let waits = if waits { vec![wait("relay", WaitSite::Cpu, WaitFor::Cpu)] } else { Vec::new() };
            let profile = ProfileReport { states: vec![state], waits, ..profile() };
            let causes = named(&Known { profile: Some(&profile), measured: relay(), ..Known::default() });
            causes.iter().map(|cause| (cause.id, cause.confidence)).collect::<Vec<_>>()
        };
        assert_eq!(of("relay", StateKind::Nice, true), [(CauseId::CpuLowPriority, 0.88)]);
        assert_eq!(of("relay", StateKind::IdleOnly, false), [(CauseId::CpuLowPriority, 0.55)]);
        assert_eq!(of("relay", StateKind::WithheldCpus, true), [(CauseId::CpuPinned, 0.88)]);
        assert!(of("cron", StateKind::Nice, true).is_empty());
        assert!(of("relay", StateKind::FileLocks, false).is_empty(), "nothing takes longer in them");
    }
}
