//! How a run goes on, sent to a browser as it comes (server-sent events,
//! <https://html.spec.whatwg.org/multipage/server-sent-events.html>): `state` has the part of the page to replace, and
//! `ended` the address of the run's page, after which nothing comes any more.

use std::convert::Infallible;
use std::time::Duration;

use axum::extract::{Path, State};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream;

use crate::link;
use crate::pages;
use crate::site::Site;

const EVERY: Duration = Duration::from_secs(1);

pub(crate) async fn of_run(State(site): State<Site>, Path(id): Path<String>) -> Response {
    let follow = Follow { site, id, last: None, over: false };
    Sse::new(stream::unfold(follow, next)).keep_alive(KeepAlive::default()).into_response()
}

/// A viewer of a run.
struct Follow {
    site: Site,
    id: String,
    /// The state that was sent last.
    last: Option<String>,
    over: bool,
}

/// State of a followed run.
enum RunState {
    /// The run goes on; there is nothing to show before its first state.
    GoesOn(Option<String>),
    Ended,
}

async fn next(mut follow: Follow) -> Option<(Result<Event, Infallible>, Follow)> {
    if follow.over {
        return None;
    }
    loop {
        let (site, id) = (follow.site.clone(), follow.id.clone());
        let seen = tokio::task::spawn_blocking(move || look(&site, &id)).await.unwrap_or(RunState::Ended);
        match seen {
            RunState::GoesOn(Some(state)) if follow.last.as_ref() != Some(&state) => {
                let event = Event::default().event("state").data(&state);
                follow.last = Some(state);
                return Some((Ok(event), follow));
            }
            RunState::GoesOn(_) => tokio::time::sleep(EVERY).await,
            RunState::Ended => {
                follow.over = true;
                let event = Event::default().event("ended").data(link::run(&follow.id));
                return Some((Ok(event), follow));
            }
        }
    }
}

fn look(site: &Site, id: &str) -> RunState {
    // A file of runs that cannot be read just now is no end of the run, but nothing that could be shown either.
    let Ok(store) = site.runs.open() else { return RunState::Ended };
    match store.under_way_of(id) {
        // The text of an event has no carriage returns.
        Some(now) => RunState::GoesOn(Some(pages::live::state(&now).into_string().replace('\r', " "))),
        None if store.is_going_on(id) => RunState::GoesOn(None),
        None => RunState::Ended,
    }
}
