//! Whether factors act on each other.

use plimsoll_model::experiment::claim::interaction::{InteractionClaim, InteractionDetails};
use plimsoll_model::verdict::Verdict;

use super::{Judged, Scale, Shown, is_share};
use crate::chart::Figure;
use crate::levels::{self, About, Group};
use crate::section::Section;
use crate::wording;

impl Shown for InteractionClaim {
    type Details = InteractionDetails;
    const TITLE: &'static str = "Interactions";

    fn scale(verdict: &Verdict) -> Scale {
        if is_share(verdict) { Scale::Points } else { Scale::Plain }
    }

    fn limits(verdict: &Verdict, details: &Self::Details) -> Vec<f64> {
        let margin = details.margin;
        if is_share(verdict) { vec![-margin, margin] } else { vec![1.0 / (1.0 + margin), 1.0 + margin] }
    }

    fn section(found: &Judged<'_, Self::Details>) -> Option<Section> {
        chart(found).map(|chart| Section::new(chart.title.clone()).chart(chart))
    }
}

/// The first factor along the axis, the levels of the others as lines.
fn chart(found: &Judged<'_, InteractionDetails>) -> Option<Figure> {
    let facts = found.details;
    let (factor, others) = facts.factors.split_first()?;
    let mut groups: Vec<Group> = Vec::new();
    for measured in &facts.measured {
        let (level, line) = measured.levels.split_first()?;
        let line = named(others, line);
        match groups.iter_mut().find(|group| group.level == *level && group.line == line) {
            Some(group) => group.values.push(measured.value),
            None => groups.push(Group { level: level.clone(), line, values: vec![measured.value] }),
        }
    }
    let odd = facts.odd_cell.as_ref().and_then(|cell| {
        let line: Option<Vec<String>> = others.iter().map(|other| cell.get(other).cloned()).collect();
        let what = "what its factors do not explain".to_owned();
        Some((cell.get(factor)?.clone(), named(others, &line?), what))
    });
    let about = About {
        id: format!("interaction-{}", found.number),
        title: format!("{} together, {}", wording::capitalised(&facts.factors.join(" and ")), facts.phase),
        caption: "Lines join the medians of trials, which are the small marks; whiskers are 95 % intervals of the medians, or the range of fewer than six. Lines that are parallel are factors that do not act on each other; of a ratio \
                  they are as many times higher."
            .into(),
        factor: factor.clone(),
        metric: wording::metric(&found.verdict.metric),
        logarithmic: false,
        odd,
    };
    levels::chart(about, &groups)
}

/// Levels with the names of their factors.
fn named(factors: &[String], levels: &[String]) -> String {
    let pairs = factors.iter().zip(levels).map(|(factor, level)| format!("{factor} {level}"));
    pairs.collect::<Vec<_>>().join(", ")
}
