//! How often it was right, in numbers and in words.

use plimsoll_judge::stats::dist::binomial_share;
use plimsoll_model::units::counted;
use plimsoll_model::verdict::Interval;
use serde::Serialize;

use super::cases::Kind;
use super::score::{Attempt, Mark, Tried, Wrong};
use crate::exit::Exit;

/// The confidence of the interval.
const CONFIDENCE: f64 = 0.95;

/// How the tries came out.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Summary {
    /// Tries whose verdict is right or wrong.
    pub(super) decided: u64,
    /// Those that are right.
    pub(super) right: u64,
    /// `right` of `decided`, exact (Clopper and Pearson); `None` if none is decided.
    pub(super) interval: Option<Interval>,
    pub(super) confidence: f64,
    /// Decided tries with a fault.
    pub(super) faults: u64,
    /// Of these, with a verdict that the fault has not.
    pub(super) missed: u64,
    /// Of these, seen without a cause.
    pub(super) without_cause: u64,
    /// Of these, detected and attributed to another cause.
    pub(super) other_cause: u64,
    /// Decided tries without a fault.
    pub(super) innocents: u64,
    /// Of these, accused.
    pub(super) accused: u64,
    /// Tries whose verdict was left open, or was invalid.
    pub(super) undecided: u64,
    /// Tries that did not come to a verdict.
    pub(super) not_tried: u64,
}

impl Summary {
    pub(super) fn of(tries: &[Tried]) -> Self {
        let marks = tries.iter().filter_map(|tried| match &tried.attempt {
            Attempt::Judged { mark, .. } => Some((tried.case.truth.kind, *mark)),
            Attempt::NotTried(_) => None,
        });
        let marks: Vec<(Kind, Mark)> = marks.collect();
        let count = |wanted: &dyn Fn(Kind, Mark) -> bool| {
            marks.iter().filter(|(kind, mark)| wanted(*kind, *mark)).count() as u64
        };
        let wrong = |what| count(&|_, mark| mark == Mark::Wrong(what));
        let decided = |of| count(&|kind, mark| kind == of && mark != Mark::Undecided);
        let right = count(&|_, mark| mark == Mark::Right);
        let (faults, innocents) = (decided(Kind::Fault), decided(Kind::Innocent));
        let all = faults + innocents;
        Self {
            decided: all,
            right,
            interval: (all > 0).then(|| binomial_share(right, all, CONFIDENCE)),
            confidence: CONFIDENCE,
            faults,
            missed: wrong(Wrong::Missed),
            without_cause: wrong(Wrong::NoCause),
            other_cause: wrong(Wrong::OtherCause),
            innocents,
            accused: wrong(Wrong::Accused),
            undecided: count(&|_, mark| mark == Mark::Undecided),
            not_tried: (tries.len() - marks.len()) as u64,
        }
    }

    /// A wrong verdict fails, whatever else was right. Where nothing was decided, nothing is known of this machine.
    pub(super) fn exit(&self) -> Exit {
        if self.right < self.decided {
            Exit::Fails
        } else if self.decided > 0 {
            Exit::Holds
        } else if self.undecided > 0 {
            Exit::Open
        } else {
            Exit::CouldNot
        }
    }

    /// In sentences.
    pub(super) fn sentences(&self) -> Vec<String> {
        let Some(interval) = self.interval else {
            return vec!["Nothing was decided here, so the accuracy is unknown.".to_owned(), self.open()];
        };
        let percent = |share: f64| format!("{:.0}", 100.0 * share);
        let mut sentences = vec![format!(
            "Right in {} of {} decided cases ({} % interval {} to {} %, Clopper and Pearson's).",
            self.right,
            self.decided,
            percent(self.confidence),
            percent(interval.lo()),
            percent(interval.hi())
        )];
        let mut faults = format!("Of {}, {} missed", counted(self.faults, "fault"), self.missed);
        for (count, what) in [
            (self.without_cause, "detected without a cause"),
            (self.other_cause, "attributed to another cause"),
        ] {
            if count > 0 {
                faults.push_str(&format!(", {count} {what}"));
            }
        }
        sentences.push(format!(
            "{faults}. Of {}, {} accused.",
            counted(self.innocents, "innocent"),
            self.accused
        ));
        sentences.push(self.open());
        sentences
    }

