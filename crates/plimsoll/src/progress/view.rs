//! The state of a run under way: everything that any display shows of it.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

use plimsoll_model::experiment::{Metric, cpus};
use plimsoll_model::observation::{Arm, FaultKind, Histogram, PhaseKind, Progress, Sample, Slice};
use plimsoll_model::plan::Plan;
use plimsoll_model::verdict::Verdict;
use plimsoll_report::seconds;
use plimsoll_run::Event;
use plimsoll_store::{RunEntry, Times};

use super::forecast::Forecast;

/// The values of a series that are kept: more than a terminal has columns.
const KEPT: usize = 240;
/// The lines of events that are kept.
const LINES: usize = 200;
/// Shares of CPU time, as `/proc/stat` counts it.
pub(super) const CPU_KINDS: [&str; 8] =
    ["user", "nice", "system", "irq", "softirq", "steal", "iowait", "idle"];
/// The latest stretch of time, over which a percentile is shown.
pub(super) const RECENT: Duration = Duration::from_secs(5);
/// The name of the whole machine among hosts.
const MACHINE: &str = "machine";

/// The state of a run.
pub(super) struct View {
    pub(super) run: String,
    pub(super) experiment: String,
    pub(super) question: String,
    pub(super) since: Instant,
    pub(super) trial: (u32, u32),
    pub(super) trials_done: u32,
    /// When the first trial began, and how long it took until the last one had ended.
    trials_since: Option<Instant>,
    trials_took: Duration,
    /// When the trial under way began.
    trial_since: Instant,
    /// The fewest and the most trials.
    pub(super) limits: (u32, u32),
    pub(super) forecast: Forecast,
    pub(super) phase: Option<CurrentPhase>,
    /// How long the phases took that are over in this trial.
    pub(super) over: Vec<Duration>,
    /// Whether the phase that is ending was skipped.
    skipped: bool,
    pub(super) rigs: BTreeMap<Arm, Rig>,
    pub(super) cpus: BTreeMap<String, Cpu>,
    pub(super) verdicts: Vec<Verdict>,
    pub(super) so_far: Option<String>,
    pub(super) lines: VecDeque<Line>,
    /// When no further trial begins.
    budget: Option<Duration>,
    /// The CPUs of hosts that have some to themselves.
    own_cpus: BTreeMap<String, Vec<u32>>,
    /// Hosts with a kernel of their own.
    own_kernels: Vec<String>,
    detail: String,
}

/// The phase that is under way.
pub(super) struct CurrentPhase {
    pub(super) name: String,
    pub(super) kind: PhaseKind,
    pub(super) cycle: u32,
    pub(super) cycles: u32,
    pub(super) since: Instant,
    pub(super) progress: Option<Progress>,
}

/// Figures of a rig so far.
#[derive(Default)]
pub(super) struct Rig {
    /// Operations per second.
    pub(super) rate: VecDeque<f64>,
    /// The 99th percentile of latency over the last seconds, in milliseconds, about once a second.
    pub(super) latency: VecDeque<f64>,
    recent: Recent,
    pub(super) errors: u64,
}

/// The latencies of slices that ended in the last seconds, second by second.
#[derive(Default)]
struct Recent(VecDeque<(Instant, Histogram)>);

impl Recent {
    /// Adds a slice that has ended. Gives the 99th percentile of the last seconds in milliseconds where a further second begins: adding up all
    /// histograms at each slice took a tenth of the controller's time.
    fn take(&mut self, now: Instant, slice: &Histogram) -> Option<f64> {
        if slice.is_empty() {
            return None;
        }
        self.0.retain(|(begun, _)| now.duration_since(*begun) < RECENT);
        match self.0.back_mut() {
            Some((begun, latencies)) if now.duration_since(*begun) < Duration::from_secs(1) => {
                latencies.add(slice);
                return None;
            }
            _ => self.0.push_back((now, slice.clone())),
        }
        let mut all = Histogram::default();
        self.0.iter().for_each(|(_, latencies)| all.add(latencies));
        Some(all.percentiles().p99 as f64 / 1e3)
    }
}

