//! The catalogue of causes.

use maud::html;
use plimsoll_explain::causes;
use plimsoll_model::cause::CauseId;

use super::{PageError, Served, SiteSection, plain};
use crate::link;

pub(crate) fn list() -> Served {
    let content = html! {
        p { "What Plimsoll can say a verdict comes from. A cause is named only where two independent observations point to it, or one that names it itself." }
        ul .plain {
            @for cause in CauseId::ALL {
                li { a href=(link::cause(cause.id())) { code { (cause.id()) } } ": " (cause.title()) }
            }
        }
    };
    plain(SiteSection::Causes, "Causes", &content).into()
}

pub(crate) fn page(id: &str) -> Result<Served, PageError> {
    let cause = CauseId::ALL.iter().find(|cause| cause.id() == id);
    let cause = cause.ok_or_else(|| PageError::NotFound(format!("The catalogue has no cause “{id}”.")))?;
    let about = causes::page(*cause);
    let parts = [
        ("What speaks for it", about.evidence_for),
        ("What speaks against it", about.evidence_against),
        ("The test that confirms it", about.test),
        ("Intervention", &causes::intervention(*cause)),
        ("Remedy", about.remedy),
    ];
    let content = html! {
        p { code { (cause.id()) } }
        dl .page { @for (title, text) in parts { dt { (title) } dd { (text) } } }
        p { a href=(link::with("/", &[("q", cause.id())])) { "Runs whose notes or tags name it" } ", " a href="/causes" { "all causes" } }
    };
    Ok(plain(SiteSection::Causes, cause.title(), &content).into())
}
