//! Presentation of each kind of claim: its verdicts in words, and the charts beside them. One file for each kind, of its name.

use plimsoll_model::experiment::Metric;
use plimsoll_model::experiment::claim::{self, Details};
use plimsoll_model::report::RunReport;
use plimsoll_model::verdict::Verdict;

use crate::number::{figure, ratio};
use crate::section::{Section, Table};
use crate::summary::CellRows;

pub(crate) use modes::charts as modes_charts;

/// A finding of one kind.
struct Judged<'r, D> {
    /// Its place among those of its kind, from 1.
    number: usize,
    verdict: &'r Verdict,
    details: &'r D,
}

/// How the estimate of a verdict is written, and its interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scale {
    /// As it is.
    Plain,
    /// A ratio, with 1 for no change.
    Ratio,
    /// A difference of shares, in percentage points.
    Points,
    /// A share, in per cent and tenths.
    Share,
}

impl Scale {
    pub(crate) fn write(self, value: f64) -> String {
        match self {
            Self::Plain => figure(value),
            Self::Ratio => ratio(value),
            Self::Points => points(value),
            Self::Share => format!("{} %", figure((value * 1000.0).round() / 10.0)),
        }
    }
}

/// A difference of shares: `+15 points`.
fn points(difference: f64) -> String {
    let points = 100.0 * difference;
    let sign = if points > 0.0 { "+" } else { "" };
    format!("{sign}{} points", figure((points * 10.0).round() / 10.0))
}

/// Interface of every kind of claim.
trait Shown {
    /// Details of its verdict.
    type Details;

    /// The heading of the section.
    const TITLE: &'static str;

    /// Whether its verdicts stand in a table of the answer, and get no sentence each.
    const IN_A_TABLE: bool = false;

    /// How its figures are written.
    fn scale(_verdict: &Verdict) -> Scale {
        Scale::Plain
    }

    /// The result in words, without its certainty.
    fn found(_verdict: &Verdict, metric: &str, value: &str) -> String {
        format!("{metric}: {value}")
    }

    /// Where "as good" ends: below one ratio or above it, or on both sides.
    fn limits(_verdict: &Verdict, _details: &Self::Details) -> Vec<f64> {
        Vec::new()
    }

    /// Sentences for the short answer beside the verdicts.
    fn answers(_found: &[Judged<'_, Self::Details>]) -> Vec<String> {
        Vec::new()
    }

    /// Charts, tables and sentences beside one verdict.
    fn section(_found: &Judged<'_, Self::Details>) -> Option<Section> {
        None
    }

    /// Charts, tables and sentences beside all verdicts.
    fn sections(found: &[Judged<'_, Self::Details>]) -> Vec<Section> {
        found.iter().filter_map(Self::section).collect()
    }

    /// The figures that the answers rest on; `None` if those of the phases say enough.
    fn basis(found: &[Judged<'_, Self::Details>]) -> Option<Table> {
        Self::sections(found).into_iter().find_map(Section::first_table)
    }

    /// How the figures of the phases give the estimate.
    fn arithmetic(_found: &Judged<'_, Self::Details>, _cells: &[CellRows]) -> Option<String> {
        None
    }
}

/// Presentation of a kind.
pub(crate) struct Group {
    /// The kind's name.
    pub(crate) id: &'static str,
    pub(crate) title: &'static str,
    pub(crate) sections: Vec<Section>,
    /// Whether it is part of the answer.
    pub(crate) open: bool,
}

macro_rules! define {
    ($($(#[$_of_kind:meta])* $key:ident: $kind:ident($claim:ident) finds $details:ident,)+) => {
        $(mod $key;)+

        /// Sections of a report's findings, kind by kind; nothing of kinds that have nothing to show.
        pub(crate) fn groups(report: &RunReport) -> Vec<Group> {
            let mut groups = vec![$(Group {
                id: stringify!($key),
                title: claim::$claim::TITLE,
                sections: claim::$claim::sections(&$key(report)),
                open: claim::$claim::IN_A_TABLE,
            },)+];
            groups.retain(|group| !group.sections.is_empty());
            groups
        }

        /// Sentences for the short answer beside the verdicts.
        pub(crate) fn answers(report: &RunReport) -> Vec<String> {
            [$(claim::$claim::answers(&$key(report)),)+].concat()
        }

        /// The figures that the answers of one kind rest on, by the name of the kind.
        pub(crate) fn basis(report: &RunReport, kind: &str) -> Option<Table> {
            match kind {
                $(stringify!($key) => claim::$claim::basis(&$key(report)),)+
                _ => None,
            }
        }

        /// How the figures of the phases give the first estimate of a kind.
        pub(crate) fn arithmetic(report: &RunReport, kind: &str, cells: &[CellRows]) -> Option<String> {
            match kind {
                $(stringify!($key) => claim::$claim::arithmetic($key(report).first()?, cells),)+
                _ => None,
            }
        }

        /// Where "as good" ends for a verdict; empty where that is not known.
        pub(crate) fn limits(verdict: &Verdict, details: &Details) -> Vec<f64> {
            match details {
                $(Details::$kind(details) => claim::$claim::limits(verdict, details),)+
            }
        }

        /// Whether the verdict stands in a table that is part of the answer.
        pub(crate) fn is_in_a_table(details: &Details) -> bool {
            match details {
                $(Details::$kind(_) => claim::$claim::IN_A_TABLE,)+
            }
        }

        /// How the figures of a verdict are written.
        pub(crate) fn scale(verdict: &Verdict) -> Scale {
            match verdict.claim.as_str() {
                $(stringify!($key) => claim::$claim::scale(verdict),)+
                CONFIRMATION => Scale::Share,
                _ => Scale::Plain,
            }
        }

        /// The result in words, without its certainty.
        pub(crate) fn found(verdict: &Verdict, metric: &str, value: &str) -> String {
            match verdict.claim.as_str() {
                $(stringify!($key) => claim::$claim::found(verdict, metric, value),)+
                CONFIRMATION => {
                    format!("without {}, {value} of the loss in {metric} came back", verdict.causes_text())
                }
                _ => format!("{metric}: {value}"),
            }
        }

        $(
            fn $key(report: &RunReport) -> Vec<Judged<'_, claim::$details>> {
                let of_kind = report.verdicts.iter().filter_map(|finding| match &finding.details {
                    Some(Details::$kind(details)) => Some((&finding.verdict, details)),
                    _ => None,
                });
                (1..).zip(of_kind).map(|(number, (verdict, details))| Judged { number, verdict, details }).collect()
            }
        )+
    };
}

plimsoll_model::each_claim!(define);

/// The claim that an intervention brings back what was lost. No file claims it: `explain --confirm` does.
const CONFIRMATION: &str = "confirmation";

/// Whether a verdict is about a share, which is compared by its difference.
fn is_share(verdict: &Verdict) -> bool {
    Metric::named(&verdict.metric).is_some_and(Metric::is_share)
}
