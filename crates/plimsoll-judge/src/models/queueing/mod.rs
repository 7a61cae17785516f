//! Predicts the performance of a rig that does not exist yet: by a formula if one exists, else by simulation of events.
//!
//! A rig is `hosts` times `cpus` processors, jobs that arrive by themselves or from users who think in between, and the time that
//! one job keeps one processor busy. Formulas: M/M/c (Erlang 1917), a random choice of a host (which splits a Poisson stream into Poisson
//! streams), and the mean of M/G/1 by Pollaczek and Khinchine (queue) or Kleinrock 1967 (shared). Everything else is simulated.

pub mod light;
mod simulation;

use serde::Serialize;

use super::load_curve::erlang_c;
use crate::input::{JudgeError, positive};
use crate::stats::rng::SmallRng;
use crate::stats::{mean, sd};
use simulation::{Outcome, simulate};

/// Runs of the simulation, each with random numbers of its own; their scatter gives the interval.
const REPLICATIONS: usize = 12;
/// Student's t for 95 % and eleven degrees of freedom.
const T_95: f64 = 2.201;
/// Utilisation above which an open rig is said to be unable to carry its load: no simulation of finite length settles there.
const CARRIES: f64 = 0.995;

/// The share of the jobs that come before the steady state is taken to begin.
const WARM_UP: f64 = 0.2;
/// The most jobs of a probe that are simulated: more take long, and the queue has long grown to its length, but where it hardly ever does.
const MOST_JOBS: usize = 20_000;
/// The share of the processors' capacity that leaves them idle.
const IDLE: f64 = 1e-4;

/// How long a job keeps a processor busy, in seconds.
#[derive(Clone, Debug, PartialEq)]
pub enum Times {
    /// Exponential with this mean.
    Exponential(f64),
    /// Always the same.
    Fixed(f64),
    /// Drawn from what was measured, each value as likely as the others.
    Measured(Vec<f64>),
}

impl Times {
    /// The mean in seconds.
    pub fn mean(&self) -> f64 {
        match self {
            Self::Exponential(mean) | Self::Fixed(mean) => *mean,
            Self::Measured(values) => mean(values),
        }
    }

    /// The variance over the square of the mean: 1 when exponential, 0 when fixed.
    pub fn squared_variation(&self) -> f64 {
        match self {
            Self::Exponential(_) => 1.0,
            Self::Fixed(_) => 0.0,
            Self::Measured(values) => (sd(values) / mean(values)).powi(2),
        }
    }

    fn draw(&self, rng: &mut SmallRng) -> f64 {
        match self {
            Self::Exponential(mean) => exponential(*mean, rng),
            Self::Fixed(value) => *value,
            Self::Measured(values) => values[rng.below(values.len())],
        }
    }

    fn check(&self) -> Result<(), JudgeError> {
        match self {
            Self::Exponential(mean) | Self::Fixed(mean) => positive("service time", &[*mean]),
            Self::Measured(values) => positive("service times", values),
        }
    }
}

fn exponential(mean: f64, rng: &mut SmallRng) -> f64 {
    -mean * (1.0 - rng.uniform()).ln()
}

/// Where jobs come from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Arrivals {
    /// By themselves, at this mean rate per second, independently of each other.
    Poisson(f64),
    /// By themselves, at equal distances, at this rate per second.
    Constant(f64),
    /// From users who each wait for their answer and then think; the time is exponential.
    Users {
        /// How many there are.
        count: usize,
        /// The mean time that each thinks, in seconds.
        think: f64,
    },
}

/// Order of service when more jobs than processors are on a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Discipline {
    /// The first come; the others wait in one queue.
    Queue,
    /// All of them, in turns so short that each has an equal share: a scheduler with a process for each job.
    Shared,
}

/// Which host a job goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Dispatch {
    /// Any, by chance.
    Random,
    /// Each in turn.
    RoundRobin,
    /// The one with the fewest jobs.
    LeastBusy,
}

