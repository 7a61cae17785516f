//! Results from captured packets of a run: where its connections' time went, and whether the captures can be leaned on.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;

use plimsoll_explain::causes::CellStalls;
use plimsoll_model::observation::{Arm, CaptureRecord, PhaseRecord, Stream, TrialRecord, pooled};
use plimsoll_model::plan::cell_text;
use plimsoll_model::report::{LimitedTimes, PacketReport, StallReport};
use plimsoll_model::trace::{Class, TimeSequence};

use crate::capture;

/// The main class of stall is named from this share of the time on.
const LEAST_MAIN: f64 = 0.01;
/// The most connections drawn for each capture ..
const DRAWN_OF_CAPTURE: usize = 2;
/// .. and for a run.
const DRAWN: usize = 24;

/// Reason why the captures of a phase cannot carry a verdict; `None` if they can.
pub(super) fn objection(trials: &[TrialRecord], phase: &str) -> Option<String> {
    let captures = trials
        .iter()
        .filter(|trial| trial.faults.is_empty())
        .flat_map(|trial| &trial.phases)
        .filter(|of| of.name == phase)
        .flat_map(|of| &of.captures);
    let all: Vec<&CaptureRecord> = captures.collect();
    if let Some(of) = all.iter().find(|of| of.file.error.is_some()) {
        let why = of.file.error.as_deref().unwrap_or_default();
        return Some(format!("the capture on `{}` ({}) {why}", of.host, of.file.file));
    }
    let dropped: u64 = all.iter().map(|of| of.file.dropped).sum();
    let hosts: Vec<&str> =
        all.iter().filter(|of| of.file.dropped > 0).map(|of| of.host.as_str()).take(1).collect();
    let seen: u64 = all.iter().map(|of| of.file.packets).sum();
    (dropped > 0).then(|| {
        format!(
            "the capture on `{}` lost packets ({dropped} of {} in all), and this verdict leans on it; a larger `capture.ring` or a \
             smaller `capture.snap` may hold them",
            hosts.join(""),
            seen + dropped
        )
    })
}

/// Where the connections' time went, for each cell, phase, rig and host.
pub(super) fn reports(trials: &[TrialRecord]) -> Vec<PacketReport> {
    type Key<'t> = (&'t BTreeMap<String, String>, &'t str, Arm, &'t str);
    let mut groups: Vec<(Key<'_>, Vec<Captured<'_>>)> = Vec::new();
    for trial in trials {
        for phase in &trial.phases {
            for capture in &phase.captures {
                let key = (&trial.cell, phase.name.as_str(), capture.arm, capture.host.as_str());
                let of = Captured { trial: trial.number, phase, capture };
                match groups.iter_mut().find(|(known, _)| *known == key) {
                    Some((_, captures)) => captures.push(of),
                    None => groups.push((key, vec![of])),
                }
            }
        }
    }
    let report = |((cell, phase, arm, host), captured): (Key<'_>, Vec<Captured<'_>>)| {
        let records: Vec<&CaptureRecord> = captured.iter().map(|of| of.capture).collect();
        let stalls = stalls(&records);
        let main = stalls.iter().find(|of| of.class.held_up() && of.share >= LEAST_MAIN);
        let traffic = || records.iter().filter_map(|record| record.traffic.as_ref());
        let mut read: Vec<u32> =
            captured.iter().filter(|of| of.capture.traffic.is_some()).map(|of| of.trial).collect();
        read.dedup();
        let mut phases: Vec<&PhaseRecord> = captured.iter().map(|of| of.phase).collect();
        phases.dedup_by(|a, b| std::ptr::eq(*a, *b));
        let error =
            |record: &&CaptureRecord| Some(format!("{} {}", record.file.file, record.file.error.as_ref()?));
        PacketReport {
            cell: cell.clone(),
            phase: phase.to_owned(),
            arm,
            host: host.to_owned(),
            trials: read.len() as u32,
            connections: traffic().map(|traffic| traffic.connections).sum(),
            lifetime_s: traffic().map(|traffic| traffic.lifetime_s).sum(),
            packets: records.iter().map(|record| record.file.packets).sum(),
            dropped: records.iter().map(|record| record.file.dropped).sum(),
            main_class: main.map(|of| of.class),
            kernel: limited(&phases, arm),
            files: records.iter().map(|record| record.file.file.clone()).collect(),
            errors: records.iter().filter_map(error).collect(),
            stalls,
        }
    };
    groups.into_iter().map(report).collect()
}

