//! `cpu.low_priority`: The service has a lower priority than whatever else wants the CPUs.

use plimsoll_model::cause::CauseId;
use plimsoll_model::observation::StateKind;

use super::{Definition, Page, When, by_hand, by_seen};

pub(super) const DEFINITION: Definition = Definition {
    page: Page {
        evidence_for: "the nice value of the service rose, or it has the policy SCHED_IDLE. Its threads wait longer for a CPU",
        evidence_against: "the priority was the same before. No thread of the service waits for a CPU",
        test: "start the service with nice 0 (renice -n 0, chrt --other 0) and measure again",
        remedy: "give the service its usual priority. Lower that of background work",
    },
    when: When::Always,
    find: |known| {
        by_seen::scheduled(CauseId::CpuLowPriority, known, &[StateKind::Nice, StateKind::IdleOnly])
            .into_iter()
            .collect()
    },
    change: by_hand,
};

#[cfg(test)]
mod tests {
    use plimsoll_model::observation::{FrameKind, WaitSite};
    use plimsoll_model::report::{ProfileReport, RaisedState, WaitFor};

    use super::super::fixture::{profile, relay, wait, who};
    use super::super::{Known, named};
    use super::*;

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
