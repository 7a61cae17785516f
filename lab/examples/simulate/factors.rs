//! Factors: false interactions, power, and whether the right cell is named.

use plimsoll_judge::factors::{FactorRow, FactorSettings, FactorTable, judge};
use plimsoll_judge::stats::rng::SmallRng;
use plimsoll_lab::row::{row, share};
use plimsoll_model::verdict::Outcome;
use rayon::prelude::*;

const BLOCKS: usize = 10;

pub(crate) fn rows(quick: bool) -> Vec<String> {
    let runs = if quick { 400 } else { 5000 };
    let mut rows = Vec::new();
    for (levels, wild) in [(vec![2, 2], 0.0), (vec![2, 2], 0.02), (vec![3, 2, 2], 0.0)] {
        let shape: Vec<String> = levels.iter().map(ToString::to_string).collect();
        let tail = if wild > 0.0 { ", 2 % wild" } else { "" };
        let method = format!("factors {}, {BLOCKS} blocks{tail}", shape.join(" x "));
        let all = |odd: f64| -> Vec<(bool, bool)> {
            (0..runs).into_par_iter().map(|seed| one(&levels, odd, wild, seed as u64)).collect()
        };
        let (none, five) = (all(1.0), all(1.05));
        let found = |all: &[(bool, bool)]| all.iter().filter(|(found, _)| *found).count();
        rows.push(row(&method, "false interaction", &share(found(&none), runs), "≤ 5 %"));
        rows.push(row(&method, "power at 5 %", &share(found(&five), runs), "≥ 80 %"));
        if levels.len() == 2 {
            continue;
        }
        let named = five.iter().filter(|(found, named)| *found && *named).count();
        rows.push(row(&method, "right cell, of those found", &share(named, found(&five)), ""));
    }
    rows
}

/// Whether an interaction was found, and whether the last cell was named; each figure has 2 % of noise, each block 5 %.
fn one(levels: &[usize], odd: f64, wild: f64, seed: u64) -> (bool, bool) {
    let mut rng = SmallRng::new(seed.wrapping_mul(17) + 3);
    let cells: usize = levels.iter().product();
    let mut rows = Vec::new();
    for block in 0..BLOCKS {
        let weather = 0.05 * rng.normal();
        for cell in 0..cells {
            let mut rest = cell;
            let mut names = vec![String::new(); levels.len()];
            let mut log = weather + 0.02 * rng.normal();
            if rng.uniform() < wild {
                log -= rng.uniform();
            }
            // The last factor runs fastest.
            for (factor, count) in levels.iter().enumerate().rev() {
                let level = rest % count;
                rest /= count;
                log += 0.01 * ((factor + 1) * level) as f64;
                names[factor] = format!("{level}");
            }
            if cell + 1 == cells {
                log += odd.ln();
            }
            rows.push(FactorRow { levels: names, block: Some(block.to_string()), value: 100.0 * log.exp() });
        }
    }
    let table = FactorTable { factors: (0..levels.len()).map(|f| format!("f{f}")).collect(), rows };
    let found = judge("rate", &table, &FactorSettings::default()).unwrap_or_else(|e| panic!("{e}"));
    let named = found.odd == Some(cells - 1);
    (found.verdict.outcome == Outcome::Interaction, named)
}
