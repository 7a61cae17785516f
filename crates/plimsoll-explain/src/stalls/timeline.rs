//! A connection's lifetime, cut into stalls: every moment belongs to one stall at most, whatever is found and in whichever order.
//!
//! A silence is put in as soon as it ends, with the class that the packets so far show. What comes later may amend the class, or cover
//! it by something that explains a longer stretch (a loss and its repair, a closed window); it never takes time out again. What is
//! older than the last few stalls is settled, and only its sums and the longest are kept.

use std::collections::VecDeque;

use super::classes::Finding;
use plimsoll_model::trace::Class;

/// A stall in nanoseconds, and what else it may be.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) finding: Finding,
    pub(super) may_be: Option<Class>,
}

impl Entry {
    fn length(&self) -> u64 {
        self.end - self.start
    }
}

/// Time by class, in nanoseconds.
pub(super) type ClassTimes = [u64; Class::ALL.len()];

/// Names a silence that was put in, so that it can be amended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ticket(u64);

/// How much a finding weighs against another of the same moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Weight {
    /// A window that set the pace: it fills what nothing else explains.
    Pace,
    /// A silence, by the packet that ended it.
    Silence,
    /// A loss, from the last progress to the end of its repair.
    Loss,
    /// What one side said itself: a closed window, a handshake that began again.
    Said,
}

/// A stall that may still change.
#[derive(Clone, Debug)]
struct Span {
    ticket: Ticket,
    weight: Weight,
    /// Kind and finding that hold if the silences of this kind turn out not to be the kernel's timer.
    otherwise: Option<(usize, Finding)>,
    entry: Entry,
}

/// How many stalls may still change at a time.
const OPEN: usize = 128;

/// Kinds of silence whose class depends on what most of their kind are.
pub(super) const KINDS: usize = 10;

/// The first of two kinds, one for each side: losses that only the numbering of its IP packets shows.
pub(super) const NUMBERING: usize = 6;

/// Silences between the frames of one side, where the other side's frames may be no requests.
pub(super) const STREAM: usize = 8;

/// Silences before a server's FIN, with which an answer may end, or an idle connection.
pub(super) const CLOSING: usize = 9;

/// Where a connection's stalls are put.
#[derive(Default)]
pub(super) struct Timeline {
    /// In order of time, without overlap.
    open: VecDeque<Span>,
    /// Nothing before this moment changes any more.
    settled_to: u64,
    next: u64,
    listed: Vec<(Entry, Option<(usize, Finding)>)>,
    /// Length of the shortest listed stall, once the list is full.
    shortest: u64,
    count: u64,
    times: ClassTimes,
    /// Time of settled stalls by kind, and by the class that they have for now and would have otherwise.
    undecided: [ClassTimes; KINDS],
    otherwise: [ClassTimes; KINDS],
}

impl Timeline {
    /// Puts in a silence. What is known of its moments already stays.
    pub(super) fn put(&mut self, start: u64, end: u64, finding: Finding, most: usize) -> Ticket {
        self.insert(start, end, finding, None, Weight::Silence, most)
    }

    /// Puts in a silence with a second finding, which holds if most silences of this kind are others than this one.
    pub(super) fn put_undecided(
        &mut self,
        start: u64,
        end: u64,
        finding: Finding,
        otherwise: (usize, Finding),
        most: usize,
    ) -> Ticket {
        self.insert(start, end, finding, Some(otherwise), Weight::Silence, most)
    }

    /// Gives a silence another class, unless it is settled or covered.
    pub(super) fn amend(&mut self, ticket: Ticket, finding: &Finding) {
        let of_ticket = |span: &&mut Span| span.ticket == ticket;
        for span in self.open.iter_mut().filter(of_ticket) {
            span.entry.finding = finding.clone();
            span.otherwise = None;
        }
    }

    /// Gives the losses within a stretch another class, unless they are settled. The wait for a probe right before it belongs to it.
    pub(super) fn amend_losses(&mut self, start: u64, end: u64, finding: &Finding) {
        let probed = |entry: &Entry| entry.end == start && entry.finding.class == Class::TailLoss;
        for span in self.open.iter_mut().filter(|span| probed(&span.entry)) {
            span.entry.finding = finding.clone();
        }
        let is_within = |entry: &Entry| entry.start >= start && entry.end <= end;
        for span in self.open.iter_mut().filter(|span| span.weight == Weight::Loss && is_within(&span.entry))
        {
            span.entry.finding = finding.clone();
        }
    }