/// A rig to predict.
#[derive(Clone, Debug, PartialEq)]
pub struct Rig {
    /// How many hosts there are.
    pub hosts: usize,
    /// Processors of each.
    pub cpus: usize,
    /// How long a job keeps a processor busy.
    pub service: Times,
    /// Where jobs come from.
    pub arrivals: Arrivals,
    /// Order of service.
    pub discipline: Discipline,
    /// Which host a job goes to.
    pub dispatch: Dispatch,
}

/// A predicted figure; the interval of 95 % is that of the simulation, and absent where a formula gave the figure.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Figure {
    /// The figure.
    pub value: f64,
    /// Where it lies with 95 % confidence, if the model is right.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<[f64; 2]>,
}

impl Figure {
    fn exact(value: f64) -> Self {
        Self { value, interval: None }
    }

    fn of(values: &[f64]) -> Self {
        let (value, half) = (mean(values), T_95 * sd(values) / (values.len() as f64).sqrt());
        Self { value, interval: Some([value - half, value + half]) }
    }
}

/// Prediction for a rig.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Prediction {
    /// The formula, or `simulation`.
    pub by: String,
    /// The share of all processors' time that is used, 0 to 1.
    pub utilisation: Figure,
    /// Jobs answered per second.
    pub throughput: Figure,
    /// The mean number of jobs that run or wait, on all hosts: what a load average tends to.
    pub load: Figure,
    /// The mean response time in seconds.
    pub response: Figure,
    /// Half of the answers take at most this time, in seconds.
    pub p50: Figure,
    /// 95 % of the answers.
    pub p95: Figure,
    /// 99 % of the answers.
    pub p99: Figure,
}

impl Rig {
    /// Predicts the steady state. Where no formula exists, each of twelve runs simulates `jobs` jobs.
    ///
    /// # Errors
    /// No host, processor or user; a time or rate that is not above 0; a rate that the processors cannot carry.
    pub fn predict(&self, jobs: usize, seed: u64) -> Result<Prediction, JudgeError> {
        self.check()?;
        Ok(self.by_formula().unwrap_or_else(|| self.by_simulation(jobs, seed)))
    }

    /// Predicts by simulation even where a formula exists.
    ///
    /// # Errors
    /// As [`Rig::predict`].
    pub fn simulated(&self, jobs: usize, seed: u64) -> Result<Prediction, JudgeError> {
        self.check()?;
        Ok(self.by_simulation(jobs, seed))
    }

    /// The highest rate per second at which the share `share` of the answers take at most `within` seconds, as a figure with the interval
    /// that the simulation leaves (none where a formula decides); `None` if even an idle rig takes longer.
    ///
    /// # Errors
    /// As [`Rig::predict`]; a share that is not inside of 0 to 1; a time that is not above 0.
    pub fn capacity(
        &self,
        share: f64,
        within: f64,
        jobs: usize,
        seed: u64,
    ) -> Result<Option<Figure>, JudgeError> {
        let most = self.checked_for_bound(share, within)?;
        let highest = |quantile: &dyn Fn(&Self) -> f64| {
            let holds = |rate: f64| quantile(&self.at(rate)) <= within;
            highest_that_holds(most * IDLE, most * CARRIES, holds)
        };
        if self.at(most * IDLE).markov().is_some() {
            let quantile = |rig: &Self| rig.markov().map_or(f64::INFINITY, |queue| queue.quantile(share));
            return Ok(highest(&quantile).map(Figure::exact));
        }
        Ok(in_each_run(|run| {
            highest(&|rig: &Self| simulate(rig, warm_up(jobs), jobs, &mut numbers(seed, run)).quantile(share))
        }))
    }

