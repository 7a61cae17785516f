//! Offset and drift of one clock against another, from packets that both captures hold.
//!
//! A packet from the first point to the second cannot arrive before it left, so the difference of its two times is an upper bound of the
//! offset, and that of a packet in the other direction a lower bound. Moon, Skelly and Towsley (Estimation and removal of clock skew from
//! network delay measurements, INFOCOM 1999) take the line below all points of one direction that lies nearest to them on average, which is an edge of their
//! convex hull. Here both directions share one slope, so that a queue that fills in one of them alone does not become a drift (Paxson, On
//! calibrating measurements of packet transit times, SIGMETRICS 1998).

/// A packet that is in both captures.
#[derive(Clone, Copy, Debug)]
pub(super) struct Point {
    /// When the first capture saw it, in nanoseconds from the beginning of that capture.
    pub(super) time: f64,
    /// By how much later, by its own clock and from its own beginning, the second saw it.
    pub(super) later: f64,
    /// Whether it went from the first point to the second.
    pub(super) is_onward: bool,
}

/// Times of captures are rounded to a microsecond, each.
const ROUNDING: f64 = 2_000.0;
/// A drift that is stated has an uncertainty of less than this: clocks of computers are within 100 ppm, and NTP slews by up to 500.
const WORST_DRIFT_ERROR: f64 = 100e-6;
/// Packets of each direction that a drift rests on.
const FEWEST: usize = 10;

/// The second clock against the first.
#[derive(Debug)]
pub(super) struct Clock {
    /// The least upper bound of the offset, and the greatest lower bound, at the beginning.
    upper: Option<f64>,
    lower: Option<f64>,
    pub(super) drift: f64,
    pub(super) has_drift: bool,
    pub(super) drift_error: Option<f64>,
    pub(super) packets: [u64; 2],
    /// The times of the first and the last packet.
    pub(super) from: f64,
    pub(super) to: f64,
}

impl Clock {
    /// `None` without any point.
    pub(super) fn fit(points: &[Point]) -> Option<Self> {
        let onward = Bound::new(points.iter().filter(|point| point.is_onward).map(|p| (p.time, p.later)));
        // Mirrored, the greatest lower bounds are least upper bounds.
        let back = Bound::new(points.iter().filter(|point| !point.is_onward).map(|p| (p.time, -p.later)));
        let times = || points.iter().map(|point| point.time);
        let (from, to) = (times().reduce(f64::min)?, times().reduce(f64::max)?);
        let (drift, drift_error) = drift(&onward, &back, to - from);
        let has_drift =
            drift_error.is_some_and(|error| error < WORST_DRIFT_ERROR && drift.abs() > 2.0 * error);
        let drift = if has_drift { drift } else { 0.0 };
        Some(Self {
            upper: onward.intercept(drift),
            lower: back.intercept(-drift).map(|intercept| -intercept),
            drift,
            has_drift,
            drift_error,
            packets: [onward.count as u64, back.count as u64],
            from,
            to,
        })
    }

    /// How far the second clock is ahead at a time of the first; `None` where one direction has no packet.
    pub(super) fn offset_at(&self, time: f64) -> Option<f64> {
        Some((self.upper? + self.lower?) / 2.0 + self.drift * time)
    }

    /// The shortest way to the second point and back.
    pub(super) fn round_trip(&self) -> Option<f64> {
        Some(self.upper? - self.lower?)
    }

    /// Whether no packet arrives before it was sent.
    pub(super) fn is_consistent(&self) -> bool {
        self.round_trip().is_some_and(|round_trip| round_trip >= -ROUNDING)
    }

    /// How long a packet was under way between the points; `None` where the clocks are not aligned.
    pub(super) fn delay(&self, point: &Point) -> Option<f64> {
        let offset = self.offset_at(point.time).filter(|_| self.is_consistent())?;
        Some(if point.is_onward { point.later - offset } else { offset - point.later })
    }

    /// A time of the second capture by the clock of the first.
    pub(super) fn to_first(&self, second: f64) -> Option<f64> {
        Some(second - self.offset_at(second - self.offset_at(second)?)?)
    }
}

/// The drift, and its error: half of the difference between those of the two directions, and at least the scatter of the delays next to the
/// line over the time.
fn drift(onward: &Bound, back: &Bound, span: f64) -> (f64, Option<f64>) {
    if onward.count.min(back.count) < FEWEST || span <= 0.0 {
        return (0.0, None);
    }
    let slopes = onward.slopes().chain(back.slopes().map(|slope| -slope));
    let distance = |slope: f64| onward.distance(slope) + back.distance(-slope);
    let Some(both) = slopes.min_by(|a, b| distance(*a).total_cmp(&distance(*b))) else { return (0.0, None) };
    let alone = |bound: &Bound| {
        bound.slopes().min_by(|a, b| bound.distance(*a).total_cmp(&bound.distance(*b))).unwrap_or(0.0)
    };
    let apart = (alone(onward) + alone(back)).abs() / 2.0;
    let scatter = onward.scatter(both).max(back.scatter(-both)).max(ROUNDING / 2.0);
    (both, Some(apart.max(scatter / span)))
}

