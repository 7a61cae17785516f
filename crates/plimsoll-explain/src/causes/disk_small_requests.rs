//! `disk.small_requests`: A program asks the disk for the same data in smaller pieces.

use std::collections::BTreeMap;

use plimsoll_model::cause::{Cause, CauseEvidence, CauseId};
use plimsoll_model::experiment::Experiment;
use plimsoll_model::plan::intervention::Change;
use plimsoll_model::report::{GrownBlockIo, Who};
use serde_json::json;

use super::{Definition, Known, Page, by_seen, cause, changes};

pub(super) const DEFINITION: Definition = Definition::new(
    Page {
        evidence_for: "the average request of the program is a third of its former size or less, and the disk carries fewer bytes in a second",
        evidence_against: "the requests are as large as before. The program asks for other data, at random places",
        test: "compare the sizes (`iostat -x 1`, rareq-sz and wareq-sz). Set `blockdev --setra` of the device as before, and measure again",
        remedy: "turn read-ahead of the device on again (read_ahead_kb), read and write larger blocks, and remove posix_fadvise(RANDOM) where files are read in order",
    },
    find,
)
.of_use()
.confirmed_by(usual_read_ahead);

const ID: CauseId = CauseId::DiskSmallRequests;
/// Largest size of a request, relative to that before.
const SMALLER: f64 = 1.0 / 3.0;
/// Fewest requests in a second on the worse side. A disk carries thousands.
const LEAST: f64 = 50.0;
const KIB: f64 = 1024.0;
/// Read-ahead of a block device unless somebody changes it (VM_READAHEAD_PAGES in include/linux/mm.h).
const USUAL: &str = "128KiB";

fn usual_read_ahead(experiment: &Experiment) -> Change {
    let devices = experiment.volumes.iter().filter(|(_, volume)| {
        let is_of_machine = !experiment.hosts[&volume.on].kind.own().files;
        is_of_machine && (volume.image.is_some() || volume.device.is_some())
    });
    let with_usual = devices.filter_map(|(name, volume)| {
        let mut queue = serde_json::to_value(&volume.queue).ok()?;
        queue.as_object_mut()?.insert("read_ahead".to_owned(), json!(USUAL));
        Some((format!("volumes.{name}.queue"), queue))
    });
    changes::set(format!("with {USUAL} of read-ahead"), with_usual)
}

/// What a program asked of all devices: a loop device may have another number in each trial.
#[derive(Clone, Copy, Default)]
struct Asked {
    requests: [f64; 2],
    bytes: [f64; 2],
}

impl Asked {
    fn add(&mut self, io: &GrownBlockIo) {
        let [before, after] = &mut self.requests;
        (*before, *after) = (*before + io.before_per_s, *after + io.after_per_s);
        let [before, after] = &mut self.bytes;
        (*before, *after) = (*before + io.before_bytes_per_s, *after + io.after_bytes_per_s);
    }

    /// Average size of a request before and after, in KiB, where it shrank and no more was carried.
    fn shrank(&self) -> Option<[f64; 2]> {
        let [before, after] = [0, 1].map(|side| self.bytes[side] / self.requests[side] / KIB);
        let did_less = self.bytes[1] < self.bytes[0] && self.requests[1] >= LEAST;
        (did_less && self.requests[1] > self.requests[0] && after <= SMALLER * before)
            .then_some([before, after])
    }
}

fn find(known: &Known<'_>) -> Vec<Cause> {
    let all = known.profile.map_or(&[][..], |profile| &profile.block_io);
    let mut asked: BTreeMap<(&str, &str, bool), (&Who, Asked)> = BTreeMap::new();
    for io in all.iter().filter(|it| known.measured.has(&it.who.process)) {
        let key = (io.who.owner.as_str(), io.who.process.as_str(), io.writes);
        asked.entry(key).or_insert((&io.who, Asked::default())).1.add(io);
    }
    let smaller =
        asked.into_iter().find_map(|((_, _, writes), (who, asked))| Some((who, writes, asked.shrank()?)));
    let Some((who, writes, [before, after])) = smaller else { return Vec::new() };
    let verb = if writes { "writes" } else { "reads" };
    let size = CauseEvidence {
        metric: format!("average request that {}/{} {verb}", who.owner, who.process),
        before,
        after,
        unit: "KiB".to_owned(),
    };
    let own = all.iter().filter(|it| it.who == *who && it.writes == writes).collect::<Vec<_>>();
    let evidence = std::iter::once(size).chain(by_seen::block_io_evidence(&own)).collect();
    let title = format!("{}: `{}` {verb} {after:.0} KiB at a time", ID.title(), who.process);
    vec![Cause { title, ..cause(ID, 0.8, evidence) }]
}

#[cfg(test)]
mod tests {
    use plimsoll_model::observation::FrameKind;
    use plimsoll_model::report::ProfileReport;

    use super::super::fixture::{profile, relay, writes};
    use super::super::named;
    use super::*;

    #[test]
    fn a_program_whose_requests_shrank_while_the_disk_carries_less_is_named() {
        let of = |process: &str, requests: [f64; 2], bytes: [f64; 2]| {
            // Half of it on each of two devices.
            let io = |device: &str| GrownBlockIo {
                device: device.into(),
                writes: false,
                before_per_s: requests[0] / 2.0,
                after_per_s: requests[1] / 2.0,
                before_bytes_per_s: bytes[0] / 2.0,
                after_bytes_per_s: bytes[1] / 2.0,
                ..writes(FrameKind::Host, process)
            };
            let profile = ProfileReport { block_io: vec![io("loop0"), io("loop1")], ..profile() };
            let known = Known { profile: Some(&profile), measured: relay(), ..Known::default() };
            named(&known).into_iter().find(|cause| cause.id == ID).map(|cause| cause.title)
        };
        let title = of("relay", [60.0, 800.0], [28e6, 3.3e6]).unwrap();
        assert!(title.ends_with("`relay` reads 4 KiB at a time"), "{title}");
        assert!(of("stranger", [60.0, 800.0], [28e6, 3.3e6]).is_none());
        assert!(of("relay", [60.0, 800.0], [28e6, 300e6]).is_none(), "it reads more");
        assert!(of("relay", [800.0, 300.0], [28e6, 3.3e6]).is_none(), "it asks less often");
        assert!(of("relay", [0.0, 800.0], [0.0, 3.3e6]).is_none(), "it read nothing before");
    }
}
