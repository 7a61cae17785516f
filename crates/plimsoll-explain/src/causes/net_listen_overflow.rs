//! `net.listen_overflow`: The queue of connections that the server has not accepted yet is full.

use plimsoll_model::cause::{Cause, CauseEvidence, CauseId};
use plimsoll_model::experiment::Experiment;
use serde_json::json;

use super::{Change, Definition, Known, Page, by_counters, changes, quoted};

pub(super) const DEFINITION: Definition = Definition::new(
    Page {
        evidence_for: "the kernel counts overflows of the listen queue (ListenOverflows), and clients retransmit SYNs or receive SYN cookies",
        evidence_against: "the counter rises as much on the better side. SYNs are lost before they reach the server",
        test: "raise the backlog of the listener (listen(2), at most net.core.somaxconn) and measure again: the counter no longer rises",
        remedy: "raise the server's backlog and net.core.somaxconn, or let it accept sooner (more workers)",
    },
    find,
)
.confirmed_by(change);

/// What must have been counted.
const COUNTERS: by_counters::Signature = by_counters::Signature {
    counter: "netstat.TcpExt.ListenOverflows",
    least: 0.005,
    with: &[
        "netstat.TcpExt.TCPSynRetrans",
        "netstat.TcpExt.TCPReqQFullDoCookies",
        "netstat.TcpExt.TCPReqQFullDrop",
        "netstat.TcpExt.TCPTimeouts",
    ],
};
/// The backlog of listeners, by their address.
const LISTENER: &str = "tcp.listener.";
/// A listen queue that is long enough for any load (net.core.somaxconn has this default since Linux 5.4).
const LONG_BACKLOG: u32 = 4096;

fn find(known: &Known<'_>) -> Vec<Cause> {
    let found = by_counters::named(CauseId::NetListenOverflow, &COUNTERS, known.evidence);
    let listeners = known.evidence.iter().filter(|it| it.metric.starts_with(LISTENER));
    let listeners: Vec<CauseEvidence> = listeners.take(2).map(quoted).collect();
    let found = found.map(|cause| {
        let evidence = listeners.into_iter().chain(cause.evidence).collect();
        Cause { evidence, ..cause }
    });
    found.into_iter().collect()
}

fn change(experiment: &Experiment) -> Change {
    let of_services =
        changes::settings_named(experiment, "backlog").map(|(path, _)| (path, json!(LONG_BACKLOG)));
    let of_hosts = changes::of_services(experiment)
        .map(|host| changes::sysctl(host, "net.core.somaxconn", json!(LONG_BACKLOG)));
    changes::set(format!("with a listen queue for {LONG_BACKLOG} connections"), of_services.chain(of_hosts))
}