    /// Covers a stretch and replaces lighter entries. A silence that is covered by more than half belongs to the stretch.
    pub(super) fn cover(
        &mut self,
        start: u64,
        end: u64,
        finding: &Finding,
        weight: Weight,
        most: usize,
    ) -> Ticket {
        let (mut start, mut end) = (start, end);
        for span in &self.open {
            let entry = &span.entry;
            let common = entry.end.min(end).saturating_sub(entry.start.max(start));
            if span.weight < weight && 2 * common > entry.length() {
                (start, end) = (start.min(entry.start), end.max(entry.end));
            }
        }
        let mut kept = VecDeque::with_capacity(self.open.len() + 2);
        for span in self.open.drain(..) {
            let (from, to) = (span.entry.start, span.entry.end);
            if span.weight >= weight || to <= start || from >= end {
                kept.push_back(span);
                continue;
            }
            for (from, to) in [(from, to.min(start)), (from.max(end), to)] {
                if from < to {
                    let entry =
                        Entry { start: from, end: to, finding: span.entry.finding.clone(), may_be: None };
                    kept.push_back(Span { entry, otherwise: span.otherwise.clone(), ..span });
                }
            }
        }
        self.open = kept;
        self.insert(start, end, finding.clone(), None, weight, most)
    }

    /// A stretch in which a window set the pace, whatever else happened in it. Silences of the same class are a part of it.
    pub(super) fn pace(&mut self, start: u64, end: u64, finding: &Finding, most: usize) {
        self.open.retain(|span| {
            let is_part = span.entry.start >= start && span.entry.end <= end;
            span.entry.finding.class != finding.class || !is_part
        });
        self.insert(start, end, finding.clone(), None, Weight::Pace, most);
    }

    /// Puts a finding into the moments of a stretch that belong to nothing else.
    fn insert(
        &mut self,
        start: u64,
        end: u64,
        finding: Finding,
        otherwise: Option<(usize, Finding)>,
        weight: Weight,
        most: usize,
    ) -> Ticket {
        let ticket = Ticket(self.next);
        self.next += 1;
        let whole = Span { ticket, weight, otherwise, entry: Entry { start, end, finding, may_be: None } };
        let mut from = start.max(self.settled_to);
        let mut place = match self.open.back() {
            Some(last) if last.entry.end > from => self.open.partition_point(|span| span.entry.end <= from),
            _ => self.open.len(),
        };
        while from < end {
            let next = self.open.get(place).map(|span| (span.entry.start, span.entry.end));
            let to = next.map_or(end, |(start, _)| start.min(end));
            if from < to {
                let mut part = whole.clone();
                (part.entry.start, part.entry.end) = (from, to);
                self.open.insert(place, part);
                place += 1;
            }
            match next {
                Some((_, behind)) => (from, place) = (behind.max(from), place + 1),
                None => break,
            }
        }
        while self.open.len() > OPEN {
            self.settle_first(most);
        }
        ticket
    }

    fn settle_first(&mut self, most: usize) {
        let Some(Span { entry, otherwise, .. }) = self.open.pop_front() else { return };
        self.settled_to = entry.end;
        self.count += 1;
        let (class, length) = (entry.finding.class as usize, entry.length());
        match &otherwise {
            None => self.times[class] += length,
            Some((kind, other)) => {
                self.undecided[*kind][class] += length;
                self.otherwise[*kind][other.class as usize] += length;
            }
        }
        let is_shortest = |(entry, _): &(Entry, _)| entry.length() == self.shortest;
        if self.listed.len() < most {
            self.listed.push((entry, otherwise));
        } else if length > self.shortest
            && let Some(at) = self.listed.iter().position(is_shortest)
        {
            self.listed.remove(at);
            self.listed.push((entry, otherwise));
        } else {
            return;
        }
        if self.listed.len() == most {
            self.shortest = self.listed.iter().map(|(entry, _)| entry.length()).min().unwrap_or(u64::MAX);
        }
    }

    /// Settles all open entries. `stands` decides for each kind whether an open entry stays.
    pub(super) fn finish(mut self, stands: [bool; KINDS], most: usize) -> Stalls {
        while !self.open.is_empty() {
            self.settle_first(most);
        }
        let mut times = self.times;
        let mut may_be = ClassTimes::default();
        for (kind, stands) in stands.into_iter().enumerate() {
            let (timed, otherwise) = (&self.undecided[kind], &self.otherwise[kind]);
            let (chosen, other) = if stands { (timed, otherwise) } else { (otherwise, timed) };
            for class in 0..times.len() {
                times[class] += chosen[class];
                may_be[class] += if kind == STREAM { 0 } else { other[class] };
            }
        }
        let decide = |(entry, otherwise): (Entry, Option<(usize, Finding)>)| match otherwise {
            Some((STREAM, finding)) => {
                let finding = if stands[STREAM] { entry.finding } else { finding };
                Entry { finding, ..entry }
            }
            Some((kind, finding)) if !stands[kind] => {
                let may_be = Some(entry.finding.class);
                Entry { finding, may_be, ..entry }
            }
            Some((_, finding)) => Entry { may_be: Some(finding.class), ..entry },
            None => entry,
        };
        Stalls { entries: self.listed.into_iter().map(decide).collect(), count: self.count, times, may_be }
    }
}

