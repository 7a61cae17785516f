//! TCP throughput over a path that loses packets.
//!
//! Mathis et al. 1997, *The Macroscopic Behavior of the TCP Congestion Avoidance Algorithm*: rate = C·MSS / (RTT·√p), p the share of packets at which
//! a loss *event* begins, C fitted, since it depends on the congestion control and on delayed acknowledgements. Padhye et al.
//! 1998, *Modeling TCP Throughput*, adds the timeouts that a high loss brings. The formulas also say which loss and which queue a
//! path may have to carry a rate.

use super::{aicc, rms, without};
use crate::input::{JudgeError, between, positive};
use crate::stats::{dist::t_quantile, mean, sd};
use crate::wording::figure;
use plimsoll_model::verdict::{Interval, Outcome, Verdict};
use serde::{Deserialize, Serialize};

/// The constant of Mathis' formula where none was fitted: between 0.87 (delayed acknowledgements) and what real stacks reach.
pub const TYPICAL_C: f64 = 0.7;
/// Segments per acknowledgement: delayed ones, as nearly all receivers send them.
const SEGMENTS_PER_ACK: f64 = 2.0;
/// The least wait before a retransmission on timeout, beyond the round trip, in seconds (Linux `TCP_RTO_MIN`, 200 ms).
const LEAST_TIMEOUT: f64 = 0.2;
/// A path follows a formula when every point lies within this factor of it.
const FOLLOWS: f64 = 1.5;
/// Range of C for a sender that gives way at each loss. Mathis et al. derive 0.87 to 1.31 (table 1); cubic gives way less, stacks differ. A
/// sender that goes by something else, such as BBR, may lie on the line as well, but an order of magnitude off.
const GIVES_WAY: std::ops::RangeInclusive<f64> = 0.3..=3.0;
const CONFIDENCE: f64 = 0.95;

/// One measured point.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LossPoint {
    /// The round-trip time, in seconds.
    pub rtt: f64,
    /// The share of packets at which a loss event begins, above 0 and below 1.
    pub loss: f64,
    /// The segment size, in bytes.
    pub mss: f64,
    /// The throughput, in bit/s.
    pub rate: f64,
}

/// A formula.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Formula {
    /// C·MSS / (RTT·√p).
    Mathis,
    /// With timeouts.
    Padhye,
}

impl Formula {
    /// The rate in bit/s, for a constant of 1.
    pub fn rate(self, rtt: f64, loss: f64, mss: f64) -> f64 {
        let window = match self {
            Self::Mathis => 1.0 / loss.sqrt(),
            Self::Padhye => {
                let b = SEGMENTS_PER_ACK;
                let timeout = (rtt + LEAST_TIMEOUT) / rtt;
                let waits =
                    (3.0 * (3.0 * b * loss / 8.0).sqrt()).min(1.0) * loss * (1.0 + 32.0 * loss * loss);
                1.0 / ((2.0 * b * loss / 3.0).sqrt() + timeout * waits)
            }
        };
        8.0 * mss * window / rtt
    }
}

/// One formula fitted to the points.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LossFit {
    /// The formula.
    pub formula: Formula,
    /// The factor on it: Mathis' C, and for Padhye how far the path stays off it (1 would be exact).
    pub constant: f64,
    /// Its interval.
    pub interval: Interval,
    /// Akaike's corrected criterion; lower is better.
    pub aicc: f64,
    /// The leave-one-out error, a root mean square of ln(rate).
    pub left_out_error: f64,
    /// ln(measured / modelled), in the order of the points.
    pub residuals: Vec<f64>,
    /// The largest factor between a point and the formula, 1 or more.
    pub worst_factor: f64,
}

/// The fits, the better first.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LossCurve {
    /// The fits by rising criterion.
    pub fits: Vec<LossFit>,
    /// The power of the loss that the rate follows; Mathis says -0.5. Absent where all points have the same loss.
    pub exponent: Option<f64>,
    /// How many points there are.
    pub n: usize,
}

/// Fits both formulas to at least three points.
///
/// # Errors
/// Too few points, a loss that is not between 0 and 1, or another figure that is not above 0.
pub fn fit_loss(points: &[LossPoint]) -> Result<LossCurve, JudgeError> {
    check(points)?;
    let mut fits: Vec<LossFit> =
        [Formula::Mathis, Formula::Padhye].map(|formula| fit(formula, points)).to_vec();
    fits.sort_by(|a, b| a.aicc.total_cmp(&b.aicc));
    Ok(LossCurve { fits, exponent: exponent(points), n: points.len() })
}

