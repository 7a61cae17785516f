//! `net.mtu_blackhole`: Packets exceed the MTU of a link on the path, and the sender is not notified.

use plimsoll_model::cause::{Cause, CauseId};
use plimsoll_model::experiment::Experiment;
use serde_json::json;

use super::{Change, Definition, Known, Page, by_counters, changes};

pub(super) const DEFINITION: Definition = Definition::new(
    Page {
        evidence_for: "a router counts packets that it could neither forward nor fragment (FragFails). Senders run into retransmission timeouts",
        evidence_against: "senders receive ICMP fragmentation-needed messages and send smaller packets",
        test: "lower the MTU of the sender's interface or route and measure again",
        remedy: "let ICMP of type 3, code 4 pass, lower the MTU (or clamp the MSS), or set net.ipv4.tcp_mtu_probing to 1",
    },
    find,
)
.confirmed_by(change);

/// What must have been counted: net/ipv4/ip_forward.c.
const COUNTERS: by_counters::Signature = by_counters::Signature {
    counter: "snmp.Ip.FragFails",
    least: 0.0005,
    with: &["netstat.TcpExt.TCPTimeouts", "snmp.Tcp.RetransSegs"],
};

fn find(known: &Known<'_>) -> Vec<Cause> {
    by_counters::named(CauseId::NetMtuBlackhole, &COUNTERS, known.evidence).into_iter().collect()
}

fn change(experiment: &Experiment) -> Change {
    let probing = |host: &String| changes::sysctl(host, "net.ipv4.tcp_mtu_probing", json!(2));
    changes::set("with tcp_mtu_probing at the senders", changes::of_namespaces(experiment).map(probing))
}

#[cfg(test)]
mod tests {
    use super::super::fixture::grew;
    use super::super::named;
    use super::*;

    #[test]
    fn a_router_that_cannot_forward_and_senders_that_wait_are_named_together() {
        let [fails, timeouts] = [("router", "snmp.Ip.FragFails"), ("server", "netstat.TcpExt.TCPTimeouts")]
            .map(|(host, counter)| grew(host, &format!("{counter} (per connection)"), 0.0, 3.0));
        let id = |evidence: &[_]| named(&Known { evidence, ..Known::default() }).first().map(|it| it.id);
        assert_eq!(id(&[fails.clone(), timeouts]), Some(CauseId::NetMtuBlackhole));
        assert_eq!(id(&[fails]), None);
    }
}
