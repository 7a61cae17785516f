//! A recording of a machine, or two of them compared.

use std::sync::Arc;

use maud::html;

use super::{PageError, Served, SiteSection, above, plain};
use crate::site::Site;

/// Under this the page is kept: it takes long to make, and the files are read once.
const KEPT_AS: &str = "recording";

pub(crate) fn page(site: &Site) -> Result<Served, PageError> {
    if let Some(page) = site.made(KEPT_AS) {
        return Ok(Served::Page(page));
    }
    let Some(page) = site.runs.recording(&above(SiteSection::Recording)).map_err(PageError::Failed)? else {
        let content = html! {
            p { "No recording is served: " code { "plimsoll serve --recording FILE" } " shows one, and given twice it compares two." }
        };
        return Ok(plain(SiteSection::Recording, "Recording", &content).into());
    };
    let page: Arc<str> = page.into_string().into();
    site.keep(KEPT_AS.to_owned(), &page);
    Ok(Served::Page(page))
}
