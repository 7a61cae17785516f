//! Bisection of versions: accuracy and cost against plain bisection.

use plimsoll_judge::bisect::{BisectSettings, Bisection};
use plimsoll_judge::stats::{mean, rng::SmallRng};
use plimsoll_lab::row::{row, share};
use rayon::prelude::*;

/// A culprit among versions that differ by `effect`, measured with a coefficient of variation of `CV`.
struct Case {
    versions: usize,
    effect: f64,
    most: f64,
}

const CASES: [Case; 3] = [
    Case { versions: 128, effect: 0.10, most: 25.0 },
    Case { versions: 64, effect: 0.05, most: 52.0 },
    Case { versions: 64, effect: 0.02, most: 260.0 },
];
const CV: f64 = 0.03;

pub(crate) fn rows(quick: bool) -> Vec<String> {
    // A search of hundreds of measurements takes a second.
    let runs = if quick { 12 } else { 60 };
    CASES.iter().flat_map(|case| case_rows(case, runs)).collect()
}

fn case_rows(case: &Case, runs: usize) -> Vec<String> {
    let mut rows = Vec::new();
    for (noise, wild) in [("normal", 0.0), ("3 % wild", 0.03)] {
        let found: Vec<(bool, f64)> =
            (0..runs).into_par_iter().map(|seed| bisect(case, wild, seed as u64)).collect();
        let right = found.iter().filter(|(right, _)| *right).count();
        let cost = mean(&found.iter().map(|(_, cost)| *cost).collect::<Vec<_>>());
        let method = format!("bisect, {} versions, {:.0} %, {noise}", case.versions, 100.0 * case.effect);
        let most = if wild == 0.0 { format!("≤ {:.0}", case.most) } else { String::new() };
        rows.push(row(&method, "right", &share(right, runs), "≥ 98 %"));
        rows.push(row(&method, "mean measurements", &format!("{cost:.1}"), &most));
    }
    let plain = (0..runs).filter(|&seed| plain_bisection(case, seed as u64)).count();
    let method = format!("plain bisection, {} versions, {:.0} %", case.versions, 100.0 * case.effect);
    rows.push(row(&method, "right", &share(plain, runs), ""));
    rows
}

fn measure(case: &Case, version: usize, culprit: usize, wild: f64, rng: &mut SmallRng) -> f64 {
    let level = if version >= culprit { 100.0 * (1.0 + case.effect) } else { 100.0 };
    let wider = if rng.uniform() < wild { 6.0 } else { 1.0 };
    level * (CV * wider * rng.normal()).exp()
}

fn bisect(case: &Case, wild: f64, seed: u64) -> (bool, f64) {
    let mut rng = SmallRng::new(seed);
    let culprit = 1 + rng.below(case.versions - 1);
    let settings = BisectSettings::default();
    let mut state = Bisection::new(case.versions, settings).unwrap_or_else(|e| panic!("{e}"));
    while let Some(version) = state.next_query() {
        let value = measure(case, version, culprit, wild, &mut rng);
        state.record(version, value).unwrap_or_else(|e| panic!("{e}"));
        if state.observations().len() >= 2000 {
            break;
        }
    }
    (state.answer().is_some_and(|a| a.version == culprit), state.observations().len() as f64)
}

/// Measures each end and each middle once, and believes it.
fn plain_bisection(case: &Case, seed: u64) -> bool {
    let mut rng = SmallRng::new(seed);
    let culprit = 1 + rng.below(case.versions - 1);
    let mut at = |version: usize| measure(case, version, culprit, 0.0, &mut rng);
    let (mut good, mut bad) = (0, case.versions - 1);
    let threshold = f64::midpoint(at(good), at(bad));
    while bad - good > 1 {
        let middle = usize::midpoint(good, bad);
        if at(middle) < threshold {
            good = middle;
        } else {
            bad = middle;
        }
    }
    bad == culprit
}
