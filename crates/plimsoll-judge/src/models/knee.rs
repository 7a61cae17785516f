//! Where a path begins to lose datagrams as more are offered.
//!
//! A link that carries C and queues what comes in between loses nothing but by chance up to an offered rate of C, and 1 - C/offered beyond. So the
//! loss over the offered rate has a knee at C, and what arrives beyond it is C.

use super::rms;
use crate::input::{JudgeError, between, positive};
use crate::stats::rng::SmallRng;
use crate::stats::{median, middle, sorted};
use crate::wording::figure;
use plimsoll_model::experiment::claim::knee::KneePointReport;
use plimsoll_model::verdict::{Interval, Outcome, Verdict};

const CONFIDENCE: f64 = 0.95;
const RESAMPLES: usize = 400;
/// The fewest different rates that show a knee.
const LEAST_RATES: usize = 4;
/// A loss that is so much more than that at low rates is one of the knee's other side.
const BEYOND: f64 = 0.01;
/// A point that is further off the curve than this, in share of loss, does not follow it.
const FOLLOWS: f64 = 0.05;

/// The knee.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Knee {
    /// The offered rate at which it is, in bit/s.
    pub rate: f64,
    /// Its interval.
    pub interval: Interval,
    /// The share that is lost at any rate.
    pub base: f64,
    /// The root mean square deviation of the points from the curve, in share of loss.
    pub error: f64,
    /// The lowest rate at which more was lost than at low rates.
    pub first_beyond: f64,
    /// The highest at which no more was.
    pub last_before: f64,
    /// How many points there are.
    pub n: usize,
}

/// Why no knee was found.
#[derive(Clone, Debug, PartialEq)]
pub enum NoKnee {
    /// No rate lost more than the others: the knee lies higher.
    Above(f64),
    /// Every rate lost much: the knee lies lower.
    Below(f64),
    /// Losses do not grow as those of a full queue do.
    Other(f64),
}

/// The curve: the share lost at an offered rate.
pub fn lost(offered: f64, knee: f64, base: f64) -> f64 {
    1.0 - (1.0 - base) * (knee / offered).min(1.0)
}

/// Looks for the knee in points of at least four different rates.
///
/// # Errors
/// Too few rates, a rate that is not above 0, or a loss that is no share.
pub fn find_knee(points: &[KneePointReport], seed: u64) -> Result<Result<Knee, NoKnee>, JudgeError> {
    let offered: Vec<f64> = points.iter().map(|point| point.offered_bits_per_second).collect();
    positive("offered", &offered)?;
    for point in points {
        if point.loss != 0.0 && point.loss != 1.0 {
            between("loss", point.loss, 0.0, 1.0, "a share from 0 to 1")?;
        }
    }
    let mut points = points.to_vec();
    points.sort_by(|a, b| a.offered_bits_per_second.total_cmp(&b.offered_bits_per_second));
    let mut rates = sorted(&offered);
    rates.dedup_by(|a, b| (*a / *b - 1.0).abs() < 0.01);
    if rates.len() < LEAST_RATES {
        return Err(JudgeError::TooFew { what: "rates".into(), got: rates.len(), needed: LEAST_RATES });
    }
    Ok(of_sorted(&points, seed))
}

fn of_sorted(points: &[KneePointReport], seed: u64) -> Result<Knee, NoKnee> {
    let base = base(points);
    // Loss at a rate below another without loss is chance, not the knee.
    let until = points.iter().rposition(|point| !is_beyond(*point, base)).map_or(0, |last| last + 1);
    let (before, beyond) = points.split_at(until);
    let (Some(highest), Some(lowest)) = (points.last(), points.first()) else {
        return Err(NoKnee::Above(0.0));
    };
    if beyond.is_empty() {
        let worst = points.iter().map(|point| point.loss - base).fold(0.0, f64::max);
        return Err(if worst > FOLLOWS {
            NoKnee::Other(worst)
        } else {
            NoKnee::Above(highest.offered_bits_per_second)
        });
    }
    // One point alone that loses, too, may be on either side.
    let last_before = before.last().filter(|_| base <= BEYOND || before.len() > 1);
    let Some(last_before) = last_before else { return Err(NoKnee::Below(lowest.arrived_bits_per_second)) };
    let rate = rate(beyond, base);
    let off: Vec<f64> =
        points.iter().map(|point| point.loss - lost(point.offered_bits_per_second, rate, base)).collect();
    let worst = off.iter().fold(0.0_f64, |worst, off| worst.max(off.abs()));
    if worst > FOLLOWS {
        return Err(NoKnee::Other(worst));
    }
    let mut rng = SmallRng::new(seed);
    let mut replicate = || {
        let drawn: Vec<KneePointReport> = beyond.iter().map(|_| beyond[rng.below(beyond.len())]).collect();
        self::rate(&drawn, base)
    };
    let mut interval = middle(&(0..RESAMPLES).map(|_| replicate()).collect::<Vec<_>>(), CONFIDENCE);
    if beyond.len() < 3 {
        // So few points scatter by luck: the knee lies between the rates on both sides of it.
        interval = Interval(
            interval.lo().min(last_before.arrived_bits_per_second),
            interval.hi().max(beyond[0].offered_bits_per_second),
        );
    }
    Ok(Knee {
        rate,
        interval,
        base,
        error: rms(&off),
        first_beyond: beyond[0].offered_bits_per_second,
        last_before: last_before.offered_bits_per_second,
        n: points.len(),
    })
}

