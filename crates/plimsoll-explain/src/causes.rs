//! Causes: named explanations, each with what speaks for it.
//!
//! A cause is named only where two independent observations point to it. For state that grows these are the rung of the remedies
//! ladder that brought the figure back (an intervention), and counters that grew with it (an observation).

use plimsoll_model::cause::{Cause, CauseEvidence, CauseId};
use plimsoll_model::report::{Evidence, StateLivesIn};

/// How much of the evidence a cause quotes.
const QUOTED: usize = 4;

/// What the reference says of a cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page {
    /// What speaks for it.
    pub evidence_for: &'static str,
    /// What speaks against it.
    pub evidence_against: &'static str,
    /// The intervention that confirms it.
    pub test: &'static str,
    /// What mends it.
    pub remedy: &'static str,
}

/// The page of a cause.
#[must_use]
pub fn page(id: CauseId) -> Page {
    match id {
        CauseId::ServiceStateGrows => Page {
            evidence_for: "user CPU time per connection grew on the service's host, and stays so when no connection is left",
            evidence_against: "the kernel's time per connection grew instead; a restarted service is as slow",
            test: "restart the service and measure again: the figure is back",
            remedy: "bound what the service remembers of past connections; until then, restart it",
        },
        CauseId::KernelStateGrows => Page {
            evidence_for: "rules, routes, tracked connections or slabs of the host grew with the connections; time in the kernel and in \
                           softirqs per connection grew",
            evidence_against: "a restarted service is as fast as before",
            test: "restart the service (no change), then make its host anew: the figure is back",
            remedy: "find who leaves this state in the host's kernel and does not take it away; until then, remove it or make the host anew",
        },
    }
}

/// What the place of the state says about the cause.
#[must_use]
pub fn of_state(state_lives_in: Option<StateLivesIn>, evidence: &[Evidence]) -> Vec<Cause> {
    let (id, speaks): (_, fn(&str) -> bool) = match state_lives_in {
        Some(StateLivesIn::Service) => (CauseId::ServiceStateGrows, of_service),
        Some(StateLivesIn::HostKernel) => (CauseId::KernelStateGrows, of_kernel),
        Some(StateLivesIn::Cache | StateLivesIn::Elsewhere) | None => return Vec::new(),
    };
    let quoted: Vec<CauseEvidence> = evidence
        .iter()
        .filter(|evidence| evidence.shift > 0.0 && speaks(&evidence.metric))
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
    let (title, remedy) = (id.title().to_owned(), page(id).remedy.to_owned());
    vec![Cause { rank: 1, id, title, confidence, evidence: quoted, remedy, confirmed: true }]
}

fn of_service(metric: &str) -> bool {
    metric.contains("stat.cpu.user") || metric.starts_with("processes.user")
}

/// Sockets in TIME_WAIT and the inodes of `/proc` follow from any flood, and go by themselves.
fn of_kernel(metric: &str) -> bool {
    let follows_any_flood = metric.contains("tw_sock") || metric.contains("proc_inode");
    let grows = [
        "rules",
        "routes",
        "neighbours",
        "machine.slab.",
        "nf_conntrack",
        "machine.stat.cpu.softirq",
        "machine.stat.cpu.system",
    ];
    !follows_any_flood && grows.iter().any(|name| metric.starts_with(name))
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
        assert!(
            of_state(Some(StateLivesIn::HostKernel), &[evidence("netstat.TcpExt.TW (per connection)")])
                .is_empty()
        );
    }

    #[test]
    fn what_follows_from_any_flood_is_no_evidence() {
        let flood = [evidence("machine.slab.tw_sock_TCP.active (level)"), evidence("tcp.time_wait (level)")];
        assert!(of_state(Some(StateLivesIn::HostKernel), &flood).is_empty());
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
