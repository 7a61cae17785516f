//! `plimsoll compare`: commands against each other, in turns, or two stored runs.

mod answer;
mod cells;
mod commands;
pub(crate) mod environments;
mod failing;
mod json;
pub(crate) mod kept;
mod observe;
mod observed;
mod progress;
pub(crate) mod runs;
mod text;
pub(crate) mod versus;

use crate::args::CompareArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::measure::is_command;
use crate::state;

pub(crate) fn run(args: &CompareArgs) -> Result<Exit, Failure> {
    match args.runs.as_slice() {
        [a, b] if !are_commands(args, [a, b]) => {
            if args.explain {
                return Err(Failure::Usage(format!(
                    "--explain watches commands while they run; `plimsoll explain {a} {b}` shows why a stored run is worse"
                )));
            }
            let store = state::open_to_read(args.store.store.as_deref())?;
            if versus::is_asked(&store, [a, b])? {
                let question = versus::Question {
                    margin: args.margin.0,
                    alpha: args.alpha.0,
                    of: &args.of,
                    better: args.better,
                    format: args.format,
                };
                return versus::run(&question, &store, [a, b]);
            }
            let question = runs::Question {
                store: args.store.store.as_deref(),
                margin: args.margin.0,
                alpha: args.alpha.0,
                format: args.format,
            };
            runs::run(&question, a, b)
        }
        _ => commands::run(args),
    }
}

/// Whether two words are commands, and neither is a stored run or a file.
fn are_commands(args: &CompareArgs, both: [&String; 2]) -> bool {
    let store = state::open_to_read(args.store.store.as_deref()).ok();
    let is_run = |word: &str| store.as_ref().is_some_and(|store| state::find(store, word).is_ok());
    both.iter().all(|word| is_command(word) && !is_run(word))
}
