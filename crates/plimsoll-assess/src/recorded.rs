//! Two recordings of a host: what changed from one to the other, for each second.

use std::collections::BTreeMap;

use plimsoll_explain::causes::{Known, Measured, named};
use plimsoll_explain::profile::{Sampled, contrast};
use plimsoll_model::cause::CauseId;
use plimsoll_model::observation::{FrameKind, Profile};
use plimsoll_model::report::WaitFor;

use super::watched::{self, Moment, PER};
use super::{Explained, MOST_EVIDENCE, evidence};

/// A recording of a host.
#[derive(Clone, Debug, Default)]
pub struct Recorded {
    /// Counters, second by second.
    pub moments: Vec<Moment>,
    /// The stacks and waits, and the time in seconds in which they were sampled; nothing where they could not be.
    pub profile: Option<(Profile, f64)>,
}

impl Recorded {
    /// The counters and levels as they were at the end.
    fn last(&self) -> BTreeMap<String, f64> {
        let all = self.moments.iter().flat_map(|moment| &moment.counters.values);
        all.map(|(name, value)| (name.clone(), *value)).collect()
    }

    fn sampled(&self) -> Option<Sampled> {
        let (profile, seconds) = self.profile.as_ref()?;
        let operations = seconds.round().max(1.0) as u64;
        Some(Sampled { profile: profile.of_the_run(), operations, seconds: *seconds })
    }
}

/// What changed from a recording to another of the same host, or of one that does the same.
#[must_use]
pub fn explain(before: &Recorded, after: &Recorded) -> Explained {
    let (mut moved, saved) = watched::moved(&before.moments, &after.moments);
    moved.extend(evidence::levels_of_recordings(&before.last(), &after.last()));
    let profile = before.sampled().zip(after.sampled());
    let profile = profile.and_then(|(before, after)| contrast(&before, &after, None, PER));
    let waits_for_disk =
        profile.as_ref().is_some_and(|it| it.waits.iter().any(|wait| wait.wait_for == WaitFor::Disk));
    // Nobody said which of the programs matters, so that each of them may be what the others wait for.
    let mut hosts = vec![evidence::HERE.to_owned()];
    let owners = after.profile.iter().flat_map(|(profile, _)| &profile.frames);
    hosts.extend(owners.filter(|it| it.kind == FrameKind::Host).map(|it| it.name.clone()));
    let measured = Measured { hosts, waits_for_disk, ..Measured::default() };
    let known = Known {
        evidence: &moved,
        profile: profile.as_ref(),
        measured,
        saved: vec![saved],
        ..Known::default()
    };
    let mut causes = named(&known);
    // Nobody said which program serves: that others end by a signal is usual where tests or jobs run, and comes last.
    causes.sort_by_key(|cause| cause.id == CauseId::ServiceCrashed);
    for (rank, cause) in (1..).zip(&mut causes) {
        cause.rank = rank;
    }
    moved.truncate(MOST_EVIDENCE);
    Explained { causes, evidence: moved, profile }
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
        Recorded { moments: (1..=12).map(moment).collect(), profile: None }
    }

    #[test]
    fn what_is_counted_and_what_lies_about_is_named_and_the_same_twice_is_not() {
        let found = explain(&recorded(0.0, 3.0), &recorded(40.0, 3.0));
        assert_eq!(found.causes[0].id, CauseId::NetListenOverflow);
        let overflows = &found.evidence[0];
        assert!((overflows.after - 40.0).abs() < 1e-9 && overflows.metric.contains("per second"));
        let found = explain(&recorded(0.0, 3.0), &recorded(0.0, 5003.0));
        assert!(found.evidence.iter().any(|it| it.metric == "rules (level)" && it.after == 5003.0));
        let same = explain(&recorded(40.0, 3.0), &recorded(40.0, 3.0));
        assert!(same.causes.is_empty() && same.evidence.is_empty(), "{:?}", same.evidence);
    }
}
