//! Accuracy of changes found in simulated histories.

use plimsoll_judge::changes::{Changes, find_changes};
use plimsoll_judge::stats::rng::SmallRng;
use plimsoll_lab::row::{row, share};
use plimsoll_lab::series::{LENGTH, Scatter, Series, histories};
use rayon::prelude::*;
use std::time::Instant;

/// Largest distance in indices of a found change from a true one.
const TOLERANCE: usize = 5;

/// Counts over a number of series.
#[derive(Default)]
struct Tally {
    truths: usize,
    found: usize,
    matched: usize,
    exact: usize,
    unchanged: usize,
    alarms: usize,
    /// Matched changes of series in which no change was missed, so that the true levels on both sides are known.
    sized: usize,
    size_held: usize,
    place_held: usize,
}

impl Tally {
    fn of<'a>(judged: impl Iterator<Item = (&'a Series, &'a Changes)>) -> Self {
        let mut tally = Self::default();
        for (series, found) in judged {
            tally.add(series, found);
        }
        tally
    }

    fn add(&mut self, series: &Series, found: &Changes) {
        self.truths += series.truth.len();
        self.found += found.changes.len();
        if series.truth.is_empty() {
            self.unchanged += 1;
            self.alarms += usize::from(!found.changes.is_empty());
        }
        let matches = matches(series, found);
        let complete = matches.len() == series.truth.len();
        for (truth, change) in matches {
            let at = series.truth[truth];
            let change = &found.changes[change];
            self.matched += 1;
            self.exact += usize::from(at == change.index);
            if complete {
                let size = series.sizes[truth];
                self.sized += 1;
                self.size_held += usize::from(change.interval.lo() <= size && size <= change.interval.hi());
            }
            self.place_held += usize::from(change.index_interval.0 <= at && at <= change.index_interval.1);
        }
    }

    fn f1(&self) -> f64 {
        2.0 * self.matched as f64 / (self.truths + self.found).max(1) as f64
    }
}

/// Pairs true and found changes, the nearest first, each at most once.
fn matches(series: &Series, found: &Changes) -> Vec<(usize, usize)> {
    let mut near: Vec<(usize, usize, usize)> = Vec::new();
    for (i, truth) in series.truth.iter().enumerate() {
        for (j, change) in found.changes.iter().enumerate() {
            near.push((truth.abs_diff(change.index), i, j));
        }
    }
    near.sort_unstable();
    let mut pairs: Vec<(usize, usize)> = Vec::new();
    for (distance, i, j) in near {
        if distance <= TOLERANCE && pairs.iter().all(|&(k, l)| k != i && l != j) {
            pairs.push((i, j));
        }
    }
    pairs
}

/// The rows of the table: accuracy over simulated histories, then speed.
pub(crate) fn rows(quick: bool) -> Vec<String> {
    let count = if quick { 1_000 } else { 8_000 };
    let series = histories(count, 1);
    let found: Vec<Changes> = series.par_iter().map(|s| judge(&s.values)).collect();
    let tally =
        |keep: &dyn Fn(&Series) -> bool| Tally::of(series.iter().zip(&found).filter(|(s, _)| keep(s)));
    let all = tally(&|_| true);
    let method = format!("changes, {count} series of {LENGTH}");
    let mut rows = vec![
        row(&method, "F1, within 5", &format!("{:.3}", all.f1()), "≥ 0.80"),
        row(&method, "exact index, of those found", &share(all.exact, all.matched), "≥ 70 %"),
        row(&method, "size within its 95 % interval", &share(all.size_held, all.sized), "93 to 97 %"),
        row(&method, "index within its 95 % interval", &share(all.place_held, all.matched), "93 to 97 %"),
    ];
    for scatter in Scatter::ALL {
        let one = tally(&|s| s.scatter == scatter);
        let limit = if scatter == Scatter::Autoregressive { "≤ 10 %" } else { "≤ 5 %" };
        let method = format!("changes, {}", scatter.name());
        rows.push(row(&method, "F1, within 5", &format!("{:.3}", one.f1()), ""));
        rows.push(row(&method, "unchanged series with an alarm", &share(one.alarms, one.unchanged), limit));
    }
    rows.extend(speed());
    rows
}

fn speed() -> [String; 2] {
    let fleet = histories(10_000, 77);
    let begin = Instant::now();
    let found: usize = fleet.par_iter().map(|s| judge(&s.values).changes.len()).sum();
    let fleet_time = begin.elapsed().as_secs_f64();
    assert!(found > 0, "a fleet with changes showed none");
    let mut rng = SmallRng::new(78);
    let long: Vec<f64> = (0..1_000_000).map(|i| 100.0 + f64::from(i / 250_000) + rng.normal()).collect();
    let begin = Instant::now();
    let changes = judge(&long).changes.len();
    let long_time = begin.elapsed().as_secs_f64();
    assert_eq!(changes, 3, "a million values with three steps");
    [
        row("changes, 10,000 series of 150", "time", &format!("{fleet_time:.2} s"), "< 5 s"),
        row("changes, one series of 1,000,000", "time", &format!("{long_time:.2} s"), "< 2 s"),
    ]
}

fn judge(values: &[f64]) -> Changes {
    find_changes(values).unwrap_or_else(|e| panic!("a simulated series is not judged: {e}"))
}