/// Shares of CPU time of a host.
#[derive(Default)]
pub(super) struct Cpu {
    counted: BTreeMap<String, f64>,
    last: Option<(u64, [f64; 8])>,
    /// Shares of the time, by [`CPU_KINDS`].
    pub(super) now: [f64; 8],
    /// The share that is neither idle nor waiting for a disk.
    pub(super) busy: VecDeque<f64>,
}

/// A line of the log of events.
pub(super) struct Line {
    pub(super) at: Duration,
    pub(super) text: String,
    /// Whether something went wrong, so that the line is printed again after the screen closes.
    pub(super) matters: bool,
}

impl View {
    pub(super) fn new(plan: &Plan, entry: &RunEntry, earlier: Option<Times>) -> Self {
        let experiment = &plan.experiment;
        let cells = u32::try_from(plan.cells.len()).unwrap_or(u32::MAX);
        let usable = plimsoll_host::usable_cpus().unwrap_or_default();
        let mut own_cpus = cpus::assign(&experiment.hosts, &usable).unwrap_or_default();
        own_cpus.retain(|_, cpus| !cpus.is_empty());
        let with_kernel = experiment.hosts.iter().filter(|(_, host)| host.kind.own().kernel);
        Self {
            run: entry.id.clone(),
            experiment: entry.experiment.clone(),
            question: experiment.question.clone(),
            since: Instant::now(),
            trial: (0, 0),
            trials_done: 0,
            trials_since: None,
            trials_took: Duration::ZERO,
            trial_since: Instant::now(),
            limits: [experiment.run.min_trials, experiment.run.max_trials]
                .map(|trials| trials.saturating_mul(cells))
                .into(),
            forecast: Forecast::new(plan, earlier),
            phase: None,
            over: Vec::new(),
            skipped: false,
            rigs: BTreeMap::new(),
            cpus: BTreeMap::new(),
            verdicts: Vec::new(),
            so_far: None,
            lines: VecDeque::new(),
            budget: experiment.run.budget.map(|budget| budget.0),
            own_cpus,
            own_kernels: with_kernel.map(|(name, _)| name.clone()).collect(),
            detail: String::new(),
        }
    }

    /// Handles an event, and returns its text if it is worth a line of its own.
    pub(super) fn take(&mut self, event: &Event<'_>) -> Option<String> {
        match event {
            Event::TrialStarted { number, of } => {
                self.trial = (*number, *of);
                self.trial_since = Instant::now();
                self.trials_since.get_or_insert(self.trial_since);
                self.over.clear();
                self.phase = None;
                self.forecast.trial_started();
                "setting up".clone_into(&mut self.detail);
            }
            Event::RigReady { took } => self.detail = format!("ready after {} ms", took.as_millis()),
            Event::PhaseStarted { name, kind, cycle, cycles } => {
                self.phase = Some(CurrentPhase {
                    name: (*name).to_owned(),
                    kind: *kind,
                    cycle: *cycle,
                    cycles: *cycles,
                    since: Instant::now(),
                    progress: None,
                });
                (self.so_far, self.detail) = (None, String::new());
            }
            Event::Step { name } => return Some(self.say(format!("step: {name}"), false)),
            Event::Progress { arm, progress } => self.progress(*arm, progress),
            Event::SliceEnded { slice } => self.slice(slice),
            Event::Sampled { arm, host, samples } => self.sampled(*arm, host, samples),
            Event::SoFar { what } => {
                self.detail = (*what).to_owned();
                self.so_far = Some((*what).to_owned());
            }
            Event::PhaseEnded { phase } => {
                let took = Duration::from_nanos(phase.end_ns - phase.start_ns);
                // A skipped phase does not predict the next one's duration.
                let whole = (!std::mem::take(&mut self.skipped)).then_some(took);
                self.forecast.phase_ended(&phase.name, phase.kind, whole);
                self.over.push(took);
                self.detail.clear();
            }
            Event::Remedy { rung } => {
                let what = rung.name().replace('_', " ");
                return Some(self.say(format!("not recovered; trying: {what}"), true));
            }
            Event::Fault { fault } => {
                self.skipped = fault.kind == FaultKind::Skipped;
                return Some(self.say(format!("in {}: {}", fault.phase, fault.what), true));
            }
            Event::TrialEnded { trial } => {
                self.trials_done += 1;
                self.trials_took = self.trials_since.map_or(Duration::ZERO, |since| since.elapsed());
                return Some(self.say(format!("trial {} is stored", trial.number), false));
            }
            Event::Judged { verdicts } => self.verdicts = verdicts.to_vec(),
        }
        None
    }

