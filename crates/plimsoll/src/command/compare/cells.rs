//! The compared commands, with their names.

use crate::args::CompareArgs;
use crate::failure::Failure;

/// A command with the name that answers call it by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cell {
    pub(super) name: String,
    pub(super) command: String,
}

/// The cells that the arguments name, in their order.
pub(super) fn of(args: &CompareArgs) -> Result<Vec<Cell>, Failure> {
    let cell = |name: &str, command: &str| Cell { name: name.into(), command: command.into() };
    let cells = match (args.runs.as_slice(), &args.a, &args.b) {
        ([a, b], ..) | ([], Some(a), Some(b)) => vec![cell("A", a), cell("B", b)],
        _ => args.cells.iter().map(|text| named(text)).collect::<Result<_, _>>()?,
    };
    if let Some(empty) = cells.iter().find(|cell| cell.command.trim().is_empty()) {
        return Err(Failure::Usage(format!("the command of {} is empty", empty.name)));
    }
    if cells.len() < 2 {
        return Err(Failure::Usage("--cells: expected two commands or more".into()));
    }
    let twice =
        cells.iter().enumerate().find(|(i, cell)| cells[..*i].iter().any(|other| other.name == cell.name));
    match twice {
        Some((_, cell)) => Err(Failure::Usage(format!("--cells: two commands are called `{}`", cell.name))),
        None => Ok(cells),
    }
}

fn named(text: &str) -> Result<Cell, Failure> {
    match text.split_once('=') {
        Some((name, command)) if !name.trim().is_empty() => {
            Ok(Cell { name: name.trim().into(), command: command.into() })
        }
        _ => Err(Failure::Usage(format!("--cells {text}: expected NAME=COMMAND"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_is_a_name_and_all_that_follows_the_first_equals_sign() {
        assert_eq!(named("a = X=1 run").unwrap(), Cell { name: "a".into(), command: " X=1 run".into() });
        assert!(named("no name").is_err());
        assert!(named("=x").is_err());
    }
}
