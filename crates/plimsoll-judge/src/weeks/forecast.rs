//! When a level reaches a limit: a random walk with drift, observed with noise (Harvey 1989, *Forecasting, structural time series models and the
//! Kalman filter*, 2.3 and 4.3).
//!
//! How much of the scatter is the walk and how much the noise is known badly from a few weeks, and an interval that takes one guess for the truth is too
//! narrow. So shares are tried from none to all, each weighted by how likely it makes the days; level and drift at the last day, and the scale of the
//! scatter, are drawn as the days leave them uncertain, and each draw goes on by itself until it comes to the limit (as in Hyndman and
//! Athanasopoulos, *Forecasting: principles and practice*, 5.5). How many of these intervals hold the day is in the tests.

use crate::stats::median;
use crate::stats::rng::SmallRng;
use plimsoll_model::weeks::Reached;

/// The confidence of a forecast's interval.
const CONFIDENCE: f64 = 0.9;
/// The fewest days that a forecast needs.
const LEAST_DAYS: usize = 8;
/// Only the latest days count: older ones say less of the next.
const DAYS: usize = 28;
/// The longest reach of a forecast, in multiples of the days that it is made from.
const REACH: usize = 6;
/// The shares of the walk that are tried between none and all.
const SHARES: usize = 15;
/// How likely it is beforehand that there is no walk at all, and that there is nothing else: many levels are one or the other. What lies between
/// shares the rest evenly.
const NO_WALK: f64 = 0.2;
const ALL_WALK: f64 = 0.4;
/// The simulated paths from here.
const DRAWS: usize = 500;
/// The share of them in which a level must rise, or there is no forecast.
const RISES: f64 = 0.95;
/// Values are no more exact than this share of the largest.
const EXACT: f64 = 1e-6;

/// When the level of a series of days comes up to a limit, or down to it where it is below; `None` if nothing points there. Days without
/// a value are left out beforehand.
pub fn reached(days: &[f64], limit: f64) -> Option<Reached> {
    let days = &days[days.len().saturating_sub(DAYS)..];
    let last = *days.last().filter(|_| days.len() >= LEAST_DAYS)?;
    // Downwards is upwards, seen from below.
    let up = if limit < last { -1.0 } else { 1.0 };
    let days: Vec<f64> = days.iter().map(|day| up * day).collect();
    let known = Posterior::from(&days);
    let mut rng = SmallRng::new(days.len() as u64);
    let courses: Vec<Course> = (0..DRAWS).map(|n| known.course(n, &mut rng)).collect();
    let rising = courses.iter().filter(|course| course.drift > 0.0).count();
    if (rising as f64) < RISES * DRAWS as f64 {
        return None;
    }
    let horizon = REACH * days.len();
    let mut passages: Vec<f64> =
        courses.into_iter().map(|course| course.passage(up * last, up * limit, horizon, &mut rng)).collect();
    passages.sort_by(f64::total_cmp);
    let at = |share: f64| passages[(share * (DRAWS - 1) as f64).round() as usize];
    let expected = median(&passages);
    expected.is_finite().then(|| Reached {
        days: expected,
        earliest: at((1.0 - CONFIDENCE) / 2.0),
        latest: Some(at(f64::midpoint(1.0, CONFIDENCE))).filter(|latest| latest.is_finite()),
    })
}

/// Posterior of the last day for each share of the walk.
struct Posterior {
    ends: Vec<End>,
    /// How likely each share and those before it are together.
    up_to: Vec<f64>,
    /// How many squares the scale is known from.
    squares: usize,
}

/// The last day, as the Kalman filter knows it for one share of the walk in the variance of a step; variances are in units of that one.
#[derive(Clone, Copy)]
struct End {
    level: f64,
    drift: f64,
    level_variance: f64,
    covariance: f64,
    drift_variance: f64,
    walk: f64,
    noise: f64,
    /// The squares of the surprises, each over its variance, and the logarithms of these variances.
    squares: f64,
    logarithms: f64,
}

