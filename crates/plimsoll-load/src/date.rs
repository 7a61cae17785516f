//! Dates as HTTP and mail write them.

use std::fmt::Write;
use std::time::{SystemTime, UNIX_EPOCH};

const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// The time of day as `Date` has it, written anew once a second.
#[derive(Default)]
pub(crate) struct Clock {
    second: u64,
    text: String,
}

impl Clock {
    /// The date now.
    pub(crate) fn now(&mut self) -> &str {
        let second = seconds();
        if self.text.is_empty() || second != self.second {
            self.second = second;
            self.text = format(second);
        }
        &self.text
    }
}

/// The date now, as a message has it (RFC 5322, section 3.3).
pub(crate) fn of_mail() -> String {
    format(seconds()).replace("GMT", "+0000")
}

fn seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// An IMF-fixdate (RFC 9110, section 5.6.7) of the seconds since 1970.
fn format(second: u64) -> String {
    let days = second / 86_400;
    let (year, month, day) = civil(days);
    let (hour, minute, second) = (second / 3600 % 24, second / 60 % 60, second % 60);
    let (weekday, month) = (DAYS[(days % 7) as usize], MONTHS[month]);
    let mut text = String::with_capacity(29);
    let written = write!(text, "{weekday}, {day:02} {month} {year} {hour:02}:{minute:02}:{second:02} GMT");
    debug_assert!(written.is_ok(), "writing to a string does not fail");
    text
}

/// Year, month (from 0) and day (from 1) of a day counted from 1970, in the Gregorian calendar.
fn civil(mut days: u64) -> (u64, usize, u64) {
    let mut year = 1970;
    let leap = |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    loop {
        let length = if leap(year) { 366 } else { 365 };
        if days < length {
            break;
        }
        days -= length;
        year += 1;
    }
    let february = if leap(year) { 29 } else { 28 };
    let mut month = 0;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        if days < length {
            break;
        }
        days -= length;
        month += 1;
    }
    (year, month, days + 1)
}

#[cfg(test)]
mod tests {
    use super::format;

    #[test]
    fn dates_are_those_of_the_calendar() {
        let cases = [
            (0, "Thu, 01 Jan 1970 00:00:00 GMT"),
            (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"),
            (951_782_400, "Tue, 29 Feb 2000 00:00:00 GMT"),
            (1_735_689_599, "Tue, 31 Dec 2024 23:59:59 GMT"),
        ];
        for (second, text) in cases {
            assert_eq!(format(second), text);
        }
    }
}
