//! Days that go like other days of the week: a holiday is no change of the machine.

use std::ops::Range;

use super::cycles::Cycle;
use super::{DAY, WEEK};

/// Share of the squares around the level before that other days leave, so that they explain a change.
const LEAVES: f64 = 0.4;

/// Whether hours since a change went as those of other days of the week do at the level before, each day as another. `still` are the hours without their
/// trend, of which the first is `first_hour`.
pub(super) fn go_like_other_days(
    still: &[Option<f64>],
    since: Range<usize>,
    before: f64,
    cycle: &Cycle,
    first_hour: u64,
) -> bool {
    let hours: Vec<(u64, f64)> =
        since.filter_map(|n| Some((first_hour + n as u64, still.get(n).copied().flatten()?))).collect();
    let squares = |day: &[(u64, f64)], shift: usize| {
        day.iter().map(|(hour, value)| (value - cycle.at(before, hour + shift as u64)).powi(2)).sum::<f64>()
    };
    let day = DAY as u64;
    let (mut own, mut others) = (0.0, 0.0);
    for of_day in hours.chunk_by(|a, b| a.0 / day == b.0 / day) {
        own += squares(of_day, 0);
        others += (0..WEEK).step_by(DAY).map(|shift| squares(of_day, shift)).fold(f64::INFINITY, f64::min);
    }
    own > 0.0 && others < LEAVES * own
}
