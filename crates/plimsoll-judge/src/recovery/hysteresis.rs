//! Hysteresis: does the figure on the way down the load take the path that it took on the way up?

use crate::input::JudgeError;
use crate::stats::{mean, sorted};
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

    #[test]
    fn ways_that_do_not_meet_are_refused() {
        assert!(hysteresis(&[(0.0, 1.0), (1.0, 1.0)], &[(2.0, 1.0), (3.0, 1.0)]).is_err());
        assert!(hysteresis(&[(0.0, 1.0)], &[(0.0, 1.0)]).is_err());
        assert!(hysteresis(&[(0.0, f64::NAN), (1.0, 1.0)], &[(0.0, 1.0), (1.0, 1.0)]).is_err());
        assert!(hysteresis(&[(0.0, 0.0), (1.0, 0.0)], &[(0.0, 1.0), (1.0, 1.0)]).is_err());
    }
}
