//! Meaning of the program's exit status: a public contract.

use std::process::ExitCode;

use plimsoll_model::report::{RunReport, RunStatus};
use plimsoll_model::verdict::{Standing, Verdict};

use crate::failure::Failure;

/// How the program ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// 0: the claims hold, or nothing was claimed and the measurement is sound.
    Holds,
    /// 1: a claim fails.
    Fails,
    /// 2: bad usage, or a bad file.
    Usage,
    /// 3: it could not be carried out.
    CouldNot,
    /// 4: invalid or undecided.
    Open,
    /// 130: interrupted.
    Interrupted,
}

impl Exit {
    /// The exit status of a run: what was found in one that did not come to its end may be only a part, and an error that ended it outweighs that.
    pub(crate) fn of_run(report: &RunReport) -> Self {
        if report.failure().is_some() {
            return Self::CouldNot;
        }
        let verdicts: Vec<Verdict> = report.verdicts.iter().map(|finding| finding.verdict.clone()).collect();
        match Self::of(&verdicts) {
            Self::Holds if report.status != RunStatus::Complete => Self::Open,
            exit => exit,
        }
    }

    /// The worse of two: a failure outweighs an open answer.
    pub(crate) fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Holds, worse) | (worse, Self::Holds) => worse,
            (Self::Open, worse) | (worse, Self::Open) => worse,
            (first, _) => first,
        }
    }

    /// The exit status of a set of verdicts: a claim that fails outweighs one that is open.
    pub(crate) fn of(verdicts: &[Verdict]) -> Self {
        let standing = |which| verdicts.iter().any(|verdict| verdict.standing() == which);
        if standing(Standing::Fails) {
            Self::Fails
        } else if standing(Standing::Open) {
            Self::Open
        } else {
            Self::Holds
        }
    }
}

impl From<&Failure> for Exit {
    fn from(failure: &Failure) -> Self {
        match failure {
            Failure::Usage(_) | Failure::File { .. } => Self::Usage,
            Failure::CouldNot { .. } => Self::CouldNot,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Holds => 0,
            Exit::Fails => 1,
            Exit::Usage => 2,
            Exit::CouldNot => 3,
            Exit::Open => 4,
            Exit::Interrupted => 130,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::verdict::Outcome;

    #[test]
    fn a_claim_that_fails_outweighs_one_that_is_open() {
        let verdict = |outcome| Verdict::bare("recovery", "rate", outcome, 1, "");
        assert_eq!(Exit::of(&[]), Exit::Holds);
        assert_eq!(Exit::of(&[verdict(Outcome::Recovered)]), Exit::Holds);
        assert_eq!(Exit::of(&[verdict(Outcome::Recovered), verdict(Outcome::Undecided)]), Exit::Open);
        assert_eq!(Exit::of(&[verdict(Outcome::Invalid), verdict(Outcome::NotRecovered)]), Exit::Fails);
    }
}
