//! `net.listen_overflow`: The queue of connections that the server has not accepted yet is full.

use plimsoll_model::cause::{Cause, CauseEvidence, CauseId};
use plimsoll_model::experiment::Experiment;
use plimsoll_model::report::Evidence;
use serde_json::json;

use super::{Change, Definition, Known, Page, by_counters, by_seen, cause, changes, quoted};

pub(super) const DEFINITION: Definition = Definition::new(
    Page {
        evidence_for: "the kernel counts overflows of the listen queue (ListenOverflows), and clients retransmit SYNs or receive SYN cookies. Or connect(2) to a Unix socket fails with EAGAIN",
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
    found.into_iter().chain(of_unix(known)).collect()
}

/// The mean share of a queue that is used, by its listener. A Unix listener has a path, or a name that begins with `@`.
const FULLEST: &str = "listen.fullest_share of ";

/// Connections to a Unix socket that fail because its queue is full. A client that waits for room in it loses no time: it waits for the server in any case.
fn of_unix(known: &Known<'_>) -> Option<Cause> {
    let mut failed = by_seen::failures(known, &["EAGAIN"]);
    failed.retain(|it| it.call == "connect");
    let first = failed.first()?;
    let is_unix = |it: &&Evidence| {
        let listener = it.metric.strip_prefix(FULLEST);
        it.shift > 0.0 && listener.is_some_and(|name| name.starts_with(['/', '@']))
    };
    let full: Vec<CauseEvidence> = known.evidence.iter().filter(is_unix).take(2).map(quoted).collect();
    let (id, sure) = (CauseId::NetListenOverflow, if full.is_empty() { 0.8 } else { 0.92 });
    let title = format!("{}: `{}` cannot connect to a Unix socket", id.title(), first.who.process);
    let evidence = by_seen::failure_evidence(&failed).into_iter().chain(full).collect();
    Some(Cause { title, ..cause(id, sure, evidence) })
}

fn change(experiment: &Experiment) -> Change {
    let of_services =
        changes::settings_named(experiment, "backlog").map(|(path, _)| (path, json!(LONG_BACKLOG)));
    let of_hosts = changes::of_services(experiment)
        .map(|host| changes::sysctl(host, "net.core.somaxconn", json!(LONG_BACKLOG)));
    changes::set(format!("with a listen queue for {LONG_BACKLOG} connections"), of_services.chain(of_hosts))
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{failing, grew, relay};
    use super::super::named;
    use super::*;

    #[test]
    fn connections_that_a_full_queue_of_a_unix_socket_refuses_are_laid_to_it() {
        let of = |call: &str, error: &str, listener: &str| {
            let profile = failing("relay", call, error);
            let metric = format!("listen.fullest_share of {listener} (level)");
            let evidence = [grew("machine", &metric, 2.0, 97.0)];
            let known =
                Known { profile: Some(&profile), measured: relay(), evidence: &evidence, ..Known::default() };
            let found = named(&known).into_iter().find(|cause| cause.id == CauseId::NetListenOverflow);
            found.map(|cause| cause.evidence.len())
        };
        assert_eq!(of("connect", "EAGAIN", "/run/app.sock"), Some(2));
        assert_eq!(of("connect", "EAGAIN", "127.0.0.1:80"), Some(1), "the queue of another server");
        assert_eq!(of("connect", "ECONNREFUSED", "/run/app.sock"), None, "no socket listens there");
        assert_eq!(of("accept4", "EAGAIN", "/run/app.sock"), None);
    }
}
