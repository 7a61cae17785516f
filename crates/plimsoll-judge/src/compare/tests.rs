use plimsoll_model::verdict::Interval;

use super::*;
use crate::stats::rng::SmallRng;

fn noisy_pairs(n: usize, ratio: f64, spread: f64, seed: u64) -> (Vec<f64>, Vec<f64>) {
    let mut rng = SmallRng::new(seed);
    let a: Vec<f64> = (0..n).map(|i| 100.0 * (1.0 + 0.3 * (i as f64 / 7.0).sin())).collect();
    let b = a.iter().map(|a| a * ratio * (spread * rng.normal()).exp()).collect();
    (a, b)
}

#[test]
fn a_difference_of_five_percent_is_found_under_a_drift_of_thirty() {
    let (a, b) = noisy_pairs(20, 1.05, 0.011, 1);
    let result = paired("wall", &a, &b, &CompareSettings::default()).unwrap();
    assert_eq!(result.verdict.outcome, Outcome::Slower);
    assert!((result.verdict.estimate.unwrap() - 1.05).abs() < 0.01, "{:?}", result.verdict);
    assert!(result.verdict.interval.unwrap().lo() > 1.03);
}

#[test]
fn more_is_faster_where_higher_is_better() {
    let (a, b) = noisy_pairs(20, 1.05, 0.011, 1);
    let settings = CompareSettings { lower_is_better: false, ..CompareSettings::default() };
    assert_eq!(paired("rate", &a, &b, &settings).unwrap().verdict.outcome, Outcome::Faster);
}

#[test]
fn equal_programs_are_the_same_only_once_the_interval_fits_the_margin() {
    let (a, b) = noisy_pairs(40, 1.0, 0.011, 4);
    let judge = |n: usize| paired("wall", &a[..n], &b[..n], &CompareSettings::default()).unwrap();
    assert_eq!(judge(40).verdict.outcome, Outcome::Same);
    let early = judge(5);
    assert_eq!(early.verdict.outcome, Outcome::Undecided);
    assert!(early.needed.unwrap() > 5);
}

#[test]
fn figures_without_chance_are_judged_by_two_pairs_that_repeat_and_by_no_others() {
    let settings = CompareSettings { lower_is_better: false, ..CompareSettings::default() };
    let judge = |a: &[f64], b: &[f64]| {
        let found = exact("rate", a, b, &settings).unwrap();
        found.map(|found| (found.verdict.outcome, found.verdict.interval.map(Interval::lo)))
    };
    let (outcome, lo) = judge(&[100.0; 2], &[97.0; 2]).unwrap();
    assert_eq!(outcome, Outcome::Slower);
    assert!((lo.unwrap() - 0.97).abs() < 1e-12);
    assert_eq!(judge(&[100.0; 2], &[102.0; 2]).unwrap().0, Outcome::Faster);
    assert_eq!(judge(&[100.0; 2], &[100.5; 2]).unwrap().0, Outcome::Same);
    assert_eq!(judge(&[100.0], &[97.0]), None, "one pair shows no repetition");
    assert_eq!(judge(&[100.0, 100.000_000_1], &[97.0; 2]), None);
}

#[test]
fn a_significant_but_irrelevant_difference_is_the_same() {
    let (a, b) = noisy_pairs(2000, 1.003, 0.011, 5);
    let result = paired("wall", &a, &b, &CompareSettings::default()).unwrap();
    assert!(result.p < 0.01);
    assert_eq!(result.verdict.outcome, Outcome::Same);
}

#[test]
fn the_plan_reproduces_the_textbook_number() {
    // (2.5758 + 1.6449)² · 1.05 · (1.1/2)² = 5.66
    assert_eq!(pairs_needed(0.011, 0.02, 0.01, 0.95), Some(6));
    assert_eq!(pairs_needed(0.0, 0.02, 0.01, 0.95), None);
    assert_eq!(pairs_needed(0.011, 0.0, 0.01, 0.95), None);
}

#[test]
fn two_pairs_decide_nothing_and_the_needed_number_is_named() {
    let judge = |n: usize| {
        let (a, b) = ([100.0, 100.1, 99.9, 100.2, 99.8, 100.0], [150.0, 150.1, 149.9, 150.2, 149.8, 150.3]);
        paired("wall", &a[..n], &b[..n], &CompareSettings::default()).unwrap()
    };
    for n in 1..3 {
        let found = judge(n);
        assert_eq!(found.verdict.outcome, Outcome::Undecided, "{n}");
        assert!(found.needed.unwrap() >= 3, "{n}: {:?}", found.needed);
        let reason = found.verdict.reason;
        assert!(reason.contains("fewer than 3") && reason.contains("8 without an assumption"), "{reason}");
    }
    let three = judge(3).verdict;
    assert_eq!(three.outcome, Outcome::Slower);
    assert!(three.reason.contains("t test") && three.reason.contains("those of 8 can"), "{}", three.reason);
    let one = judge(1);
    assert_eq!(one.verdict.interval, None);
    assert!(one.verdict.reason.contains("no interval"), "{}", one.verdict.reason);
}

