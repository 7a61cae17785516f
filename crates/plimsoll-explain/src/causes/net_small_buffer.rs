//! `net.small_buffer`: The receiver's buffer is smaller than the bandwidth-delay product.

use plimsoll_model::cause::{Cause, CauseId};
use plimsoll_model::experiment::Experiment;
use plimsoll_model::trace::Class;
use serde_json::json;

use super::{Change, Definition, Known, Page, by_counters, by_levels, by_stalls, cause, changes, quoted};

pub(super) const DEFINITION: Definition = Definition::new(
    Page {
        evidence_for: "the window is open, but smaller than the sender needs. TCP_INFO names the receiver's window as the limit",
        evidence_against: "the congestion window or the sender's own buffer was the limit",
        test: "set the receive buffer to rate × round-trip time: the stalls disappear",
        remedy: "raise net.ipv4.tcp_rmem, or SO_RCVBUF if the receiving program sets it. See whether the route back limits the window (`ip route`: window)",
    },
    find,
)
.confirmed_by(change);

/// What the packets must show.
const STALLS: by_stalls::Signature = by_stalls::Signature {
    classes: &[Class::SmallWindow],
    counters: &[],
    is_counted: true,
    required: None,
    window: true,
};
/// A receive buffer for long, fast paths: minimum, default and largest size, in bytes.
const LARGE_BUFFERS: &str = "4096 1048576 33554432";

/// For which share of the time with something to send the receiver's window was the limit (TCP_INFO), and how large that must be in per cent.
const LIMITED: (&str, f64) = ("tcp_info.window_limited_share", 30.0);
/// The largest part of it before.
const FEW: f64 = 0.5;
/// Windows that were announced as 0: then the program does not read.
const CLOSED: [&str; 2] = ["netstat.TcpExt.TCPToZeroWindowAdv", "netstat.TcpExt.TCPWantZeroWindowAdv"];

/// A window that is open and holds the sender up, by its socket.
fn by_sockets(known: &Known<'_>) -> Option<Cause> {
    let limited = by_levels::above(&[LIMITED.0], LIMITED.1, known.evidence)?;
    let is_closed = CLOSED.iter().any(|name| by_counters::grown(name, known.evidence).is_some());
    let is_it = limited.before <= FEW * limited.after && !is_closed;
    is_it.then(|| cause(CauseId::NetSmallBuffer, 0.8, vec![quoted(limited)]))
}

fn find(known: &Known<'_>) -> Vec<Cause> {
    let stalls = by_stalls::named(CauseId::NetSmallBuffer, &STALLS, known.stalls);
    stalls.into_iter().chain(by_sockets(known)).collect()
}

fn change(experiment: &Experiment) -> Change {
    let of_services =
        changes::settings_named(experiment, "receive_buffer").map(|(path, _)| (path, json!("32M")));
    let of_hosts = changes::of_namespaces(experiment)
        .map(|host| changes::sysctl(host, "net.ipv4.tcp_rmem", LARGE_BUFFERS.into()));
    changes::set("with receive buffers of up to 32 MiB", of_services.chain(of_hosts))
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{grew, ids};
    use super::*;

    #[test]
    fn a_window_that_limits_a_stream_and_is_never_closed_is_a_small_one() {
        let limited = |before| grew("client", "tcp_info.window_limited_share (level)", before, 90.0);
        assert_eq!(ids(&[limited(0.0)]), [CauseId::NetSmallBuffer]);
        assert!(ids(&[limited(80.0)]).is_empty(), "it was the limit before");
        let closed = grew("server", "netstat.TcpExt.TCPToZeroWindowAdv (per connection)", 0.0, 4.0);
        assert!(ids(&[limited(0.0), closed]).is_empty(), "the program does not read");
    }
}
