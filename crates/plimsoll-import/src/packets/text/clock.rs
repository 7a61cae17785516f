//! The time at the start of a line: `-t` none, `-tt` seconds, `-ttt` since the line before, `-tttt` with a date,
//! `-ttttt` since the first line, and the time of day where none of these was asked for.

use crate::calendar::{days, number};

const SECOND: u64 = 1_000_000_000;
const DAY: u64 = 86_400 * SECOND;

/// The time as it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stamp {
    /// Nothing is written.
    None,
    /// `18:32:08.275493`: the time of day, or a difference in the same form.
    OfDay(u64),
    /// `1700000000.275493`, or `2023-11-14 22:13:20.275493` (taken for UTC).
    Absolute(u64),
}

/// Turns what is written into nanoseconds that only grow where time did.
pub(super) struct Clock {
    /// Times of day are differences to the line before.
    is_difference: bool,
    /// Midnights passed, in nanoseconds.
    days: u64,
    last: u64,
    stamped: bool,
    used: bool,
}

impl Clock {
    /// A clock for a text that begins with `head`.
    ///
    /// Differences and times of day look the same. A text of differences begins with zero, and then goes both up and
    /// down; a time of day that begins at midnight exactly and runs backwards is not to be expected.
    pub(super) fn for_text(head: &[u8]) -> Self {
        let mut times = head.split(|&byte| byte == b'\n').take(2000).filter_map(|line| {
            match stamp(std::str::from_utf8(line).ok()?.trim_start()).0 {
                Stamp::OfDay(time) => Some(time),
                _ => None,
            }
        });
        let from_zero = times.next() == Some(0);
        let is_difference = from_zero && !times.is_sorted();
        Self { is_difference, days: 0, last: 0, stamped: false, used: false }
    }

    /// The time of a line.
    pub(super) fn at(&mut self, stamp: Stamp) -> u64 {
        self.used = true;
        self.stamped |= stamp != Stamp::None;
        let now = match stamp {
            Stamp::None => self.last,
            Stamp::Absolute(time) => time,
            Stamp::OfDay(difference) if self.is_difference => self.last.saturating_add(difference),
            Stamp::OfDay(time) => {
                // Back by more than half a day is midnight; back by less is two packets in the wrong order.
                let today = time.saturating_add(self.days);
                if today.saturating_add(DAY / 2) < self.last {
                    self.days = self.days.saturating_add(DAY);
                }
                time.saturating_add(self.days)
            }
        };
        self.last = now;
        now
    }

    /// Whether lines were read and none had a time.
    pub(super) fn has_no_stamps(&self) -> bool {
        self.used && !self.stamped
    }
}

/// Splits a line into its time and the rest.
pub(super) fn stamp(line: &str) -> (Stamp, &str) {
    let (first, rest) = line.split_once(' ').unwrap_or((line, ""));
    if let Some(time) = of_day(first) {
        return (Stamp::OfDay(time), rest);
    }
    if let Some(days) = days(first) {
        let (second, rest) = rest.split_once(' ').unwrap_or((rest, ""));
        if let Some(time) = of_day(second) {
            return (Stamp::Absolute((days * DAY).saturating_add(time)), rest);
        }
    }
    match seconds(first) {
        Some(time) if first.contains('.') => (Stamp::Absolute(time), rest),
        _ => (Stamp::None, line),
    }
}

/// `18:32:08.275493`.
fn of_day(word: &str) -> Option<u64> {
    let (hours, rest) = word.split_once(':')?;
    let (minutes, rest) = rest.split_once(':')?;
    let (hours, minutes) = (number(hours, 2)?, number(minutes, 2)?);
    let seconds = seconds(rest)?;
    (hours < 24 && minutes < 60 && seconds < 61 * SECOND)
        .then_some((hours * 3600 + minutes * 60) * SECOND + seconds)
}

/// `8.275493` with any number of decimals up to nine.
fn seconds(word: &str) -> Option<u64> {
    let (whole, fraction) = word.split_once('.').unwrap_or((word, "0"));
    let decimals = u32::try_from(fraction.len()).ok().filter(|count| (1..=9).contains(count))?;
    let nanoseconds = number(fraction, 9)? * 10_u64.pow(9 - decimals);
    number(whole, 10)?.checked_mul(SECOND)?.checked_add(nanoseconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(lines: &[&str]) -> Vec<u64> {
        let text = lines.join("\n");
        let mut clock = Clock::for_text(text.as_bytes());
        lines.iter().map(|line| clock.at(stamp(line.trim_start()).0) / 1000).collect()
    }

    #[test]
    fn a_time_of_day_counts_from_midnight() {
        assert_eq!(times(&["18:32:08.275493 IP"]), [((18 * 60 + 32) * 60 + 8) * 1_000_000 + 275_493]);
    }

    #[test]
    fn midnight_adds_a_day_and_a_small_step_back_does_not() {
        let day = 86_400_000_000;
        assert_eq!(
            times(&["23:59:59.900000 a", "00:00:00.100000 b", "00:00:00.050000 c"]),
            [day - 100_000, day + 100_000, day + 50_000]
        );
    }

    #[test]
    fn differences_are_summed() {
        let lines = ["00:00:00.000000 a", "00:00:00.000200 b", "00:00:00.000050 c"];
        assert_eq!(times(&lines), [0, 200, 250]);
    }

    #[test]
    fn times_since_the_first_line_are_not_summed() {
        let lines = ["00:00:00.000000 a", "00:00:00.000200 b", "00:00:00.000250 c"];
        assert_eq!(times(&lines), [0, 200, 250]);
    }

    #[test]
    fn a_date_and_seconds_mean_the_same_time() {
        let both = times(&["2023-11-14 22:13:20.275493 a", "1700000000.275493 b"]);
        assert_eq!(both, [1_700_000_000_275_493; 2]);
    }

    #[test]
    fn nanoseconds_are_kept() {
        assert_eq!(stamp("00:00:01.000000007 IP").0, Stamp::OfDay(1_000_000_007));
    }

    #[test]
    fn a_line_without_time_keeps_all_its_words() {
        assert_eq!(stamp("IP 10.0.0.1.80 > x"), (Stamp::None, "IP 10.0.0.1.80 > x"));
    }
}
