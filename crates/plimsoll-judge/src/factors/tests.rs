use super::*;
use crate::stats::rng::SmallRng;

fn row(levels: &[&str], block: Option<usize>, value: f64) -> FactorRow {
    let levels = levels.iter().map(|l| (*l).to_string()).collect();
    FactorRow { levels, block: block.map(|b| b.to_string()), value }
}

fn table(factors: &[&str], rows: Vec<FactorRow>) -> FactorTable {
    FactorTable { factors: factors.iter().map(|f| (*f).to_string()).collect(), rows }
}

/// Server and client, old and new; new with new is `odd` times what it should be.
fn two_by_two(blocks: usize, odd: f64, noise: f64, seed: u64) -> FactorTable {
    let mut rng = SmallRng::new(seed);
    let mut rows = Vec::new();
    for block in 0..blocks {
        let weather = 0.1 * rng.normal();
        for (server, s) in [("old", 1.0), ("new", 1.1)] {
            for (client, c) in [("old", 1.0), ("new", 0.9)] {
                let factor = if server == "new" && client == "new" { odd } else { 1.0 };
                let value = 200.0 * s * c * factor * (weather + noise * rng.normal()).exp();
                rows.push(row(&[server, client], Some(block), value));
            }
        }
    }
    table(&["server", "client"], rows)
}

fn judged(table: &FactorTable) -> FactorsVerdict {
    judge("connections_per_second", table, &FactorSettings::default()).unwrap()
}

#[test]
fn a_pair_that_does_not_get_on_is_named_with_its_size() {
    let found = judged(&two_by_two(10, 0.5, 0.02, 1));
    assert_eq!(found.verdict.outcome, Outcome::Interaction, "{}", found.verdict.reason);
    assert_eq!(found.interaction.cell["server"], "new");
    assert_eq!(found.interaction.cell["client"], "new");
    assert!((found.interaction.size - 0.5).abs() < 0.03);
    assert!(found.verdict.reason.contains("more than multiplicative"));
}

#[test]
fn factors_that_multiply_are_additive_on_the_log_scale() {
    let found = judged(&two_by_two(20, 1.0, 0.01, 2));
    assert_eq!(found.verdict.outcome, Outcome::Additive, "{}", found.verdict.reason);
}

#[test]
fn a_bare_table_names_its_odd_cell_without_a_probability() {
    let rows = vec![
        row(&["6.1", "a"], None, 219.0),
        row(&["6.1", "b"], None, 215.0),
        row(&["6.12", "a"], None, 221.0),
        row(&["6.12", "b"], None, 48.0),
    ];
    let found = judged(&table(&["kernel", "proxy"], rows));
    assert_eq!(found.verdict.outcome, Outcome::Undecided);
    assert_eq!(found.interaction.cell["kernel"], "6.12");
    assert_eq!(found.interaction.cell["proxy"], "b");
    assert!((found.interaction.size - 48.0 * 219.0 / (215.0 * 221.0)).abs() < 1e-9);
    assert!(found.verdict.reason.contains("no probability can be given"));
    assert_eq!(found.p, None);
}

#[test]
fn the_odd_cell_of_a_larger_grid_is_found() {
    let mut rows = Vec::new();
    let mut rng = SmallRng::new(4);
    for block in 0..8 {
        for (i, kernel) in ["a", "b", "c"].iter().enumerate() {
            for (j, server) in ["x", "y"].iter().enumerate() {
                for (k, disk) in ["p", "q"].iter().enumerate() {
                    let odd = if (i, j, k) == (2, 0, 1) { 0.8 } else { 1.0 };
                    let value = 100.0 * (1.0 + 0.1 * i as f64) * (1.0 + 0.2 * j as f64) * odd;
                    rows.push(row(&[kernel, server, disk], Some(block), value * (0.02 * rng.normal()).exp()));
                }
            }
        }
    }
    let found = judged(&table(&["kernel", "server", "disk"], rows));
    assert_eq!(found.verdict.outcome, Outcome::Interaction);
    let cell: Vec<&str> = found.interaction.cell.values().map(String::as_str).collect();
    assert_eq!(cell, ["q", "c", "x"], "disk, kernel, server");
    assert!((found.interaction.size - 0.8).abs() < 0.02, "{}", found.interaction.size);
}

