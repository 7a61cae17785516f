//! Records of phases with several loads at once.

use std::mem::take;

use plimsoll_model::experiment::recorded_as;
use plimsoll_model::observation::PhaseRecord;

/// Loads that the phase measured at once; empty for a single load.
pub(crate) fn loads_of(record: &PhaseRecord) -> Vec<String> {
    let mut loads: Vec<String> = Vec::new();
    for slice in &record.slices {
        if !slice.load.is_empty() && !loads.contains(&slice.load) {
            loads.push(slice.load.clone());
        }
    }
    loads
}

/// Records of a phase: one for each of its loads. Facts of no single load stand with the first.
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