/// A capture, and what it belongs to.
struct Captured<'t> {
    trial: u32,
    phase: &'t PhaseRecord,
    capture: &'t CaptureRecord,
}

/// Times that the kernel counted for the senders of streams, by their limit.
fn limited(phases: &[&PhaseRecord], arm: Arm) -> Option<LimitedTimes> {
    let slices = phases.iter().flat_map(|phase| &phase.slices).filter(|slice| slice.arm == arm);
    let streams = slices.flat_map(|slice| slice.result.streams());
    let senders = streams.filter_map(Stream::sending_end);
    let seconds = |us: u64| us as f64 / 1e6;
    let times = senders.map(|state| LimitedTimes {
        busy_s: seconds(state.busy_us),
        window_limited_s: seconds(state.rwnd_limited_us),
        buffer_limited_s: seconds(state.sndbuf_limited_us),
    });
    times.reduce(|sum, next| LimitedTimes {
        busy_s: sum.busy_s + next.busy_s,
        window_limited_s: sum.window_limited_s + next.window_limited_s,
        buffer_limited_s: sum.buffer_limited_s + next.buffer_limited_s,
    })
}

/// How often a stream's socket had bytes to send and nothing in flight, of the times that it was looked at while the stream went on.
fn held_back(phases: &[&PhaseRecord]) -> Option<f64> {
    let slices = phases.iter().flat_map(|phase| &phase.slices).filter(|slice| slice.arm == Arm::Treatment);
    let streams = slices.flat_map(|slice| slice.result.streams()).filter(|stream| stream.sent > 0);
    let (held, all) =
        streams.map(Stream::held_back).fold((0, 0), |sum, next| (sum.0 + next.0, sum.1 + next.1));
    (all > 0).then(|| held as f64 / all as f64)
}

/// The share of time in which a sender waited because its kernel held bytes back, of the share in which it waited, by its sockets. Packets show that
/// only from how long a pause is, which is no use where the program pauses before or after.
fn held_by_kernel(waited: f64, held_back: f64) -> Option<f64> {
    let held = waited.min(held_back);
    (held > 0.0).then_some(held)
}

/// Stalls by class over several captures, the greatest first.
fn stalls(captures: &[&CaptureRecord]) -> Vec<StallReport> {
    let traffic: Vec<_> = captures.iter().filter_map(|capture| capture.traffic.as_ref()).collect();
    let lifetime: f64 = traffic.iter().map(|traffic| traffic.lifetime_s).sum();
    let mut by_class: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for stall in traffic.iter().flat_map(|traffic| &traffic.stalls) {
        by_class.entry(stall.class).or_default().push(stall);
    }
    let mut stalls: Vec<StallReport> = by_class
        .into_iter()
        .map(|(class, of)| {
            let time: f64 = of.iter().map(|stall| stall.time_s).sum();
            let mut medians: Vec<f64> = of.iter().map(|stall| stall.median_ms).collect();
            medians.sort_by(f64::total_cmp);
            StallReport {
                class,
                share: time / lifetime.max(f64::MIN_POSITIVE),
                count: of.iter().map(|stall| stall.count).sum(),
                median_ms: medians[medians.len() / 2],
                evidence: of[0].evidence.clone(),
            }
        })
        .collect();
    stalls.sort_by(|a, b| b.share.total_cmp(&a.share));
    stalls
}

/// The stalls of every cell, with what the kernel counted in the same phases, for causes. `better` are the phases of the better side of what is compared. A
/// capture that lost packets explains nothing.
pub(super) fn cells(trials: &[TrialRecord], better: &[&PhaseRecord]) -> Vec<CellStalls> {
    let mut cells: Vec<(&BTreeMap<String, String>, Vec<&PhaseRecord>)> = Vec::new();
    for trial in trials.iter().filter(|trial| trial.faults.is_empty()) {
        let captured = trial.phases.iter().filter(|phase| !phase.captures.is_empty());
        match cells.iter_mut().find(|(cell, _)| **cell == trial.cell) {
            Some((_, phases)) => phases.extend(captured),
            None => cells.push((&trial.cell, captured.collect())),
        }
    }
    cells.retain(|(_, phases)| {
        let mut captures = phases.iter().flat_map(|phase| &phase.captures).peekable();
        captures.peek().is_some() && captures.all(|capture| capture.file.dropped == 0)
    });
    let is_better = |phase: &&PhaseRecord| better.iter().any(|better| std::ptr::eq(*better, *phase));
    cells
        .into_iter()
        .map(|(cell, phases)| CellStalls {
            is_better: phases.iter().any(is_better),
            ..of_cell(cell, &phases)
        })
        .collect()
}

