//! Whether a figure comes back: the ratio after/baseline of every trial by cycle, how long it took, and whether it worsens.

use plimsoll_model::experiment::Metric;
use plimsoll_model::experiment::claim::recovery::{CycleRatio, RecoveryClaim, RecoveryDetails};
use plimsoll_model::verdict::{Outcome, Verdict};
use plotly::common::{DashType, Marker, Mode};
use plotly::layout::{Shape, ShapeLine, ShapeType};

use super::{Judged, Scale, Shown};
use crate::chart::{Drawing, Figure, Plot, SOFT, TREATMENT, axis, drawn, hovered, layout, whiskers, within};
use crate::number::{figure, median, probability, ratio, seconds, sorted};
use crate::section::Section;
use crate::summary::CellRows;
use crate::summary::Row;
use crate::wording::{self, ratio_and_interval};

/// The chance below which a trend over cycles is worth a sentence.
const TREND_P: f64 = 0.05;

impl Shown for RecoveryClaim {
    type Details = RecoveryDetails;
    const TITLE: &'static str = "Recovery by cycle";

    fn scale(_: &Verdict) -> Scale {
        Scale::Ratio
    }

    fn found(verdict: &Verdict, metric: &str, value: &str) -> String {
        let came = match verdict.outcome {
            Outcome::Recovered => "came back to",
            Outcome::NotRecovered => "stayed at",
            _ => "came to",
        };
        format!("{metric} {came} {value} of the baseline")
    }

    fn limits(verdict: &Verdict, details: &Self::Details) -> Vec<f64> {
        vec![limit(verdict, details)]
    }

    fn answers(found: &[Judged<'_, Self::Details>]) -> Vec<String> {
        let sentences = |found: &Judged<'_, RecoveryDetails>| {
            let cell = wording::cell_title(&found.details.cell);
            let place = if cell.is_empty() { cell } else { format!("{cell}: ") };
            let both = [time_to_recover(found), trend(found.details)];
            both.into_iter().flatten().map(move |sentence| format!("{place}{sentence}")).collect::<Vec<_>>()
        };
        found.iter().flat_map(sentences).collect()
    }

    fn arithmetic(found: &Judged<'_, Self::Details>, cells: &[CellRows]) -> Option<String> {
        quotient(found, &cells.iter().find(|cell| cell.cell == found.details.cell)?.rows)
    }

    fn section(found: &Judged<'_, Self::Details>) -> Option<Section> {
        let title = wording::titled("Cycles", &found.details.cell);
        chart(found).map(|chart| Section::new(title).chart(chart))
    }
}

/// The ratio up to which it is as good as before.
fn limit(verdict: &Verdict, details: &RecoveryDetails) -> f64 {
    let lower = Metric::named(&verdict.metric).is_some_and(Metric::lower_is_better);
    if lower { 1.0 + details.margin } else { 1.0 - details.margin }
}

/// How far the quotient of whole phases may lie from the estimate, which compares them window by window.
const CLOSE: f64 = 0.01;

/// The quotient of the last phase after a flood and the baseline, each over its control.
fn quotient(found: &Judged<'_, RecoveryDetails>, rows: &[Row]) -> Option<String> {
    let RecoveryDetails { baseline, after, .. } = found.details;
    let before = rows.iter().find(|row| row.phase == *baseline && row.rung.is_none())?;
    let last = rows.iter().rfind(|row| row.phase == *after && row.rung.is_none())?;
    let rates = |row: &Row| Some((row.main.as_ref()?.rate?, row.control.as_ref().and_then(|it| it.rate)));
    let sides = [rates(last)?, rates(before)?];
    let written = |(rate, control): (f64, Option<f64>)| match control {
        Some(control) => format!("({} / {})", figure(rate), figure(control)),
        None => figure(rate),
    };
    let [above, below] = sides.map(|(rate, control)| rate / control.unwrap_or(1.0));
    let found = found.verdict.estimate.filter(|_| below > 0.0 && above.is_finite())?;
    let division = format!("{} / {} = {}", written(sides[0]), written(sides[1]), ratio(above / below));
    Some(match (above / below - found).abs() <= CLOSE {
        true => format!("{division}."),
        false => format!("{division}; compared window by window and by trial: {}.", ratio(found)),
    })
}

/// How long it took to come back.
fn time_to_recover(found: &Judged<'_, RecoveryDetails>) -> Option<String> {
    let recovery = found.details;
    let each = &recovery.time_to_recover_each_s;
    let missed = each.iter().filter(|t| t.is_none()).count();
    let cycles = match each.len() {
        1 => "1 cycle".into(),
        n => format!("{n} cycles"),
    };
    match recovery.time_to_recover_s {
        Some(s) if missed == 0 => Some(format!("It took {} to recover (median of {cycles}).", seconds(s))),
        Some(s) => Some(format!(
            "It took {} to recover (median); in {missed} of {cycles} there were never enough windows in a row as good as the baseline while it was watched.",
            seconds(s)
        )),
        None if !each.is_empty() => {
            let recovered = found.verdict.outcome == Outcome::Recovered;
            Some(if recovered {
                format!(
                    "It came back after the watch had ended, in all of {cycles}: how long it took is not known."
                )
            } else {
                format!("It was not seen to come back while it was watched, in {cycles}.")
            })
        }
        None => None,
    }
}

