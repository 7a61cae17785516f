//! Properties for any numbers: no panic, and equal answers to equivalent questions.

use plimsoll_judge::bisect::{BisectSettings, Bisection};
use plimsoll_judge::compare::{CompareSettings, paired, unpaired};
use plimsoll_judge::factors::{FactorRow, FactorSettings, FactorTable, judge};
use plimsoll_judge::json::{Mark, Test, TextOptions, judge_line, judge_text};
use plimsoll_judge::recovery::{BeforeAfter, RecoverySettings, hysteresis, judge_flat, time_to_recover};
use plimsoll_judge::sequential::{Decider, SequentialSettings};
use plimsoll_model::verdict::Outcome;
use proptest::collection::vec;
use proptest::prelude::*;

/// Any value of eight bytes, the special ones often.
fn anything() -> impl Strategy<Value = f64> {
    prop_oneof![
        4 => any::<f64>(),
        4 => -10.0..1000.0,
        1 => Just(0.0),
        1 => Just(5.0),
        1 => Just(f64::MAX),
        1 => Just(f64::MIN_POSITIVE),
        1 => Just(f64::NAN),
        1 => Just(f64::INFINITY),
    ]
}

/// Pairs of figures within a factor of a hundred.
fn pairs() -> impl Strategy<Value = (Vec<f64>, Vec<f64>)> {
    vec((1.0..100.0, 1.0..100.0), 2..40).prop_map(|pairs| pairs.into_iter().unzip())
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * a.abs().max(b.abs()).max(1.0)
}

