//! Common parts of this module's tests.

use std::collections::BTreeMap;

use plimsoll_model::observation::{Arm, LoadResult, PhaseKind, PhaseRecord, Slice};

/// A measured phase of one slice.
pub(super) fn phase(name: &str, result: LoadResult) -> PhaseRecord {
    PhaseRecord {
        name: name.into(),
        kind: PhaseKind::Measure,
        cycle: 0,
        rung: None,
        start_ns: 0,
        end_ns: 0,
        slices: vec![slice(result)],
        events: Vec::new(),
        notes: Vec::new(),
        captures: Vec::new(),
        profiles: Vec::new(),
    }
}

/// A slice of the treatment.
pub(super) fn slice(result: LoadResult) -> Slice {
    Slice {
        load: String::new(),
        arm: Arm::Treatment,
        number: 0,
        at_ns: 0,
        result,
        counters: BTreeMap::new(),
        background: Vec::new(),
        flushes: BTreeMap::new(),
    }
}