/// A course that the series may take after the last day.
struct Course {
    level: f64,
    drift: f64,
    /// The standard deviations of a day's walk and noise.
    walk: f64,
    noise: f64,
}

impl Posterior {
    fn from(days: &[f64]) -> Self {
        let shares = (0..=SHARES + 1).map(|n| n as f64 / (SHARES + 1) as f64);
        let ends: Vec<End> = shares.map(|share| End::of(days, share)).collect();
        let largest = days.iter().fold(0.0_f64, |most, day| most.max(day.abs()));
        let exact = (EXACT * largest).powi(2).max(f64::MIN_POSITIVE);
        let ends: Vec<End> =
            ends.into_iter().map(|end| End { squares: end.squares + exact, ..end }).collect();
        let squares = days.len() - 2;
        let likely = |end: &End| -0.5 * (end.logarithms + squares as f64 * end.squares.ln());
        let most = ends.iter().map(likely).fold(f64::NEG_INFINITY, f64::max);
        let beforehand = |n: usize| match n {
            0 => NO_WALK,
            n if n <= SHARES => (1.0 - NO_WALK - ALL_WALK) / SHARES as f64,
            _ => ALL_WALK,
        };
        let mut sum = 0.0;
        let mut up_to: Vec<f64> = Vec::with_capacity(ends.len());
        for (n, end) in ends.iter().enumerate() {
            sum += beforehand(n) * (likely(end) - most).exp();
            up_to.push(sum);
        }
        up_to.iter_mut().for_each(|share| *share /= sum);
        Self { ends, up_to, squares }
    }

    /// The way of draw `n`: shares of the walk are taken as often as they are likely.
    fn course(&self, n: usize, rng: &mut SmallRng) -> Course {
        let place = (n as f64 + 0.5) / DRAWS as f64;
        let end = self.ends[self.up_to.partition_point(|share| *share < place).min(self.ends.len() - 1)];
        let chi_squared: f64 = (0..self.squares).map(|_| rng.normal().powi(2)).sum();
        let scale = (end.squares / chi_squared).sqrt();
        let of_drift = end.drift_variance.sqrt();
        let (first, second) = (rng.normal(), rng.normal());
        let rest = end.level_variance - end.covariance.powi(2) / end.drift_variance;
        Course {
            level: end.level + scale * (end.covariance / of_drift * first + rest.max(0.0).sqrt() * second),
            drift: end.drift + scale * of_drift * first,
            walk: scale * end.walk.sqrt(),
            noise: scale * end.noise.sqrt(),
        }
    }
}

impl End {
    fn of(days: &[f64], share: f64) -> Self {
        // A step's variance is that of the walk and twice that of the noise.
        let (walk, noise) = (share, (1.0 - share) / 2.0);
        let mut end = Self {
            level: days[1],
            drift: days[1] - days[0],
            level_variance: noise,
            covariance: noise,
            drift_variance: 1.0,
            walk,
            noise,
            squares: 0.0,
            logarithms: 0.0,
        };
        for day in &days[2..] {
            end.next(*day);
        }
        end
    }

    fn next(&mut self, day: f64) {
        self.level += self.drift;
        self.level_variance += 2.0 * self.covariance + self.drift_variance + self.walk;
        self.covariance += self.drift_variance;
        let variance = self.level_variance + self.noise;
        let unforeseen = day - self.level;
        self.squares += unforeseen.powi(2) / variance;
        self.logarithms += variance.ln();
        let (of_level, of_drift) = (self.level_variance / variance, self.covariance / variance);
        self.level += of_level * unforeseen;
        self.drift += of_drift * unforeseen;
        self.drift_variance -= of_drift * self.covariance;
        self.covariance -= of_drift * self.level_variance;
        self.level_variance -= of_level * self.level_variance;
    }
}