/// The lower convex hull of points, and their mean.
struct Bound {
    points: Vec<(f64, f64)>,
    hull: Vec<(f64, f64)>,
    mean: (f64, f64),
    count: usize,
}

impl Bound {
    fn new(points: impl Iterator<Item = (f64, f64)>) -> Self {
        let mut points: Vec<(f64, f64)> = points.collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
        let count = points.len();
        let sum = points.iter().fold((0.0, 0.0), |sum, point| (sum.0 + point.0, sum.1 + point.1));
        let mut hull: Vec<(f64, f64)> = Vec::new();
        for &point in &points {
            // Of points at one time the lowest comes first.
            if hull.last().is_some_and(|last| last.0 == point.0) {
                continue;
            }
            while let [.., a, b] = hull[..]
                && (b.0 - a.0) * (point.1 - a.1) <= (b.1 - a.1) * (point.0 - a.0)
            {
                hull.pop();
            }
            hull.push(point);
        }
        let number = count.max(1) as f64;
        Self { points, hull, mean: (sum.0 / number, sum.1 / number), count }
    }

    /// The slopes of its edges, and none.
    fn slopes(&self) -> impl Iterator<Item = f64> {
        let edges = self.hull.windows(2).map(|edge| (edge[1].1 - edge[0].1) / (edge[1].0 - edge[0].0));
        edges.chain([0.0])
    }

    /// Where the highest line of this slope below all points stands at the beginning.
    fn intercept(&self, slope: f64) -> Option<f64> {
        self.hull.iter().map(|point| point.1 - slope * point.0).reduce(f64::min)
    }

    /// How far above that line the lowest of the points are: one of twenty.
    fn scatter(&self, slope: f64) -> f64 {
        let line = self.intercept(slope).unwrap_or(0.0);
        let mut above: Vec<f64> = self.points.iter().map(|point| point.1 - slope * point.0 - line).collect();
        let twentieth = above.len() / 20;
        if above.is_empty() { 0.0 } else { *above.select_nth_unstable_by(twentieth, f64::total_cmp).1 }
    }

    /// The mean distance of the points from that line.
    fn distance(&self, slope: f64) -> f64 {
        self.mean.1 - slope * self.mean.0 - self.intercept(slope).unwrap_or(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Packets every 5 ms for a minute, over a path with a round trip of 20 ms and queues that come and go. A second
    /// clock is `offset` ms ahead and gains `ppm`.
    fn points(offset: f64, ppm: f64, rising: f64) -> Vec<Point> {
        let queue = |i: u64| ((i * 7919) % 101) as f64 / 10.0;
        let point = |i: u64| {
            let (is_onward, time) = (i.is_multiple_of(2), i as f64 * 5e6);
            let delay = (20.0 + queue(i)) * 1e6 + if is_onward { rising * time } else { 0.0 };
            let ahead = offset * 1e6 + ppm * 1e-6 * time;
            Point { time, later: if is_onward { ahead + delay } else { ahead - delay }, is_onward }
        };
        (0..12_000).map(point).collect()
    }

    #[test]
    fn offset_and_drift_are_those_of_the_clock() {
        for (offset, ppm) in [(0.0, 0.0), (3_600_000.0, 80.0), (-12.5, -45.0)] {
            let clock = Clock::fit(&points(offset, ppm, 0.0)).unwrap();
            assert!((clock.offset_at(0.0).unwrap() / 1e6 - offset).abs() < 0.01, "{clock:?}");
            assert!((clock.drift * 1e6 - ppm).abs() < 0.5, "{clock:?}");
            assert!((clock.round_trip().unwrap() / 1e6 - 40.0).abs() < 0.01, "{clock:?}");
        }
    }

    #[test]
    fn a_queue_that_fills_in_one_direction_is_no_drift() {
        let clock = Clock::fit(&points(5.0, 0.0, 200e-6)).unwrap();
        assert!(!clock.has_drift, "{clock:?}");
    }

    #[test]
    fn a_clock_that_was_set_fits_no_line() {
        let mut points = points(5.0, 0.0, 0.0);
        let middle = points.len() / 2;
        points[middle..].iter_mut().for_each(|point| point.later += 500e6);
        assert!(!Clock::fit(&points).unwrap().is_consistent());
    }

    #[test]
    fn one_direction_alone_gives_no_offset() {
        let onward: Vec<Point> = points(5.0, 0.0, 0.0).into_iter().filter(|point| point.is_onward).collect();
        let clock = Clock::fit(&onward).unwrap();
        assert_eq!((clock.offset_at(0.0), clock.is_consistent()), (None, false));
    }
}