/// The share that is lost at low rates: the median of the lower half, but no more than the lowest of all.
fn base(points: &[KneePointReport]) -> f64 {
    let half = &points[..points.len().div_ceil(2)];
    let middle = median(&half.iter().map(|point| point.loss).collect::<Vec<_>>());
    let least = half.iter().map(|point| point.loss).fold(f64::INFINITY, f64::min);
    if middle - least > BEYOND { least } else { middle }
}

fn is_beyond(point: KneePointReport, base: f64) -> bool {
    point.loss > base + BEYOND
}

/// Rate of arrivals beyond the knee, which would have been offered at it.
fn rate(beyond: &[KneePointReport], base: f64) -> f64 {
    median(&beyond.iter().map(|point| point.arrived_bits_per_second / (1.0 - base)).collect::<Vec<_>>())
}

impl Knee {
    /// The verdict: `estimated`, with the rate of the knee.
    pub fn verdict(&self, metric: &str) -> Verdict {
        let reason = format!(
            "up to {} Mbit/s {:.2} % are lost, beyond {} Mbit/s everything above {} Mbit/s; {} points deviate by {:.1} % of loss on average",
            figure(self.last_before / 1e6),
            100.0 * self.base,
            figure(self.first_beyond / 1e6),
            figure(self.rate / 1e6),
            self.n,
            100.0 * self.error
        );
        Verdict {
            estimate: Some(self.rate),
            interval: Some(self.interval),
            confidence: CONFIDENCE,
            ..Verdict::bare("knee", metric, Outcome::Estimated, self.n, reason)
        }
    }
}

impl NoKnee {
    /// The verdict: `undecided`, and where to look.
    pub fn verdict(&self, metric: &str, n: usize) -> Verdict {
        let reason = match self {
            Self::Above(rate) => {
                format!("no additional loss up to {} Mbit/s: offer more", figure(rate / 1e6))
            }
            Self::Below(rate) => {
                format!(
                    "more is lost at every rate, {} Mbit/s arrive of the lowest: offer less",
                    figure(rate / 1e6)
                )
            }
            Self::Other(worst) => format!(
                "losses do not follow the curve of one full queue: points lie up to {:.0} % of loss off",
                100.0 * worst
            ),
        };
        Verdict::bare("knee", metric, Outcome::Undecided, n, reason)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Offered rates in Mbit/s over a link that carries so much and loses a share at any rate, with some scatter.
    fn points(rates: &[f64], carries: f64, base: f64, scatter: f64) -> Vec<KneePointReport> {
        let mut rng = SmallRng::new(3);
        rates
            .iter()
            .map(|rate| {
                let loss = lost(rate * 1e6, carries * 1e6, base) + scatter * rng.normal();
                KneePointReport::new(rate * 1e6, loss.clamp(0.0, 1.0))
            })
            .collect()
    }

    const RATES: [f64; 8] = [10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 80.0, 100.0];

    #[test]
    fn the_knee_of_a_shaped_link_is_its_rate() {
        for base in [0.0, 0.02] {
            let knee = find_knee(&points(&RATES, 46.0, base, 0.001), 1).unwrap().unwrap();
            assert!((knee.rate / 46e6 - 1.0).abs() < 0.03, "{knee:?}");
            assert!(knee.interval.lo() < knee.rate && knee.rate < knee.interval.hi(), "{knee:?}");
            assert_eq!((knee.last_before, knee.first_beyond), (40e6, 50e6));
            let verdict = knee.verdict("bits_per_second");
            assert_eq!(verdict.outcome, Outcome::Estimated);
        }
    }

    #[test]
    fn a_burst_of_loss_at_a_low_rate_is_not_the_knee() {
        let mut points = points(&RATES, 46.0, 0.0, 0.0);
        points[0] = KneePointReport::new(10e6, 0.03);
        let knee = find_knee(&points, 1).unwrap().unwrap();
        assert!((knee.rate / 46e6 - 1.0).abs() < 0.01, "{knee:?}");
        assert!(knee.interval.lo() > 40e6, "{knee:?}");
        assert_eq!((knee.last_before, knee.first_beyond), (40e6, 50e6));
        // Of rates that all lie below the knee, one that loses by chance says no more.
        points.truncate(4);
        assert_eq!(find_knee(&points, 1).unwrap(), Err(NoKnee::Above(40e6)));
    }

    #[test]
    fn rates_on_one_side_of_the_knee_say_on_which() {
        assert_eq!(find_knee(&points(&RATES, 500.0, 0.0, 0.0), 1).unwrap(), Err(NoKnee::Above(100e6)));
        let all_lose = find_knee(&points(&RATES, 5.0, 0.0, 0.0), 1).unwrap().unwrap_err();
        assert!(matches!(all_lose, NoKnee::Below(_)), "{all_lose:?}");
        let verdict = all_lose.verdict("bits_per_second", 8);
        assert_eq!(verdict.outcome, Outcome::Undecided);
    }

    #[test]
    fn losses_that_are_not_those_of_a_full_queue_have_no_knee() {
        let odd: Vec<KneePointReport> =
            RATES.iter().map(|rate| KneePointReport::new(rate * 1e6, 0.4 * (rate / 100.0).powi(2))).collect();
        assert!(matches!(find_knee(&odd, 1).unwrap(), Err(NoKnee::Other(_))));
    }

    #[test]
    fn too_few_rates_and_impossible_figures_are_errors() {
        assert!(find_knee(&points(&RATES[..3], 15.0, 0.0, 0.0), 1).is_err());
        let mut bad = points(&RATES, 46.0, 0.0, 0.0);
        bad[2].loss = 1.5;
        assert!(find_knee(&bad, 1).is_err());
        bad[2] = KneePointReport::new(0.0, 0.0);
        assert!(find_knee(&bad, 1).is_err());
    }
}
