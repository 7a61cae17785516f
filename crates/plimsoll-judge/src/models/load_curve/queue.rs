//! The queues that processors may be, and the mean number of jobs in each.

use super::{closed_load, erlang_c};
use serde::Serialize;

/// The squared coefficient of variation of service times that are exponential.
pub(super) const EXPONENTIAL: f64 = 1.0;

/// A queueing model of `c` processors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Queue {
    /// One queue, one server as fast as all processors together.
    Single,
    /// One queue that all processors serve.
    Shared,
    /// A queue of its own for each processor.
    Separate,
}

impl Queue {
    /// The usual name with exponential service times, such as `M/M/2`.
    pub fn name(self, cpus: usize) -> String {
        self.named('M', cpus)
    }

    /// The usual name with a letter for the service times: `M` exponential, `G` any.
    pub(super) fn named(self, service: char, cpus: usize) -> String {
        match self {
            Self::Single => format!("M/{service}/1"),
            Self::Shared => format!("M/{service}/{cpus}"),
            Self::Separate => format!("{cpus} x M/{service}/1"),
        }
    }

    /// The mean number in the system at a utilisation while `users` have one job each at most; queues of their own have equal shares of them.
    pub fn closed_load(self, utilisation: f64, cpus: usize, users: usize) -> f64 {
        match self {
            Self::Single => closed_load(1, users, utilisation),
            Self::Shared => closed_load(cpus, users, utilisation),
            Self::Separate => cpus as f64 * closed_load(1, users.div_ceil(cpus), utilisation),
        }
    }

    /// The mean number in the system at a utilisation from 0 to below 1, with exponential service times; infinite from 1 on.
    pub fn load(self, utilisation: f64, cpus: usize) -> f64 {
        self.general_load(utilisation, cpus, EXPONENTIAL)
    }

    /// The mean number with service times of this squared coefficient of variation: exact for one server (Pollaczek and Khinchine), near for several
    /// (Allen & Cunneen; Allen 1990, *Probability, Statistics, and Queueing Theory*, 5.3).
    pub fn general_load(self, utilisation: f64, cpus: usize, variation: f64) -> f64 {
        self.served(utilisation, cpus) + self.waiting(utilisation, cpus) * f64::midpoint(1.0, variation)
    }

    /// The mean number in service.
    pub(super) fn served(self, utilisation: f64, cpus: usize) -> f64 {
        match self {
            Self::Single => utilisation,
            Self::Shared | Self::Separate => cpus as f64 * utilisation,
        }
    }

    /// The mean number that waits, with exponential service times.
    pub(super) fn waiting(self, utilisation: f64, cpus: usize) -> f64 {
        if utilisation >= 1.0 {
            return f64::INFINITY;
        }
        let odds = utilisation / (1.0 - utilisation);
        match self {
            Self::Single => utilisation * odds,
            Self::Shared => erlang_c(cpus, cpus as f64 * utilisation) * odds,
            Self::Separate => cpus as f64 * utilisation * odds,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_processors_with_one_queue_hold_two_rho_over_one_minus_rho_squared() {
        for rho in [0.1, 0.5, 0.9] {
            let expected = 2.0 * rho / (1.0 - rho * rho);
            assert!((Queue::Shared.load(rho, 2) - expected).abs() < 1e-12);
        }
    }

    #[test]
    fn fixed_service_times_hold_the_textbooks_number() {
        // M/D/1 (Gross & Harris, 5.1): ρ(2 - ρ) / (2(1 - ρ)); M/M/1: ρ / (1 - ρ).
        for rho in [0.1, 0.5, 0.9] {
            let fixed = rho * (2.0 - rho) / (2.0 * (1.0 - rho));
            assert!((Queue::Single.general_load(rho, 1, 0.0) - fixed).abs() < 1e-12);
            assert!((Queue::Single.load(rho, 1) - rho / (1.0 - rho)).abs() < 1e-12);
            assert!((Queue::Separate.load(rho, 3) - 3.0 * rho / (1.0 - rho)).abs() < 1e-12);
        }
    }
}
