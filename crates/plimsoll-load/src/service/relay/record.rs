//! Records of past connections in a relay's own memory, walked at every accept.

use std::collections::VecDeque;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// Words of a record: it is as large as a session with a small buffer would be.
const WORDS: usize = 256;

/// A record of one connection.
struct Record {
    made: Instant,
    words: [u64; WORDS],
}

/// The records of one relay, oldest first.
pub(super) struct Records {
    forget_after: Option<Duration>,
    /// Each in a place of its own, so that the walk goes through memory as a list of sessions does.
    records: VecDeque<Box<Record>>,
    /// The sum over all words, carried from walk to walk.
    checksum: u64,
    /// How many were forgotten since their memory was last given back.
    forgotten: usize,
}

/// The forgotten records after which their memory goes back to the system.
const GIVE_BACK_AFTER: usize = 500;

impl Records {
    pub(super) fn new(forget_after: Option<Duration>) -> Self {
        Self { forget_after, records: VecDeque::new(), checksum: 0, forgotten: 0 }
    }

    /// Forgets records that are old enough, reads every word of the rest, and adds `count` records.
    pub(super) fn walk_and_add(&mut self, count: u32) {
        let now = Instant::now();
        if let Some(limit) = self.forget_after {
            while self.records.pop_front_if(|record| now.duration_since(record.made) >= limit).is_some() {
                self.forgotten += 1;
            }
            if self.forgotten >= GIVE_BACK_AFTER {
                self.forgotten = 0;
                give_memory_back();
            }
        }
        for record in &self.records {
            for &word in &record.words {
                // FNV-1a by words: each step needs the one before it, so none can be left out or done side by side.
                self.checksum = (self.checksum ^ word).wrapping_mul(0x0100_0000_01b3);
            }
        }
        self.checksum = black_box(self.checksum);
        let record = || Box::new(Record { made: now, words: [self.checksum; WORDS] });
        self.records.extend(std::iter::repeat_with(record).take(count as usize));
    }
}

/// Gives free pages back to the system. Without it they stay mapped, and each fork goes on paying for their page tables: the relay would
/// have forgotten its records and still not be as fast as before.
fn give_memory_back() {
    #[cfg(target_env = "gnu")]
    #[expect(unsafe_code, reason = "malloc_trim has no safe binding")]
    // SAFETY: malloc_trim(3) takes any padding and may be called at any time.
    unsafe {
        libc::malloc_trim(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time_of_a_walk(records: &mut Records) -> Duration {
        let fastest = (0..5).map(|_| {
            let start = Instant::now();
            records.walk_and_add(1);
            start.elapsed()
        });
        fastest.min().unwrap()
    }

    #[test]
    fn a_walk_takes_longer_the_more_records_there_are() {
        let mut records = Records::new(None);
        let few = time_of_a_walk(&mut records);
        records.walk_and_add(2000);
        let many = time_of_a_walk(&mut records);
        assert!(many > few * 20, "{few:?} with few records, {many:?} with many");
    }

    #[test]
    fn records_are_forgotten_when_they_are_old_enough() {
        let mut records = Records::new(Some(Duration::from_millis(50)));
        records.walk_and_add(10);
        std::thread::sleep(Duration::from_millis(60));
        records.walk_and_add(1);
        assert_eq!(records.records.len(), 1);
    }
}
