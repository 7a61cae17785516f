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
mod by_meaning;
mod by_opens;
mod by_seen;
mod by_servers;
mod by_settings;
mod by_stalls;
mod changes;
#[cfg(test)]
mod fixture;
mod known;
mod rank;

pub use cpu_contended::READY;
pub use known::{
    BackgroundLoad, CellStalls, CpuTime, Dependency, Flushing, Known, Ladder, Measured, SavedCpu, Shown,
};
pub use rank::named;

use plimsoll_model::cause::{Cause, CauseEvidence, CauseId};
use plimsoll_model::experiment::Experiment;
use plimsoll_model::plan::intervention::Change;
use plimsoll_model::report::Evidence;

/// Begins the name of the share of looks at a command in which a file was open, in per cent; the path follows.
pub const OPEN_SHARE: &str = "files.open_share of ";
/// Begins the name of how often a command opens files in a run; the program follows, and the file, or the folder with a slash at its end.
pub const OPENED: &str = "files.opened by ";
/// Begins the name of the share of runs of a command that had a setting, in per cent; whose it is follows, and what it is.
pub const SETTING: &str = "setting of ";
/// How much of the evidence a cause quotes.
const QUOTED: usize = 4;

/// Why Plimsoll has no change that tests a cause.
const OWN_CODE: &str = "the remedy is in the program's own code";
const BEYOND_THE_RUN: &str =
    "the remedy is in the machine, its devices or another server, which a run leaves alone";

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

/// All that is known of a cause.
struct Definition {
    page: Page,
    /// Whether it is looked for only where no other cause was found, since it names no more than a layer, or where it is nearly sure.
    is_last_resort: bool,
    /// Whether it says who uses what, and not that anything was held up: where as much work was done as before, it is a difference and no cause.
    is_of_use: bool,
    /// Recognises it.
    find: fn(&Known<'_>) -> Vec<Cause>,
    /// Change of an experiment that tests the cause, on hosts of the run; an empty one where the experiment has nothing to change. Or why Plimsoll
    /// has no such change.
    change: Result<fn(&Experiment) -> Change, &'static str>,
}

impl Definition {
    const fn new(page: Page, find: fn(&Known<'_>) -> Vec<Cause>) -> Self {
        Self { page, is_last_resort: false, is_of_use: false, find, change: Err(OWN_CODE) }
    }

    const fn confirmed_by(self, change: fn(&Experiment) -> Change) -> Self {
        Self { change: Ok(change), ..self }
    }

    /// What mends it is no part of a run.
    const fn beyond_the_run(self) -> Self {
        Self { change: Err(BEYOND_THE_RUN), ..self }
    }

    const fn where_nothing_else_fits(self) -> Self {
        Self { is_last_resort: true, ..self }
    }

    const fn of_use(self) -> Self {
        Self { is_of_use: true, ..self }
    }
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

/// Whether a cause says who uses what, and not that anything was held up.
#[must_use]
pub fn is_of_use(id: CauseId) -> bool {
    definition(id).is_of_use
}

/// Change of an experiment that tests a cause.
///
/// # Errors
/// A sentence without its full stop: why there is none.
pub fn change(id: CauseId, experiment: &Experiment) -> Result<Change, &'static str> {
    let change = definition(id).change?(experiment);
    if change.is_empty() {
        Err("the experiment has nothing that could be changed for it")
    } else {
        Ok(change)
    }
}

/// What `explain --confirm` does about a cause, without a full stop.
pub fn intervention(id: CauseId) -> String {
    match definition(id).change {
        Ok(_) => "`explain --confirm` makes this test on hosts of its own".to_owned(),
        Err(why) => format!("none, since {why}"),
    }
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
