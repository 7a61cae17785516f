//! Several comparisons that are decided together, by one set of runs.
//!
//! Holm's procedure (1979) on p-values that hold at all times: the reciprocal of the weight of evidence (Ville 1939). The one with the most
//! evidence is compared with the level divided by their number, the next with the level divided by one less, and so on. With a probability of
//! at most the level, any of the equal ones is ever called different, at whatever look: before the first such error, at most those that truly
//! differ were called different, so that the equal ones share the level at least evenly. A difference that also needs an estimate beyond the
//! margin is called later or never, which hands on less.

use super::{Decider, Decision, SequentialSettings};
use crate::compare::Comparison;
use crate::input::JudgeError;

/// Comparisons that share one level, each by its place.
#[derive(Clone, Debug)]
pub struct Family {
    deciders: Vec<Decider>,
    alpha: f64,
}

impl Family {
    /// Comparisons, each without pairs. Their number of pairs has no end: `settings.most` does not count.
    ///
    /// # Errors
    /// Settings out of range.
    pub fn new(members: usize, settings: SequentialSettings) -> Result<Self, JudgeError> {
        let alpha = settings.compare.alpha;
        let mut shared = SequentialSettings { most: None, ..settings };
        shared.compare.alpha = alpha / members.max(1) as f64;
        Ok(Self { deciders: vec![Decider::new(shared)?; members], alpha })
    }

    /// Whether more is better in one comparison, against what the settings say.
    pub fn set_lower_is_better(&mut self, member: usize, lower_is_better: bool) {
        self.deciders[member].settings.compare.lower_is_better = lower_is_better;
    }

    /// Takes one pair of a comparison.
    ///
    /// # Errors
    /// A value that is not finite or not above 0; the pair is then not counted.
    pub fn push(&mut self, member: usize, a: f64, b: f64) -> Result<(), JudgeError> {
        if let Decision::Different(_) = self.deciders[member].push(a, b)? {
            self.step_down();
        }
        Ok(())
    }

    /// Hands the level of those that are decided as different on to the others, until no further one is.
    fn step_down(&mut self) {
        loop {
            let before = self.different();
            let open = self.deciders.len() - before;
            let level = self.alpha / open.max(1) as f64;
            self.deciders.iter_mut().for_each(|decider| decider.relax(level));
            if self.different() == before {
                return;
            }
        }
    }

    fn different(&self) -> usize {
        self.deciders.iter().filter(|decider| matches!(decider.decision(), Decision::Different(_))).count()
    }

    /// The decision about each.
    pub fn decisions(&self) -> impl Iterator<Item = Decision> {
        self.deciders.iter().map(Decider::decision)
    }

    /// Whether all are decided.
    pub fn is_decided(&self) -> bool {
        self.decisions().all(|decision| !matches!(decision, Decision::NotYet { .. }))
    }

    /// Whether the pairs of one comparison show a difference, however small.
    pub fn shows_difference(&self, member: usize) -> bool {
        self.deciders[member].shows_difference()
    }

    /// The verdict on one comparison; `undecided` while there is no decision.
    ///
    /// # Errors
    /// The comparison has no pairs.
    pub fn verdict(&self, member: usize, metric: &str) -> Result<Comparison, JudgeError> {
        self.deciders[member].verdict(metric)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::rng::SmallRng;
    use plimsoll_model::verdict::Outcome;

    /// Pairs of members with these effects, in noise of 2 %.
    fn after(effects: &[f64], pairs: usize, seed: u64) -> Family {
        let mut rng = SmallRng::new(seed);
        let mut family = Family::new(effects.len(), SequentialSettings::default()).unwrap();
        for _ in 0..pairs {
            for (member, effect) in effects.iter().enumerate() {
                family.push(member, 1.0, (effect + 0.02 * rng.normal()).exp()).unwrap();
            }
        }
        family
    }

    #[test]
    fn each_member_gets_its_own_answer_in_its_own_direction() {
        let mut family = Family::new(3, SequentialSettings::default()).unwrap();
        family.set_lower_is_better(2, false);
        for _ in 0..20 {
            family.push(0, 1.0, 1.0).unwrap();
            family.push(1, 1.0, 1.1).unwrap();
            family.push(2, 1.0, 1.1).unwrap();
        }
        assert!(family.is_decided());
        let outcomes: Vec<Outcome> =
            (0..3).map(|member| family.verdict(member, "x").unwrap().verdict.outcome).collect();
        assert_eq!(outcomes, [Outcome::Same, Outcome::Slower, Outcome::Faster]);
    }

    #[test]
    fn of_ten_equal_members_one_is_rarely_called_different() {
        let alarms = (0..300)
            .filter(|&seed| {
                let family = after(&[0.0; 10], 60, seed);
                family.different() > 0
            })
            .count();
        assert!(alarms <= 9, "{alarms} of 300");
    }

    #[test]
    fn what_is_decided_leaves_its_level_to_the_others() {
        let found = |effects: &[f64]| {
            let last = effects.len() - 1;
            (0..200)
                .filter(|&seed| {
                    let family = after(effects, 24, seed);
                    matches!(family.decisions().nth(last), Some(Decision::Different(_)))
                })
                .count()
        };
        let mut with_others = vec![0.3; 20];
        with_others.push(0.02);
        let mut without = vec![0.0; 20];
        without.push(0.02);
        assert!(found(&with_others) > found(&without) + 20, "{} {}", found(&with_others), found(&without));
    }
}
