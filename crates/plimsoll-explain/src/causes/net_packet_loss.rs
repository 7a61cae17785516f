//! `net.packet_loss`: Packets are lost and retransmitted.

use plimsoll_model::cause::{Cause, CauseId};
use plimsoll_model::report::Evidence;
use plimsoll_model::trace::Class;

use super::{Definition, Known, Page, by_counters, by_stalls, cause, changes, quoted};

pub(super) const DEFINITION: Definition = Definition::new(
    Page {
        evidence_for: "duplicate acknowledgements or SACK precede retransmissions. A packet filter, a queue or an interface counts dropped packets",
        evidence_against: "segments arrive out of order, and the retransmissions were unnecessary",
        test: "make the path lossless: the retransmissions disappear",
        remedy: "look where packets are dropped (nft list ruleset, tc -s qdisc, ip -s link): a filter, a short queue, a policer, a bad link",
    },
    find,
)
.confirmed_by(changes::without_loss);

/// What the kernel must have counted where no packets were captured: net/ipv4/tcp_input.c and tcp_output.c.
const COUNTERS: by_counters::Signature = by_counters::Signature {
    counter: "snmp.Tcp.RetransSegs",
    least: 0.005,
    with: &[
        "netstat.TcpExt.TCPFastRetrans",
        "netstat.TcpExt.TCPSackRecovery",
        "netstat.TcpExt.TCPRenoRecovery",
    ],
};
/// How sure the counters alone are.
const COUNTED_ALONE: f64 = 0.6;
/// What the packets must show.
const STALLS: by_stalls::Signature = by_stalls::Signature {
    classes: &[Class::FastRetransmit],
    counters: &["snmp.Tcp.RetransSegs"],
    is_counted: true,
    required: None,
    window: false,
};

/// The kernel drops at least this many packets for each segment that is sent again here: the peer sends the others again.
const LEAST_DROPPED: f64 = 0.5;
const SYN_RETRANSMITS: &str = "netstat.TcpExt.TCPSynRetrans";

/// A loss in connections too short for duplicate acknowledgements: segments are sent again, and the kernel itself dropped packets.
fn dropped(evidence: &[Evidence]) -> Option<Cause> {
    let again =
        by_counters::grown(COUNTERS.counter, evidence).filter(|counter| counter.after >= COUNTERS.least)?;
    // A handshake that is repeated has a cause of its own.
    let handshakes = by_counters::grown(SYN_RETRANSMITS, evidence).map_or(0.0, |counter| counter.after);
    if handshakes >= LEAST_DROPPED * again.after {
        return None;
    }
    let is_felt = |drops: &Evidence| {
        drops.metric.starts_with("machine.drops.") && drops.after >= LEAST_DROPPED * again.after
    };
    let is_dropped_here = by_counters::drops(evidence).into_iter().any(is_felt);
    is_dropped_here.then(|| cause(CauseId::NetPacketLoss, COUNTED_ALONE, vec![quoted(again)]))
}

fn find(known: &Known<'_>) -> Vec<Cause> {
    let counted = by_counters::named(CauseId::NetPacketLoss, &COUNTERS, known.evidence)
        .or_else(|| dropped(known.evidence));
    // Counters tell that it happens, and not what it costs.
    let counted = counted
        .map(|cause| by_counters::with_drops(Cause { confidence: COUNTED_ALONE, ..cause }, known.evidence));
    by_stalls::named(CauseId::NetPacketLoss, &STALLS, known.stalls).into_iter().chain(counted).collect()
}

#[cfg(test)]
mod tests {
    use super::super::fixture::grew;
    use super::super::named;
    use super::*;

    #[test]
    fn who_dropped_packets_is_named_first_and_makes_a_loss_surer() {
        let counter = |name: &str| grew("server", &format!("{name} (per connection)"), 0.0, 0.2);
        let sent_again = ["snmp.Tcp.RetransSegs", "netstat.TcpExt.TCPFastRetrans"].map(counter);
        let of = |more: &[&str]| {
            let evidence: Vec<_> =
                sent_again.iter().cloned().chain(more.iter().map(|name| counter(name))).collect();
            let found = named(&Known { evidence: &evidence, ..Known::default() });
            let loss = found.into_iter().find(|it| it.id == CauseId::NetPacketLoss).unwrap();
            (loss.confidence, loss.evidence[0].metric.clone())
        };
        assert_eq!(of(&[]), (0.6, "server: snmp.Tcp.RetransSegs (per connection)".to_owned()));
        let filtered = of(&["machine.drops.netfilter_drop"]);
        assert_eq!(filtered, (0.88, "server: machine.drops.netfilter_drop (per connection)".to_owned()));
        assert_eq!(of(&["dev.eth0.rx_packets"]).0, 0.6, "packets that came are not lost");
        assert_eq!(of(&["qdisc.tbf.drops", "qdisc.tbf.overlimits"]).0, 0.6, "a shaper names itself");
    }

    #[test]
    fn what_the_kernel_dropped_names_a_loss_in_connections_too_short_for_duplicate_acknowledgements() {
        let of = |sent_again: f64, dropped: f64, handshakes: f64| {
            let evidence = [
                grew("here", "netstat.TcpExt.TCPSynRetrans (per second)", 0.0, handshakes),
                grew("here", "snmp.Tcp.RetransSegs (per second)", 0.0, sent_again),
                grew("machine", "machine.drops.netfilter_drop (per second)", 0.0, dropped),
            ];
            let found = named(&Known { evidence: &evidence, ..Known::default() });
            found.into_iter().find(|it| it.id == CauseId::NetPacketLoss).map(|it| it.confidence)
        };
        assert_eq!(of(4.0, 25.0, 0.5), Some(0.88));
        assert_eq!(of(4.0, 25.0, 4.0), None, "handshakes are what is repeated");
        assert_eq!(of(4.0, 1.0, 0.0), None, "a filter that drops something else");
        assert_eq!(of(0.0, 25.0, 0.0), None, "nothing is sent again");
    }
}