    pub(super) fn say(&mut self, text: String, matters: bool) -> String {
        if self.lines.len() == LINES {
            self.lines.pop_front();
        }
        self.lines.push_back(Line { at: self.since.elapsed(), text: text.clone(), matters });
        text
    }

    fn progress(&mut self, arm: Arm, progress: &Progress) {
        let of = progress.of.map_or_else(String::new, |of| format!(" of {of}"));
        let errors =
            if progress.errors > 0 { format!(", {} errors", progress.errors) } else { String::new() };
        self.detail = format!("{:.0}/s  {}{of}{errors}", progress.rate, progress.done);
        keep(&mut self.rigs.entry(arm).or_default().rate, progress.rate);
        let before = self.phase.as_ref().and_then(|phase| phase.progress).map_or(0, |before| before.errors);
        if progress.errors > 0 && before == 0 {
            let phase = self.phase.as_ref().map_or("", |phase| phase.name.as_str());
            self.say(format!("{phase}: the first errors, {} of {}", progress.errors, progress.done), false);
        }
        if let Some(phase) = &mut self.phase {
            phase.progress = Some(*progress);
        }
    }

    fn slice(&mut self, slice: &Slice) {
        let result = &slice.result;
        let failed = result.failed();
        let rig = self.rigs.entry(slice.arm).or_default();
        let rate = [Metric::RequestsPerSecond, Metric::ConnectionsPerSecond];
        let rate = result.facts.as_ref().and_then(|facts| facts.rate()).into_iter().chain(rate);
        // A load that is over in a moment has no progress while it runs.
        if let Some(rate) = rate.into_iter().find_map(|metric| result.figure(metric)) {
            keep(&mut rig.rate, rate);
        }
        if let Some(latency) = rig.recent.take(Instant::now(), &result.latency.total) {
            keep(&mut rig.latency, latency);
        }
        rig.errors += failed;
    }

    fn sampled(&mut self, arm: Arm, host: &str, samples: &[Sample]) {
        let own_kernel = self.own_kernels.iter().any(|name| name == host);
        let control = if arm == Arm::Control { "'" } else { "" };
        for sample in samples {
            if own_kernel {
                self.cpus.entry(format!("{host}{control}")).or_default().take(sample, &["".to_owned()]);
            } else if sample.values.keys().any(|name| name.starts_with("machine.stat.cpu")) {
                // Both rigs stand on the same CPUs.
                self.cpus.entry(MACHINE.to_owned()).or_default().take(sample, &["".to_owned()]);
                for (name, cpus) in &self.own_cpus {
                    let cpus: Vec<String> = cpus.iter().map(ToString::to_string).collect();
                    self.cpus.entry(name.clone()).or_default().take(sample, &cpus);
                }
            }
        }
    }

    /// Where the run is, in a line.
    pub(super) fn in_a_line(&self) -> String {
        let phase = self.phase.as_ref().map_or_else(String::new, |phase| format!("  {}", phase.title()));
        // Set-up and teardown are not in it, and the trials to come are not either.
        let left = self.forecast.left().filter(|left| left.as_secs() > 0);
        let left =
            left.map_or_else(String::new, |left| format!("  about {} s of this trial left", left.as_secs()));
        format!("trial {} of at most {}{phase}  {}{left}", self.trial.0, self.trial.1, self.detail)
    }

