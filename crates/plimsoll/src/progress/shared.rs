//! How far a run is, for other processes: each second, in a file beside the file of runs.

use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use plimsoll_model::under_way::{CpusUnderWay, LineUnderWay, PhaseUnderWay, RigUnderWay, Stage, UnderWay};
use plimsoll_store::UnderWayFile;

use super::lock;
use super::ticker::Ticker;
use super::view::{CPU_KINDS, View};

const EVERY: Duration = Duration::from_secs(1);
/// The newest values that are written.
const VALUES: usize = 120;
const LINES: usize = 30;

/// Writes for as long as the result is there; the file goes with it.
pub(super) fn write_each_second(view: &Arc<Mutex<View>>, file: UnderWayFile) -> Ticker {
    let view = Arc::clone(view);
    let mut is_warned = false;
    let mut write = move || {
        let state = state(&lock(&view));
        if let Err(error) = file.write(&state)
            && !std::mem::replace(&mut is_warned, true)
        {
            tracing::warn!("`plimsoll serve` cannot show this run while it goes on: {error}");
        }
    };
    write();
    Ticker::start("shared", EVERY, write)
}

fn state(view: &View) -> UnderWay {
    let written = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let seconds = |time: Duration| time.as_millis() as f64 / 1e3;
    UnderWay {
        run: view.run.clone(),
        experiment: view.experiment.clone(),
        question: view.question.clone(),
        written_unix_s: written.as_secs(),
        elapsed_s: seconds(view.since.elapsed()),
        trial: view.trial,
        trials_done: view.trials_done,
        remaining_s: view.remaining().map(|(least, most)| (seconds(least), seconds(most))),
        phases: phases(view),
        rigs: view
            .rigs
            .iter()
            .map(|(arm, rig)| RigUnderWay {
                arm: *arm,
                per_second: newest(rig.rate.iter().copied()),
                p99_ms: newest(rig.latency.iter().copied()),
                errors: rig.errors,
            })
            .collect(),
        cpus: view
            .cpus
            .iter()
            .filter(|(_, cpu)| !cpu.busy.is_empty())
            .map(|(host, cpu)| CpusUnderWay {
                host: host.clone(),
                busy: newest(cpu.busy.iter().copied()),
                kinds: CPU_KINDS.map(ToOwned::to_owned).into_iter().zip(cpu.now).collect(),
            })
            .collect(),
        verdicts: view.verdicts.clone(),
        so_far: view.so_far.clone(),
        lines: view
            .lines
            .iter()
            .skip(view.lines.len().saturating_sub(LINES))
            .map(|line| LineUnderWay {
                at_s: seconds(line.at),
                text: line.text.clone(),
                matters: line.matters,
            })
            .collect(),
    }
}

fn newest(values: impl ExactSizeIterator<Item = f64>) -> Vec<f64> {
    let skipped = values.len().saturating_sub(VALUES);
    // JSON has no numbers that are none.
    values.skip(skipped).filter(|value| value.is_finite()).collect()
}

fn phases(view: &View) -> Vec<PhaseUnderWay> {
    let done = view.forecast.done;
    let phase = |(index, coming): (usize, &super::forecast::PlannedPhase)| {
        let running = view.phase.as_ref().filter(|_| index == done);
        let (stage, took) = match running {
            _ if index < done => (Stage::Over, view.over.get(index).copied()),
            Some(running) => (Stage::Now, Some(running.since.elapsed())),
            None => (Stage::Coming, None),
        };
        PhaseUnderWay {
            name: running.map_or_else(|| coming.name.clone(), super::view::CurrentPhase::title),
            stage,
            took_s: took.map(|took| took.as_secs_f64()),
            usually_s: view.forecast.takes(coming).map(|takes| takes.as_secs_f64()),
        }
    };
    view.forecast.all.iter().enumerate().map(phase).collect()
}
