//! `plimsoll watch --keep`: a machine over weeks, in a file of bounded size, and the changes in it.

mod import;
mod series;
mod unit;

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use plimsoll_assess::watched::Watched;
use plimsoll_store::weeks::{Keep, Weeks};

use super::Live;
use crate::args::WatchArgs;
use crate::failure::Failure;
use crate::keeping::{Keeper, summary};
use crate::{messages, output, state};

pub(super) use unit::print as print_unit;

/// Looks each second until it is to end, and keeps what it sees.
pub(super) fn run(args: &WatchArgs, hours: Duration, stop: &AtomicBool) -> Result<(), Failure> {
    let keep = Keep { most_bytes: args.bound.0, ..Keep::hours_for(hours) };
    if keep.most_bytes < Keep::LEAST_BYTES {
        return Err(Failure::Usage(format!("--bound {}: expected 10M or more", args.bound)));
    }
    let path = path(args.into.as_deref())?;
    let mut keeper = Keeper::open(&path, keep)?;
    if !args.import.is_empty() {
        return import::run(&mut keeper, &args.import);
    }
    let mut live = Live::open(args)?;
    messages::note(format_args!("keeping what {} does in {}", live.target.name(), path.display()));
    let mut watched = Watched::default();
    let mut left = args.count;
    while left != Some(0) && live.wait(stop) {
        // File systems seldom change, and take longer to be asked.
        let moment = live.read(keeper.is_between_minutes());
        let Some(state) = watched.state(&moment) else { continue };
        let values = series::of(&state, watched.counters());
        let found =
            keeper.take(moment.at_unix_ms / 1000, values.iter().map(|(series, value)| (series, *value)))?;
        output::text(|out| found.iter().try_for_each(|found| writeln!(out, "{}", found.sentence)))?;
        left = left.map(|left| left - 1);
    }
    keeper.end()?;
    live.print_cost();
    Ok(())
}

/// Where a machine's weeks are kept when it is not said: beside the file of runs.
fn path(named: Option<&Path>) -> Result<PathBuf, Failure> {
    match named {
        Some(path) => Ok(path.to_owned()),
        None => Ok(state::weeks_path(&state::place(None)?)),
    }
}

/// Prints the changes in a machine's weeks, and the limits that come near.
pub(super) fn show(path: &Path) -> Result<(), Failure> {
    let lines = summary(&Weeks::open_to_read(path)?)?;
    output::text(|out| lines.iter().try_for_each(|line| writeln!(out, "{line}")))
}
