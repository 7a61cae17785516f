//! The additive model of a full grid, and how much of the variation each effect explains.

use super::design::Data;
use crate::stats::mean;
use serde::Serialize;

/// The share of the variation that one effect explains.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EffectShare {
    /// A factor, several joined by ` x `, `block` or `noise`.
    pub effect: String,
    /// Its share, 0 to 1; all shares add up to 1, unless nothing varies at all.
    pub share: f64,
}

/// A full grid of cells, the last factor running fastest.
pub(super) struct Additive {
    levels: Vec<usize>,
    cells: usize,
}

impl Additive {
    pub(super) fn new(levels: &[usize]) -> Self {
        Self { levels: levels.to_vec(), cells: levels.iter().product() }
    }

    /// The share of a shift of one cell that stays in its residual: 1 − leverage.
    pub(super) fn freedom(&self) -> f64 {
        let parameters = 1 + self.levels.iter().map(|l| l - 1).sum::<usize>();
        1.0 - parameters as f64 / self.cells as f64
    }

    /// Degrees of freedom of all interactions together.
    pub(super) fn interactions(&self) -> f64 {
        self.freedom() * self.cells as f64
    }

    /// The residual of each cell after the grand mean and all main effects are subtracted.
    pub(super) fn residuals(&self, cells: &[f64]) -> Vec<f64> {
        let grand = mean(cells);
        let mut left: Vec<f64> = cells.iter().map(|v| v - grand).collect();
        for factor in 0..self.levels.len() {
            let effect = self.average(cells, 1 << factor);
            for (l, e) in left.iter_mut().zip(effect) {
                *l -= e - grand;
            }
        }
        left
    }

    /// For each cell, the mean over the cells that share its levels of the factors in the bit set.
    fn average(&self, cells: &[f64], factors: usize) -> Vec<f64> {
        let group = |mut cell: usize| {
            let mut group = 0;
            for (f, &levels) in self.levels.iter().enumerate().rev() {
                if factors >> f & 1 == 1 {
                    group = group * levels + cell % levels;
                }
                cell /= levels;
            }
            group
        };
        let mut sums = vec![(0.0, 0.0); self.cells];
        for (cell, value) in cells.iter().enumerate() {
            let slot = &mut sums[group(cell)];
            *slot = (slot.0 + value, slot.1 + 1.0);
        }
        (0..self.cells).map(|cell| sums[group(cell)]).map(|(sum, n)| sum / n).collect()
    }

    /// The share of variation of each effect (Jain 1991, chapters 17 and 18).
    pub(super) fn shares(&self, factors: &[String], data: &Data) -> Vec<EffectShare> {
        let cell_means = data.cell_means();
        let grand = mean(&cell_means);
        let mut parts = self.effects(factors, &cell_means, grand);
        match data {
            Data::Blocks(blocks) => {
                let between: f64 = blocks.iter().map(|b| (mean(b) - grand).powi(2)).sum();
                for (_, part) in &mut parts {
                    *part *= blocks.len() as f64;
                }
                let total: f64 = blocks.iter().flatten().map(|v| (v - grand).powi(2)).sum();
                let block = between * self.cells as f64;
                let explained: f64 = parts.iter().map(|(_, part)| part).sum::<f64>() + block;
                parts.push(("block".into(), block));
                parts.push(("noise".into(), (total - explained).max(0.0)));
            }
            Data::Replicates(cells) => {
                let rows: usize = cells.iter().map(Vec::len).sum();
                for (_, part) in &mut parts {
                    *part *= rows as f64 / self.cells as f64;
                }
                let off = |(values, mean): (&Vec<f64>, &f64)| {
                    values.iter().map(|v| (v - mean).powi(2)).sum::<f64>()
                };
                if rows > self.cells {
                    parts.push(("noise".into(), cells.iter().zip(&cell_means).map(off).sum()));
                }
            }
        }
        let total: f64 = parts.iter().map(|(_, part)| part).sum();
        let share = |part: f64| if total > 0.0 { part / total } else { 0.0 };
        parts.into_iter().map(|(effect, part)| EffectShare { effect, share: share(part) }).collect()
    }

    /// The sum of squares of each set of factors, smaller sets first.
    fn effects(&self, factors: &[String], cells: &[f64], grand: f64) -> Vec<(String, f64)> {
        let mut effects: Vec<Vec<f64>> = vec![vec![grand; self.cells]];
        let mut parts: Vec<(usize, String, f64)> = Vec::new();
        for set in 1..1_usize << factors.len() {
            let mut effect = self.average(cells, set);
            // The part that smaller sets of these factors explain is theirs.
            for (_, smaller) in effects.iter().enumerate().filter(|(other, _)| other & set == *other) {
                effect.iter_mut().zip(smaller).for_each(|(e, s)| *e -= s);
            }
            let members = (0..factors.len()).filter(|f| set >> f & 1 == 1);
            let names: Vec<&str> = members.map(|f| factors[f].as_str()).collect();
            parts.push((names.len(), names.join(" x "), effect.iter().map(|e| e * e).sum()));
            effects.push(effect);
        }
        parts.sort_by_key(|(size, _, _)| *size);
        parts.into_iter().map(|(_, name, part)| (name, part)).collect()
    }
}
