//! Noise as machines make it: weather that drifts and lasts, which neighbours in time share, and neighbours that take the
//! processor for a moment, which only one of them may feel.

use plimsoll_judge::stats::rng::SmallRng;

/// The weather of a machine: an AR(1) series of log factors, with a slow drift.
pub(crate) struct Weather {
    rng: SmallRng,
    state: f64,
    drift: f64,
}

impl Weather {
    /// Spread of single readings of the weather (standard deviation of the log).
    const SPREAD: f64 = 0.03;
    /// Share of it that lasts to the next reading.
    const MEMORY: f64 = 0.9;

    pub(crate) fn new(seed: u64) -> Self {
        let mut rng = SmallRng::new(seed);
        let state = Self::SPREAD * rng.normal();
        Self { drift: 0.001 * rng.normal(), state, rng }
    }

    /// The log factor of the next moment.
    pub(crate) fn next(&mut self) -> f64 {
        let innovation = Self::SPREAD * (1.0 - Self::MEMORY * Self::MEMORY).sqrt();
        self.state = Self::MEMORY * self.state + innovation * self.rng.normal() + self.drift;
        self.state
    }
}

/// Noise between the two measurements of a pair.
#[derive(Clone, Copy, Debug)]
pub(crate) enum PairNoise {
    /// Normal, so that differences of pairs have a standard deviation of 1.1 %.
    Normal,
    /// Noise as above; one pair in twenty has a side that a neighbour slowed by up to a half.
    Neighbour,
    /// Normal noise, and each side is in one of two modes 3 % apart.
    Modes,
}

impl PairNoise {
    pub(crate) const ALL: [Self; 3] = [Self::Normal, Self::Neighbour, Self::Modes];
    /// The standard deviation of the log difference of pairs.
    pub(crate) const PAIR_SD: f64 = 0.011;

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Normal => "normal",
            Self::Neighbour => "5 % wild",
            Self::Modes => "two modes",
        }
    }

    pub(crate) fn draw(self, rng: &mut SmallRng) -> f64 {
        let normal = Self::PAIR_SD / std::f64::consts::SQRT_2 * rng.normal();
        match self {
            Self::Normal => normal,
            Self::Neighbour if rng.uniform() < 0.025 => normal + 0.5 * rng.uniform(),
            Self::Neighbour => normal,
            Self::Modes => normal + if rng.coin() { 0.03 } else { 0.0 },
        }
    }
}
