//! `name.lookup_slow`: A service waits for DNS replies.

use plimsoll_model::cause::{Cause, CauseEvidence, CauseId};
use plimsoll_model::observation::WaitSite;
use plimsoll_model::report::{Evidence, GrownWait, WaitFor};

use super::{Definition, Known, Page, by_counters, by_levels, by_seen, cause, quoted};

pub(super) const DEFINITION: Definition = Definition::new(
    Page {
        evidence_for: "more questions to name servers are open at a time (`ss -uan`, port 53). Or the host sends more datagrams than it receives (lost or repeated queries), and the service waits longer in poll, recv or epoll per operation",
        evidence_against: "as many datagrams arrive as are sent. The service uses no names",
        test: "look up the same names with `dig +tries=1 @SERVER` from the same host. Put the name into /etc/hosts and measure again",
        remedy: "use a working resolver, or one nearby. Set a short `options timeout:1 attempts:2` in /etc/resolv.conf. Cache names, or avoid lookups (HostnameLookups Off, UseDNS no)",
    },
    find,
);

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
    let evidence = std::iter::once(quoted(open)).chain(by_seen::told_waits(known, &waits)).collect();
    Some(Cause { title: format!("{}{who}", ID.title()), ..cause(ID, sure, evidence) })
}

fn find(known: &Known<'_>) -> Vec<Cause> {
    if known.measured.hosts.is_empty() {
        return by_calls(known).or_else(|| by_sockets(known)).into_iter().collect();
    }
    if let Some(found) = by_questions(known) {
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
    let evidence: Vec<CauseEvidence> =
        std::iter::once(quoted(unanswered)).chain(asked).chain(by_seen::told_waits(known, &waits)).collect();
    let title = format!("{}: `{}` on {}", ID.title(), waits[0].who.process, waits[0].who.owner);
    vec![Cause { title, ..cause(ID, 0.75, evidence) }]
}

#[cfg(test)]
mod tests {
    use plimsoll_model::report::ProfileReport;

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
    fn sockets_that_stay_open_and_send_less_wait_for_a_name_server() {
        let open = grew("host", "sockstat.UDP.inuse (level)", 2.0, 26.0);
        let sent = |after| grew("host", "snmp.Udp.OutDatagrams (per second)", 2_000.0, after);
        assert_eq!(ids(&[open.clone(), sent(11.0)]), [ID]);
        assert!(ids(&[open.clone(), sent(9_000.0)]).is_empty(), "they are used");
        assert!(ids(&[open]).is_empty());
    }

    #[test]
    fn questions_that_nobody_answers_are_told_where_the_service_waits_longer() {
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
