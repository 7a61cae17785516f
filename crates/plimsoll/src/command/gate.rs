//! `plimsoll gate`: a stored run's verdicts for a CI job.

use crate::args::GateArgs;
use crate::command::show::Printing;
use crate::command::{import, show};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::messages;
use crate::state;

/// Message of a gate without a claim to decide.
const NOTHING_CLAIMED: &str = "the experiment has no claims, so only a failed measurement fails this gate; `[[claims]]` state what must hold";

pub(crate) fn run(args: &GateArgs) -> Result<Exit, Failure> {
    let store = state::open_to_read(args.store.store.as_deref())?;
    let entry = state::find(&store, &args.run)?;
    if let Some(import) = import::stored::get(&store, &entry)? {
        // Markdown, which is the default, is of runs that were measured.
        import.print(show::as_page(args.format).unwrap_or_default())?;
        return Ok(import.exit());
    }
    let (plan, report, trials) = show::load(&store, &entry.id)?;
    show::print(Printing { format: args.format, details: false }, &store, &plan, &report, &trials)?;
    if plan.experiment.claims.is_empty() {
        messages::say(format_args!("warning: {NOTHING_CLAIMED}"));
    }
    Ok(Exit::of_run(&report))
}
