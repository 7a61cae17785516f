//! `net.conntrack_full`: Connection tracking is full, so the kernel drops packets of new connections.

use plimsoll_model::cause::{Cause, CauseId};

use super::{Definition, Known, Page, by_counters};

pub(super) const DEFINITION: Definition = Definition::new(
    Page {
        evidence_for: "the kernel counts packets that it could not track and dropped (nf_conntrack drop, early_drop). The table is nearly full",
        evidence_against: "the table has room (nf_conntrack_count far below nf_conntrack_max)",
        test: "raise net.netfilter.nf_conntrack_max and measure again: the drops disappear",
        remedy: "raise net.netfilter.nf_conntrack_max and the number of buckets, shorten the time-outs, or exempt traffic (NOTRACK)",
    },
    find,
)
.beyond_the_run();

/// What must have been counted: net/netfilter/nf_conntrack_core.c.
const SIGNATURES: [by_counters::Signature; 2] = [
    by_counters::Signature { counter: "nf_conntrack.drop", least: 0.005, with: WITH },
    by_counters::Signature { counter: "nf_conntrack.early_drop", least: 0.005, with: WITH },
];
/// What follows from packets that are dropped.
const WITH: &[&str] = &[
    "netstat.TcpExt.TCPSynRetrans",
    "netstat.TcpExt.TCPTimeouts",
    "nf_conntrack.insert_failed",
    "snmp.Ip.OutDiscards",
];

fn find(known: &Known<'_>) -> Vec<Cause> {
    let found =
        SIGNATURES.iter().filter_map(|it| by_counters::named(CauseId::NetConntrackFull, it, known.evidence));
    found.take(1).collect()
}

#[cfg(test)]
mod tests {
    use super::super::fixture::grew;
    use super::super::named;
    use super::*;

    #[test]
    fn packets_that_could_not_be_tracked_are_named_where_they_had_to_be_sent_again() {
        let dropped = grew("firewall", "nf_conntrack.drop (per connection)", 0.0, 2.0);
        let again = grew("client", "netstat.TcpExt.TCPSynRetrans (per connection)", 0.0, 1.5);
        let id = |evidence: &[_]| named(&Known { evidence, ..Known::default() }).first().map(|it| it.id);
        assert_eq!(id(&[dropped.clone(), again]), Some(CauseId::NetConntrackFull));
        assert_eq!(id(&[dropped]), None);
    }
}
