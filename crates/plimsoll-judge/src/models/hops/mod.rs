//! The hops of a path, from the round-trip times of probes of several sizes that expire at each router in turn.
//!
//! Jacobson 1997, *pathchar*, and Downey 1999, *Using pathchar to estimate Internet link characteristics*: the time
//! over the size of a probe rises by 1/rate of each link that it crosses, so the difference of two routers' slopes is
//! 1/rate of the link between them, and that of their intercepts is its latency, both ways. Any wait adds to that, so a
//! low quantile stands for each size. The quantile is steadier than the minimum, which pathchar takes, where many small
//! delays add up: hardly any probe meets with none of them.
//!
//! Answers quote small probes whole and no more than the start of large ones, so that small probes load the return path
//! as well, and large ones only the forward path. That distinguishes a link that is faster in one direction from one
//! that is not.

mod line;

use self::line::robust_fit;
use crate::input::{JudgeError, positive};
use crate::stats::rng::SmallRng;
use crate::stats::{median, middle, quantile_sorted, sorted};
use plimsoll_model::verdict::Interval;

/// Quantile of the times of a size's probes that represents them.
const FLOOR: f64 = 0.1;
/// The header of a frame on Ethernet, in bytes: it takes its time as well.
const FRAME: f64 = 14.0;
/// How many resamples make an interval.
const RESAMPLES: usize = 200;
/// The confidence of intervals.
pub const CONFIDENCE: f64 = 0.95;
/// A hop is measurable where the interval of its rate reaches no further than this share of it to each side.
pub const MEASURABLE: f64 = 0.1;
/// A link has two rates where no resample says otherwise, and they differ by more than this factor.
const TWO_RATES: f64 = 1.25;
/// The fewest sizes that determine a line.
const LEAST_SIZES: usize = 4;
/// The fewest probes of a size that give a quantile.
pub const LEAST_PROBES: usize = 3;

/// The answered probes of one size to one hop.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SizeProbes {
    /// The length of a probe, in bytes with its IP header.
    pub bytes: f64,
    /// The length of an answer, likewise.
    pub answer_bytes: f64,
    /// Round-trip times, in seconds.
    pub rtts: Vec<f64>,
}

/// A figure with its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// The estimate.
    pub value: f64,
    /// Its interval at [`CONFIDENCE`].
    pub interval: Interval,
}

/// An estimated hop.
#[derive(Clone, Debug, PartialEq)]
pub struct Hop {
    /// Its rate in bit/s; absent where it is not measurable.
    pub rate: Option<Measured>,
    /// The rate in bit/s that it has at the least, at [`CONFIDENCE`]; 0 where nothing can be said.
    pub least_rate: f64,
    /// How far the interval of the time that it takes for a byte reaches to each side, as a share of it; infinite where that may be nothing.
    pub reach: f64,
    /// Its rate on the return path, in bit/s, if that differs.
    pub back_rate: Option<f64>,
    /// Its round trip without the time for bytes, halved, in seconds.
    pub latency: Measured,
    /// How much longer a probe waits here than the fastest do, in seconds: the median.
    pub queue: f64,
}

/// Looks at each hop of a path, given the probes of each router that answered, the nearest first. Equal input gives equal output.
///
/// # Errors
/// No hop, a hop that answered too few sizes (4) or too few probes of a size (3), or a figure that is not finite and above 0.
pub fn hops(path: &[Vec<SizeProbes>], seed: u64) -> Result<Vec<Hop>, JudgeError> {
    if path.is_empty() {
        return Err(JudgeError::Empty { what: "hops".into(), expected: "at least one router that answers" });
    }
    let path: Vec<Router> = path.iter().map(|sizes| Router::new(sizes)).collect::<Result<_, _>>()?;
    let mut rng = SmallRng::new(seed);
    let floors: Vec<Vec<f64>> = path.iter().map(Router::floors).collect();
    let resampled: Vec<Vec<Vec<f64>>> = (0..RESAMPLES)
        .map(|_| path.iter().map(|router| router.resampled_floors(&mut rng)).collect())
        .collect();
    let waits: Vec<f64> = path.iter().zip(&floors).map(|(router, floors)| router.wait(floors)).collect();
    let hop = |n: usize| {
        let link = Link { near: n.checked_sub(1).map(|near| &path[near]), far: &path[n] };
        let of =
            |floors: &[Vec<f64>]| link.fit(n.checked_sub(1).map(|near| floors[near].as_slice()), &floors[n]);
        let before = n.checked_sub(1).map_or(0.0, |near| waits[near]);
        judge(&of(&floors), &resampled.iter().map(|floors| of(floors)).collect::<Vec<_>>(), waits[n] - before)
    };
    Ok((0..path.len()).map(hop).collect())
}

