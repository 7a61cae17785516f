//! Trials on hosts that are threads.

mod fake;
mod queued;
mod skipped;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use fake::FakeProvider;
use plimsoll_model::experiment::{Experiment, Rung};
use plimsoll_model::observation::{
    Arm, Frame, FrameKind, PhaseKind, Profile, ProfileBuilder, ProfileClock, Slice, Traffic, TrialRecord,
};
use plimsoll_model::plan::{Plan, Settings};
use plimsoll_model::report::RunStatus;
use plimsoll_model::verdict::{Outcome, Verdict};
use plimsoll_run::{Context, Ended, Event, Judge, Limits, Profiler, Run};
use plimsoll_store::{RunEntry, Store};

const FLOOD: &str = r#"
question = "does it come back?"
[hosts.a]
[services.web]
on = "a"
web = {}
[loads.few]
from = "a"
to = "web"
http = { connections = 6 }
[loads.flood]
from = "a"
to = "web"
http = { connections = 100 }
[[phases]]
name = "before"
measure = "few"
warm_up = 1
slices = 3
[[phases]]
name = "cycle"
repeat = 2
[[phases.steps]]
name = "flood"
drive = "flood"
[[phases.steps]]
name = "settle"
settle = { drained = "a" }
[[phases.steps]]
name = "after"
measure = "few"
slices = 3
[control]
idle_in = ["flood"]
[[claims]]
recovery = { baseline = "before", after = "after" }
[remedies]
service = "web"
wait = "1ms"
"#;

const SEARCH: &str = r#"
question = "how many requests per second?"
[hosts.a]
cpus = 1
sysctls = { "vm.swappiness" = 7, "net.ipv4.tcp_syncookies" = 0 }
[services.web]
on = "a"
web = {}
[loads.clients]
from = "a"
to = "web"
http = { duration = "1s", open = { rate = 50 } }
[[phases]]
name = "search"
search = { load = "clients", to = 1000, rest = "1ms" }
[[claims]]
limit = { phase = "search", at_most = "10ms" }
"#;

/// A judge with fixed answers.
#[derive(Clone, Copy)]
struct Fixed {
    calls_for_remedies: bool,
    restored_by: Option<Rung>,
    decided_after: usize,
    unfit: bool,
}

const CONTENT: Fixed = Fixed { calls_for_remedies: false, restored_by: None, decided_after: 1, unfit: false };

impl Judge for Fixed {
    fn so_far(&self, _: &Plan, _: &str, _: &[Slice]) -> Option<String> {
        None
    }

    fn sure_enough(&self, _: &Plan, _: &str, _: &[Slice]) -> bool {
        true
    }
    fn window_passes(&self, _: &Plan, _: &[Slice], _: &Slice, _: Option<&Slice>) -> bool {
        true
    }
    fn calls_for_remedies(&self, _: &Plan, _: &TrialRecord) -> bool {
        self.calls_for_remedies
    }
    fn last_rung_restored(&self, _: &Plan, trial: &TrialRecord) -> bool {
        trial.phases.last().is_some_and(|phase| phase.rung.is_some() && phase.rung == self.restored_by)
    }
    fn next_rate(&self, _: &Experiment, phase: &str, probes: &[Slice]) -> Option<f64> {
        assert_eq!(phase, "search");
        (probes.len() < 3).then(|| 100.0 * (probes.len() + 1) as f64)
    }
    fn unfit(&self, _: &Plan, trials: &[TrialRecord]) -> bool {
        assert!(trials.iter().all(|trial| trial.block == 0), "it is asked before anything is varied");
        self.unfit
    }
    fn read_packets(&self, file: &Path) -> Result<Traffic, String> {
        assert!(file.is_absolute(), "{}", file.display());
        if file.to_string_lossy().contains("after-2") {
            return Err("it is cut short".into());
        }
        Ok(Traffic { connections: 3, ..Traffic::default() })
    }
    fn so_far_of_run(&self, _: &Plan, trials: &[TrialRecord]) -> Vec<Verdict> {
        vec![Verdict::bare("limit", "p99_ms", Outcome::Undecided, trials.len(), "there are too few")]
    }
    fn decided(&self, _: &Plan, trials: &[TrialRecord]) -> bool {
        trials.len() >= self.decided_after
    }
}

/// Makes one sample between start and stop, in a function that is named after the hosts' namespaces.
#[derive(Default)]
struct FakeProfiler {
    under_way: RefCell<Option<String>>,
    sampled: RefCell<BTreeMap<Arm, ProfileBuilder>>,
}

