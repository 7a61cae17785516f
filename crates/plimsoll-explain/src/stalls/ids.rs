//! IP identification: how many packets a side sent between two that were seen.
//!
//! Linux numbers the packets of each connection one by one, and each segment of a packet that the card cuts
//! (`ip_select_ident_segs` in include/net/ip.h). There a step over a silence is the trace of packets that were lost before the
//! capture point. Windows and others use one counter for all connections (RFC 6864, section 5, leaves that open), and there a step only
//! means that the host talked to another one. So a step counts as a loss only where the capture shows how the host numbers.

use std::collections::HashMap;
use std::net::IpAddr;

use foldhash::fast::RandomState;

/// Packets in a row that must have been numbered as expected before a step is measured.
const LEAST_STREAK: u8 = 2;

/// A larger step is another numbering, or a wrap.
const MOST_MISSING: u16 = 1 << 14;

/// Packets numbered as expected, without a step, that show the numbering of a host which has one connection only.
const ENOUGH_ALONE: u32 = 8;

/// A step after just the time of the retransmission timer says as much as this many packets.
const OF_TIMER: u32 = 5;

/// A connection with more than one strange step in this many packets has no numbers of its own.
const EXACT_FOR_EACH: u32 = 8;

/// How a loss explains the step before a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Explained {
    /// No loss explains the step.
    No,
    /// A loss may have left the step.
    Possibly,
    /// Step at the retransmission timeout of that number of lost packets.
    ByTimer,
}

/// What a host's connections show together.
#[derive(Clone, Copy, Default)]
pub(super) struct Scope {
    /// Packets that continued their connection's numbers although another connection had sent in between.
    own: u32,
    /// Packets that continued the numbers of another connection.
    common: u32,
}

/// The numbering of one side of a connection.
#[derive(Clone, Copy, Default)]
pub(super) struct Ids {
    next: Option<u16>,
    streak: u8,
    exact: u32,
    /// Steps without a silence, a retransmission or a gap in the data that a loss would have left.
    unexplained: u32,
    /// Steps after just the time of the retransmission timer.
    timed: u32,
    host: Scope,
}

impl Ids {
    /// The number of missing packets before one with this number; `None` where the numbering is unknown or not that of the connection.
    pub(super) fn missing(&self, id: Option<u16>) -> Option<u16> {
        let missing = id?.wrapping_sub(self.next?);
        let is_common = self.host.common > self.host.own;
        (self.streak >= LEAST_STREAK && missing <= MOST_MISSING && !is_common).then_some(missing)
    }

    /// The step before a packet with this number, whether the numbering is known or not.
    pub(super) fn step(&self, id: Option<u16>) -> u16 {
        id.zip(self.next).map_or(0, |(id, next)| id.wrapping_sub(next))
    }

    /// Adds a packet of `segments` segments.
    pub(super) fn take_in(&mut self, id: Option<u16>, segments: u32, explained: Explained) {
        let Some(id) = id else { return };
        let as_expected = self.next == Some(id);
        // A packet that is missing tells nothing about the numbering; one that goes back does.
        let goes_back = self.next.is_some_and(|next| id.wrapping_sub(next) > MOST_MISSING);
        if as_expected {
            self.streak = self.streak.saturating_add(1);
            self.exact = self.exact.saturating_add(1);
        } else if goes_back {
            self.streak = 0;
        } else {
            self.streak = self.streak.saturating_sub(1);
        }
        if !as_expected && self.next.is_some() {
            match explained {
                Explained::No => self.unexplained = self.unexplained.saturating_add(1),
                Explained::Possibly => {}
                Explained::ByTimer => self.timed = self.timed.saturating_add(1),
            }
        }
        self.next = Some(id.wrapping_add(segments.clamp(1, u32::from(MOST_MISSING)) as u16));
    }

    /// Whether the capture shows that the host counts per connection: by its other connections, or, where it has none, by numbers that
    /// ran without a step except where a loss explains one.
    pub(super) fn are_of_connection(&self) -> bool {
        let Scope { own, common } = self.host;
        match (own, common) {
            (0, 0) => {
                let shown = self.exact.saturating_add(self.timed.saturating_mul(OF_TIMER));
                shown >= ENOUGH_ALONE && self.unexplained == 0
            }
            _ => own > common && self.unexplained.saturating_mul(EXACT_FOR_EACH) <= self.exact,
        }
    }
}

