//! The line on stderr with the running estimate. Nothing where stderr is no terminal.

use std::io::IsTerminal;

use indicatif::{ProgressBar, ProgressStyle};

use super::cells::Cell;
use crate::amount;
use crate::contest::Contest;

/// The line, where there is a terminal.
pub(super) struct ProgressLine {
    bar: Option<ProgressBar>,
    most: u64,
}

impl ProgressLine {
    pub(super) fn new(first: &str, most: u64) -> Self {
        let bar = std::io::stderr().is_terminal().then(|| {
            let style = ProgressStyle::with_template("{spinner} {msg}");
            let bar = ProgressBar::new_spinner()
                .with_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
            bar.set_message(format!("running {first} for the first time"));
            bar
        });
        Self { bar, most }
    }

    /// Tells how far the contest is. The judge is asked only where somebody reads it.
    pub(super) fn show(&mut self, contest: &Contest, cells: &[Cell], metric: &str) {
        let Some(bar) = &self.bar else { return };
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
        bar.set_message(format!(
            "{} of at most {}{more}  {}",
            contest.blocks().len(),
            self.most,
            so_far.join("; ")
        ));
    }

    /// Takes the line away.
    pub(super) fn clear(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}
