//! `probe.effect`: Measuring changes what is measured.

use plimsoll_model::cause::{Cause, CauseId};

use super::{Definition, Known, Page, When, by_hand, cause};

pub(super) const DEFINITION: Definition = Definition {
    page: Page {
        evidence_for: "the figure differs between trials with probes and trials without",
        evidence_against: "the interval of the difference has none in it",
        test: "carry the experiment out with `run.probes = false` beside it (`--audit-probes`)",
        remedy: "sample less often, capture fewer bytes of fewer packets, or measure without probes and look separately",
    },
    when: When::Always,
    find,
    change: by_hand,
};

fn find(known: &Known<'_>) -> Vec<Cause> {
    // Switching them off is the intervention that confirms it.
    let changed = known.probes.iter().cloned();
    let found = changed.map(|(confidence, evidence)| cause(CauseId::ProbeEffect, confidence, vec![evidence]));
    found.map(|cause| Cause { confirmed: true, ..cause }).collect()
}
