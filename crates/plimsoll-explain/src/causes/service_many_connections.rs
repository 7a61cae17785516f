//! `service.many_connections`: Connections are opened again and again where one was kept before.

use plimsoll_model::cause::{Cause, CauseId};
use plimsoll_model::report::Evidence;

use super::{Definition, Known, Page, QUOTED, by_levels, cause, quoted};

pub(super) const DEFINITION: Definition = Definition::new(
    Page {
        evidence_for: "several times as many TCP connections are opened for each request, or in a run of a command (ActiveOpens, PassiveOpens). What connections cost at least is a good part of the added CPU time",
        evidence_against: "as many are opened before. Connections that fail are opened again and again",
        test: "count them by address (`ss -tan state time-wait`), and let the client keep its connections",
        remedy: "keep connections open: keep-alive on both sides, a pool of connections, more requests for each (keepalive_requests of nginx, http-reuse of HAProxy)",
    },
    find,
)
.of_use();

const ID: CauseId = CauseId::ServiceManyConnections;
/// Connections that a host opens, and those that it accepts.
const ACTIVE_OPENS: &str = "snmp.Tcp.ActiveOpens";
const PASSIVE_OPENS: &str = "snmp.Tcp.PassiveOpens";
/// Connections that could not be opened.
const ATTEMPT_FAILS: &str = "snmp.Tcp.AttemptFails";
/// How many times as many as before there are, and the fewest more: for each operation, and in a run of a command.
const TIMES: f64 = 3.0;
const LEAST: f64 = 0.3;
const LEAST_OF_RUN: f64 = 100.0;
/// The CPU time of a connection on both of its ends, in microseconds. `ab` took 68 and 70 µs more for each request of nginx on loopback without
/// keep-alive.
const CONNECTION_US: f64 = 60.0;
/// The least part of the added time that connections take, and from which part on they are most of it. They cost more on a network than on loopback.
const PART: f64 = 0.1;
const MOST: f64 = 0.4;
/// How sure the cause is where they are most of the added time, and where they are a part.
const SURE: f64 = 0.8;
const SURE_OF_A_PART: f64 = 0.5;

fn find(known: &Known<'_>) -> Vec<Cause> {
    let of = |name: &'static str| known.evidence.iter().filter(move |it| by_levels::name(it) == name);
    let added = |it: &Evidence| it.after - it.before;
    let least = if known.took_us.is_some() { LEAST_OF_RUN } else { LEAST };
    let fails = |host: &str| of(ATTEMPT_FAILS).filter(|it| it.host == host).map(added).sum::<f64>();
    let is_more = |it: &&Evidence| {
        it.after >= TIMES * it.before && added(it) >= least && fails(&it.host) < added(it) / 2.0
    };
    let Some(opened) = of(ACTIVE_OPENS).filter(is_more).max_by(|a, b| added(a).total_cmp(&added(b))) else {
        return Vec::new();
    };
    let added_us = match (known.took_us, known.profile) {
        (Some((before, after)), _) => after - before,
        (None, Some(profile)) if known.lost.is_some() => profile.added_us().0,
        _ => return Vec::new(),
    };
    let part = CONNECTION_US * added(opened) / added_us;
    if added_us <= 0.0 || part < PART {
        return Vec::new();
    }
    let sure = if part >= MOST { SURE } else { SURE_OF_A_PART };
    let accepted = of(PASSIVE_OPENS).filter(is_more);
    let evidence = std::iter::once(opened).chain(accepted).take(QUOTED).map(quoted).collect();
    let title = match known.took_us {
        Some(_) => format!("{}: {:.0} in a run", ID.title(), opened.after),
        None => format!("{}: {:.1} for each operation, by {}", ID.title(), opened.after, opened.host),
    };
    vec![Cause { title, ..cause(ID, sure, evidence) }]
}

#[cfg(test)]
mod tests {
    use plimsoll_model::report::{ProfileReport, ProfileSide};

    use super::super::fixture::{grew, profile};
    use super::super::named;
    use super::*;

    #[test]
    fn a_connection_for_each_request_is_named_where_it_costs_a_part_of_the_added_time() {
        let of = |before, after, failed, added_us| {
            let count =
                |name: &str, before, after| grew("front", &format!("{name} (per operation)"), before, after);
            let evidence = [count(ACTIVE_OPENS, before, after), count(ATTEMPT_FAILS, 0.0, failed)];
            let more = ProfileSide { cpu_us: profile().before.cpu_us + added_us, ..profile().before };
            let profile = ProfileReport { after: more, grew: true, ..profile() };
            let (profile, lost) = (Some(&profile), Some(0.5));
            let causes = named(&Known { evidence: &evidence, profile, lost, ..Known::default() });
            causes.iter().find(|cause| cause.id == ID).map(|cause| cause.confidence)
        };
        assert_eq!(of(0.0, 1.0, 0.0, 100.0), Some(SURE));
        assert_eq!(of(0.0, 1.0, 0.0, 400.0), Some(SURE_OF_A_PART));
        assert_eq!(of(0.0, 1.0, 0.0, 4000.0), None, "they are a small part");
        assert_eq!(of(0.5, 1.0, 0.0, 100.0), None, "half as many before");
        assert_eq!(of(0.0, 1.0, 0.9, 100.0), None, "they fail");
    }

    #[test]
    fn a_command_that_opens_thousands_of_connections_is_named() {
        let of = |after, took_us| {
            let evidence = [grew("here", &format!("{ACTIVE_OPENS} (per run)"), 2.0, after)];
            let known = Known { evidence: &evidence, took_us: Some(took_us), ..Known::default() };
            named(&known).iter().find(|cause| cause.id == ID).map(|cause| cause.title.clone())
        };
        let title = of(5000.0, (2e5, 8e5));
        assert_eq!(title.as_deref(), Some("Far more connections are opened: 5000 in a run"));
        assert_eq!(of(90.0, (2e5, 2.01e5)), None, "few");
        assert_eq!(of(500.0, (2e5, 8e5)), None, "they cost a small part");
    }
}
