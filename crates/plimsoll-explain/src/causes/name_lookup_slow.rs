//! `name.lookup_slow`: A service waits for DNS replies.

use plimsoll_model::cause::{Cause, CauseEvidence, CauseId};
use plimsoll_model::observation::WaitSite;
use plimsoll_model::report::{Evidence, GrownWait, WaitFor};

use super::{Definition, Known, Page, When, by_counters, by_hand, by_levels, by_seen, cause, quoted};

pub(super) const DEFINITION: Definition = Definition {
    page: Page {
        evidence_for: "the service's host sends more datagrams than it receives (lost or repeated queries), and the service waits longer in poll, recv or epoll per operation",
        evidence_against: "as many datagrams arrive as are sent. The service uses no names",
        test: "look up the same names with `dig +tries=1 @SERVER` from the same host. Put the name into /etc/hosts and measure again",
        remedy: "use a working resolver, or one nearby. Set a short `options timeout:1 attempts:2` in /etc/resolv.conf. Cache names, or avoid lookups (HostnameLookups Off, UseDNS no)",
    },
    when: When::Always,
    find,
    change: by_hand,
};

const ID: CauseId = CauseId::NameLookupSlow;
/// Fewer questions without an answer for each operation hold nothing up.
const LEAST: f64 = 0.01;
/// The system calls that programs wait in for datagrams.
const CALLS: [&str; 9] =
    ["poll", "ppoll", "select", "pselect6", "recvfrom", "recvmsg", "recvmmsg", "epoll_wait", "epoll_pwait"];

/// From this mean on a call waits for a resolver that does not answer, in µs: resolv.conf(5) waits 5 s before it asks again.
const LEAST_WAIT: f64 = 1e6;

/// Datagrams without answers in the kernel's counters, and calls that strace saw wait for seconds.
fn by_tools(known: &Known<'_>) -> Option<Cause> {
    let unanswered = by_counters::grown("datagrams.unanswered", known.evidence)?;
    let calls = CALLS.map(|call| format!("syscall.{call}.mean_us"));
    let calls = calls.each_ref().map(String::as_str);
    let slow = by_levels::above(&calls, LEAST_WAIT, known.evidence)?;
    Some(cause(ID, 0.7, [unanswered, slow].map(quoted).to_vec()))
}

fn find(known: &Known<'_>) -> Vec<Cause> {
    if known.measured.hosts.is_empty() {
        return by_tools(known).into_iter().collect();
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
