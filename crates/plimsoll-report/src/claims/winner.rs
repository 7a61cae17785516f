//! Which level of a factor is best, row by row.

use plimsoll_model::experiment::claim::winner::{WinnerClaim, WinnerDetails};
use plimsoll_model::verdict::{Outcome, Verdict};

use super::{Judged, Scale, Shown};
use crate::number::{figure, ratio};
use crate::section::{Row, Section, columns};
use crate::wording;

impl Shown for WinnerClaim {
    type Details = WinnerDetails;
    const TITLE: &'static str = "Winners";
    const IN_A_TABLE: bool = true;

    fn scale(_: &Verdict) -> Scale {
        Scale::Ratio
    }

    fn found(_: &Verdict, metric: &str, value: &str) -> String {
        format!("the best came to {value} of the next in {metric}")
    }

    fn sections(found: &[Judged<'_, Self::Details>]) -> Vec<Section> {
        let all: Vec<&WinnerDetails> = found.iter().map(|found| found.details).collect();
        section(&all).into_iter().collect()
    }
}

/// Which level of a factor is best, row by row.
fn section(winners: &[&WinnerDetails]) -> Option<Section> {
    let first = winners.first()?;
    let columns = columns![
        left "phase", left "at", left "best", right "figure", left "next" => 2, right "lead",
        right "certain%", left "" => 1,
    ];
    let rows = winners.iter().map(|winner| {
        Row::of([
            winner.phase.clone(),
            wording::cell_title(&winner.row),
            winner.winner.clone(),
            figure(winner.figure),
            winner.next.clone(),
            format!("×{}", ratio(winner.lead)),
            figure((winner.certainty * 100.0).round()),
            lead(winner.outcome).to_owned(),
        ])
        .faint_if(winner.outcome != Outcome::Faster)
    });
    let doubted = winners.iter().filter(|winner| !winner.doubts.is_empty());
    let doubts = doubted.map(|winner| {
        let place = [winner.phase.clone(), wording::cell_title(&winner.row)];
        let place: Vec<String> = place.into_iter().filter(|part| !part.is_empty()).collect();
        format!("{}: {}.", place.join(", "), winner.doubts.join("; "))
    });
    let section =
        Section::new(format!("Which {} is best for what", first.factor)).opened().table(columns, rows);
    let meaning = "Figures are geometric means over the blocks, a lead is the quotient of two of them, and certain% says in how many of 100 resamples \
         of the blocks the level comes out best.";
    Some(section.say(meaning).say_all(doubts))
}

/// Value of a winner's lead.
fn lead(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Faster => "better than the next",
        Outcome::Same => "as good as the next",
        _ => "not sure",
    }
}
