//! The line on stderr with the running estimate. Nothing where stderr is no terminal.

use super::cells::Cell;
use crate::amount;
use crate::contest::Contest;
use crate::output::LiveLine;

/// The line, where there is a terminal.
pub(super) struct ProgressLine {
    line: LiveLine,
    most: u64,
}

impl ProgressLine {
    pub(super) fn new(first: &str, most: u64) -> Self {
        let line = LiveLine::new(None);
        line.show(&format!("running {first} for the first time"));
        Self { line, most }
    }

    /// Shows how far the contest is. The judge runs only if the line is shown.
    pub(super) fn show(&mut self, contest: &Contest, cells: &[Cell], metric: &str) {
        if !self.line.is_seen() {
            return;
        }
        let Ok(comparisons) = contest.comparisons(metric) else { return };
        let so_far: Vec<String> = comparisons
            .iter()
            .zip(&cells[1..])
            .filter_map(|(found, cell)| {
                let interval = found.verdict.interval?;
                let ratio = amount::comparative(metric, found.verdict.estimate?);
                Some(format!(
                    "{} {ratio} ({})",
                    cell.name,
                    amount::interval(interval, found.verdict.confidence)
                ))
            })
            .collect();
        let more = contest.more().map_or_else(String::new, |more| format!(", about {more} more"));
        self.line.show(&format!(
            "{} of at most {}{more}  {}",
            contest.blocks().len(),
            self.most,
            so_far.join("; ")
        ));
    }

    /// Takes the line away.
    pub(super) fn clear(&mut self) {
        self.line.clear();
    }
}
