//! `name.lookup_slow`: A service waits for DNS replies.

use plimsoll_model::cause::{Cause, CauseEvidence, CauseId};
use plimsoll_model::observation::{WaitSite, program_of};
use plimsoll_model::report::{Evidence, GrownWait, WaitFor};

use super::{
    Definition, Known, OPEN_SHARE, Page, SETTING, by_counters, by_functions, by_levels, by_seen, cause,
    quoted,
};

pub(super) const DEFINITION: Definition = Definition::new(
    Page {
        evidence_for: "a program has /etc/hosts or another table of names open for most of the added time, and computes. Or more questions to name servers are open at a time (`ss -uan`, port 53). Or another name server, domain or option stands in its resolv.conf, and it waits for something to read. Or the host sends more datagrams than it receives (lost or repeated queries), and the service waits longer in poll, recv or epoll per operation",
        evidence_against: "as many datagrams arrive as are sent. The service uses no names",
        test: "look up the same names with `dig +tries=1 @SERVER` from the same host. Put the name into /etc/hosts and measure again",
        remedy: "use a working resolver, or one nearby. Set a short `options timeout:1 attempts:2` in /etc/resolv.conf. Cache names, or avoid lookups (HostnameLookups Off, UseDNS no)",
    },
    find,
)
.beyond_the_run();

const ID: CauseId = CauseId::NameLookupSlow;
/// Fewer questions without an answer for each operation hold nothing up.
const LEAST: f64 = 0.01;
/// The system calls that programs wait in for datagrams.
const CALLS: [&str; 9] =
    ["poll", "ppoll", "select", "pselect6", "recvfrom", "recvmsg", "recvmmsg", "epoll_wait", "epoll_pwait"];

/// From this mean on a call waits for a resolver that does not answer, in µs: resolv.conf(5) waits 5 s before it asks again.
const LEAST_WAIT: f64 = 1e6;

/// Datagrams without answers in the kernel's counters, and calls that strace saw wait for seconds.
fn by_calls(known: &Known<'_>) -> Option<Cause> {
    let unanswered = by_counters::grown("datagrams.unanswered", known.evidence)?;
    let calls = CALLS.map(|call| format!("syscall.{call}.mean_us"));
    let calls = calls.each_ref().map(String::as_str);
    let slow = by_levels::above(&calls, LEAST_WAIT, known.evidence)?;
    Some(cause(ID, 0.7, [unanswered, slow].map(quoted).to_vec()))
}

/// UDP sockets that are open, and how many more of them count.
const SOCKETS: &str = "sockstat.UDP.inuse";
const MORE_SOCKETS: f64 = 5.0;
/// Datagrams that were sent, and the part of those before that is left.
const SENT: &str = "snmp.Udp.OutDatagrams";
const HALF: f64 = 0.5;

/// More UDP sockets that send less: a resolver opens one for each question, and holds it until the answer comes.
fn by_sockets(known: &Known<'_>) -> Option<Cause> {
    let open =
        by_counters::grown(SOCKETS, known.evidence).filter(|it| it.after - it.before >= MORE_SOCKETS)?;
    let fell = |it: &&Evidence| by_levels::name(it) == SENT && it.after <= HALF * it.before;
    let sent = known.evidence.iter().find(fell)?;
    Some(cause(ID, 0.6, [open, sent].map(quoted).to_vec()))
}

/// The files that names are looked up in (nsswitch.conf(5)).
const TABLES: [&str; 8] = [
    "/etc/hosts",
    "/etc/passwd",
    "/etc/group",
    "/etc/services",
    "/etc/protocols",
    "/etc/networks",
    "/etc/nsswitch.conf",
    "/etc/resolv.conf",
];
/// From this share on a table is read for a good part of the time, in per cent, and the largest part of it before.
const LONG: f64 = 30.0;
const FEW: f64 = 0.5;

/// A table of names that is open for a good part of the time, while the added time is that of the CPUs.
fn by_tables(known: &Known<'_>) -> Option<Cause> {
    let tables = known.evidence.iter().filter_map(|it| {
        let path = it.metric.strip_prefix(OPEN_SHARE)?.split(' ').next()?;
        TABLES.contains(&path).then_some((path, it))
    });
    let mut long = tables.filter(|(_, it)| it.after >= LONG && it.before <= FEW * it.after);
    let (table, open) = long.next().filter(|_| by_functions::explains_all(known))?;
    let title = format!("{}: reading {table}", ID.title());
    Some(Cause { title, ..cause(ID, 0.8, vec![quoted(open)]) })
}