    /// How much longer it takes: this trial, and the trials that are still to come, at least and at most. What whole trials took in this run, with set-up and
    /// teardown, counts before what the phases should take.
    pub(super) fn remaining(&self) -> Option<(Duration, Duration)> {
        let measured = (self.trials_done > 0).then(|| self.trials_took / self.trials_done);
        let trial = measured.or_else(|| self.forecast.trial())?;
        let rest = trial.saturating_sub(self.trial_since.elapsed());
        let left = if self.trials_done < self.trial.0 {
            self.forecast.left().unwrap_or(rest)
        } else {
            Duration::ZERO
        };
        let begun = self.trial.0.max(self.trials_done);
        let coming = |trials: u32| left + trial * trials.saturating_sub(begun);
        let (least, most) = (coming(self.limits.0), coming(self.limits.1));
        let budget = self.budget.map(|budget| budget.saturating_sub(self.since.elapsed()) + trial);
        Some((least, budget.map_or(most, |budget| most.min(budget)).max(least)))
    }

    /// The lines to print again after the screen closes.
    pub(super) fn to_keep(&self) -> Vec<String> {
        let text = |line: &Line| format!("after {}: {}", seconds(line.at.as_secs_f64()), line.text);
        self.lines.iter().filter(|line| line.matters).map(text).collect()
    }
}

impl CurrentPhase {
    pub(super) fn title(&self) -> String {
        let warm_up = if self.kind == PhaseKind::WarmUp { " (warm-up)" } else { "" };
        match self.cycles {
            0 => format!("{}{warm_up}", self.name),
            cycles => format!("{}{warm_up}, cycle {} of {cycles}", self.name, self.cycle),
        }
    }
}

impl Cpu {
    /// Takes a sample, which holds what is new. A share is shown after half a second. `cpus` are numbers, or one empty name for all.
    fn take(&mut self, sample: &Sample, cpus: &[String]) {
        let named = |kind: &'static str| cpus.iter().map(move |cpu| format!("machine.stat.cpu{cpu}.{kind}"));
        for name in CPU_KINDS.into_iter().flat_map(named) {
            if let Some(value) = sample.values.get(&name) {
                self.counted.insert(name, *value);
            }
        }
        let sum = |kind| named(kind).filter_map(|name| self.counted.get(&name)).sum::<f64>();
        let sums = CPU_KINDS.map(sum);
        let Some((at_ns, before)) = self.last else {
            self.last = Some((sample.at_ns, sums));
            return;
        };
        if sample.at_ns < at_ns + 500_000_000 {
            return;
        }
        let mut changes = sums;
        for (change, before) in changes.iter_mut().zip(before) {
            *change = (*change - before).max(0.0);
        }
        let all: f64 = changes.iter().sum();
        if all > 0.0 {
            self.now = changes.map(|change| change / all);
            keep(&mut self.busy, 1.0 - self.now[6] - self.now[7]);
        }
        self.last = Some((sample.at_ns, sums));
    }
}

fn keep(series: &mut VecDeque<f64>, value: f64) {
    if series.len() == KEPT {
        series.pop_front();
    }
    series.push_back(value);
}

#[cfg(test)]
pub(super) mod tests {
    use plimsoll_model::plan::Settings;
    use plimsoll_model::report::RunStatus;
    use plimsoll_model::verdict::{Interval, Outcome};

    use super::*;

