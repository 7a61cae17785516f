//! Samples of a hundred values with one mode or two.

use crate::Set;
use plimsoll_judge::modes::find_modes;
use plimsoll_judge::stats::rng::SmallRng;
use plimsoll_lab::row::{row, share};
use rayon::prelude::*;

/// Number of values in a sample.
const LENGTH: usize = 100;

/// Distribution of values around 0 with unit spread.
#[derive(Clone, Copy, Debug)]
enum Shape {
    Normal,
    /// With this spread of the logarithm.
    LogNormal(f64),
    /// Sum of this number of exponential values.
    Erlang(u32),
    /// Student's t with this number of degrees of freedom.
    Student(u32),
    Uniform,
    Logistic,
    Laplace,
    /// Extreme values.
    Gumbel,
    /// With this exponent.
    Weibull(f64),
    /// Half of it cut off by a normal variable of four times its weight (Azzalini 1985).
    SkewNormal,
    /// The sum of two uniform values.
    Triangle,
    /// Normal values, of which three in a hundred lie 6 to 12 standard deviations above.
    Outliers,
    /// A narrow peak, and beside its middle, so far that no valley is between, a foot three times as wide that holds this share.
    Foot(f64),
}

impl Shape {
    fn name(self) -> String {
        match self {
            Self::LogNormal(spread) => format!("log-normal, {spread}"),
            Self::Erlang(1) => "exponential".to_owned(),
            Self::Erlang(stages) => format!("gamma, {stages}"),
            Self::Student(freedom) => format!("t, {freedom}"),
            Self::Weibull(exponent) => format!("Weibull, {exponent}"),
            Self::SkewNormal => "skew normal".to_owned(),
            Self::Outliers => "normal with 3 % far off".to_owned(),
            Self::Foot(share) => format!("a peak with a foot of {:.0} %", 100.0 * share),
            other => format!("{other:?}").to_lowercase(),
        }
    }

    /// A value; its spread is 1 for those that modes are made of, normal, logistic, triangle, uniform and Erlang.
    fn draw(self, rng: &mut SmallRng) -> f64 {
        let exponential = |rng: &mut SmallRng| -(1.0 - rng.uniform()).ln();
        match self {
            Self::Normal => rng.normal(),
            Self::LogNormal(spread) => (spread * rng.normal()).exp(),
            Self::Erlang(stages) => {
                let sum: f64 = (0..stages).map(|_| exponential(rng)).sum();
                (sum - f64::from(stages)) / f64::from(stages).sqrt()
            }
            Self::Student(freedom) => {
                let chi_square: f64 = (0..freedom).map(|_| rng.normal().powi(2)).sum();
                rng.normal() / (chi_square / f64::from(freedom)).sqrt()
            }
            Self::Uniform => (rng.uniform() - 0.5) * 12.0_f64.sqrt(),
            Self::Logistic => {
                let u = rng.uniform().clamp(1e-12, 1.0 - 1e-12);
                (u / (1.0 - u)).ln() * 3.0_f64.sqrt() / std::f64::consts::PI
            }
            Self::Laplace => {
                let sign = if rng.coin() { 1.0 } else { -1.0 };
                sign * exponential(rng) / 2.0_f64.sqrt()
            }
            Self::Gumbel => -exponential(rng).max(1e-300).ln(),
            Self::Weibull(exponent) => exponential(rng).powf(1.0 / exponent),
            Self::SkewNormal => {
                let (kept, cut) = (rng.normal(), rng.normal());
                if cut < 4.0 * kept { kept } else { -kept }
            }
            Self::Triangle => (rng.uniform() + rng.uniform() - 1.0) * 6.0_f64.sqrt(),
            Self::Outliers => {
                let far = if rng.uniform() < 0.03 { 6.0 + 6.0 * rng.uniform() } else { 0.0 };
                rng.normal() + far
            }
            Self::Foot(share) if rng.uniform() < share => 2.7 + 3.0 * rng.normal(),
            Self::Foot(_) => rng.normal(),
        }
    }
}

