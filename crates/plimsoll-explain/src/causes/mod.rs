//! Causes: named explanations, each with what speaks for it.
//!
//! A cause is named only where two independent observations point to it. For state that grows these are the rung of the remedies
//! ladder that brought the figure back (an intervention), and counters that grew with it (an observation).

mod calls;
mod counters;
mod profile;
mod saved;
mod stalls;

pub use calls::{Measured, of_calls};
pub use counters::of_counters;
pub use profile::{of_profile, of_saturation};
pub use saved::{CpuTime, of_cpu_time, of_swapping};
pub use stalls::{CellStalls, of_stalls};

use plimsoll_model::cause::{Cause, CauseEvidence, CauseId};
use plimsoll_model::report::{Evidence, StateLivesIn};

/// How much of the evidence a cause quotes.
const QUOTED: usize = 4;

/// What the reference says of a cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page {
    /// What speaks for it.
    pub evidence_for: &'static str,
    /// What speaks against it.
    pub evidence_against: &'static str,
    /// The intervention that confirms it.
    pub test: &'static str,
    /// What mends it.
    pub remedy: &'static str,
}

/// The page of a cause.
#[must_use]
pub fn page(id: CauseId) -> Page {
    match id {
        CauseId::ServiceStateGrows => Page {
            evidence_for: "user CPU time per connection grew on the service's host, and stays so when no connection is left",
            evidence_against: "the kernel's time per connection grew instead; a restarted service is as slow",
            test: "restart the service and measure again: the figure is back",
            remedy: "bound what the service remembers of past connections; until then, restart it",
        },
        CauseId::KernelStateGrows => Page {
            evidence_for: "rules, routes, tracked connections or slabs of the host grew with the connections; time in the kernel and in \
                           softirqs per connection grew",
            evidence_against: "a restarted service is as fast as before",
            test: "restart the service (no change), then make its host anew: the figure is back",
            remedy: "find who leaves this state in the host's kernel and does not take it away; until then, remove it or make the host anew",
        },
        CauseId::NetDelayedAck => Page {
            evidence_for: "senders stand still until an acknowledgement comes some 40 ms late, and the kernel counts delayed ones",
            evidence_against: "the sender has more to send and may, or the late acknowledgement was of a full segment that was lost",
            test: "acknowledge at once (`quickack 1` on the route, TCP_QUICKACK) or send without waiting (TCP_NODELAY): the stalls are gone",
            remedy: "hand a message to the kernel in one call, or set TCP_NODELAY; write, write, read is what waits",
        },
        CauseId::NetSenderCorked => Page {
            evidence_for: "part of a segment leaves some 200 ms late, with nothing in flight and the window open",
            evidence_against: "the program had nothing to send: the pauses have no length in common",
            test: "say with the last bytes that nothing follows (no MSG_MORE, no SPLICE_F_MORE, cork released): the stalls are gone",
            remedy: "release the cork, or leave MSG_MORE and SPLICE_F_MORE out of the last call",
        },
        CauseId::NetRto => Page {
            evidence_for: "segments are sent again after a timeout and nothing else moved meanwhile; the kernel counts timeouts",
            evidence_against: "duplicate acknowledgements brought the losses to light at once",
            test: "make the path lossless: the stalls are gone",
            remedy: "find where packets are lost (queues, policers, bad links); keep windows large enough for fast retransmission",
        },
        CauseId::NetPacketLoss => Page {
            evidence_for: "duplicate acknowledgements or SACK, then segments that are sent again",
            evidence_against: "segments arrive out of order, and the retransmissions were not needed",
            test: "make the path lossless: the retransmissions are gone",
            remedy: "find where packets are lost: a queue that is too short, a policer, a bad link",
        },
        CauseId::NetZeroWindow => Page {
            evidence_for: "the receiver announces a window of 0, and the kernel counts that it does",
            evidence_against: "windows stay open, and the sender has nothing to send",
            test: "make the receiving program read faster, or discard: the stalls are gone",
            remedy: "the receiving program does not keep up: give it less to do for each byte, or more CPU",
        },
        CauseId::NetSmallBuffer => Page {
            evidence_for: "the window is open, but by less than the sender needs; TCP_INFO says that the receiver's window was the limit",
            evidence_against: "the congestion window, or the sender's own buffer, was the limit",
            test: "give the receive buffer the rate times the round trip: the stalls are gone",
            remedy: "raise net.ipv4.tcp_rmem, or SO_RCVBUF where the receiving program sets it",
        },
        CauseId::NetSynDropped => Page {
            evidence_for: "SYNs or SYN-ACKs are sent again after one second and more",
            evidence_against: "the server answers a SYN with something else than SYN-ACK",
            test: "raise the listener's backlog, or take away the filter: every SYN is answered at once",
            remedy: "raise the backlog (listen, net.core.somaxconn), or find what drops SYNs on the way",
        },
        CauseId::NetListenOverflow => Page {
            evidence_for: "the kernel counts connections that found the listen queue full (ListenOverflows), and clients send SYNs again, or \
                           get SYN cookies",
            evidence_against: "the counter moves as much on the better side; SYNs are lost on the way, where the server never sees them",
            test: "raise the backlog of the listener (listen(2), at most net.core.somaxconn) and measure again: the counter stands still",
            remedy: "raise the backlog that the server asks for and net.core.somaxconn, or let it accept sooner (more workers)",
        },
        CauseId::NetPortExhaustion => Page {
            evidence_for: "connections fail at the client with EADDRNOTAVAIL: every local port is taken, most of them by TIME_WAIT",
            evidence_against: "connections are refused, or not answered, by the other side",
            test: "widen net.ipv4.ip_local_port_range, or connect from more addresses, and measure again: the errors are gone",
            remedy: "keep connections open, let the server close first, widen net.ipv4.ip_local_port_range, or use more source addresses",
        },
        CauseId::LimitFileDescriptors => Page {
            evidence_for: "calls fail with EMFILE or ENFILE: the process, or the machine, may have no more files and sockets open",
            evidence_against: "connections are refused by the other side",
            test: "raise the limit (ulimit -n, fs.file-max) and measure again: the errors are gone",
            remedy: "raise RLIMIT_NOFILE of the process (LimitNOFILE of a systemd unit), or find what it does not close",
        },
        CauseId::NetTimeWaitReuse => Page {
            evidence_for: "a SYN meets a connection in TIME_WAIT with the same addresses and ports, and is not answered by SYN-ACK",
            evidence_against: "SYNs of fresh ports have to be sent again as well",
            test: "use more client ports, or let the client close first: every SYN is answered at once",
            remedy: "keep connections, widen the range of ports that clients share, or let the client close first",
        },
        CauseId::NetRuleChain => Page {
            evidence_for: "the CPU time of each connection or packet grew, and most of what was added is in a function that walks a list of rules: fib_rules_lookup (routing policy), nft_do_chain, ipt_do_table (packet filters), tcf_classify",
            evidence_against: "the same function took as much before; the number of rules is the same on both sides",
            test: "take the rules away that were added (ip rule, nft list ruleset, iptables-save, tc filter) and measure again",
            remedy: "find who adds rules and does not take them away; put what must stay into sets, maps or fewer tables",
        },
        CauseId::LockContended => Page {
            evidence_for: "the CPU time of each operation grew, and most of what was added is spent spinning on a lock (native_queued_spin_lock_slowpath, osq_lock, rwsem_spin_on_owner)",
            evidence_against: "one CPU alone is as slow",
            test: "use fewer CPUs or processes: each operation needs less CPU time",
            remedy: "look in the profile for who takes the lock; spread the work over more sockets, files, cgroups or devices",
        },
        CauseId::MemoryReclaim => Page {
            evidence_for: "CPU time was added in the functions that look for memory to take back (shrink_node, try_to_free_pages), and the kernel counts pages that it scanned for that",
            evidence_against: "memory is free, and no page was scanned",
            test: "give the machine or the control group more memory and measure again",
            remedy: "raise the limit of the control group, give the programs less to keep, or add memory",
        },
        CauseId::MemoryOom => Page {
            evidence_for: "the kernel has killed a process on the worse side (tracepoint oom/mark_victim) and names it",
            evidence_against: "processes ended by themselves, or by a signal of somebody else",
            test: "give the machine or the control group more memory and measure again: nobody is killed",
            remedy: "raise the limit of memory, give the programs less to keep, or find what keeps too much",
        },
        CauseId::DiskSyncBound => Page {
            evidence_for: "the service itself calls fsync more often for each operation and in each second, and the device flushes more often",
            evidence_against: "somebody else calls fsync; the device flushes no more often",
            test: "let it flush as seldom as before (its own settings), and measure again",
            remedy: "gather several writes in one flush, or use a device that keeps what it was given without power",
        },
        CauseId::CpuKernelSaturated => Page {
            evidence_for: "hardly a CPU is idle, and most of the CPU time that each operation takes more is spent in the kernel",
            evidence_against: "CPUs are idle; the time that was added is the program's",
            test: "give the hosts more CPUs: the rate rises with them",
            remedy: "the profile names the functions of the kernel that take the time; avoid what calls them, or add CPUs",
        },
        CauseId::CpuUserSaturated => Page {
            evidence_for: "hardly a CPU is idle, and most of the CPU time that each operation takes more is spent in a program",
            evidence_against: "CPUs are idle; the time that was added is the kernel's",
            test: "give the program more CPUs: the rate rises with them",
            remedy: "the profile names the program's functions that take the time; make them cheaper, or add CPUs",
        },
        CauseId::ProbeEffect => Page {
            evidence_for: "the figure differs between trials with probes and trials without",
            evidence_against: "the interval of the difference has none in it",
            test: "carry the experiment out with `run.probes = false` beside it (`--audit-probes`)",
            remedy: "sample less often, capture fewer bytes of fewer packets, or measure without probes and look separately",
        },
        CauseId::DiskForeignSync => Page {
            evidence_for: "the device flushes, and its journal commits, more often for each operation, while the service itself asks for as \
                           few flushes as before; it waits longer for each of them",
            evidence_against: "the service's own flushes became as many more; the device flushes no more often than before",
            test: "switch off who calls sync and measure again: the flushes for each operation, and the figure, are as before",
            remedy: "find who calls sync, fsync or fdatasync (`strace -f -e trace=sync,syncfs,fsync,fdatasync`), and let him do it less \
                     often, or on a file system and a device of his own",
        },
        CauseId::DiskCompetingIo => Page {
            evidence_for: "measurements are in the worse mode while a background load is there, and in the better one while it is not; the device \
                           moved bytes that the measured load did not ask for",
            evidence_against: "the worse mode comes as often without the background load; nobody else used the device",
            test: "switch the background load off and measure again: one mode is left",
            remedy: "give the background load a device of its own, a limit, or another time",
        },
    }
}