/// Answers of a router, by size.
struct Router<'p> {
    sizes: Vec<&'p SizeProbes>,
    sorted: Vec<Vec<f64>>,
}

impl<'p> Router<'p> {
    fn new(sizes: &'p [SizeProbes]) -> Result<Self, JudgeError> {
        if sizes.len() < LEAST_SIZES {
            return Err(JudgeError::TooFew { what: "sizes".into(), got: sizes.len(), needed: LEAST_SIZES });
        }
        for size in sizes {
            if size.rtts.len() < LEAST_PROBES {
                return Err(JudgeError::TooFew {
                    what: "probes of a size".into(),
                    got: size.rtts.len(),
                    needed: LEAST_PROBES,
                });
            }
            positive("bytes", &[size.bytes, size.answer_bytes])?;
            positive("rtt", &size.rtts)?;
        }
        Ok(Self {
            sizes: sizes.iter().collect(),
            sorted: sizes.iter().map(|size| sorted(&size.rtts)).collect(),
        })
    }

    /// Representative time of each size.
    fn floors(&self) -> Vec<f64> {
        self.sorted.iter().map(|rtts| quantile_sorted(rtts, FLOOR)).collect()
    }

    fn resampled_floors(&self, rng: &mut SmallRng) -> Vec<f64> {
        let floor = |rtts: &Vec<f64>| {
            let mut drawn: Vec<usize> = rtts.iter().map(|_| rng.below(rtts.len())).collect();
            // Only the lowest are looked at.
            let place = FLOOR * (drawn.len() - 1) as f64;
            let low = (place as usize + 1).min(drawn.len() - 1);
            drawn.select_nth_unstable(low);
            drawn.truncate(low + 1);
            drawn.sort_unstable();
            let below = place as usize;
            rtts[drawn[below]] + (place - below as f64) * (rtts[drawn[low]] - rtts[drawn[below]])
        };
        self.sorted.iter().map(floor).collect()
    }

    /// The median wait beyond the floors.
    fn wait(&self, floors: &[f64]) -> f64 {
        let waits = self
            .sizes
            .iter()
            .zip(floors)
            .flat_map(|(size, floor)| size.rtts.iter().map(move |rtt| rtt - floor));
        median(&waits.collect::<Vec<_>>())
    }
}

/// The way between two routers, or from here to the first.
struct Link<'p> {
    near: Option<&'p Router<'p>>,
    far: &'p Router<'p>,
}

/// Seconds per byte for a round trip, with equal rates both ways and with different ones, each with the time that does
/// not depend on bytes.
#[derive(Clone, Copy)]
struct Times {
    same: f64,
    same_fixed: f64,
    /// There, and back; absent where all answers are of one length.
    apart: Option<[f64; 2]>,
    apart_fixed: f64,
}

impl Link<'_> {
    fn fit(&self, near: Option<&[f64]>, far: &[f64]) -> Times {
        let mut points: Vec<(f64, f64, f64)> = Vec::with_capacity(far.len());
        for (size, &floor) in self.far.sizes.iter().zip(far) {
            let before = match (self.near, near) {
                (Some(router), Some(floors)) => {
                    // Both got probes of the same sizes, except those that one of them did not answer.
                    match router.sizes.iter().position(|other| other.bytes == size.bytes) {
                        Some(place) => floors[place],
                        None => continue,
                    }
                }
                _ => 0.0,
            };
            points.push((size.bytes + FRAME, size.answer_bytes + FRAME, floor - before));
        }
        let times: Vec<f64> = points.iter().map(|(.., time)| *time).collect();
        let one_length = points.windows(2).all(|two| two[0].1 == two[1].1);
        if one_length {
            let there: Vec<[f64; 2]> = points.iter().map(|(there, ..)| [1.0, *there]).collect();
            let [fixed, each] = robust_fit(&there, &times);
            let back = points.first().map_or(0.0, |(_, back, _)| *back);
            return Times { same: each, same_fixed: fixed - each * back, apart: None, apart_fixed: fixed };
        }
        let both: Vec<[f64; 2]> = points.iter().map(|(there, back, _)| [1.0, there + back]).collect();
        let [same_fixed, same] = robust_fit(&both, &times);
        let each: Vec<[f64; 3]> = points.iter().map(|(there, back, _)| [1.0, *there, *back]).collect();
        let [apart_fixed, there, back] = robust_fit(&each, &times);
        Times { same, same_fixed, apart: Some([there, back]), apart_fixed }
    }
}

