//! Commands that are measured in turns, in complete blocks of random order, until each comparison with the first is
//! decided.
//!
//! Adjacent measurements share the state of the machine, and the random order keeps whatever the first does to the
//! second from counting for either.

use plimsoll_judge::compare::Comparison;
use plimsoll_judge::input::JudgeError;
use plimsoll_judge::sequential::{Decider, Decision, SequentialSettings};
use plimsoll_judge::stats::rng::SmallRng;

use crate::measure::{Figure, MeasureError, Meter};

/// One figure of each cell, measured next to each other.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Block {
    /// The figures, by cell, without what was the doing of others.
    pub(crate) values: Vec<f64>,
    /// The part of the figures that other processes caused, by cell, already subtracted; `None` if it is not known of
    /// all cells.
    pub(crate) foreign: Option<Vec<f64>>,
    /// The cells in the order in which they were measured.
    pub(crate) order: Vec<usize>,
}

impl Block {
    /// The doing of others is taken off all figures or off none, so that all of a block mean the same.
    pub(crate) fn new(figures: &[Figure], order: Vec<usize>) -> Self {
        let foreign: Option<Vec<f64>> = figures.iter().map(|figure| figure.foreign).collect();
        let value = |figure: &Figure| if foreign.is_some() { figure.own() } else { figure.value };
        Self { values: figures.iter().map(value).collect(), foreign, order }
    }
}

/// Cells under comparison with the first of them.
#[derive(Debug)]
pub(crate) struct Contest {
    /// One for each cell but the first.
    deciders: Vec<Decider>,
    settings: SequentialSettings,
    blocks: Vec<Block>,
    rng: SmallRng,
}

/// Why a contest could not go on.
#[derive(Debug)]
pub(crate) enum ContestError {
    /// A cell could not be measured.
    Measure(MeasureError),
    /// A figure could not be judged.
    Judge(JudgeError),
}

impl Contest {
    /// A contest of two cells or more. The level is shared out evenly among the comparisons (Bonferroni), so that all of them
    /// together raise no more false alarms than it says.
    ///
    /// # Errors
    /// Settings out of range.
    pub(crate) fn new(cells: usize, settings: SequentialSettings, seed: u64) -> Result<Self, JudgeError> {
        let decider = Decider::new(corrected(settings, cells - 1))?;
        Ok(Self {
            deciders: vec![decider; cells - 1],
            settings,
            blocks: Vec::new(),
            rng: SmallRng::new(seed),
        })
    }

    /// The blocks so far.
    pub(crate) fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// The figures of a cell so far.
    pub(crate) fn values(&self, cell: usize) -> Vec<f64> {
        self.blocks.iter().map(|block| block.values[cell]).collect()
    }

    /// Which share of a cell's figures was taken off as the doing of others; `None` if nothing was.
    pub(crate) fn foreign_share(&self, cell: usize) -> Option<f64> {
        let taken_off =
            |block: &Block| block.foreign.as_ref().map(|foreign| (foreign[cell], block.values[cell]));
        let (foreign, own) = self
            .blocks
            .iter()
            .filter_map(taken_off)
            .fold((0.0, 0.0), |(foreign, own), (off, value)| (foreign + off, own + value));
        (own > 0.0).then(|| foreign / (foreign + own))
    }

    /// Whether every comparison is decided, or will hardly be by the last block.
    pub(crate) fn is_over(&self) -> bool {
        let decided = |decider: &Decider| !matches!(decider.decision(), Decision::NotYet { .. });
        self.deciders.iter().all(|decider| decided(decider) || decider.exhausted() || decider.is_hopeless())
    }

    /// Measures all cells once, in random order.
    ///
    /// # Errors
    /// A cell could not be measured; the block then does not count.
    pub(crate) fn measure_block(&mut self, meter: &mut dyn Meter) -> Result<&Block, ContestError> {
        let mut order: Vec<usize> = (0..=self.deciders.len()).collect();
        self.rng.shuffle(&mut order);
        let mut figures = vec![Figure::plain(0.0); order.len()];
        for &cell in &order {
            figures[cell] = meter.measure(cell).map_err(ContestError::Measure)?;
        }
        self.push(Block::new(&figures, order)).map_err(ContestError::Judge)
    }

    /// Takes a block that was measured before, in the place of measuring it.
    ///
    /// # Errors
    /// A figure that cannot be judged.
    pub(crate) fn replay(&mut self, block: Block) -> Result<(), JudgeError> {
        // The random numbers drawn for it are spent, so that the next order is another.
        let mut order = block.order.clone();
        self.rng.shuffle(&mut order);
        self.push(block).map(drop)
    }

    fn push(&mut self, block: Block) -> Result<&Block, JudgeError> {
        for (decider, value) in self.deciders.iter_mut().zip(&block.values[1..]) {
            decider.push(block.values[0], *value)?;
        }
        self.blocks.push(block);
        Ok(&self.blocks[self.blocks.len() - 1])
    }

    /// How each cell but the first compares with the first.
    ///
    /// # Errors
    /// There are no blocks.
    pub(crate) fn comparisons(&self, metric: &str) -> Result<Vec<Comparison>, JudgeError> {
        self.deciders.iter().map(|decider| decider.verdict(metric)).collect()
    }

    /// The estimated number of further blocks, if it is known.
    pub(crate) fn more(&self) -> Option<usize> {
        let more = self.deciders.iter().filter_map(|decider| match decider.decision() {
            Decision::NotYet { more } => more.map(|more| more.min(self.left())),
            _ => None,
        });
        more.max()
    }

