//! How often kinds of growth are distinguished, and other shapes refused. Each experiment has newly drawn numbers, repeats, scatter with heavy
//! tails, and coefficients.

use plimsoll_judge::models::growth::{Growth, GrowthPoint, Kind, fit_growth};
use plimsoll_judge::stats::rng::SmallRng;
use plimsoll_lab::row::{row, share};
use rayon::prelude::*;

/// An experiment: the numbers of workers with their repeats, and how much a time scatters.
struct Design {
    numbers: Vec<f64>,
    scatter: f64,
}

impl Design {
    /// Six to ten numbers that double or grow by half, three to six times each, with a scatter of 1 to 6 %.
    fn drawn(rng: &mut SmallRng) -> Self {
        let (first, factor) = ([1.0, 5.0, 40.0][rng.below(3)], [1.6, 2.0, 2.5][rng.below(3)]);
        let (count, repeats) = (6 + rng.below(5), 3 + rng.below(4));
        let numbers = (0..count).map(|i| (first * f64::powi(factor, i as i32)).round());
        Self {
            numbers: numbers.flat_map(|n| std::iter::repeat_n(n, repeats)).collect(),
            scatter: 0.01 + 0.05 * rng.uniform(),
        }
    }

    fn smallest(&self) -> f64 {
        self.numbers[0]
    }

    fn largest(&self) -> f64 {
        self.numbers[self.numbers.len() - 1]
    }

    /// A number within the range, away from its ends by the share of the logarithm.
    fn inside(&self, rng: &mut SmallRng) -> f64 {
        let share = 0.35 + 0.3 * rng.uniform();
        self.smallest() * (self.largest() / self.smallest()).powf(share)
    }

    /// Growth fitted to noisy times: each is off by a factor that is a Laplace variable on the logarithm.
    fn measured(&self, time: impl Fn(f64) -> f64, rng: &mut SmallRng) -> Option<Growth> {
        let mut off = || {
            let side = if rng.coin() { 1.0 } else { -1.0 };
            side * -(1.0 - rng.uniform()).ln() * self.scatter / 2.0_f64.sqrt()
        };
        let points: Vec<GrowthPoint> =
            self.numbers.iter().map(|&n| GrowthPoint { n, time: time(n) * off().exp() }).collect();
        fit_growth(&points).ok()
    }
}

pub(crate) fn rows(quick: bool) -> Vec<String> {
    let count = if quick { 60 } else { 400 };
    let each = |judge: fn(&mut SmallRng) -> bool, stream: u64| {
        let right = |&i: &usize| judge(&mut SmallRng::new((stream << 32) + i as u64));
        share((0..count).into_par_iter().filter(right).count(), count)
    };
    let drawn = "growth, 6 to 10 numbers, 3 to 6 points each, time ± 1 to 6 % with heavy tails";
    let none = "growth, the same, of no kind";
    let bare = "growth, 5 to 8 numbers without repeats, time ± 1 to 5 %";
    vec![
        row(
            drawn,
            "constant, linear, linear + quadratic, power and knee distinguished",
            &each(is_found, 21),
            "≥ 95 %",
        ),
        row(drawn, "linear + quadratic called a knee", &each(square_is_a_knee, 22), "≤ 2 %"),
        row(drawn, "linear + quadratic: doubling within 10 %", &each(doubling_is_near, 23), "≥ 95 %"),
        row(bare, "n log n called so", &each(|rng| is_of(Kind::Linearithmic, rng) == Some(true), 51), ""),
        row(
            bare,
            "n log n called another kind, and no other named",
            &each(|rng| is_of(Kind::Linearithmic, rng) == Some(false), 51),
            "≤ 5 %",
        ),
        row(bare, "log n called so", &each(|rng| is_of(Kind::Logarithmic, rng) == Some(true), 52), ""),
        row(
            bare,
            "log n called another kind, and no other named",
            &each(|rng| is_of(Kind::Logarithmic, rng) == Some(false), 52),
            "≤ 5 %",
        ),
        row(bare, "a climb to a level called log n", &each(climb_is_a_logarithm, 53), "≤ 5 %"),
        row(drawn, "knee: doubling within its 95 % interval", &each(doubling_is_held, 54), "93 to 97 %"),
        row(drawn, "refused", &each(is_refused, 24), "≤ 2 %"),
        row(none, "a step by 2 to 5 refused", &each(step_is_refused, 25), "≥ 95 %"),
        row(none, "a wave of 20 % refused", &each(wave_is_refused, 26), "≥ 95 %"),
        row(none, "a climb to a plateau refused", &each(plateau_is_refused, 27), "≥ 95 %"),
    ]
}

/// Kinds of growth in these experiments.
const KINDS: [Kind; 5] = [Kind::Constant, Kind::Linear, Kind::Quadratic, Kind::Power, Kind::Knee];

