//! `net.conntrack_full`: The table of connections that the kernel tracks is full, and packets of new ones are dropped.

use plimsoll_model::cause::{Cause, CauseId};

use super::{Definition, Known, Page, When, by_counters, by_hand};

pub(super) const DEFINITION: Definition = Definition {
    page: Page {
        evidence_for: "the kernel counts packets that it dropped because it could not track them (nf_conntrack drop, early_drop), and the table has nearly as many entries as it may",
        evidence_against: "there is room in the table (nf_conntrack_count far below nf_conntrack_max)",
        test: "raise net.netfilter.nf_conntrack_max and measure again: nothing is dropped",
        remedy: "raise net.netfilter.nf_conntrack_max and the number of buckets, shorten the time-outs, or do not track what need not be (NOTRACK)",
    },
    when: When::Always,
    find,
    change: by_hand,
};

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
    fn packets_that_could_not_be_tracked_are_told_where_they_had_to_be_sent_again() {
        let dropped = grew("firewall", "nf_conntrack.drop (per connection)", 0.0, 2.0);
        let again = grew("client", "netstat.TcpExt.TCPSynRetrans (per connection)", 0.0, 1.5);
        let id = |evidence: &[_]| named(&Known { evidence, ..Known::default() }).first().map(|it| it.id);
        assert_eq!(id(&[dropped.clone(), again]), Some(CauseId::NetConntrackFull));
        assert_eq!(id(&[dropped]), None);
    }
}