/// What the place of the state says about the cause. `restored` is the figure relative to its baseline before and after the rung that
/// brought it back: an intervention, which stands by itself where no counter tells more.
#[must_use]
pub fn of_state(
    state_lives_in: Option<StateLivesIn>,
    restored: Option<CauseEvidence>,
    evidence: &[Evidence],
) -> Vec<Cause> {
    let (id, speaks): (_, fn(&str) -> bool) = match state_lives_in {
        Some(StateLivesIn::Service) => (CauseId::ServiceStateGrows, of_service),
        Some(StateLivesIn::HostKernel) => (CauseId::KernelStateGrows, of_kernel),
        Some(StateLivesIn::Cache | StateLivesIn::Elsewhere) | None => return Vec::new(),
    };
    let quoted: Vec<CauseEvidence> = evidence
        .iter()
        .filter(|evidence| evidence.shift > 0.0 && speaks(&evidence.metric))
        .take(QUOTED)
        .map(quoted)
        .collect();
    if quoted.is_empty() && restored.is_none() {
        return Vec::new();
    }
    // The intervention that confirms the cause has been made: the rung restored the figure.
    let confidence = match quoted.len() {
        0 => 0.8,
        1 => 0.9,
        _ => 0.95,
    };
    let (title, remedy) = (id.title().to_owned(), page(id).remedy.to_owned());
    let evidence = restored.into_iter().chain(quoted).collect();
    vec![Cause { rank: 1, id, title, confidence, evidence, remedy, confirmed: true }]
}

