//! The list of runs, with what is searched for.

use maud::{Markup, html};
use plimsoll_model::report::RunStatus;
use plimsoll_report::html::served;
use plimsoll_report::moment;
use plimsoll_store::{Listed, Search};
use serde::Deserialize;

use super::{PageError, Served, SiteSection, live, outcomes, plain, tags};
use crate::link;
use crate::site::Site;

/// How many runs a page has.
const A_PAGE: usize = 50;
/// How many tags there are to choose from.
const TAGS: usize = 100;
/// How many words are searched for.
const WORDS: usize = 8;

/// The parameters of the request.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct RunsQuery {
    q: String,
    experiment: String,
    tag: String,
    page: usize,
}

impl RunsQuery {
    fn search(&self) -> Search {
        let given = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        Search {
            words: self.q.split_whitespace().take(WORDS).map(ToOwned::to_owned).collect(),
            experiment: given(&self.experiment),
            tag: given(&self.tag),
        }
    }

    fn address(&self, page: usize) -> String {
        let number = page.to_string();
        let page = if page > 1 { number.as_str() } else { "" };
        link::with(
            "/",
            &[("q", &self.q), ("experiment", &self.experiment), ("tag", &self.tag), ("page", page)],
        )
    }
}

pub(crate) fn page(site: &Site, asked: &RunsQuery) -> Result<Served, PageError> {
    let store = site.runs.open()?;
    let search = asked.search();
    let number = asked.page.max(1);
    let skipped = (number - 1).saturating_mul(A_PAGE);
    let (found, count) = (store.search(&search, skipped, A_PAGE)?, store.count(&search)?);
    let going = |run: &Listed| run.status == RunStatus::Interrupted && store.is_going_on(&run.id);
    let (experiments, tags) = (store.experiments()?, store.tags()?);
    let under_way = if number == 1 { store.under_way() } else { Vec::new() };
    let content = html! {
        (live::list(&under_way))
        form .search role="search" action="/" {
            label { "Search" input type="search" name="q" value=(asked.q) size="24"; }
            label { "Experiment"
                select name="experiment" {
                    option value="" { "all" }
                    @for known in &experiments {
                        option value=(known.name) selected[known.name == asked.experiment] { (known.name) " (" (known.runs) ")" }
                    }
                }
            }
            @if !tags.is_empty() {
                label { "Tag"
                    select name="tag" {
                        option value="" { "any or none" }
                        @for (tag, runs) in tags.iter().take(TAGS) {
                            option value=(tag) selected[*tag == asked.tag] { (tag) " (" (runs) ")" }
                        }
                    }
                }
            }
            button { "Show" }
        }
        p { (count) @if count == 1 { " run" } @else { " runs" } @if count > A_PAGE as u64 { ", the newest first" } }
        @if !found.is_empty() {
            form action="/compare" {
                (list(&found, &going))
                @if count > 1 { p { button { "Compare A and B" } } }
            }
            (pager(asked, number, count))
        } @else if search == Search::default() {
            p { "Nothing was run yet with this file of runs: " code { "plimsoll run flood-relay --quick" } }
        }
    };
    Ok(plain(SiteSection::Runs, "Runs", &content).into())
}

fn list(runs: &[Listed], going: &dyn Fn(&Listed) -> bool) -> Markup {
    let columns = [
        ("A", false),
        ("B", false),
        ("started (UTC)", false),
        ("experiment", false),
        ("found", false),
        ("took", true),
        ("run", false),
    ];
    let rows = html! {
        @for run in runs {
            tr {
                td .choose { input type="radio" name="a" value=(run.id) aria-label={ "Run " (run.id) " as A" }; }
                td .choose { input type="radio" name="b" value=(run.id) aria-label={ "Run " (run.id) " as B" }; }
                td .tight { a href=(link::run(&run.id)) { (moment(run.started_unix_s)) } }
                td {
                    (run.experiment) " " (tags(&run.labels))
                    @if let Some(remark) = &run.labels.remark { span .note { (remark) } }
                }
                td {
                    @if going(run) { a href=(link::live(&run.id)) { "under way" } }
                    @else if run.status != RunStatus::Complete { (status(run.status)) " " }
                    (outcomes(&run.labels))
                }
                td .num { (plimsoll_report::seconds(run.elapsed_s)) }
                td .tight { code { (run.id) } }
            }
        }
    };
    served::table("Runs", &columns, &rows)
}

fn status(status: RunStatus) -> &'static str {
    match status {
        RunStatus::Complete => "complete",
        RunStatus::Running => "under way",
        RunStatus::Interrupted => "interrupted",
        RunStatus::Failed => "failed",
    }
}

fn pager(asked: &RunsQuery, number: usize, count: u64) -> Markup {
    let pages = usize::try_from(count).unwrap_or(usize::MAX).div_ceil(A_PAGE);
    html! {
        @if pages > 1 {
            nav .pager aria-label="Pages" {
                @if number > 1 { a href=(asked.address(number - 1)) rel="prev" { "newer" } }
                span { "page " (number) " of " (pages) }
                @if number < pages { a href=(asked.address(number + 1)) rel="next" { "older" } }
            }
        }
    }
}
