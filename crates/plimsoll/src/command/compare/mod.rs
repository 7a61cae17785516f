//! `plimsoll compare`: commands against each other, in turns, or two stored runs.

mod answer;
mod cells;
mod commands;
pub(crate) mod environments;
mod json;
mod observe;
mod observed;
mod progress;
pub(crate) mod runs;
mod text;
pub(crate) mod versus;

use crate::args::CompareArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::state;

pub(crate) fn run(args: &CompareArgs) -> Result<Exit, Failure> {
    match args.runs.as_slice() {
        [a, b] => {
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