    /// As [`Rig::capacity`], for probes of `seconds` seconds that begin on an idle rig. A short one ends before the
    /// queue has grown to what it would be in the end, and holds the bound at rates that last for no longer: for a
    /// moment even at more than the rig carries.
    ///
    /// # Errors
    /// As [`Rig::capacity`]; a length that is not above 0.
    pub fn capacity_in_probes(
        &self,
        share: f64,
        within: f64,
        seconds: f64,
        seed: u64,
    ) -> Result<Option<Figure>, JudgeError> {
        positive("seconds", &[seconds])?;
        let most = self.checked_for_bound(share, within)?;
        // Beyond it, a queue that only grows makes more than the share wait for longer, twice over.
        let beyond = most * (2.0 + 2.0 * within / (share * seconds));
        Ok(in_each_run(|run| {
            let holds = |rate: f64| {
                let jobs = ((rate * seconds).round() as usize).clamp(1, MOST_JOBS);
                simulate(&self.at(rate), 0, jobs, &mut numbers(seed, run)).quantile(share) <= within
            };
            highest_that_holds(most * IDLE, beyond, holds)
        }))
    }

    /// The rate that the processors carry, of a rig and a bound that can be.
    fn checked_for_bound(&self, share: f64, within: f64) -> Result<f64, JudgeError> {
        positive("within", &[within])?;
        if !(share > 0.0 && share < 1.0) {
            return Err(JudgeError::Setting { name: "share", value: share, expected: "between 0 and 1" });
        }
        let most = (self.hosts * self.cpus) as f64 / self.service.mean();
        self.at(most * IDLE).check()?;
        Ok(most)
    }

    /// The rig at another rate; users become jobs that arrive at random.
    fn at(&self, rate: f64) -> Self {
        let arrivals = match self.arrivals {
            Arrivals::Constant(_) => Arrivals::Constant(rate),
            Arrivals::Poisson(_) | Arrivals::Users { .. } => Arrivals::Poisson(rate),
        };
        Self { arrivals, ..self.clone() }
    }

    fn check(&self) -> Result<(), JudgeError> {
        for (name, count) in [("hosts", self.hosts), ("cpus", self.cpus)] {
            if count == 0 {
                return Err(JudgeError::Setting { name, value: 0.0, expected: "1 or more" });
            }
        }
        self.service.check()?;
        match self.arrivals {
            Arrivals::Poisson(rate) | Arrivals::Constant(rate) => {
                positive("rate", &[rate])?;
                let most = (self.hosts * self.cpus) as f64 / self.service.mean();
                if rate > most * CARRIES {
                    return Err(JudgeError::Setting {
                        name: "rate",
                        value: rate,
                        expected: "less than the processors can carry (processors / service time)",
                    });
                }
            }
            Arrivals::Users { count, think } => {
                positive("think time", &[think])?;
                if count == 0 {
                    return Err(JudgeError::Setting { name: "users", value: 0.0, expected: "1 or more" });
                }
            }
        }
        Ok(())
    }

    /// The queue of one host, where it is M/M/c.
    fn markov(&self) -> Option<MarkovQueue> {
        let Arrivals::Poisson(rate) = self.arrivals else { return None };
        let splits = self.hosts == 1 || self.dispatch == Dispatch::Random;
        // Taking turns changes who waits, and so the quantiles; only with the queue are those known.
        let known = self.discipline == Discipline::Queue && matches!(self.service, Times::Exponential(_));
        (splits && known).then(|| MarkovQueue {
            cpus: self.cpus,
            rate: rate / self.hosts as f64,
            service: self.service.mean(),
        })
    }

    fn by_formula(&self) -> Option<Prediction> {
        let queue = self.markov()?;
        let hosts = self.hosts as f64;
        let one = format!("M/M/{}", self.cpus);
        Some(Prediction {
            by: if self.hosts == 1 { one } else { format!("{} x {one}", self.hosts) },
            utilisation: Figure::exact(queue.utilisation()),
            throughput: Figure::exact(queue.rate * hosts),
            load: Figure::exact(queue.rate * queue.response() * hosts),
            response: Figure::exact(queue.response()),
            p50: Figure::exact(queue.quantile(0.5)),
            p95: Figure::exact(queue.quantile(0.95)),
            p99: Figure::exact(queue.quantile(0.99)),
        })
    }

