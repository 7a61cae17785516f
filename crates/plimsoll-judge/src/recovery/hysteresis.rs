//! Hysteresis: does the figure on the way down the load take the path that it took on the way up?

use crate::input::JudgeError;
use crate::stats::shift::centre;
use crate::stats::{mean, sorted};
use plimsoll_model::verdict::{Interval, Outcome, Verdict};
use serde::{Deserialize, Serialize};

/// The loop between the way up and the way down.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Hysteresis {
    /// The area between both ways as a share of the area under the way up: 0 without hysteresis, 0.2 when a fifth of
    /// the figure is lost on the way down, negative when the way down does better.
    pub area: f64,
    /// The load at which the two ways lie furthest apart.
    pub widest_at: f64,
    /// down/up at that load.
    pub ratio_there: f64,
}

/// Measures the loop of (load, figure) points on the way up and on the way down. Both ways are read as straight lines
/// between their points (repeated loads are averaged), and compared over the loads that both cover.
///
/// # Errors
/// Fewer than two different loads on a way, values that are not finite, ways that share no stretch of load, or a way up
/// whose figures add up to nothing.
pub fn hysteresis(up: &[(f64, f64)], down: &[(f64, f64)]) -> Result<Hysteresis, JudgeError> {
    let (up, down) = (Path::new("up", up)?, Path::new("down", down)?);
    let from = up.loads[0].max(down.loads[0]);
    let to = up.last().min(down.last());
    if from >= to {
        return Err(JudgeError::Table("`up` and `down` share no stretch of load".into()));
    }
    let inside = up.loads.iter().chain(&down.loads).copied().filter(|l| (from..=to).contains(l));
    let mut loads = sorted(&inside.chain([from, to]).collect::<Vec<_>>());
    loads.dedup();
    let area = |figure: &dyn Fn(f64) -> f64| -> f64 {
        loads.windows(2).map(|w| (w[1] - w[0]) * (figure(w[0]) + figure(w[1])) / 2.0).sum()
    };
    let under = area(&|l| up.at(l));
    if under <= 0.0 {
        return Err(JudgeError::Table("`up` carried nothing over the loads that both ways cover".into()));
    }
    let gap = |l: f64| up.at(l) - down.at(l);
    let widest_at =
        loads.iter().copied().max_by(|a, b| gap(*a).abs().total_cmp(&gap(*b).abs())).unwrap_or(from);
    Ok(Hysteresis { area: area(&gap) / under, widest_at, ratio_there: down.at(widest_at) / up.at(widest_at) })
}

/// Settings of a judgement of loops.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HysteresisSettings {
    /// How large a loop counts as none: 0.1 as shipped.
    pub margin: f64,
    /// The confidence of the interval: 0.95 as shipped.
    pub confidence: f64,
    /// False for rates (as shipped), true for times and costs.
    pub lower_is_better: bool,
}

impl Default for HysteresisSettings {
    fn default() -> Self {
        Self { margin: 0.1, confidence: 0.95, lower_is_better: false }
    }
}

/// Judges the loops of several trials, one of each: `recovered` when what is lost on the way down is surely within the margin,
/// `not_recovered` when it is surely more, else `undecided`. The estimate is the share of the figure that is lost on the way down
/// (for times: by which they are longer), with its interval over trials ([`centre`]).
///
/// # Errors
/// No loop at all.
pub fn judge_loops(
    metric: &str,
    loops: &[Hysteresis],
    settings: &HysteresisSettings,
) -> Result<Verdict, JudgeError> {
    if loops.is_empty() {
        return Err(JudgeError::Empty { what: "loops".into(), expected: "a way up and a way down" });
    }
    let sign = if settings.lower_is_better { -1.0 } else { 1.0 };
    let lost: Vec<f64> = loops.iter().map(|each| sign * each.area).collect();
    let found = centre(&lost, settings.confidence);
    let worse = if settings.lower_is_better { "higher" } else { "lower" };
    let than = match (settings.lower_is_better, found.estimate < 0.0) {
        (true, false) => "longer",
        (true, true) => "shorter",
        (false, false) => "less",
        (false, true) => "more",
    };
    let (outcome, says) = if found.hi <= settings.margin {
        (Outcome::Recovered, "the way down is as good as the way up".to_owned())
    } else if found.lo > settings.margin {
        (Outcome::NotRecovered, format!("the figure is {worse} on the way down at the same offered load"))
    } else {
        (Outcome::Undecided, "more trials are needed".to_owned())
    };
    let widest = loops.iter().max_by(|a, b| (sign * a.area).total_cmp(&(sign * b.area)));
    let widest = widest.map_or(String::new(), |widest| {
        let percent = 100.0 * (widest.ratio_there - 1.0).abs();
        format!(
            "; furthest apart at {:.0} requests/s, {percent:.0} % from the way up in the worst trial",
            widest.widest_at
        )
    });
    let reason = format!(
        "{says}: {:.1} % {than} over the loop, where {:.1} % counts as none{widest}",
        100.0 * found.estimate.abs(),
        100.0 * settings.margin
    );
    Ok(Verdict {
        estimate: Some(found.estimate),
        interval: (loops.len() > 1).then_some(Interval(found.lo, found.hi)),
        confidence: settings.confidence,
        ..Verdict::bare("hysteresis", metric, outcome, loops.len(), reason)
    })
}

