//! Causes by the remediation steps: the one that brought the figure back says where the state lives that holds it down.

use plimsoll_model::cause::{Cause, CauseEvidence, CauseId};
use plimsoll_model::report::StateLivesIn;

use super::{Known, QUOTED, cause, quoted};

/// The cause, where the state lives there: an intervention has confirmed it. `speaks` tells which figures that grew speak for it.
pub(super) fn named(
    id: CauseId,
    lives_in: StateLivesIn,
    speaks: fn(&str) -> bool,
    known: &Known<'_>,
) -> Option<Cause> {
    if known.ladder.state_lives_in != Some(lives_in) {
        return None;
    }
    let grew = known.evidence.iter().filter(|evidence| evidence.shift > 0.0 && speaks(&evidence.metric));
    let grew: Vec<CauseEvidence> = grew.take(QUOTED).map(quoted).collect();
    let restored = known.ladder.restored.clone();
    if grew.is_empty() && restored.is_none() {
        return None;
    }
    let confidence = match grew.len() {
        0 => 0.8,
        1 => 0.9,
        _ => 0.95,
    };
    let found = cause(id, confidence, restored.into_iter().chain(grew).collect());
    Some(Cause { confirmed: true, ..found })
}

#[cfg(test)]
mod tests {
    use plimsoll_model::report::Evidence;

    use super::super::fixture::grew;
    use super::super::{Ladder, named};
    use super::*;

    fn of_state(
        state_lives_in: Option<StateLivesIn>,
        restored: Option<CauseEvidence>,
        evidence: &[Evidence],
    ) -> Vec<Cause> {
        named(&Known { ladder: Ladder { state_lives_in, restored }, evidence, ..Known::default() })
    }

    fn evidence(metric: &str) -> Evidence {
        grew("firewall", metric, 3.0, 10_003.0)
    }

    #[test]
    fn a_step_without_figures_is_not_enough() {
        assert!(of_state(Some(StateLivesIn::HostKernel), None, &[]).is_empty());
        assert!(
            of_state(Some(StateLivesIn::HostKernel), None, &[evidence("netstat.TcpExt.TW (per connection)")])
                .is_empty()
        );
    }

    #[test]
    fn what_a_restart_has_restored_is_named_although_no_counter_tells_more() {
        let restored = CauseEvidence {
            metric: "connections_per_second, relative to the baseline, by `restart_service`".into(),
            before: 0.2,
            after: 1.0,
            unit: "ratio".into(),
        };
        let causes = of_state(Some(StateLivesIn::Service), Some(restored.clone()), &[]);
        assert_eq!((causes[0].id, causes[0].confirmed), (CauseId::ServiceStateGrows, true));
        assert_eq!(causes[0].evidence, std::slice::from_ref(&restored));
        let more = of_state(
            Some(StateLivesIn::Service),
            Some(restored),
            &[evidence("machine.stat.cpu.user (per connection)")],
        );
        assert!(more[0].confidence > causes[0].confidence);
    }

    #[test]
    fn what_follows_from_any_flood_is_no_evidence() {
        let flood = [evidence("machine.slab.tw_sock_TCP.active (level)"), evidence("tcp.time_wait (level)")];
        assert!(of_state(Some(StateLivesIn::HostKernel), None, &flood).is_empty());
    }

    #[test]
    fn rules_that_grew_and_a_new_host_that_helped_point_at_the_kernel() {
        let causes = of_state(Some(StateLivesIn::HostKernel), None, &[evidence("rules (level)")]);
        assert_eq!(causes[0].id, CauseId::KernelStateGrows);
        assert_eq!(causes[0].evidence[0].after, 10_003.0);
    }

    #[test]
    fn where_nothing_is_held_down_nothing_is_explained() {
        assert!(of_state(None, None, &[evidence("rules (level)")]).is_empty());
    }
}
