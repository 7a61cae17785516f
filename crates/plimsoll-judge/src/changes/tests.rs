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
    // Of two places that explain a change nearly as well, earlier finds choose one, and the direction decides what is earlier.
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

#[test]
fn two_modes_in_random_order_are_no_change() {
    let alarms = (0..100).filter(|&seed| {
        let mut rng = SmallRng::new(400 + seed);
        let series: Vec<f64> =
            (0..150).map(|_| if rng.uniform() < 0.6 { 108.0 } else { 59.0 } + 2.0 * rng.normal()).collect();
        !indices(&series).is_empty()
    });
    let alarms = alarms.count();
    assert!(alarms <= 5, "{alarms} of 100");
}

#[test]
fn days_and_weeks_are_taken_out_and_the_step_beside_them_is_found() {
    for seed in 0..6 {
        let mut rng = SmallRng::new(70 + seed);
        let series: Vec<f64> = (0_u32..24 * 7 * 4)
            .map(|i| {
                let hour = f64::from(i % 24);
                let day = 6.0 * (-((hour - 14.0) / 4.0).powi(2)).exp();
                let week = if i / 24 % 7 >= 5 { -4.0 } else { 0.0 };
                100.0 + day + week + if i >= 400 { 3.0 } else { 0.0 } + rng.normal()
            })
            .collect();
        let found = find_changes(&series).unwrap();
        let at: Vec<usize> = found.changes.iter().map(|c| c.index).collect();
        assert!(matches!(at[..], [only] if only.abs_diff(400) <= 3), "seed {seed}: {at:?}");
        assert!(found.cycles.contains(&24) && found.cycles.contains(&168), "{:?}", found.cycles);
        let reason = found.verdict("rate").reason;
        assert!(reason.contains("cycles of 24 and of 168 values removed first"), "{reason}");
    }
}

#[test]
fn a_trend_is_no_change_and_a_step_on_a_trend_is_one() {
    let rising = |step: f64, seed: u64| -> Vec<f64> {
        let mut rng = SmallRng::new(seed);
        (0..160).map(|i| f64::from(i) / 20.0 + if i >= 70 { step } else { 0.0 } + rng.normal()).collect()
    };
    let alarms = (0..30).filter(|&seed| !indices(&rising(0.0, seed)).is_empty()).count();
    assert!(alarms <= 5, "{alarms} of 30");
    let found = find_changes(&rising(6.0, 3)).unwrap();
    assert!(found.changes.len() == 1 && found.changes[0].index.abs_diff(70) <= 1, "{found:?}");
    assert!((found.trend.unwrap() - 0.05).abs() < 0.02, "{:?}", found.trend);
}

#[test]
fn missing_values_keep_their_places() {
    let whole = noisy(&[(60, 10.0), (60, 16.0)], 1.0, 5);
    let holed: Vec<Option<f64>> =
        whole.iter().enumerate().map(|(i, v)| (i % 9 != 4 && !(20..30).contains(&i)).then_some(*v)).collect();
    let found = find_changes_with_gaps(&holed).unwrap();
    assert_eq!(found.changes.iter().map(|c| c.index).collect::<Vec<_>>(), [60]);
    assert_eq!(found.missing, holed.iter().filter(|v| v.is_none()).count());
    assert!(found.verdict("x").reason.contains("missing, their positions counted"));
    assert!(matches!(find_changes_with_gaps(&[None, None]), Err(JudgeError::Empty { .. })));
    let strange = find_changes_with_gaps(&[None, Some(1.0), Some(f64::NAN)]);
    assert!(matches!(strange, Err(JudgeError::NotFinite { index: 2, .. })));
}

#[test]
fn a_burst_hides_no_later_step() {
    for length in 4..=6 {
        let found = (0..40).filter(|&seed| {
            let mut series = noisy(&[(100, 15.0), (60, 14.25)], 0.15, 3_000 + seed);
            for value in &mut series[50..50 + length] {
                *value *= 1.8;
            }
            matches!(indices(&series)[..], [only] if only.abs_diff(100) <= 1)
        });
        let found = found.count();
        assert!(found >= 38, "burst of {length}: {found} of 40");
    }
}

#[test]
fn growth_with_weeks_is_no_step() {
    const WEEK: [f64; 7] = [0.0, 0.8, 0.2, 1.0, 0.4, -3.0, -4.0];
    let alarms = (0..60).filter(|&seed| {
        let mut rng = SmallRng::new(5_000 + seed);
        let series: Vec<f64> =
            (0..175).map(|i| 100.0 + i as f64 / 12.0 + WEEK[i % 7] + 0.8 * rng.normal()).collect();
        !indices(&series).is_empty()
    });
    let alarms = alarms.count();
    assert!(alarms <= 9, "{alarms} of 60");
}

/// Curves without a step, over 180 values, in standard deviations of the noise.
const CURVES: [fn(f64) -> f64; 5] = [
    |x| 12.0 * (1.1 * x).exp(),
    |x| 20.0 * (1.0 - (-4.0 * x).exp()),
    |x| 30.0 * x * x,
    |x| 25.0 * x * (1.0 - x) * 2.0,
    |x| 15.0 / (1.0 + (-9.0 * (x - 0.5)).exp()),
];

fn curved(curve: fn(f64) -> f64, week: [f64; 7], seed: u64) -> Vec<f64> {
    let mut rng = SmallRng::new(seed);
    (0..180).map(|i| 100.0 + curve(i as f64 / 180.0) + week[i % 7] + rng.normal()).collect()
}

#[test]
fn smooth_curves_have_no_steps_with_weeks_or_without() {
    for week in [[0.0; 7], [0.0, 1.0, 0.5, 1.5, 0.5, -4.0, -5.0]] {
        let alarms = (0..100).filter(|seed| {
            !indices(&curved(CURVES[*seed as usize % CURVES.len()], week, 6_000 + seed)).is_empty()
        });
        let alarms = alarms.count();
        assert!(alarms <= 15, "{week:?}: {alarms} of 100");
    }
    let reason = find_changes(&curved(CURVES[2], [0.0; 7], 1)).unwrap().verdict("x").reason;
    assert!(reason.contains("a smooth curve of degree 2 describes them better than steps"), "{reason}");
}

/// A total that grows each month, more in summer, by a yearly rate that wanders.
fn population(seed: u64) -> Vec<f64> {
    let mut rng = SmallRng::new(seed);
    let (mut total, mut rate) = (1e6, 200.0);
    (0..600)
        .map(|month| {
            if month % 12 == 0 {
                rate = (rate + 25.0 * rng.normal()).max(50.0);
            }
            let season = 40.0 * (f64::from(month % 12) / 12.0 * std::f64::consts::TAU).sin();
            total += rate + season + 10.0 * rng.normal();
            total
        })
        .collect()
}

#[test]
fn yearly_growth_is_no_staircase_but_eight_releases_are() {
    for seed in 0..10 {
        assert_eq!(indices(&population(seed)), [0; 0], "{seed}");
    }
    // Sizes and lengths of the levels differ, as those of releases do.
    let levels: Vec<(usize, f64)> = [0.0, 9.0, 13.0, 25.0, 30.0, 42.0, 47.0, 60.0, 64.0]
        .into_iter()
        .zip([31, 18, 44, 22, 57, 19, 36, 25, 48])
        .map(|(level, n)| (n, level))
        .collect();
    let found = indices(&noisy(&levels, 1.0, 5));
    assert_eq!(found, [31, 49, 93, 115, 172, 191, 227, 252]);
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