#[test]
fn shares_of_variation_reproduce_the_memory_cache_example() {
    // Jain 1991, section 17.1: MIPS of a workstation by memory and cache; 76 %, 19 % and 5 % on the plain scale. The
    // figures are exponentials here, so that their logs are those of the book.
    let exp = |v: f64| (v / 100.0).exp();
    let rows = vec![
        row(&["4M", "1K"], None, exp(15.0)),
        row(&["16M", "1K"], None, exp(45.0)),
        row(&["4M", "2K"], None, exp(25.0)),
        row(&["16M", "2K"], None, exp(75.0)),
    ];
    let found = judged(&table(&["memory", "cache"], rows));
    let share = |name: &str| found.shares.iter().find(|s| s.effect == name).unwrap().share;
    assert!((share("memory") - 0.762).abs() < 0.001);
    assert!((share("cache") - 0.190).abs() < 0.001);
    assert!((share("memory x cache") - 0.048).abs() < 0.001);
}

#[test]
fn five_blocks_say_that_they_cannot_prove_anything() {
    let found = judged(&two_by_two(5, 0.9, 0.05, 3));
    assert_eq!(found.verdict.outcome, Outcome::Undecided);
    assert!(found.verdict.reason.contains("six can"), "{}", found.verdict.reason);
}

#[test]
fn an_incomplete_block_is_left_out_and_counted() {
    let mut data = two_by_two(10, 0.5, 0.02, 1);
    data.rows.pop();
    let found = judged(&data);
    assert_eq!(found.verdict.n, 9);
    assert!(found.verdict.reason.contains("1 incomplete"), "{}", found.verdict.reason);
}

#[test]
fn the_order_of_rows_does_not_matter() {
    let data = two_by_two(10, 0.7, 0.02, 5);
    let mut shuffled = data.clone();
    SmallRng::new(1).shuffle(&mut shuffled.rows);
    let (one, other) = (judged(&data), judged(&shuffled));
    assert_eq!(one.p, other.p);
    assert_eq!(one.interaction.cell, other.interaction.cell);
    assert!((one.interaction.size - other.interaction.size).abs() < 1e-12);
}

#[test]
fn tables_that_are_no_grid_are_refused_with_what_is_missing() {
    let refuse = |table: &FactorTable| judge("m", table, &FactorSettings::default()).unwrap_err().to_string();
    assert!(refuse(&table(&["a"], vec![])).contains("1 factor given"));
    assert!(refuse(&table(&["a", "b"], vec![])).contains("`rows` is empty"));
    let one_level = table(&["a", "b"], vec![row(&["x", "p"], None, 1.0), row(&["x", "q"], None, 1.0)]);
    assert!(refuse(&one_level).contains("`a` has the level `x` alone"));
    let hole = vec![row(&["x", "p"], None, 1.0), row(&["y", "q"], None, 1.0), row(&["x", "q"], None, 1.0)];
    assert!(refuse(&table(&["a", "b"], hole)).contains("no row for a = y, b = p"));
    let zero = vec![row(&["x", "p"], None, 0.0)];
    assert!(refuse(&table(&["a", "b"], zero)).contains("`value`[0] is 0"));
}

#[test]
fn equal_figures_are_additive() {
    let cells = [["x", "p"], ["x", "q"], ["y", "p"], ["y", "q"]];
    let rows = (0..6).flat_map(|b| cells.map(|levels| row(&levels, Some(b), 5.0)));
    let found = judged(&table(&["a", "b"], rows.collect()));
    assert_eq!(found.verdict.outcome, Outcome::Additive);
    assert_eq!(found.p, Some(1.0));
}