/// Coarseness of the values.
#[derive(Clone, Copy, Debug)]
enum Grain {
    Fine,
    /// Rounded to multiples of this, in standard deviations of the narrower mode.
    Rounded(f64),
    /// Most lie close to multiples of this, as times do that a timer ends now and then; the others are drawn as they are.
    NearSteps(f64),
    /// Bootstrap sample of this number of values.
    Resampled(usize),
}

impl Grain {
    fn name(self) -> String {
        match self {
            Self::Fine => String::new(),
            Self::Rounded(step) => format!(", rounded to {step} sd"),
            Self::NearSteps(step) => format!(", most near steps of {step} sd"),
            Self::Resampled(count) => format!(", resampled from {count}"),
        }
    }

    fn sample(self, rng: &mut SmallRng, mut draw: impl FnMut(&mut SmallRng) -> f64) -> Vec<f64> {
        match self {
            Self::Fine => (0..LENGTH).map(|_| draw(rng)).collect(),
            Self::Rounded(step) => (0..LENGTH).map(|_| (draw(rng) / step).round() * step).collect(),
            Self::NearSteps(step) => {
                let near = |x: f64, rng: &mut SmallRng| {
                    let to_a_step = (x / step).round() * step + 0.02 * step * rng.normal();
                    if rng.uniform() < 0.7 { to_a_step } else { x }
                };
                let drawn = (0..LENGTH).map(|_| {
                    let x = draw(rng);
                    near(x, rng)
                });
                drawn.collect()
            }
            Self::Resampled(count) => {
                let few: Vec<f64> = (0..count).map(|_| draw(rng)).collect();
                (0..LENGTH).map(|_| few[rng.below(count)]).collect()
            }
        }
    }
}

/// Two modes, each with its share of the values exactly where few are drawn, and by chance otherwise.
#[derive(Clone, Copy, Debug)]
struct Pair {
    shape: Shape,
    /// Between the two centres, in pooled standard deviations: Ashman's D.
    apart: f64,
    /// The upper mode's share.
    weight: f64,
    /// The upper mode's standard deviation, where the lower one's is 1.
    spread: f64,
}

impl Pair {
    fn draw(self, upper: bool, rng: &mut SmallRng) -> f64 {
        let pooled = ((1.0 + self.spread * self.spread) / 2.0).sqrt();
        let z = self.shape.draw(rng);
        if upper { self.apart * pooled + self.spread * z } else { z }
    }

    fn sample(self, grain: Grain, rng: &mut SmallRng) -> Vec<f64> {
        let mut drawn = 0;
        let few = if let Grain::Resampled(count) = grain { count } else { 0 };
        let uppers = (self.weight * few as f64).round() as usize;
        grain.sample(rng, |rng| {
            drawn += 1;
            let upper = if few > 0 { drawn <= uppers } else { rng.uniform() < self.weight };
            self.draw(upper, rng)
        })
    }
}

/// A series with one mode, in which time may play a part.
#[derive(Clone, Copy, Debug)]
enum Single {
    Of(Shape, Grain),
    /// Normal values whose level rises steadily, by this number of standard deviations in all.
    Drift(f64),
    /// Normal values whose level steps by this number of standard deviations, after this share of the time.
    Step(f64, f64),
    /// Two steps at a third and two thirds of the time.
    TwoSteps(f64, f64),
    /// A first-order autoregression.
    Autoregression(f64),
    /// A sum of normal steps, with normal values around it.
    Walk,
}

impl Single {
    fn name(self) -> String {
        match self {
            Self::Of(shape, grain) => shape.name() + &grain.name(),
            Self::Drift(sd) => format!("normal, drifting by {sd} sd"),
            Self::Step(sd, _) => format!("normal with a step of {sd} sd"),
            Self::TwoSteps(..) => "normal with two steps".to_owned(),
            Self::Autoregression(rho) => format!("AR(1), {rho}"),
            Self::Walk => "random walk".to_owned(),
        }
    }

