//! The stalls of one connection: disjoint, summed up whole, listed up to a limit.

use super::classes::Finding;
use plimsoll_model::trace::Class;

/// A stall in nanoseconds.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) finding: Finding,
}

/// Time by class, in nanoseconds.
pub(super) type ClassTimes = [u64; Class::ALL.len()];

/// Where a connection's stalls are put.
#[derive(Default)]
pub(super) struct Log {
    pub(super) entries: Vec<Entry>,
    pub(super) count: u64,
    pub(super) times: ClassTimes,
    last_end: u64,
}

impl Log {
    /// Adds a stall. Where it overlaps one that was added before, it loses that part: no moment is counted twice.
    pub(super) fn add(&mut self, start: u64, end: u64, finding: Finding, most: usize) {
        let start = start.max(self.last_end);
        if end <= start {
            return;
        }
        self.last_end = end;
        self.count += 1;
        self.times[finding.class as usize] += end - start;
        let entry = Entry { start, end, finding };
        if self.entries.len() < most {
            self.entries.push(entry);
            return;
        }
        let shortest = self.entries.iter().enumerate().min_by_key(|(_, entry)| entry.end - entry.start);
        if let Some((at, shortest)) = shortest
            && shortest.end - shortest.start < end - start
        {
            self.entries.remove(at);
            self.entries.push(entry);
        }
    }

    /// Nanoseconds in stalls.
    pub(super) fn total(&self) -> u64 {
        self.times.iter().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::trace::Actor;

    fn finding(class: Class) -> Finding {
        Finding { class, waiting_for: Actor::Client, evidence: String::new() }
    }

    #[test]
    fn no_moment_is_counted_twice() {
        let mut log = Log::default();
        log.add(0, 10, finding(Class::Rto), 9);
        log.add(5, 20, finding(Class::ZeroWindow), 9);
        log.add(12, 18, finding(Class::ClientIdle), 9);
        assert_eq!(log.total(), 20);
        assert_eq!(log.times[Class::ZeroWindow as usize], 10);
        assert_eq!(log.count, 2);
    }

    #[test]
    fn beyond_the_limit_the_longest_stay_and_all_count() {
        let mut log = Log::default();
        for (start, length) in [(0, 5), (100, 9), (200, 2), (300, 7)] {
            log.add(start, start + length, finding(Class::Rto), 2);
        }
        assert_eq!(log.entries.iter().map(|entry| entry.start).collect::<Vec<_>>(), [100, 300]);
        assert_eq!((log.count, log.total()), (4, 23));
    }
}
