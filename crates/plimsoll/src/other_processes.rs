//! Other users of the CPUs while a run measured. A process spoils figures without a word, and is named here.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use plimsoll_model::note::Note;
use plimsoll_model::observation::PhaseKind;
use plimsoll_probe::quiet::ProcessSnapshot;
use plimsoll_run::{Event, Observer};

/// Other processes are reported from this share of all CPUs on.
const WORTH_A_NOTE: f64 = 0.1;
/// The most processes that are named.
const NAMED: usize = 3;

/// Passes events on, and takes a snapshot of the processes where a measured phase begins and where it ends.
pub(crate) struct OtherProcesses<'o> {
    observer: &'o mut dyn Observer,
    began: Option<(ProcessSnapshot, Instant)>,
    /// CPU time in microseconds, by name of the process.
    used: BTreeMap<String, f64>,
    measured: Duration,
}

impl<'o> OtherProcesses<'o> {
    pub(crate) fn behind(observer: &'o mut dyn Observer) -> Self {
        Self { observer, began: None, used: BTreeMap::new(), measured: Duration::ZERO }
    }

    /// Note on other users of the CPUs during the measurement; `None` if they used hardly any time.
    pub(crate) fn note(&self) -> Option<Note> {
        let cpus = std::thread::available_parallelism().map_or(1, usize::from);
        users_in_words(&self.used, self.measured.as_secs_f64() * 1e6 * cpus as f64).map(Note::other_processes)
    }

    fn phase_ended(&mut self) {
        let Some((before, start)) = self.began.take() else { return };
        self.measured += start.elapsed();
        for process in before.others(&ProcessSnapshot::take(Path::new("/")), &[std::process::id()]) {
            *self.used.entry(process.name).or_default() += process.cpu_us;
        }
    }
}

impl Observer for OtherProcesses<'_> {
    fn on(&mut self, event: &Event<'_>) {
        match event {
            Event::PhaseStarted { kind: PhaseKind::Measure, .. } => {
                self.began = Some((ProcessSnapshot::take(Path::new("/")), Instant::now()));
            }
            Event::PhaseEnded { .. } => self.phase_ended(),
            _ => {}
        }
        self.observer.on(event);
    }
}

fn users_in_words(used: &BTreeMap<String, f64>, had_us: f64) -> Option<String> {
    let all: f64 = used.values().sum();
    if had_us <= 0.0 || all < WORTH_A_NOTE * had_us {
        return None;
    }
    let percent = |us: f64| format!("{:.0} %", 100.0 * us / had_us);
    let mut most: Vec<(&String, &f64)> = used.iter().filter(|(_, us)| **us >= 0.01 * had_us).collect();
    most.sort_by(|a, b| b.1.total_cmp(a.1));
    let names: Vec<String> =
        most.iter().take(NAMED).map(|(name, us)| format!("{name} {}", percent(**us))).collect();
    Some(format!("others used {} of the CPU time while it was measured: {}", percent(all), names.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn used(of: &[(&str, f64)]) -> BTreeMap<String, f64> {
        of.iter().map(|(name, us)| ((*name).to_owned(), *us)).collect()
    }

    #[test]
    fn the_greatest_users_are_named_first_and_small_ones_not_at_all() {
        let crowd = used(&[("cron", 1.0), ("rustc", 300.0), ("backup", 150.0), ("sshd", 2.0)]);
        let note = users_in_words(&crowd, 1000.0).unwrap();
        assert!(note.starts_with("others used 45 % of the CPU time"), "{note}");
        assert!(note.ends_with("rustc 30 %, backup 15 %"), "{note}");
        assert_eq!(users_in_words(&used(&[("cron", 5.0)]), 1000.0), None);
        assert_eq!(users_in_words(&BTreeMap::new(), 0.0), None, "nothing was measured");
    }

    #[test]
    fn a_process_of_somebody_else_is_seen_in_a_measured_phase_and_in_no_other() {
        struct Deaf;
        impl Observer for Deaf {
            fn on(&mut self, _: &Event<'_>) {}
        }
        let mut deaf = Deaf;
        let mut others = OtherProcesses::behind(&mut deaf);
        let started = |kind| Event::PhaseStarted { name: "x", kind, cycle: 0, cycles: 0 };
        others.on(&started(PhaseKind::Drive));
        assert!(others.began.is_none());
        others.on(&started(PhaseKind::Measure));
        std::thread::sleep(Duration::from_millis(20));
        others.phase_ended();
        assert!(others.measured >= Duration::from_millis(20));
        assert!(others.began.is_none());
    }
}
