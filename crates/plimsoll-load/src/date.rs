//! Dates as HTTP and mail write them.

use httpdate::HttpDate;
use std::time::{SystemTime, UNIX_EPOCH};

/// The time of day in the form of `Date`, rewritten once a second.
#[derive(Default)]
pub(crate) struct Clock {
    second: u64,
    text: String,
}

impl Clock {
    /// The date now.
    pub(crate) fn now(&mut self) -> &str {
        let now = SystemTime::now();
        let second = now.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        if self.text.is_empty() || second != self.second {
            self.second = second;
            self.text = HttpDate::from(now).to_string();
        }
        &self.text
    }
}

/// The date now, as a message has it (RFC 5322, section 3.3).
pub(crate) fn of_mail() -> String {
    HttpDate::from(SystemTime::now()).to_string().replace("GMT", "+0000")
}

#[cfg(test)]
mod tests {
    use super::{Clock, of_mail};

    #[test]
    fn mail_has_the_offset_where_http_has_the_zone() {
        let (web, mail) = (Clock::default().now().to_owned(), of_mail());
        assert!(web.ends_with(" GMT") && mail.ends_with(" +0000"), "{web}, {mail}");
        assert_eq!(web[..16], mail[..16], "the same day");
    }
}