impl Profiler for FakeProfiler {
    fn start(&self, hosts: BTreeMap<u64, String>) {
        assert!(self.under_way.replace(Some(format!("{hosts:?}"))).is_none(), "it was started twice");
    }

    fn stop(&self, arm: Arm) {
        let hosts = self.under_way.take().expect("it was started");
        let mut sampled = self.sampled.borrow_mut();
        let profile =
            sampled.entry(arm).or_insert_with(|| ProfileBuilder::new(arm, ProfileClock::CpuClock, 100));
        profile.add(&[Frame::new(FrameKind::Host, hosts)], 1);
    }

    fn take(&self) -> Vec<Profile> {
        self.sampled.take().into_values().map(ProfileBuilder::build).collect()
    }
}

/// A laboratory with a store of its own.
struct Lab {
    folder: tempfile::TempDir,
    profiler: FakeProfiler,
    store: Store,
    plan: Plan,
    provider: FakeProvider,
    interrupt: AtomicBool,
    last_trial: AtomicBool,
    skip: AtomicBool,
}

impl Lab {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("runs.sqlite")).unwrap();
        let plan = Plan::read("flood", FLOOD, &Settings::default()).unwrap();
        Self {
            folder,
            profiler: FakeProfiler::default(),
            store,
            plan,
            provider: FakeProvider::default(),
            interrupt: AtomicBool::new(false),
            last_trial: AtomicBool::new(false),
            skip: AtomicBool::new(false),
        }
    }

    /// A laboratory with this text of the experiment.
    fn of(text: &str) -> Self {
        Self { plan: Plan::read("flood", text, &Settings::default()).unwrap(), ..Self::new() }
    }

    fn entry(&self, seed: u64) -> RunEntry {
        RunEntry {
            id: "run".into(),
            experiment: "flood".into(),
            source: FLOOD.into(),
            settings: serde_json::json!({}),
            seed,
            started_unix_s: 0,
            elapsed: Duration::ZERO,
            status: RunStatus::Interrupted,
            notes: Vec::new(),
        }
    }

    fn run(&self, judge: Fixed, max_trials: u32, observer: impl FnMut(&Event<'_>)) -> Ended {
        self.run_within(Limits { min_trials: 1, max_trials, budget: None, aa_test: 0 }, judge, observer)
    }

    fn run_within(&self, limits: Limits, judge: Fixed, mut observer: impl FnMut(&Event<'_>)) -> Ended {
        let (plan, provider, store, interrupt) = (&self.plan, &self.provider, &self.store, &self.interrupt);
        let entry = self.store.run("run").unwrap().unwrap_or_else(|| self.entry(7));
        let profiler = Some(&self.profiler as &dyn Profiler);
        let context = Context { plan, provider, judge: &judge, profiler, store, interrupt, skip: &self.skip };
        Run { context, last_trial: &self.last_trial, limits, only: None }.carry_out(entry, &mut observer)
    }
}

#[test]
fn what_is_measured_is_profiled_by_rig_and_nothing_else_is() {
    let lab = Lab::new();
    let ended = lab.run(CONTENT, 1, |_| {});
    for phase in &ended.trials[0].phases {
        let slices = |arm| phase.slices.iter().filter(|slice| slice.arm == arm).count() as u64;
        let of = |arm| phase.profiles.iter().find(|profile| profile.arm == arm).map(Profile::samples);
        let (main, control) = (of(Arm::Treatment), of(Arm::Control));
        match phase.kind {
            PhaseKind::Measure => {
                assert_eq!((main, control), (Some(slices(Arm::Treatment)), Some(slices(Arm::Control))));
            }
            _ => assert_eq!((main, control), (None, None), "{}", phase.name),
        }
    }
    let mut measured = ended.trials[0].phases.iter().filter(|phase| phase.kind == PhaseKind::Measure);
    let first = &measured.next().expect("something is measured").profiles;
    assert_ne!(first[0].frames, first[1].frames, "each rig has namespaces of its own");
    assert_eq!(lab.store.trials("run").unwrap(), ended.trials);
}

/// A host whose time counts instructions, and two cells.
const COUNTED: &str = r#"
question = "how long is the path?"
[hosts.a]
kernel = "debian:6.12"
clock = "virtual"
[services.web]
on = "a"
web = {}
[loads.few]
from = "a"
to = "web"
http = { connections = 6 }
[[phases]]
name = "work"
measure = "few"
warm_up = 1
slices = 1
[factors.clearing]
set = "hosts.a.append"
levels = ["init_on_alloc=0", "init_on_alloc=1"]
[[claims]]
difference = { phase = "work", factor = "clearing" }
[run]
probes = false
min_trials = 4
"#;

#[test]
fn where_time_counts_instructions_each_cell_is_profiled_once_after_all_was_measured() {
    let lab = Lab::of(COUNTED);
    let ended = lab.run(CONTENT, 4, |_| {});
    let said = lab.provider.said();
    let done = |what: &str| said.iter().filter(|said| said.ends_with(what)).count();
    // Each trial warms up and measures; two of them run it once more.
    assert_eq!((done("run few 6"), done("begin profile")), (2 * ended.trials.len() + 2, 2), "{said:?}");
    for trial in &ended.trials {
        let profiles: usize = trial.phases.iter().map(|phase| phase.profiles.len()).sum();
        assert_eq!(profiles, usize::from(trial.block == 1), "trial {}", trial.number);
    }
    assert_eq!(lab.store.trials("run").unwrap(), ended.trials);
}

/// A guest that has the machine's time, and its control.
const GUEST: &str = "kernel = \"debian:6.12\"\n";

#[test]
fn guests_in_real_time_sample_themselves_in_measured_phases_of_both_rigs() {
    let text = FLOOD.replace("[services.web]", &format!("{GUEST}[services.web]"));
    let lab = Lab::of(&text);
    let ended = lab.run(CONTENT, 1, |_| {});
    let said = lab.provider.said();
    let begun = said.iter().filter(|said| said.ends_with("begin profile")).count();
    let measured = ended.trials[0].phases.iter().filter(|phase| phase.kind == PhaseKind::Measure);
    assert_eq!(begun, measured.map(|phase| phase.slices.len()).sum::<usize>(), "{said:?}");
    for phase in &ended.trials[0].phases {
        let slices = |arm| phase.slices.iter().filter(|slice| slice.arm == arm).count() as u64;
        for arm in [Arm::Treatment, Arm::Control] {
            let of_arm = phase.profiles.iter().filter(|profile| profile.arm == arm);
            let samples: Vec<u64> = of_arm.map(Profile::samples).collect();
            match phase.kind {
                // One of each slice by the machine, and three of the phase by the guest.
                PhaseKind::Measure => assert_eq!(samples, [slices(arm) + 3]),
                _ => assert!(samples.is_empty(), "{}", phase.name),
            }
        }
    }
    let mut lab = Lab::of(&text);
    lab.provider.unsampled = true;
    let ended = lab.run(CONTENT, 1, |_| {});
    let before = ended.trials[0].phases.iter().find(|phase| phase.kind == PhaseKind::Measure).unwrap();
    let [mine, theirs] = before.profiles.as_slice() else { panic!("{:?}", before.profiles) };
    assert_eq!((mine.samples(), theirs.samples()), (3, 3), "the machine's are there nevertheless");
    let why = |host| format!("no profile was taken in `{host}`: sample: not allowed");
    assert_eq!(before.notes.len(), 2, "{:?}", before.notes);
    assert!(["a", "a'"].map(why).iter().all(|note| before.notes.contains(note)), "{:?}", before.notes);
}

#[test]
fn nothing_is_profiled_without_probes() {
    let lab = Lab::of(&format!("{FLOOD}\n[run]\nprobes = false\n"));
    let ended = lab.run(CONTENT, 1, |_| {});
    assert!(ended.trials[0].phases.iter().all(|phase| phase.profiles.is_empty()));
}

#[test]
fn phases_come_in_order_and_the_control_sits_the_flood_out() {
    let lab = Lab::new();
    let ended = lab.run(CONTENT, 1, |_| {});
    assert_eq!(ended.entry.status, RunStatus::Complete, "{:?}", ended.error);
    let trial = &ended.trials[0];
    let phases: Vec<(&str, PhaseKind, u32)> =
        trial.phases.iter().map(|phase| (phase.name.as_str(), phase.kind, phase.cycle)).collect();
    let cycle = |n| {
        [("flood", PhaseKind::Drive, n), ("settle", PhaseKind::Settle, n), ("after", PhaseKind::Measure, n)]
    };
    let mut expected = vec![("before", PhaseKind::WarmUp, 0), ("before", PhaseKind::Measure, 0)];
    expected.extend(cycle(1).into_iter().chain(cycle(2)));
    assert_eq!(phases, expected);
    let floods: Vec<String> = lab.provider.said().into_iter().filter(|said| said.contains("flood")).collect();
    assert_eq!(floods, ["rig 0: run flood 100", "rig 0: run flood 100"]);
}

#[test]
fn notes_of_a_host_are_kept_once() {
    let ended = Lab::new().run(Fixed { decided_after: 2, ..CONTENT }, 2, |_| {});
    let notes: Vec<&str> = ended.entry.notes.iter().map(|note| note.text.as_str()).collect();
    assert_eq!(
        notes,
        ["`a`: a is a thread", "the link a - b was shaped by a thread; it carries 0 packets/s"]
    );
}

#[test]
fn every_slice_is_measured_on_both_rigs_one_right_after_the_other() {
    let lab = Lab::new();
    let ended = lab.run(CONTENT, 1, |_| {});
    for phase in ended.trials[0].phases.iter().filter(|phase| phase.kind == PhaseKind::Measure) {
        let numbers: Vec<u32> = phase.slices.iter().map(|slice| slice.number).collect();
        assert_eq!(numbers, [0, 0, 1, 1, 2, 2]);
        for pair in phase.slices.chunks(2) {
            assert_ne!(pair[0].arm, pair[1].arm);
        }
        let connections: u64 = phase
            .slices
            .iter()
            .filter(|slice| slice.arm == Arm::Treatment)
            .map(|slice| slice.result.connections)
            .sum();
        assert_eq!(connections, 6, "the slices make up the whole load");
    }
}

#[test]
fn the_same_seed_gives_the_same_order_and_another_seed_another() {
    let order = |seed| {
        let lab = Lab::new();
        lab.store.put_run(&lab.entry(seed)).unwrap();
        lab.run(CONTENT, 1, |_| {});
        lab.provider.said()
    };
    assert_eq!(order(1), order(1));
    assert!((2..12).any(|seed| order(seed) != order(1)), "ten seeds, and never another order");
}

#[test]
fn steps_are_done_in_order_on_the_rigs_that_take_part_and_not_where_they_are_left_out() {
    let step = |more: &str| {
        FLOOD.replace("idle_in = [\"flood\"]", "idle_in = [\"flood\", \"mend\"]").replace(
            "[[phases.steps]]\nname = \"after\"",
            &format!(
                "[[phases.steps]]\nname = \"mend\"\ndo = [{{ flush_rules = {{ on = \"a\" }} }}, {{ restart = {{ service = \"web\" }} }}]\n{more}\
                 [[phases.steps]]\nname = \"after\""
            ),
        )
    };
    let lab = Lab::of(&step(""));
    let ended = lab.run(CONTENT, 1, |_| {});
    assert_eq!(ended.entry.status, RunStatus::Complete, "{:?}", ended.error);
    let done: Vec<_> = ended.trials[0].phases.iter().filter(|phase| phase.kind == PhaseKind::Act).collect();
    assert_eq!(done.len(), 2, "once in each cycle");
    assert_eq!(done[0].notes, ["acted"], "on one rig");
    let said = lab.provider.said();
    let flushes = said.iter().filter(|line| line.contains("rules of routing policy"));
    assert!(
        flushes.clone().count() == 2 && flushes.clone().all(|line| line.starts_with("rig 0")),
        "{said:?}"
    );
    let at = said.iter().position(|line| line.contains("rules of routing policy")).unwrap();
    assert_eq!(said[at + 1..at + 3], ["rig 0: stop", "rig 0: start web"], "{said:?}");
    let lab = Lab::of(&step("skip = true\n"));
    let ended = lab.run(CONTENT, 1, |_| {});
    assert!(ended.trials[0].phases.iter().all(|phase| phase.kind != PhaseKind::Act));
}

#[test]
fn the_ladder_is_climbed_up_to_the_rung_that_restores_the_figure() {
    let lab = Lab::new();
    let judge = Fixed { calls_for_remedies: true, restored_by: Some(Rung::DropCaches), ..CONTENT };
    let ended = lab.run(judge, 1, |_| {});
    let rungs: Vec<Rung> = ended.trials[0].phases.iter().filter_map(|phase| phase.rung).collect();
    assert_eq!(rungs, [Rung::WaitLonger, Rung::RestartService, Rung::DropCaches]);
    let said = lab.provider.said();
    let of = |what: &str| said.iter().position(|line| line == what);
    assert!(of("rig 0: stop") < of("drop caches"), "{said:?}");
    assert_eq!(of("rig 0: rebuild a"), None, "it was not needed any more");
}

#[test]
fn the_last_rung_rebuilds_the_host_in_both_rigs_and_starts_its_services_again() {
    let lab = Lab::new();
    let judge = Fixed { calls_for_remedies: true, restored_by: None, ..CONTENT };
    lab.run(judge, 1, |_| {});
    let said = lab.provider.said();
    for rig in ["rig 0", "rig 1"] {
        let rebuilt = said.iter().position(|line| *line == format!("{rig}: rebuild a"));
        let after = &said[rebuilt.expect("it was rebuilt")..];
        assert!(after.contains(&format!("{rig}: start web")), "{said:?}");
    }
}

#[test]
fn trials_go_on_until_the_claims_are_decided() {
    let lab = Lab::new();
    let ended = lab.run(Fixed { decided_after: 3, ..CONTENT }, 10, |_| {});
    assert_eq!(ended.trials.len(), 3);
}

#[test]
fn trials_that_are_alike_come_first_and_the_run_ends_with_them_on_a_machine_that_is_unfit() {
    let limits = Limits { min_trials: 2, max_trials: 2, budget: None, aa_test: 3 };
    let blocks = |judge: Fixed| -> Vec<(u32, u32)> {
        let ended = Lab::new().run_within(limits, judge, |_| {});
        assert_eq!(ended.entry.status, RunStatus::Complete);
        ended.trials.iter().map(|trial| (trial.number, trial.block)).collect()
    };
    assert_eq!(blocks(CONTENT), [(1, 0), (2, 0), (3, 0), (4, 1), (5, 2)]);
    assert_eq!(blocks(Fixed { unfit: true, ..CONTENT }), [(1, 0), (2, 0), (3, 0)]);
}

#[test]
fn an_interrupted_run_keeps_what_was_measured_and_goes_on_with_the_trial_that_was_cut_short() {
    let lab = Lab::new();
    let mut ended_trials = 0;
    let judge = Fixed { decided_after: 3, ..CONTENT };
    let first = lab.run(judge, 3, |event| match event {
        Event::TrialEnded { .. } => ended_trials += 1,
        Event::PhaseEnded { phase } if ended_trials == 1 && phase.name == "flood" => {
            lab.interrupt.store(true, Ordering::Release);
        }
        _ => {}
    });
    assert_eq!(first.entry.status, RunStatus::Interrupted);
    let stored = lab.store.trials("run").unwrap();
    assert_eq!(stored.len(), 2);
    let names: Vec<&str> = stored[1].phases.iter().map(|phase| phase.name.as_str()).collect();
    assert_eq!(names[..3], ["before", "before", "flood"], "what was measured of the second trial is there");
    assert_eq!(lab.store.ended("run").unwrap(), [1]);

    lab.interrupt.store(false, Ordering::Release);
    let second = lab.run(judge, 3, |_| {});
    assert_eq!(second.entry.status, RunStatus::Complete);
    let numbers: Vec<u32> = second.trials.iter().map(|trial| trial.number).collect();
    assert_eq!(numbers, [1, 2, 3]);
    assert_eq!(second.trials[0], stored[0], "a trial that had ended is not carried out again");
}

#[test]
fn a_service_that_dies_spoils_its_trial_and_twice_in_a_row_the_run() {
    let mut lab = Lab::new();
    lab.provider.dies_at = Some("flood");
    let ended = lab.run(Fixed { decided_after: 9, ..CONTENT }, 9, |_| {});
    assert_eq!(ended.entry.status, RunStatus::Failed);
    assert_eq!(ended.trials.len(), 2);
    let fault = &ended.trials[0].faults[0];
    assert_eq!(fault.phase, "flood");
    assert!(fault.what.contains("`web`") && fault.what.contains("out of luck"), "{}", fault.what);
}

#[test]
fn packets_are_captured_around_every_measured_phase_and_read_when_it_ends() {
    let lab = Lab::of(&format!("{FLOOD}[capture]\n"));
    let ended = lab.run(CONTENT, 1, |_| {});
    assert_eq!(ended.entry.status, RunStatus::Complete, "{:?}", ended.error);
    let of_treatment: Vec<String> = lab
        .provider
        .said()
        .into_iter()
        .filter(|said| said.starts_with("rig 0") && !said.contains("start"))
        .collect();
    let before = of_treatment.iter().position(|said| said.contains("capture 001-before-a on ports [8000]"));
    let run = "rig 0: run few 2".to_owned();
    let at = before.expect("a capture begins") + 1;
    assert_eq!(of_treatment[at..at + 4], [run.clone(), run.clone(), run, "rig 0: end capture".to_owned()]);
    assert!(of_treatment[..at - 1].iter().all(|said| !said.contains("capture")), "a warm-up is not captured");
    let stored = lab.store.trials("run").unwrap();
    let phases = stored[0].phases.iter().filter(|phase| phase.kind == PhaseKind::Measure);
    for phase in phases {
        let records: Vec<_> = phase.captures.iter().map(|c| (c.arm, c.file.packets)).collect();
        assert_eq!(records, [(Arm::Treatment, 7), (Arm::Control, 7)], "{}", phase.name);
        let file = &phase.captures[1].file;
        let cycle = if phase.cycle > 0 { format!("-{}", phase.cycle) } else { String::new() };
        assert_eq!(file.file, format!("captures/run/001-{}{cycle}-a'-eth0.pcapng", phase.name));
        let unreadable = phase.cycle == 2;
        assert_eq!(file.error.as_deref(), unreadable.then_some("it is cut short"));
        assert_eq!(phase.captures[1].traffic.is_none(), unreadable);
    }
}

#[test]
fn without_probes_nothing_is_captured() {
    let lab = Lab::of(&format!("{FLOOD}[capture]\n[run]\nprobes = false\n"));
    let ended = lab.run(CONTENT, 1, |_| {});
    assert_eq!(ended.entry.status, RunStatus::Complete, "{:?}", ended.error);
    assert!(lab.provider.said().iter().all(|said| !said.contains("capture")));
    assert_eq!(ended.trials[0].sampling.samples, 0);
}

#[test]
fn a_search_offers_the_rates_that_the_judge_asks_for_until_it_asks_for_no_more() {
    let lab = Lab::of(SEARCH);
    let ended = lab.run(CONTENT, 1, |_| {});
    let phase = &ended.trials[0].phases[0];
    assert_eq!((phase.kind, phase.slices.len()), (PhaseKind::Search, 3));
    let runs: Vec<String> = lab.provider.said().into_iter().filter(|said| said.contains("run")).collect();
    assert_eq!(runs, [100, 200, 300].map(|rate| format!("rig 0: run clients at {rate}/s")));
}

#[test]
fn settings_of_the_machine_hold_for_a_trial_and_are_put_back_after_it() {
    let lab = Lab::of(SEARCH);
    lab.run(Fixed { decided_after: 2, ..CONTENT }, 2, |_| {});
    let said = lab.provider.said();
    let of_machine: Vec<&str> =
        said.iter().map(String::as_str).filter(|line| !line.starts_with("rig")).collect();
    let once = ["change {\"vm.swappiness\": \"7\"}", "put back"];
    assert_eq!(of_machine, [once, once].concat(), "a setting of the host's own is none of the machine's");
    assert_eq!(said.last().map(String::as_str), Some("put back"), "after everything else");
}

#[test]
fn a_run_that_is_to_end_after_its_trial_stores_the_whole_of_it_and_can_be_gone_on_with() {
    let lab = Lab::new();
    let judge = Fixed { decided_after: 3, ..CONTENT };
    let (mut judged, mut slices, mut sampled) = (Vec::new(), 0, 0);
    let first = lab.run(judge, 3, |event| match event {
        Event::SliceEnded { .. } => slices += 1,
        Event::Sampled { samples, .. } => sampled += samples.len(),
        Event::Judged { verdicts } => judged.push(verdicts[0].n),
        Event::PhaseStarted { name: "flood", .. } if !judged.is_empty() => {
            lab.last_trial.store(true, Ordering::Release);
        }
        _ => {}
    });
    assert_eq!((first.entry.status, judged), (RunStatus::Interrupted, vec![1]));
    let measured = first.trials.iter().flat_map(|trial| &trial.phases).flat_map(|phase| &phase.slices);
    assert_eq!(slices, measured.count(), "each slice is reported as it ends");
    assert!(sampled <= first.trials.iter().flat_map(|it| it.series.values()).map(Vec::len).sum());
    assert_eq!(lab.store.ended("run").unwrap(), [1, 2]);
    lab.last_trial.store(false, Ordering::Release);
    let second = lab.run(judge, 3, |_| {});
    assert_eq!((second.entry.status, second.trials.len()), (RunStatus::Complete, 3));
}