/// A second mode that is there when a background load is: the background load was switched on and off, so it is confirmed. `evidence` are the figures
/// without it and with it; a cause is named only where there are two.
#[must_use]
pub fn of_background(background: &str, confidence: f64, evidence: Vec<CauseEvidence>) -> Option<Cause> {
    if evidence.len() < 2 {
        return None;
    }
    let id = CauseId::DiskCompetingIo;
    let title = format!("{}: the background load `{background}`", id.title());
    let remedy = page(id).remedy.to_owned();
    Some(Cause { rank: 1, id, title, confidence, evidence, remedy, confirmed: true })
}

/// What a disk and a service that waits for it did for each operation, without a background load and with it.
#[derive(Clone, Debug)]
pub struct Flushing {
    /// The figure that became worse.
    pub figure: CauseEvidence,
    /// Flushes of the device.
    pub flushes: CauseEvidence,
    /// Transactions that its journal committed; where it has none, both are 0.
    pub commits: CauseEvidence,
    /// Flushes that the service itself asked for, where it tells.
    pub own: Option<CauseEvidence>,
    /// Times that were spent waiting.
    pub waiting: Vec<CauseEvidence>,
}

/// How much more often a disk has to flush to be told.
const MORE_FLUSHES: f64 = 1.25;

/// A background load that makes the disk flush: it was switched on and off, so it is confirmed. Named only where the disk flushed more often by a factor
/// that the service's own flushes do not explain, and somebody waited longer.
#[must_use]
pub fn of_flushing(background: &str, confidence: f64, what: Flushing) -> Option<Cause> {
    let grew = |of: &CauseEvidence| if of.before > 0.0 { of.after / of.before } else { f64::INFINITY };
    let of_service = what.own.as_ref().map_or(1.0, grew).max(1.0);
    let more = what.flushes.after > 0.0 && grew(&what.flushes) >= MORE_FLUSHES * of_service;
    let waited = what.waiting.iter().any(|time| time.after > 0.0 && grew(time) >= MORE_FLUSHES);
    if !more || !waited {
        return None;
    }
    let commits = Some(what.commits).filter(|commits| commits.before > 0.0 || commits.after > 0.0);
    let evidence = [Some(what.figure), Some(what.flushes), commits, what.own].into_iter().flatten();
    let id = CauseId::DiskForeignSync;
    let title = format!("{}: the background load `{background}`", id.title());
    let (evidence, remedy) = (evidence.chain(what.waiting).collect(), page(id).remedy.to_owned());
    Some(Cause { rank: 1, id, title, confidence, evidence, remedy, confirmed: true })
}