    fn left(&self) -> usize {
        self.settings.most.map_or(usize::MAX, |most| most - self.blocks.len().min(most))
    }

    /// Every cell against every other: `(a, b, B against A)` for all `a` before `b`. The blocks stopped for another question's
    /// sake, so that these are judged by the test that holds whenever one stops, at a level that all of them share.
    ///
    /// # Errors
    /// There are no blocks.
    pub(crate) fn ranking(&self, metric: &str) -> Result<Vec<(usize, usize, Comparison)>, JudgeError> {
        let cells = self.deciders.len() + 1;
        let pairs = (0..cells).flat_map(|a| (a + 1..cells).map(move |b| (a, b)));
        let open = SequentialSettings { most: None, ..self.settings };
        let fresh = Decider::new(corrected(open, cells * (cells - 1) / 2))?;
        pairs
            .map(|(a, b)| {
                let mut decider = fresh.clone();
                for block in &self.blocks {
                    decider.push(block.values[a], block.values[b])?;
                }
                Ok((a, b, decider.verdict(metric)?))
            })
            .collect()
    }
}

/// The settings of one of `comparisons` that share the level.
fn corrected(mut settings: SequentialSettings, comparisons: usize) -> SequentialSettings {
    settings.compare.alpha /= comparisons as f64;
    settings
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::verdict::Outcome;

    /// Cells with levels of their own and 1 % of noise, under a drift that all share; it notes who was measured when.
    struct Fake {
        levels: Vec<f64>,
        rng: SmallRng,
        measured: Vec<usize>,
    }

    impl Fake {
        fn new(levels: &[f64]) -> Self {
            Self { levels: levels.into(), rng: SmallRng::new(7), measured: Vec::new() }
        }
    }

    impl Meter for Fake {
        fn measure(&mut self, which: usize) -> Result<Figure, MeasureError> {
            self.measured.push(which);
            let drift = 1.0 + 0.002 * self.measured.len() as f64;
            Ok(Figure::plain(self.levels[which] * drift * (0.01 * self.rng.normal()).exp()))
        }
    }

    fn carried_out(levels: &[f64]) -> (Contest, Fake) {
        let mut contest = Contest::new(levels.len(), SequentialSettings::default(), 5).unwrap();
        let mut fake = Fake::new(levels);
        while !contest.is_over() {
            contest.measure_block(&mut fake).unwrap();
        }
        (contest, fake)
    }

    #[test]
    fn both_orders_come_up_and_every_block_is_complete() {
        let (_, fake) = carried_out(&[1.0, 1.0]);
        let blocks: Vec<&[usize]> = fake.measured.chunks(2).collect();
        assert!(blocks.contains(&[0, 1].as_slice()) && blocks.contains(&[1, 0].as_slice()));
        assert!(blocks.iter().all(|block| block.len() == 2 && block[0] != block[1]));
    }

    #[test]
    fn a_tenth_is_found_in_few_pairs_though_everything_drifts() {
        let (contest, _) = carried_out(&[1.0, 1.1]);
        let comparison = &contest.comparisons("wall_time").unwrap()[0];
        assert_eq!(comparison.verdict.outcome, Outcome::Slower);
        assert!(contest.blocks().len() <= 12, "{}", contest.blocks().len());
    }

    #[test]
    fn three_cells_are_each_compared_with_the_first_and_ranked_among_each_other() {
        let (contest, _) = carried_out(&[1.0, 1.1, 0.8]);
        let outcomes: Vec<Outcome> =
            contest.comparisons("wall_time").unwrap().iter().map(|found| found.verdict.outcome).collect();
        assert_eq!(outcomes, [Outcome::Slower, Outcome::Faster]);
        let ranking = contest.ranking("wall_time").unwrap();
        let pairs: Vec<(usize, usize)> = ranking.iter().map(|(a, b, _)| (*a, *b)).collect();
        assert_eq!(pairs, [(0, 1), (0, 2), (1, 2)]);
        assert!(ranking[2].2.verdict.estimate.unwrap() < 0.8);
    }

    #[test]
    fn blocks_that_are_replayed_count_like_measured_ones() {
        let (contest, _) = carried_out(&[1.0, 1.1]);
        let mut resumed = Contest::new(2, SequentialSettings::default(), 5).unwrap();
        for block in contest.blocks() {
            resumed.replay(block.clone()).unwrap();
        }
        assert!(resumed.is_over());
        assert_eq!(resumed.comparisons("x").unwrap(), contest.comparisons("x").unwrap());
    }

    #[test]
    fn the_doing_of_others_is_taken_off_all_of_a_block_or_off_none() {
        let crowded = |foreign| Figure { value: 3.0, foreign };
        let known = Block::new(&[crowded(Some(1.0)), crowded(Some(2.0))], vec![0, 1]);
        assert_eq!(known.values, [2.0, 1.0]);
        let half_known = Block::new(&[crowded(Some(1.0)), crowded(None)], vec![0, 1]);
        assert_eq!((half_known.values, half_known.foreign), (vec![3.0, 3.0], None));
        let mut contest = Contest::new(2, SequentialSettings::default(), 5).unwrap();
        assert_eq!(contest.foreign_share(0), None);
        contest.replay(known).unwrap();
        assert_eq!(contest.foreign_share(1), Some(2.0 / 3.0));
    }

    #[test]
    fn the_level_is_shared_out_among_the_comparisons() {
        assert_eq!(corrected(SequentialSettings::default(), 2).compare.alpha, 0.005);
    }
}