    fn draw(self, rng: &mut SmallRng) -> Vec<f64> {
        let n = LENGTH as f64;
        let mut state = rng.normal();
        match self {
            Self::Of(shape, grain) => grain.sample(rng, |rng| shape.draw(rng)),
            Self::Drift(sd) => (0..LENGTH).map(|i| sd * i as f64 / n + rng.normal()).collect(),
            Self::Step(sd, at) => {
                (0..LENGTH).map(|i| rng.normal() + if i as f64 >= at * n { sd } else { 0.0 }).collect()
            }
            Self::TwoSteps(first, second) => {
                let levels = [0.0, first, first + second];
                (0..LENGTH).map(|i| levels[i * 3 / LENGTH] + rng.normal()).collect()
            }
            Self::Autoregression(rho) => (0..LENGTH)
                .map(|_| {
                    state = rho * state + (1.0 - rho * rho).sqrt() * rng.normal();
                    state
                })
                .collect(),
            Self::Walk => (0..LENGTH)
                .map(|_| {
                    state += 0.5 * rng.normal();
                    state + rng.normal()
                })
                .collect(),
        }
    }
}

fn singles(set: Set) -> Vec<Single> {
    use Grain::{Fine, NearSteps, Resampled, Rounded};
    let fine = |shape| Single::Of(shape, Fine);
    match set {
        Set::Tuned => vec![
            fine(Shape::Normal),
            fine(Shape::LogNormal(0.3)),
            fine(Shape::LogNormal(0.7)),
            fine(Shape::Erlang(2)),
            fine(Shape::Erlang(5)),
            fine(Shape::Student(3)),
            fine(Shape::Student(6)),
            fine(Shape::Uniform),
            Single::Of(Shape::Normal, Rounded(0.5)),
            Single::Of(Shape::LogNormal(0.5), Rounded(0.25)),
            Single::Of(Shape::Normal, Resampled(11)),
            Single::Of(Shape::Normal, NearSteps(0.6)),
            fine(Shape::Foot(0.5)),
            Single::Of(Shape::LogNormal(0.3), NearSteps(0.2)),
            Single::Drift(6.0),
            Single::Step(4.0, 0.4),
            Single::Step(8.0, 0.7),
            Single::Autoregression(0.6),
        ],
        Set::HeldOut => vec![
            fine(Shape::Normal),
            fine(Shape::LogNormal(0.5)),
            fine(Shape::Student(3)),
            fine(Shape::Logistic),
            fine(Shape::Laplace),
            fine(Shape::Gumbel),
            fine(Shape::Weibull(1.5)),
            fine(Shape::Erlang(1)),
            fine(Shape::SkewNormal),
            fine(Shape::Triangle),
            fine(Shape::Outliers),
            Single::Of(Shape::Gumbel, Rounded(0.4)),
            Single::Of(Shape::Logistic, Resampled(15)),
            Single::Of(Shape::Normal, NearSteps(0.8)),
            fine(Shape::Foot(0.4)),
            Single::Of(Shape::Gumbel, NearSteps(0.5)),
            Single::Drift(3.5),
            Single::Drift(12.0),
            Single::Step(5.5, 0.25),
            Single::TwoSteps(4.0, -7.0),
            Single::Autoregression(0.8),
            Single::Walk,
        ],
    }
}

