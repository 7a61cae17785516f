//! Input of every writer of a comparison's answer.

use plimsoll_assess::Explained;
use plimsoll_judge::compare::Comparison;
use plimsoll_judge::sequential::SequentialSettings;

use super::cells::Cell;
use crate::contest::Contest;
use crate::measure::{Gauge, Times};

/// Input of every writer of an answer.
pub(super) struct Answers<'a> {
    pub(super) cells: &'a [Cell],
    pub(super) gauge: &'a Gauge,
    pub(super) settings: SequentialSettings,
    pub(super) seed: u64,
    pub(super) contest: &'a Contest,
    /// Every cell but the first against the first.
    pub(super) comparisons: Vec<Comparison>,
    /// Every cell against every other.
    pub(super) ranking: Vec<(usize, usize, Comparison)>,
    /// Why one of two is worse, where that was asked for and one is.
    pub(super) explained: Option<Explained>,
    /// Whether `plimsoll explain latest` shows it again.
    pub(super) is_kept: bool,
    /// Notes to the reader on how the result was found.
    pub(super) missing: Vec<String>,
    /// The times of each measured run, by cell.
    pub(super) times: &'a [Vec<Times>],
    /// The command line.
    pub(super) words: Vec<String>,
    /// Whether the user has seen enough before it was decided.
    pub(super) interrupted: bool,
}
