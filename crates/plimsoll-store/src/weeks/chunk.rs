//! Points as rows have them: of seconds a value each, of minutes and hours the mean, the least and the greatest; as `f32` in little endian, NaN
//! where nothing was measured.

use super::{SIXTY, Tier};

/// The values of a second, a minute or an hour.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// When it begins, in seconds since 1970 (UTC).
    pub at_unix_s: u64,
    /// The mean.
    pub mean: f32,
    /// The least value of a second.
    pub least: f32,
    /// The greatest value of a second.
    pub greatest: f32,
}

impl Point {
    fn of(at_unix_s: u64, [mean, least, greatest]: [f32; 3]) -> Option<Self> {
        mean.is_finite().then_some(Self { at_unix_s, mean, least, greatest })
    }
}

pub(super) fn of_seconds(values: &[f32; SIXTY]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

/// A row of these, in their order; NaN stands where there is none.
pub(super) fn of_points(points: &[Option<Point>]) -> Vec<u8> {
    let values = points.iter().flat_map(|point| match point {
        Some(Point { mean, least, greatest, .. }) => [*mean, *least, *greatest],
        None => [f32::NAN; 3],
    });
    values.flat_map(f32::to_le_bytes).collect()
}

/// The points of a row that begins at `start`. What does not fill a point is left out.
pub(super) fn points(bytes: &[u8], start: u64, tier: Tier) -> Vec<Point> {
    let values: Vec<f32> = bytes.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
    let moments = (start..).step_by(usize::try_from(tier.step()).unwrap_or(usize::MAX));
    match tier {
        Tier::Seconds => moments.zip(&values).filter_map(|(at, value)| Point::of(at, [*value; 3])).collect(),
        Tier::Minutes | Tier::Hours => {
            moments.zip(values.as_chunks::<3>().0).filter_map(|(at, point)| Point::of(at, *point)).collect()
        }
    }
}

/// Finer points summed up to those of a row of `tier` that begins at `start`.
pub(super) fn summed(finer: &[Point], start: u64, tier: Tier) -> Vec<Option<Point>> {
    let count = tier.chunk() / tier.step();
    let mut rest = finer;
    let ends = (1..=count).map(|n| start + n * tier.step());
    ends.map(|end| {
        let (these, others) = rest.split_at(rest.partition_point(|point| point.at_unix_s < end));
        rest = others;
        let mean = these.iter().map(|point| f64::from(point.mean)).sum::<f64>() / these.len() as f64;
        (!these.is_empty()).then(|| Point {
            at_unix_s: end - tier.step(),
            mean: mean as f32,
            least: these.iter().map(|point| point.least).fold(f32::INFINITY, f32::min),
            greatest: these.iter().map(|point| point.greatest).fold(f32::NEG_INFINITY, f32::max),
        })
    })
    .collect()
}