/// The last packet of a host, among those that began a run of packets of one connection.
#[derive(Clone, Copy)]
struct Latest {
    connection: usize,
    id: u16,
    at: u64,
}

/// How hosts number their packets over all their connections.
#[derive(Default)]
pub(super) struct Hosts {
    known: HashMap<IpAddr, (Latest, Scope), RandomState>,
}

impl Hosts {
    /// The most hosts that are distinguished: memory must not grow with the file.
    const MOST: usize = 1 << 16;

    /// A host with one counter sends fewer packets than this within [`Hosts::SOON`].
    const NEAR: u16 = 2048;
    const SOON: u64 = 200_000_000;

    /// Takes in the first packet of `host` on a connection after one on another, before the connection does.
    pub(super) fn take_in(&mut self, host: IpAddr, connection: usize, at: u64, id: u16, ids: &mut Ids) {
        let now = Latest { connection, id, at };
        if let Some((latest, scope)) = self.known.get_mut(&host) {
            if latest.connection != connection {
                let step = id.wrapping_sub(latest.id);
                let follows = (1..=Self::NEAR).contains(&step);
                if ids.next == Some(id) && !follows {
                    scope.own = scope.own.saturating_add(1);
                } else if follows {
                    scope.common = scope.common.saturating_add(1);
                } else if ids.next.is_none() && at.saturating_sub(latest.at) <= Self::SOON {
                    scope.own = scope.own.saturating_add(1);
                }
            }
            *latest = now;
            ids.host = *scope;
        } else if self.known.len() < Self::MOST {
            self.known.insert(host, (now, Scope::default()));
        }
    }

    /// Gives `ids` what is known of their host in the end.
    pub(super) fn conclude(&self, host: IpAddr, ids: &mut Ids) {
        if let Some((_, scope)) = self.known.get(&host) {
            ids.host = *scope;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOST: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

    #[test]
    fn a_step_over_a_silence_counts_what_was_sent_meanwhile() {
        let mut ids = Ids::default();
        for (id, segments) in [(65_530, 1), (65_531, 4), (65_535, 1), (0, 1)] {
            ids.take_in(Some(id), segments, Explained::No);
        }
        assert_eq!(ids.missing(Some(1)), Some(0));
        assert_eq!(ids.missing(Some(6)), Some(5));
        assert_eq!(ids.missing(None), None);
    }

    #[test]
    fn a_numbering_that_was_not_seen_in_order_is_not_believed() {
        let mut ids = Ids::default();
        for id in [7, 60_000, 13, 41_000, 99] {
            ids.take_in(Some(id), 1, Explained::No);
        }
        assert_eq!(ids.missing(Some(100)), None);
        assert!(!ids.are_of_connection());
    }

    /// Two connections of one host that take turns, with these numbers.
    fn in_turns(numbers: impl Fn(u16, u16) -> u16) -> [Ids; 2] {
        let (mut hosts, mut both) = (Hosts::default(), [Ids::default(); 2]);
        for turn in 0..20 {
            for (connection, ids) in both.iter_mut().enumerate() {
                let id = numbers(turn, connection as u16);
                hosts.take_in(HOST, connection, u64::from(turn), id, ids);
                ids.take_in(Some(id), 1, Explained::No);
            }
        }
        both.iter_mut().for_each(|ids| hosts.conclude(HOST, ids));
        both
    }

    #[test]
    fn a_step_that_no_loss_explains_shows_a_common_counter() {
        let numbered = |explained| {
            let mut ids = Ids::default();
            (0..20).for_each(|id| ids.take_in(Some(id), 1, Explained::No));
            ids.take_in(Some(30), 1, explained);
            ids.are_of_connection()
        };
        assert!(!numbered(Explained::No));
        assert!(numbered(Explained::Possibly));
    }

    #[test]
    fn a_step_after_the_time_of_the_timer_says_more_than_another() {
        let numbered = |explained| {
            let mut ids = Ids::default();
            (0..5).for_each(|id| ids.take_in(Some(id), 1, Explained::No));
            ids.take_in(Some(6), 1, explained);
            ids.are_of_connection()
        };
        assert!(numbered(Explained::ByTimer));
        assert!(!numbered(Explained::Possibly));
    }

    #[test]
    fn a_counter_of_each_connection_is_told_from_one_for_all() {
        assert!(in_turns(|turn, connection| turn + 30_000 * connection).iter().all(Ids::are_of_connection));
        assert!(!in_turns(|turn, connection| 2 * turn + connection).iter().any(Ids::are_of_connection));
    }
}
