//! The pages, one module for each kind.

pub(crate) mod causes;
pub(crate) mod compare;
pub(crate) mod history;
pub(crate) mod live;
pub(crate) mod machine;
pub(crate) mod recording;
pub(crate) mod run;
pub(crate) mod runs;

use std::sync::Arc;

use maud::{Markup, html};
use plimsoll_report::html::served;
use plimsoll_report::tone::Tone;
use plimsoll_store::{Labels, StoreError};

use crate::link;

/// Response to a request.
pub(crate) enum Served {
    Page(Arc<str>),
    /// The page stands at another address.
    Elsewhere(String),
}

/// Why there is no page.
pub(crate) enum PageError {
    NotFound(String),
    /// The request makes no sense.
    BadRequest(String),
    Failed(String),
}

impl From<StoreError> for PageError {
    fn from(error: StoreError) -> Self {
        Self::Failed(error.to_string())
    }
}

/// Which part of the site a page belongs to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum SiteSection {
    Runs,
    Experiments,
    Machine,
    Recording,
    Causes,
    Nowhere,
}

/// Heading of every page: links to the others.
fn above(here: SiteSection) -> Markup {
    let parts = [
        (SiteSection::Runs, "/", "Runs"),
        (SiteSection::Experiments, "/experiments", "Experiments"),
        (SiteSection::Machine, "/machine", "Machine"),
        (SiteSection::Recording, "/recording", "Recording"),
        (SiteSection::Causes, "/causes", "Causes"),
    ];
    html! {
        a .skip href="#content" { "To the content" }
        div .site {
            nav aria-label="Site" { ul {
                li { a href="/" { "Plimsoll" } }
                @for (part, address, name) in parts {
                    li { a href=(address) aria-current=[(part == here).then_some("page")] { (name) } }
                }
            } }
        }
    }
}

/// A page without charts.
fn plain(here: SiteSection, title: &str, content: &Markup) -> Markup {
    let body = html! { main #content .list { h1 { (title) } (content) } };
    served::page(&format!("{title} – Plimsoll"), &above(here), &body, false)
}

impl From<Markup> for Served {
    fn from(page: Markup) -> Self {
        Self::Page(page.into_string().into())
    }
}

/// A page that says why there is none.
pub(crate) fn trouble(here: SiteSection, found: &PageError) -> Markup {
    let (title, why) = match found {
        PageError::NotFound(why) => ("Not found", why),
        PageError::BadRequest(why) => ("This cannot be answered", why),
        PageError::Failed(why) => ("This failed", why),
    };
    plain(here, title, &html! { p { (why) } })
}

/// Results of a run, each outcome once with how often, first those that do not hold.
fn outcomes(labels: &Labels) -> Markup {
    let mut counted: Vec<(&str, bool, usize)> = Vec::new();
    for found in &labels.outcomes {
        match counted
            .iter_mut()
            .find(|(outcome, holds, _)| *outcome == found.outcome && *holds == found.holds)
        {
            Some((_, _, count)) => *count += 1,
            None => counted.push((&found.outcome, found.holds, 1)),
        }
    }
    counted.sort_by_key(|(_, holds, _)| *holds);
    html! {
        @for (n, (outcome, holds, count)) in counted.iter().enumerate() {
            @if n > 0 { ", " }
            span .outcome .(Tone::named(outcome).class()) .wanting[!holds] {
                @if *count > 1 { (count) " × " }
                (outcome.replace('_', " "))
            }
        }
    }
}

/// Tags that lead to the runs which have them, and the names under which a run is a baseline.
fn tags(labels: &Labels) -> Markup {
    html! {
        @for name in &labels.baselines { span .tag { "baseline " (name) } " " }
        @for tag in &labels.tags { a .tag href=(link::with("/", &[("tag", tag)])) { "#" (tag) } " " }
    }
}
