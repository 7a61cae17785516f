//! `disk.small_requests`: A program asks the disk for the same data in smaller pieces.

use std::collections::BTreeMap;

use plimsoll_model::cause::{Cause, CauseEvidence, CauseId};
use plimsoll_model::experiment::Experiment;
use plimsoll_model::plan::intervention::Change;
use plimsoll_model::report::{GrownBlockIo, Who};
use serde_json::json;

use super::{Definition, Known, Page, by_levels, by_seen, cause, changes};

pub(super) const DEFINITION: Definition = Definition::new(
    Page {
        evidence_for: "the average request of the program is a third of its former size or less, and the disk carries fewer bytes in a second. Or disks move as much data in requests of a third, and are busy for the added time",
        evidence_against: "the requests are as large as before. The program asks for other data, at random places",
        test: "compare the sizes (`iostat -x 1`, rareq-sz and wareq-sz). Set `blockdev --setra` and `max_sectors_kb` of the device as before, and measure again",
        remedy: "turn read-ahead of the device on again (read_ahead_kb), raise the largest request (max_sectors_kb), read and write larger blocks, and remove posix_fadvise(RANDOM) where files are read in order",
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
/// Fewest requests for each operation that are worth a cause by themselves.
const LEAST_SPLIT: f64 = 1000.0;
/// From this factor on the worse side moves more data.
const AS_MUCH: f64 = 1.5;
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
struct DiskUse {
    requests: [f64; 2],
    bytes: [f64; 2],
}

impl DiskUse {
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
    let of_programs = by_programs(known);
    if of_programs.is_empty() { by_devices(known).into_iter().collect() } else { of_programs }
}

/// Smaller requests of devices for as much data. The kernel splits those of a program at `max_sectors_kb`.
fn by_devices(known: &Known<'_>) -> Option<Cause> {
    let of = |count: &str| by_levels::of_all_devices(("machine.diskstats.", count), None, known.evidence);
    let [busy_before, busy_after] = of("busy");
    if known.took_us.is_none() || !known.is_explained_by(busy_after - busy_before) {
        return None;
    }
    let (verb, [before, after], evidence) = ["read", "write"].into_iter().find_map(|verb| {
        let requests = of(&format!("{verb}s"));
        let bytes = of(&format!("{verb}_bytes"));
        let [before, after] = [0, 1].map(|side| bytes[side] / requests[side] / KIB);
        let is_split =
            requests[1] >= LEAST_SPLIT && bytes[1] <= AS_MUCH * bytes[0] && after <= SMALLER * before;
        let count = CauseEvidence {
            metric: format!("{verb} requests of all disks (per operation)"),
            before: requests[0],
            after: requests[1],
            unit: "count".to_owned(),
        };
        is_split.then_some((verb, [before, after], count))
    })?;
    let size = CauseEvidence {
        metric: format!("average {verb} request of all disks"),
        before,
        after,
        unit: "KiB".to_owned(),
    };
    let title = format!("{}: disks {verb} {after:.0} KiB at a time", ID.title());
    Some(Cause { title, ..cause(ID, 0.75, vec![size, evidence]) })
}

fn by_programs(known: &Known<'_>) -> Vec<Cause> {
    let all = known.profile.map_or(&[][..], |profile| &profile.block_io);
    let mut used: BTreeMap<(&str, &str, bool), (&Who, DiskUse)> = BTreeMap::new();
    for io in all.iter().filter(|it| known.measured.has(&it.who.process)) {
        let key = (io.who.owner.as_str(), io.who.process.as_str(), io.writes);
        used.entry(key).or_insert((&io.who, DiskUse::default())).1.add(io);
    }
    let smaller =
        used.into_iter().find_map(|((_, _, writes), (who, used))| Some((who, writes, used.shrank()?)));
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

    use super::super::fixture::{grew, profile, relay, writes};
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

    #[test]
    fn disks_that_move_as_much_in_smaller_requests_are_named_where_they_take_the_added_time() {
        let of = |reads: [f64; 2], bytes: [f64; 2], busy: [f64; 2]| {
            let of = |device: &str, kind: &str, [before, after]: [f64; 2]| {
                grew("machine", &format!("machine.diskstats.{device}.{kind} (per run)"), before, after)
            };
            // Another device on each side.
            let evidence: Vec<_> = [("reads", reads), ("read_bytes", bytes), ("busy", busy)]
                .into_iter()
                .flat_map(|(kind, [before, after])| {
                    [of("loop0", kind, [before, 0.0]), of("loop1", kind, [0.0, after])]
                })
                .collect();
            let took_us = Some((200_000.0, 500_000.0));
            let known = Known { evidence: &evidence, took_us, ..Known::default() };
            named(&known).into_iter().find(|cause| cause.id == ID).map(|cause| cause.title)
        };
        let title = of([2560.0, 204_800.0], [839e6; 2], [160_000.0, 418_000.0]).unwrap();
        assert!(title.ends_with("disks read 4 KiB at a time"), "{title}");
        assert_eq!(
            of([2560.0, 204_800.0], [839e6; 2], [160_000.0, 200_000.0]),
            None,
            "the time is elsewhere"
        );
        assert_eq!(of([2560.0, 204_800.0], [10e6, 839e6], [160_000.0, 418_000.0]), None, "more data");
        assert_eq!(of([0.0, 204_800.0], [0.0, 839e6], [0.0, 418_000.0]), None, "nothing was read before");
        assert_eq!(of([2.0, 200.0], [839e3; 2], [160_000.0, 418_000.0]), None, "few requests");
    }
}