fn check(points: &[LossPoint]) -> Result<(), JudgeError> {
    const LEAST_POINTS: usize = 3;
    if points.len() < LEAST_POINTS {
        return Err(JudgeError::TooFew { what: "rows".into(), got: points.len(), needed: LEAST_POINTS });
    }
    let column = |of: fn(&LossPoint) -> f64| points.iter().map(of).collect::<Vec<f64>>();
    positive("rtt", &column(|p| p.rtt))?;
    positive("mss", &column(|p| p.mss))?;
    positive("rate", &column(|p| p.rate))?;
    points.iter().try_for_each(|p| between("loss", p.loss, 0.0, 1.0, "a share above 0 and below 1"))
}

fn logs(formula: Formula, points: &[LossPoint]) -> Vec<f64> {
    points.iter().map(|p| (p.rate / formula.rate(p.rtt, p.loss, p.mss)).ln()).collect()
}

fn fit(formula: Formula, points: &[LossPoint]) -> LossFit {
    let logs = logs(formula, points);
    let (n, centre) = (logs.len() as f64, mean(&logs));
    let residuals: Vec<f64> = logs.iter().map(|l| l - centre).collect();
    let margin = t_quantile(f64::midpoint(1.0, CONFIDENCE), n - 1.0) * sd(&logs) / n.sqrt();
    let left_out: Vec<f64> = (0..logs.len()).map(|i| logs[i] - mean(&without(&logs, i))).collect();
    LossFit {
        formula,
        constant: centre.exp(),
        interval: Interval(centre - margin, centre + margin).map(f64::exp),
        aicc: aicc(residuals.iter().map(|r| r * r).sum(), logs.len(), 2),
        left_out_error: rms(&left_out),
        worst_factor: residuals.iter().fold(0.0_f64, |worst, r| worst.max(r.abs())).exp(),
        residuals,
    }
}

/// The slope of ln(rate·RTT/MSS) over ln(loss).
fn exponent(points: &[LossPoint]) -> Option<f64> {
    let x: Vec<f64> = points.iter().map(|p| p.loss.ln()).collect();
    let y: Vec<f64> = points.iter().map(|p| (p.rate * p.rtt / p.mss).ln()).collect();
    let (mx, my) = (mean(&x), mean(&y));
    let spread: f64 = x.iter().map(|v| (v - mx).powi(2)).sum();
    let joint: f64 = x.iter().zip(&y).map(|(a, b)| (a - mx) * (b - my)).sum();
    (spread > 1e-12).then(|| joint / spread)
}

impl LossCurve {
    /// The fit of one formula.
    pub fn of(&self, formula: Formula) -> Option<&LossFit> {
        self.fits.iter().find(|f| f.formula == formula)
    }

    /// The verdict: `estimated` with Mathis' constant where every point lies within a factor 1.5 of a formula and the constant is one that a
    /// sender can have who gives way at each loss, else `undecided`: the sender, such as BBR, does not slow down by loss as the formulas say.
    pub fn verdict(&self, metric: &str) -> Verdict {
        let mathis = self.of(Formula::Mathis).unwrap_or(&self.fits[0]);
        let holds = self.fits.iter().find(|f| f.worst_factor <= FOLLOWS);
        let exponent = self
            .exponent
            .map_or_else(String::new, |e| format!(", its rate goes with loss to the power {e:.2}"));
        if !GIVES_WAY.contains(&mathis.constant) {
            let reason = format!(
                "the path follows neither Mathis nor Padhye{exponent}: it would take a C of {}, and a sender that gives way at each loss has \
                 {} to {}",
                figure(mathis.constant),
                GIVES_WAY.start(),
                GIVES_WAY.end()
            );
            return Verdict::bare("loss", metric, Outcome::Undecided, self.n, reason);
        }
        let Some(best) = holds else {
            let reason = format!(
                "the path follows neither Mathis nor Padhye{exponent}: points deviate by a factor of up to {:.1}",
                mathis.worst_factor
            );
            return Verdict::bare("loss", metric, Outcome::Undecided, self.n, reason);
        };
        let name = if best.formula == Formula::Mathis { "Mathis" } else { "Padhye" };
        let reason = format!(
            "{name} describes {} points within a factor {:.2}; C of Mathis is {}{exponent}",
            self.n,
            best.worst_factor,
            figure(mathis.constant)
        );
        let bare = Verdict::bare("loss", metric, Outcome::Estimated, self.n, reason);
        Verdict {
            estimate: Some(mathis.constant),
            interval: Some(mathis.interval),
            confidence: CONFIDENCE,
            ..bare
        }
    }
}

/// Limits of a path that must carry a rate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Budget {
    /// The required rate, in bit/s.
    pub rate: f64,
    /// The round-trip time, in seconds.
    pub rtt: f64,
    /// The largest share of packets at which a loss event may begin.
    pub loss: f64,
    /// One loss event in this many packets, rounded down.
    pub packets_per_loss: f64,
    /// The queue that the bottleneck needs, one bandwidth-delay product, in bytes.
    pub queue_bytes: f64,
}

