//! One run: what is said of it, and the page that `run` writes to a file.

use std::sync::Arc;

use maud::{Markup, html};
use plimsoll_model::report::RunStatus;
use plimsoll_report::html::bundle::Bundle;
use plimsoll_report::html::{Drawn, served};
use plimsoll_store::{Labels, RunEntry, Store};

use super::{PageError, Served, SiteSection, above, tags};
use crate::link;
use crate::site::Site;

pub(crate) fn page(site: &Site, id: &str) -> Result<Served, PageError> {
    let store = site.runs.open()?;
    let entry = found(site, &store, id)?;
    if entry.id != id {
        return Ok(Served::Elsewhere(link::run(&entry.id)));
    }
    let labels = store.labels_of(&entry.id)?;
    let interventions = store.interventions_for(&entry.id)?;
    let from = format!("{id} {:?} {} {labels:?} {interventions:?}", entry.status, entry.elapsed.as_nanos());
    if let Some(page) = site.made(&from) {
        return Ok(Served::Page(page));
    }
    let above = html! { (above(SiteSection::Runs)) (said(&entry, &labels)) };
    if let Some(page) = site.runs.imported(&store, &entry, &above).map_err(PageError::Failed)? {
        let page: Arc<str> = page.into_string().into();
        site.keep(from, &page);
        return Ok(Served::Page(page));
    }
    // A judgement takes too long for a page request. The page from its end is the same, unless an intervention has confirmed a cause.
    let is_settled = entry.status == RunStatus::Complete && interventions.is_empty();
    let file = is_settled.then(|| site.runs.page_file(&store, &entry.id)).flatten();
    if let Some(page) = file.and_then(|file| served::from_file(&above, &file)) {
        return Ok(page.into());
    }
    let (plan, report, trials) = site.runs.load(&store, &entry.id).map_err(PageError::Failed)?;
    store.fetch_files(&entry.id)?;
    let time_sequences = plimsoll_assess::time_sequences(store.place().folder(), &trials);
    let stacks = plimsoll_assess::stacks(&plan, &trials);
    let drawn = Drawn {
        time_sequences: &time_sequences,
        stacks: stacks.as_ref(),
        bundle: Bundle::Beside,
        served: true,
    };
    let page: Arc<str> = served::run(&above, &report, &trials, &drawn).into_string().into();
    site.keep(from, &page);
    Ok(Served::Page(page))
}

/// A run by its id, the start of it, the name of a baseline, or `latest`, as it is now.
pub(super) fn found(site: &Site, store: &Store, id: &str) -> Result<RunEntry, PageError> {
    let named = store.baseline(id)?;
    let found = store.run(named.as_deref().unwrap_or(id))?;
    let entry =
        found.ok_or_else(|| PageError::NotFound(format!("There is no run and no baseline “{id}”.")))?;
    Ok(site.runs.as_it_is(store, entry))
}

fn said(entry: &RunEntry, labels: &Labels) -> Markup {
    html! {
        aside .said aria-label="Labels of the run" {
            p { "Run " code { (entry.id) } " of " a href=(link::experiment(&entry.experiment)) { (entry.experiment) } " " (tags(labels)) }
            @if entry.status == RunStatus::Running { p { "It goes on: " a href=(link::live(&entry.id)) { "see it live" } "." } }
            @if let Some(remark) = &labels.remark { p { (remark) } }
        }
    }
}
