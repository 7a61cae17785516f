//! The shaper of one direction of an emulator: the time at which each frame comes out, or its loss.
//!
//! A pure function of the frames' arrivals, so that it can be tested without a clock. A frame waits until those before it are sent, takes
//! its length over the rate to be sent, and then travels. Lengths are those of Ethernet frames without preamble and checksum, as the
//! kernel's own shapers count them (net/sched/sch_tbf.c, sch_netem.c).

use std::collections::VecDeque;

use plimsoll_model::units::QueueLength;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use crate::spec::LinkShape;

/// Reason for a dropped frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Drop {
    /// By chance.
    Lost,
    /// The queue was full.
    Full,
}

/// One direction. Times are nanoseconds of any one clock.
#[derive(Debug)]
pub(crate) struct Shaper {
    shape: LinkShape,
    random: StdRng,
    /// Whether the last frame was lost, where losses come in bursts.
    losing: bool,
    /// Time at which the last admitted frame is sent.
    free_at: u64,
    /// Time at which the last frame in order comes out.
    last_out: u64,
    /// Frames in the queue: the time at which each is sent, and its length.
    queue: VecDeque<(u64, u64)>,
    queued_bytes: u64,
}

impl Shaper {
    pub(crate) fn new(shape: &LinkShape, seed: u64) -> Self {
        Self {
            shape: shape.clone(),
            random: StdRng::seed_from_u64(seed),
            losing: false,
            free_at: 0,
            last_out: 0,
            queue: VecDeque::new(),
            queued_bytes: 0,
        }
    }

    /// Changes the shape for later frames. Queued frames keep their turn, and travelling ones are overtaken only as `reorder` says.
    pub(crate) fn change(&mut self, shape: LinkShape) {
        self.shape = shape;
        self.losing = false;
    }

    /// Time at which a frame of this length comes out that arrives at `now`.
    pub(crate) fn admit(&mut self, now: u64, length: u64) -> Result<u64, Drop> {
        if self.is_lost() {
            return Err(Drop::Lost);
        }
        while let Some((_, length)) = self.queue.pop_front_if(|(sent, _)| *sent <= now) {
            self.queued_bytes -= length;
        }
        let sent = self.send(now, length)?;
        let travel = self.travel();
        if self.shape.reorder > 0.0 && self.random.random_bool(self.shape.reorder) {
            // It overtakes those that travel, but not those that wait to be sent.
            return Ok(sent);
        }
        self.last_out = self.last_out.max(sent + travel);
        Ok(self.last_out)
    }

    /// Queues the frame. Returns the time at which its last bit has left.
    fn send(&mut self, now: u64, length: u64) -> Result<u64, Drop> {
        let Some(rate) = self.shape.rate_bits else { return Ok(now) };
        let full = match self.shape.queue {
            // The first of the queue is being sent, and waits no more.
            QueueLength::Packets(most) => self.queue.len() > most as usize,
            QueueLength::Bytes(most) => {
                let sending = self.queue.front().map_or(0, |(_, length)| *length);
                !self.queue.is_empty() && self.queued_bytes - sending + length > most
            }
        };
        if full {
            return Err(Drop::Full);
        }
        let nanoseconds = u128::from(length) * 8 * 1_000_000_000 / u128::from(rate);
        self.free_at = self.free_at.max(now) + u64::try_from(nanoseconds).unwrap_or(u64::MAX);
        self.queue.push_back((self.free_at, length));
        self.queued_bytes += length;
        Ok(self.free_at)
    }

    /// Travel time of a frame: the delay, give or take a uniformly distributed jitter.
    fn travel(&mut self) -> u64 {
        let (delay, jitter) = (self.shape.delay_ns, self.shape.jitter_ns.min(self.shape.delay_ns));
        if jitter == 0 { delay } else { self.random.random_range(delay - jitter..=delay + jitter) }
    }