/// Whether it worsens from cycle to cycle.
fn trend(recovery: &RecoveryDetails) -> Option<String> {
    let (tau, p) = (recovery.trend_tau?, recovery.trend_p?);
    (p < TREND_P).then(|| {
        let way = if tau < 0.0 { "falls" } else { "rises" };
        format!("The ratio {way} from cycle to cycle (Kendall's tau {tau:.2}, p {}).", probability(p))
    })
}

const HEIGHT: usize = 320;
/// Half of the width over which the trials of one cycle are spread.
const SPREAD: f64 = 0.25;

/// The chart; absent with fewer than two ratios.
fn chart(found: &Judged<'_, RecoveryDetails>) -> Option<Figure> {
    let (facts, limit) = (found.details, limit(found.verdict, found.details));
    let limit = Some(limit);
    let ratios: Vec<&CycleRatio> = facts.cycles.iter().filter(|c| c.ratio.is_finite()).collect();
    if ratios.len() < 2 {
        return None;
    }
    let last_cycle = ratios.iter().map(|c| c.cycle).max()?;
    let cycles: Vec<f64> = (1..=last_cycle).map(f64::from).collect();
    let x_axis = axis("cycle").range(vec![0.5, f64::from(last_cycle) + 0.5]).tick_values(cycles);
    let layout = layout(HEIGHT)
        .show_legend(false)
        .x_axis(x_axis.show_grid(false).zero_line(false))
        .y_axis(axis("after/baseline").range(vec![0.0, top(&ratios)]))
        .shapes(lines(limit, last_cycle));
    Some(Figure {
        id: format!("ratio-by-cycle-{}", found.number),
        title: wording::titled("After/baseline by cycle", &facts.cell),
        description: description(&ratios),
        caption: caption(facts, limit),
        drawing: Drawing::One(Plot::new(vec![trace(&ratios)], layout)),
    })
}

/// One point per trial and cycle, the trials of a cycle side by side.
fn trace(ratios: &[&CycleRatio]) -> Box<dyn plotly::Trace> {
    let trials = f64::from(ratios.iter().map(|c| c.trial).max().unwrap_or(1).max(2) - 1);
    let single = ratios.iter().all(|c| c.trial == ratios[0].trial);
    let aside = |c: &CycleRatio| if single { 0.0 } else { f64::from(c.trial.max(1) - 1) / trials - 0.5 };
    let reach: Vec<_> = ratios.iter().map(|c| within(c.ratio, c.interval)).collect();
    let points = ratios.iter().map(|c| {
        let ratio = ratio_and_interval(Some(c.ratio), c.interval);
        let text = format!("trial {}, cycle {}<br>{ratio}", c.trial, c.cycle);
        (drawn(f64::from(c.cycle) + 2.0 * SPREAD * aside(c)), c.ratio, text)
    });
    hovered(points)
        .name("after/baseline")
        .mode(Mode::Markers)
        .marker(Marker::new().color(TREATMENT).size(8))
        .error_y(whiskers(&reach, TREATMENT).width(3))
}

/// The top of the axis: above every interval, and above the line for no change.
fn top(ratios: &[&CycleRatio]) -> f64 {
    let ends = ratios.iter().map(|c| c.interval.map_or(c.ratio, |i| i.hi().max(c.ratio)));
    drawn(ends.filter(|end| end.is_finite()).fold(1.0, f64::max) * 1.08)
}

/// No change, and the margin.
fn lines(limit: Option<f64>, last_cycle: u32) -> Vec<Shape> {
    let line = |y: f64, color: &'static str, dash| {
        Shape::new()
            .shape_type(ShapeType::Line)
            .x0(0.5)
            .x1(f64::from(last_cycle) + 0.5)
            .y0(y)
            .y1(y)
            .line(ShapeLine::new().color(color).width(1.5).dash(dash))
    };
    let one = line(1.0, SOFT, DashType::Solid);
    std::iter::once(one).chain(limit.map(|y| line(y, "var(--open)", DashType::Dash))).collect()
}

fn caption(facts: &RecoveryDetails, limit: Option<f64>) -> String {
    let mut text = String::from(
        "One point per trial and cycle, adjusted by the control where there is one, with its interval. Solid line: as before.",
    );
    if let Some(limit) = limit {
        text.push_str(&format!(" Dashed line: the margin, {}.", ratio(limit)));
    }
    if let (Some(tau), Some(p)) = (facts.trend_tau, facts.trend_p) {
        text.push_str(&format!(
            " Trend over cycles: Kendall's tau {tau:.2}, p {} (Mann-Kendall).",
            probability(p)
        ));
    }
    text
}

fn description(ratios: &[&CycleRatio]) -> String {
    let last = ratios.iter().map(|c| c.cycle).max().unwrap_or(0);
    let mut text = String::from("Ratio after/baseline by cycle.");
    for cycle in 1..=last {
        let values = sorted(ratios.iter().filter(|c| c.cycle == cycle).map(|c| c.ratio));
        if let Some(middle) = median(&values) {
            text.push_str(&format!(" Cycle {cycle}: median {} of {}.", ratio(middle), values.len()));
        }
    }
    text
}
