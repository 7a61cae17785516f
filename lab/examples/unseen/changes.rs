//! Histories with seasons, trends, gaps and rounded values.

use crate::Set;
use plimsoll_judge::changes::{Changes, find_changes_with_gaps};
use plimsoll_judge::stats::rng::SmallRng;
use plimsoll_lab::row::{row, share};
use rayon::prelude::*;

/// Largest distance in indices of a found change from a true one.
const TOLERANCE: usize = 5;

/// Complication of a history beside its changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Plain,
    /// Hours of days, or days of weeks.
    Season,
    /// Hours of days that are hours of weeks.
    TwoSeasons,
    /// A slope from the first to the last value.
    Trend,
    /// Some values are missing.
    Gaps,
    /// A few different values.
    Rounded,
    /// Neighbours are alike.
    Lasting,
    /// Every value is in one of two modes.
    Modes,
}

impl Kind {
    const ALL: [Self; 8] = [
        Self::Plain,
        Self::Season,
        Self::TwoSeasons,
        Self::Trend,
        Self::Gaps,
        Self::Rounded,
        Self::Lasting,
        Self::Modes,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Season => "season",
            Self::TwoSeasons => "daily and weekly cycles",
            Self::Trend => "trend",
            Self::Gaps => "missing values",
            Self::Rounded => "rounded",
            Self::Lasting => "AR(1)",
            Self::Modes => "two modes in random order",
        }
    }
}

struct Ranges {
    lengths: [usize; 4],
    /// Of a step, in standard deviations of the noise.
    steps: (f64, f64),
    /// The shortest level.
    gap: usize,
    most_steps: usize,
    noise: fn(&mut SmallRng) -> f64,
    rho: (f64, f64),
    season: fn(f64, &mut SmallRng) -> f64,
}

/// A normal value, or now and then an outlier.
fn contaminated(rng: &mut SmallRng) -> f64 {
    if rng.uniform() < 0.04 { 4.0 * rng.normal() } else { rng.normal() }
}

/// A logistic variable or, every third time, one with a long upper tail, of about unit spread.
fn leaning(rng: &mut SmallRng) -> f64 {
    let u = rng.uniform().clamp(1e-9, 1.0 - 1e-9);
    if rng.below(3) == 0 { -1.0 - (1.0 - u).ln() } else { (u / (1.0 - u)).ln() * 0.5513 }
}

const TUNED: Ranges = Ranges {
    lengths: [90, 150, 240, 400],
    steps: (1.2, 8.0),
    gap: 12,
    most_steps: 4,
    noise: contaminated,
    rho: (0.2, 0.6),
    season: |phase, _| (std::f64::consts::TAU * phase).sin(),
};

const HELD_OUT: Ranges = Ranges {
    lengths: [110, 180, 300, 500],
    steps: (1.3, 10.0),
    gap: 10,
    most_steps: 5,
    noise: leaning,
    rho: (0.25, 0.65),
    season: |phase, _| if phase > 0.35 && phase < 0.75 { 1.3 } else { -0.9 + 0.4 * phase },
};

/// A history, its gaps as nothing, and the places at which its level really stepped.
struct Series {
    kind: Kind,
    truth: Vec<usize>,
    values: Vec<Option<f64>>,
}

fn log_uniform((from, to): (f64, f64), rng: &mut SmallRng) -> f64 {
    from * (rng.uniform() * (to / from).ln()).exp()
}

fn places(count: usize, length: usize, gap: usize, rng: &mut SmallRng) -> Vec<usize> {
    loop {
        let mut places: Vec<usize> = (0..count).map(|_| gap + rng.below(length - 2 * gap)).collect();
        places.sort_unstable();
        if places.windows(2).all(|w| w[1] - w[0] >= gap) {
            return places;
        }
    }
}