/// A time that is of a kind, and so clearly that a simpler one would be wrong by a factor: each part makes up half of the time somewhere.
fn of_kind(kind: Kind, design: &Design, rng: &mut SmallRng) -> Box<dyn Fn(f64) -> f64> {
    let (within, largest) = (design.inside(rng), design.largest());
    let level = 1.0 + 99.0 * rng.uniform();
    match kind {
        Kind::Constant => Box::new(move |_| level),
        Kind::Linear => Box::new(move |n| level * (1.0 + n / within)),
        Kind::Logarithmic => Box::new(move |n| level * (0.5 + n.log2())),
        Kind::Linearithmic => Box::new(move |n| level * (0.5 + n * n.log2())),
        Kind::Power => {
            let exponent = [1.4, 1.6, 1.8][rng.below(3)];
            Box::new(move |n: f64| level * n.powf(exponent))
        }
        Kind::Quadratic => Box::new(move |n| level * (1.0 + 3.0 * n / largest + n * n / within.powi(2))),
        Kind::Knee => Box::new(move |n: f64| level * (n + 4.0 * (n - within).max(0.0))),
    }
}

fn is_found(rng: &mut SmallRng) -> bool {
    let design = Design::drawn(rng);
    let kind = KINDS[rng.below(KINDS.len())];
    let time = of_kind(kind, &design, rng);
    design.measured(time, rng).is_some_and(|found| found.is_described && found.kind == kind)
}

/// One time at each of 5 to 8 numbers, that double or grow by a factor of 4.
fn bare(time: impl Fn(f64) -> f64, rng: &mut SmallRng) -> Growth {
    let (first, factor) = ([10.0, 32.0][rng.below(2)], [2.0, 4.0][rng.below(2)]);
    let (count, scatter) = (5 + rng.below(4), 0.01 + 0.04 * rng.uniform());
    let points: Vec<GrowthPoint> = (0..count)
        .map(|i| first * f64::powi(factor, i as i32))
        .map(|n| GrowthPoint { n, time: time(n) * (scatter * rng.normal()).exp() })
        .collect();
    fit_growth(&points).expect("points of a curve can be fitted")
}

/// Whether the judge names this kind; `None` if it names none, or says that several kinds fit.
fn is_of(kind: Kind, rng: &mut SmallRng) -> Option<bool> {
    let level = rng.uniform();
    let found = if kind == Kind::Logarithmic {
        bare(|n| 0.5 + 4.0 * level + n.log2(), rng)
    } else {
        bare(|n| 10.0 * level + n * n.log2(), rng)
    };
    let is_sure = !found.verdict("time").reason.contains("about as well");
    (found.is_described && (is_sure || found.kind == kind)).then_some(found.kind == kind)
}

fn climb_is_a_logarithm(rng: &mut SmallRng) -> bool {
    let (half, level) = (20.0 * 50.0_f64.powf(rng.uniform()), 0.5 * rng.uniform());
    let found = if rng.coin() {
        bare(|n| level + n / (n + half), rng)
    } else {
        bare(|n| level + 1.0 - (-n / half).exp(), rng)
    };
    found.is_described && found.kind == Kind::Logarithmic
}

/// Whether the interval of the doubling holds the truth. Experiments without a named knee have no interval and are drawn again.
fn doubling_is_held(rng: &mut SmallRng) -> bool {
    loop {
        let design = Design::drawn(rng);
        let time = of_kind(Kind::Knee, &design, rng);
        let truth = time(design.largest()) / time(design.largest() / 2.0);
        let Some(found) = design.measured(time, rng).filter(|found| found.kind == Kind::Knee) else {
            continue;
        };
        return found.doubling_interval.lo() <= truth && truth <= found.doubling_interval.hi();
    }
}

fn square_is_a_knee(rng: &mut SmallRng) -> bool {
    let design = Design::drawn(rng);
    let time = of_kind(Kind::Quadratic, &design, rng);
    design.measured(time, rng).is_some_and(|found| found.is_described && found.kind == Kind::Knee)
}

fn doubling_is_near(rng: &mut SmallRng) -> bool {
    let design = Design::drawn(rng);
    let time = of_kind(Kind::Quadratic, &design, rng);
    let truth = time(design.largest()) / time(design.largest() / 2.0);
    design.measured(time, rng).is_some_and(|found| (found.doubling / truth - 1.0).abs() < 0.1)
}

fn is_refused(rng: &mut SmallRng) -> bool {
    let design = Design::drawn(rng);
    let kind = KINDS[rng.below(KINDS.len())];
    let time = of_kind(kind, &design, rng);
    design.measured(time, rng).is_some_and(|found| !found.is_described)
}

fn step_is_refused(rng: &mut SmallRng) -> bool {
    let design = Design::drawn(rng);
    let (place, height) = (design.inside(rng), 2.0 + 3.0 * rng.uniform());
    design
        .measured(|n| if n < place { 10.0 } else { 10.0 * height }, rng)
        .is_some_and(|found| !found.is_described)
}

fn wave_is_refused(rng: &mut SmallRng) -> bool {
    let design = Design::drawn(rng);
    let begins = 6.0 * rng.uniform();
    let wave = |n: f64| n * (1.0 + 0.2 * (begins + 1.7 * n.ln()).sin());
    design.measured(wave, rng).is_some_and(|found| !found.is_described)
}

fn plateau_is_refused(rng: &mut SmallRng) -> bool {
    let design = Design::drawn(rng);
    let half = design.inside(rng);
    design.measured(|n| 100.0 * n / (n + half), rng).is_some_and(|found| !found.is_described)
}
