//! Counts of an emulator, and faults that they show.

use serde::{Deserialize, Serialize};

/// Largest share of late or lost frames of a link that works as described.
const BEARABLE: f64 = 0.01;

/// Counts of an emulator since its start, both directions together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EmulatorCounts {
    /// Frames that arrived.
    pub frames: u64,
    /// Of these, lost by chance, as the link's description says.
    pub lost: u64,
    /// Of these, dropped because the queue was full.
    pub queue_drops: u64,
    /// Frames that came before the emulator had room for them. They are not among `frames`.
    pub overruns: u64,
    /// Frames that an end did not take: it was gone, or had no room.
    pub refused: u64,
    /// Frames that came out more than a millisecond too late.
    pub late: u64,
    /// Largest delay of a frame beyond its due time, in nanoseconds.
    pub latest_ns: u64,
    /// Nanoseconds of work, without waits.
    pub handling_ns: u64,
}

impl EmulatorCounts {
    /// The most frames per second that the emulator can carry, to two digits, at the pace at which it handled its
    /// frames so far; `None` if it had none.
    pub fn frames_per_second_at_most(&self) -> Option<u64> {
        let pace = (u128::from(self.frames) * 1_000_000_000).checked_div(self.handling_ns.into())?;
        let step = 10_u128.pow(pace.checked_ilog10()?.saturating_sub(1));
        u64::try_from((pace + step / 2) / step * step).ok()
    }

    /// Reason why the emulated link differed from its description, if it did.
    pub fn trouble(&self) -> Option<String> {
        let all = (self.frames + self.overruns).max(1) as f64;
        let at_most = self.frames_per_second_at_most().unwrap_or_default();
        if self.overruns as f64 > BEARABLE * all {
            return Some(format!(
                "it was the bottleneck: {} of {all} frames came before it had room for them; here it can carry some {at_most} a second",
                self.overruns
            ));
        }
        (self.late as f64 > BEARABLE * all).then(|| {
            format!(
                "it was held up: {} of {all} frames came out more than 1 ms too late, one by {:.1} ms; here it can carry some {at_most} \
                 a second",
                self.late,
                self.latest_ns as f64 / 1e6
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_emulator_that_was_the_bottleneck_says_so_and_how_much_it_can_carry() {
        let calm =
            EmulatorCounts { frames: 10_000, handling_ns: 100_000_000, late: 50, ..Default::default() };
        assert_eq!(calm.trouble(), None);
        assert_eq!(calm.frames_per_second_at_most(), Some(100_000));
        assert_eq!(EmulatorCounts { frames: 5_271, ..calm }.frames_per_second_at_most(), Some(53_000));
        assert_eq!(EmulatorCounts::default().frames_per_second_at_most(), None);
        let over = EmulatorCounts { overruns: 5_000, ..calm }.trouble().unwrap();
        assert!(over.contains("5000 of 15000 frames") && over.contains("100000 a second"), "{over}");
        let held = EmulatorCounts { late: 300, latest_ns: 5_000_000, ..calm }.trouble().unwrap();
        assert!(held.contains("held up") && held.contains("5.0 ms"), "{held}");
    }
}