/// The stalls of a connection that has ended: summed up whole, listed up to a limit.
#[derive(Default)]
pub(super) struct Stalls {
    pub(super) entries: Vec<Entry>,
    pub(super) count: u64,
    pub(super) times: ClassTimes,
    /// Time in stalls of other classes that the packets alone cannot tell from this one.
    pub(super) may_be: ClassTimes,
}

impl Stalls {
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

    fn stalls(timeline: Timeline) -> Vec<(u64, u64, Class)> {
        let stalls = timeline.finish([true; KINDS], 99);
        stalls.entries.iter().map(|entry| (entry.start, entry.end, entry.finding.class)).collect()
    }

    #[test]
    fn what_is_put_in_late_takes_only_what_is_free() {
        let mut timeline = Timeline::default();
        timeline.put(10, 20, finding(Class::Rto), 9);
        timeline.put(5, 30, finding(Class::ClientIdle), 9);
        let found = stalls(timeline);
        assert_eq!(found, [(5, 10, Class::ClientIdle), (10, 20, Class::Rto), (20, 30, Class::ClientIdle)]);
    }

    #[test]
    fn a_silence_that_is_mostly_covered_belongs_to_what_covers_it() {
        let mut timeline = Timeline::default();
        timeline.put(0, 100, finding(Class::ServerThink), 9);
        timeline.put(150, 350, finding(Class::ClientIdle), 9);
        timeline.cover(20, 160, &finding(Class::Rto), Weight::Loss, 9);
        assert_eq!(stalls(timeline), [(0, 160, Class::Rto), (160, 350, Class::ClientIdle)]);
    }

    #[test]
    fn what_one_side_said_stays_under_what_is_only_concluded() {
        let mut timeline = Timeline::default();
        timeline.cover(10, 20, &finding(Class::ZeroWindow), Weight::Said, 9);
        timeline.cover(0, 30, &finding(Class::Rto), Weight::Loss, 9);
        timeline.pace(0, 40, &finding(Class::SmallWindow), 9);
        let classes: Vec<Class> = stalls(timeline).iter().map(|stall| stall.2).collect();
        assert_eq!(classes, [Class::Rto, Class::ZeroWindow, Class::Rto, Class::SmallWindow]);
    }

    #[test]
    fn a_silence_gets_another_class_when_more_is_known() {
        let mut timeline = Timeline::default();
        let ticket = timeline.put(0, 10, finding(Class::SenderWaited), 9);
        timeline.put(20, 30, finding(Class::SenderWaited), 9);
        timeline.amend(ticket, &finding(Class::TailLoss));
        assert_eq!(stalls(timeline), [(0, 10, Class::TailLoss), (20, 30, Class::SenderWaited)]);
    }

    #[test]
    fn what_cannot_be_told_is_decided_by_its_kind_and_both_are_said() {
        for (stands, class, other) in
            [(true, Class::SenderHeld, Class::SenderWaited), (false, Class::SenderWaited, Class::SenderHeld)]
        {
            let mut timeline = Timeline::default();
            let otherwise = (1, finding(Class::SenderWaited));
            timeline.put_undecided(0, 10, finding(Class::SenderHeld), otherwise, 9);
            let stalls = timeline.finish([stands; KINDS], 9);
            assert_eq!((stalls.entries[0].finding.class, stalls.entries[0].may_be), (class, Some(other)));
            assert_eq!((stalls.times[class as usize], stalls.may_be[other as usize]), (10, 10));
        }
    }

    #[test]
    fn beyond_the_limit_the_longest_stay_and_all_count() {
        let mut timeline = Timeline::default();
        for (start, length) in [(0, 5), (100, 9), (200, 2), (300, 7)] {
            timeline.put(start, start + length, finding(Class::Rto), 2);
        }
        let stalls = timeline.finish([true; KINDS], 2);
        assert_eq!(stalls.entries.iter().map(|entry| entry.start).collect::<Vec<_>>(), [100, 300]);
        assert_eq!((stalls.count, stalls.total()), (4, 23));
    }

    #[test]
    fn what_is_settled_changes_no_more_and_is_not_counted_twice() {
        let mut timeline = Timeline::default();
        for nth in 0..1000 {
            timeline.put(10 * nth, 10 * nth + 5, finding(Class::ClientIdle), 9);
        }
        timeline.cover(0, 10_000, &finding(Class::Rto), Weight::Loss, 9);
        let stalls = timeline.finish([true; KINDS], 9);
        assert!(stalls.total() <= 10_000, "{}", stalls.total());
        assert!(stalls.times[Class::ClientIdle as usize] > 0 && stalls.times[Class::Rto as usize] > 0);
    }
}
