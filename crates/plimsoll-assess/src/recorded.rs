//! Two recordings of a host: what changed from one to the other, for each second.

use std::collections::BTreeMap;

use plimsoll_explain::causes::{CellStalls, Known, Measured, named};
use plimsoll_explain::evidence::{Figure, rank};
use plimsoll_explain::profile::{Sampled, contrast};
use plimsoll_import::saved::kernel_log_signs;
use plimsoll_model::cause::CauseId;
use plimsoll_model::observation::{FrameKind, Profile, TracedCall};
use plimsoll_model::report::{Evidence, WaitFor};
use plimsoll_model::trace::{Class, TraceReport};

use super::evidence::MACHINE;
use super::watched::{self, Moment, PER};
use super::work::{self, Work};
use super::{Explained, MOST_EVIDENCE, evidence};

/// A recording of a host.
#[derive(Clone, Debug, Default)]
pub struct Recorded {
    /// Counters, second by second.
    pub moments: Vec<Moment>,
    /// The stacks and waits, and the time in seconds in which they were sampled; `None` if they could not be.
    pub profile: Option<(Profile, f64)>,
    /// Results from captured packets, interface by interface.
    pub traces: Vec<TraceReport>,
    /// Lines of the kernel's log meanwhile.
    pub log: Vec<String>,
}

impl Recorded {
    /// The counters and levels as they were at the end.
    fn last(&self) -> BTreeMap<String, f64> {
        let all = self.moments.iter().flat_map(|moment| &moment.counters.values);
        all.map(|(name, value)| (name.clone(), *value)).collect()
    }

    /// How often TCP sent a segment with data in each second.
    fn sent(&self) -> Option<f64> {
        let at_ns = |moment: Option<&Moment>| moment.map(|moment| moment.counters.at_ns);
        let (first, last) = (at_ns(self.moments.first())?, at_ns(self.moments.last())?);
        let seconds = last.saturating_sub(first) as f64 / 1e9;
        (seconds > 0.0).then_some(self.moved().get(work::SENT)? / seconds)
    }

    /// Where the connections' time went, and what the network counted.
    fn stalls(&self, is_better: bool) -> Option<CellStalls> {
        let lifetime: f64 = self.traces.iter().map(|trace| trace.lifetime_s).sum();
        let of_all = |shares: fn(&TraceReport) -> &BTreeMap<Class, f64>| {
            let mut sum: BTreeMap<Class, f64> = BTreeMap::new();
            for trace in &self.traces {
                for (class, share) in shares(trace) {
                    *sum.entry(*class).or_default() += share * trace.lifetime_s / lifetime;
                }
            }
            sum
        };
        (lifetime > 0.0).then(|| CellStalls {
            is_better,
            shares: of_all(|trace| &trace.time_share),
            may_be: of_all(|trace| &trace.may_be_share),
            counters: self.moved().into_iter().filter(|(_, change)| *change > 0.0).collect(),
            ..CellStalls::default()
        })
    }

    /// Change of each counter over the whole recording.
    fn moved(&self) -> BTreeMap<String, f64> {
        let mut moved = self.last();
        let mut first = BTreeMap::new();
        for (name, value) in self.moments.iter().flat_map(|moment| &moment.counters.values) {
            first.entry(name).or_insert(*value);
        }
        moved.iter_mut().for_each(|(name, value)| *value -= first.get(name).copied().unwrap_or(0.0));
        moved
    }

    /// The queues of listening sockets, over the whole recording.
    fn queues(&self) -> BTreeMap<String, f64> {
        evidence::queues(&self.moved())
    }

    /// Whether the program used a CPU in this recording. A crash counts only then: tests and jobs end their own children by signals.
    fn ran(&self, owner: &str, process: &str) -> bool {
        let mut used = self.profile.iter().flat_map(|(profile, _)| &profile.seen.cpu_use);
        used.any(|it| it.owner.name == owner && it.process == process)
    }

