//! The page of a recording of a machine: its limits or its changes, its figures over time, and where its CPUs' time went.

use maud::{Markup, html};
use plimsoll_model::cause::Cause;
use plimsoll_model::observation::Profile;
use plimsoll_model::report::{Evidence, ProfileReport};

use super::chart::{bars, stacks};
use super::history::{Stretch, of_machine};
use super::sections;

/// Content of the page, from the answer down.
#[derive(Clone, Debug, Default)]
pub struct RecordingPage {
    /// The machine and how long it was recorded; of both recordings where two are compared.
    pub title: String,
    /// The machine's limits, and notes to the reader.
    pub sentences: Vec<String>,
    /// Named explanations, the likeliest first.
    pub causes: Vec<Cause>,
    /// What changed; empty where nothing is compared.
    pub evidence: Vec<Evidence>,
    /// Where the CPUs' time went, with the stacks of both sides, or twice those of one.
    pub profile: Option<(ProfileReport, [Profile; 2])>,
    /// Whether there are two sides.
    pub is_compared: bool,
    /// Figures over time.
    pub series: Vec<Series>,
}

/// A figure over time.
#[derive(Clone, Debug, Default)]
pub struct Series {
    /// Name of the series.
    pub name: String,
    /// Its unit: `share`, `bytes`, `bytes/s`, `1/s`.
    pub unit: &'static str,
    /// Its values.
    pub points: Vec<Stretch>,
    /// When something got worse, in seconds since 1970.
    pub marks: Vec<u64>,
}

pub(super) fn body(page: &RecordingPage) -> Markup {
    let sides = ("What changed from before to after", "before", "after");
    html! {
        main #content .list {
            h1 { (page.title) }
            ul .plain { @for sentence in &page.sentences { li { (sentence) } } }
            @if !page.causes.is_empty() {
                section #why aria-label="Why" { h2 { "Why" } (sections::causes(&page.causes, true)) }
            }
            @if !page.evidence.is_empty() {
                section #evidence aria-label="What changed" {
                    h2 { "What changed" }
                    (bars::table(&page.evidence, sides))
                }
            }
            @if let Some((report, profiles)) = &page.profile {
                section #profile aria-label="CPU time" {
                    h2 { "CPU time" }
                    @if page.is_compared { (sections::grown(report, (sides.1, sides.2))) }
                    (flames(report, profiles, page.is_compared))
                }
            }
            section #over-time aria-label="Over time" {
                h2 { "Over time" }
                @for (n, series) in page.series.iter().enumerate() {
                    @let id = format!("series-{}", n + 1);
                    @if let Some(chart) = of_machine(id, &series.name, series.unit, &series.points, &series.marks) { (chart) }
                }
            }
        }
    }
}

/// The flame graph. One side alone has no difference to colour.
fn flames(report: &ProfileReport, profiles: &[Profile; 2], is_compared: bool) -> Markup {
    let mut figure = stacks::chart(report, profiles);
    if !is_compared {
        figure.caption = "Width is CPU time for each second; what calls stands below what it calls, down to the process and its host. A click enlarges a frame.".to_owned();
    }
    figure.markup()
}