/// Points by rising load, one figure for each load.
struct Path {
    loads: Vec<f64>,
    figures: Vec<f64>,
}

impl Path {
    fn new(name: &str, points: &[(f64, f64)]) -> Result<Self, JudgeError> {
        if let Some(index) = points.iter().position(|(l, f)| !l.is_finite() || !f.is_finite()) {
            let (load, figure) = points[index];
            let value = if load.is_finite() { figure } else { load };
            return Err(JudgeError::NotFinite { what: name.into(), index, value });
        }
        let mut ordered = points.to_vec();
        ordered.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (loads, figures): (Vec<f64>, Vec<f64>) = ordered
            .chunk_by(|a, b| a.0 == b.0)
            .map(|same| (same[0].0, mean(&same.iter().map(|p| p.1).collect::<Vec<_>>())))
            .unzip();
        if loads.len() < 2 {
            return Err(JudgeError::TooFew {
                what: format!("loads of `{name}`"),
                got: loads.len(),
                needed: 2,
            });
        }
        Ok(Self { loads, figures })
    }

    fn last(&self) -> f64 {
        self.loads[self.loads.len() - 1]
    }

    /// The figure at a load inside of the path.
    fn at(&self, load: f64) -> f64 {
        let right = self.loads.partition_point(|l| *l < load).clamp(1, self.loads.len() - 1);
        let (l0, l1) = (self.loads[right - 1], self.loads[right]);
        let share = ((load - l0) / (l1 - l0)).clamp(0.0, 1.0);
        self.figures[right - 1] + share * (self.figures[right] - self.figures[right - 1])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loop_of_known_area_is_measured() {
        // Up: 100 throughout. Down: 100 at the ends, 50 in the middle: a triangle of a quarter of the area.
        let up = [(0.0, 100.0), (10.0, 100.0)];
        let down = [(10.0, 100.0), (5.0, 50.0), (0.0, 100.0)];
        let found = hysteresis(&up, &down).unwrap();
        assert!((found.area - 0.25).abs() < 1e-12);
        assert_eq!((found.widest_at, found.ratio_there), (5.0, 0.5));
    }

    #[test]
    fn the_same_way_back_has_no_hysteresis() {
        let up = [(1.0, 10.0), (2.0, 20.0), (3.0, 25.0)];
        assert_eq!(hysteresis(&up, &up).unwrap().area, 0.0);
    }

    fn judged(areas: &[f64], lower_is_better: bool) -> Outcome {
        let each = |area: &f64| Hysteresis { area: *area, widest_at: 100.0, ratio_there: 0.5 };
        let loops: Vec<_> = areas.iter().map(each).collect();
        let settings = HysteresisSettings { lower_is_better, ..HysteresisSettings::default() };
        judge_loops("requests_per_second", &loops, &settings).unwrap().outcome
    }

    #[test]
    fn a_loop_within_the_margin_is_none_and_one_trial_decides_nothing() {
        assert_eq!(judged(&[0.01, 0.0, 0.02, -0.01, 0.01], false), Outcome::Recovered);
        assert_eq!(judged(&[0.31, 0.25, 0.4, 0.33, 0.3], false), Outcome::NotRecovered);
        assert_eq!(judged(&[0.05, 0.15, 0.2, 0.0, 0.1], false), Outcome::Undecided);
        assert_eq!(judged(&[0.5], false), Outcome::Undecided);
    }

    #[test]
    fn times_that_are_longer_on_the_way_down_are_lost_too() {
        assert_eq!(judged(&[-0.31, -0.25, -0.4, -0.33, -0.3], true), Outcome::NotRecovered);
        assert_eq!(judged(&[0.31, 0.25, 0.4, 0.33, 0.3], true), Outcome::Recovered);
    }

    #[test]
    fn ways_that_do_not_meet_are_refused() {
        assert!(hysteresis(&[(0.0, 1.0), (1.0, 1.0)], &[(2.0, 1.0), (3.0, 1.0)]).is_err());
        assert!(hysteresis(&[(0.0, 1.0)], &[(0.0, 1.0)]).is_err());
        assert!(hysteresis(&[(0.0, f64::NAN), (1.0, 1.0)], &[(0.0, 1.0), (1.0, 1.0)]).is_err());
        assert!(hysteresis(&[(0.0, 0.0), (1.0, 0.0)], &[(0.0, 1.0), (1.0, 1.0)]).is_err());
    }
}
