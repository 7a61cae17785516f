//! The verdict on a load curve, in words.

use super::{BELIEVED, CONFIDENCE, LEAST_BUSY, LoadCurve, QueueFit, RIVAL};
use crate::wording::{figure, p_value, percent};
use plimsoll_model::verdict::{Interval, Outcome, Verdict};

impl LoadCurve {
    /// The verdict: `estimated` with the load at which it hurts, or `undecided` when no model holds or several do.
    pub fn verdict(&self, metric: &str) -> Verdict {
        let best = &self.fits[0];
        if let Some(objection) = self.objection(best) {
            return Verdict::bare("load_curve", metric, Outcome::Undecided, self.n, objection);
        }
        let reason = format!(
            "{} describes {} points within {} of 1 + load{}; {}",
            best.name,
            self.n,
            percent(self.error),
            varied(best),
            self.consequence(best)
        );
        Verdict {
            estimate: self.hurts_at_load.or(best.users.map(|users| users as f64)),
            interval: self.hurts_at_load_interval,
            confidence: CONFIDENCE,
            ..Verdict::bare("load_curve", metric, Outcome::Estimated, self.n, reason)
        }
    }

    /// Why no queue is named.
    fn objection(&self, best: &QueueFit) -> Option<String> {
        let error = percent(self.error);
        if let Some(curve) = &self.no_queue {
            return Some(format!(
                "no queue: {} describes {} points within {} of 1 + load, and the best queue, {}, within {error}",
                curve.in_words(),
                self.n,
                percent(curve.error),
                best.name,
            ));
        }
        if self.error > BELIEVED {
            return Some(format!("no model holds: the best, {}, is off by {error} of 1 + load", best.name));
        }
        if self.structure.is_reported() {
            return Some(format!(
                "no model holds: residuals of the best, {}, follow a pattern by utilisation that chance rarely produces (p {}), and are {error} \
                 of 1 + load",
                best.name,
                p_value(self.structure.p),
            ));
        }
        if self.busiest < LEAST_BUSY {
            return Some(format!(
                "the busiest of {} points uses {}: below {} queues differ less than points scatter; measure nearer to saturation",
                self.n,
                percent(self.busiest),
                percent(LEAST_BUSY)
            ));
        }
        let rival =
            self.fits.get(1).filter(|r| r.aicc - best.aicc < RIVAL || r.left_out_error < best.left_out_error);
        if let Some(rival) = rival {
            return Some(format!(
                "{} points cannot distinguish {} from {}: measure nearer to saturation",
                self.n, best.name, rival.name
            ));
        }
        let is_vague = |Interval(low, high): &Interval| *low <= 0.0 && *high >= 1.0;
        best.service_variation_interval.filter(is_vague).map(|interval| {
            format!(
                "{} points do not show how service times vary{}: {} fits, and so do fixed times; measure longer, or nearer to saturation",
                self.n,
                allowed(interval),
                best.name
            )
        })
    }

    /// Conclusion from the best model.
    fn consequence(&self, best: &QueueFit) -> String {
        if let Some(users) = best.users {
            return format!(
                "with {users} users, who wait for replies, the load stays below {users} at any utilisation"
            );
        }
        let next = self.next_tenth.map_or_else(
            || "10 % more than the highest measured load exceeds the capacity".into(),
            |times| format!("10 % more than the highest measured load multiplies it by {}", figure(times)),
        );
        let (Some(utilisation), Some(load)) = (self.hurts_at_utilisation, self.hurts_at_load) else {
            return format!(
                "the point where 10 % more work doubles the response time lies far beyond the measured {}; {next}",
                percent(self.busiest)
            );
        };
        let interval = self.hurts_at_load_interval.map_or_else(String::new, |interval| {
            format!(" ({} to {})", figure(interval.lo()), figure(interval.hi()))
        });
        format!(
            "from {} utilisation on, at a load of {}{interval}, 10 % more work doubles the response time; {next}",
            percent(utilisation),
            figure(load),
        )
    }
}

/// How the service times of an open queue vary.
fn varied(fit: &QueueFit) -> String {
    let Some(interval) = fit.service_variation_interval else { return String::new() };
    if fit.name.contains("/G/") {
        format!(
            ", with a squared variation of service times of {}{}",
            figure(fit.service_variation),
            allowed(interval)
        )
    } else {
        allowed(interval)
    }
}

fn allowed(Interval(low, high): Interval) -> String {
    format!(" (points allow {} to {}; fixed times have 0, exponential ones 1)", figure(low), figure(high))
}
