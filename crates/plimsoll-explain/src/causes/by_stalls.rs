//! Causes by packets: what kept connections waiting.
//!
//! The packets tell how much of the connections' time each class of stall took. That alone names a cause only where the kernel has no
//! counter of its own for it; where it has one, that must have moved, too.

use plimsoll_model::cause::{Cause, CauseEvidence, CauseId};
use plimsoll_model::trace::Class;

use super::{CellStalls, cause};

/// A class of stall that took less than this share of the connections' time explains nothing.
const LEAST_SHARE: f64 = 0.05;
/// How much surer a cause is whose stalls took all the time than one whose stalls took hardly any.
const OF_SHARE: f64 = 0.1;
/// How much less sure a cause is than one that explains far more of the time by which a cell stood still longer than faster ones. It
/// outweighs the kernel's counters, which not every cause has.
const OF_RANK: f64 = 0.5;
/// A cell whose rate is less than this many times another's is no faster than that: rates scatter.
const MUCH_FASTER: f64 = 1.1;

/// What shows a cause: classes of stalls, and what else must have moved.
pub(super) struct Signature {
    pub(super) classes: &'static [Class],
    /// The kernel's counters of it; none where it has no such counter.
    pub(super) counters: &'static [&'static str],
    /// Whether one of these must have moved.
    pub(super) is_counted: bool,
    /// A counter that must have moved as well.
    pub(super) required: Option<&'static str>,
    /// Whether TCP_INFO must show that the receiver's window was the limit, where it was read.
    pub(super) window: bool,
}

impl Signature {
    fn sum(&self, share_of: impl Fn(&Class) -> Option<f64>) -> f64 {
        self.classes.iter().filter_map(share_of).sum()
    }

    /// Share of the time in stalls that the packets attribute to these classes.
    fn surely(&self, cell: &CellStalls) -> f64 {
        self.sum(|class| cell.shares.get(class).copied())
    }

    /// Share of the time that the packets leave open. The sender's own sockets may deny it.
    fn undecided(&self, cell: &CellStalls) -> f64 {
        let is_denied = cell.held_back.is_some_and(|share| share < LEAST_SHARE);
        if is_denied { 0.0 } else { self.sum(|class| cell.may_be.get(class).copied()) }
    }

    fn share(&self, cell: &CellStalls) -> f64 {
        self.surely(cell) + self.undecided(cell)
    }

    /// How much larger the share is than in any faster cell.
    fn explained(&self, cells: &[CellStalls], cell: &CellStalls) -> f64 {
        self.share(cell) - largest(faster(cells, cell).map(|it| self.share(it)))
    }

    /// The first of the kernel's counters that moved.
    fn moved(&self, cell: &CellStalls) -> Option<&'static str> {
        self.counters.iter().copied().find(|name| counted(cell, name) > 0.0)
    }

    /// Whether what the kernel counted contradicts the packets.
    fn is_refuted(&self, cell: &CellStalls) -> bool {
        // Nothing was lost where nothing was sent again.
        self.required.is_some_and(|name| counted(cell, name) <= 0.0)
            || self.is_counted && !self.counters.is_empty() && self.moved(cell).is_none()
            || self.window && cell.window_limited.is_some_and(|limited| limited < LEAST_SHARE)
    }
}

fn counted(cell: &CellStalls, name: &str) -> f64 {
    cell.counters.get(name).copied().unwrap_or(0.0)
}

