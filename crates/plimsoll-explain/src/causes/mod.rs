//! Causes: named explanations, each with what speaks for it.
//!
//! Each cause has its own module with its page in the reference, its detection from observations, and the change that Plimsoll makes
//! to confirm it. The list of causes stands in [`plimsoll_model::cause`]; a cause without a
//! module does not compile. Modules whose names begin with `by_` recognise causes by one kind of observation, and serve several of them.
//!
//! A cause is named only where two independent observations point to it, or one that names it itself (an error of the system, a process that the
//! kernel says it has killed). For state that grows these are the remediation step that brought the figure back (an intervention), and counters
//! that grew with it (an observation).

mod by_calls;
mod by_columns;
mod by_counters;
mod by_functions;
mod by_ladder;
mod by_levels;
mod by_seen;
mod by_stalls;
mod changes;
#[cfg(test)]
mod fixture;
mod known;
mod rank;

pub use changes::Change;
pub use known::{BackgroundLoad, CellStalls, CpuTime, Flushing, Known, Ladder, Measured, SavedCpu, Shown};
pub use rank::named;

use plimsoll_model::cause::{Cause, CauseEvidence, CauseId};
use plimsoll_model::experiment::Experiment;
use plimsoll_model::report::Evidence;

/// How much of the evidence a cause quotes.
const QUOTED: usize = 4;

/// The page of a cause in the reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page {
    /// What speaks for it.
    pub evidence_for: &'static str,
    /// What speaks against it.
    pub evidence_against: &'static str,
    /// The intervention that confirms it.
    pub test: &'static str,
    /// What mends it.
    pub remedy: &'static str,
}

/// When a cause is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum When {
    /// Always: it says what is wrong.
    Always,
    /// Only where no other cause was found: it names no more than a layer.
    NothingElse,
}

/// All that is known of a cause.
struct Definition {
    page: Page,
    when: When,
    /// Recognises it.
    find: fn(&Known<'_>) -> Vec<Cause>,
    /// Change of an experiment that confirms the cause; `None` if Plimsoll cannot make it. An empty change counts
    /// as none.
    change: fn(&Experiment) -> Option<Change>,
}

/// Declares the module of each cause, and which one belongs to which.
macro_rules! modules {
    ($($(#[doc = $doc:literal])+ $variant:ident: $key:ident = $id:literal, $title:literal;)+) => {
        $(mod $key;)+

        fn definition(id: CauseId) -> &'static Definition {
            match id {
                $(CauseId::$variant => &$key::DEFINITION,)+
            }
        }
    };
}

plimsoll_model::each_cause!(modules);

/// The page of a cause.
pub fn page(id: CauseId) -> Page {
    definition(id).page
}

/// Change of an experiment that confirms a cause; `None` if Plimsoll cannot make it.
pub fn change(id: CauseId, experiment: &Experiment) -> Option<Change> {
    (definition(id).change)(experiment).filter(Change::does_something)
}

/// For causes that Plimsoll cannot remove.
fn by_hand(_: &Experiment) -> Option<Change> {
    None
}

/// A cause that nothing has confirmed yet.
fn cause(id: CauseId, confidence: f64, evidence: Vec<CauseEvidence>) -> Cause {
    let (title, remedy) = (id.title().to_owned(), page(id).remedy.to_owned());
    Cause { rank: 1, id, title, confidence, evidence, remedy, confirmed: false }
}

/// What moved, as evidence of a cause.
fn quoted(evidence: &Evidence) -> CauseEvidence {
    CauseEvidence {
        metric: format!("{}: {}", evidence.host, evidence.metric),
        before: evidence.before,
        after: evidence.after,
        unit: evidence.unit.clone(),
    }
}
