//! Sets of ids that were mostly given out in order.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A set of numbers, kept as ranges: a million that follow one another take as much room as one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "Vec<(u64, u64)>", into = "Vec<(u64, u64)>")]
#[schemars(with = "Vec<(u64, u64)>")]
pub struct IdSet {
    /// The last number of each range, by its first. Ranges neither overlap nor touch.
    ranges: BTreeMap<u64, u64>,
}

impl IdSet {
    /// Adds a number; says whether it was not in the set before.
    pub fn insert(&mut self, id: u64) -> bool {
        let before = self.ranges.range(..=id).next_back().map(|(&first, &last)| (first, last));
        if before.is_some_and(|(_, last)| last >= id) {
            return false;
        }
        let joins = before.filter(|&(_, last)| last.checked_add(1) == Some(id));
        let last = match id.checked_add(1) {
            Some(next) => self.ranges.remove(&next).unwrap_or(id),
            None => id,
        };
        self.ranges.insert(joins.map_or(id, |(first, _)| first), last);
        true
    }

    /// Adds all numbers of another set.
    pub fn extend(&mut self, other: &Self) {
        for (&first, &last) in &other.ranges {
            self.insert_range(first, last);
        }
    }

    fn insert_range(&mut self, mut first: u64, mut last: u64) {
        // Everything that overlaps or touches the new range becomes part of it.
        while let Some((&start, &end)) = self.ranges.range(..=last.saturating_add(1)).next_back() {
            if end.saturating_add(1) < first {
                break;
            }
            self.ranges.remove(&start);
            (first, last) = (first.min(start), last.max(end));
        }
        self.ranges.insert(first, last);
    }

    /// Whether a number is in the set.
    pub fn contains(&self, id: u64) -> bool {
        self.ranges.range(..=id).next_back().is_some_and(|(_, &last)| last >= id)
    }

    /// How many numbers there are.
    pub fn len(&self) -> u64 {
        self.ranges.iter().map(|(first, last)| last - first + 1).sum()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// All numbers, in order.
    pub fn iter(&self) -> impl Iterator<Item = u64> + '_ {
        self.ranges.iter().flat_map(|(&first, &last)| first..=last)
    }

    /// How many numbers are in both sets.
    pub fn common(&self, other: &Self) -> u64 {
        let overlap = |(first, last): (u64, u64)| {
            let from = other.ranges.range(..=first).next_back().map_or(first, |(&start, _)| start);
            let near = other.ranges.range(from..=last);
            near.map(|(&start, &end)| (last.min(end) + 1).saturating_sub(first.max(start))).sum::<u64>()
        };
        self.ranges.iter().map(|(&first, &last)| overlap((first, last))).sum()
    }

    /// The numbers that are not in `other`, in order.
    pub fn missing_from<'s>(&'s self, other: &'s Self) -> impl Iterator<Item = u64> + 's {
        self.iter().filter(|&id| !other.contains(id))
    }
}

impl From<Vec<(u64, u64)>> for IdSet {
    fn from(ranges: Vec<(u64, u64)>) -> Self {
        let mut set = Self::default();
        ranges
            .into_iter()
            .filter(|(first, last)| first <= last)
            .for_each(|(first, last)| set.insert_range(first, last));
        set
    }
}

impl From<IdSet> for Vec<(u64, u64)> {
    fn from(set: IdSet) -> Self {
        set.ranges.into_iter().collect()
    }
}

impl FromIterator<u64> for IdSet {
    fn from_iter<I: IntoIterator<Item = u64>>(ids: I) -> Self {
        let mut set = Self::default();
        for id in ids {
            set.insert(id);
        }
        set
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn numbers_in_any_order_become_one_range() {
        let mut set = IdSet::default();
        for id in [5, 3, 4, 9, 8, 7, 6] {
            assert!(set.insert(id));
            assert!(!set.insert(id), "{id} twice");
        }
        assert_eq!(Vec::from(set.clone()), [(3, 9)]);
        assert_eq!((set.len(), set.contains(2), set.contains(9)), (7, false, true));
    }

    #[test]
    fn the_ends_of_the_range_of_numbers_are_no_exception() {
        let set: IdSet = [u64::MAX, 0, u64::MAX - 1].into_iter().collect();
        assert_eq!(Vec::from(set.clone()), [(0, 0), (u64::MAX - 1, u64::MAX)]);
        assert_eq!(set.len(), 3);
    }

    /// Against a plain set, with numbers from a small generator so that ranges meet in every way.
    #[test]
    fn it_is_what_a_plain_set_is() {
        let mut state = 1_u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % 60
        };
        for _ in 0..200 {
            let (a, b): (Vec<u64>, Vec<u64>) =
                ((0..25).map(|_| next()).collect(), (0..25).map(|_| next()).collect());
            let (plain_a, plain_b): (BTreeSet<u64>, BTreeSet<u64>) =
                (a.iter().copied().collect(), b.iter().copied().collect());
            let (mut set_a, set_b): (IdSet, IdSet) = (a.into_iter().collect(), b.into_iter().collect());
            assert_eq!(set_a.common(&set_b), plain_a.intersection(&plain_b).count() as u64);
            let missing: Vec<u64> = plain_a.difference(&plain_b).copied().collect();
            assert_eq!(set_a.missing_from(&set_b).collect::<Vec<_>>(), missing);
            set_a.extend(&set_b);
            let both: Vec<u64> = plain_a.union(&plain_b).copied().collect();
            assert_eq!(set_a.iter().collect::<Vec<_>>(), both);
            assert_eq!(IdSet::from(Vec::from(set_a.clone())), set_a);
        }
    }
}
