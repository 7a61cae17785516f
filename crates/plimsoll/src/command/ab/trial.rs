//! The measurement: blocks of two runs of each version in random order, until all is decided or the time is over.
//!
//! A block has two pairs of base and head, and one of base and base. Within a block all orders are equally likely. If nothing differs, the
//! sign of each pair is then a coin, whatever the machine does meanwhile.

use std::time::{Duration, Instant};

use plimsoll_judge::compare::{CompareSettings, Comparison};
use plimsoll_judge::input::JudgeError;
use plimsoll_judge::sequential::{Decision, Family, SequentialSettings};
use plimsoll_judge::stats::rng::SmallRng;
use plimsoll_model::verdict::{Outcome, Verdict};

use super::sampler::{Sample, Sampler, Series};
use crate::contest::Block;
use crate::measure::MeasureError;

/// Which version each run of a block is of.
const VERSIONS: [usize; 4] = [0, 0, 1, 1];
/// The runs that are base and head of a pair.
const PAIRS: [[usize; 2]; 2] = [[0, 2], [1, 3]];
/// The runs that are base and base.
const CONTROL: [usize; 2] = [0, 1];

/// Series under comparison.
pub(super) struct Trial {
    /// The series that are judged, by their places.
    judged: Vec<usize>,
    heads: Family,
    controls: Family,
    /// The pairs of base and head of every series.
    pub(super) pairs: Vec<Vec<[f64; 2]>>,
    pub(super) blocks: usize,
    rng: SmallRng,
}

/// What became of a judged series.
pub(super) struct Judged {
    pub(super) series: usize,
    pub(super) found: Comparison,
    /// Whether a difference is shown that lies within the margin by its estimate.
    pub(super) below_margin: bool,
    /// The base against itself.
    pub(super) control: Comparison,
}

impl Trial {
    pub(super) fn new(
        series: &[Series],
        judged: Vec<usize>,
        settings: SequentialSettings,
        seed: u64,
    ) -> Result<Self, JudgeError> {
        let mut heads = Family::new(judged.len(), settings)?;
        for (member, &at) in judged.iter().enumerate() {
            heads.set_lower_is_better(member, series[at].lower_is_better);
        }
        // A base that differs from itself is a broken measurement, also below the margin.
        let compare = CompareSettings { beyond_margin: false, ..settings.compare };
        let controls = Family::new(judged.len(), SequentialSettings { compare, ..settings })?;
        let pairs = vec![Vec::new(); series.len()];
        Ok(Self { judged, heads, controls, pairs, blocks: 0, rng: SmallRng::new(seed) })
    }

    /// Measures blocks until all is decided, or no further one fits into the time that is left.
    pub(super) fn carry_out(
        &mut self,
        sampler: &mut Sampler<'_>,
        left: Duration,
        progress: &mut dyn FnMut(&Self),
    ) -> Result<(), MeasureError> {
        let start = Instant::now();
        while self.blocks == 0 || (!self.heads.is_decided() && self.fits(start.elapsed(), left)) {
            let mut order = [0, 1, 2, 3];
            self.rng.shuffle(&mut order);
            let mut samples: [Sample; 4] = Default::default();
            for run in order {
                samples[run] = sampler.sample(VERSIONS[run])?;
            }
            self.push(&samples);
            progress(self);
        }
        Ok(())
    }

    fn fits(&self, spent: Duration, left: Duration) -> bool {
        spent + spent / u32::try_from(self.blocks).unwrap_or(u32::MAX) <= left
    }

    fn push(&mut self, samples: &[Sample; 4]) {
        for at in 0..self.pairs.len() {
            let member = self.judged.iter().position(|judged| *judged == at);
            for pair in PAIRS {
                let Some([base, head]) = figures(samples, at, pair) else { continue };
                self.pairs[at].push([base, head]);
                // Figures are finite and above 0.
                member.map(|member| self.heads.push(member, base, head));
            }
            if let Some(([first, second], member)) = figures(samples, at, CONTROL).zip(member) {
                self.controls.push(member, first, second).ok();
            }
        }
        self.blocks += 1;
    }

    /// How many of the judged series are decided.
    pub(super) fn decided(&self) -> usize {
        self.heads.decisions().filter(|decision| !matches!(decision, Decision::NotYet { .. })).count()
    }

    /// How many series are judged.
    pub(super) fn members(&self) -> usize {
        self.judged.len()
    }

    /// The verdict on each judged series. A base that differs from itself invalidates it. Without a block, the programs are identical.
    pub(super) fn verdicts(&self, series: &[Series]) -> Result<Vec<Judged>, JudgeError> {
        let verdict = |(member, &at): (usize, &usize)| {
            if self.blocks == 0 {
                return Ok(identical(at, &series[at].metric));
            }
            let mut found = self.heads.verdict(member, &series[at].metric)?;
            let control = self.controls.verdict(member, &series[at].metric)?;
            if matches!(control.verdict.outcome, Outcome::Slower | Outcome::Faster) {
                found.verdict.invalidate("the base differs from itself");
            }
            let below_margin = matches!(found.verdict.outcome, Outcome::Same | Outcome::Undecided)
                && self.heads.shows_difference(member);
            Ok(Judged { series: at, found, below_margin, control })
        };
        self.judged.iter().enumerate().map(verdict).collect()
    }
}

/// The verdict on a series of versions that run the same bytes.
fn identical(series: usize, metric: &str) -> Judged {
    let bare = |outcome, reason| {
        let verdict = Verdict::bare("difference", metric, outcome, 0, reason);
        Comparison { verdict, p: 1.0, needed: None }
    };
    let mut found = bare(Outcome::Same, "identical programs: all that the benchmark read is equal");
    found.verdict.estimate = Some(1.0);
    let control = bare(Outcome::Undecided, "nothing was measured");
    Judged { series, found, below_margin: false, control }
}

/// Two figures of a series, both with the doing of others or both without.
fn figures(samples: &[Sample; 4], series: usize, runs: [usize; 2]) -> Option<[f64; 2]> {
    let [a, b] = runs.map(|run| samples[run].get(series).copied().flatten());
    <[f64; 2]>::try_from(Block::new(&[a?, b?], vec![0, 1]).values).ok()
}