/// The estimate of a hop from the fit and its resamples.
fn judge(fit: &Times, resampled: &[Times], wait: f64) -> Hop {
    let two = two_rates(fit, resampled);
    let each = |times: &Times| match times.apart {
        Some([there, _]) if two => (there, times.apart_fixed),
        _ => (times.same, times.same_fixed),
    };
    let (byte, fixed) = each(fit);
    let (bytes, fixeds): (Vec<f64>, Vec<f64>) = resampled.iter().map(each).unzip();
    let byte_interval = middle(&bytes, CONFIDENCE);
    let reach = if byte_interval.lo() > 0.0 && byte > 0.0 {
        (byte_interval.hi() - byte).max(byte - byte_interval.lo()) / byte
    } else {
        f64::INFINITY
    };
    let least_rate = if byte_interval.hi() > 0.0 { 8.0 / byte_interval.hi() } else { 0.0 };
    let rate = (reach <= MEASURABLE)
        .then(|| Measured { value: 8.0 / byte, interval: Interval(least_rate, 8.0 / byte_interval.lo()) });
    let back_rate =
        fit.apart.filter(|[_, back]| two && rate.is_some() && *back > 0.0).map(|[_, back]| 8.0 / back);
    let latency =
        Measured { value: fixed / 2.0, interval: middle(&fixeds, CONFIDENCE).map(|fixed| fixed / 2.0) };
    Hop { rate, least_rate, reach, back_rate, latency, queue: wait.max(0.0) }
}