fn series(ranges: &Ranges, number: usize, seed: u64) -> Series {
    let mut rng = SmallRng::new(seed.wrapping_mul(0x51_7c_c1_b7) + number as u64);
    let kind = Kind::ALL[number % Kind::ALL.len()];
    let hours = kind == Kind::TwoSeasons;
    let length = if hours { 24 * 7 * (3 + rng.below(3)) } else { ranges.lengths[rng.below(4)] };
    let changes = if number / Kind::ALL.len() % 5 < 2 { 0 } else { 1 + rng.below(ranges.most_steps) };
    let truth = places(changes, length, if hours { 48 } else { ranges.gap }, &mut rng);
    let period = if rng.coin() { 7 } else { [12, 24][rng.below(2)] };
    let (swing, weekly) = (1.0 + 3.0 * rng.uniform(), 0.5 + 2.0 * rng.uniform());
    let week: Vec<f64> = (0..7).map(|_| rng.normal()).collect();
    let slope = (2.0 + 8.0 * rng.uniform()) * if rng.coin() { 1.0 } else { -1.0 } / length as f64;
    let rho = ranges.rho.0 + (ranges.rho.1 - ranges.rho.0) * rng.uniform();
    let (apart, share) = (4.0 + 20.0 * rng.uniform(), 0.2 + 0.6 * rng.uniform());
    let mut state = rng.normal();
    let mut level = 50.0;
    let values = (0..length)
        .map(|i| {
            if truth.contains(&i) {
                let scale = if kind == Kind::Modes { apart.max(4.0) } else { 1.0 };
                let step = scale * log_uniform(ranges.steps, &mut rng);
                level += if rng.coin() { step } else { -step };
            }
            let noise = (ranges.noise)(&mut rng);
            let phase = |period: usize| (i % period) as f64 / period as f64;
            let value = level
                + match kind {
                    Kind::Plain | Kind::Gaps => noise,
                    Kind::Season if period == 7 => swing * week[i % 7] + noise,
                    Kind::Season => swing * (ranges.season)(phase(period), &mut rng) + noise,
                    Kind::TwoSeasons => {
                        swing * (ranges.season)(phase(24), &mut rng)
                            + weekly * if i / 24 % 7 >= 5 { -1.0 } else { 0.4 }
                            + noise
                    }
                    Kind::Trend => slope * i as f64 + noise,
                    Kind::Rounded => noise,
                    Kind::Lasting => {
                        state = rho * state + (1.0 - rho * rho).sqrt() * noise;
                        state
                    }
                    Kind::Modes => noise + if rng.uniform() < share { apart } else { 0.0 },
                };
            match kind {
                Kind::Rounded => Some(value.round()),
                Kind::Gaps if rng.uniform() < 0.1 => None,
                _ => Some(value),
            }
        })
        .collect();
    Series { kind, truth, values }
}

/// Counts over a number of series.
#[derive(Default)]
struct Tally {
    truths: usize,
    found: usize,
    matched: usize,
    exact: usize,
    unchanged: usize,
    alarms: usize,
}

impl Tally {
    fn of<'a>(judged: impl Iterator<Item = (&'a Series, &'a Changes)>) -> Self {
        let mut tally = Self::default();
        for (series, found) in judged {
            tally.truths += series.truth.len();
            tally.found += found.changes.len();
            if series.truth.is_empty() {
                tally.unchanged += 1;
                tally.alarms += usize::from(!found.changes.is_empty());
            }
            for distance in matches(&series.truth, found) {
                tally.matched += 1;
                tally.exact += usize::from(distance == 0);
            }
        }
        tally
    }

    fn f1(&self) -> f64 {
        2.0 * self.matched as f64 / (self.truths + self.found).max(1) as f64
    }
}

/// Distances of found changes from the true ones, paired the nearest first, each at most once.
fn matches(truth: &[usize], found: &Changes) -> Vec<usize> {
    let mut near: Vec<(usize, usize, usize)> = Vec::new();
    for (i, at) in truth.iter().enumerate() {
        for (j, change) in found.changes.iter().enumerate() {
            near.push((at.abs_diff(change.index), i, j));
        }
    }
    near.sort_unstable();
    let mut pairs: Vec<(usize, usize, usize)> = Vec::new();
    for (distance, i, j) in near {
        if distance <= TOLERANCE && pairs.iter().all(|&(_, k, l)| k != i && l != j) {
            pairs.push((distance, i, j));
        }
    }
    pairs.into_iter().map(|(distance, ..)| distance).collect()
}

/// The rows of the table: all kinds together, then each.
pub(crate) fn rows(set: Set, quick: bool) -> Vec<String> {
    let count = if quick { 1_600 } else { 8_000 };
    let (ranges, seed) = if set == Set::Tuned { (&TUNED, 11) } else { (&HELD_OUT, 5_003) };
    let series: Vec<Series> = (0..count).map(|number| series(ranges, number, seed)).collect();
    let judge = |s: &Series| {
        find_changes_with_gaps(&s.values).unwrap_or_else(|e| panic!("a simulated series is not judged: {e}"))
    };
    let found: Vec<Changes> = series.par_iter().map(judge).collect();
    let tally =
        |keep: &dyn Fn(Kind) -> bool| Tally::of(series.iter().zip(&found).filter(|(s, _)| keep(s.kind)));
    let mut rows = Vec::new();
    let mut add = |name: &str, tally: &Tally, alarms: &str, targets: [&str; 2]| {
        let method = format!("changes, {name}");
        rows.push(row(&method, "F1, within 5", &format!("{:.3}", tally.f1()), targets[0]));
        rows.push(row(
            &method,
            "exact index, of those found",
            &share(tally.exact, tally.matched),
            targets[1],
        ));
        rows.push(row(
            &method,
            "unchanged series with an alarm",
            &share(tally.alarms, tally.unchanged),
            alarms,
        ));
    };
    add(&format!("{count} series of all kinds"), &tally(&|_| true), "≤ 5 %", ["≥ 0.85", "≥ 75 %"]);
    for kind in Kind::ALL {
        let alarms = if kind == Kind::Lasting { "≤ 10 %" } else { "≤ 5 %" };
        add(kind.name(), &tally(&|k| k == kind), alarms, ["", ""]);
    }
    rows
}
