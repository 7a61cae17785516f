//! The posterior of a limit, on a grid of its logarithm.
//!
//! A probe at `x` holds the bound with the probability `b + (1 - b - h)/(1 + (x/L)^(1/s))`: a logistic edge of steepness `s` about the
//! limit `L`, between a floor `b` of probes that hold though they should not and a share `h` that break though they should not, as when
//! the machine was busy elsewhere for a moment.

use super::Probe;

/// No grid has more points than this.
const MOST_POINTS: usize = 1500;
/// How far beyond the range a limit is thought to lie that is not in it, in its logarithm: up to 4.5 times.
const BEYOND: f64 = 1.5;
/// The steepnesses that are possible, each as likely as the others.
const STEEPNESSES: [f64; 5] = [0.005, 0.01, 0.02, 0.04, 0.08];
/// The edge is over at this many steepnesses from the limit, to the last digit that counts.
const EDGE: f64 = 20.0;
/// The share of probes that break the bound far below the limit.
const HICCUP: f64 = 0.05;
/// The share of probes that hold it far above.
const LUCK: f64 = 0.01;
/// How far the limits of trials may scatter (standard deviation of the logarithm) ..
const SCATTERS: [f64; 6] = [0.005, 0.01, 0.02, 0.04, 0.08, 0.16];
/// .. with a half-Cauchy prior of this scale (Gelman, "Prior distributions for variance parameters in hierarchical models", 2006).
const USUAL_SCATTER: f64 = 0.03;

/// The logarithms of limits that are thought possible, at equal distances.
pub(super) struct Grid {
    points: Vec<f64>,
    step: f64,
}

/// A probability for each point of a grid.
pub(super) struct Belief<'g> {
    grid: &'g Grid,
    weights: Vec<f64>,
}

impl Grid {
    /// Points over a range and beyond, this far apart where that makes not too many.
    pub(super) fn new(from: f64, to: f64, step: f64) -> Self {
        let (low, high) = (from.ln() - BEYOND, to.ln() + BEYOND);
        let number = (((high - low) / step).ceil() as usize).clamp(2, MOST_POINTS);
        let step = (high - low) / (number - 1) as f64;
        Self { points: (0..number).map(|n| low + step * n as f64).collect(), step }
    }

    /// The posterior of a trial's own limit from its probes.
    pub(super) fn of_trial(&self, probes: &[Probe]) -> Belief<'_> {
        Belief { grid: self, weights: normalised(self.likelihood(probes)) }
    }

    /// The posterior of the common limit from the probes of several trials, whose own limits scatter around it.
    pub(super) fn of_trials(&self, trials: &[Vec<Probe>]) -> Belief<'_> {
        let likelihoods: Vec<Vec<f64>> =
            trials.iter().filter(|probes| !probes.is_empty()).map(|probes| self.likelihood(probes)).collect();
        let mut weights = vec![0.0; self.points.len()];
        for scatter in SCATTERS {
            // The scatters stand at equal distances of their logarithm, so each stands for a stretch as long as itself.
            let prior = scatter / (1.0 + (scatter / USUAL_SCATTER).powi(2));
            let mut product = vec![prior; self.points.len()];
            for likelihood in &likelihoods {
                let spread = self.spread(likelihood, scatter);
                product.iter_mut().zip(spread).for_each(|(product, factor)| *product *= factor);
            }
            weights.iter_mut().zip(product).for_each(|(sum, product)| *sum += product);
        }
        Belief { grid: self, weights: normalised(weights) }
    }

    /// The likelihood of every limit, over all steepnesses, up to a factor.
    fn likelihood(&self, probes: &[Probe]) -> Vec<f64> {
        let probes: Vec<(f64, bool)> = probes.iter().map(|probe| (probe.at.ln(), probe.held)).collect();
        let mut sum = vec![0.0; self.points.len()];
        for steepness in STEEPNESSES {
            for (sum, limit) in sum.iter_mut().zip(&self.points) {
                let each = probes.iter().map(|(at, held)| {
                    let holds = LUCK + (1.0 - LUCK - HICCUP) * edge((at - limit) / steepness);
                    if *held { holds } else { 1.0 - holds }
                });
                *sum += each.product::<f64>();
            }
        }
        let highest = sum.iter().copied().fold(0.0, f64::max);
        sum.iter_mut().for_each(|value| *value /= highest.max(f64::MIN_POSITIVE));
        sum
    }

    /// The values smeared by a normal distribution. What would fall off an end stays at it.
    fn spread(&self, values: &[f64], sd: f64) -> Vec<f64> {
        let reach = (4.0 * sd / self.step).ceil() as usize;
        let bell = |n: usize| (-0.5 * (n as f64 * self.step / sd).powi(2)).exp();
        let kernel: Vec<f64> = (0..=reach).map(bell).collect();
        let total = kernel[0] + 2.0 * kernel[1..].iter().sum::<f64>();
        let last = values.len() - 1;
        let at = |n: usize| {
            let both = |d: usize| values[n.saturating_sub(d)] + values[(n + d).min(last)];
            let sides: f64 = (1..=reach).map(|d| kernel[d] * both(d)).sum();
            (kernel[0] * values[n] + sides) / total
        };
        (0..values.len()).map(at).collect()
    }
}

impl Belief<'_> {
    /// The limit below which this share of the belief lies.
    pub(super) fn quantile(&self, share: f64) -> f64 {
        let mut below = 0.0;
        for (weight, point) in self.weights.iter().zip(&self.grid.points) {
            if below + weight >= share {
                // A point stands for a stretch about it.
                let inside = if *weight > 0.0 { (share - below) / weight } else { 0.5 };
                return (point + self.grid.step * (inside - 0.5)).exp();
            }
            below += weight;
        }
        self.grid.points.last().map_or(f64::NAN, |point| point.exp())
    }
}

/// The logistic edge, falling from 1 to 0.
fn edge(beyond: f64) -> f64 {
    if beyond > EDGE {
        0.0
    } else if beyond < -EDGE {
        1.0
    } else {
        1.0 / (1.0 + beyond.exp())
    }
}

fn normalised(mut weights: Vec<f64>) -> Vec<f64> {
    let total: f64 = weights.iter().sum();
    weights.iter_mut().for_each(|weight| *weight /= total);
    weights
}
