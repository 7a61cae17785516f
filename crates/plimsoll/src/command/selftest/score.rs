//! Compares answers with the truth. This comes after a run has been judged, and changes nothing of it.

use plimsoll_model::cause::CauseId;
use plimsoll_model::note::Note;
use plimsoll_model::report::{RunReport, StateLivesIn};
use plimsoll_model::verdict::Outcome;

use super::cases::{Case, ExpectedCause, Kind, Truth, in_words, place_in_words};

/// Conclusions of a run.
#[derive(Clone, Debug)]
pub(super) struct Conclusions {
    /// The run's id.
    pub(super) run: String,
    /// The verdict of its first claim.
    pub(super) outcome: Outcome,
    /// Why, in its own words.
    pub(super) reason: String,
    /// Causes that it named, the likeliest first.
    pub(super) causes: Vec<CauseId>,
    /// The state's location that it named.
    pub(super) lives_in: Option<StateLivesIn>,
    /// Its notes to the reader.
    pub(super) notes: Vec<Note>,
}

/// Outcome of trying a case.
#[derive(Clone, Debug)]
pub(super) enum Attempt {
    /// The case was run and judged.
    Judged { said: Conclusions, mark: Mark },
    /// The case was not run, for this reason.
    NotTried(String),
}

/// One try of one case.
#[derive(Clone, Debug)]
pub(super) struct Tried {
    pub(super) case: &'static Case,
    /// From 1.
    pub(super) round: u32,
    /// How long it took, in seconds.
    pub(super) took_s: f64,
    pub(super) attempt: Attempt,
}

/// Result of comparing a verdict with the truth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    Right,
    Wrong(Wrong),
    /// The verdict, or where the state lives, was left open.
    Undecided,
}

/// The kinds of wrong answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wrong {
    /// A fault got a verdict that it has not.
    Missed,
    /// A fault was seen, and no cause was named.
    NoCause,
    /// A fault was detected and attributed to another cause.
    OtherCause,
    /// An innocent got a verdict that it has not, or a cause was named where nothing is wrong.
    Accused,
}

impl Conclusions {
    /// The verdict on the first claim of a run, with its reasons; `None` if the run has no claim.
    pub(super) fn of(report: RunReport) -> Option<Self> {
        let verdict = report.verdicts.into_iter().next()?.verdict;
        Some(Self {
            run: report.run,
            outcome: verdict.outcome,
            reason: verdict.reason,
            causes: report.causes.iter().map(|cause| cause.id).collect(),
            lives_in: report.state_lives_in,
            notes: report.notes,
        })
    }

    /// Subject of the truth, in a few words.
    pub(super) fn text(&self, truth: &Truth) -> String {
        let mut text = in_words(self.outcome);
        let more = match truth.cause {
            ExpectedCause::Cause(_) | ExpectedCause::NoCause => self.causes.first().map(|cause| cause.id()),
            ExpectedCause::LivesIn(_) => self.lives_in.map(place_in_words),
            ExpectedCause::Any => None,
        };
        if let Some(more) = more {
            text.push_str(", ");
            text.push_str(more);
        }
        text
    }
}

/// Compares a verdict with the truth. A named cause accuses an innocent even if the verdict is open.
pub(super) fn mark(truth: &Truth, said: &Conclusions) -> Mark {
    use plimsoll_model::verdict::Standing;
    let open = said.outcome.standing() == Standing::Open;
    let accused = matches!(truth.cause, ExpectedCause::NoCause) && !said.causes.is_empty();
    if open && !(accused && said.outcome == Outcome::Undecided) {
        return Mark::Undecided;
    }
    match truth.kind {
        Kind::Innocent if accused || said.outcome != truth.outcome => Mark::Wrong(Wrong::Accused),
        Kind::Fault if said.outcome != truth.outcome => Mark::Wrong(Wrong::Missed),
        Kind::Innocent | Kind::Fault => reason(truth, said),
    }
}

/// Marks the reason for a verdict that is right.
fn reason(truth: &Truth, said: &Conclusions) -> Mark {
    match truth.cause {
        ExpectedCause::Cause(cause) => match said.causes.first() {
            Some(first) if *first == cause => Mark::Right,
            Some(_) => Mark::Wrong(Wrong::OtherCause),
            None => Mark::Wrong(Wrong::NoCause),
        },
        ExpectedCause::LivesIn(place) => match said.lives_in {
            Some(found) if found == place => Mark::Right,
            Some(_) => Mark::Wrong(Wrong::OtherCause),
            None => Mark::Undecided,
        },
        ExpectedCause::NoCause | ExpectedCause::Any => Mark::Right,
    }
}

