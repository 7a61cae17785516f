//! Packets in the order of their times.
//!
//! Captures of several interfaces and queues hold records that are a little older than the ones before them. A window of the last records is
//! kept, and what is late is sorted into it.

use std::collections::VecDeque;

use plimsoll_model::packet::Packet;

/// Packets in the window.
const HELD: usize = 256;

/// Time that runs back by more than this, in nanoseconds, is a clock that was set, or another capture behind this one: the order of the file counts.
const CLOCK_WAS_SET: u64 = 1_000_000_000;

/// The sorting window.
pub(super) struct Order<'v> {
    visit: &'v mut dyn FnMut(&Packet),
    held: VecDeque<Packet>,
    /// The time of the last packet handed on.
    passed: u64,
    /// Packets older than the one before.
    pub(super) backwards: u64,
    /// Packets that were older than all in the window, so that they could not be sorted in.
    pub(super) too_late: u64,
}

impl<'v> Order<'v> {
    pub(super) fn new(visit: &'v mut dyn FnMut(&Packet)) -> Self {
        Self { visit, held: VecDeque::with_capacity(HELD + 1), passed: 0, backwards: 0, too_late: 0 }
    }

    /// Takes the next packet of the file.
    #[inline]
    pub(super) fn push(&mut self, packet: Packet) {
        match self.held.back() {
            Some(newest) if packet.time_ns < newest.time_ns => self.sort_in(packet, newest.time_ns),
            _ => self.held.push_back(packet),
        }
        if self.held.len() > HELD {
            self.hand_on();
        }
    }

    #[cold]
    fn sort_in(&mut self, packet: Packet, newest: u64) {
        self.backwards += 1;
        if newest - packet.time_ns > CLOCK_WAS_SET {
            self.finish();
            self.held.push_back(packet);
            return;
        }
        self.too_late += u64::from(packet.time_ns < self.passed);
        let place = self.held.partition_point(|held| held.time_ns <= packet.time_ns);
        self.held.insert(place, packet);
    }

    #[inline]
    fn hand_on(&mut self) {
        if let Some(packet) = self.held.pop_front() {
            self.passed = packet.time_ns;
            (self.visit)(&packet);
        }
    }

    /// Hands on the packets of the window.
    pub(super) fn finish(&mut self) {
        while !self.held.is_empty() {
            self.hand_on();
        }
        self.passed = 0;
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use plimsoll_model::packet::{Endpoint, Transport};

    use super::*;

    fn sorted(times: &[u64]) -> (Vec<u64>, u64, u64) {
        let endpoint = Endpoint { address: Ipv4Addr::LOCALHOST.into(), port: 1 };
        let mut seen = Vec::new();
        let mut visit = |packet: &Packet| seen.push(packet.time_ns);
        let mut order = Order::new(&mut visit);
        for &time_ns in times {
            let transport = Transport::Udp { payload: 0 };
            order.push(Packet {
                time_ns,
                wire_bytes: 28,
                source: endpoint,
                destination: endpoint,
                ip_id: None,
                transport,
            });
        }
        order.finish();
        let (backwards, too_late) = (order.backwards, order.too_late);
        (seen, backwards, too_late)
    }

    #[test]
    fn a_late_record_is_sorted_in() {
        assert_eq!(sorted(&[1, 5, 3, 4, 9, 2]), (vec![1, 2, 3, 4, 5, 9], 3, 0));
    }

    #[test]
    fn a_record_from_before_the_window_is_counted() {
        let mut times: Vec<u64> = (10..1000).collect();
        times.push(11);
        let (seen, backwards, too_late) = sorted(&times);
        assert_eq!((seen.len(), backwards, too_late), (991, 1, 1));
    }

    #[test]
    fn a_clock_that_was_set_keeps_the_order_of_the_file() {
        let day = 86_400_000_000_000;
        assert_eq!(sorted(&[day, day + 1, 5, 6]), (vec![day, day + 1, 5, 6], 1, 0));
    }
}
