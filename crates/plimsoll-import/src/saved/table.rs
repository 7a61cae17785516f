//! Figures over time, by column.

use super::SavedError;

/// Fewer rows do not show how figures scatter.
const FEWEST_ROWS: usize = 3;

/// Quantity of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnKind {
    /// How much of something there is.
    Level,
    /// How often something happens, or how much of it, in a second.
    PerSecond,
    /// The part of all CPUs' time in user mode, in per cent.
    CpuUser,
    /// The part of it in the kernel.
    CpuSystem,
    /// The part of it in which the CPUs have nothing to do, or wait for a disk only.
    CpuIdle,
    /// Another part of the CPUs' time, in per cent.
    CpuOther,
}

/// A column.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Its name, as the program writes it.
    pub name: String,
    /// Counted quantity.
    pub kind: ColumnKind,
    /// Its unit.
    pub unit: &'static str,
    /// Its figures, in their order.
    pub values: Vec<f64>,
}

/// Output of a program at intervals.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// The program.
    pub program: &'static str,
    /// The columns, without those of memory in use for caches.
    pub columns: Vec<Column>,
}

impl Table {
    /// The table, if it has enough in it.
    pub(super) fn checked(program: &'static str, columns: Vec<Column>) -> Result<Self, SavedError> {
        let rows = columns.iter().map(|column| column.values.len()).min().unwrap_or(0);
        if rows < FEWEST_ROWS {
            let what = format!(
                "{program} has {rows} lines of figures, at least {FEWEST_ROWS} are needed to compare them"
            );
            return Err(SavedError::TooLittle { what });
        }
        Ok(Self { program, columns })
    }

    /// The figures of all columns of a kind, added up line by line; of the CPUs' time that is the whole of it.
    pub fn sum(&self, kind: ColumnKind) -> Vec<f64> {
        let mut sum: Vec<f64> = Vec::new();
        for column in self.columns.iter().filter(|column| column.kind == kind) {
            sum.resize(column.values.len().max(sum.len()), 0.0);
            sum.iter_mut().zip(&column.values).for_each(|(sum, value)| *sum += value);
        }
        sum
    }
}

/// A number as these programs print it: some with a comma, as the user's language has it.
pub(super) fn number(word: &str) -> Option<f64> {
    let number: f64 = word.replace(',', ".").parse().ok()?;
    number.is_finite().then_some(number)
}
