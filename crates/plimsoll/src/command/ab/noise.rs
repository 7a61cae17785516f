//! Base against base, before anything is judged: what repeats best, and which change the budget can show.

use std::time::{Duration, Instant};

use plimsoll_judge::sequential::evidence::detectable;
use plimsoll_judge::stats::sd;

use super::sampler::{CPU_TIME, Sample, Sampler, Series};
use crate::args::{AbArgs, AbMetric};
use crate::failure::Failure;
use crate::measure::{Figure, Gauge};

/// The noise measurement takes the budget divided by this, and at most [`LONGEST`].
const SHARE: u32 = 10;
const LONGEST: Duration = Duration::from_secs(10);
/// Runs of the base that show its noise, at least and at most.
const RUNS: std::ops::RangeInclusive<usize> = 4..=30;
/// A run longer than the budget divided by this leaves no time to measure the noise first.
const SHORT: u32 = 40;
/// Fewest runs that decide.
const FEWEST: u32 = 16;
/// A command computes all the time if its CPU time is at least this share of its wall time.
const COMPUTES: f64 = 0.9;
/// What can stand for the time of a command.
const OF_TIME: [&str; 3] = ["wall_time", "cpu_time", "instructions"];

/// What a few runs of the base show.
#[derive(Debug)]
pub(super) struct Noise {
    /// The standard deviation of the logarithm of neighbours' ratios, by series.
    pub(super) spread: Vec<f64>,
    /// The figures of the base, by series.
    pub(super) typical: Vec<f64>,
    /// The runs.
    pub(super) runs: usize,
    /// How long one run takes.
    pub(super) each: Duration,
}

/// What the budget can do about one series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Reach {
    /// The change that the budget finds nine times in ten, as a share.
    pub(super) detectable: f64,
    /// The time that it takes to find what must be found; `None` if the noise is not known.
    pub(super) needs: Option<Duration>,
    /// The time that the fewest runs take that decide.
    pub(super) fewest: Duration,
    /// The time that there is.
    pub(super) left: Duration,
}

impl Reach {
    /// Whether what must be found stays hidden.
    pub(super) fn hides(&self) -> bool {
        self.needs.is_some_and(|needs| needs > self.left) || self.fewest > self.left
    }

    /// Whether noise takes more runs than the fewest that decide.
    pub(super) fn is_noisy(&self) -> bool {
        self.needs.is_some_and(|needs| needs > self.fewest)
    }

    /// What helps where the budget cannot show what must be found.
    pub(super) fn remedy(&self) -> String {
        let budget = |time: Duration| format!("--budget {}s", time.as_secs().max(1) + 1);
        match self.needs {
            Some(needs) if self.is_noisy() => {
                format!("{}, or a metric that repeats better (--metric instructions)", budget(needs))
            }
            _ => budget(2 * self.fewest),
        }
    }
}

impl Noise {
    /// Runs the base a few times.
    pub(super) fn measure(sampler: &mut Sampler<'_>, budget: Duration) -> Result<Self, Failure> {
        let start = Instant::now();
        let most = LONGEST.min(budget / SHARE);
        let mut samples = Vec::new();
        let short = sampler.each() <= budget / SHORT;
        while short
            && (samples.len() < *RUNS.start() || (start.elapsed() < most && samples.len() < *RUNS.end()))
        {
            samples.push(sampler.sample(0)?);
        }
        let of = |series: usize| -> Vec<f64> { column(&samples, series) };
        let all = 0..sampler.series.len();
        Ok(Self {
            spread: all.clone().map(|series| spread(&of(series))).collect(),
            typical: all.map(|series| plimsoll_judge::stats::median(&of(series))).collect(),
            runs: samples.len(),
            each: sampler.each(),
        })
    }

    /// Keeps some series: the place that one of them has then.
    pub(super) fn narrow(&mut self, kept: &[usize], one: usize) -> usize {
        self.spread = kept.iter().map(|at| self.spread[*at]).collect();
        self.typical = kept.iter().map(|at| self.typical[*at]).collect();
        kept.iter().position(|at| *at == one).unwrap_or(0)
    }