#[test]
fn one_value_on_each_side_has_no_interval_and_the_needed_number_is_named() {
    let found = unpaired("wall", &[100.0], &[121.0], &CompareSettings::default()).unwrap();
    assert_eq!((found.verdict.outcome, found.verdict.interval), (Outcome::Undecided, None));
    assert_eq!(found.needed, Some(5));
    assert!((found.verdict.estimate.unwrap() - 1.21).abs() < 1e-9);
}

#[test]
fn four_equal_steps_of_a_coarse_clock_are_no_proof() {
    // By chance all of A falls on one tick and all of B on the next in 2/4⁴ = 0.8 % at most, and in 0.2 % with five pairs.
    let judge = |n: usize| {
        let found = paired("wall", &[100.0; 5][..n], &[101.5; 5][..n], &CompareSettings::default()).unwrap();
        found.verdict.outcome
    };
    assert_eq!([3, 4, 5].map(judge), [Outcome::Undecided, Outcome::Undecided, Outcome::Slower]);
}

#[test]
fn four_against_four_without_overlap_and_five_pairs_at_ten_percent_are_decided() {
    let settings = CompareSettings::default();
    let apart =
        unpaired("wall", &[100.0, 101.3, 99.2, 100.4], &[104.1, 105.7, 103.8, 104.9], &settings).unwrap();
    assert_eq!(apart.verdict.outcome, Outcome::Slower, "{}", apart.verdict.reason);
    assert!(apart.verdict.reason.contains("only from 5 against 5 values on"), "{}", apart.verdict.reason);
    let (a, b) = ([100.2, 99.1, 101.3, 100.7, 98.9], [109.4, 110.3, 110.8, 111.9, 108.1]);
    let pairs = paired("wall", &a, &b, &settings).unwrap();
    assert_eq!(pairs.verdict.outcome, Outcome::Slower, "{}", pairs.verdict.reason);
}

#[test]
fn an_undecided_comparison_asks_for_more_than_there_are() {
    let mut rng = SmallRng::new(12);
    for n in [3, 4, 5, 9] {
        for _ in 0..50 {
            let mut side = || (0..n).map(|_| 100.0 * (0.02 * rng.normal()).exp()).collect::<Vec<f64>>();
            let (a, b) = (side(), side());
            for judge in [paired, unpaired] {
                let found = judge("wall", &a, &b, &CompareSettings::default()).unwrap();
                assert!(found.needed.is_none_or(|needed| needed > n), "{}", found.verdict.reason);
            }
        }
    }
}

/// Shares of 2000 simulated comparisons of equal programs that raise an alarm, and whose interval holds the truth.
fn null_rates(judge: impl Fn(&mut SmallRng) -> Comparison) -> (f64, f64) {
    let mut rng = SmallRng::new(45);
    let (mut alarms, mut held) = (0.0, 0.0);
    for _ in 0..2000 {
        let verdict = judge(&mut rng).verdict;
        alarms += f64::from(matches!(verdict.outcome, Outcome::Slower | Outcome::Faster));
        held += f64::from(verdict.interval.is_none_or(|i| i.lo() <= 1.0 && 1.0 <= i.hi()));
    }
    (alarms / 2000.0, held / 2000.0)
}

#[test]
fn few_values_keep_their_level_and_their_coverage() {
    let draw = |rng: &mut SmallRng, n: usize| -> Vec<f64> {
        (0..n).map(|_| 100.0 * (0.01 * rng.normal()).exp()).collect()
    };
    let settings = CompareSettings { margin: 0.0001, ..CompareSettings::default() };
    for n in [3, 5, 7] {
        let of_pairs = |rng: &mut SmallRng| paired("wall", &draw(rng, n), &draw(rng, n), &settings).unwrap();
        let of_sides =
            |rng: &mut SmallRng| unpaired("wall", &draw(rng, n), &draw(rng, n), &settings).unwrap();
        for (alarms, held) in [null_rates(of_pairs), null_rates(of_sides)] {
            assert!(alarms <= 0.016, "{n}: {alarms}");
            assert!((0.935..=0.99).contains(&held), "{n}: {held}");
        }
    }
}

#[test]
fn pairs_that_resemble_their_neighbours_keep_their_level_and_their_coverage() {
    // Differences with an autocorrelation of 0.6: 18 % of false alarms and a coverage of 70 % without a correction.
    let settings = CompareSettings { margin: 0.0001, ..CompareSettings::default() };
    let judge = |rho: f64, n: usize| {
        null_rates(|rng| {
            let mut state = rng.normal();
            let b: Vec<f64> = (0..n)
                .map(|_| {
                    state = rho * state + (1.0 - rho * rho).sqrt() * rng.normal();
                    100.0 * (0.01 * state).exp()
                })
                .collect();
            paired("wall", &vec![100.0; n], &b, &settings).unwrap()
        })
    };
    for (n, most, least) in [(30, 0.02, 0.94), (60, 0.015, 0.94)] {
        let (alarms, held) = judge(0.6, n);
        assert!(alarms <= most && held >= least, "{n}: {alarms} {held}");
    }
    let (alarms, held) = judge(0.0, 30);
    assert!(alarms <= 0.015 && (0.935..=0.975).contains(&held), "{alarms} {held}");
}

