//! `probe.effect`: The probes disturb the measured system.

use plimsoll_model::cause::{Cause, CauseId};

use super::{Definition, Known, Page, by_seen, cause, changes};

pub(super) const DEFINITION: Definition = Definition::new(
    Page {
        evidence_for: "the figure differs between trials with probes and without. Or Plimsoll's additional CPU time is at least as large as the loss",
        evidence_against: "the confidence interval of the difference includes zero. Plimsoll's processes used as much CPU on both sides",
        test: "repeat the experiment with `run.probes = false` (`--audit-probes`)",
        remedy: "sample less often, capture fewer bytes of fewer packets, or run the probes in a separate measurement",
    },
    find,
)
.confirmed_by(|experiment| {
    let probes = experiment.run.probes.then(|| ("run.probes".to_owned(), false.into()));
    changes::set("without probes", probes)
});

/// Confidence if our own processes took at least the CPU time that was lost.
const TOOK_MORE: f64 = 0.85;

fn find(known: &Known<'_>) -> Vec<Cause> {
    // Switching them off is the intervention that confirms it.
    let changed = known.probes.iter().cloned();
    let found = changed.map(|(confidence, evidence)| cause(CauseId::ProbeEffect, confidence, vec![evidence]));
    found.map(|cause| Cause { confirmed: true, ..cause }).chain(took_cpus(known)).collect()
}

/// Whether our own processes took more CPUs on the worse side, enough to explain the loss.
fn took_cpus(known: &Known<'_>) -> Option<Cause> {
    let own = by_seen::own_cpu_use(known);
    let taken: f64 = own.iter().map(|it| it.after_cpus - it.before_cpus).sum();
    // Two recordings have the same probes, and no figure of theirs shows a loss.
    let may_explain = known.probes.is_none() && !known.measured.is_everybody;
    let explains = may_explain && known.lost.is_none_or(|lost| lost <= taken);
    (!own.is_empty() && explains)
        .then(|| cause(CauseId::ProbeEffect, TOOK_MORE, by_seen::cpu_use_evidence(&own)))
}

#[cfg(test)]
mod tests {
    use plimsoll_model::observation::{FrameKind, WaitSite};
    use plimsoll_model::report::{GrownCpuUse, ProfileReport, WaitFor};

    use super::super::fixture::{profile, relay, wait, who};
    use super::super::named;
    use super::*;

    #[test]
    fn our_own_processes_are_no_other_program_and_invalidate_what_they_may_have_cost() {
        let of = |kind, lost| {
            let used = GrownCpuUse { who: who(kind, "plimsoll"), before_cpus: 0.2, after_cpus: 0.6 };
            let waits = vec![wait("relay", WaitSite::Cpu, WaitFor::Cpu)];
            let profile = ProfileReport { cpu_use: vec![used], waits, ..profile() };
            let causes =
                named(&Known { profile: Some(&profile), measured: relay(), lost, ..Known::default() });
            causes.iter().map(|cause| cause.id).collect::<Vec<_>>()
        };
        // A controller on the machine, of this run or another one, and the agent of the service's host.
        for kind in [FrameKind::Plimsoll, FrameKind::Host] {
            assert_eq!(of(kind, Some(0.11)), [CauseId::ProbeEffect]);
            assert_eq!(of(kind, None), [CauseId::ProbeEffect]);
            assert!(of(kind, Some(0.9)).is_empty(), "0.4 CPUs do not cost nine tenths");
        }
    }
}
