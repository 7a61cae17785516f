//! `plimsoll task`: a block of a run's trials, on the machine that a queue has chosen. Not for users; a controller submits it.

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use plimsoll_host::Access;
use plimsoll_model::note::Note;
use plimsoll_model::observation::TrialRecord;
use plimsoll_model::report::RunStatus;
use plimsoll_run::{Context, Event, Results, Run, TaskEnd};
use plimsoll_store::Store;

use crate::command::run::{listen, notes};
use crate::command::{self, show};
use crate::environment::Noted;
use crate::failure::Failure;
use crate::judge::Judge;
use crate::messages;
use crate::other_processes::OtherProcesses;
use crate::progress::Ends;
use crate::rig;
use crate::task_files::TaskRun;

/// How long a signal may take to be heard that has ended the agents as well.
const SIGNALLED: Duration = Duration::from_secs(1);

pub(crate) fn run(args: &[OsString]) -> ExitCode {
    let words: Option<Vec<&str>> = args.iter().map(|arg| arg.to_str()).collect();
    let numbered = match words.as_deref() {
        Some([folder, block, machine]) => {
            block.parse().ok().map(|block| (Path::new(folder), block, *machine))
        }
        _ => None,
    };
    let Some((folder, block, machine)) = numbered else {
        messages::say("plimsoll task: plimsoll submits this command itself (`run --on`)");
        return ExitCode::from(2);
    };
    match carry_out(folder, block, machine) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            failure.print();
            ExitCode::FAILURE
        }
    }
}

/// Runs a block. The controller reports its failures; only a failure that cannot be left for it is printed here.
fn carry_out(folder: &Path, block: u32, machine: &str) -> Result<(), Failure> {
    let results = Results::at(folder);
    let kept = |kept: std::io::Result<()>| kept.map_err(|error| Failure::io("write to", folder, &error));
    kept(results.forget_end(block, machine))?;
    let end = match measure(folder, &results, block, machine) {
        Ok(Some(end)) => end,
        // Cancelled: what is not over is carried out by another task.
        Ok(None) => return Ok(()),
        Err(failure) => {
            failure.print();
            let advice = match &failure {
                Failure::CouldNot { advice, .. } => advice.clone(),
                Failure::Usage(_) | Failure::File { .. } => None,
            };
            TaskEnd {
                error: Some((failure.to_string(), advice)),
                fault: None,
                notes: Vec::new(),
                measured_on: serde_json::Value::Null,
            }
        }
    };
    kept(results.put_end(block, machine, &end))
}

/// Carries the block out, and leaves each trial as it ends; `None` if it was to end before.
fn measure(folder: &Path, results: &Results, block: u32, machine: &str) -> Result<Option<TaskEnd>, Failure> {
    // Before anything that could start a thread: a process with threads cannot move into a user namespace.
    let access = plimsoll_host::enter()?;
    let read = |error| Failure::io("read", folder, &error);
    let (mut entry, limits) = TaskRun::get(folder).map_err(read)?.entry();
    let (_, settings) = show::stored(&entry)?;
    let plan = command::with_files(show::plan_of(&entry)?, &show::origin(&entry)?, &settings)?;
    if let Access::Local(why) = &access
        && plan.experiment.hosts.values().any(|host| host.kind.own().network)
    {
        return Err(Failure::could_not(format!("user namespaces are forbidden there {why}")));
    }
    rig::check_cpus(&plan)?;
    entry.notes = notes(Some(&access), false).into_iter().map(Note::from).collect();
    let own =
        tempfile::tempdir().map_err(|error| Failure::could_not(format!("cannot make a folder: {error}")))?;
    let store = Store::open(&own.path().join("runs.sqlite"))?;
    store.put_run(&entry)?;
    for trial in results.trials(block, machine).map_err(read)? {
        store.put_trial(&entry.id, &trial)?;
    }
    let ends = Ends::default();
    listen(&ends.now)?;
    let provider = rig::namespaces(Vec::new(), &ends.now)?;
    let (profiler, unprofiled) = rig::profiler(&plan);
    entry.notes.extend(unprofiled);
    let noted = Noted::now(&plan)?;
    let context = Context {
        plan: &plan,
        provider: &provider,
        judge: &Judge,
        profiler: profiler.as_ref().map(|profiler| profiler as &dyn plimsoll_run::Profiler),
        store: &store,
        interrupt: &ends.now,
        skip: &ends.phase,
    };
    let run = Run { context, last_trial: &ends.after_trial, limits, only: Some(block) };
    let mut unkept = None;
    // A cancelled task ends its agents. Its effect on a trial is known only when the trial after it has ended.
    let mut doubtful: Option<TrialRecord> = None;
    let mut keep = |event: &Event<'_>| {
        let Event::TrialEnded { trial } = event else { return };
        let before = doubtful.take();
        if !trial.faults.is_empty() {
            doubtful = Some((*trial).clone());
        }
        for trial in before.iter().chain(Some(*trial).filter(|trial| trial.faults.is_empty())) {
            unkept = unkept.take().or(results.put_trial(block, machine, trial).err());
        }
    };
    let mut others = OtherProcesses::behind(&mut keep);
    let ended = run.carry_out(entry, &mut others);
    let others = others.note();
    let write = |error| Failure::io("write to", folder, &error);
    let last = ended.trials.last().filter(|trial| !trial.faults.is_empty());
    if last.is_some() || ended.error.is_some() {
        thread::sleep(SIGNALLED);
    }
    if ended.entry.status == RunStatus::Interrupted || ends.now.load(Ordering::Acquire) {
        return Ok(None);
    }
    if let Some(error) = unkept {
        return Err(write(error));
    }
    if let Some(error) = ended.error {
        return Err(error.into());
    }
    for trial in doubtful.iter().chain(last) {
        results.put_trial(block, machine, trial).map_err(write)?;
    }
    let gave_up = ended.entry.status == RunStatus::Failed;
    let fault = last.filter(|_| gave_up).and_then(|trial| trial.faults.last().cloned());
    let notes = ended.entry.notes.into_iter().chain(others).collect();
    Ok(Some(TaskEnd { error: None, fault, notes, measured_on: noted.to_json()? }))
}