    /// The stacks as operations of one second each.
    pub fn sampled(&self) -> Option<Sampled> {
        let (profile, seconds) = self.profile.as_ref()?;
        let operations = seconds.round().max(1.0) as u64;
        Some(Sampled { profile: profile.of_the_run(), operations, seconds: *seconds })
    }
}

/// Changes from a recording to another of the same host, or of one with the same work; and a note on differences that are no causes.
pub fn explain(before: &Recorded, after: &Recorded) -> (Explained, Option<String>) {
    let (mut moved, saved) = watched::moved(&before.moments, &after.moments);
    let (mut was, mut is) = (before.last(), after.last());
    let queues = [before.queues(), after.queues()];
    for name in queues.iter().flat_map(BTreeMap::keys) {
        let share = |of: &BTreeMap<String, f64>| of.get(name).copied().unwrap_or(0.0);
        was.insert(name.clone(), share(&queues[0]));
        is.insert(name.clone(), share(&queues[1]));
    }
    moved.extend(evidence::levels_of_recordings(&was, &is));
    moved.extend(signs(before, after));
    let profile = before.sampled().zip(after.sampled());
    let mut profile = profile.and_then(|(before, after)| contrast(&before, &after, None, PER));
    if let Some(profile) = &mut profile {
        profile.calls.retain(|it| it.call != TracedCall::Crash || before.ran(&it.owner, &it.process));
    }
    let waits_for_disk =
        profile.as_ref().is_some_and(|it| it.waits.iter().any(|wait| wait.wait_for == WaitFor::Disk));
    // A recording does not name its main program, so any program may be the one that the others wait for.
    let mut hosts = vec![evidence::HERE.to_owned()];
    let owners = after.profile.iter().flat_map(|(profile, _)| &profile.frames);
    hosts.extend(owners.filter(|it| it.kind == FrameKind::Host).map(|it| it.name.clone()));
    let work = before.sent().zip(after.sent()).and_then(|(before, after)| Work::of(before, after));
    let lost = work.and_then(Work::lost);
    let profiles = before.profile.as_ref().zip(after.profile.as_ref()).filter(|_| lost.is_some());
    let bystanders = profiles.map(|(before, after)| work::bystanders([&before.0, &after.0]));
    let bystanders = bystanders.unwrap_or_default();
    let measured = Measured { hosts, waits_for_disk, is_everybody: true, bystanders, ..Measured::default() };
    let stalls: Vec<CellStalls> =
        before.stalls(true).into_iter().zip(after.stalls(false)).flat_map(<[_; 2]>::from).collect();
    let known = Known {
        evidence: &moved,
        stalls: &stalls,
        profile: profile.as_ref(),
        measured,
        lost,
        saved: vec![saved],
        ..Known::default()
    };
    let mut causes = named(&known);
    // A recording does not name its server: that others end by a signal is usual where tests or jobs run, and comes last. So does what the recording
    // itself took, most of it at its beginning: the shorter of two recordings has more of it in each second.
    let comes_last = [CauseId::ServiceCrashed, CauseId::ProbeEffect];
    causes.sort_by_key(|cause| comes_last.contains(&cause.id));
    for (rank, cause) in (1..).zip(&mut causes) {
        cause.rank = rank;
    }
    let note = work.and_then(|work| work.spare(&mut causes));
    moved.truncate(MOST_EVIDENCE);
    (Explained { causes, evidence: moved, profile }, note)
}

/// Troubles that the kernel logged more often on the second side.
fn signs(before: &Recorded, after: &Recorded) -> Vec<Evidence> {
    let lines = |side: &Recorded| {
        let mut lines: BTreeMap<String, f64> = BTreeMap::new();
        for sign in kernel_log_signs(side.log.iter().map(String::as_str)) {
            *lines.entry(sign).or_default() += 1.0;
        }
        lines
    };
    let before = lines(before);
    let figures = lines(after).into_iter().map(|(sign, after)| Figure {
        host: MACHINE.to_owned(),
        metric: format!("{sign} (lines)"),
        unit: "count".to_owned(),
        before: vec![before.get(&sign).copied().unwrap_or(0.0)],
        after: vec![after],
        ..Figure::default()
    });
    rank(&figures.collect::<Vec<_>>(), usize::MAX)
}

