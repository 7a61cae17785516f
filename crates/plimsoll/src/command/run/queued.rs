//! A run whose trials are carried out by a queue.

use std::fs;
use std::path::{Path, PathBuf};

use plimsoll_host::queue::{KubernetesQueue, Queue, SlurmQueue, Work};
use plimsoll_model::effect::Effect;
use plimsoll_model::plan::Plan;
use plimsoll_model::report::RunStatus;
use plimsoll_run::{Block, Queued, Results};
use plimsoll_store::{RunEntry, Store};

use super::{bundle, finish, heartbeat, label, limits, listen, report_so_far};
use crate::args::{Format, QueueKind, QueueOption, RunArgs};
use crate::environment::Noted;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::judge::Judge;
use crate::progress::lines::{Lines, Written};
use crate::progress::{Ends, Progress, ProgressOptions};
use crate::task_files::{MESSAGES, TaskRun};
use crate::team::Keeping;
use crate::{effects, messages, state};

/// The parent of the folders of runs on a queue, beside the file of runs.
const FOLDER: &str = "queue";

pub(super) fn carry_out(
    args: &RunArgs,
    keeping: &Keeping,
    plan: &Plan,
    effects: &[Effect],
    entry: RunEntry,
    on: &QueueOption,
) -> Result<Exit, Failure> {
    let store = keeping.own();
    refuse(args, plan)?;
    effects::ask(effects, &args.consent)?;
    let path = args.html.clone().unwrap_or_else(|| state::page_path(keeping.named(), &entry.id));
    // Before anything is measured for it.
    let page = state::open_page(&path, bundle(args)).map_err(|error| Failure::io("write", &path, &error))?;
    let ends = Ends::default();
    listen(&ends.now)?;
    let limits = limits(args, plan);
    let shared = shared_folder(store, on)?;
    let folder = shared.join(&entry.id);
    let laid_out = TaskRun::new(&entry, &limits).put(&folder);
    let program = laid_out.map_err(|error| Failure::io("lay out", &folder, &error))?;
    let queue = queue(on, shared, work(&program, &folder, &entry.id)?);
    let results = Results::at(&folder);
    let id = entry.id.clone();
    let report = report_so_far(store, &id, &path, bundle(args));
    let options = ProgressOptions { live: false, heartbeat: heartbeat(args) };
    let earlier = keeping.named().times_like(&entry)?;
    let mut progress =
        Progress::begin(plan, &entry, earlier, &options, &ends, report, keeping.named().under_way_file(&id));
    let mut lines = (args.format == Format::Jsonl).then(|| Lines::begin(plan, &entry));
    let queued = Queued {
        plan,
        queue: queue.as_ref(),
        results: &results,
        judge: &Judge,
        store,
        interrupt: &ends.now,
        limits,
        start_within: on.start_within().map(|within| within.0),
    };
    let mut keep = |block: &Block| Noted::keep_of_machine(store, &id, &block.machine, &block.end.measured_on);
    let mut written = Written { observer: &mut progress, lines: lines.as_mut() };
    let mut uploader = keeping.behind(&id, &ends.now, &mut written);
    let mut ended = queued.carry_out(entry, &mut uploader, &mut keep);
    if let Err(error) = label(args, store, &id) {
        ended.error = ended.error.or(Some(error.into()));
    }
    progress.clear();
    let is_complete = ended.error.is_none() && ended.entry.status == RunStatus::Complete;
    let exit = finish(args, plan, (keeping, &ends.now), (&path, &page), ended, lines);
    drop(progress);
    match is_complete && exit.is_ok() {
        // All of it is in the file of runs.
        true => fs::remove_dir_all(&folder).map_err(|error| Failure::io("remove", &folder, &error))?,
        false => messages::note(format_args!("the files of its tasks: {}", folder.display())),
    }
    exit
}

/// Settings that do not work with tasks that each have a machine to themselves.
fn refuse(args: &RunArgs, plan: &Plan) -> Result<(), Failure> {
    let of_cells = || plan.cells.iter().map(|cell| &cell.experiment);
    let what = if plan.experiment.is_remote() {
        "its hosts are existing machines (`reach`), and a queue runs all hosts of a task on one machine"
    } else if of_cells().any(|experiment| experiment.capture.is_some()) {
        "it captures packets, which would stay on the machines of the queue"
    } else if !args.destroy.is_empty() {
        "`--destroy` is about a device of this machine"
    } else {
        return Ok(());
    };
    Err(Failure::Usage(format!("a queue cannot run this experiment: {what}")))
}

/// The folder of all runs on a queue, by its whole path.
fn shared_folder(store: &Store, on: &QueueOption) -> Result<PathBuf, Failure> {
    let all = on.folder.clone().unwrap_or_else(|| state::folder(store).join(FOLDER));
    std::path::absolute(&all).map_err(|error| Failure::io("find", &all, &error))
}

fn queue(on: &QueueOption, folder: PathBuf, work: Work) -> Box<dyn Queue> {
    let at_once = on.at_once;
    match on.queue.clone() {
        QueueKind::Slurm(asked) => Box::new(SlurmQueue { asked, at_once, work }),
        QueueKind::Kubernetes { asked, claim, shared } => {
            Box::new(KubernetesQueue { asked, folder, claim, shared, at_once, work })
        }
    }
}

fn work(program: &Path, folder: &Path, run: &str) -> Result<Work, Failure> {
    let words = [program, Path::new("task"), folder];
    let words = words.iter().map(|word| word.to_str().map(ToOwned::to_owned));
    let command: Option<Vec<String>> = words.collect();
    let command = command.ok_or_else(|| Failure::Usage(format!("{} is not UTF-8", folder.display())))?;
    Ok(Work { name: format!("plimsoll-{run}"), command, messages: folder.join(MESSAGES) })
}
