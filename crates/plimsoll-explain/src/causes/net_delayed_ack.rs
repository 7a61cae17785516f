//! `net.delayed_ack`: Senders wait for acknowledgements that receivers hold back (RFC 9293, section 3.8.6.3; 40 ms in Linux).

use plimsoll_model::cause::{Cause, CauseId};
use plimsoll_model::report::Evidence;
use plimsoll_model::trace::Class;

use super::{Definition, Known, Page, by_counters, by_levels, by_stalls, cause, changes, quoted};

pub(super) const DEFINITION: Definition = Definition::new(
    Page {
        evidence_for: "senders stall until an acknowledgement arrives some 40 ms late. The kernel counts delayed acknowledgements. Sockets hold a part of a segment back (`ss -tin`: notsent, unacked) although the window is open",
        evidence_against: "the sender has more to send and room in the window. The late acknowledgement covers a lost full segment",
        test: "acknowledge at once (`quickack 1` on the route, TCP_QUICKACK) or set TCP_NODELAY at the sender: the stalls disappear",
        remedy: "pass each message to the kernel in one call, or set TCP_NODELAY. The pattern write, write, read causes these waits",
    },
    find,
)
.confirmed_by(|experiment| {
    let commands = "set -e; ip route show >/dev/null
        ip route show | while read -r route; do ip route change $route quickack 1; done";
    changes::run("with quickack on all routes", commands, changes::of_namespaces(experiment))
});

/// What the packets must show.
const STALLS: by_stalls::Signature = by_stalls::Signature {
    classes: &[Class::DelayedAck],
    counters: &["netstat.TcpExt.DelayedACKs"],
    is_counted: true,
    required: None,
    window: false,
};

/// Acknowledgements that were held back, and how many in a second, or for an operation, are more than stray ones.
const DELAYED: &str = "netstat.TcpExt.DelayedACKs";
const LEAST_DELAYED: f64 = 0.1;
/// Connections that hold a part of a segment back until what they sent is acknowledged (Nagle's algorithm, RFC 896), in per cent of all looked at.
const HELD: (&str, f64) = ("tcp.held_share", 10.0);

/// Senders that hold back what they have, while receivers hold back the acknowledgement.
fn by_sockets(known: &Known<'_>) -> Option<Cause> {
    let delayed = by_counters::grown(DELAYED, known.evidence).filter(|it| it.after >= LEAST_DELAYED)?;
    let held = by_levels::above(&[HELD.0], HELD.1, known.evidence)?;
    Some(cause(CauseId::NetDelayedAck, 0.85, [held, delayed].map(quoted).to_vec()))
}

/// The least for each operation at the end that asks, and the part of the operations that must be lost for a wait of 40 ms.
const LEAST_OF_ONE: f64 = 0.3;
const MOST_LOST: f64 = 0.5;

/// Who asks has nothing to say before the answer is complete, so that it acknowledges the first part of one late. A server that answers late makes only
/// itself acknowledge late.
fn by_client(known: &Known<'_>) -> Option<Cause> {
    let (client, _) = known.measured.load.as_ref()?;
    let of_client: Vec<Evidence> = known.evidence.iter().filter(|it| it.host == *client).cloned().collect();
    let is_per_operation = |it: &&Evidence| it.metric.contains("(per ") && it.after >= LEAST_OF_ONE;
    let delayed = by_counters::grown(DELAYED, &of_client).filter(is_per_operation)?;
    known.lost.filter(|lost| *lost >= MOST_LOST)?;
    Some(cause(CauseId::NetDelayedAck, 0.75, vec![quoted(delayed)]))
}

fn find(known: &Known<'_>) -> Vec<Cause> {
    let stalls = by_stalls::named(CauseId::NetDelayedAck, &STALLS, known.stalls);
    stalls.into_iter().chain(by_sockets(known).or_else(|| by_client(known))).collect()
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{grew, ids, relay};
    use super::super::named;
    use super::*;

    #[test]
    fn a_client_that_acknowledges_most_answers_late_got_them_in_pieces() {
        let of = |host: &str, after: f64, lost| {
            let evidence = [grew(host, "netstat.TcpExt.DelayedACKs (per operation)", 0.0, after)];
            let known = Known { evidence: &evidence, measured: relay(), lost, ..Known::default() };
            named(&known).iter().map(|cause| cause.id).collect::<Vec<_>>()
        };
        assert_eq!(of("client", 0.93, Some(0.99)), [CauseId::NetDelayedAck]);
        assert!(of("relay", 0.93, Some(0.99)).is_empty(), "a server that answers late acknowledges late");
        assert!(of("client", 0.02, Some(0.99)).is_empty() && of("client", 0.93, Some(0.1)).is_empty());
    }

    #[test]
    fn small_writes_that_wait_for_late_acknowledgements_are_named_by_the_sockets() {
        let delayed = grew("here", "netstat.TcpExt.DelayedACKs (per second)", 0.0, 256.0);
        let held = grew("here", "tcp.held_share (level)", 0.0, 40.0);
        assert_eq!(ids(&[delayed.clone(), held.clone()]), [CauseId::NetDelayedAck]);
        assert!(ids(&[delayed]).is_empty(), "a server that answers late acknowledges late, too");
        assert!(ids(&[held]).is_empty(), "the network may be slow");
    }
}