/// What moved, as evidence of a cause.
fn quoted(evidence: &Evidence) -> CauseEvidence {
    CauseEvidence {
        metric: format!("{}: {}", evidence.host, evidence.metric),
        before: evidence.before,
        after: evidence.after,
        unit: evidence.unit.clone(),
    }
}

fn of_service(metric: &str) -> bool {
    metric.contains("stat.cpu.user") || metric.starts_with("processes.user")
}

/// Sockets in TIME_WAIT and the inodes of `/proc` follow from any flood, and go by themselves.
fn of_kernel(metric: &str) -> bool {
    let follows_any_flood = metric.contains("tw_sock") || metric.contains("proc_inode");
    let grows = [
        "rules",
        "routes",
        "neighbours",
        "machine.slab.",
        "nf_conntrack",
        "machine.stat.cpu.softirq",
        "machine.stat.cpu.system",
    ];
    !follows_any_flood && grows.iter().any(|name| metric.starts_with(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn evidence(metric: &str) -> Evidence {
        Evidence {
            host: "firewall".into(),
            metric: metric.into(),
            before: 3.0,
            after: 10_003.0,
            unit: "count".into(),
            shift: 1.0,
            control_ratio: Some(1.0),
        }
    }

    #[test]
    fn a_rung_without_figures_is_not_enough() {
        assert!(of_state(Some(StateLivesIn::HostKernel), None, &[]).is_empty());
        assert!(
            of_state(Some(StateLivesIn::HostKernel), None, &[evidence("netstat.TcpExt.TW (per connection)")])
                .is_empty()
        );
    }

    #[test]
    fn what_a_restart_has_restored_is_named_although_no_counter_tells_more() {
        let restored = CauseEvidence {
            metric: "connections_per_second, relative to the baseline, by `restart_service`".into(),
            before: 0.2,
            after: 1.0,
            unit: "ratio".into(),
        };
        let causes = of_state(Some(StateLivesIn::Service), Some(restored.clone()), &[]);
        assert_eq!((causes[0].id, causes[0].confirmed), (CauseId::ServiceStateGrows, true));
        assert_eq!(causes[0].evidence, std::slice::from_ref(&restored));
        let more = of_state(
            Some(StateLivesIn::Service),
            Some(restored),
            &[evidence("machine.stat.cpu.user (per connection)")],
        );
        assert!(more[0].confidence > causes[0].confidence);
    }

    #[test]
    fn what_follows_from_any_flood_is_no_evidence() {
        let flood = [evidence("machine.slab.tw_sock_TCP.active (level)"), evidence("tcp.time_wait (level)")];
        assert!(of_state(Some(StateLivesIn::HostKernel), None, &flood).is_empty());
    }

    #[test]
    fn rules_that_grew_and_a_new_host_that_helped_point_at_the_kernel() {
        let causes = of_state(Some(StateLivesIn::HostKernel), None, &[evidence("rules (level)")]);
        assert_eq!(causes[0].id, CauseId::KernelStateGrows);
        assert_eq!(causes[0].evidence[0].after, 10_003.0);
    }

    fn flushing(flushes: f64, own: f64, waiting: f64) -> Option<Cause> {
        let evidence = |metric: &str, after: f64| CauseEvidence {
            metric: metric.into(),
            before: 1.0,
            after,
            unit: String::new(),
        };
        let what = Flushing {
            figure: evidence("messages per minute", 0.4),
            flushes: evidence("flushes", flushes),
            commits: evidence("commits", flushes),
            own: Some(evidence("own", own)),
            waiting: vec![evidence("waiting", waiting)],
        };
        of_flushing("writer", 0.99, what)
    }

    #[test]
    fn flushes_that_the_service_did_not_ask_for_and_waits_for_are_laid_to_the_background_load() {
        let cause = flushing(3.0, 1.0, 3.0).expect("it was not named");
        assert_eq!((cause.id.id(), cause.evidence.len()), ("disk.foreign_sync", 5));
        assert_eq!(flushing(3.0, 2.9, 3.0), None, "they are its own");
        assert_eq!(flushing(1.1, 1.0, 3.0), None, "there are hardly more");
        assert_eq!(flushing(3.0, 1.0, 1.0), None, "nobody waits for them");
    }

    #[test]
    fn where_nothing_is_held_down_nothing_is_explained() {
        assert!(of_state(None, None, &[evidence("rules (level)")]).is_empty());
    }
}