fn of_cell(cell: &BTreeMap<String, String>, phases: &[&PhaseRecord]) -> CellStalls {
    let captures: Vec<&CaptureRecord> = phases.iter().flat_map(|phase| &phase.captures).collect();
    let mut counters: BTreeMap<String, f64> = BTreeMap::new();
    for slice in phases.iter().flat_map(|phase| &phase.slices) {
        let of_hosts = slice.counters.iter().filter(|(host, _)| *host != "machine");
        for (name, change) in of_hosts.flat_map(|(_, counters)| counters) {
            *counters.entry(name.clone()).or_default() += change;
        }
    }
    let lifetime: f64 =
        captures.iter().filter_map(|of| of.traffic.as_ref()).map(|traffic| traffic.lifetime_s).sum();
    let mut may_be: BTreeMap<_, f64> = BTreeMap::new();
    for (class, time_s) in captures.iter().filter_map(|of| of.traffic.as_ref()).flat_map(|of| &of.may_be_s) {
        *may_be.entry(*class).or_default() += time_s / lifetime.max(f64::MIN_POSITIVE);
    }
    let shares: BTreeMap<Class, f64> = stalls(&captures).into_iter().map(|of| (of.class, of.share)).collect();
    let held_back = held_back(phases);
    let waited = shares.get(&Class::SenderWaited).copied().unwrap_or(0.0);
    if let Some(held) = held_back.and_then(|held_back| held_by_kernel(waited, held_back)) {
        let known = may_be.entry(Class::SenderHeld).or_default();
        *known = known.max(held);
    }
    let results = phases.iter().flat_map(|phase| &phase.slices).map(|slice| &slice.result);
    let moved = pooled(results).filter(|all| all.bytes > 0 && all.elapsed_ns > 0);
    let limited = limited(phases, Arm::Treatment).filter(|times| times.busy_s > 0.0);
    CellStalls {
        cell: cell_text(cell),
        is_better: false,
        rate: moved.map(|all| all.bytes as f64 * 1e9 / all.elapsed_ns as f64),
        shares,
        may_be,
        held_back,
        counters,
        window_limited: limited.map(|times| times.window_limited_s / times.busy_s),
    }
}

/// Time-sequence graphs of the connections of a run that stood still longest, from the first trial of each cell. `folder` is that of the file of
/// runs. Captures that are not there any more are left out.
pub fn time_sequences(folder: &Path, trials: &[TrialRecord]) -> Vec<TimeSequence> {
    let mut all = Vec::new();
    let mut seen: Vec<(&BTreeMap<String, String>, &str)> = Vec::new();
    for trial in trials {
        for phase in &trial.phases {
            let key = (&trial.cell, phase.name.as_str());
            if seen.contains(&key) {
                continue;
            }
            let before = all.len();
            for capture in &phase.captures {
                let cell = if trial.cell.is_empty() { String::new() } else { cell_text(&trial.cell) + ", " };
                let place = format!(
                    "{cell}{} on {} {}, trial {}",
                    phase.name, capture.host, capture.file.interface, trial.number
                );
                all.extend(of_capture(&folder.join(&capture.file.file), &place));
            }
            if all.len() > before {
                seen.push(key);
            }
        }
    }
    all.truncate(DRAWN);
    all
}

