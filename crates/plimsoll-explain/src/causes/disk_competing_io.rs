//! `disk.competing_io`: Somebody else reads or writes the same device, and takes a part of what it can do.

use plimsoll_model::cause::{Cause, CauseId};
use plimsoll_model::experiment::Experiment;

use super::{BackgroundLoad, Change, Definition, Known, Page, Shown, When, cause};

pub(super) const DEFINITION: Definition = Definition {
    page: Page {
        evidence_for: "measurements are in the worse mode while a background load is there, and in the better one while it is not; the device \
                       moved bytes that the measured load did not ask for",
        evidence_against: "the worse mode comes as often without the background load; nobody else used the device",
        test: "switch the background load off and measure again: one mode is left",
        remedy: "give the background load a device of its own, a limit, or another time",
    },
    when: When::Always,
    find,
    change,
};

const ID: CauseId = CauseId::DiskCompetingIo;

fn find(known: &Known<'_>) -> Vec<Cause> {
    let switched = known.shown.iter().filter_map(|shown| match shown {
        Shown::Background(background) => switched(background),
        Shown::Flushing(_) => None,
    });
    switched.collect()
}

/// A second mode that is there when a background load is: that was switched on and off, so it is confirmed. A cause is named only where there are
/// two figures.
fn switched(background: &BackgroundLoad) -> Option<Cause> {
    let title = format!("{}: the background load `{}`", ID.title(), background.name);
    let found = cause(ID, background.confidence, background.evidence.clone());
    (background.evidence.len() >= 2).then_some(Cause { title, confirmed: true, ..found })
}

fn change(experiment: &Experiment) -> Option<Change> {
    Change::without_background_loads(experiment)
}
