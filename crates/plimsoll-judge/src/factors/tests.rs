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
fn a_pair_that_does_not_get_on_has_a_contrast_and_no_odd_cell() {
    let found = judged(&two_by_two(10, 0.5, 0.02, 1));
    assert_eq!(found.verdict.outcome, Outcome::Interaction, "{}", found.verdict.reason);
    // Old with old is as far off what the other three predict, and the mixed ones as far the other way.
    assert_eq!(found.odd, None);
    let sizes: Vec<f64> = found.deviations.iter().map(|of| of.size).collect();
    for (size, expected) in sizes.iter().zip([0.5, 2.0, 2.0, 0.5]) {
        assert!((size / expected - 1.0).abs() < 0.05, "{sizes:?}");
    }
    assert!((found.verdict.estimate.unwrap() - 0.5).abs() < 0.03);
    assert!(found.verdict.reason.contains("more than multiplicative"));
}

#[test]
fn of_two_by_two_cells_the_odd_one_is_named_where_the_other_three_are_alike() {
    let of = |values: [f64; 4]| {
        let cell = |(cell, value): (usize, f64)| {
            let levels = [["old", "new"][cell / 2], ["old", "new"][cell % 2]];
            (1..=3).map(move |block| row(&levels, Some(block), value * (1.0 + block as f64 / 500.0)))
        };
        judged(&table(&["sender", "receiver"], values.into_iter().enumerate().flat_map(cell).collect()))
            .verdict
            .reason
    };
    let odd = |values| of(values).contains("than receiver = old, sender = new are alike");
    assert!(odd([94.0, 93.9, 11.1, 94.0]) && odd([94.0, 93.9, 411.1, 94.0]));
    for values in [[94.0, 93.9, 11.1, 70.0], [94.0, 11.1, 11.0, 94.0], [94.0, 94.0, 94.0, 95.0]] {
        assert!(!of(values).contains("alike"), "{}", of(values));
    }
}

#[test]
fn factors_that_multiply_are_additive_on_the_log_scale() {
    let found = judged(&two_by_two(20, 1.0, 0.01, 2));
    assert_eq!(found.verdict.outcome, Outcome::Additive, "{}", found.verdict.reason);
}

#[test]
fn a_bare_table_has_a_contrast_without_a_probability() {
    let rows = vec![
        row(&["6.1", "a"], None, 219.0),
        row(&["6.1", "b"], None, 215.0),
        row(&["6.12", "a"], None, 221.0),
        row(&["6.12", "b"], None, 48.0),
    ];
    let found = judged(&table(&["kernel", "proxy"], rows));
    assert_eq!(found.verdict.outcome, Outcome::Undecided);
    assert_eq!(found.deviations[3].cell["kernel"], "6.12");
    assert!((found.deviations[3].size - 48.0 * 219.0 / (215.0 * 221.0)).abs() < 1e-9);
    assert!(found.verdict.reason.contains("there is no p-value"));
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
    let odd = &found.deviations[found.odd.unwrap()];
    let cell: Vec<&str> = odd.cell.values().map(String::as_str).collect();
    assert_eq!(cell, ["q", "c", "x"], "disk, kernel, server");
    assert!((odd.size - 0.8).abs() < 0.02, "{}", odd.size);
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
fn five_blocks_are_decided_by_an_f_test_that_states_what_it_takes() {
    let found = judged(&two_by_two(5, 0.9, 0.02, 3));
    assert_eq!(found.verdict.outcome, Outcome::Interaction, "{}", found.verdict.reason);
    let reason = found.verdict.reason;
    assert!(
        reason.contains("assumes normal logarithms") && reason.contains("only from 6 blocks on"),
        "{reason}"
    );
}

#[test]
fn a_wild_figure_takes_the_f_test_its_ground() {
    let mut data = two_by_two(5, 1.0, 0.01, 3);
    data.rows[6].value *= 2.0;
    let found = judged(&data);
    assert_eq!(found.verdict.outcome, Outcome::Undecided);
    assert!(found.verdict.reason.contains("not normal"), "{}", found.verdict.reason);
}

/// The share of 400 tables in which an interaction is found, and in which the interval holds its size.
fn rates(odd: f64, table: impl Fn(f64, u64) -> FactorTable) -> (f64, f64) {
    let (mut found, mut held) = (0.0, 0.0);
    for seed in 0..400 {
        let verdict = judged(&table(odd, seed)).verdict;
        found += f64::from(verdict.outcome == Outcome::Interaction);
        held += f64::from(verdict.interval.is_some_and(|i| i.lo() <= odd && odd <= i.hi()));
    }
    (found / 400.0, held / 400.0)
}

/// As [`two_by_two`], without blocks and their weather.
fn replicates(n: usize, odd: f64, noise: f64, seed: u64) -> FactorTable {
    let mut rng = SmallRng::new(seed);
    let cells = [["old", "old"], ["old", "new"], ["new", "old"], ["new", "new"]];
    let rows = (0..4 * n).map(|i| {
        let factor = if i % 4 == 3 { odd } else { 1.0 };
        row(&cells[i % 4], None, 200.0 * factor * (noise * rng.normal()).exp())
    });
    table(&["server", "client"], rows.collect())
}

/// Three by three levels in eight blocks, the last cell `odd` times what it should be.
fn three_by_three(odd: f64, seed: u64) -> FactorTable {
    let mut rng = SmallRng::new(seed);
    let names = ["a", "b", "c"];
    let rows = (0..72).map(|i: usize| {
        let factor = if i % 9 == 8 { odd } else { 1.0 };
        row(&[names[i / 3 % 3], names[i % 3]], Some(i / 9), 50.0 * factor * (0.02 * rng.normal()).exp())
    });
    table(&["server", "client"], rows.collect())
}

#[test]
fn interactions_of_ten_percent_are_found_and_none_is_invented() {
    for (blocks, power) in [(3, 0.85), (5, 0.95), (8, 0.95)] {
        let of = |odd, seed| two_by_two(blocks, odd, 0.02, seed);
        let ((alarms, held), (found, _)) = (rates(1.0, of), rates(0.9, of));
        assert!(alarms <= 0.06 && held >= 0.92 && found >= power, "{blocks} blocks: {alarms} {held} {found}");
    }
    let of = |odd, seed| replicates(10, odd, 0.03, seed);
    let ((alarms, held), (found, _)) = (rates(1.0, of), rates(0.9, of));
    assert!(alarms <= 0.06 && held >= 0.92 && found >= 0.95, "replicates: {alarms} {held} {found}");
    let ((alarms, _), (found, _)) = (rates(1.0, three_by_three), rates(0.9, three_by_three));
    assert!(alarms <= 0.06 && found >= 0.95, "3 x 3: {alarms} {found}");
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
    assert!(
        (one.verdict.estimate.unwrap().ln().abs() - other.verdict.estimate.unwrap().ln().abs()).abs() < 1e-12
    );
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