/// The cause, where its classes of stalls took a share of a cell's time, and the kernel's counters say the same. The larger the share, the surer.
pub(super) fn named(id: CauseId, signature: &Signature, cells: &[CellStalls]) -> Option<Cause> {
    let worst = worst(signature, cells)?;
    let gained = signature.explained(cells, worst);
    if gained < LEAST_SHARE || signature.is_refuted(worst) {
        return None;
    }
    let there = if worst.cell.is_empty() { String::new() } else { format!(", {}", worst.cell) };
    // One cell has nothing to be compared with but a connection that does not stand still.
    let others = || cells.iter().filter(|cell| !std::ptr::eq(*cell, worst));
    let shown = |metric: &str, unit: &str, factor: f64, of: &dyn Fn(&CellStalls) -> f64| CauseEvidence {
        metric: format!("{metric}{there}"),
        before: factor * others().map(of).min_by(f64::total_cmp).unwrap_or(0.0),
        after: factor * of(worst),
        unit: unit.into(),
    };
    let names: Vec<&str> = signature.classes.iter().map(|class| class.name()).collect();
    let stalls = format!("connection time in stalls: {}", names.join(" or "));
    let mut evidence = vec![shown(&stalls, "%", 100.0, &|cell| signature.share(cell))];
    if signature.undecided(worst) > 0.0 {
        let metric = "part of it that a slow program would also explain";
        evidence.push(shown(metric, "%", 100.0, &|cell| signature.undecided(cell)));
        if worst.held_back.is_some() {
            let metric = "samples with unsent bytes and nothing in flight (TCP_INFO)";
            evidence.push(shown(metric, "%", 100.0, &|cell| cell.held_back.unwrap_or(0.0)));
        }
    }
    evidence
        .extend(signature.moved(worst).map(|name| shown(name, "count", 1.0, &|cell| counted(cell, name))));
    if signature.window && worst.window_limited.is_some() {
        let metric = "busy time limited by the receiver's window (TCP_INFO)";
        evidence.push(shown(metric, "%", 100.0, &|cell| cell.window_limited.unwrap_or(0.0)));
    }
    let is_open = signature.surely(worst) < LEAST_SHARE && worst.held_back.is_none();
    // Nothing was tried yet that would confirm it.
    let confidence = match (is_open, evidence.len()) {
        (true, _) => 0.35,
        (false, 1) => 0.65,
        (false, _) => 0.8,
    };
    let behind = 1.0 - gained / most_explained(cells, worst).max(gained);
    Some(cause(id, confidence + OF_SHARE * gained.min(1.0) - OF_RANK * behind, evidence))
}

/// The slow cell that these stalls explain best.
fn worst<'c>(signature: &Signature, cells: &'c [CellStalls]) -> Option<&'c CellStalls> {
    let is_slow = |cell: &CellStalls| !cell.is_better && !is_fastest(cells, cell);
    // Where the worse side is the fastest, the comparison is about something else.
    let by_rate = cells.iter().any(is_slow);
    let worse = cells.iter().filter(|cell| if by_rate { is_slow(cell) } else { !cell.is_better });
    worse.max_by(|a, b| signature.explained(cells, a).total_cmp(&signature.explained(cells, b)))
}

fn is_faster(cell: &CellStalls, than: &CellStalls) -> bool {
    cell.rate.zip(than.rate).is_some_and(|(its, other)| its > MUCH_FASTER * other)
}

/// The cells that a cell is slower than.
fn faster<'c>(cells: &'c [CellStalls], than: &'c CellStalls) -> impl Iterator<Item = &'c CellStalls> {
    cells.iter().filter(move |cell| cell.is_better || is_faster(cell, than))
}

/// Whether a cell is faster than another, and none is faster than it.
fn is_fastest(cells: &[CellStalls], cell: &CellStalls) -> bool {
    !cells.iter().any(|other| is_faster(other, cell)) && cells.iter().any(|other| is_faster(cell, other))
}

/// The largest share of the time that a cell stood still by one class, less what a faster cell did. A pause of the sender that the packets do not
/// explain is no rival: it may be the very one that its sockets explain.
fn most_explained(cells: &[CellStalls], cell: &CellStalls) -> f64 {
    let share = |cell: &CellStalls, class| cell.shares.get(class).copied().unwrap_or(0.0);
    let classes = cell.shares.keys().filter(|class| class.held_up() && **class != Class::SenderWaited);
    largest(classes.map(|class| share(cell, class) - largest(faster(cells, cell).map(|it| share(it, class)))))
}