impl Budget {
    /// The verdict: `estimated`, with the largest loss.
    pub fn verdict(&self, metric: &str) -> Verdict {
        let reason = format!(
            "{} Mbit/s over {} ms: one loss in {:.0} packets ({} %) is allowed, and a queue of {:.0} B is needed",
            figure(self.rate / 1e6),
            figure(1e3 * self.rtt),
            self.packets_per_loss,
            figure(100.0 * self.loss),
            self.queue_bytes
        );
        Verdict { estimate: Some(self.loss), ..Verdict::bare("loss", metric, Outcome::Estimated, 0, reason) }
    }
}

/// The loss and queue budget for `rate` bit/s at a round trip of `rtt` seconds, segments of `mss` bytes and the constant `c`; a loss
/// of 1 where the rate asks for less than one segment per round trip.
///
/// # Errors
/// A figure that is not finite and above 0.
pub fn budget(rate: f64, rtt: f64, mss: f64, c: f64) -> Result<Budget, JudgeError> {
    for (name, value) in [("rate", rate), ("rtt", rtt), ("mss", mss), ("c", c)] {
        positive(name, &[value])?;
    }
    let loss = (c * Formula::Mathis.rate(rtt, 1.0, mss) / rate).powi(2).min(1.0);
    Ok(Budget { rate, rtt, loss, packets_per_loss: (1.0 / loss).floor(), queue_bytes: rate * rtt / 8.0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(rate: impl Fn(f64) -> f64) -> Vec<LossPoint> {
        [0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03]
            .map(|loss| LossPoint { rtt: 0.02, loss, mss: 1448.0, rate: rate(loss) })
            .to_vec()
    }

    #[test]
    fn a_sender_that_hardly_gives_way_does_not_follow_even_on_the_line() {
        let fast = points(|loss| 20.0 * Formula::Mathis.rate(0.02, loss, 1448.0));
        let verdict = fit_loss(&fast).unwrap().verdict("rate");
        assert_eq!(verdict.outcome, Outcome::Undecided);
        assert!(verdict.reason.contains("follows neither Mathis nor Padhye"), "{}", verdict.reason);
    }

    #[test]
    fn ninety_megabits_at_three_milliseconds_allow_one_loss_in_1108_packets() {
        let budget = budget(90e6, 0.003, 1448.0, 0.7).unwrap();
        assert_eq!((budget.packets_per_loss, budget.queue_bytes), (1108.0, 33_750.0));
        assert!((budget.loss - 0.000_902).abs() < 5e-7);
        let reason = budget.verdict("rate").reason;
        assert!(reason.contains("1108 packets (0.0902 %)") && reason.contains("33750 B"), "{reason}");
    }

    #[test]
    fn padhye_agrees_with_its_closed_form() {
        // RTT 0.1 s, T0 0.3 s, b 2, p 1 %: 1/(0.1·√(0.04/3) + 0.3·3·√0.0075·0.01·1.0032) packets/s.
        let packets = Formula::Padhye.rate(0.1, 0.01, 1000.0) / 8_000.0;
        assert!((packets - 1.0 / (0.011_547_005 + 0.000_781_917)).abs() < 1e-3, "{packets}");
    }

    #[test]
    fn the_constant_of_a_path_is_found() {
        let curve = fit_loss(&points(|p| 0.9 * Formula::Mathis.rate(0.02, p, 1448.0))).unwrap();
        assert_eq!(curve.fits[0].formula, Formula::Mathis);
        assert!((curve.fits[0].constant - 0.9).abs() < 1e-9);
        assert!((curve.exponent.unwrap() + 0.5).abs() < 1e-9);
        assert_eq!(curve.verdict("rate").outcome, Outcome::Estimated);
    }

    #[test]
    fn a_path_with_timeouts_is_distinguished_from_one_without() {
        let curve = fit_loss(&points(|p| Formula::Padhye.rate(0.02, p, 1448.0))).unwrap();
        assert_eq!(curve.fits[0].formula, Formula::Padhye);
        assert!(curve.of(Formula::Mathis).unwrap().worst_factor > 1.2);
    }

    #[test]
    fn a_sender_that_ignores_loss_follows_no_formula() {
        let verdict = fit_loss(&points(|_| 9e7)).unwrap().verdict("rate");
        assert_eq!(verdict.outcome, Outcome::Undecided);
        assert!(verdict.reason.contains("neither Mathis nor Padhye"), "{}", verdict.reason);
    }

    #[test]
    fn impossible_figures_are_errors() {
        assert!(budget(0.0, 0.01, 1448.0, 0.7).is_err());
        assert!(budget(1e6, f64::NAN, 1448.0, 0.7).is_err());
        assert!(fit_loss(&points(|_| 1e6)[..2]).is_err());
        for loss in [0.0, 1.0, -0.1, f64::NAN] {
            assert!(fit_loss(&[LossPoint { rtt: 0.01, loss, mss: 1448.0, rate: 1e6 }; 4]).is_err(), "{loss}");
        }
    }
}
