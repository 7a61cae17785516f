//! The page of a run and its parts as a server has them: style and scripts are files of their own, which all pages share.

use maud::{Markup, PreEscaped, html};
use plimsoll_model::cause::CauseId;
use plimsoll_model::observation::TrialRecord;
use plimsoll_model::report::RunReport;

use super::recording::{self, RecordingPage};
use super::{Drawn, NumbersPage, numbers, page, sections, sides};

pub use super::places::{CHARTS, STYLE, bundle};

/// The style itself.
pub fn style() -> &'static str {
    page::STYLE
}

/// The script itself.
pub fn charts() -> &'static str {
    page::SCRIPT
}

/// A page of this title: the part over all pages, and its own.
pub fn page(title: &str, above: &Markup, body: &Markup, charts: bool) -> Markup {
    page::served(&html! { (title) }, above, body, charts)
}

/// The page of a run, with the same content as [`super::run`] writes to a file.
pub fn run(above: &Markup, report: &RunReport, records: &[TrialRecord], drawn: &Drawn<'_>) -> Markup {
    let drawn = Drawn { served: true, ..*drawn };
    let body = sections::body(report, records, &drawn);
    page(&format!("{}: {}", report.experiment, report.run), above, &body, true)
}

/// The markup of a page that [`super::run`] wrote to a file, with the bundle beside it; absent where a version wrote it whose style is another.
pub fn from_file(above: &Markup, text: &str) -> Option<Markup> {
    let (title, body) = page::inside(text)?;
    let mut body = body.to_owned();
    // A server has a page for each cause.
    for cause in CauseId::ALL.iter().filter(|cause| text.contains(cause.id())) {
        let [alone, linked] = [false, true].map(|linked| sections::cause_id(*cause, linked).into_string());
        body = body.replace(&alone, &linked);
    }
    // It was escaped when it was written.
    let title = PreEscaped(title);
    Some(page::served(&html! { (title) }, above, &PreEscaped(body), true))
}

/// Two runs in one chart each: rates over time, and how long requests took, in the phases that both measured.
pub fn runs_together(names: [&str; 2], reports: [&RunReport; 2], records: [&[TrialRecord]; 2]) -> Markup {
    let figures = sides::of_runs(names, records, crate::summary::rate_metric(reports[0]));
    html! { @for figure in &figures { (figure.markup()) } }
}

/// A page of figures from other tools' output, or of judged ones, with the same content as [`super::judged`] writes to a file.
pub fn judged(above: &Markup, content: &NumbersPage<'_>) -> Markup {
    page(&format!("{}: {}", content.title, content.asked), above, &numbers::body(content), true)
}

/// The page of a recording.
pub fn recording(above: &Markup, content: &RecordingPage) -> Markup {
    page(&format!("{} – Plimsoll", content.title), above, &recording::body(content), true)
}

/// A table that scrolls sideways by itself where the page is too narrow for it. Each column has its title, and whether figures stand in it.
pub fn table(name: &str, columns: &[(&str, bool)], body: &Markup) -> Markup {
    page::table(name, "", &maud::html! { (page::head(columns)) tbody { (body) } })
}
