//! `net.port_exhaustion`: The client has no free local port.

use plimsoll_model::cause::{Cause, CauseId};

use super::{Change, Definition, Known, Page, When, by_counters, by_seen, cause};

pub(super) const DEFINITION: Definition = Definition {
    page: Page {
        evidence_for: "connections fail at the client with EADDRNOTAVAIL: all local ports are in use, most of them in TIME_WAIT",
        evidence_against: "the other side refuses connections, or does not answer",
        test: "widen net.ipv4.ip_local_port_range, or connect from more addresses, and measure again: the errors disappear",
        remedy: "keep connections open, let the server close first, widen net.ipv4.ip_local_port_range, or use more source addresses",
    },
    when: When::Always,
    find,
    change: Change::more_ports,
};

const ID: CauseId = CauseId::NetPortExhaustion;
/// What must have been counted.
const COUNTERS: by_counters::Signature =
    by_counters::Signature { counter: "errors.no_port", least: 0.005, with: &[] };

fn find(known: &Known<'_>) -> Vec<Cause> {
    let of_the_load = by_counters::named(ID, &COUNTERS, known.evidence);
    let failed = by_seen::failures(known, &["EADDRNOTAVAIL"]);
    let of_a_process = (!failed.is_empty()).then(|| cause(ID, 0.85, by_seen::told_failures(&failed)));
    of_the_load.into_iter().chain(of_a_process).collect()
}

#[cfg(test)]
mod tests {
    use super::super::fixture::failing;
    use super::super::named;
    use super::*;

    #[test]
    fn a_proxy_without_ports_is_told_by_its_calls() {
        let profile = failing("haproxy", "connect", "EADDRNOTAVAIL");
        let causes = named(&Known { profile: Some(&profile), ..Known::default() });
        assert_eq!(causes[0].id, ID);
        assert_eq!(causes[0].evidence[0].metric, "connect failed with EADDRNOTAVAIL in relay/haproxy");
    }
}
