//! Rates over time, and when the n-th request of such a rate is due.
//!
//! A curve is its cumulative rate Λ(t), the number of requests due up to t, and is read backwards: a request is due where Λ reaches its
//! number. Requests at whole numbers give a regular rate, requests at the sums of exponential gaps an inhomogeneous Poisson process
//! (Çinlar, Introduction to Stochastic Processes, 1975: the time change by Λ makes it a homogeneous one).

use std::f64::consts::TAU;

use plimsoll_model::experiment::open_loop::{OpenLoop, Sine};

/// How exact the inversion of a sine is, in seconds.
const EXACT: f64 = 1e-9;
/// Bisection halves the bracket each time: from hours to a nanosecond.
const MOST_HALVINGS: u32 = 64;

/// A rate over a length of time that begins at 0. Times are in seconds.
#[derive(Clone, Debug)]
pub(super) struct Curve {
    length: f64,
    shape: Shape,
}

#[derive(Clone, Debug)]
enum Shape {
    /// From one rate to another; a constant rate is a slope of 0.
    Ramp { from: f64, slope: f64 },
    /// Rates that follow one another, each for as long as the others, with what is due before each begins.
    Steps { each: f64, rates: Vec<f64>, before: Vec<f64> },
    /// A rate that swings about its mean.
    Sine { mean: f64, amplitude: f64, period: f64 },
}

impl Curve {
    /// The rate of an open loop of `length` seconds.
    pub(super) fn new(open: &OpenLoop, length: f64) -> Self {
        let shape = if !open.steps.is_empty() {
            let each = length / open.steps.len() as f64;
            let sums = open.steps.iter().scan(0.0, |sum, rate| {
                let before = *sum;
                *sum += rate * each;
                Some(before)
            });
            Shape::Steps { each, rates: open.steps.clone(), before: sums.collect() }
        } else if let Some(Sine { amplitude, period }) = open.sine {
            Shape::Sine { mean: open.rate, amplitude, period: period.0.as_secs_f64() }
        } else {
            let to = open.ramp_to.unwrap_or(open.rate);
            Shape::Ramp { from: open.rate, slope: (to - open.rate) / length }
        };
        Self { length, shape }
    }

    /// When `due` requests are due; `None` when they are not within the curve's length.
    pub(super) fn when(&self, due: f64) -> Option<f64> {
        let at = match &self.shape {
            // Λ = from·t + slope·t²/2, solved in the form that loses no digits where the slope is small.
            Shape::Ramp { from, slope } => 2.0 * due / (from + (from * from + 2.0 * slope * due).sqrt()),
            Shape::Steps { each, rates, before } => {
                let step = before.partition_point(|before| *before <= due).checked_sub(1)?;
                step as f64 * each + (due - before[step]) / rates[step]
            }
            Shape::Sine { mean, amplitude, period } => sine(due, *mean, *amplitude, *period),
        };
        // Before anything is due, 0/0 at a rate that begins at 0.
        let at = if due == 0.0 { 0.0 } else { at };
        (at < self.length).then_some(at)
    }
}

/// When Λ(t) = mean·t + amplitude·period/2π·(1 − cos(2πt/period)) reaches `due`.
fn sine(due: f64, mean: f64, amplitude: f64, period: f64) -> f64 {
    let swing = amplitude * period / TAU;
    let cumulative = |t: f64| mean * t + swing * (1.0 - (TAU * t / period).cos());
    // The swing is between 0 and twice this, so Λ lies between mean·t and mean·t + 2·swing.
    let (mut low, mut high) = (((due - 2.0 * swing) / mean).max(0.0), due / mean);
    for _ in 0..MOST_HALVINGS {
        if high - low < EXACT {
            break;
        }
        let middle = f64::midpoint(low, high);
        if cumulative(middle) < due { low = middle } else { high = middle }
    }
    high
}

#[cfg(test)]
mod tests {
    use plimsoll_model::units::Span;

    use super::*;

    /// How many requests are due in each second.
    fn per_second(open: &OpenLoop, seconds: usize) -> Vec<usize> {
        let curve = Curve::new(open, seconds as f64);
        let mut counts = vec![0; seconds];
        for at in (0..).map_while(|n| curve.when(f64::from(n))) {
            counts[at as usize] += 1;
        }
        counts
    }

    fn assert_close(found: &[usize], expected: &[usize]) {
        let close =
            found.len() == expected.len() && found.iter().zip(expected).all(|(a, b)| a.abs_diff(*b) <= 1);
        assert!(close, "{found:?} instead of {expected:?}");
    }

    #[test]
    fn a_constant_rate_is_due_at_equal_distances() {
        let curve = Curve::new(&OpenLoop { rate: 4.0, ..OpenLoop::default() }, 1.0);
        let times: Vec<_> = (0..6).map(|n| curve.when(f64::from(n))).collect();
        assert_eq!(times, [Some(0.0), Some(0.25), Some(0.5), Some(0.75), None, None]);
    }

    #[test]
    fn a_ramp_rises_or_falls_evenly_and_may_begin_or_end_at_nothing() {
        let up = OpenLoop { rate: 0.0, ramp_to: Some(400.0), ..OpenLoop::default() };
        assert_close(&per_second(&up, 4), &[50, 150, 250, 350]);
        let down = OpenLoop { rate: 400.0, ramp_to: Some(0.0), ..OpenLoop::default() };
        assert_close(&per_second(&down, 4), &[350, 250, 150, 50]);
    }

    #[test]
    fn steps_share_the_length_evenly() {
        let open = OpenLoop { steps: vec![10.0, 100.0, 1000.0, 10.0], ..OpenLoop::default() };
        assert_close(&per_second(&open, 4), &[10, 100, 1000, 10]);
    }

    #[test]
    fn a_sine_swings_about_its_mean() {
        let sine = Some(Sine { amplitude: 100.0, period: Span::secs(4) });
        let found = per_second(&OpenLoop { rate: 100.0, sine, ..OpenLoop::default() }, 8);
        // The mean over a quarter of a period is 2/π of the amplitude.
        assert_close(&found, &[164, 164, 36, 36, 164, 164, 36, 36]);
    }
}