/// The calls that the resolver of a C library waits in.
const OF_RESOLVERS: [&str; 2] = ["poll", "ppoll"];

/// Questions that stay open, and threads that wait for something to read meanwhile.
fn by_questions(known: &Known<'_>) -> Option<Cause> {
    let open = by_counters::grown("dns.open_questions", known.evidence)?;
    let is_resolver = |it: &&GrownWait| match &it.site {
        WaitSite::Sleep { call: Some(call), .. } => OF_RESOLVERS.contains(&call.as_str()),
        _ => false,
    };
    let waits: Vec<&GrownWait> =
        by_seen::waits(known, WaitFor::Other).into_iter().filter(is_resolver).collect();
    let who =
        waits.first().map_or_else(String::new, |it| format!(": `{}` on {}", it.who.process, it.who.owner));
    let sure = if waits.is_empty() { 0.6 } else { 0.9 };
    let evidence = std::iter::once(quoted(open)).chain(by_seen::wait_evidence(known, &waits)).collect();
    Some(Cause { title: format!("{}{who}", ID.title()), ..cause(ID, sure, evidence) })
}

/// A setting of the resolver, whose owner waits for something to read.
const RESOLVER: &str = ": resolv.conf ";
/// Calls of connections, by which long answers come.
const READ: &str = "read";

/// Another name server, domain or option of the resolver, and waits of its program for a part of the added time.
fn by_settings(known: &Known<'_>) -> Option<Cause> {
    let owner = |it: &'_ Evidence| {
        let (owner, _) = it.metric.strip_prefix(SETTING)?.split_once(RESOLVER)?;
        Some(owner.to_owned())
    };
    let of_resolver = known.evidence.iter().filter_map(|it| Some((owner(it)?, it)));
    let of_resolver: Vec<(String, &Evidence)> = of_resolver.collect();
    let is_lookup = |it: &&GrownWait| {
        let program = program_of(&it.who.process);
        let calls_for_it = match &it.site {
            WaitSite::Sleep { call: Some(call), .. } => CALLS.contains(&call.as_str()) || call == READ,
            _ => false,
        };
        calls_for_it && of_resolver.iter().any(|(owner, _)| owner == program)
    };
    let waits = [WaitFor::Other, WaitFor::Datagram].into_iter().flat_map(|kind| by_seen::waits(known, kind));
    let waits: Vec<&GrownWait> = waits.filter(is_lookup).collect();
    let first = waits.first().filter(|_| by_seen::explain(known, &waits))?;
    let evidence = by_seen::wait_evidence(known, &waits);
    let title = format!("{}: `{}`, whose resolv.conf differs", ID.title(), program_of(&first.who.process));
    Some(Cause { title, ..cause(ID, 0.7, evidence) })
}

fn find(known: &Known<'_>) -> Vec<Cause> {
    if known.measured.hosts.is_empty() {
        return by_calls(known).or_else(|| by_sockets(known)).into_iter().collect();
    }
    if let Some(found) = by_questions(known).or_else(|| by_tables(known)).or_else(|| by_settings(known)) {
        return vec![found];
    }
    let of_hosts: Vec<Evidence> =
        known.evidence.iter().filter(|it| known.measured.hosts.contains(&it.host)).cloned().collect();
    let unanswered = by_counters::grown("datagrams.unanswered", &of_hosts).filter(|it| it.after >= LEAST);
    let Some(unanswered) = unanswered else { return Vec::new() };
    let is_lookup = |it: &&GrownWait| match &it.site {
        WaitSite::Sleep { call: Some(call), .. } => {
            CALLS.contains(&call.as_str()) && known.measured.hosts.contains(&it.who.owner)
        }
        _ => false,
    };
    let waits: Vec<&GrownWait> =
        by_seen::waits(known, WaitFor::Other).into_iter().filter(is_lookup).collect();
    if waits.is_empty() {
        return Vec::new();
    }
    let asked = by_counters::grown("snmp.Udp.OutDatagrams", &of_hosts).map(quoted);
    let evidence: Vec<CauseEvidence> = std::iter::once(quoted(unanswered))
        .chain(asked)
        .chain(by_seen::wait_evidence(known, &waits))
        .collect();
    let title = format!("{}: `{}` on {}", ID.title(), waits[0].who.process, waits[0].who.owner);
    vec![Cause { title, ..cause(ID, 0.75, evidence) }]
}