#[test]
fn shares_near_nothing_are_the_same_however_large_their_ratio() {
    let a = [1e-6, 0.0, 3e-5, 1e-5, 2e-4, 0.0, 1e-4, 1e-5];
    let b = [4e-4, 1e-3, 0.0, 8e-4, 1e-6, 2e-4, 5e-4, 0.0];
    let settings = CompareSettings { margin: 0.02, scale: Scale::Difference, ..CompareSettings::default() };
    let found = paired("stall_share", &a, &b, &settings).unwrap();
    assert_eq!(found.verdict.outcome, Outcome::Same, "{}", found.verdict.reason);
    let nothing = paired("stall_share", &[0.0; 8], &[0.0; 8], &settings).unwrap();
    assert_eq!((nothing.verdict.outcome, nothing.verdict.estimate), (Outcome::Same, Some(0.0)));
}

#[test]
fn a_share_that_grew_is_reported_in_percentage_points() {
    let a = [0.001, 0.0, 0.002, 0.0, 0.001, 0.003, 0.0, 0.001];
    let b = a.map(|a| 0.15 + 2.0 * a);
    let settings = CompareSettings { margin: 0.02, scale: Scale::Difference, ..CompareSettings::default() };
    let found = paired("stall_share", &a, &b, &settings).unwrap();
    assert_eq!(found.verdict.outcome, Outcome::Slower);
    assert!((found.verdict.estimate.unwrap() - 0.151).abs() < 0.001, "{:?}", found.verdict);
    assert!(found.verdict.reason.starts_with("B - A is +15 percentage points"), "{}", found.verdict.reason);
}

#[test]
fn a_zero_is_refused_with_its_place() {
    let error = paired("wall", &[1.0, 2.0], &[1.0, 0.0], &CompareSettings::default()).unwrap_err();
    assert_eq!(error, JudgeError::NotPositive { what: "b".into(), index: 1, value: 0.0 });
}

#[test]
fn unpaired_samples_of_different_lengths_are_judged_and_the_cost_is_reported() {
    let (a, _) = noisy_pairs(30, 1.0, 0.011, 6);
    let b: Vec<f64> = a.iter().take(25).map(|a| a * 3.0).collect();
    let result = unpaired("wall", &a, &b, &CompareSettings::default()).unwrap();
    assert_eq!(result.verdict.outcome, Outcome::Slower);
    assert!(result.verdict.reason.contains("not paired"), "{}", result.verdict.reason);
}

/// Ratios of pairs whose order is drawn, on a machine whose speed is an autoregression with coefficient 0.6 and a scatter of 5 %.
fn shuffled_pairs(n: usize, ratio: f64, rng: &mut SmallRng) -> (Vec<f64>, Vec<f64>) {
    let mut speed = 0.0;
    let mut next = |rng: &mut SmallRng| {
        speed = 0.6 * speed + 0.04 * rng.normal();
        100.0 * f64::exp(speed)
    };
    let pair = |_| {
        let (first, second) = (next(rng), next(rng));
        let (a, b) = if rng.below(2) == 0 { (first, second) } else { (second, first) };
        (a, b * ratio)
    };
    (0..n).map(pair).unzip()
}

#[test]
fn a_drawn_order_keeps_false_alarms_at_their_level_on_a_machine_that_drifts() {
    let settings = CompareSettings { shuffled: true, ..CompareSettings::default() };
    let mut rng = SmallRng::new(11);
    let mut share = |ratio: f64| {
        let decided = (0..2000).filter(|_| {
            let (a, b) = shuffled_pairs(16, ratio, &mut rng);
            paired("wall", &a, &b, &settings).unwrap().verdict.outcome == settings.direction(0.1)
        });
        decided.count() as f64 / 2000.0
    };
    // A false alarm in one of the two directions: half of the level.
    let (alarms, found) = (share(1.0), share(1.1));
    assert!(alarms <= 0.01, "{alarms}");
    assert!(found >= 0.9, "{found}");
}

#[test]
fn a_gain_that_grows_from_pair_to_pair_is_found_if_the_order_was_drawn() {
    let a = [100.0; 8];
    let b: Vec<f64> = (0..8).map(|n| 120.0 + 10.0 * f64::from(n)).collect();
    let outcome = |shuffled| {
        let settings = CompareSettings { shuffled, lower_is_better: false, ..CompareSettings::default() };
        paired("rate", &a, &b, &settings).unwrap().verdict.outcome
    };
    assert_eq!((outcome(true), outcome(false)), (Outcome::Faster, Outcome::Undecided));
}