impl Mark {
    /// As a table has it.
    pub(super) fn text(self) -> String {
        match self {
            Self::Right | Self::Undecided => self.name().to_owned(),
            Self::Wrong(_) => format!("WRONG: {}", self.name().replace('_', " ")),
        }
    }

    /// The public name, as in the JSON.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Right => "right",
            Self::Undecided => "undecided",
            Self::Wrong(Wrong::Missed) => "missed",
            Self::Wrong(Wrong::NoCause) => "no_cause",
            Self::Wrong(Wrong::OtherCause) => "other_cause",
            Self::Wrong(Wrong::Accused) => "accused",
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in super::super) fn said(outcome: Outcome, causes: &[CauseId]) -> Conclusions {
        Conclusions {
            run: "abcdefgh".into(),
            outcome,
            reason: "made up".into(),
            causes: causes.into(),
            lives_in: None,
            notes: Vec::new(),
        }
    }

    const PORTS: Truth = Truth {
        kind: Kind::Fault,
        outcome: Outcome::Slower,
        cause: ExpectedCause::Cause(CauseId::NetTimeWaitReuse),
    };
    const NOTHING: Truth =
        Truth { kind: Kind::Innocent, outcome: Outcome::Same, cause: ExpectedCause::NoCause };

    #[test]
    fn a_fault_is_right_only_with_its_verdict_and_its_cause_before_all_others() {
        let (own, other) = (CauseId::NetTimeWaitReuse, CauseId::NetPacketLoss);
        let of = |outcome, causes: &[CauseId]| mark(&PORTS, &said(outcome, causes));
        assert_eq!(of(Outcome::Slower, &[own, other]), Mark::Right);
        assert_eq!(of(Outcome::Slower, &[other, own]), Mark::Wrong(Wrong::OtherCause));
        assert_eq!(of(Outcome::Slower, &[]), Mark::Wrong(Wrong::NoCause));
        assert_eq!(of(Outcome::Same, &[]), Mark::Wrong(Wrong::Missed));
        assert_eq!(of(Outcome::Faster, &[own]), Mark::Wrong(Wrong::Missed));
        for open in [Outcome::Undecided, Outcome::Invalid, Outcome::TooFew] {
            assert_eq!(of(open, &[]), Mark::Undecided);
        }
    }

    #[test]
    fn an_innocent_is_accused_by_a_verdict_and_by_a_cause() {
        let cause = [CauseId::CpuContended];
        let of = |outcome, causes: &[CauseId]| mark(&NOTHING, &said(outcome, causes));
        assert_eq!(of(Outcome::Same, &[]), Mark::Right);
        assert_eq!(of(Outcome::Slower, &[]), Mark::Wrong(Wrong::Accused));
        assert_eq!(of(Outcome::Same, &cause), Mark::Wrong(Wrong::Accused));
        assert_eq!(of(Outcome::Undecided, &cause), Mark::Wrong(Wrong::Accused));
        assert_eq!(of(Outcome::Undecided, &[]), Mark::Undecided);
        assert_eq!(
            of(Outcome::Invalid, &cause),
            Mark::Undecided,
            "an invalid run says why it is, and accuses nobody"
        );
    }

    #[test]
    fn where_the_state_lives_is_right_wrong_or_left_open() {
        let truth = Truth {
            kind: Kind::Fault,
            outcome: Outcome::NotRecovered,
            cause: ExpectedCause::LivesIn(StateLivesIn::Service),
        };
        let of = |lives_in| mark(&truth, &Conclusions { lives_in, ..said(Outcome::NotRecovered, &[]) });
        assert_eq!(of(Some(StateLivesIn::Service)), Mark::Right);
        assert_eq!(of(Some(StateLivesIn::HostKernel)), Mark::Wrong(Wrong::OtherCause));
        assert_eq!(of(None), Mark::Undecided);
        assert_eq!(mark(&truth, &said(Outcome::Recovered, &[])), Mark::Wrong(Wrong::Missed));
    }
}