impl Course {
    /// In how many days it first comes to the limit; infinite where it does not within the horizon.
    fn passage(mut self, last: f64, limit: f64, horizon: usize, rng: &mut SmallRng) -> f64 {
        let mut before = last;
        for day in 0..horizon {
            self.level += self.drift + self.walk * rng.normal();
            let now = self.level + self.noise * rng.normal();
            if now >= limit {
                return day as f64 + ((limit - before) / (now - before)).clamp(0.0, 1.0);
            }
            before = now;
        }
        f64::INFINITY
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_reaches_its_limit_where_it_crosses_it() {
        let days: Vec<f64> = (0..20).map(|n| 50.0 + f64::from(n)).collect();
        let found = reached(&days, 100.0).unwrap();
        assert!((found.days - 31.0).abs() < 0.5, "{found:?}");
        assert!((found.earliest - 31.0).abs() < 1.0 && (found.latest.unwrap() - 31.0).abs() < 1.0);
        let down: Vec<f64> = days.iter().map(|value| 100.0 - value).collect();
        assert!((reached(&down, 0.0).unwrap().days - found.days).abs() < 1e-6);
    }

    /// Days of a disk that fills: its own pace scatters, and so does what is measured of it.
    fn filling(rng: &mut SmallRng, walk: f64, noise: f64) -> impl FnMut() -> f64 {
        let mut level = 30.0;
        move || {
            level += 1.0 + walk * rng.normal();
            level + noise * rng.normal()
        }
    }

    /// The forecasts over `disks` simulated disks, and how many of these contain the moment at which the disk was full.
    fn held(days: usize, walk: f64, noise: f64, disks: u64) -> (u32, u32) {
        let (mut forecasts, mut held) = (0, 0);
        for seed in 0..disks {
            let mut rng = SmallRng::new(seed);
            let mut day = filling(&mut rng, walk, noise);
            let known: Vec<f64> = (0..days).map(|_| day()).collect();
            let Some(found) = reached(&known, 100.0) else { continue };
            let mut before = known[days - 1];
            let truth = (0..1000).find_map(|n| {
                let now = day();
                let full = (now >= 100.0).then(|| f64::from(n) + (100.0 - before) / (now - before));
                before = now;
                full
            });
            let truth = truth.unwrap_or(f64::INFINITY);
            forecasts += 1;
            held += u32::from(found.earliest <= truth && found.latest.is_none_or(|latest| truth <= latest));
        }
        (forecasts, held)
    }

    #[test]
    fn nine_intervals_of_ten_hold_the_day() {
        // A trend in noise, little and much; walks; both.
        for (walk, noise) in
            [(0.0, 0.3), (0.0, 2.0), (0.3, 0.0), (1.0, 0.0), (0.7, 0.2), (1.0, 1.0), (0.5, 1.0), (1.5, 0.5)]
        {
            let (forecasts, held) = held(28, walk, noise, 400);
            let share = f64::from(held) / f64::from(forecasts);
            println!("walk {walk}, noise {noise}: {held} of {forecasts}, {share:.3}");
            // Where it is a line with noise, some of what is tried is a walk all the same, which makes intervals wider.
            let most = if walk == 0.0 { 1.0 } else { 0.95 };
            assert!((0.85..=most).contains(&share), "{walk} {noise}: {held} of {forecasts}");
            assert!(forecasts > 300, "{walk} {noise}: {forecasts}");
        }
    }

    #[test]
    fn what_does_not_move_reaches_nothing() {
        assert_eq!(reached(&[5.0; 20], 100.0), None);
        let falls: Vec<f64> = (0..20).map(|n| 50.0 - f64::from(n)).collect();
        assert_eq!(reached(&falls, 100.0), None);
        assert_eq!(reached(&[1.0, 2.0], 100.0), None, "too few days");
        assert_eq!(reached(&[0.0; 20], 100.0), None);
    }

    #[test]
    fn a_level_that_only_wanders_is_seldom_forecast_to_reach_anything() {
        let reaching = (0..200).filter(|seed| {
            let mut rng = SmallRng::new(1_000 + seed);
            let mut level = 50.0;
            let days: Vec<f64> = (0..28)
                .map(|_| {
                    level += rng.normal();
                    level
                })
                .collect();
            reached(&days, 60.0).is_some()
        });
        let reaching = reaching.count();
        assert!(reaching <= 24, "{reaching} of 200 walks without drift");
    }
}
