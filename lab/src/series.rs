//! Series like a nightly benchmark's history: levels that step now and then, and noise of four kinds.

use plimsoll_judge::stats::rng::SmallRng;

/// Number of values in a history.
pub const LENGTH: usize = 150;
/// No change lies nearer to another, or to an end.
const GAP: usize = 10;

/// Scatter of the values around their level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scatter {
    /// Independent normal values.
    Normal,
    /// Student's t with three degrees of freedom, scaled to unit variance.
    HeavyTails,
    /// A first-order autoregression with ρ between 0.3 and 0.7.
    Autoregressive,
    /// Normal values, 3 % of them moved by 4 to 12 standard deviations, mostly up.
    Outliers,
}

impl Scatter {
    pub const ALL: [Self; 4] = [Self::Normal, Self::HeavyTails, Self::Autoregressive, Self::Outliers];

    pub fn name(self) -> &'static str {
        match self {
            Self::Normal => "normal",
            Self::HeavyTails => "heavy tails",
            Self::Autoregressive => "AR(1)",
            Self::Outliers => "outliers",
        }
    }

    /// `n` values of unit spread.
    pub fn draw(self, n: usize, rng: &mut SmallRng) -> Vec<f64> {
        let rho = 0.3 + 0.4 * rng.uniform();
        let mut state = rng.normal();
        (0..n)
            .map(|_| match self {
                Self::Normal => rng.normal(),
                Self::HeavyTails => {
                    let chi_square: f64 = (0..3).map(|_| rng.normal().powi(2)).sum();
                    rng.normal() / chi_square.sqrt()
                }
                Self::Autoregressive => {
                    state = rho * state + (1.0 - rho * rho).sqrt() * rng.normal();
                    state
                }
                Self::Outliers => {
                    let sign = if rng.uniform() < 0.8 { 1.0 } else { -1.0 };
                    let far = if rng.uniform() < 0.03 { sign * (4.0 + 8.0 * rng.uniform()) } else { 0.0 };
                    rng.normal() + far
                }
            })
            .collect()
    }
}

/// A simulated history and the places at which its level really stepped.
pub struct Series {
    pub scatter: Scatter,
    pub truth: Vec<usize>,
    /// The size of each step, in the unit of the values.
    pub sizes: Vec<f64>,
    pub values: Vec<f64>,
}

/// `count` histories, of each kind of scatter in turn; two in five have no change, the others one to four of 2 to 30 %. The noise is
/// between 1 and 8 % of the level.
pub fn histories(count: usize, seed: u64) -> Vec<Series> {
    (0..count)
        .map(|i| {
            let mut rng = SmallRng::new(seed.wrapping_mul(1_000_003).wrapping_add(i as u64));
            let changes = if i / 4 % 5 < 2 { 0 } else { 1 + rng.below(4) };
            history(Scatter::ALL[i % 4], changes, &mut rng)
        })
        .collect()
}

fn history(scatter: Scatter, changes: usize, rng: &mut SmallRng) -> Series {
    let truth = places(changes, rng);
    let spread = log_uniform(0.01, 0.08, rng);
    let noise = scatter.draw(LENGTH, rng);
    let mut level = 100.0;
    let mut sizes = Vec::with_capacity(changes);
    let mut values = Vec::with_capacity(LENGTH);
    for (i, noise) in noise.iter().enumerate() {
        if truth.contains(&i) {
            let factor = 1.0 + log_uniform(0.02, 0.30, rng);
            let next = if rng.coin() { level * factor } else { level / factor };
            sizes.push(next - level);
            level = next;
        }
        values.push(level * (1.0 + spread * noise));
    }
    Series { scatter, truth, sizes, values }
}

fn places(count: usize, rng: &mut SmallRng) -> Vec<usize> {
    loop {
        let mut places: Vec<usize> = (0..count).map(|_| GAP + rng.below(LENGTH - 2 * GAP)).collect();
        places.sort_unstable();
        if places.windows(2).all(|w| w[1] - w[0] >= GAP) {
            return places;
        }
    }
}

fn log_uniform(from: f64, to: f64, rng: &mut SmallRng) -> f64 {
    from * (rng.uniform() * (to / from).ln()).exp()
}
