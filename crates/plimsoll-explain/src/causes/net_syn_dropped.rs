//! `net.syn_dropped`: SYNs or SYN-ACKs are lost or dropped.

use plimsoll_model::cause::{Cause, CauseId};
use plimsoll_model::trace::Class;

use super::{Definition, Known, Page, by_counters, by_stalls, changes};

pub(super) const DEFINITION: Definition = Definition::new(
    Page {
        evidence_for: "SYNs or SYN-ACKs are retransmitted after one second or more",
        evidence_against: "the server answers a SYN with something other than a SYN-ACK",
        test: "raise the listener's backlog, or remove the filter: the server answers every SYN at once",
        remedy: "raise the backlog (listen, net.core.somaxconn), or find what drops SYNs on the path",
    },
    find,
)
.confirmed_by(changes::without_loss);

const ID: CauseId = CauseId::NetSynDropped;
/// What the kernel must have counted where no packets were captured.
const COUNTERS: by_counters::Signature = by_counters::Signature {
    counter: "netstat.TcpExt.TCPSynRetrans",
    least: 0.005,
    with: &["netstat.TcpExt.TCPTimeouts", "snmp.Tcp.AttemptFails"],
};
/// Counters that explain the missing reply by another cause, if one of them grew.
const KNOWN_WHY: [&str; 4] = [
    "netstat.TcpExt.ListenOverflows",
    "netstat.TcpExt.PAWSTimewait",
    "nf_conntrack.drop",
    "nf_conntrack.early_drop",
];
/// What the packets must show.
const STALLS: by_stalls::Signature = by_stalls::Signature {
    classes: &[Class::SynRetry, Class::SynackRetry],
    counters: &["snmp.Tcp.RetransSegs", "netstat.TcpExt.TCPTimeouts"],
    is_counted: true,
    required: None,
    window: false,
};

fn find(known: &Known<'_>) -> Vec<Cause> {
    by_stalls::named(ID, &STALLS, known.stalls).into_iter().chain(counted(known)).collect()
}

/// SYNs that were sent again, and nothing that says why.
fn counted(known: &Known<'_>) -> Option<Cause> {
    if KNOWN_WHY.iter().any(|name| by_counters::grown(name, known.evidence).is_some()) {
        return None;
    }
    let found = by_counters::named(ID, &COUNTERS, known.evidence)?;
    Some(by_counters::with_drops(Cause { confidence: 0.6, ..found }, known.evidence))
}

#[cfg(test)]
mod tests {
    use super::super::fixture::grew;
    use super::super::named;
    use super::*;

    #[test]
    fn syns_that_nobody_answers_are_named_where_no_queue_explains_them() {
        let counter = |name: &str| grew("client", &format!("{name} (per connection)"), 0.0, 0.2);
        let [again, timeouts, overflows] =
            ["netstat.TcpExt.TCPSynRetrans", "netstat.TcpExt.TCPTimeouts", "netstat.TcpExt.ListenOverflows"]
                .map(counter);
        let ids = |evidence: &[_]| -> Vec<CauseId> {
            named(&Known { evidence, ..Known::default() }).iter().map(|it| it.id).collect()
        };
        assert_eq!(ids(&[again.clone(), timeouts.clone()]), [ID]);
        assert_eq!(ids(&[again, timeouts, overflows]), [CauseId::NetListenOverflow]);
    }
}
