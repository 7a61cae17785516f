//! The verdict on growth, in words.

use plimsoll_model::verdict::{Interval, Outcome, Verdict};

use super::{
    AHEAD, BELIEVED, CONFIDENCE, DIFFERS, EARNS, EXACT, Growth, GrowthFit, Kind, LackOfFit, Steepest,
};
use crate::models::rms;
use crate::stats::dist::t_quantile;
use crate::wording::{figure, p_value, percent};

impl Growth {
    /// The verdict: `estimated`, with what the time is multiplied by when the workers are doubled; `undecided` when no kind describes the points.
    pub fn verdict(&self, metric: &str) -> Verdict {
        if !self.is_described {
            return Verdict::bare("growth", metric, Outcome::Undecided, self.n, self.lacking());
        }
        let range = format!("from {} to {} workers", self.smallest, self.largest);
        let shape = match (self.kind, self.each) {
            (Kind::Constant, _) => format!("constant {range}"),
            (Kind::Linear, each) => {
                format!("linear {range}: each additional worker adds {}", figure(each.unwrap_or(0.0)))
            }
            (Kind::Logarithmic, _) => format!(
                "logarithmic {range}: each doubling adds {}",
                figure(self.logarithm.unwrap_or(0.0) * std::f64::consts::LN_2)
            ),
            (Kind::Linearithmic, _) => {
                format!("as n log n {range}: {} n ln n", figure(self.logarithm.unwrap_or(0.0)))
            }
            (Kind::Power, _) => format!(
                "{} than linear {range}: time grows with the number of workers to the power {} ({} to {})",
                if self.exponent > 1.0 { "worse" } else { "better" },
                figure(self.exponent),
                figure(self.exponent_interval.lo()),
                figure(self.exponent_interval.hi())
            ),
            (Kind::Quadratic, each) => format!(
                "linear and quadratic {range}: {} n + {} n²",
                figure(each.unwrap_or(0.0)),
                figure(self.squared.unwrap_or(0.0))
            ),
            (Kind::Knee, _) => self.of_knee(),
        };
        let reason = format!(
            "{shape}; at the end, doubling the workers multiplies the time by {}{}{}",
            figure(self.doubling),
            self.rival(),
            self.unrepeated()
        );
        Verdict {
            estimate: Some(self.doubling),
            interval: Some(self.doubling_interval),
            confidence: CONFIDENCE,
            ..Verdict::bare("growth", metric, Outcome::Estimated, self.n, reason)
        }
    }

    /// Another kind that fits nearly as well, and is as simple or predicts another time for doubled or many more workers.
    fn rival(&self) -> String {
        let Some(chosen) = self.fits.iter().find(|fit| fit.kind == self.kind) else { return String::new() };
        let differs = |factor: f64| !(1.0 / DIFFERS..=DIFFERS).contains(&factor);
        let freedom = (self.n as f64 - self.kind.figures() as f64 - 1.0).max(1.0);
        let t = t_quantile(f64::midpoint(1.0, CONFIDENCE), freedom);
        // For two kinds with equally many figures a mixture decides: the share of the other is one more figure.
        let is_near = |fit: &GrowthFit| {
            if fit.kind.figures() == self.kind.figures() {
                fit.aicc.is_finite() && fit.squares <= chosen.squares * (1.0 + t * t / freedom)
            } else {
                fit.aicc < chosen.aicc + EARNS
            }
        };
        let other = |fit: &&GrowthFit| {
            let is_other = differs(fit.doubling / chosen.doubling) || differs(fit.ahead / chosen.ahead);
            fit.kind != self.kind && is_near(fit) && (fit.kind.class() == self.kind.class() || is_other)
        };
        let best = self.fits.iter().filter(other).min_by(|a, b| a.squares.total_cmp(&b.squares));
        best.map_or_else(String::new, |fit| {
            format!(
                "; {} fits about as well, with a factor of {}, and {} times the time at {} workers: measure more numbers of workers",
                fit.kind.name(),
                figure(fit.doubling),
                figure(fit.ahead / chosen.ahead),
                figure(AHEAD * self.largest)
            )
        })
    }

    /// States that only the curve itself shows the effect of chance.
    fn unrepeated(&self) -> String {
        if self.lack_of_fit.by_repeats || rms(&self.residuals) < EXACT {
            return String::new();
        }
        "; without repeated measurements the effect of chance is unknown".into()
    }

    /// Why no kind describes the points, and what is sure of them all the same.
    fn lacking(&self) -> String {
        let LackOfFit { p, size, scatter, by_repeats } = self.lack_of_fit;
        let name = self.kind.name();
        let why = if self.may_level_off && rms(&self.residuals) < BELIEVED && !self.lack_of_fit.is_far() {
            "a logarithm fits, and so do a small power or a climb to a level; measure larger numbers, each three times".into()
        } else if !self.lack_of_fit.is_far() {
            let hint = if by_repeats {
                ""
            } else {
                "; measure each number three times, to separate that from scatter"
            };
            format!("the best, {name}, is off by a factor of {}{hint}", figure(rms(&self.residuals).exp()))
        } else if by_repeats {
            format!(
                "the best, {name}, is off by {} beyond the scatter, and repeats of a number differ by {} (lack of fit: p {})",
                percent(size.exp_m1()),
                percent(scatter.exp_m1()),
                p_value(p)
            )
        } else {
            format!(
                "the best, {name}, is off by {}, in a pattern that chance rarely produces (p {})",
                percent(size.exp_m1()),
                p_value(p)
            )
        };
        let Steepest { from, to, exponent } = self.steepest;
        format!(
            "no kind of growth describes {} points: {why}. From {} to {} workers the time grows with about their number to the power {}; it is \
             steepest from {from} to {to}, to the power {}",
            self.n,
            self.smallest,
            self.largest,
            figure(self.exponent),
            figure(exponent)
        )
    }

    fn of_knee(&self) -> String {
        let (knee, interval) = (self.knee.unwrap_or(0.0), self.knee_interval.unwrap_or(Interval(0.0, 0.0)));
        let faster =
            self.steeper.map_or_else(String::new, |ratio| format!("{} times as steep ", figure(ratio)));
        format!(
            "linear up to a knee near {} workers ({} to {}), worse beyond: {faster}from there to {}",
            figure(knee),
            figure(interval.lo()),
            figure(interval.hi()),
            self.largest
        )
    }
}
