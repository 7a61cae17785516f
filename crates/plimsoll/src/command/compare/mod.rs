//! `plimsoll compare`: commands against each other, in turns, or two stored runs.

mod answer;
mod cells;
mod commands;
mod json;
mod progress;
mod runs;
mod text;

use crate::args::CompareArgs;
use crate::exit::Exit;
use crate::failure::Failure;

pub(crate) fn run(args: &CompareArgs) -> Result<Exit, Failure> {
    match args.runs.as_slice() {
        [a, b] => runs::run(args, a, b),
        _ => commands::run(args),
    }
}
