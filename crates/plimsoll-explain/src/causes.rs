//! Causes: named explanations, each with what speaks for it.
//!
//! A cause is named only where two independent observations point to it. For state that grows these are the rung of the remedies
//! ladder that brought the figure back (an intervention), and counters that grew with it (an observation).

use plimsoll_model::cause::{Cause, CauseEvidence, CauseId};
use plimsoll_model::report::{Evidence, StateLivesIn};

/// How much of the evidence a cause quotes.
const QUOTED: usize = 4;

/// What the place of the state says about the cause.
#[must_use]
pub fn of_state(state_lives_in: Option<StateLivesIn>, evidence: &[Evidence]) -> Vec<Cause> {
    let (id, remedy, speaks): (_, _, fn(&Evidence) -> bool) = match state_lives_in {
        Some(StateLivesIn::Service) => (
            CauseId::ServiceStateGrows,
            "bound what the service remembers of past connections; until then, restart it",
            |evidence| evidence.metric.contains("stat.cpu.user") || evidence.metric.contains("processes.user"),
        ),
        Some(StateLivesIn::HostKernel) => (
            CauseId::KernelStateGrows,
            "find who leaves this state in the host's kernel and does not take it away; until then, remove it or make the host anew",
            |evidence| {
                ["rules", "routes", "neighbours", "machine.slab.", "nf_conntrack", "softirq", "stat.cpu.system"]
                    .iter()
                    .any(|name| evidence.metric.starts_with(name) || evidence.metric.contains(&format!(".{name}")))
            },
        ),
        Some(StateLivesIn::Cache | StateLivesIn::Elsewhere) | None => return Vec::new(),
    };
    let quoted: Vec<CauseEvidence> = evidence
        .iter()
        .filter(|evidence| evidence.shift > 0.0 && speaks(evidence))
        .take(QUOTED)
        .map(|evidence| CauseEvidence {
            metric: format!("{}: {}", evidence.host, evidence.metric),
            before: evidence.before,
            after: evidence.after,
            unit: evidence.unit.clone(),
        })
        .collect();
    if quoted.is_empty() {
        return Vec::new();
    }
    // The intervention that confirms the cause has been made: the rung restored the figure.
    let confidence = if quoted.len() > 1 { 0.95 } else { 0.9 };
    let title = id.title().to_owned();
    vec![Cause { rank: 1, id, title, confidence, evidence: quoted, remedy: remedy.to_owned(), confirmed: true }]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn evidence(metric: &str) -> Evidence {
        Evidence {
            host: "firewall".into(),
            metric: metric.into(),
            before: 3.0,
            after: 10_003.0,
            unit: "count".into(),
            shift: 1.0,
            control_ratio: Some(1.0),
        }
    }

    #[test]
    fn the_rung_alone_is_not_enough() {
        assert!(of_state(Some(StateLivesIn::HostKernel), &[]).is_empty());
        assert!(of_state(Some(StateLivesIn::HostKernel), &[evidence("netstat.TcpExt.TW (per connection)")]).is_empty());
    }

    #[test]
    fn rules_that_grew_and_a_new_host_that_helped_point_at_the_kernel() {
        let causes = of_state(Some(StateLivesIn::HostKernel), &[evidence("rules (level)")]);
        assert_eq!(causes[0].id, CauseId::KernelStateGrows);
        assert_eq!(causes[0].evidence[0].after, 10_003.0);
    }

    #[test]
    fn where_nothing_is_held_down_nothing_is_explained() {
        assert!(of_state(None, &[evidence("rules (level)")]).is_empty());
    }
}