fn of_capture(file: &Path, place: &str) -> Vec<TimeSequence> {
    let drawn = || {
        let (report, choice) = capture::analyze(File::open(file).ok()?, DRAWN_OF_CAPTURE).ok()?;
        let time_sequences = capture::paint(File::open(file).ok()?, &report, &choice).ok()?;
        Some(
            time_sequences
                .into_iter()
                .map(|time_sequence| TimeSequence { place: place.to_owned(), ..time_sequence })
                .collect(),
        )
    };
    drawn().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::super::fixture;
    use super::*;
    use plimsoll_model::observation::{BulkFacts, CapturedFile, ClassTime, LoadResult, TcpState, Traffic};

    fn capture(host: &str, dropped: u64, stalls: &[(Class, f64)]) -> CaptureRecord {
        let stalls = stalls.iter().map(|&(class, time_s)| ClassTime {
            class,
            time_s,
            count: 2,
            median_ms: 40.0,
            evidence: "shown".into(),
        });
        let traffic =
            Traffic { connections: 1, lifetime_s: 2.0, stalls: stalls.collect(), ..Traffic::default() };
        let file = CapturedFile {
            file: format!("captures/r/{host}.pcapng"),
            packets: 100,
            dropped,
            ..CapturedFile::default()
        };
        CaptureRecord { arm: Arm::Treatment, host: host.into(), file, traffic: Some(traffic) }
    }

    fn trial(level: &str, captures: Vec<CaptureRecord>) -> TrialRecord {
        let phase = PhaseRecord { captures, ..fixture::phase("all", LoadResult::default()) };
        let cell = BTreeMap::from([("by".to_owned(), level.to_owned())]);
        TrialRecord { cell, phases: vec![phase], ..TrialRecord::default() }
    }

    #[test]
    fn shares_are_of_all_trials_of_a_cell_and_the_main_class_is_one_that_holds_up() {
        let trials = [
            trial("x", vec![capture("a", 0, &[(Class::ClientIdle, 1.5), (Class::Rto, 0.4)])]),
            trial("x", vec![capture("a", 0, &[(Class::Rto, 0.6)])]),
            trial("y", vec![capture("a", 0, &[])]),
        ];
        let reports = reports(&trials);
        assert_eq!(reports.len(), 2);
        assert_eq!((reports[0].connections, reports[0].main_class), (2, Some(Class::Rto)));
        let shares: Vec<_> = reports[0].stalls.iter().map(|of| (of.class, of.share)).collect();
        assert_eq!(shares, [(Class::ClientIdle, 0.375), (Class::Rto, 0.25)]);
        assert_eq!(reports[1].main_class, None);
        assert_eq!(cells(&trials, &[])[1].cell, "by = y");
    }

    #[test]
    fn a_wait_of_the_sender_is_its_kernels_as_far_as_its_sockets_held_bytes_back() {
        let share = |held: usize| {
            let state = |unsent_bytes| TcpState { unsent_bytes, ..TcpState::default() };
            // The last state is that of the end.
            let tcp = (0..11).map(|at| state(if at < held { 1000 } else { 0 })).collect();
            let streams = vec![Stream { sent: 9000, tcp, ..Stream::default() }];
            let facts = Some(BulkFacts { streams }.into());
            let result = LoadResult { facts, ..LoadResult::default() };
            let captures = vec![capture("a", 0, &[(Class::SenderWaited, 1.2)])];
            let phase = PhaseRecord { captures, ..fixture::phase("all", result) };
            let trial = TrialRecord { phases: vec![phase], ..TrialRecord::default() };
            cells(&[trial], &[])[0].may_be.get(&Class::SenderHeld).copied()
        };
        assert_eq!([share(0), share(2), share(9)], [None, Some(0.2), Some(0.6)]);
    }

    #[test]
    fn a_capture_that_lost_packets_carries_no_verdict_and_explains_nothing() {
        let trials = [trial("x", vec![capture("a", 0, &[]), capture("b", 25, &[(Class::Rto, 1.0)])])];
        let objection = objection(&trials, "all").unwrap();
        assert!(objection.contains("`b` lost packets (25 of 225"), "{objection}");
        assert!(cells(&trials, &[]).is_empty());
        assert_eq!(super::objection(&trials, "another"), None);
    }

    #[test]
    fn a_capture_that_cannot_be_read_carries_no_verdict() {
        let mut broken = capture("a", 0, &[]);
        broken.file.error = Some("cannot be read: gone".into());
        let objection = objection(&[trial("x", vec![broken])], "all").unwrap();
        assert!(objection.contains("cannot be read: gone"), "{objection}");
    }

    #[test]
    fn captures_that_were_removed_are_not_drawn() {
        let trials = [trial("x", vec![capture("a", 0, &[])])];
        assert!(time_sequences(Path::new("/nowhere"), &trials).is_empty());
    }
}
