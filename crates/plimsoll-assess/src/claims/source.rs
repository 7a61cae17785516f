//! The source claim: was it the device that was measured, or memory?

use plimsoll_judge::stats::shift::centre;
use plimsoll_model::experiment::claim::source::{SourceClaim, SourceDetails};
use plimsoll_model::observation::{StorageFacts, pooled};
use plimsoll_model::verdict::Interval;

use crate::claims::prelude::*;

/// Up to this share from the device, it is memory that was measured, and from the rest to one, the device.
const FEW: f64 = 0.05;
/// Fewer measurements than this have no interval.
const LEAST: usize = 6;
const CONFIDENCE: f64 = 0.95;

impl ClaimKind for SourceClaim {
    /// One finding for each cell.
    fn judge(&self, plan: &Plan, trials: &[TrialRecord]) -> Vec<Finding> {
        plan.cells.iter().map(|cell| finding(cell, self, trials)).collect()
    }
}

fn finding(cell: &Cell, claim: &SourceClaim, trials: &[TrialRecord]) -> Finding {
    let metric = Metric::DeviceShare.name();
    let of_cell: Vec<&TrialRecord> = trials.iter().filter(|trial| trial.cell == cell.levels).collect();
    let slices = slices::of_sound(&of_cell, &claim.phase);
    let bare = |outcome, reason: String| {
        Verdict::bare("source", metric, outcome, slices.len(), prefix(&cell.levels) + &reason)
    };
    if let Some(reason) = soundness::objection(&of_cell) {
        return Finding::bare(bare(Outcome::Invalid, reason));
    }
    let shares: Vec<f64> =
        slices.iter().filter_map(|slice| slice.result.figure(Metric::DeviceShare)).collect();
    if shares.len() < slices.len() || shares.is_empty() {
        let reason = "this kernel does not report reads from devices".into();
        return Finding::bare(bare(Outcome::Undecided, reason));
    }
    let all = pooled(slices.iter().map(|slice| &slice.result)).unwrap_or_default();
    let facts = all.found::<StorageFacts>().copied().unwrap_or_default();
    let share = Metric::DeviceShare.of(&all).unwrap_or(0.0);
    let rate = all.read_megabytes_per_second().unwrap_or(0.0);
    let spread = (shares.len() >= LEAST).then(|| centre(&shares, CONFIDENCE));
    let details = SourceDetails {
        phase: claim.phase.clone(),
        cell: cell.levels.clone(),
        read_bytes: facts.read_bytes,
        device_read_bytes: facts.device_read_bytes.unwrap_or(0),
    };
    let verdict = Verdict {
        estimate: Some(share),
        interval: spread.map(|spread| Interval(spread.lo.max(0.0), spread.hi.min(1.0))),
        ..bare(Outcome::Estimated, in_words(share, rate, is_direct(cell, claim)))
    };
    Finding::new(verdict, details)
}

/// Whether the reads of a cell go past the page cache.
fn is_direct(cell: &Cell, claim: &SourceClaim) -> bool {
    let load = cell.experiment.recorded_load(&claim.phase);
    load.and_then(|load| load.kind.storage()).is_some_and(|storage| storage.direct)
}

/// Buffered reads take the time of the copy through the page cache as well, whatever the device can do.
fn in_words(share: f64, rate: f64, is_direct: bool) -> String {
    let percent = format!("{:.0} % of the read bytes", 100.0 * share);
    if share <= FEW {
        format!(
            "{rate:.0} MB/s is the speed of memory: the page cache served it, and {percent} came from the device"
        )
    } else if share < 1.0 - FEW {
        format!(
            "{rate:.0} MB/s is the speed of neither: {percent} came from the device, the rest from the page cache"
        )
    } else if is_direct {
        format!("{rate:.0} MB/s is the speed of the device: {percent} came from there")
    } else {
        format!(
            "{rate:.0} MB/s is the speed of the device and of the copy through the page cache: {percent} came from the device. \
             `direct = true` measures the device alone"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_said_which_was_measured() {
        assert!(in_words(0.01, 5000.0, false).contains("5000 MB/s is the speed of memory"));
        assert!(in_words(1.0, 100.0, true).contains("100 MB/s is the speed of the device:"));
        assert!(in_words(1.0, 100.0, false).contains("and of the copy through the page cache"));
        assert!(in_words(0.5, 200.0, false).contains("the speed of neither: 50 %"));
    }
}
