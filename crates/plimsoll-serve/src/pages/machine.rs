//! A machine over weeks: its changes, the limits that come near, and its figures over a day, a month or a year.

use maud::{Markup, html};
use plimsoll_assess::weeks::{forecast, hours};
use plimsoll_judge::weeks::LOOKED_AT;
use plimsoll_model::weeks::News;
use plimsoll_report::html::{history, served};
use plimsoll_report::moment;
use plimsoll_report::weeks as sentences;
use plimsoll_store::weeks::{Notice, Point, Series, Tier, Weeks};
use serde::Deserialize;

use super::{PageError, Served, SiteSection, above};
use crate::link;
use crate::site::Site;

const HOUR: u64 = 3600;
const DAY: u64 = 24 * HOUR;
/// A chart has about as many points as a narrow screen has pixels.
const POINTS: u64 = 370;
/// The charts that are drawn by default.
const CHARTS: usize = 9;
/// The most findings that are listed.
const SHOWN: usize = 50;
/// The series that are drawn first, by how their names begin.
const FIRST: [&str; 6] = ["cpu.busy", "memory.available", "pressure.", "free.", "disk.", "net."];

/// The parameters of the request.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct MachineQuery {
    span: String,
    series: String,
}

/// How much time is drawn, and from how fine points.
struct Span {
    name: &'static str,
    length: u64,
    tier: Tier,
}

static SPANS: [Span; 3] = [
    Span { name: "day", length: DAY, tier: Tier::Minutes },
    Span { name: "month", length: 31 * DAY, tier: Tier::Hours },
    Span { name: "year", length: 366 * DAY, tier: Tier::Hours },
];

pub(crate) fn page(site: &Site, asked: &MachineQuery) -> Result<Served, PageError> {
    let Some(weeks) = site.runs.weeks()? else {
        let content = html! {
            p { "Nothing is kept of this machine: " code { "plimsoll watch --keep 400d" } ", or the service of " code { "plimsoll watch --unit" } ", keeps what it does." }
        };
        return Ok(super::plain(SiteSection::Machine, "The machine", &content).into());
    };
    let span = SPANS.iter().find(|span| span.name == asked.span).unwrap_or(&SPANS[1]);
    let all = weeks.series()?;
    if !asked.series.is_empty() && !all.iter().any(|series| series.name == asked.series) {
        return Err(PageError::NotFound(format!("No series “{}” is kept.", asked.series)));
    }
    let last = weeks.extent()?.map_or(0, |(_, last)| last);
    let notices = weeks.notices()?;
    let body = html! {
        main #content .list {
            h1 { "The machine" }
            p { "Kept in " code { (weeks.path().display()) } " up to " (moment(last)) "." }
            (found(&weeks, &all, &notices, last)?)
            nav .pager aria-label="How much time" {
                @for choice in &SPANS {
                    a href=(link::with("/machine", &[("span", choice.name), ("series", &asked.series)])) aria-current=[(choice.name == span.name).then_some("true")] { (choice.name) }
                }
            }
            p .soft { "Lines are means, bands what single seconds reached; upright lines are changes that were found." }
            @for (n, series) in shown(&all, &asked.series).iter().enumerate() {
                (chart(n, &weeks, series, span, last, &notices)?)
            }
            h2 { "All series" }
            ul .plain {
                @for series in &all {
                    li { a href=(link::with("/machine", &[("span", span.name), ("series", &series.name)])) { (series.name) } }
                }
            }
        }
    };
    Ok(served::page("The machine – Plimsoll", &above(SiteSection::Machine), &body, true).into())
}

/// The series that are drawn: the requested one, or those that say most about a machine.
fn shown<'s>(all: &'s [Series], asked: &str) -> Vec<&'s Series> {
    if !asked.is_empty() {
        return all.iter().filter(|series| series.name == asked).collect();
    }
    let first =
        FIRST.iter().flat_map(|start| all.iter().filter(move |series| series.name.starts_with(start)));
    first.take(CHARTS).collect()
}

fn found(weeks: &Weeks, all: &[Series], notices: &[Notice], last: u64) -> Result<Markup, PageError> {
    let hour = last / HOUR;
    let first = hour.saturating_sub(LOOKED_AT as u64);
    let mut nearing = Vec::new();
    for series in all {
        let points = weeks.points_of(&series.name, Tier::Hours, first * HOUR, hour * HOUR)?;
        let hours = hours(points.iter().map(|point| (point.at_unix_s, f64::from(point.mean))), first, hour);
        nearing.extend(forecast(&series.name, &hours, first));
    }
    let unit =
        |name: &str| all.iter().find(|series| series.name == name).map_or("", |series| series.unit.as_str());
    let news = notices.iter().filter_map(|notice| {
        let news: News = serde_json::from_value(notice.notice.clone()).ok()?;
        Some((notice, sentences::news(&notice.series, unit(&notice.series), &news)))
    });
    let news: Vec<_> = news.take(SHOWN).collect();
    Ok(html! {
        @if !nearing.is_empty() {
            h2 { "Limits that come near" }
            ul .plain { @for (what, reached) in &nearing { li { (sentences::forecast(what, last, reached)) } } }
        }
        h2 { "What changed" }
        @if news.is_empty() {
            p { "No change was found beside the cycles of days and weeks. The first can be found after three weeks, when these are known." }
        }
        ul .plain {
            @for (notice, sentence) in &news {
                li { a href=(link::with("/machine", &[("span", "month"), ("series", &notice.series)])) { (sentence) } span .soft { ", found " (moment(notice.found_unix_s)) } }
            }
        }
    })
}

fn chart(
    n: usize,
    weeks: &Weeks,
    series: &Series,
    span: &Span,
    last: u64,
    notices: &[Notice],
) -> Result<Markup, PageError> {
    let from = last.saturating_sub(span.length);
    let points = weeks.points_of(&series.name, span.tier, from, last)?;
    let step = (span.length / POINTS).div_ceil(span.tier.step()).max(1) * span.tier.step();
    let marks: Vec<u64> = notices
        .iter()
        .filter(|notice| notice.series == series.name)
        .map(|notice| notice.since_unix_s)
        .collect();
    let chart = history::of_machine(
        format!("series-{}", n + 1),
        &series.name,
        &series.unit,
        &together(&points, step),
        &marks,
    );
    Ok(html! {
        @match chart {
            Some(chart) => (chart),
            None => p { (series.name) ": nothing was measured in this time." }
        }
    })
}

/// Points merged over stretches of `step` seconds.
fn together(points: &[Point], step: u64) -> Vec<history::Stretch> {
    points
        .chunk_by(|a, b| a.at_unix_s / step == b.at_unix_s / step)
        .map(|these| history::Stretch {
            at_unix_s: these[0].at_unix_s / step * step,
            mean: these.iter().map(|point| f64::from(point.mean)).sum::<f64>() / these.len() as f64,
            least: these.iter().map(|point| f64::from(point.least)).fold(f64::INFINITY, f64::min),
            greatest: these.iter().map(|point| f64::from(point.greatest)).fold(f64::NEG_INFINITY, f64::max),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stretches_keep_what_single_seconds_reached() {
        let point = |at_unix_s, mean: f32| Point { at_unix_s, mean, least: mean - 1.0, greatest: mean + 2.0 };
        let found = together(&[point(0, 1.0), point(3600, 3.0), point(7200, 9.0)], 7200);
        assert_eq!(found.len(), 2);
        assert_eq!((found[0].mean, found[0].least, found[0].greatest), (2.0, 0.0, 5.0));
        assert_eq!(found[1].at_unix_s, 7200);
    }
}
