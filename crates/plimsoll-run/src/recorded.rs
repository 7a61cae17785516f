//! How phases are recorded that ran several loads at once.

use std::mem::take;

use plimsoll_model::experiment::recorded_as;
use plimsoll_model::observation::PhaseRecord;

/// The loads that the phase measured at once; none where it measured one.
pub(crate) fn loads_of(record: &PhaseRecord) -> Vec<String> {
    let mut loads: Vec<String> = Vec::new();
    for slice in &record.slices {
        if !slice.load.is_empty() && !loads.contains(&slice.load) {
            loads.push(slice.load.clone());
        }
    }
    loads
}

/// The phase as it is recorded: where it measured several loads at once, once for each. What is of no single load stands with the first.
pub(crate) fn split(record: PhaseRecord) -> Vec<PhaseRecord> {
    let loads = loads_of(&record);
    if loads.is_empty() {
        return vec![record];
    }
    let mut rest = record;
    let mut all = Vec::new();
    for load in loads {
        let (slices, others) = take(&mut rest.slices).into_iter().partition(|slice| slice.load == load);
        rest.slices = others;
        let name = recorded_as(&rest.name, &load);
        let (notes, captures, profiles) =
            (take(&mut rest.notes), take(&mut rest.captures), take(&mut rest.profiles));
        all.push(PhaseRecord { name, slices, notes, captures, profiles, ..rest.clone() });
    }
    all
}