    fn is_lost(&mut self) -> bool {
        let Some((to_bad, to_good)) = self.shape.gilbert() else { return self.shape.loss >= 1.0 };
        self.losing = self.random.random_bool(if self.losing { 1.0 - to_good } else { to_bad });
        self.losing
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn shaper(shape: &LinkShape) -> Shaper {
        Shaper::new(shape, 7)
    }

    #[test]
    fn frames_leave_one_after_the_other_at_the_rate_and_then_travel() {
        let mut emulator =
            shaper(&LinkShape { rate_bits: Some(12_000_000), delay_ns: 5 * MS, ..LinkShape::default() });
        // 1500 bytes at 12 Mbit/s take 1 ms.
        let out: Vec<_> = (0..3).map(|_| emulator.admit(10 * MS, 1500).unwrap()).collect();
        assert_eq!(out, [16 * MS, 17 * MS, 18 * MS]);
        assert_eq!(emulator.admit(100 * MS, 1500), Ok(106 * MS), "an idle emulator begins at once");
    }

    #[test]
    fn a_queue_of_packets_takes_its_number_beside_the_one_that_is_sent() {
        let shape =
            LinkShape { rate_bits: Some(12_000_000), queue: QueueLength::Packets(2), ..LinkShape::default() };
        let mut emulator = shaper(&shape);
        let out: Vec<_> = (0..4).map(|_| emulator.admit(0, 1500)).collect();
        assert_eq!(out, [Ok(MS), Ok(2 * MS), Ok(3 * MS), Err(Drop::Full)]);
        assert_eq!(emulator.admit(MS, 1500), Ok(4 * MS), "one has left");
    }

    #[test]
    fn a_queue_of_bytes_takes_small_frames_where_large_ones_do_not_fit() {
        let shape = LinkShape {
            rate_bits: Some(12_000_000),
            queue: QueueLength::Bytes(2000),
            ..LinkShape::default()
        };
        let mut emulator = shaper(&shape);
        assert!(emulator.admit(0, 1500).is_ok(), "sent at once");
        assert!(emulator.admit(0, 1500).is_ok());
        assert_eq!(emulator.admit(0, 1500), Err(Drop::Full));
        assert!(emulator.admit(0, 500).is_ok());
        assert_eq!(emulator.admit(0, 1), Err(Drop::Full));
    }

    /// The share of frames that are lost, and the mean length of a row of losses.
    fn losses(shape: &LinkShape) -> (f64, f64) {
        let mut emulator = shaper(shape);
        let lost: Vec<bool> = (0..200_000).map(|now| emulator.admit(now, 100) == Err(Drop::Lost)).collect();
        let all = lost.iter().filter(|lost| **lost).count() as f64;
        let rows = lost.windows(2).filter(|pair| pair[1] && !pair[0]).count() as f64;
        (all / lost.len() as f64, all / rows)
    }

    #[test]
    fn the_given_share_of_frames_is_lost_alone_or_in_bursts() {
        let (share, row) = losses(&LinkShape { loss: 0.1, ..LinkShape::default() });
        assert!((0.095..0.105).contains(&share), "{share}");
        assert!((1.05..1.17).contains(&row), "without memory a row is 1/(1 - 0.1) long, not {row}");
        let (share, row) = losses(&LinkShape { loss: 0.1, loss_burst: 5.0, ..LinkShape::default() });
        assert!((0.085..0.115).contains(&share), "{share}");
        assert!((4.5..5.5).contains(&row), "{row}");
        assert_eq!(losses(&LinkShape { loss: 1.0, ..LinkShape::default() }).0, 1.0);
    }

    #[test]
    fn jitter_keeps_the_order_and_stays_within_its_bounds() {
        let shape = LinkShape { delay_ns: 10 * MS, jitter_ns: 3 * MS, ..LinkShape::default() };
        let mut emulator = shaper(&shape);
        let arrivals = (0..1000).map(|n| n * 20 * MS);
        let travels: Vec<u64> = arrivals.map(|now| emulator.admit(now, 100).unwrap() - now).collect();
        assert!(travels.iter().all(|t| (7 * MS..=13 * MS).contains(t)));
        let mean = travels.iter().sum::<u64>() / 1000;
        assert!((9_800_000..10_200_000).contains(&mean), "{mean}");
        let close: Vec<u64> = (0..1000).map(|n| emulator.admit(30_000 * MS + n, 100).unwrap()).collect();
        assert!(close.is_sorted());
    }

    #[test]
    fn a_frame_that_is_reordered_overtakes() {
        let shape = LinkShape { delay_ns: 10 * MS, reorder: 0.25, ..LinkShape::default() };
        let mut emulator = shaper(&shape);
        let early = (0..10_000).filter(|n| emulator.admit(*n, 100).unwrap() == *n).count();
        assert!((2_300..2_700).contains(&early), "{early}");
    }

    #[test]
    fn a_change_holds_for_what_arrives_after_it() {
        let mut emulator = shaper(&LinkShape { delay_ns: 10 * MS, ..LinkShape::default() });
        assert_eq!(emulator.admit(0, 100), Ok(10 * MS));
        emulator.change(LinkShape { loss: 1.0, ..LinkShape::default() });
        assert_eq!(emulator.admit(MS, 100), Err(Drop::Lost));
        emulator.change(LinkShape { delay_ns: MS, ..LinkShape::default() });
        assert_eq!(emulator.admit(2 * MS, 100), Ok(10 * MS), "it does not overtake");
        assert_eq!(emulator.admit(20 * MS, 100), Ok(21 * MS));
    }

    #[test]
    fn the_same_seed_gives_the_same_losses() {
        let lost = |seed| -> Vec<bool> {
            let mut emulator = Shaper::new(&LinkShape { loss: 0.5, ..LinkShape::default() }, seed);
            (0..64).map(|now| emulator.admit(now, 100).is_err()).collect()
        };
        assert_eq!(lost(1), lost(1));
        assert_ne!(lost(1), lost(2));
    }
}