fn largest(shares: impl Iterator<Item = f64>) -> f64 {
    shares.fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::{Known, named as all_named};
    use super::*;

    fn of_stalls(stalls: &[CellStalls]) -> Vec<Cause> {
        all_named(&Known { stalls, ..Known::default() })
    }

    fn cell(name: &str, shares: &[(Class, f64)], counters: &[(&str, f64)]) -> CellStalls {
        CellStalls {
            cell: name.into(),
            is_better: false,
            rate: None,
            shares: shares.iter().copied().collect(),
            counters: counters.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect(),
            window_limited: None,
            may_be: BTreeMap::new(),
            held_back: None,
        }
    }

    /// 60 % of the time in silences that the packets leave open, and what the sender's sockets say.
    fn left_open(held_back: Option<f64>) -> Vec<Cause> {
        let may_be = [(Class::SenderHeld, 0.6)].into();
        of_stalls(&[CellStalls { may_be, held_back, ..cell("", &[(Class::ServerThink, 0.6)], &[]) }])
    }

    #[test]
    fn what_the_packets_leave_open_the_senders_sockets_decide() {
        assert!(left_open(Some(0.0)).is_empty(), "the sockets had nothing to send");
        let confirmed = left_open(Some(0.5)).remove(0);
        assert_eq!((confirmed.id, confirmed.evidence.len()), (CauseId::NetSenderCorked, 3));
        let open = left_open(None).remove(0);
        assert_eq!(open.id, CauseId::NetSenderCorked);
        assert!(open.confidence < 0.5 && confirmed.confidence > 0.8);
        assert!(
            open.evidence[1].metric.contains("slow program would also explain"),
            "{}",
            open.evidence[1].metric
        );
    }

    #[test]
    fn no_timeout_explains_anything_where_nothing_was_sent_again() {
        let probes = cell("", &[(Class::TailLoss, 0.5)], &[("netstat.TcpExt.TCPLossProbes", 9.0)]);
        assert!(of_stalls(&[probes]).is_empty());
    }

    #[test]
    fn the_cause_that_took_most_of_a_cells_time_comes_first() {
        let cells = [
            cell("none", &[], &[]),
            cell(
                "lossy",
                &[(Class::Rto, 0.3), (Class::FastRetransmit, 0.01)],
                &[("netstat.TcpExt.TCPTimeouts", 9.0), ("snmp.Tcp.RetransSegs", 9.0)],
            ),
            cell("acks", &[(Class::DelayedAck, 0.8)], &[("netstat.TcpExt.DelayedACKs", 50.0)]),
        ];
        let causes = of_stalls(&cells);
        let ids: Vec<_> = causes.iter().map(|cause| (cause.rank, cause.id)).collect();
        assert_eq!(ids, [(1, CauseId::NetDelayedAck), (2, CauseId::NetRto)]);
        let share = &causes[0].evidence[0];
        assert!(share.metric.ends_with("delayed_ack, acks"), "{}", share.metric);
        assert_eq!((share.before, share.after), (0.0, 80.0));
        assert_eq!(causes[0].evidence[1].after, 50.0);
    }

    #[test]
    fn what_the_better_side_waits_for_as_long_explains_nothing() {
        let counters = [("netstat.TcpExt.DelayedACKs", 50.0)];
        let side = |is_better, share| CellStalls {
            is_better,
            ..cell(if is_better { "good" } else { "bad" }, &[(Class::DelayedAck, share)], &counters)
        };
        assert!(of_stalls(&[side(true, 0.8), side(false, 0.0)]).is_empty(), "only the better side has it");
        assert!(of_stalls(&[side(true, 0.8), side(false, 0.8)]).is_empty(), "both sides have it");
        assert_eq!(of_stalls(&[side(true, 0.1), side(false, 0.8)])[0].evidence[0].before, 10.0);
    }

    #[test]
    fn the_cause_that_explains_most_of_the_difference_comes_first() {
        let counters = [("netstat.TcpExt.DelayedACKs", 50.0)];
        let at = |name, rate, shares: &[(Class, f64)]| CellStalls {
            rate: Some(rate),
            ..cell(name, shares, &counters)
        };
        let cells = [
            at("write", 9e6, &[(Class::DelayedAck, 0.5)]),
            at("splice", 8e6, &[(Class::DelayedAck, 0.4)]),
            at("splice, more", 1e5, &[(Class::DelayedAck, 0.62), (Class::SenderHeld, 0.35)]),
        ];
        let of_slow = |cells: &[CellStalls]| -> Vec<_> {
            of_stalls(cells).into_iter().map(|cause| (cause.id, cause.evidence[0].after)).collect()
        };
        assert_eq!(of_slow(&cells), [(CauseId::NetSenderCorked, 35.0), (CauseId::NetDelayedAck, 62.0)]);
        let unmeasured = cells.map(|cell| CellStalls { rate: None, ..cell });
        assert_eq!(of_slow(&unmeasured)[0].0, CauseId::NetDelayedAck, "no rate says which cells are faster");
    }

    #[test]
    fn a_cell_that_is_as_fast_as_the_better_side_needs_no_explanation() {
        let counters = [("netstat.TcpExt.DelayedACKs", 12.0)];
        let at = |name, rate, shares: &[(Class, f64)]| CellStalls {
            rate: Some(rate),
            ..cell(name, shares, &counters)
        };
        let cells = [
            CellStalls { is_better: true, ..at("write", 302e3, &[]) },
            at("splice, more", 333e3, &[(Class::DelayedAck, 0.074)]),
            at("splice, more, kept", 87e3, &[(Class::SenderHeld, 0.83)]),
        ];
        let ids =
            |cells: &[CellStalls]| of_stalls(cells).into_iter().map(|cause| cause.id).collect::<Vec<_>>();
        assert_eq!(ids(&cells), [CauseId::NetSenderCorked]);
        assert_eq!(
            ids(&cells[..2]),
            [CauseId::NetDelayedAck],
            "a claim may be about something else than the rate"
        );
    }

    #[test]
    fn a_window_that_is_never_quite_closed_moves_no_counter_and_is_named_less_surely() {
        let slow = |window_limited, counters: &[(&str, f64)]| {
            of_stalls(&[CellStalls { window_limited, ..cell("", &[(Class::ZeroWindow, 0.3)], counters) }])
        };
        let counted = &[("netstat.TcpExt.TCPToZeroWindowAdv", 4.0)];
        assert!(slow(Some(0.0), counted).is_empty(), "the window was not the limit");
        let (bare, closed) = (slow(None, &[]).remove(0), slow(None, counted).remove(0));
        assert_eq!((bare.id, closed.id), (CauseId::NetZeroWindow, CauseId::NetZeroWindow));
        assert!(bare.confidence < closed.confidence);
    }

    #[test]
    fn stalls_without_the_kernels_own_count_of_them_name_no_cause() {
        assert!(of_stalls(&[cell("", &[(Class::DelayedAck, 0.8)], &[])]).is_empty());
        let corked = of_stalls(&[cell("", &[(Class::SenderHeld, 0.8)], &[])]);
        assert_eq!(corked[0].id, CauseId::NetSenderCorked, "the kernel has no count of these");
        assert!(corked[0].confidence < 0.85);
    }

    #[test]
    fn a_small_window_that_was_not_the_limit_is_no_small_buffer() {
        let small = |window_limited| {
            of_stalls(&[CellStalls { window_limited, ..cell("", &[(Class::SmallWindow, 0.5)], &[]) }])
        };
        assert!(small(Some(0.01)).is_empty());
        assert_eq!(small(Some(0.6))[0].evidence.len(), 2);
        assert_eq!(small(None)[0].evidence.len(), 1);
    }

    #[test]
    fn what_took_hardly_any_time_explains_nothing() {
        let hardly = cell(
            "",
            &[(Class::Rto, 0.04)],
            &[("netstat.TcpExt.TCPTimeouts", 9.0), ("snmp.Tcp.RetransSegs", 9.0)],
        );
        assert!(of_stalls(&[hardly]).is_empty());
    }
}
