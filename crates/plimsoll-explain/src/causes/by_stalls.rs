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

/// The cause, where its classes of stalls took a share of a cell's time, and the kernel's counters say the same. The larger the share, the surer.
pub(super) fn named(id: CauseId, signature: &Signature, cells: &[CellStalls]) -> Option<Cause> {
    // What the packets leave open, the sender's own sockets decide; where none was looked at, it is said that it is open.
    let undecided = |cell: &CellStalls| {
        let is_denied = cell.held_back.is_some_and(|share| share < LEAST_SHARE);
        let of_class = |class| if is_denied { None } else { cell.may_be.get(class) };
        signature.classes.iter().filter_map(of_class).sum::<f64>()
    };
    let surely =
        |cell: &CellStalls| signature.classes.iter().filter_map(|class| cell.shares.get(class)).sum::<f64>();
    let share = |cell: &CellStalls| surely(cell) + undecided(cell);
    let explained = |cell: &CellStalls| share(cell) - largest(faster(cells, cell).map(share));
    let is_slow = |cell: &CellStalls| !cell.is_better && !is_fastest(cells, cell);
    // Where the worse side is the fastest, the comparison is about something else.
    let by_rate = cells.iter().any(is_slow);
    let is_worse = |cell: &CellStalls| if by_rate { is_slow(cell) } else { !cell.is_better };
    let worse = cells.iter().enumerate().filter(|(_, cell)| is_worse(cell));
    let (place, worst) = worse.max_by(|a, b| explained(a.1).total_cmp(&explained(b.1)))?;
    let greatest = share(worst);
    let gained = explained(worst);
    if gained < LEAST_SHARE {
        return None;
    }
    let others = || cells.iter().enumerate().filter(|(other, _)| *other != place).map(|(_, cell)| cell);
    // One cell has nothing to be compared with but a connection that does not stand still.
    let least = |of: &dyn Fn(&CellStalls) -> f64| others().map(of).min_by(f64::total_cmp).unwrap_or(0.0);
    let there = if worst.cell.is_empty() { String::new() } else { format!(", {}", worst.cell) };
    let names: Vec<&str> = signature.classes.iter().map(|class| class.name()).collect();
    let mut evidence = vec![CauseEvidence {
        metric: format!("connection time in stalls: {}{there}", names.join(" or ")),
        before: 100.0 * least(&share),
        after: 100.0 * greatest,
        unit: "%".into(),
    }];
    let is_open = surely(worst) < LEAST_SHARE && worst.held_back.is_none();
    if undecided(worst) > 0.0 {
        evidence.push(CauseEvidence {
            metric: format!("part of it that a slow program would also explain{there}"),
            before: 100.0 * least(&undecided),
            after: 100.0 * undecided(worst),
            unit: "%".into(),
        });
        if let Some(held_back) = worst.held_back {
            evidence.push(CauseEvidence {
                metric: format!("samples with unsent bytes and nothing in flight (TCP_INFO){there}"),
                before: 100.0 * least(&|cell| cell.held_back.unwrap_or(0.0)),
                after: 100.0 * held_back,
                unit: "%".into(),
            });
        }
    }
    if let Some(name) = signature.required {
        // Nothing was lost where nothing was sent again.
        let again = worst.counters.get(name).copied().unwrap_or(0.0);
        if again <= 0.0 {
            return None;
        }
    }
    if !signature.counters.is_empty() {
        let counted = |cell: &CellStalls, name: &str| cell.counters.get(name).copied().unwrap_or(0.0);
        match signature.counters.iter().find(|name| counted(worst, name) > 0.0) {
            Some(moved) => evidence.push(CauseEvidence {
                metric: format!("{moved}{there}"),
                before: least(&|cell| counted(cell, moved)),
                after: counted(worst, moved),
                unit: "count".into(),
            }),
            None if signature.is_counted => return None,
            None => {}
        }
    }
    if signature.window
        && let Some(limited) = worst.window_limited
    {
        if limited < LEAST_SHARE {
            return None;
        }
        evidence.push(CauseEvidence {
            metric: format!("busy time limited by the receiver's window (TCP_INFO){there}"),
            before: 100.0 * least(&|cell| cell.window_limited.unwrap_or(0.0)),
            after: 100.0 * limited,
            unit: "%".into(),
        });
    }
    // Nothing was tried yet that would confirm it.
    let confidence = match (is_open, evidence.len()) {
        (true, _) => 0.35,
        (false, 1) => 0.65,
        (false, _) => 0.8,
    };
    let behind = 1.0 - gained / most_explained(cells, worst).max(gained);
    Some(cause(id, confidence + OF_SHARE * gained.min(1.0) - OF_RANK * behind, evidence))
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