    fn by_simulation(&self, jobs: usize, seed: u64) -> Prediction {
        let runs: Vec<Outcome> = (0..REPLICATIONS as u64)
            .map(|run| simulate(self, warm_up(jobs), jobs, &mut numbers(seed, run)))
            .collect();
        let figure = |of: &dyn Fn(&Outcome) -> f64| Figure::of(&runs.iter().map(of).collect::<Vec<_>>());
        Prediction {
            by: "simulation".into(),
            utilisation: figure(&|run| run.utilisation),
            throughput: figure(&|run| run.throughput),
            load: figure(&|run| run.load),
            response: self.mean_by_formula().map_or_else(|| figure(&Outcome::mean), Figure::exact),
            p50: figure(&|run| run.quantile(0.5)),
            p95: figure(&|run| run.quantile(0.95)),
            p99: figure(&|run| run.quantile(0.99)),
        }
    }

    /// The mean response time of M/G/1: S(1 + ρ(1 + C²)/(2(1 - ρ))) with a queue, S/(1 - ρ) when shared, whatever the distribution.
    fn mean_by_formula(&self) -> Option<f64> {
        let Arrivals::Poisson(rate) = self.arrivals else { return None };
        let splits = self.hosts == 1 || self.dispatch == Dispatch::Random;
        if self.cpus != 1 || !splits {
            return None;
        }
        let service = self.service.mean();
        let busy = rate / self.hosts as f64 * service;
        Some(match self.discipline {
            Discipline::Shared => service / (1.0 - busy),
            Discipline::Queue => {
                service * (1.0 + busy * (1.0 + self.service.squared_variation()) / (2.0 * (1.0 - busy)))
            }
        })
    }
}

/// The highest argument in a range for which a monotonous condition holds, within a thousandth.
fn highest_that_holds(low: f64, high: f64, holds: impl Fn(f64) -> bool) -> Option<f64> {
    let (mut low, mut high) = (low, high);
    if !holds(low) {
        return None;
    }
    if holds(high) {
        return Some(high);
    }
    while high / low > 1.001 {
        let middle = if high / low > 2.0 { (low * high).sqrt() } else { f64::midpoint(low, high) };
        if holds(middle) { low = middle } else { high = middle }
    }
    Some(low)
}

/// How many of `jobs` jobs come before the steady state.
fn warm_up(jobs: usize) -> usize {
    (jobs as f64 * WARM_UP) as usize
}

/// The highest rate of each run, with random numbers that are the same for all rates, so that the answer is monotonous in them; `None` if
/// one run has none.
fn in_each_run(highest: impl Fn(u64) -> Option<f64>) -> Option<Figure> {
    let rates: Option<Vec<f64>> = (0..REPLICATIONS as u64).map(highest).collect();
    rates.map(|rates| Figure::of(&rates))
}

/// The random numbers of a run.
fn numbers(seed: u64, run: u64) -> SmallRng {
    SmallRng::new(seed ^ (run << 32))
}

/// M/M/c, first come first served.
struct MarkovQueue {
    cpus: usize,
    rate: f64,
    service: f64,
}

impl MarkovQueue {
    fn utilisation(&self) -> f64 {
        self.rate * self.service / self.cpus as f64
    }

    fn waits(&self) -> f64 {
        erlang_c(self.cpus, self.rate * self.service)
    }

    /// How fast the chance of a longer wait falls, per second: cμ - λ.
    fn drain(&self) -> f64 {
        self.cpus as f64 / self.service - self.rate
    }

    fn response(&self) -> f64 {
        self.service + self.waits() / self.drain()
    }

    /// The chance that an answer takes longer: the service time, and before it, with the chance C, an exponential wait.
    fn longer_than(&self, time: f64) -> f64 {
        let (mu, theta, waits) = (1.0 / self.service, self.drain(), self.waits());
        let served = (-mu * time).exp();
        let apart = mu - theta;
        if apart.abs() < 1e-9 * mu {
            return served * (1.0 + waits * mu * time);
        }
        served + waits * mu / apart * ((-theta * time).exp() - served)
    }

