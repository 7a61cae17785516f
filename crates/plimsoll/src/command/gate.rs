//! `plimsoll gate`: a stored run's verdicts for a CI job.

use crate::args::GateArgs;
use crate::command::show;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::state;

pub(crate) fn run(args: &GateArgs) -> Result<Exit, Failure> {
    let store = state::open_to_read(args.store.store.as_deref())?;
    let (plan, report, trials) = show::load(&store, &args.run)?;
    show::print(args.format, &store, &plan, &report, &trials)?;
    Ok(Exit::of(&report.verdicts))
}
