//! Deadlines with one timeout for all, so the order of starting is the order of expiring.
//!
//! A list that is linked through the connections' keys: restarting, ending and asking for the oldest take a few memory
//! accesses each, no system call and no allocation once the list has grown.

/// No key.
const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct Link {
    before: u32,
    after: u32,
    expires: u64,
}

/// Keys in the order in which they expire.
#[derive(Debug)]
pub(super) struct Deadlines {
    timeout: u64,
    links: Vec<Link>,
    first: u32,
    last: u32,
}

impl Deadlines {
    /// No deadline yet; each will be `timeout` nanoseconds.
    pub(super) fn new(timeout: u64) -> Self {
        Self { timeout, links: Vec::new(), first: NONE, last: NONE }
    }

    /// Sets the timeout of later deadlines, in nanoseconds. Where it is shorter than before, they may wait for one before them.
    pub(super) fn set_timeout(&mut self, timeout: u64) {
        self.timeout = timeout;
    }

    /// `key`, which is not in the list, waits from `now` on. `now` never goes back.
    pub(super) fn start(&mut self, key: usize, now: u64) {
        if key >= self.links.len() {
            self.links.resize(key + 1, Link { before: NONE, after: NONE, expires: 0 });
        }
        let expires = now.saturating_add(self.timeout);
        self.links[key] = Link { before: self.last, after: NONE, expires };
        match self.last {
            NONE => self.first = key as u32,
            last => self.links[last as usize].after = key as u32,
        }
        self.last = key as u32;
    }

    /// `key`, which is in the list, waits no longer.
    pub(super) fn end(&mut self, key: usize) {
        let Link { before, after, .. } = self.links[key];
        match before {
            NONE => self.first = after,
            before => self.links[before as usize].after = after,
        }
        match after {
            NONE => self.last = before,
            after => self.links[after as usize].before = before,
        }
    }

    /// When the oldest expires.
    pub(super) fn earliest(&self) -> Option<u64> {
        (self.first != NONE).then(|| self.links[self.first as usize].expires)
    }

    /// A key that has expired at `now`. It stays in the list.
    pub(super) fn expired(&self, now: u64) -> Option<usize> {
        self.earliest().filter(|&expires| expires <= now).map(|_| self.first as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_expire_in_the_order_of_their_last_start() {
        let mut deadlines = Deadlines::new(10);
        for (key, now) in [(3, 0), (0, 1), (7, 2)] {
            deadlines.start(key, now);
        }
        deadlines.end(3);
        deadlines.start(3, 5);
        assert_eq!(deadlines.earliest(), Some(11));
        assert_eq!(deadlines.expired(10), None);
        let mut order = Vec::new();
        while let Some(key) = deadlines.expired(100) {
            order.push(key);
            deadlines.end(key);
        }
        assert_eq!(order, [0, 7, 3]);
        assert_eq!(deadlines.earliest(), None);
    }

    #[test]
    fn any_key_can_be_taken_out() {
        for gone in 0..3 {
            let mut deadlines = Deadlines::new(10);
            (0..3).for_each(|key| deadlines.start(key, key as u64));
            deadlines.end(gone);
            let mut order = Vec::new();
            while let Some(key) = deadlines.expired(100) {
                order.push(key);
                deadlines.end(key);
            }
            let expected: Vec<_> = (0..3).filter(|&key| key != gone).collect();
            assert_eq!(order, expected);
        }
    }
}
