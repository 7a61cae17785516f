//! `net.port_exhaustion`: The client has no free local port.

use plimsoll_model::cause::{Cause, CauseId};
use plimsoll_model::report::Evidence;

use super::{Definition, Known, Page, by_counters, by_levels, by_seen, cause, changes, quoted};

pub(super) const DEFINITION: Definition = Definition::new(
    Page {
        evidence_for: "connections fail at the client with EADDRNOTAVAIL: all local ports are in use, most of them in TIME_WAIT",
        evidence_against: "the other side refuses connections, or does not answer",
        test: "widen net.ipv4.ip_local_port_range, or connect from more addresses, and measure again: the errors disappear",
        remedy: "keep connections open, let the server close first, widen net.ipv4.ip_local_port_range, or use more source addresses",
    },
    find,
)
.confirmed_by(changes::more_ports);

const ID: CauseId = CauseId::NetPortExhaustion;
/// What must have been counted.
const COUNTERS: by_counters::Signature =
    by_counters::Signature { counter: "errors.no_port", least: 0.005, with: &[] };

fn find(known: &Known<'_>) -> Vec<Cause> {
    let of_the_load = by_counters::named(ID, &COUNTERS, known.evidence);
    let failed = by_seen::failures(known, &["EADDRNOTAVAIL"]);
    let of_a_process = (!failed.is_empty()).then(|| cause(ID, 0.85, by_seen::failure_evidence(&failed)));
    of_the_load.into_iter().chain(of_a_process).chain(of_few_ports(known)).collect()
}

/// The last port of the range.
const LAST: &str = "net.ipv4.ip_local_port_range.2";
/// From this many on connections that are over hold ports up.
const MANY: f64 = 100.0;

/// A range that ends lower, where fewer connections are opened, or many hold a port after their end.
fn of_few_ports(known: &Known<'_>) -> Option<Cause> {
    let lowered = by_levels::lowered(LAST, known.evidence)?;
    let is = |it: &&Evidence, name: &str| by_levels::name(it) == name;
    let fewer = known.evidence.iter().find(|it| is(it, "snmp.Tcp.ActiveOpens") && it.shift < 0.0);
    let held = known.evidence.iter().find(|it| is(it, "tcp.time_wait") && it.before.max(it.after) >= MANY);
    fewer.or(held)?;
    let evidence = [Some(lowered), fewer, held].into_iter().flatten().map(quoted).collect();
    Some(cause(ID, 0.75, evidence))
}

#[cfg(test)]
mod tests {
    use super::super::fixture::failing;
    use super::super::named;
    use super::*;

    #[test]
    fn a_proxy_without_ports_is_named_by_its_calls() {
        let profile = failing("haproxy", "connect", "EADDRNOTAVAIL");
        let causes = named(&Known { profile: Some(&profile), ..Known::default() });
        assert_eq!(causes[0].id, ID);
        assert_eq!(causes[0].evidence[0].metric, "connect failed with EADDRNOTAVAIL in relay/haproxy");
    }
}