#[cfg(test)]
mod tests {
    use plimsoll_model::report::{ProfileReport, ProfileSide};

    use super::super::fixture::{asleep, grew, ids, profile, relay, wait};
    use super::super::named;
    use super::*;

    #[test]
    fn calls_that_wait_for_seconds_need_datagrams_without_answers_beside_them() {
        let unanswered = grew("host", "datagrams.unanswered (level)", 0.0, 2.0);
        let slow = grew("host", "syscall.poll.mean_us (level)", 120.0, 5e6);
        assert_eq!(ids(&[unanswered.clone(), slow.clone()]), [ID]);
        assert!(ids(&[unanswered]).is_empty() && ids(&[slow]).is_empty());
    }

    #[test]
    fn a_table_of_names_that_is_read_while_cpu_time_is_added_is_named() {
        let of = |path: &str, before, took_us| {
            let open = grew("here", &format!("files.open_share of {path} (level)"), before, 80.0);
            let side = profile().before;
            let after = ProfileSide { cpu_us: side.cpu_us + 900.0, ..side };
            let profile = ProfileReport { after, grew: true, ..profile() };
            let (evidence, measured) = ([open], relay());
            let known =
                Known { profile: Some(&profile), evidence: &evidence, measured, took_us, ..Known::default() };
            named(&known).iter().any(|cause| cause.id == ID)
        };
        let took_us = Some((1e3, 2e3));
        assert!(of("/etc/hosts", 0.0, took_us));
        assert!(!of("/etc/hosts", 70.0, took_us), "it is read for as long before");
        assert!(!of("/etc/hosts", 0.0, Some((1e3, 9e4))), "the added time is no CPU time");
        assert!(!of("/srv/data", 0.0, took_us));
    }

    #[test]
    fn another_name_server_is_named_where_its_program_waits_for_something_to_read() {
        let of = |setting: &str, call: &str, took_us| {
            let evidence = [grew("relay", &format!("setting of {setting}"), 0.0, 100.0)];
            let waits = vec![wait("relay", asleep("poll_schedule_timeout", call), WaitFor::Other)];
            let profile = ProfileReport { waits, ..profile() };
            let (profile, measured) = (Some(&profile), relay());
            let known = Known { profile, measured, evidence: &evidence, took_us, ..Known::default() };
            named(&known).iter().any(|cause| cause.id == ID)
        };
        let took_us = Some((1e3, 5e3));
        assert!(of("relay: resolv.conf nameserver 10.0.0.9", "poll", took_us));
        assert!(!of("relay: resolv.conf nameserver 10.0.0.9", "poll", Some((1e3, 9e4))), "a small part");
        assert!(!of("curl: resolv.conf nameserver 10.0.0.9", "poll", took_us), "another program waits");
        assert!(!of("relay: LANG=C", "poll", took_us));
        assert!(!of("relay: resolv.conf nameserver 10.0.0.9", "futex", took_us));
    }

    #[test]
    fn sockets_that_stay_open_and_send_less_wait_for_a_name_server() {
        let open = grew("host", "sockstat.UDP.inuse (level)", 2.0, 26.0);
        let sent = |after| grew("host", "snmp.Udp.OutDatagrams (per second)", 2_000.0, after);
        assert_eq!(ids(&[open.clone(), sent(11.0)]), [ID]);
        assert!(ids(&[open.clone(), sent(9_000.0)]).is_empty(), "they are used");
        assert!(ids(&[open]).is_empty());
    }

    #[test]
    fn questions_that_nobody_answers_are_named_where_the_service_waits_longer() {
        let of = |host: &str, call: &str| {
            let evidence = [grew(host, "datagrams.unanswered (per operation)", 0.0, 1.5)];
            let waits = vec![wait("relay", asleep("poll_schedule_timeout", call), WaitFor::Other)];
            let profile = ProfileReport { waits, ..profile() };
            let known =
                Known { profile: Some(&profile), measured: relay(), evidence: &evidence, ..Known::default() };
            named(&known).iter().map(|cause| cause.id).collect::<Vec<_>>()
        };
        assert_eq!(of("relay", "poll"), [ID]);
        assert!(of("client", "poll").is_empty(), "that is not the service's host");
        assert!(of("relay", "accept4").is_empty(), "it waits for connections");
    }
}