/// Whether the two ways have rates of their own.
fn two_rates(fit: &Times, resampled: &[Times]) -> bool {
    let above = |times: &Times| times.apart.map_or(0.0, |[there, back]| there - back);
    let sign = above(fit);
    let far_apart = fit.apart.is_some_and(|[there, back]| {
        let (less, more) = (there.min(back), there.max(back));
        more > 0.0 && more > TWO_RATES * less
    });
    far_apart && sign != 0.0 && resampled.iter().all(|times| above(times) * sign > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A link: bit/s in each direction, and seconds one way.
    type TrueLink = (f64, f64, f64);

    const CHAIN: [TrueLink; 4] =
        [(200e6, 200e6, 0.0002), (50e6, 50e6, 0.002), (5e6, 5e6, 0.02), (20e6, 20e6, 0.005)];

    fn sizes() -> Vec<f64> {
        let small = (0..7).map(|n| 28.0 + 520.0 * f64::from(n) / 6.0);
        small.chain((1..=7).map(|n| 548.0 + 952.0 * f64::from(n) / 7.0)).map(f64::round).collect()
    }

    /// Probes of a chain. Each crossing of a link takes `noise` seconds longer, on average, exponentially; one probe in ten waits for
    /// much longer somewhere.
    fn probed(chain: &[TrueLink], probes: usize, noise: f64, seed: u64) -> Vec<Vec<SizeProbes>> {
        let mut rng = SmallRng::new(seed);
        let mut exponential = |mean: f64| -mean * (1.0 - rng.uniform()).ln();
        let mut router = |n: usize| {
            let size = |bytes: f64| {
                let answer_bytes = bytes.min(548.0) + 28.0;
                let least: f64 = chain[..=n]
                    .iter()
                    .map(|(there, back, latency)| {
                        8.0 * (bytes + FRAME) / there + 8.0 * (answer_bytes + FRAME) / back + 2.0 * latency
                    })
                    .sum();
                let mut rtt = || {
                    let crossings: f64 = (0..2 * (n + 1)).map(|_| exponential(noise)).sum();
                    let held_up = if exponential(1.0) < 0.105 { exponential(0.01) } else { 0.0 };
                    least + crossings + held_up
                };
                SizeProbes { bytes, answer_bytes, rtts: (0..probes).map(|_| rtt()).collect() }
            };
            sizes().into_iter().map(size).collect()
        };
        (0..chain.len()).map(&mut router).collect()
    }

    fn off(found: f64, known: f64) -> f64 {
        (found / known - 1.0).abs()
    }

    #[test]
    fn every_hop_of_a_known_chain_is_found() {
        for seed in 0..5 {
            let found = hops(&probed(&CHAIN, 100, 10e-6, seed), 1).unwrap();
            for (n, (hop, (known, _, latency))) in found.iter().zip(CHAIN).enumerate() {
                let rate = hop.rate.unwrap_or_else(|| panic!("seed {seed}, hop {n}: {hop:?}"));
                assert!(off(rate.value, known) < 0.1, "seed {seed}, hop {n}: {hop:?}");
                assert!(off(hop.latency.value, latency) < 0.15, "seed {seed}, hop {n}: {hop:?}");
                assert_eq!(hop.back_rate, None, "seed {seed}, hop {n}: {hop:?}");
                assert!(hop.queue < 0.0003, "seed {seed}, hop {n}: {hop:?}");
            }
        }
    }

    #[test]
    fn intervals_hold_what_is_true_about_as_often_as_they_say() {
        let (mut held, mut all) = (0, 0);
        for seed in 0..40 {
            let found = hops(&probed(&CHAIN[..3], 40, 10e-6, 1000 + seed), seed).unwrap();
            for (hop, (known, ..)) in found.iter().zip(CHAIN) {
                let Some(rate) = hop.rate else { continue };
                held += i32::from((rate.interval.lo()..=rate.interval.hi()).contains(&known));
                all += 1;
            }
        }
        assert!(all >= 60, "{all}");
        assert!(f64::from(held) / f64::from(all) > 0.85, "{held} of {all}");
    }

    #[test]
    fn a_fast_hop_behind_a_slow_one_is_not_measurable_and_its_least_rate_is_known() {
        let chain = [(5e6, 5e6, 0.02), (10e9, 10e9, 0.001), (10e6, 10e6, 0.002)];
        let found = hops(&probed(&chain, 60, 10e-6, 3), 1).unwrap();
        assert_eq!(found[1].rate, None, "{found:?}");
        assert!((50e6..10e9).contains(&found[1].least_rate), "{found:?}");
        assert!(off(found[1].latency.value, 0.001) < 0.15, "{found:?}");
        assert!(off(found[2].rate.unwrap().value, 10e6) < 0.1, "{found:?}");
    }

    #[test]
    fn a_link_that_is_faster_on_the_way_back_is_distinguished_from_one_that_is_not() {
        let chain = [(1e6, 16e6, 0.01), (100e6, 100e6, 0.001), (20e6, 4e6, 0.001)];
        let found = hops(&probed(&chain, 100, 10e-6, 5), 1).unwrap();
        assert!(off(found[0].rate.unwrap().value, 1e6) < 0.05, "{found:?}");
        assert!(off(found[0].back_rate.unwrap(), 16e6) < 0.2, "{found:?}");
        assert!(off(found[2].rate.unwrap().value, 20e6) < 0.1, "{found:?}");
        assert!(off(found[2].back_rate.unwrap(), 4e6) < 0.1, "{found:?}");
        assert!(off(found[2].latency.value, 0.001) < 0.15, "{found:?}");
    }

    #[test]
    fn a_queue_belongs_to_the_hop_at_which_probes_wait() {
        let mut path = probed(&CHAIN[1..3], 100, 10e-6, 2);
        for (n, rtt) in path[1].iter_mut().flat_map(|size| &mut size.rtts).enumerate() {
            *rtt += 0.001 * (n % 10).saturating_sub(2) as f64;
        }
        let found = hops(&path, 1).unwrap();
        assert!(found[0].queue < 0.0001, "{found:?}");
        assert!((0.0015..0.004).contains(&found[1].queue), "{found:?}");
        assert!(off(found[1].rate.unwrap().value, 5e6) < 0.1, "{found:?}");
    }

    #[test]
    fn a_size_that_never_came_through_unhindered_does_not_bend_the_line() {
        let mut path = probed(&CHAIN[..1], 100, 5e-6, 4);
        path[0][9].rtts.iter_mut().for_each(|rtt| *rtt += 0.003);
        let rate = hops(&path, 1).unwrap()[0].rate.unwrap();
        assert!(off(rate.value, 200e6) < 0.1, "{rate:?}");
    }

    #[test]
    fn routers_that_quote_nothing_are_measured_on_the_way_there() {
        let mut path = probed(&CHAIN[..2], 100, 5e-6, 4);
        for size in path.iter_mut().flatten() {
            let quoted = size.answer_bytes - 56.0;
            size.answer_bytes = 56.0;
            size.rtts.iter_mut().for_each(|rtt| *rtt -= 8.0 * quoted / 200e6);
        }
        for size in &mut path[1] {
            let quoted = size.bytes.min(548.0) - 28.0;
            size.rtts.iter_mut().for_each(|rtt| *rtt -= 8.0 * quoted / 50e6);
        }
        let found = hops(&path, 1).unwrap();
        assert!(off(found[1].rate.unwrap().value, 50e6) < 0.1, "{found:?}");
        assert!(off(found[1].latency.value, 0.002) < 0.15, "{found:?}");
    }

    #[test]
    fn too_little_is_an_error() {
        assert!(hops(&[], 0).is_err());
        let path = probed(&CHAIN[..1], 2, 1e-6, 0);
        assert!(hops(&path, 0).is_err(), "two probes of a size have no quantile");
        let path = probed(&CHAIN[..1], 5, 1e-6, 0);
        assert!(hops(&[path[0][..3].to_vec()], 0).is_err(), "three sizes make no line");
        let mut path = probed(&CHAIN[..1], 5, 1e-6, 0);
        path[0][0].rtts[0] = f64::NAN;
        assert!(hops(&path, 0).is_err());
    }
}