fn mirrored(outcome: Outcome) -> Outcome {
    match outcome {
        Outcome::Slower => Outcome::Faster,
        Outcome::Faster => Outcome::Slower,
        other => other,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn nothing_that_is_compared_causes_a_panic(a in vec(anything(), 0..20), b in vec(anything(), 0..20)) {
        let settings = CompareSettings::default();
        let _ = paired("m", &a, &b, &settings);
        let _ = unpaired("m", &a, &b, &settings);
        let treatment = BeforeAfter { baseline: a.clone(), after: b.clone() };
        let control = BeforeAfter { baseline: b.clone(), after: a.clone() };
        let _ = judge_flat("m", &treatment, None, &RecoverySettings::default());
        let _ = judge_flat("m", &treatment, Some(&control), &RecoverySettings::default());
        let points: Vec<(f64, f64)> = a.iter().copied().zip(b.iter().copied()).collect();
        let _ = hysteresis(&points, &points);
        let _ = time_to_recover(&points, 1.0, 0.05, 3);
    }

    #[test]
    fn figures_of_any_size_above_zero_are_judged(a in vec(f64::MIN_POSITIVE..f64::MAX, 1..20)) {
        let b: Vec<f64> = a.iter().rev().copied().collect();
        let found = paired("m", &a, &b, &CompareSettings::default());
        prop_assert!(found.is_ok(), "{found:?}");
        let estimate = found.unwrap().verdict.estimate.unwrap();
        prop_assert!(estimate.is_finite(), "{estimate}");
    }

    #[test]
    fn swapping_a_and_b_turns_the_answer_round((a, b) in pairs()) {
        let settings = CompareSettings::default();
        for judge in [paired, unpaired] {
            let one = judge("m", &a, &b, &settings).unwrap();
            let other = judge("m", &b, &a, &settings).unwrap();
            prop_assert_eq!(one.verdict.outcome, mirrored(other.verdict.outcome));
            prop_assert!(close(one.verdict.estimate.unwrap(), 1.0 / other.verdict.estimate.unwrap()));
            prop_assert!(close(one.p, other.p), "{} {}", one.p, other.p);
        }
    }

    #[test]
    fn neither_the_unit_nor_the_order_of_pairs_matters((a, b) in pairs(), exponent in -20_i32..20) {
        let settings = CompareSettings::default();
        // Powers of two change no digit.
        let scaled = |values: &[f64]| values.iter().rev().map(|v| v * 2_f64.powi(exponent)).collect::<Vec<_>>();
        let one = paired("m", &a, &b, &settings).unwrap();
        let other = paired("m", &scaled(&a), &scaled(&b), &settings).unwrap();
        prop_assert!(close(one.verdict.estimate.unwrap(), other.verdict.estimate.unwrap()));
        prop_assert!((one.p - other.p).abs() < 1e-3, "{} {}", one.p, other.p);
    }

    #[test]
    fn the_unit_of_windows_does_not_matter((a, b) in pairs(), unit in 0.001..1000.0) {
        let settings = RecoverySettings::default();
        let sides = |unit: f64| BeforeAfter {
            baseline: a.iter().map(|v| v * unit).collect(),
            after: b.iter().map(|v| v * unit).collect(),
        };
        let one = judge_flat("m", &sides(1.0), None, &settings).unwrap();
        let other = judge_flat("m", &sides(unit), None, &settings).unwrap();
        prop_assert!(close(one.verdict.estimate.unwrap(), other.verdict.estimate.unwrap()));
    }

    #[test]
    fn the_names_and_the_order_of_blocks_do_not_matter(values in vec(1.0..100.0, 24), turn in 0_usize..6) {
        let table = |name: &dyn Fn(usize) -> String| FactorTable {
            factors: vec!["f".into(), "g".into()],
            rows: values.iter().enumerate().map(|(i, &value)| FactorRow {
                levels: vec![(i % 2).to_string(), (i / 2 % 2).to_string()],
                block: Some(name(i / 4)),
                value,
            }).collect(),
        };
        let settings = FactorSettings::default();
        let one = judge("m", &table(&|b| b.to_string()), &settings).unwrap();
        let other = judge("m", &table(&|b| format!("day {}", (b + turn) % 6)), &settings).unwrap();
        prop_assert_eq!(one.p, other.p);
        prop_assert!(close(one.verdict.estimate.unwrap(), other.verdict.estimate.unwrap()));
    }

    #[test]
    fn a_table_of_anything_causes_no_panic(values in vec(anything(), 0..24), levels in 1_usize..4, blocks in 1_usize..4) {
        let rows = values.iter().enumerate().map(|(i, &value)| FactorRow {
            levels: vec![(i % levels).to_string(), (i / levels % levels).to_string()],
            block: (blocks > 1).then(|| (i % blocks).to_string()),
            value,
        });
        let table = FactorTable { factors: vec!["f".into(), "g".into()], rows: rows.collect() };
        let _ = judge("m", &table, &FactorSettings::default());
    }

    #[test]
    fn a_bisection_keeps_a_probability_whatever_is_measured(seen in vec((0_usize..12, anything()), 0..30)) {
        let mut state = Bisection::new(10, BisectSettings::default()).unwrap();
        for (version, value) in seen {
            let _ = state.record(version, value);
        }
        let posterior = state.posterior();
        prop_assert!((posterior.iter().sum::<f64>() - 1.0).abs() < 1e-9, "{posterior:?}");
        prop_assert!(state.next_query().is_none_or(|version| version < 10));
    }

    #[test]
    fn no_text_causes_a_panic(text in "[-0-9eE.,;#'a-bé\u{a0} \t\r\\[\\]{}\":\n]{0,60}") {
        for &test in Test::ALL {
            for mark in [None, Some(Mark::Point), Some(Mark::Comma)] {
                let _ = judge_text(test, text.clone(), TextOptions { mark, paired: false });
            }
            let _ = judge_line(test, &text);
        }
    }
}

#[test]
fn the_decider_takes_anything_without_a_panic() {
    let fresh =
        [Some(30), None].map(|most| Decider::new(SequentialSettings { most, ..Default::default() }).unwrap());
    let mut runner = proptest::test_runner::TestRunner::default();
    runner
        .run(&vec((anything(), anything()), 0..40), |pairs| {
            for decider in &fresh {
                let mut decider = decider.clone();
                for (a, b) in &pairs {
                    let _ = decider.push(*a, *b);
                }
                let _ = decider.verdict("m");
            }
            Ok(())
        })
        .unwrap();
}
