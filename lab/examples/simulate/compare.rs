//! A against B: random pairs, and the same machine with all of A before all of B.

use crate::noise::{PairNoise, Weather};
use plimsoll_judge::compare::{CompareSettings, paired, unpaired};
use plimsoll_judge::sequential::{Decider, Decision, SequentialSettings};
use plimsoll_judge::stats::{dist, mean, rank::mann_whitney, rng::SmallRng, variance};
use plimsoll_lab::row::{row, share};
use plimsoll_model::verdict::Outcome;
use rayon::prelude::*;

const PAIRS: usize = 30;
/// Effect, least power in per cent, most pairs on average.
const TARGETS: [(f64, &str, &str); 3] =
    [(0.02, "≥ 97 %", "≤ 20"), (0.05, "≥ 99 %", "≤ 12"), (0.10, "≥ 99.5 %", "≤ 9")];

pub(crate) fn rows(quick: bool) -> Vec<String> {
    let runs = if quick { 400 } else { 10_000 };
    let mut rows = Vec::new();
    for own in PairNoise::ALL {
        rows.extend(fixed_rows(own, runs));
    }
    let beyond_margin = CompareSettings { beyond_margin: true, ..CompareSettings::default() };
    let known = SequentialSettings { most: Some(PAIRS), ..SequentialSettings::default() };
    let open = SequentialSettings { most: None, compare: beyond_margin, ..known };
    for (name, settings) in [("Pocock, most 30", known), ("bets on signs, beyond the margin", open)] {
        let fresh = Decider::new(settings).unwrap_or_else(|e| panic!("{e}"));
        for own in PairNoise::ALL {
            rows.extend(sequential_rows(name, &fresh, own, runs));
        }
    }
    rows.extend(block_rows(runs));
    rows
}

/// Pairs next to each other in time, in random order; the second of a pair is 0.3 % slower.
fn pairs(effect: f64, own: PairNoise, n: usize, seed: u64) -> (Vec<f64>, Vec<f64>) {
    let mut rng = SmallRng::new(seed);
    let mut weather = Weather::new(seed ^ 0xfeed);
    (0..n)
        .map(|_| {
            let b_second = rng.coin();
            let (now, then) = (weather.next(), weather.next());
            // Both sides share the weather of the pair; half a step lies in between.
            let shared = 0.5 * (now + then);
            let late = |second: bool| if second { 0.003 } else { 0.0 };
            let a = 100.0 * (shared + own.draw(&mut rng) + late(!b_second)).exp();
            let b = 100.0 * (1.0 + effect) * (shared + own.draw(&mut rng) + late(b_second)).exp();
            (a, b)
        })
        .unzip()
}

