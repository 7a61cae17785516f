//! Causes by the kernel's counters and by errors: what one side of a comparison has and the other has not.

use plimsoll_model::cause::{Cause, CauseId};
use plimsoll_model::report::Evidence;

use super::{cause, quoted};

/// What shows a cause. Counters: `Documentation/networking/snmp_counter.rst`, and net/ipv4/tcp_ipv4.c and tcp_minisocks.c, where they are counted.
pub(super) struct Signature {
    /// What must have grown: a counter, or an error by its public name.
    pub(super) counter: &'static str,
    /// What it must come to for each operation on the worse side. Less than this explains nothing.
    pub(super) least: f64,
    /// Counters, one of which must have grown with it; empty for an error, which names itself.
    pub(super) with: &'static [&'static str],
}

/// Largest share of its value on the worse side at which a counter counts as nearly zero on the better one. Such a counter is stronger evidence than growth.
const NEARLY_ZERO: f64 = 0.02;
/// What merely grew must have doubled.
const DOUBLED: f64 = 2.0;

/// How sure a loss is whose place is known.
const KNOWN_WHERE: f64 = 0.88;

/// The cause, where its counters all grew from the better to the worse side. `evidence` is everything that moved, per operation.
pub(super) fn named(id: CauseId, signature: &Signature, evidence: &[Evidence]) -> Option<Cause> {
    let first = grown(signature.counter, evidence).filter(|counter| counter.after >= signature.least)?;
    let others: Vec<&Evidence> = signature.with.iter().filter_map(|name| grown(name, evidence)).collect();
    if others.is_empty() && !signature.with.is_empty() {
        return None;
    }
    let confidence = match (first.before <= NEARLY_ZERO * first.after, others.len()) {
        (true, 2..) => 0.9,
        (true, _) => 0.85,
        (false, _) => 0.6,
    };
    Some(cause(id, confidence, [first].into_iter().chain(others).map(quoted).collect()))
}

/// From this many for each operation or second on, packets that are dropped are felt.
const LEAST_DROPS: f64 = 0.005;

/// Counters of those who drop packets on a path, that grew: the kernel by its reason, queueing disciplines, interfaces.
pub(super) fn drops(evidence: &[Evidence]) -> Vec<&Evidence> {
    let is_it = |name: &str| {
        name.starts_with("machine.drops.")
            || name.starts_with("qdisc.") && name.ends_with(".drops")
            || name.starts_with("dev.")
                && [".rx_dropped", ".tx_dropped"].iter().any(|end| name.ends_with(end))
    };
    let names = evidence.iter().map(|it| it.metric.split(' ').next().unwrap_or_default());
    let grown = names.filter(|name| is_it(name)).filter_map(|name| grown(name, evidence));
    let mut drops: Vec<&Evidence> = grown.filter(|it| it.after >= LEAST_DROPS).collect();
    drops.sort_by(|a, b| b.after.total_cmp(&a.after));
    drops.dedup_by(|a, b| a.metric == b.metric);
    drops.truncate(3);
    drops
}

/// A cause that lost packets show, with who dropped them: surer where that is known.
pub(super) fn with_drops(found: Cause, evidence: &[Evidence]) -> Cause {
    let drops = drops(evidence);
    if drops.is_empty() {
        return found;
    }
    // A queue that holds a rate drops what is beyond it, and is the cause itself.
    let is_shaped = evidence.iter().any(|it| it.metric.contains(".overlimits ") && it.shift > 0.0);
    let sure = if is_shaped { found.confidence } else { found.confidence.max(KNOWN_WHERE) };
    let evidence = drops.into_iter().map(quoted).chain(found.evidence).collect();
    Cause { confidence: sure, evidence, ..found }
}

/// Where a counter grew most.
pub(super) fn grown<'e>(name: &str, evidence: &'e [Evidence]) -> Option<&'e Evidence> {
    let is_it = |evidence: &&Evidence| evidence.metric.split(' ').next() == Some(name);
    let grew = |evidence: &&Evidence| evidence.shift > 0.0 && evidence.after >= DOUBLED * evidence.before;
    evidence.iter().filter(is_it).filter(grew).max_by(|a, b| a.after.total_cmp(&b.after))
}

