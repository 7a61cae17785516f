//! Addresses, and what answers them.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, LOCATION};
use axum::middleware;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use plimsoll_report::html::served;

use crate::assets;
use crate::events;
use crate::guard::{self, Gate};
use crate::pages::{self, PageError, Served, SiteSection};
use crate::site::Site;

pub(crate) fn all(site: Site, gate: Gate) -> Router {
    Router::new()
        .route("/", get(runs))
        .route("/runs/{id}", get(run))
        .route("/runs/{id}/live", get(live))
        .route("/runs/{id}/events", get(events::of_run))
        .route("/compare", get(compare))
        .route("/experiments", get(experiments))
        .route("/experiments/{*name}", get(experiment))
        .route("/machine", get(machine))
        .route("/recording", get(recording))
        .route("/causes", get(causes))
        .route("/causes/{id}", get(cause))
        .route("/favicon.ico", get(assets::icon))
        .route(served::STYLE, get(assets::style))
        .route(served::CHARTS, get(assets::charts))
        .route("/assets/live.js", get(assets::live))
        .route(&served::bundle(), get(assets::bundle))
        .fallback(nowhere)
        .layer(middleware::from_fn_with_state(Arc::new(gate), guard::check))
        .with_state(site)
}

async fn runs(State(site): State<Site>, Query(asked): Query<pages::runs::RunsQuery>) -> Response {
    made(SiteSection::Runs, site, move |site| pages::runs::page(site, &asked)).await
}

async fn run(State(site): State<Site>, Path(id): Path<String>) -> Response {
    made(SiteSection::Runs, site, move |site| pages::run::page(site, &id)).await
}

async fn live(State(site): State<Site>, Path(id): Path<String>) -> Response {
    made(SiteSection::Runs, site, move |site| pages::live::page(site, &id)).await
}

async fn compare(State(site): State<Site>, Query(asked): Query<pages::compare::CompareQuery>) -> Response {
    made(SiteSection::Runs, site, move |site| pages::compare::page(site, &asked)).await
}

async fn experiments(State(site): State<Site>) -> Response {
    made(SiteSection::Experiments, site, pages::history::list).await
}

async fn experiment(State(site): State<Site>, Path(name): Path<String>) -> Response {
    made(SiteSection::Experiments, site, move |site| pages::history::page(site, &name)).await
}

async fn machine(State(site): State<Site>, Query(asked): Query<pages::machine::MachineQuery>) -> Response {
    made(SiteSection::Machine, site, move |site| pages::machine::page(site, &asked)).await
}

async fn recording(State(site): State<Site>) -> Response {
    made(SiteSection::Recording, site, pages::recording::page).await
}

async fn causes(State(site): State<Site>) -> Response {
    made(SiteSection::Causes, site, |_| Ok(pages::causes::list())).await
}

async fn cause(State(site): State<Site>, Path(id): Path<String>) -> Response {
    made(SiteSection::Causes, site, move |_| pages::causes::page(&id)).await
}

async fn nowhere() -> Response {
    trouble(SiteSection::Nowhere, &PageError::NotFound("There is no page at this address.".into()))
}

/// Makes a page in a thread of its own, since reading the store and judging take their time.
async fn made(
    here: SiteSection,
    site: Site,
    make: impl FnOnce(&Site) -> Result<Served, PageError> + Send + 'static,
) -> Response {
    match tokio::task::spawn_blocking(move || make(&site)).await {
        Ok(Ok(Served::Page(page))) => html(StatusCode::OK, page.as_ref().to_owned()),
        Ok(Ok(Served::Elsewhere(address))) => (StatusCode::FOUND, [(LOCATION, address)]).into_response(),
        Ok(Err(found)) => trouble(here, &found),
        Err(_) => trouble(here, &PageError::Failed("This page could not be made.".into())),
    }
}

fn trouble(here: SiteSection, found: &PageError) -> Response {
    let status = match found {
        PageError::NotFound(_) => StatusCode::NOT_FOUND,
        PageError::BadRequest(_) => StatusCode::BAD_REQUEST,
        PageError::Failed(_) => StatusCode::INTERNAL_SERVER_ERROR,
    };
    html(status, pages::trouble(here, found).into_string())
}

/// Sends a page. Runs are private: no cache on the path keeps it, and browsers ask again each time.
fn html(status: StatusCode, page: String) -> Response {
    let headers = [(CONTENT_TYPE, "text/html; charset=utf-8"), (CACHE_CONTROL, "private, no-cache")];
    (status, headers, page).into_response()
}
