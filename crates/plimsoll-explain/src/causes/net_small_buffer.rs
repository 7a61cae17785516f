//! `net.small_buffer`: The receiver's buffer is smaller than the bandwidth-delay product.

use plimsoll_model::cause::{Cause, CauseId};
use plimsoll_model::experiment::Experiment;
use plimsoll_model::trace::Class;
use serde_json::json;

use super::{Change, Definition, Known, Page, by_stalls, changes};

pub(super) const DEFINITION: Definition = Definition::new(
    Page {
        evidence_for: "the window is open, but smaller than the sender needs. TCP_INFO names the receiver's window as the limit",
        evidence_against: "the congestion window or the sender's own buffer was the limit",
        test: "set the receive buffer to rate × round-trip time: the stalls disappear",
        remedy: "raise net.ipv4.tcp_rmem, or SO_RCVBUF if the receiving program sets it",
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

fn find(known: &Known<'_>) -> Vec<Cause> {
    by_stalls::named(CauseId::NetSmallBuffer, &STALLS, known.stalls).into_iter().collect()
}

fn change(experiment: &Experiment) -> Option<Change> {
    let of_services =
        changes::settings_named(experiment, "receive_buffer").map(|(path, _)| (path, json!("32M")));
    let of_hosts = changes::of_namespaces(experiment)
        .map(|host| changes::sysctl(host, "net.ipv4.tcp_rmem", LARGE_BUFFERS.into()));
    Change::set("with receive buffers of up to 32 MiB", of_services.chain(of_hosts))
}
