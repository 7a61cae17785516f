//! Phases that the user skips.

use std::sync::atomic::Ordering;

use plimsoll_model::observation::{FaultKind, PhaseKind};
use plimsoll_model::report::RunStatus;
use plimsoll_run::Event;

use crate::{CONTENT, FLOOD, Fixed, Lab};

#[test]
fn a_phase_that_is_skipped_ends_its_load_and_the_trial_goes_on_and_is_not_counted() {
    let mut lab = Lab::of(&format!("{FLOOD}[capture]\n"));
    lab.provider.lasting = Some("flood");
    let judge = Fixed { calls_for_remedies: true, ..CONTENT };
    let ended = lab.run(judge, 1, |event| match event {
        // A skip request before a phase has no effect.
        Event::RigReady { .. } | Event::PhaseStarted { name: "flood", .. } => {
            lab.skip.store(true, Ordering::Release);
        }
        _ => {}
    });
    assert_eq!(ended.entry.status, RunStatus::Complete, "{:?}", ended.error);
    let trial = &ended.trials[0];
    let phases: Vec<(&str, usize)> =
        trial.phases.iter().map(|phase| (phase.name.as_str(), phase.slices.len())).collect();
    let cycle = [("flood", 0), ("settle", 0), ("after", 6)];
    assert_eq!(phases, [&[("before", 2), ("before", 6)], &cycle[..], &cycle[..]].concat(), "and no remedy");
    let faults: Vec<(FaultKind, &str)> =
        trial.faults.iter().map(|fault| (fault.kind, fault.phase.as_str())).collect();
    assert_eq!(faults, [(FaultKind::Skipped, "flood"); 2]);
    assert!(trial.phases[2].notes[0].starts_with("it was skipped by hand after "), "{:?}", trial.phases[2]);
    let ends = lab.provider.said().iter().filter(|said| said.ends_with(": end")).count();
    assert_eq!(ends, 2, "each load in progress is ended");
    assert_eq!(lab.store.trials("run").unwrap(), ended.trials);
}

#[test]
fn a_measured_phase_that_is_skipped_ends_its_captures() {
    let mut lab = Lab::of(&format!("{FLOOD}[capture]\n"));
    lab.provider.lasting = Some("few");
    let ended = lab.run(CONTENT, 1, |event| {
        if let Event::PhaseStarted { kind: PhaseKind::Measure, .. } = event {
            lab.skip.store(true, Ordering::Release);
        }
        if let Event::PhaseStarted { kind: PhaseKind::WarmUp, .. } = event {
            lab.skip.store(true, Ordering::Release);
        }
    });
    assert_eq!(ended.entry.status, RunStatus::Complete, "{:?}", ended.error);
    let said = lab.provider.said();
    let count = |what: &str| said.iter().filter(|said| said.contains(what)).count();
    assert_eq!(count("capture 00"), count("end capture"), "{said:?}");
    assert_eq!(count("end capture"), 4, "two rigs in two cycles: {said:?}");
    let names: Vec<&str> = ended.trials[0].faults.iter().map(|fault| fault.phase.as_str()).collect();
    assert_eq!(names, ["before", "after", "after"]);
    assert!(ended.trials[0].phases.iter().all(|phase| phase.slices.iter().all(|it| it.load.is_empty())));
}