/// The targets of power and cost are for pairs with a standard deviation of 1.1 %; two modes have more than twice that.
fn target(own: PairNoise, text: &'static str) -> &'static str {
    if matches!(own, PairNoise::Modes) { "" } else { text }
}

fn fixed_rows(own: PairNoise, runs: usize) -> Vec<String> {
    let method = format!("compare, {PAIRS} pairs, {}", own.name());
    let judge = |effect: f64, salt: u64| {
        (0..runs).into_par_iter().map(move |seed| {
            let (a, b) = pairs(effect, own, PAIRS, seed as u64 * 7 + salt);
            paired("time", &a, &b, &CompareSettings::default()).unwrap_or_else(|e| panic!("{e}")).verdict
        })
    };
    let differs = |outcome| matches!(outcome, Outcome::Slower | Outcome::Faster);
    let alarms = judge(0.0, 1).filter(|v| differs(v.outcome)).count();
    let mut rows = vec![row(&method, "false alarm", &share(alarms, runs), "≤ 1 %")];
    for (effect, power, _) in TARGETS {
        let found = judge(effect, 2).filter(|v| v.outcome == Outcome::Slower).count();
        rows.push(row(
            &method,
            &format!("power at {:.0} %", 100.0 * effect),
            &share(found, runs),
            target(own, power),
        ));
    }
    let truth = 1.05;
    let held =
        judge(0.05, 3).filter(|v| v.interval.is_some_and(|i| i.lo() <= truth && truth <= i.hi())).count();
    rows.push(row(&method, "coverage of the 95 % interval", &share(held, runs), "93 to 97 %"));
    rows
}

/// The decision, the number of pairs and whether the reported interval holds the truth.
fn stop(fresh: &Decider, effect: f64, own: PairNoise, seed: u64) -> (Decision, f64, bool) {
    let mut decider = fresh.clone();
    let (a, b) = pairs(effect, own, 300, seed);
    for (a, b) in a.iter().zip(&b) {
        let decision = decider.push(*a, *b).unwrap_or_else(|e| panic!("{e}"));
        if decider.exhausted() || !matches!(decision, Decision::NotYet { .. }) {
            break;
        }
    }
    let verdict = decider.verdict("time").unwrap_or_else(|e| panic!("{e}")).verdict;
    let held = verdict.interval.is_some_and(|i| i.lo() <= 1.0 + effect && 1.0 + effect <= i.hi());
    (decider.decision(), decider.pairs() as f64, held)
}

fn sequential_rows(name: &str, fresh: &Decider, own: PairNoise, runs: usize) -> Vec<String> {
    let method = format!("{name}, {}", own.name());
    let all = |effect: f64, salt: u64| -> Vec<(Decision, f64, bool)> {
        (0..runs).into_par_iter().map(|seed| stop(fresh, effect, own, seed as u64 * 11 + salt)).collect()
    };
    let equal = all(0.0, 1);
    let count = |all: &[(Decision, f64, bool)], is: &dyn Fn(Decision) -> bool| {
        all.iter().filter(|(decision, _, _)| is(*decision)).count()
    };
    let stops = |all: &[(Decision, f64, bool)]| mean(&all.iter().map(|(_, n, _)| *n).collect::<Vec<_>>());
    let alarms = count(&equal, &|d| matches!(d, Decision::Different(_)));
    let same = count(&equal, &|d| d == Decision::Equivalent);
    let mut rows = vec![
        row(&method, "false alarm", &share(alarms, runs), "≤ 1 %"),
        row(&method, "equal programs found equivalent", &share(same, runs), ""),
        row(&method, "mean pairs at no effect", &format!("{:.1}", stops(&equal)), ""),
    ];
    for (effect, power, most) in TARGETS {
        let found = all(effect, 2);
        let right = count(&found, &|d| d == Decision::Different(Outcome::Slower));
        let held = found.iter().filter(|(_, _, held)| *held).count();
        let at = format!("{:.0} %", 100.0 * effect);
        rows.push(row(&method, &format!("power at {at}"), &share(right, runs), target(own, power)));
        rows.push(row(
            &method,
            &format!("mean pairs at {at}"),
            &format!("{:.1}", stops(&found)),
            target(own, most),
        ));
        rows.push(row(&method, &format!("coverage at {at}"), &share(held, runs), ""));
    }
    rows
}

/// All of A, then all of B, on the same machine, judged by the tests of other tools.
fn block_rows(runs: usize) -> Vec<String> {
    let blocks = |seed: u64| -> (Vec<f64>, Vec<f64>) {
        let mut rng = SmallRng::new(seed);
        let mut weather = Weather::new(seed ^ 0xb10c);
        let mut run = || 100.0 * (weather.next() + PairNoise::Normal.draw(&mut rng)).exp();
        ((0..PAIRS).map(|_| run()).collect(), (0..PAIRS).map(|_| run()).collect())
    };
    let alarms = |differs: &(dyn Fn(&[f64], &[f64]) -> bool + Sync)| {
        let count = (0..runs).into_par_iter().filter(|seed| {
            let (a, b) = blocks(*seed as u64);
            differs(&a, &b)
        });
        share(count.count(), runs)
    };
    let at_five = CompareSettings { alpha: 0.05, ..CompareSettings::default() };
    let ours = |a: &[f64], b: &[f64]| {
        let found = unpaired("time", a, b, &at_five).unwrap_or_else(|e| panic!("{e}"));
        matches!(found.verdict.outcome, Outcome::Slower | Outcome::Faster)
    };
    let figure = "false alarm at α 5 %, all of A before all of B";
    let random = (0..runs).into_par_iter().filter(|seed| {
        let (a, b) = pairs(0.0, PairNoise::Normal, PAIRS, *seed as u64 * 13 + 5);
        let found = paired("time", &a, &b, &at_five).unwrap_or_else(|e| panic!("{e}"));
        matches!(found.verdict.outcome, Outcome::Slower | Outcome::Faster)
    });
    vec![
        row("Welch", figure, &alarms(&|a, b| welch_p(a, b) < 0.05), ""),
        row("Mann-Whitney", figure, &alarms(&|a, b| mann_whitney(a, b).p < 0.05), ""),
        row("compare, unpaired", figure, &alarms(&ours), ""),
        row("compare, paired", "false alarm at α 5 %, random pairs", &share(random.count(), runs), "≤ 6 %"),
    ]
}

/// Welch's t test (1947).
fn welch_p(a: &[f64], b: &[f64]) -> f64 {
    let (va, vb) = (variance(a) / a.len() as f64, variance(b) / b.len() as f64);
    let df = (va + vb).powi(2) / (va.powi(2) / (a.len() - 1) as f64 + vb.powi(2) / (b.len() - 1) as f64);
    dist::t_two_sided((mean(a) - mean(b)) / (va + vb).sqrt(), df)
}