    /// A run with a phase under way.
    pub(in crate::progress) fn view() -> View {
        let source = crate::shipped::find("flood-relay").unwrap();
        let plan = Plan::read("flood-relay", &source.text, &Settings::default()).unwrap();
        let entry = RunEntry {
            id: "abcdefgh".into(),
            experiment: "flood-relay".into(),
            source: source.text,
            settings: serde_json::Value::Null,
            seed: 1,
            started_unix_s: 0,
            elapsed: Duration::ZERO,
            status: RunStatus::Running,
            notes: Vec::new(),
        };
        let mut view = View::new(&plan, &entry, None);
        view.take(&Event::TrialStarted { number: 2, of: 9 });
        view.take(&Event::PhaseStarted { name: "flood", kind: PhaseKind::Drive, cycle: 2, cycles: 4 });
        for arm in [Arm::Treatment, Arm::Control] {
            for rate in [2000.0, 12_345_678.0, 8_765.4] {
                let progress = Progress { done: 500, of: Some(1000), errors: 3, rate };
                view.take(&Event::Progress { arm, progress: &progress });
            }
        }
        let sample = |s: u64| Sample {
            at_ns: s * 1_000_000_000,
            values: BTreeMap::from(
                [("user", 60.0), ("softirq", 20.0), ("idle", 20.0)]
                    .map(|(kind, value)| (format!("machine.stat.cpu.{kind}"), value * s as f64)),
            ),
        };
        view.take(&Event::Sampled {
            arm: Arm::Treatment,
            host: "server",
            samples: &[sample(1), sample(2), sample(3)],
        });
        let verdict = Verdict {
            estimate: Some(0.9345),
            interval: Some(Interval(0.91, 0.96)),
            ..Verdict::bare(
                "recovery",
                "connections_per_second",
                Outcome::Undecided,
                3,
                "the interval holds both",
            )
        };
        view.take(&Event::Judged { verdicts: &[verdict] });
        view
    }

    /// A change to a shared view.
    pub(in crate::progress) fn with(view: &std::sync::Mutex<View>, happens: impl FnOnce(&mut View)) {
        happens(&mut crate::progress::lock(view));
    }

    #[test]
    fn the_percentile_shown_is_that_of_the_last_seconds() {
        let mut recent = Recent::default();
        let began = Instant::now();
        let second = |n| began + Duration::from_secs(n);
        assert_eq!(recent.take(began, &Histogram::default()), None);
        // A burst of 50 ms among requests of 1 ms is shown while it is one of the last seconds.
        assert_eq!(recent.take(second(0), &Histogram::of([(50_000, 50)])).map(f64::round), Some(50.0));
        assert_eq!(recent.take(second(3), &Histogram::of([(1000, 950)])).map(f64::round), Some(50.0));
        assert_eq!(recent.take(second(3), &Histogram::of([(1000, 1)])), None, "the same second");
        assert_eq!(recent.take(second(6), &Histogram::of([(1000, 950)])).map(f64::round), Some(1.0));
    }

    #[test]
    fn what_whole_trials_took_predicts_the_time_left() {
        let mut view = view();
        view.limits = (4, 9);
        assert_eq!(view.remaining(), None, "nothing is known before the first trial has ended");
        (view.trials_done, view.trials_took) = (1, Duration::from_secs(7));
        let (least, most) = view.remaining().unwrap();
        // The rest of the second trial, and two more; seven at most.
        assert!((20.0..=21.0).contains(&least.as_secs_f64()), "{least:?}");
        assert!((55.0..=56.0).contains(&most.as_secs_f64()), "{most:?}");
        view.budget = Some(Duration::from_secs(20));
        let (_, most) = view.remaining().unwrap();
        assert!((26.0..=27.0).contains(&most.as_secs_f64()), "no trial begins after 20 s: {most:?}");
    }

    #[test]
    fn cpu_time_is_split_by_kind_though_samples_hold_only_what_is_new() {
        let mut cpu = Cpu::default();
        let sample = |ms: u64, values: &[(&str, f64)]| Sample {
            at_ns: ms * 1_000_000,
            values: values.iter().map(|(kind, value)| (format!("machine.stat.cpu.{kind}"), *value)).collect(),
        };
        let all = [String::new()];
        cpu.take(&sample(0, &[("user", 1000.0), ("softirq", 0.0), ("idle", 5000.0)]), &all);
        cpu.take(&sample(100, &[("user", 1600.0)]), &all);
        assert!(cpu.busy.is_empty(), "too early to say");
        cpu.take(&sample(600, &[("softirq", 200.0), ("idle", 5200.0)]), &all);
        let of = |kind: &str| cpu.now[CPU_KINDS.iter().position(|it| *it == kind).unwrap()];
        assert_eq!((of("user"), of("softirq"), of("idle")), (0.6, 0.2, 0.2));
        assert!((cpu.busy[0] - 0.8).abs() < 1e-9);
    }
}
