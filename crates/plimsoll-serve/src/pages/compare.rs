//! Two runs side by side: first the differences of their environments, then their results.

use std::collections::BTreeSet;

use maud::{Markup, html};
use plimsoll_model::experiment::Metric;
use plimsoll_model::observation::Arm;
use plimsoll_model::report::{PhaseReport, RunReport};
use plimsoll_model::verdict::{Outcome, Verdict};
use plimsoll_report::html::served;
use plimsoll_report::tone::Tone;
use plimsoll_report::{figure, moment};
use serde::Deserialize;

use super::{PageError, Served, SiteSection, above, run};
use crate::link;
use crate::site::Site;

/// Defaults of `plimsoll compare`.
const MARGIN: f64 = 0.05;
const ALPHA: f64 = 0.05;

const COST: &str = "The runs were not interleaved: whatever else changed between them is part of the difference. A factor in one \
                    experiment is measured in turns.";

/// The parameters of the request.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct CompareQuery {
    a: String,
    b: String,
}

pub(crate) fn page(site: &Site, asked: &CompareQuery) -> Result<Served, PageError> {
    if asked.a.is_empty() || asked.b.is_empty() {
        return Err(PageError::BadRequest(
            "Two runs are compared: choose one as A and one as B in the list of runs.".into(),
        ));
    }
    let store = site.runs.open()?;
    let (a, b) = (run::found(site, &store, &asked.a)?, run::found(site, &store, &asked.b)?);
    if a.id != asked.a || b.id != asked.b {
        return Ok(Served::Elsewhere(link::with("/compare", &[("a", &a.id), ("b", &b.id)])));
    }
    let above = above(SiteSection::Runs);
    if let Some(page) = site.runs.against(&store, [&a.id, &b.id], &above).map_err(PageError::BadRequest)? {
        return Ok(page.into());
    }
    let (plan_a, report_a, trials_a) = site.runs.load(&store, &a.id).map_err(PageError::Failed)?;
    let (plan_b, report_b, trials_b) = site.runs.load(&store, &b.id).map_err(PageError::Failed)?;
    let differences = site.runs.differences(&store, &a.id, &b.id).map_err(PageError::Failed)?;
    let found = plimsoll_assess::runs((&plan_a, &trials_a), (&plan_b, &trials_b), MARGIN, ALPHA);
    let content = html! {
        p { "B against A. " a href=(link::with("/compare", &[("a", &b.id), ("b", &a.id)])) { "Swap A and B" } }
        h2 { "What they were measured on" }
        ul .plain { @for difference in &differences { li { (difference) } } }
        p .soft { (COST) }
        h2 { "What changed" }
        @if found.is_empty() { p { "The runs have no cell in common in which both measured a figure." } }
        @for (name, cells) in ["A", "B"].into_iter().zip(plimsoll_assess::alone((&plan_a, &trials_a), (&plan_b, &trials_b))) {
            @if !cells.is_empty() { p .soft { "Only " (name) " has " (cells.join("; ")) "." } }
        }
        @for contrast in &found {
            h3 { (contrast.phase) @for (factor, level) in &contrast.cell { ", " (factor) " = " (level) } }
            (sentence(&contrast.comparison.verdict))
            p .soft { (contrast.comparison.verdict.reason) }
            @if !contrast.causes.is_empty() {
                ul .plain {
                    @for cause in &contrast.causes {
                        li { a href=(link::cause(cause.id.id())) { (cause.headline()) } ", " (figure((cause.confidence * 100.0).round())) " % sure" }
                    }
                }
            }
        }
        h2 { "Side by side" }
        div .sides { (side("A", &report_a)) (side("B", &report_b)) }
        (served::runs_together([&format!("A: {}", a.id), &format!("B: {}", b.id)], [&report_a, &report_b], [&trials_a, &trials_b]))
        (figures(&report_a, &report_b))
    };
    let title = format!("{} and {}", a.id, b.id);
    let body = html! { main #content .list { h1 { (title) } (content) } };
    Ok(served::page(&format!("{title} – Plimsoll"), &above, &body, true).into())
}

fn sentence(verdict: &Verdict) -> Markup {
    let metric = verdict.metric.replace('_', " ");
    let judgement = match verdict.outcome {
        Outcome::Slower => "worse in B",
        Outcome::Faster => "better in B",
        Outcome::Same => "the same",
        Outcome::Invalid => "carries no answer",
        _ => "undecided",
    };
    let change = |ratio: f64| format!("{:+.1} %", 100.0 * (ratio - 1.0));
    let between = verdict.interval.map_or_else(String::new, |interval| {
        format!(
            " [{}, {}] at {} %",
            change(interval.0),
            change(interval.1),
            figure(100.0 * verdict.confidence)
        )
    });
    html! {
        p {
            (metric) ": " (outcome(verdict.outcome, judgement))
            @if let Some(estimate) = verdict.estimate { ", " (change(estimate)) (between) }
        }
    }
}

fn outcome(outcome: Outcome, word: &str) -> Markup {
    html! { strong .outcome .(Tone::of(outcome).class()) { (word) } }
}

fn side(name: &str, report: &RunReport) -> Markup {
    html! {
        section aria-label={ "Run " (name) } {
            h2 { (name) ": " a href=(link::run(&report.run)) { (report.run) } }
            p { (report.experiment) ", " (moment(report.started_unix_s)) }
            ul .plain {
                @for finding in &report.verdicts {
                    li { (finding.verdict.title()) ": " (outcome(finding.verdict.outcome, &finding.verdict.outcome.name().replace('_', " "))) " (" (finding.verdict.reason) ")" }
                }
            }
        }
    }
}

/// The rate of each phase of both: medians over trials, of the rig that something was done to.
fn figures(a: &RunReport, b: &RunReport) -> Markup {
    let rows: Vec<Row> = places(a).union(&places(b)).map(|place| Row::of(place, a, b)).collect();
    let columns = [("phase", false), ("figure", false), ("A", true), ("B", true), ("B/A", true)];
    let body = html! {
        @for row in &rows {
            tr {
                th scope="row" { (row.place) }
                td { (row.figure) }
                td .num { (row.a.map_or("–".into(), figure)) }
                td .num { (row.b.map_or("–".into(), figure)) }
                td .num { (row.ratio().map_or("–".into(), |ratio| format!("{ratio:.2}"))) }
            }
        }
    };
    html! { @if !rows.is_empty() { h3 { "Figures" } (served::table("Figures of both runs", &columns, &body)) } }
}

struct Row {
    place: String,
    figure: String,
    a: Option<f64>,
    b: Option<f64>,
}

impl Row {
    fn of((place, metric): &(String, String), a: &RunReport, b: &RunReport) -> Self {
        let (a, b) = (median(a, place, metric), median(b, place, metric));
        Self { place: place.clone(), figure: metric.replace('_', " "), a, b }
    }

    fn ratio(&self) -> Option<f64> {
        self.a.zip(self.b).filter(|(a, _)| *a > 0.0).map(|(a, b)| b / a)
    }
}

/// The figures of a phase that a comparison shows: its rates, and two percentiles.
fn measured(phase: &PhaseReport) -> Vec<(&'static str, f64)> {
    let always = [
        Metric::ConnectionsPerSecond,
        Metric::RequestsPerSecond,
        Metric::BitsPerSecond,
        Metric::MedianMs,
        Metric::P99Ms,
    ];
    let own = phase.rate.filter(|rate| !always.contains(rate));
    let all = own.into_iter().chain(always);
    all.filter_map(|metric| Some((metric.name(), phase.figure(metric)?))).collect()
}

fn of_treatment(report: &RunReport) -> impl Iterator<Item = (String, &PhaseReport)> {
    report.trials.iter().flat_map(|trial| {
        let levels: String =
            trial.cell.iter().map(|(factor, level)| format!(", {factor} = {level}")).collect();
        let phases = trial.phases.iter().filter(|phase| phase.arm == Arm::Treatment && phase.kind.measures());
        phases.map(move |phase| (format!("{}{levels}", phase.name), phase))
    })
}

fn places(report: &RunReport) -> BTreeSet<(String, String)> {
    let named = of_treatment(report).flat_map(|(place, phase)| {
        measured(phase).into_iter().map(move |(metric, _)| (place.clone(), metric.to_owned()))
    });
    named.collect()
}

fn median(report: &RunReport, place: &str, metric: &str) -> Option<f64> {
    let here = of_treatment(report).filter(|(at, _)| at == place);
    let values = here.flat_map(|(_, phase)| measured(phase)).filter(|(name, _)| *name == metric);
    let mut values: Vec<f64> = values.map(|(_, value)| value).collect();
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => None,
        n if n % 2 == 0 => Some(values[middle - 1].midpoint(values[middle])),
        _ => Some(values[middle]),
    }
}
