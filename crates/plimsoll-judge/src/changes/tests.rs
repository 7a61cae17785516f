use super::*;
use crate::stats::rng::SmallRng;
use proptest::prelude::*;

fn noisy(levels: &[(usize, f64)], sd: f64, seed: u64) -> Vec<f64> {
    let mut rng = SmallRng::new(seed);
    levels
        .iter()
        .flat_map(|&(n, level)| std::iter::repeat_n(level, n))
        .map(|l| l + sd * rng.normal())
        .collect()
}

fn indices(series: &[f64]) -> Vec<usize> {
    find_changes(series).unwrap().changes.iter().map(|c| c.index).collect()
}

#[test]
fn two_steps_are_found_with_their_sizes() {
    let found = find_changes(&noisy(&[(50, 100.0), (60, 110.0), (40, 104.0)], 1.0, 4)).unwrap();
    let at: Vec<usize> = found.changes.iter().map(|c| c.index).collect();
    assert_eq!(at, [50, 110]);
    let first = &found.changes[0];
    assert!((first.size() - 10.0).abs() < 0.6 && first.interval.lo() < 10.0 && first.interval.hi() > 10.0);
    assert!((found.noise - 1.0).abs() < 0.2);
    let verdict = found.verdict("seconds");
    assert_eq!(verdict.outcome, Outcome::Changed);
    assert!(verdict.reason.starts_with("2 changes in 150 values: at 50 from "), "{}", verdict.reason);
}

#[test]
fn a_step_without_noise_is_found_exactly() {
    let mut series = vec![1.0; 30];
    series[17..].fill(2.0);
    let found = find_changes(&series).unwrap();
    assert_eq!(found.changes.len(), 1);
    let change = &found.changes[0];
    assert_eq!((change.index, change.before, change.after, change.index_interval), (17, 1.0, 2.0, (17, 17)));
}

#[test]
fn a_change_is_seen_from_its_fourth_value_on() {
    for (new, expected) in [(3, vec![]), (4, vec![60])] {
        assert_eq!(indices(&noisy(&[(60, 0.0), (new, 20.0)], 1.0, 9)), expected);
    }
}

#[test]
fn outliers_are_no_change() {
    let alarms = (0..40).filter(|&seed| {
        let mut series = noisy(&[(100, 50.0)], 1.0, seed);
        series[40] = 500.0;
        series[41] = -500.0;
        series[70..73].fill(90.0);
        series[97..].fill(20.0);
        find_changes(&series).unwrap().verdict("x").outcome != Outcome::Unchanged
    });
    assert!(alarms.count() <= 3);
}

#[test]
fn a_constant_series_is_unchanged_and_a_short_one_undecided() {
    assert_eq!(find_changes(&[3.0; 500]).unwrap().verdict("x").outcome, Outcome::Unchanged);
    let short = find_changes(&[1.0, 1.0, 1.0, 9.0, 9.0, 9.0, 9.0]).unwrap().verdict("x");
    assert_eq!(short.outcome, Outcome::Undecided);
    assert!(short.reason.contains("at least 8"));
}

#[test]
fn what_is_no_number_is_an_error() {
    assert!(matches!(find_changes(&[]), Err(JudgeError::Empty { .. })));
    let found = find_changes(&[1.0, f64::NAN, 2.0]);
    assert!(matches!(found, Err(JudgeError::NotFinite { index: 1, .. })));
    assert!(find_changes(&[1.0, f64::INFINITY]).is_err());
}

#[test]
fn the_largest_and_the_smallest_numbers_do_not_overflow() {
    let mut series = vec![-f64::MAX; 20];
    series[10..].fill(f64::MAX);
    assert_eq!(indices(&series), [10]);
    let mut series = vec![0.0; 20];
    series[10..].fill(f64::MIN_POSITIVE);
    assert_eq!(indices(&series), [10]);
}

#[test]
fn two_million_values_of_any_shape_end() {
    let n = 2_000_000;
    let mut rng = SmallRng::new(6);
    let mut walk = 0.0;
    let random_walk: Vec<f64> = (0..n)
        .map(|_| {
            walk += rng.normal();
            walk
        })
        .collect();
    let saw: Vec<f64> = (0..n).map(|i| f64::from(i % 1000)).collect();
    let ramp: Vec<f64> = (0..n).map(f64::from).collect();
    let alternating: Vec<f64> = (0..n).map(|i| f64::from(i % 2)).collect();
    for series in [random_walk, saw, ramp, alternating] {
        let found = find_changes(&series).unwrap();
        assert!(found.changes.iter().all(|c| c.index < series.len()));
    }
    let mut steady = noisy(&[(1_200_000, 10.0), (800_000, 11.0)], 1.0, 7);
    steady[5] = 1e9;
    let at = indices(&steady);
    assert!(at.len() == 1 && at[0].abs_diff(1_200_000) < 30, "{at:?}");
}

#[test]
fn about_one_series_in_fifty_raises_a_false_alarm() {
    let alarms =
        (0..400).filter(|&seed| !indices(&noisy(&[(150, 20.0)], 1.0, 1000 + seed)).is_empty()).count();
    assert!(alarms <= 20, "{alarms} of 400");
}

#[test]
fn a_series_read_backwards_has_its_changes_mirrored() {
    // Two places that explain a change nearly as well are told apart by what was found before them, which the direction decides.
    let mut apart = 0;
    for seed in 0..500 {
        let series = noisy(&[(40, 10.0), (40, 16.0), (40, 12.0)], 1.0, seed);
        let mirrored: Vec<f64> = series.iter().rev().copied().collect();
        let (forward, mut backward) = (indices(&series), indices(&mirrored));
        backward.reverse();
        assert_eq!(forward.len(), backward.len(), "seed {seed}: {forward:?} {backward:?}");
        let widest = forward.iter().zip(&backward).map(|(a, b)| a.abs_diff(120 - b)).max().unwrap_or(0);
        assert!(widest <= 5, "seed {seed}: {forward:?} {backward:?}");
        apart += usize::from(widest > 1);
    }
    assert!(apart <= 10, "{apart} of 500");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn the_unit_does_not_move_a_change(seed in 0_u64..1000, scale in 1e-6_f64..1e6, offset in -1e3_f64..1e3) {
        let series = noisy(&[(40, 10.0), (40, 13.0), (40, 11.5)], 1.0, seed);
        let other: Vec<f64> = series.iter().map(|x| offset * scale + x * scale).collect();
        prop_assert_eq!(indices(&series), indices(&other));
    }

    #[test]
    fn any_finite_series_gets_an_answer(series in prop::collection::vec(-1e300_f64..1e300, 1..80)) {
        let found = find_changes(&series).unwrap();
        prop_assert!(found.changes.windows(2).all(|w| w[0].index < w[1].index));
        prop_assert!(found.changes.iter().all(|c| c.index_interval.0 <= c.index && c.index <= c.index_interval.1));
    }
}