    fn quantile(&self, share: f64) -> f64 {
        let (mut low, mut high) = (0.0, self.response());
        while self.longer_than(high) > 1.0 - share {
            high *= 2.0;
        }
        for _ in 0..80 {
            let middle = f64::midpoint(low, high);
            if self.longer_than(middle) > 1.0 - share { low = middle } else { high = middle }
        }
        high
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const JOBS: usize = 40_000;

    fn rig(cpus: usize, service: Times, rate: f64) -> Rig {
        Rig {
            hosts: 1,
            cpus,
            service,
            arrivals: Arrivals::Poisson(rate),
            discipline: Discipline::Queue,
            dispatch: Dispatch::Random,
        }
    }

    fn near(figure: Figure, expected: f64, within: f64) {
        let off = (figure.value / expected - 1.0).abs();
        assert!(off < within, "{figure:?} is off {expected} by {off}");
    }

    #[test]
    fn one_queue_and_one_processor_is_as_in_the_textbook() {
        // S = 10 ms at 80/s: R = S/(1-ρ) = 50 ms, exponential, so p95 = R ln 20.
        let found = rig(1, Times::Exponential(0.01), 80.0).predict(JOBS, 1).unwrap();
        assert_eq!(found.by, "M/M/1");
        near(found.response, 0.05, 1e-9);
        near(found.load, 4.0, 1e-9);
        near(found.p95, 0.05 * 20_f64.ln(), 1e-6);
    }

    #[test]
    fn two_processors_wait_less_than_one_of_the_same_utilisation() {
        // R = S/(1-ρ²) for M/M/2.
        let found = rig(2, Times::Exponential(0.01), 160.0).predict(JOBS, 1).unwrap();
        near(found.response, 0.01 / (1.0 - 0.64), 1e-9);
        assert_eq!(found.by, "M/M/2");
    }

    #[test]
    fn the_simulation_agrees_with_every_formula() {
        for (cpus, rate) in [(1, 50.0), (2, 140.0), (4, 340.0)] {
            let rig = rig(cpus, Times::Exponential(0.01), rate);
            let (law, simulated) = (rig.predict(JOBS, 1).unwrap(), rig.simulated(JOBS, 2).unwrap());
            near(simulated.utilisation, law.utilisation.value, 0.02);
            near(simulated.throughput, rate, 0.02);
            for (a, b) in [(simulated.load, law.load), (simulated.p50, law.p50), (simulated.p95, law.p95)] {
                near(a, b.value, 0.06);
            }
        }
    }

    #[test]
    fn a_fixed_service_time_halves_the_wait() {
        // Pollaczek and Khinchine: W = ρS/(2(1-ρ)) for M/D/1.
        let rig = rig(1, Times::Fixed(0.01), 80.0);
        let found = rig.predict(JOBS, 1).unwrap();
        near(found.response, 0.01 + 0.8 * 0.01 / 0.4, 1e-9);
        near(found.load, 80.0 * 0.03, 0.05);
    }

    #[test]
    fn turns_make_the_mean_blind_to_the_distribution() {
        let uneven = Times::Measured([vec![0.001; 9], vec![0.091]].concat());
        let rig = Rig { discipline: Discipline::Shared, ..rig(1, uneven, 70.0) };
        let found = rig.predict(JOBS, 3).unwrap();
        near(found.response, 0.01 / 0.3, 1e-9);
        // By Little's law, though the simulation knows nothing of the formula.
        near(found.load, 70.0 * 0.01 / 0.3, 0.08);
        let fixed = Rig { service: Times::Fixed(0.01), ..rig };
        near(fixed.predict(JOBS, 4).unwrap().load, 70.0 * 0.01 / 0.3, 0.05);
    }

    #[test]
    fn users_who_think_cannot_overload_a_rig() {
        // The repairman's model with one processor, 20 users, Z = 0.1 s, S = 10 ms: from its birth and death chain.
        let (users, think, service) = (20_usize, 0.1, 0.01);
        let mut weights = vec![1.0];
        for jobs in 1..=users {
            weights.push(weights[jobs - 1] * (users - jobs + 1) as f64 * service / think);
        }
        let all: f64 = weights.iter().sum();
        let throughput = (1.0 - 1.0 / all) / service;
        let rig = Rig {
            arrivals: Arrivals::Users { count: users, think },
            ..rig(1, Times::Exponential(service), 1.0)
        };
        let found = rig.predict(JOBS, 5).unwrap();
        near(found.throughput, throughput, 0.01);
        near(found.response, users as f64 / throughput - think, 0.02);
    }

    #[test]
    fn a_clever_dispatcher_beats_chance() {
        let of = |dispatch| {
            let rig = Rig { hosts: 4, dispatch, ..rig(1, Times::Exponential(0.01), 320.0) };
            rig.simulated(JOBS, 6).unwrap().p95.value
        };
        let (random, turns, least) =
            (of(Dispatch::Random), of(Dispatch::RoundRobin), of(Dispatch::LeastBusy));
        assert!(least < 0.7 * turns && turns < 0.9 * random, "{random} {turns} {least}");
    }

    #[test]
    fn capacity_is_the_rate_at_which_the_bound_is_just_held() {
        // p95 of M/M/1 is ln 20 / (μ - λ).
        let exact = rig(1, Times::Exponential(0.01), 1.0).capacity(0.95, 0.1, JOBS, 1).unwrap().unwrap();
        near(exact, 100.0 - 20_f64.ln() / 0.1, 0.002);
        assert_eq!(exact.interval, None);
        let shared = Rig { discipline: Discipline::Shared, ..rig(1, Times::Exponential(0.01), 1.0) };
        let simulated = shared.capacity(0.95, 0.1, 5_000, 1).unwrap().unwrap();
        let [low, high] = simulated.interval.unwrap();
        assert!(low > 50.0 && high < 90.0 && high - low < 10.0, "{simulated:?}");
        assert_eq!(rig(1, Times::Fixed(0.01), 1.0).capacity(0.95, 0.005, 1_000, 1).unwrap(), None);
    }

    #[test]
    fn a_short_probe_holds_a_bound_at_more_than_the_rig_carries_and_a_long_one_does_not() {
        let served = rig(1, Times::Fixed(0.002), 1.0);
        let steady = served.capacity(0.95, 0.1, 20_000, 1).unwrap().unwrap().value;
        let in_probes = |seconds: f64| served.capacity_in_probes(0.95, 0.1, seconds, 1).unwrap().unwrap();
        // At 500/s carried, a queue that grows for 0.8 s makes 95 % wait for 0.1 s at 500 (1 + 0.1 / (0.95 x 0.8)) = 566/s, if nothing scatters.
        let [low, high] = in_probes(0.8).interval.unwrap();
        assert!(low > 500.0 && low < 566.0 && high < 590.0, "{low} {high}");
        near(in_probes(60.0), steady, 0.03);
        assert_eq!(served.capacity_in_probes(0.95, 0.001, 1.0, 1).unwrap(), None);
        assert!(served.capacity_in_probes(0.95, 0.1, 0.0, 1).is_err());
    }

    #[test]
    fn a_rig_that_cannot_be_is_an_error() {
        let good = rig(1, Times::Fixed(0.01), 50.0);
        for bad in [
            Rig { hosts: 0, ..good.clone() },
            Rig { cpus: 0, ..good.clone() },
            Rig { service: Times::Fixed(0.0), ..good.clone() },
            Rig { service: Times::Measured(vec![]), ..good.clone() },
            Rig { arrivals: Arrivals::Poisson(100.0), ..good.clone() },
            Rig { arrivals: Arrivals::Users { count: 0, think: 1.0 }, ..good.clone() },
        ] {
            assert!(bad.predict(JOBS, 1).is_err(), "{bad:?}");
        }
        assert!(good.capacity(1.0, 0.1, JOBS, 1).is_err());
    }
}