#[cfg(test)]
mod tests {
    use plimsoll_model::observation::Snapshot;

    use super::*;

    /// Seconds of a host whose counters move by so much in each, and its levels.
    fn recorded(overflows: f64, rules: f64) -> Recorded {
        let moment = |second: u64| {
            let count = |rate: f64| rate * second as f64;
            let values = [
                ("netstat.TcpExt.ListenOverflows", count(overflows)),
                ("netstat.TcpExt.TCPSynRetrans", count(overflows)),
                ("machine.stat.cpu.user", count(1e5)),
                ("machine.stat.cpu.system", count(1e5)),
                ("machine.stat.cpu.idle", count(1.8e6)),
                ("rules", rules),
            ];
            let values = values.map(|(name, value)| (name.to_owned(), value)).into();
            let counters = Snapshot { at_ns: second * 1_000_000_000, values };
            Moment { at_unix_ms: second * 1000, counters, processes: None }
        };
        Recorded { moments: (1..=12).map(moment).collect(), ..Recorded::default() }
    }

    #[test]
    fn unequal_queues_and_lines_of_the_log_are_reported_and_what_moves_in_bursts_is_too() {
        let side = |uneven: f64, drops: f64, log: &[&str]| {
            let mut recorded = recorded(0.0, 3.0);
            for (second, moment) in (1_u32..).zip(&mut recorded.moments) {
                let looks = f64::from(second);
                // A burst every fourth second.
                let bursts = f64::from(second / 4);
                let more = [
                    ("listen.looks", looks),
                    ("listen.0.0.0.0:80.filled", 90.0 * looks * uneven),
                    ("listen.0.0.0.0:80.waiting", 8.0 * looks),
                    ("listen.0.0.0.0:80.excess", 8.0 * looks * uneven),
                    ("machine.softnet.dropped", drops * bursts),
                ];
                moment.counters.values.extend(more.map(|(name, value)| (name.to_owned(), value)));
            }
            recorded.log = log.iter().map(|line| (*line).to_owned()).collect();
            recorded
        };
        let calm = side(0.0, 0.0, &["usb 1-1: new device"]);
        let ids = |after: &Recorded| {
            explain(&calm, after).0.causes.iter().map(|cause| cause.id).collect::<Vec<_>>()
        };
        assert_eq!(ids(&side(1.0, 0.0, &[])), [CauseId::NetListenerUneven]);
        assert_eq!(ids(&side(0.0, 50.0, &[])), [CauseId::NetBacklogDropped]);
        let full = "neighbour: arp_cache: neighbor table overflow!";
        assert_eq!(ids(&side(0.0, 0.0, &[full])), [CauseId::NetNeighbourOverflow]);
        assert!(ids(&calm).is_empty());
    }

    #[test]
    fn what_is_counted_and_what_lies_about_is_named_and_the_same_twice_is_not() {
        let found = explain(&recorded(0.0, 3.0), &recorded(40.0, 3.0)).0;
        assert_eq!(found.causes[0].id, CauseId::NetListenOverflow);
        let overflows = &found.evidence[0];
        assert!((overflows.after - 40.0).abs() < 1e-9 && overflows.metric.contains("per second"));
        let found = explain(&recorded(0.0, 3.0), &recorded(0.0, 5003.0)).0;
        assert!(found.evidence.iter().any(|it| it.metric == "rules (level)" && it.after == 5003.0));
        let same = explain(&recorded(40.0, 3.0), &recorded(40.0, 3.0)).0;
        assert!(same.causes.is_empty() && same.evidence.is_empty(), "{:?}", same.evidence);
    }
}