    /// Which series are judged: all of a tool, and one of what a command uses.
    pub(super) fn judged(&self, args: &AbArgs, sampler: &Sampler<'_>) -> Result<Vec<usize>, Failure> {
        let series = &sampler.series;
        if sampler.reads_output() {
            let main = series.first().map_or("", |first| first.metric.as_str());
            let metric = if matches!(args.metric, AbMetric::Used(_)) { CPU_TIME } else { main };
            return Ok((0..series.len()).filter(|at| series[*at].metric == metric).collect());
        }
        let AbMetric::Used(wanted) = args.metric else { return Ok(vec![self.steadiest(series)]) };
        let metric = Gauge::Used(wanted).metric();
        let place = series.iter().position(|one| one.metric == metric);
        place.map(|one| vec![one]).ok_or_else(|| {
            Failure::could_not(format!(
                "the {} of both versions cannot be read: try more work in each command",
                metric.replace('_', " ")
            ))
        })
    }

    /// Of what stands for the time, what repeats best. A command that waits is judged by its time alone.
    fn steadiest(&self, series: &[Series]) -> usize {
        let value =
            |metric: &str| series.iter().position(|one| one.metric == metric).map(|at| self.typical[at]);
        let computes = match (value("cpu_time"), value("wall_time")) {
            (Some(cpu), Some(wall)) => cpu >= COMPUTES * wall,
            _ => false,
        };
        let stands = |at: &usize| {
            let metric = series[*at].metric.as_str();
            OF_TIME.contains(&metric) && (computes || metric == "wall_time")
        };
        let candidates = (0..series.len()).filter(stands);
        candidates.min_by(|a, b| self.spread[*a].total_cmp(&self.spread[*b])).unwrap_or(0)
    }

    /// Which change of a series the budget can show, and what a change of the size of the goal takes.
    pub(super) fn reach(
        &self,
        series: usize,
        members: usize,
        args: &AbArgs,
        goal: f64,
        left: Duration,
    ) -> Reach {
        let alpha = args.alpha.0 / members.max(1) as f64;
        let margin = args.margin.0.ln_1p();
        let change = |pairs: usize| detectable(pairs, self.spread[series], alpha, margin).exp_m1();
        let pairs =
            |time: Duration| (time.as_secs_f64() / (2.0 * self.each.as_secs_f64()).max(1e-9)) as usize;
        let enough = (3..32).map(|power| 1_usize << power).find(|&pairs| change(pairs) <= goal);
        let exact = |enough: usize| {
            let between = (0..=64).map(|part| enough / 2 + enough / 2 * part / 64);
            between.into_iter().find(|&pairs| change(pairs) <= goal).unwrap_or(enough)
        };
        let takes =
            |pairs: usize| Duration::from_secs_f64((pairs as f64 * 2.0 * self.each.as_secs_f64()).min(1e9));
        Reach {
            detectable: change(pairs(left)),
            needs: self.spread[series].is_finite().then(|| takes(enough.map_or(usize::MAX, exact))),
            fewest: self.each * FEWEST,
            left,
        }
    }
}

fn column(samples: &[Sample], series: usize) -> Vec<f64> {
    samples.iter().filter_map(|sample| sample[series].map(Figure::own)).collect()
}

/// How much neighbours differ, as the standard deviation of the logarithms of their ratios.
fn spread(values: &[f64]) -> f64 {
    let ratios: Vec<f64> = values.windows(2).map(|pair| (pair[1] / pair[0]).ln()).collect();
    if ratios.len() < 2 { f64::NAN } else { sd(&ratios) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(metric: &str) -> Series {
        Series { name: "x".into(), metric: metric.into(), unit: "s".into(), lower_is_better: true }
    }

    fn noise(typical: [f64; 3]) -> Noise {
        Noise {
            spread: vec![0.05, 0.01, 0.001],
            typical: typical.to_vec(),
            runs: 10,
            each: Duration::from_millis(100),
        }
    }

    #[test]
    fn what_repeats_best_stands_for_the_time_of_a_command_that_computes() {
        let all = ["wall_time", "cpu_time", "peak_memory"].map(series);
        assert_eq!(noise([1.0, 0.98, 1e6]).steadiest(&all), 1, "memory is no time");
        assert_eq!(noise([1.0, 0.3, 1e6]).steadiest(&all), 0, "it waits");
    }

    #[test]
    fn neighbours_that_drift_together_are_steady() {
        let drifting: Vec<f64> = (0..20).map(|i| 1.05_f64.powi(i)).collect();
        assert!(spread(&drifting) < 1e-9);
        assert!((spread(&[1.0, 2.0, 1.0, 2.0, 1.0]) - 2.0_f64.ln() * (4.0_f64 / 3.0).sqrt()).abs() < 1e-9);
    }
}
