//! `net.shaped`: A queueing discipline limits traffic to its configured rate.

use plimsoll_model::cause::{Cause, CauseEvidence, CauseId};
use plimsoll_model::experiment::{Action, ChangeLink, Experiment, Link, LinkDirection};
use plimsoll_model::report::Evidence;
use plimsoll_model::units::BitRate;

use super::{Change, Definition, Known, Page, by_counters, cause, changes, quoted};

pub(super) const DEFINITION: Definition = Definition::new(
    Page {
        evidence_for: "a queueing discipline counts packets that waited for its rate limit (overlimits). Packets are dropped or retransmitted, or CPUs are more idle",
        evidence_against: "the counter rises as much on the better side. The CPUs are saturated",
        test: "remove the queueing discipline, or raise its rate (tc qdisc), and measure again",
        remedy: "raise the rate or the burst, or put important traffic into its own class (tc -s qdisc, tc -s class)",
    },
    find,
)
.confirmed_by(change);

const ID: CauseId = CauseId::NetShaped;
/// Factor by which a change raises the rate of a link.
const HIGHER_RATE: u64 = 8;
/// Packets that wait less often than this for each operation hold nothing up.
const LEAST: f64 = 0.02;
/// What shows that packets queue there, apart from the counter itself.
const WITH: [&str; 4] = [
    "snmp.Tcp.RetransSegs",
    "netstat.TcpExt.TCPLossProbes",
    "netstat.TcpExt.TCPTimeouts",
    "netstat.TcpExt.DelayedACKs",
];
/// So much more of the time the CPUs must be idle, as a share.
const MORE_IDLE: f64 = 0.1;
/// So much less the generator must have to do.
const LESS: f64 = 0.7;

fn find(known: &Known<'_>) -> Vec<Cause> {
    let is_counter = |it: &&Evidence| {
        let counter = it.metric.split(' ').next().unwrap_or_default();
        counter.starts_with("qdisc.") && counter.ends_with(".overlimits") && it.shift > 0.0
    };
    let grown = known.evidence.iter().filter(is_counter);
    let grown = grown.filter(|it| it.after >= LEAST && it.after >= 2.0 * it.before);
    let Some(first) = grown.max_by(|a, b| a.after.total_cmp(&b.after)) else { return Vec::new() };
    let drops = first.metric.replace(".overlimits", ".drops");
    let drops = drops.split(' ').next().unwrap_or_default();
    let with = WITH.iter().copied().chain([drops]);
    let mut evidence: Vec<CauseEvidence> =
        with.filter_map(|name| by_counters::grown(name, known.evidence)).map(quoted).collect();
    evidence.extend(idle(known));
    evidence.extend(generator(known).map(quoted));
    if evidence.is_empty() {
        return Vec::new();
    }
    // What holds packets back was there all the time: it is not this alone.
    let sure = if first.before <= 0.02 * first.after { 0.9 } else { 0.6 };
    vec![cause(ID, sure, std::iter::once(quoted(first)).chain(evidence).collect())]
}

/// CPUs that have less to do, where that was sampled.
fn idle(known: &Known<'_>) -> Option<CauseEvidence> {
    let profile = known.profile?;
    let (before, after) = (profile.before.idle?, profile.after.idle?);
    (after - before >= MORE_IDLE).then(|| CauseEvidence {
        metric: "idle CPU time".to_owned(),
        before: 100.0 * before,
        after: 100.0 * after,
        unit: "%".to_owned(),
    })
}

/// Evidence that the generator is less busy: it waits for delayed packets.
fn generator<'k>(known: &'k Known<'_>) -> Option<&'k Evidence> {
    let is_it = |it: &&Evidence| it.metric.split(' ').next() == Some("generator.busy_share");
    known.evidence.iter().find(is_it).filter(|it| it.after <= LESS * it.before)
}

/// Links with a rate get a higher one. Queueing disciplines go where no link has its own.
fn change(experiment: &Experiment) -> Change {
    let is_shaped = |link: &&Link| link.ways() != [LinkDirection::default(), LinkDirection::default()];
    let shaped: Vec<&Link> = experiment.links.iter().filter(is_shaped).collect();
    let faster = shaped.iter().filter_map(|link| {
        let rate = Some(BitRate(link.rate?.0.saturating_mul(HIGHER_RATE)));
        let (delay, loss, down) = (None, None, None);
        Some(Action::of(ChangeLink { between: link.between.clone(), rate, delay, loss, down, reset: false }))
    });
    let is_free = |host: &&String| !shaped.iter().any(|link| link.between.contains(host));
    let commands = "tc qdisc show >/dev/null || exit 1
        for d in $(ls /proc/sys/net/ipv4/conf); do
            case $d in all|default|lo) ;; *) tc qdisc del dev $d root; tc qdisc del dev $d ingress;; esac
        done 2>/dev/null; true";
    let what =
        format!("without queueing disciplines but the links' own, and with {HIGHER_RATE} times their rate");
    let mut change = changes::run(&what, commands, changes::of_namespaces(experiment).filter(is_free));
    change.actions.extend(faster);
    change
}

#[cfg(test)]
mod tests {
    use plimsoll_model::report::{ProfileReport, ProfileSide};

    use super::super::fixture::{grew, profile};
    use super::super::named;
    use super::*;

    #[test]
    fn a_queue_that_holds_packets_back_is_named_where_something_else_shows_it_too() {
        let waited = grew("server", "qdisc.tbf.overlimits (per operation)", 0.0, 3.0);
        let again = grew("server", "snmp.Tcp.RetransSegs (per operation)", 0.0, 0.1);
        let ids = |evidence: &[Evidence], idle: f64| -> Vec<CauseId> {
            let side = |idle| ProfileSide { idle: Some(idle), ..profile().before };
            let profile = ProfileReport { before: side(0.2), after: side(idle), ..profile() };
            let causes = named(&Known { evidence, profile: Some(&profile), ..Known::default() });
            causes.iter().map(|cause| cause.id).collect()
        };
        assert_eq!(ids(&[waited.clone(), again], 0.2), [ID]);
        assert_eq!(ids(std::slice::from_ref(&waited), 0.8), [ID]);
        let less = grew("client", "generator.busy_share (level)", 40.0, 4.0);
        assert_eq!(ids(&[waited.clone(), less], 0.2), [ID]);
        assert!(ids(&[waited], 0.2).is_empty(), "one counter alone");
    }
}
