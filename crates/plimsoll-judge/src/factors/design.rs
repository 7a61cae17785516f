//! From rows to a full grid of cells, block by block.

use crate::Scale;
use crate::input::JudgeError;
use crate::stats::mean;
use std::collections::BTreeMap;

/// A grid with more cells than this is a mistake in the input, not an experiment.
const MOST_CELLS: usize = 65_536;
/// More factors than this are no factorial experiment either.
const MOST_FACTORS: usize = 8;

/// One measured figure.
#[derive(Clone, Debug, PartialEq)]
pub struct FactorRow {
    /// The level of each factor, in the order of [`FactorTable::factors`].
    pub levels: Vec<String>,
    /// The block (round, day, machine) that it was measured in.
    pub block: Option<String>,
    /// The figure, in the metric's unit; above 0 where figures are compared by ratio.
    pub value: f64,
}

/// Figures by the levels of factors, in any order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FactorTable {
    /// The names of the factors.
    pub factors: Vec<String>,
    /// The figures. Several rows of one cell in one block are averaged.
    pub rows: Vec<FactorRow>,
}

/// Figures of all cells on their scale, the last factor running fastest.
pub(super) enum Data {
    /// One figure for each cell, in two complete blocks or more.
    Blocks(Vec<Vec<f64>>),
    /// All figures of each cell, where there are no two complete blocks.
    Replicates(Vec<Vec<f64>>),
}

impl Data {
    /// The mean of each cell.
    pub(super) fn cell_means(&self) -> Vec<f64> {
        match self {
            Self::Blocks(blocks) => {
                let of_cell = |cell: usize| mean(&blocks.iter().map(|block| block[cell]).collect::<Vec<_>>());
                (0..blocks[0].len()).map(of_cell).collect()
            }
            Self::Replicates(cells) => cells.iter().map(|values| mean(values)).collect(),
        }
    }
}

/// A checked table: the figures of all cells on their scale, in each complete block, the last factor running fastest.
pub(super) struct Design {
    factors: Vec<String>,
    names: Vec<Vec<String>>,
    /// How many levels each factor has.
    pub(super) levels: Vec<usize>,
    /// The figures.
    pub(super) data: Data,
    /// How many blocks lack a cell.
    pub(super) incomplete: usize,
    /// How many rows there are.
    pub(super) rows: usize,
}

impl Design {
    pub(super) fn new(table: &FactorTable, scale: Scale) -> Result<Self, JudgeError> {
        check_size(table)?;
        let values: Vec<f64> = table.rows.iter().map(|row| row.value).collect();
        let values = scale.place("value", &values)?;
        let names = levels_of(table)?;
        let levels: Vec<usize> = names.iter().map(Vec::len).collect();
        let cells = levels.iter().try_fold(1_usize, |n, l| n.checked_mul(*l)).filter(|n| *n <= MOST_CELLS);
        let Some(cells) = cells else {
            return Err(JudgeError::Table(format!(
                "the factors have more than {MOST_CELLS} combinations of levels"
            )));
        };
        let place = |row: &FactorRow| {
            let index = |(levels, level): (&Vec<String>, &String)| levels.iter().position(|l| l == level);
            names.iter().zip(&row.levels).fold(0, |cell, pair| cell * pair.0.len() + index(pair).unwrap_or(0))
        };
        let mut by_block: BTreeMap<&str, Vec<Vec<f64>>> = BTreeMap::new();
        let mut over_all = vec![Vec::new(); cells];
        for (row, value) in table.rows.iter().zip(values) {
            let cell = place(row);
            over_all[cell].push(value);
            if let Some(block) = row.block.as_deref() {
                by_block.entry(block).or_insert_with(|| vec![Vec::new(); cells])[cell].push(value);
            }
        }
        let blocks: Vec<Vec<f64>> = by_block.values().filter_map(|block| means(block)).collect();
        let incomplete = by_block.len() - blocks.len();
        let data = if blocks.len() >= 2 { Data::Blocks(blocks) } else { Data::Replicates(over_all) };
        let factors = table.factors.clone();
        let design = Self { factors, names, levels, data, incomplete, rows: table.rows.len() };
        match &design.data {
            Data::Replicates(cells) => match cells.iter().position(Vec::is_empty) {
                Some(missing) => Err(design.missing(missing)),
                None => Ok(design),
            },
            Data::Blocks(_) => Ok(design),
        }
    }

    /// The level of each factor in a cell.
    pub(super) fn cell(&self, mut index: usize) -> BTreeMap<String, String> {
        let mut cell = BTreeMap::new();
        for (factor, names) in self.factors.iter().zip(&self.names).rev() {
            cell.insert(factor.clone(), names[index % names.len()].clone());
            index /= names.len();
        }
        cell
    }

    fn missing(&self, cell: usize) -> JudgeError {
        let cell: Vec<String> = self.cell(cell).into_iter().map(|(f, l)| format!("{f} = {l}")).collect();
        JudgeError::Table(format!(
            "there is no row for {}: every combination of levels is needed",
            cell.join(", ")
        ))
    }
}

/// The mean of each cell, if all have one.
fn means(cells: &[Vec<f64>]) -> Option<Vec<f64>> {
    cells.iter().map(|values| (!values.is_empty()).then(|| mean(values))).collect()
}

/// Checks that there are factors enough, and rows at all.
fn check_size(table: &FactorTable) -> Result<(), JudgeError> {
    if !(2..=MOST_FACTORS).contains(&table.factors.len()) {
        return Err(JudgeError::Table(format!(
            "{} given: an interaction needs two to {MOST_FACTORS}",
            crate::wording::count(table.factors.len(), "factor")
        )));
    }
    if table.rows.is_empty() {
        return Err(JudgeError::Empty { what: "rows".into(), expected: "at least one row for each cell" });
    }
    Ok(())
}

/// The levels of each factor by first appearance, all rows checked on the way.
fn levels_of(table: &FactorTable) -> Result<Vec<Vec<String>>, JudgeError> {
    let mut names = vec![Vec::<String>::new(); table.factors.len()];
    for (index, row) in table.rows.iter().enumerate() {
        if row.levels.len() != table.factors.len() {
            return Err(JudgeError::Table(format!(
                "row {} has {} for {}",
                index + 1,
                crate::wording::count(row.levels.len(), "level"),
                crate::wording::count(table.factors.len(), "factor")
            )));
        }
        for (known, level) in names.iter_mut().zip(&row.levels) {
            if !known.contains(level) {
                known.push(level.clone());
            }
        }
    }
    match names.iter().position(|levels| levels.len() < 2) {
        Some(f) => Err(JudgeError::Table(format!(
            "the factor `{}` has the level `{}` alone: expected two or more",
            table.factors[f], names[f][0]
        ))),
        None => Ok(names),
    }
}