/// Pairs of a set, with their names in the table.
fn pairs(set: Set) -> Vec<(String, Pair, Grain)> {
    let mut pairs = Vec::new();
    let mut add = |shape: Shape, apart: f64, weight: f64, spread: f64, grain: Grain| {
        let name = format!(
            "{}, {apart} sd, {} %, widths 1:{spread}{}",
            shape.name(),
            (100.0 * weight).round(),
            grain.name()
        );
        pairs.push((name, Pair { shape, apart, weight, spread }, grain));
    };
    match set {
        Set::Tuned => {
            for apart in [3.0, 4.0, 6.0, 20.0] {
                for weight in [0.2, 0.35, 0.5] {
                    add(Shape::Normal, apart, weight, 1.0, Grain::Fine);
                }
            }
            for (weight, spread) in [(0.2, 3.0), (0.5, 3.0), (0.8, 3.0)] {
                add(Shape::Normal, 4.0, weight, spread, Grain::Fine);
                add(Shape::Normal, 20.0, weight, spread, Grain::Fine);
            }
            for grain in [Grain::Rounded(0.5), Grain::Rounded(1.0), Grain::Resampled(11)] {
                add(Shape::Normal, 4.0, 0.3, 1.0, grain);
                add(Shape::Normal, 6.0, 0.3, 1.0, grain);
                add(Shape::Normal, 25.0, 0.45, 1.0, grain);
            }
        }
        Set::HeldOut => {
            for apart in [3.0, 3.5, 4.5, 8.0] {
                for weight in [0.2, 0.3, 0.4, 0.6, 0.8] {
                    add(Shape::Normal, apart, weight, 1.0, Grain::Fine);
                }
            }
            for (apart, weight, spread) in
                [(3.5, 0.4, 2.0), (3.5, 0.7, 2.0), (4.5, 0.25, 2.0), (5.0, 0.75, 4.0), (5.0, 0.25, 0.25)]
            {
                add(Shape::Normal, apart, weight, spread, Grain::Fine);
            }
            for shape in [Shape::Logistic, Shape::Triangle, Shape::Uniform, Shape::Erlang(9)] {
                add(shape, 4.5, 0.3, 1.0, Grain::Fine);
                add(shape, 12.0, 0.6, 1.5, Grain::Fine);
            }
            for grain in [Grain::Rounded(0.7), Grain::Resampled(9), Grain::Resampled(14)] {
                add(Shape::Normal, 3.5, 0.45, 1.0, grain);
                add(Shape::Normal, 5.0, 0.3, 1.0, grain);
                add(Shape::Logistic, 15.0, 0.25, 2.0, grain);
            }
        }
    }
    pairs
}

/// Rates of a disk timed eleven times, in MB/s, with and without somebody else who reads.
const DISK: [f64; 11] = [108.43, 57.12, 110.02, 107.55, 60.31, 59.08, 109.17, 58.44, 106.91, 61.27, 108.86];

/// The rows of the table: one mode taken for several, then two modes found, kind by kind.
pub(crate) fn rows(set: Set, quick: bool) -> Vec<String> {
    let count = if quick { 200 } else { 2_000 };
    let several = |kind: usize, draw: &(dyn Fn(&mut SmallRng) -> Vec<f64> + Sync)| {
        let seed = |i: usize| (set as u64) << 60 | (kind as u64) << 32 | i as u64;
        let judged = (0..count).into_par_iter().map(|i| {
            let values = draw(&mut SmallRng::new(seed(i)));
            let found =
                find_modes(&values).unwrap_or_else(|e| panic!("a simulated sample is not judged: {e}"));
            usize::from(found.modes.len() > 1)
        });
        judged.sum::<usize>()
    };
    let mut rows = Vec::new();
    for (kind, single) in singles(set).into_iter().enumerate() {
        let alarms = several(kind, &|rng| single.draw(rng));
        rows.push(row(
            "modes, one, n = 100",
            &format!("{}: taken for several", single.name()),
            &share(alarms, count),
            "≤ 2 %",
        ));
    }
    for (kind, (name, pair, grain)) in pairs(set).into_iter().enumerate() {
        let found = several(1_000 + kind, &|rng| pair.sample(grain, rng));
        rows.push(row("modes, two, n = 100", &format!("{name}: found"), &share(found, count), "≥ 98 %"));
    }
    let disk = several(2_000, &|rng| (0..LENGTH).map(|_| DISK[rng.below(DISK.len())]).collect());
    rows.push(row(
        "modes, two, n = 100",
        "11 disk rates in two groups, resampled: found",
        &share(disk, count),
        "≥ 98 %",
    ));
    rows
}
