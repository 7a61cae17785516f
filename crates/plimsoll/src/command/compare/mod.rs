//! `plimsoll compare`: commands against each other, in turns, or two stored runs.

mod answer;
mod cells;
mod commands;
mod json;
mod observe;
mod observed;
mod progress;
pub(crate) mod runs;
mod text;

use crate::args::CompareArgs;
use crate::exit::Exit;
use crate::failure::Failure;

pub(crate) fn run(args: &CompareArgs) -> Result<Exit, Failure> {
    match args.runs.as_slice() {
        [a, b] => {
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
