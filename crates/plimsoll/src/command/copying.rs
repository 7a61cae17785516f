//! `plimsoll push` and `plimsoll pull`: runs that are copied from store to store.

use plimsoll_report::escape::terminal;
use plimsoll_store::{Copied, Store};

use crate::args::{PullArgs, PushArgs};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::{messages, state};

pub(crate) fn push(args: &PushArgs) -> Result<Exit, Failure> {
    let from = state::open_to_read(args.store.store.as_deref())?;
    copy(&args.runs, &from, &state::open(Some(&args.to))?)
}

pub(crate) fn pull(args: &PullArgs) -> Result<Exit, Failure> {
    let from = state::open_to_read(Some(&args.from))?;
    copy(&args.runs, &from, &state::open(args.store.store.as_deref())?)
}

fn copy(runs: &[String], from: &Store, to: &Store) -> Result<Exit, Failure> {
    if from.place().to_string() == to.place().to_string() {
        return Err(Failure::Usage(format!("{} is both source and destination of the copy", to.place())));
    }
    for name in runs {
        let entry = state::find(from, name)?;
        let run = &entry.id;
        if from.is_going_on(run) {
            return Err(Failure::Usage(format!("run {run} is in progress in {}", from.place())));
        }
        // The claim keeps others from continuing or copying the run meanwhile.
        let _claim = to.claim(run)?;
        let Copied { trials, files, was_there } = from.copy_run(run, to)?;
        let experiment = terminal(&entry.experiment);
        let outcome = if was_there { "already exists" } else { "was copied" };
        messages::note(format_args!(
            "{run} of {experiment} {outcome}: {trials} trials, {files} files of packets"
        ));
    }
    Ok(Exit::Holds)
}