    fn open(&self) -> String {
        format!("Undecided: {}. Not tried, or not finished: {}.", self.undecided, self.not_tried)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use plimsoll_model::cause::CauseId;
    use plimsoll_model::verdict::Outcome;

    use super::*;
    use crate::command::selftest::cases::ALL;
    use crate::command::selftest::score::{mark, tests::said};

    /// A try of a case that said this.
    pub(in super::super) fn tried(name: &str, outcome: Outcome, causes: &[CauseId]) -> Tried {
        let case = ALL.iter().find(|case| case.name == name).expect("there is such a case");
        let said = said(outcome, causes);
        let mark = mark(&case.truth, &said);
        Tried { case, round: 1, took_s: 12.0, attempt: Attempt::Judged { said, mark } }
    }

    pub(in super::super) fn not_tried(name: &str, why: &str) -> Tried {
        Tried { attempt: Attempt::NotTried(why.into()), ..tried(name, Outcome::Undecided, &[]) }
    }

    fn exit_of(tries: &[Tried]) -> Exit {
        Summary::of(tries).exit()
    }

    #[test]
    fn each_kind_of_error_is_counted_and_named() {
        let summary = Summary::of(&[
            tried("few-ports", Outcome::Slower, &[CauseId::NetTimeWaitReuse]),
            tried("few-ports", Outcome::Same, &[]),
            tried("few-ports", Outcome::Slower, &[]),
            tried("few-ports", Outcome::Slower, &[CauseId::NetRto]),
            tried("many-ports", Outcome::Same, &[]),
            tried("many-ports", Outcome::Slower, &[]),
            tried("many-ports", Outcome::Undecided, &[]),
            not_tried("one-mode", "needs root"),
        ]);
        assert_eq!((summary.decided, summary.right, summary.faults, summary.innocents), (6, 2, 4, 2));
        assert_eq!(
            (summary.missed, summary.without_cause, summary.other_cause, summary.accused),
            (1, 1, 1, 1)
        );
        assert_eq!((summary.undecided, summary.not_tried), (1, 1));
        let sentences = summary.sentences().join(" ");
        for part in [
            // R: binom.test(2, 6) has 0.0433 to 0.7772.
            "Right in 2 of 6 decided cases (95 % interval 4 to 78 %",
            "Of 4 faults, 1 missed, 1 detected without a cause, 1 attributed to another cause.",
            "Of 2 innocents, 1 accused.",
            "Undecided: 1. Not tried, or not finished: 1.",
        ] {
            assert!(sentences.contains(part), "{sentences}");
        }
    }

    #[test]
    fn one_wrong_verdict_fails_whatever_else_is_right() {
        let right = tried("many-ports", Outcome::Same, &[]);
        let open = tried("many-ports", Outcome::Undecided, &[]);
        for wrong in [
            tried("many-ports", Outcome::Slower, &[]),
            tried("few-ports", Outcome::Same, &[]),
            tried("few-ports", Outcome::Slower, &[]),
            tried("few-ports", Outcome::Slower, &[CauseId::NetRto]),
        ] {
            assert_eq!(exit_of(&[right.clone(), open.clone(), wrong]), Exit::Fails);
        }
        assert_eq!(exit_of(&[right, open.clone(), not_tried("one-mode", "needs root")]), Exit::Holds);
        assert_eq!(exit_of(&[open, not_tried("one-mode", "needs root")]), Exit::Open);
        assert_eq!(exit_of(&[not_tried("one-mode", "needs root")]), Exit::CouldNot);
    }
}
