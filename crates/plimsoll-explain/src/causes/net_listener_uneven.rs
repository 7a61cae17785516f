//! `net.listener_uneven`: Of several listeners of one port (SO_REUSEPORT) some have long queues while others wait.

use plimsoll_model::cause::{Cause, CauseId};

use super::{Definition, Known, Page, by_counters, by_levels, changes};

pub(super) const DEFINITION: Definition = Definition::new(
    Page {
        evidence_for: "`ss -ltn` shows several listeners of one port, and nearly all connections that wait in one of them; that queue fills or overflows, or dozens wait in it",
        evidence_against: "all of them have queues of the same length",
        test: "restart the listener with the long queue, or use one listener for all, and measure again",
        remedy: "look for a worker that stopped accepting; change the number of workers, or attach a program that spreads by load (SO_ATTACH_REUSEPORT_EBPF)",
    },
    find,
)
.confirmed_by(changes::restarted);

const ID: CauseId = CauseId::NetListenerUneven;
/// From this share on one listener has most of what waits.
const UNEVEN: f64 = 50.0;
/// From this part of its limit on a queue is filling.
const FULL: f64 = 50.0;

/// Connections that wait: in the queues of one port, and in all queues. So many do not wait by chance in one of several queues.
const WAITING: [&str; 2] = ["listen.waiting", "tcp.backlog"];
const MANY: f64 = 30.0;

fn find(known: &Known<'_>) -> Vec<Cause> {
    let uneven = by_levels::above(&["listen.uneven_share"], UNEVEN, known.evidence);
    let full = by_levels::above(&["listen.fullest_share"], FULL, known.evidence);
    let overflows = by_counters::grown("netstat.TcpExt.ListenOverflows", known.evidence);
    let many = by_levels::above(&WAITING, MANY, known.evidence);
    if uneven.is_none() || full.is_none() && overflows.is_none() && many.is_none() {
        return Vec::new();
    }
    // A queue names its listener; a count of overflows names none.
    by_levels::shown(ID, 0.92, &[uneven, full, overflows, many])
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{grew, ids};
    use super::ID;

    #[test]
    fn one_long_queue_among_several_is_named_where_it_fills() {
        let uneven = grew("relay", "listen.uneven_share (level)", 0.0, 100.0);
        let full = grew("relay", "listen.fullest_share (level)", 0.0, 101.0);
        assert_eq!(ids(&[uneven.clone(), full]), [ID]);
        let waiting = |after| grew("relay", "listen.waiting of 0.0.0.0:80 (level)", 0.0, after);
        assert_eq!(ids(&[uneven.clone(), waiting(90.0)]), [ID]);
        assert!(ids(&[uneven.clone(), waiting(3.0)]).is_empty(), "three may fall to one of four by chance");
        assert!(ids(&[uneven]).is_empty());
    }
}
