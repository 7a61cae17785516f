//! Style and scripts, which all pages share.

use axum::http::header::{CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use plimsoll_report::html::{bundle, served};

const STYLE: &str = include_str!("../assets/site.css");
const LIVE: &str = include_str!("../assets/live.js");
/// Files that change with the program, whose version is not in their names.
const BRIEFLY: &str = "max-age=60";
/// The bundle's version is in its name.
const ALWAYS: &str = "max-age=31536000, immutable";

pub(crate) async fn style() -> Response {
    text("text/css; charset=utf-8", format!("{}\n{STYLE}", served::style()))
}

pub(crate) async fn charts() -> Response {
    text("text/javascript; charset=utf-8", served::charts().to_owned())
}

/// Script that keeps the page of a run under way up to date.
pub(crate) async fn live() -> Response {
    text("text/javascript; charset=utf-8", LIVE.to_owned())
}

/// As gzip, which every browser of today unpacks.
pub(crate) async fn bundle() -> Response {
    let headers = [
        (CONTENT_TYPE, "text/javascript; charset=utf-8"),
        (CONTENT_ENCODING, "gzip"),
        (CACHE_CONTROL, ALWAYS),
    ];
    (headers, bundle::gzip()).into_response()
}

/// The mark on the hull: a ring, and the line through it.
pub(crate) async fn icon() -> Response {
    let mark = r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><circle cx="16" cy="16" r="10" fill="none" stroke="#0072b2" stroke-width="4"/><path d="M1 16h30" stroke="#c44e00" stroke-width="4"/></svg>"##;
    text("image/svg+xml", mark.to_owned())
}

fn text(kind: &'static str, text: String) -> Response {
    ([(CONTENT_TYPE, kind), (CACHE_CONTROL, BRIEFLY)], text).into_response()
}