/// A share that grew, which cannot double where it was large already.
pub(super) fn raised<'e>(name: &str, evidence: &'e [Evidence]) -> Option<&'e Evidence> {
    evidence.iter().find(|it| it.metric.split(' ').next() == Some(name) && it.shift > 0.0)
}

#[cfg(test)]
mod tests {
    use super::super::{Known, named};
    use super::*;

    fn moved(host: &str, name: &str, before: f64, after: f64) -> Evidence {
        Evidence {
            host: host.into(),
            metric: format!("{name} (per connection)"),
            before,
            after,
            unit: "count/connection".into(),
            shift: if after > before { 1.0 } else { -1.0 },
            control_ratio: None,
        }
    }

    fn causes(evidence: &[Evidence]) -> Vec<Cause> {
        named(&Known { evidence, ..Known::default() })
    }

    fn ids(evidence: &[Evidence]) -> Vec<&'static str> {
        causes(evidence).iter().map(|cause| cause.id.id()).collect()
    }

    const OVERFLOWS: &str = "netstat.TcpExt.ListenOverflows";
    const SYN_RETRANS: &str = "netstat.TcpExt.TCPSynRetrans";

    #[test]
    fn a_control_group_at_its_limit_whose_pages_are_read_again_lacks_memory() {
        let refault = moved("machine", "machine.vmstat.workingset_refault_file", 0.0, 0.24);
        for counter in ["cgroup.memory.max", "cgroup.memory.failcnt", "memory.max", "memory.failcnt"] {
            let at_limit = moved("server", counter, 0.0, 0.5);
            assert_eq!(ids(&[at_limit.clone(), refault.clone()]), ["memory.reclaim"]);
            assert!(ids(&[at_limit]).is_empty(), "nothing had to be read again");
            assert!(ids(std::slice::from_ref(&refault)).is_empty(), "nobody says that memory was lacking");
        }
    }

    #[test]
    fn overflows_with_syns_that_are_sent_again_are_a_listen_queue() {
        let evidence = [moved("server", OVERFLOWS, 0.0, 0.1), moved("client", SYN_RETRANS, 0.0, 0.02)];
        assert_eq!(ids(&evidence), ["net.listen_overflow"]);
        assert_eq!(
            causes(&evidence)[0].evidence[1].metric,
            "client: netstat.TcpExt.TCPSynRetrans (per connection)"
        );
    }

    #[test]
    fn one_counter_alone_names_nothing_nor_does_one_that_fell_or_hardly_moved() {
        let again = moved("client", SYN_RETRANS, 0.0, 0.02);
        assert!(ids(&[moved("server", OVERFLOWS, 0.0, 0.1)]).is_empty());
        assert!(ids(&[moved("server", OVERFLOWS, 0.1, 0.0), again.clone()]).is_empty());
        assert!(ids(&[moved("server", OVERFLOWS, 0.0, 0.001), again.clone()]).is_empty());
        assert!(ids(&[moved("server", OVERFLOWS, 0.1, 0.15), again]).is_empty());
    }

    #[test]
    fn an_error_of_the_system_names_itself() {
        assert_eq!(ids(&[moved("client", "errors.no_descriptor", 0.0, 0.4)]), ["limit.file_descriptors"]);
        assert_eq!(ids(&[moved("client", "errors.no_port", 0.0, 0.4)]), ["net.port_exhaustion"]);
    }

    #[test]
    fn what_was_zero_on_the_better_side_comes_before_what_grew() {
        let evidence = [
            moved("server", OVERFLOWS, 0.05, 0.2),
            moved("server", "netstat.TcpExt.PAWSTimewait", 0.0, 0.4),
            moved("client", SYN_RETRANS, 0.0, 0.4),
        ];
        assert_eq!(ids(&evidence), ["net.time_wait_reuse", "net.listen_overflow"]);
    }
}
