//! The history of an experiment: each figure over its runs, with its changes.

use maud::{Markup, html};
use plimsoll_judge::changes::{Changes, MIN_LEVEL, find_changes};
use plimsoll_report::html::history::{self, Change, Point};
use plimsoll_report::html::served;
use plimsoll_report::{figure, moment};
use plimsoll_store::Dated;

use super::{PageError, Served, SiteSection, above, plain};
use crate::link;
use crate::site::Site;

/// The most runs that are drawn, the newest ones: more than a screen has points.
const DRAWN: usize = 1_000;
/// No more figures are drawn on one page.
const FIGURES: usize = 24;

/// All experiments.
pub(crate) fn list(site: &Site) -> Result<Served, PageError> {
    let all = site.runs.open()?.experiments()?;
    let columns = [("experiment", false), ("runs", true), ("newest", false), ("", false)];
    let rows = html! {
        @for known in &all {
            tr {
                th scope="row" { a href=(link::experiment(&known.name)) { (known.name) } }
                td .num { (known.runs) }
                td .tight { (moment(known.newest_unix_s)) }
                td { a href=(link::with("/", &[("experiment", &known.name)])) aria-label={ "Runs of " (known.name) } { "runs" } }
            }
        }
    };
    let content = html! {
        @if all.is_empty() { p { "There are no runs yet." } } @else { (served::table("Experiments", &columns, &rows)) }
    };
    Ok(plain(SiteSection::Experiments, "Experiments", &content).into())
}

/// The figures of one.
pub(crate) fn page(site: &Site, name: &str) -> Result<Served, PageError> {
    let store = site.runs.open()?;
    if !store.experiments()?.iter().any(|known| known.name == name) {
        return Err(PageError::NotFound(format!("There are no runs of “{name}”.")));
    }
    let followed = store.figures_by_name(name)?;
    let body = html! {
        main #content .list {
            h1 { (name) }
            p { a href=(link::with("/", &[("experiment", name)])) { "All its runs" } }
            @if !followed.is_empty() { h2 { "Figures" } }
            @for (n, runs) in followed.iter().take(FIGURES).enumerate() { (one(n, runs)) }
        }
    };
    Ok(served::page(&format!("{name} – Plimsoll"), &above(SiteSection::Experiments), &body, true).into())
}

fn one(n: usize, runs: &[Dated]) -> Markup {
    let runs = &runs[runs.len().saturating_sub(DRAWN)..];
    let (name, unit) = (&runs[0].figure.name, &runs[0].figure.unit);
    let values: Vec<f64> = runs.iter().map(|dated| dated.figure.value).collect();
    let points: Vec<Point> = runs.iter().map(point).collect();
    let found = find_changes(&values).ok();
    let changes = found.as_ref().map_or(&[][..], |found| &found.changes);
    let drawn: Vec<Change> = changes
        .iter()
        .map(|change| Change {
            index: change.index,
            before: change.before,
            after: change.after,
            between: change.index_interval,
        })
        .collect();
    let chart = history::chart(format!("figure-{}", n + 1), name, unit, &points, &drawn);
    html! {
        @if let Some(chart) = &chart { (chart) }
        @if let Some(found) = &found {
            @if values.len() < 2 * MIN_LEVEL {
                p { "A change can be detected from " (2 * MIN_LEVEL) " runs on." }
            } @else {
                p { (found.verdict(name).reason) "." }
            }
            @if !found.changes.is_empty() { (table(name, runs, found)) }
        }
    }
}

fn point(dated: &Dated) -> Point {
    Point {
        run: dated.run.clone(),
        at_unix_s: dated.started_unix_s,
        value: dated.figure.value,
        interval: dated.figure.interval,
    }
}

fn table(name: &str, runs: &[Dated], found: &Changes) -> Markup {
    let columns = [
        ("first run of the new level", false),
        ("since", false),
        ("before", true),
        ("after", true),
        ("size, at 95 %", true),
        ("may also be", false),
    ];
    let rows = html! {
        @for change in &found.changes {
            @let first = &runs[change.index];
            tr {
                th scope="row" { a href=(link::run(&first.run)) { (first.run) } }
                td .tight { (moment(first.started_unix_s)) }
                td .num { (figure(change.before)) }
                td .num { (figure(change.after)) }
                td .num { (figure(change.size())) " [" (figure(change.interval.lo())) ", " (figure(change.interval.hi())) "]" }
                td .tight {
                    @if change.index_interval.0 != change.index_interval.1 {
                        (runs[change.index_interval.0].run) " to " (runs[change.index_interval.1].run)
                    }
                }
            }
        }
    };
    served::table(&format!("Changes of {name}"), &columns, &rows)
}
