use super::*;
use crate::stats::rng::SmallRng;
use proptest::prelude::*;

/// Values of unit spread around centres drawn by weight.
fn drawn(n: usize, modes: &[(f64, f64)], seed: u64) -> Vec<f64> {
    let mut rng = SmallRng::new(seed);
    (0..n)
        .map(|_| {
            let mut left = rng.uniform();
            let below = |(_, weight): &&(f64, f64)| {
                left -= weight;
                left < 0.0
            };
            modes.iter().find(below).unwrap_or(&modes[0]).0 + rng.normal()
        })
        .collect()
}

#[test]
fn two_and_three_modes_are_found_with_place_and_weight() {
    let two = find_modes(&drawn(300, &[(20.0, 0.7), (26.0, 0.3)], 1)).unwrap();
    assert_eq!(two.verdict("ms").outcome, Outcome::SeveralModes);
    assert_eq!(two.modes.len(), 2);
    assert!((two.modes[0].center - 20.0).abs() < 0.4 && (two.modes[1].center - 26.0).abs() < 0.6, "{two:?}");
    assert!((two.modes[0].weight - 0.7).abs() < 0.08);
    assert!(two.dip.unwrap().p < 0.05);
    let three = find_modes(&drawn(600, &[(0.0, 0.4), (8.0, 0.3), (20.0, 0.3)], 2)).unwrap();
    assert_eq!(three.modes.len(), 3, "{three:?}");
}

#[test]
fn one_mode_stays_one() {
    let found = find_modes(&drawn(300, &[(20.0, 1.0)], 3)).unwrap();
    assert_eq!(found.modes.len(), 1);
    assert!((found.modes[0].center - 20.0).abs() < 0.3 && (found.modes[0].weight - 1.0).abs() < 1e-9);
    assert_eq!(found.verdict("ms").outcome, Outcome::OneMode);
}

#[test]
fn two_places_about_which_values_scatter_widely_are_two_modes() {
    // 10 to 50 and 200 to 500: a flat top over both describes them nearly as well as two normal distributions.
    let mut rng = SmallRng::new(7);
    let values: Vec<f64> = (0..100)
        .map(
            |_| if rng.uniform() < 0.5 { 10.0 + 40.0 * rng.uniform() } else { 200.0 + 300.0 * rng.uniform() },
        )
        .collect();
    let found = find_modes(&values).unwrap();
    assert_eq!(found.modes.len(), 2, "{found:?}");
}

#[test]
fn a_step_in_time_is_no_second_mode() {
    let mut values = drawn(200, &[(20.0, 1.0)], 4);
    values[90..].iter_mut().for_each(|v| *v += 8.0);
    let found = find_modes(&values).unwrap();
    assert_eq!((found.modes.len(), found.shifts.len(), found.shifts[0].index), (1, 1, 90));
    assert!((found.modes[0].center - 28.0).abs() < 0.5);
    assert!(found.verdict("ms").reason.contains("a step is no second mode"));
}

#[test]
fn thirty_values_are_too_few_and_one_more_is_said_to_be_enough() {
    let verdict = find_modes(&drawn(30, &[(1.0, 0.5), (50.0, 0.5)], 5)).unwrap().verdict("ms");
    assert_eq!(verdict.outcome, Outcome::TooFew);
    assert!(verdict.reason.ends_with(": 1 more needed"), "{}", verdict.reason);
    assert_eq!(find_modes(&drawn(31, &[(1.0, 0.5), (50.0, 0.5)], 5)).unwrap().modes.len(), 2);
}

#[test]
fn equal_coarse_and_extreme_values_get_an_answer() {
    assert_eq!(find_modes(&[4.0; 100]).unwrap().modes, [Mode { center: 4.0, weight: 1.0, width: 0.0 }]);
    let coarse: Vec<f64> = (0..200).map(|i| f64::from(10 + i * 7 % 3)).collect();
    assert_eq!(
        find_modes(&coarse).unwrap().modes.len(),
        1,
        "three neighbouring ticks of a clock are one mode"
    );
    let far: Vec<f64> = (0..100).map(|i| if i * 37 % 100 < 50 { 10.0 } else { 200.0 }).collect();
    assert_eq!(find_modes(&far).unwrap().modes.len(), 2, "two values far apart are two modes");
    let extreme: Vec<f64> = (0..100).map(|i| if i * 37 % 100 < 50 { f64::MAX } else { -f64::MAX }).collect();
    assert!(find_modes(&extreme).unwrap().modes.iter().all(|m| m.center.is_finite()));
}

/// How many of `samples` samples have several modes.
fn several(samples: u64, draw: impl Fn(&mut SmallRng) -> Vec<f64>) -> usize {
    (0..samples)
        .filter(|seed| find_modes(&draw(&mut SmallRng::new(9_000 + seed))).unwrap().modes.len() > 1)
        .count()
}

#[test]
fn two_groups_of_disk_rates_are_two_modes_that_lie_where_values_lie() {
    // Timed on a disk that another process read now and then, in MB/s.
    let timed = [108.43, 57.12, 110.02, 107.55, 60.31, 59.08, 109.17, 58.44, 106.91, 61.27, 108.86];
    for seed in 0..60 {
        let mut rng = SmallRng::new(seed);
        let values: Vec<f64> = (0..100).map(|_| timed[rng.below(timed.len())]).collect();
        let found = find_modes(&values).unwrap();
        let [low, high] = found.modes[..] else { panic!("{seed}: {found:?}") };
        assert!((57.0..62.0).contains(&low.center) && (106.0..111.0).contains(&high.center), "{found:?}");
        assert!(low.width < 3.0 && high.width < 3.0, "{found:?}");
        let below = values.iter().filter(|v| **v < 80.0).count() as f64;
        assert!((low.weight - below / 100.0).abs() < 1e-9 && found.shifts.is_empty(), "{found:?}");
    }
}

#[test]
fn well_separated_modes_of_any_weight_and_width_are_found() {
    for (weight, apart, spread) in [(0.2, 24.0, 1.0), (0.4, 24.0, 1.0), (0.5, 6.0, 1.0), (0.8, 12.0, 3.0)] {
        let found = several(40, |rng| {
            (0..100)
                .map(|_| if rng.uniform() < weight { apart + spread * rng.normal() } else { rng.normal() })
                .collect()
        });
        assert!(found >= 39, "{weight} {apart} {spread}: {found} of 40");
    }
}

#[test]
fn one_mode_that_leans_has_heavy_tails_or_drifts_is_rarely_taken_for_several() {
    let sizes = 0..100;
    let exponential = |rng: &mut SmallRng| -(1.0 - rng.uniform()).ln();
    type Draw<'a> = &'a dyn Fn(&mut SmallRng) -> Vec<f64>;
    let draws: [(&str, Draw<'_>); 6] = [
        ("exponential", &|rng| sizes.clone().map(|_| exponential(rng)).collect()),
        ("Gumbel", &|rng| sizes.clone().map(|_| -exponential(rng).ln()).collect()),
        ("t, 2", &|rng| sizes.clone().map(|_| rng.normal() / exponential(rng).sqrt()).collect()),
        ("rounded", &|rng| sizes.clone().map(|_| (2.0 * (0.5 * rng.normal()).exp()).round()).collect()),
        ("drifting", &|rng| sizes.clone().map(|i| f64::from(i) / 12.0 + rng.normal()).collect()),
        ("stepped", &|rng| sizes.clone().map(|i| if i < 38 { 6.0 } else { 0.0 } + rng.normal()).collect()),
    ];
    for (name, draw) in draws {
        let alarms = several(40, draw);
        assert!(alarms <= 3, "{name}: {alarms} of 40");
    }
}

#[test]
fn copies_of_a_few_values_of_one_mode_are_mostly_left_one() {
    let alarms = several(40, |rng| {
        let few: Vec<f64> = (0..11).map(|_| rng.normal()).collect();
        (0..100).map(|_| few[rng.below(11)]).collect()
    });
    // More than wanted, and less than half of what a fit that counts every copy makes of them.
    assert!(alarms <= 8, "{alarms} of 40");
}

#[test]
fn a_level_that_comes_and_goes_is_a_mode_and_one_value_far_off_is_none() {
    let mut values = drawn(120, &[(20.0, 1.0)], 8);
    for (i, value) in values.iter_mut().enumerate() {
        *value += if i / 15 % 2 == 1 { 12.0 } else { 0.0 };
    }
    assert_eq!(find_modes(&values).unwrap().modes.len(), 2);
    let mut values = drawn(120, &[(20.0, 0.6), (32.0, 0.4)], 9);
    values[17] = 900.0;
    let found = find_modes(&values).unwrap();
    assert_eq!(found.modes.len(), 2, "{found:?}");
    assert!((found.modes[1].center - 32.0).abs() < 1.0);
    assert_eq!(found.belongs_to.len(), 120);
}

#[test]
fn what_is_no_number_is_an_error() {
    assert!(matches!(find_modes(&[]), Err(JudgeError::Empty { .. })));
    assert!(matches!(find_modes(&[1.0, f64::NAN]), Err(JudgeError::NotFinite { index: 1, .. })));
}

#[test]
fn two_million_values_end_and_keep_their_modes() {
    let found = find_modes(&drawn(2_000_000, &[(20.0, 0.8), (26.0, 0.2)], 6)).unwrap();
    assert_eq!(found.modes.len(), 2);
    assert!((found.modes[1].weight - 0.2).abs() < 0.01);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn the_unit_does_not_change_the_modes(seed in 0_u64..500, scale in 1e-6_f64..1e6) {
        let values = drawn(120, &[(10.0, 0.6), (15.0, 0.4)], seed);
        let other: Vec<f64> = values.iter().map(|v| v * scale).collect();
        let (a, b) = (find_modes(&values).unwrap(), find_modes(&other).unwrap());
        prop_assert_eq!(a.modes.len(), b.modes.len());
        for (x, y) in a.modes.iter().zip(&b.modes) {
            prop_assert!((x.center * scale - y.center).abs() <= 0.01 * scale);
        }
    }

    #[test]
    fn weights_add_up_to_one(values in prop::collection::vec(-1e300_f64..1e300, 31..120)) {
        let found = find_modes(&values).unwrap();
        prop_assert!((found.modes.iter().map(|m| m.weight).sum::<f64>() - 1.0).abs() < 1e-6);
        prop_assert!(found.modes.windows(2).all(|w| w[0].center <= w[1].center));
    }
}

/// Rates in MB/s of a disk that the kernel held to one rate. The throttling ends by the tick of a clock, so that most lie close to eight places.
const THROTTLED: [f64; 100] = [
    102.34, 105.73, 119.23, 119.21, 109.23, 106.93, 107.44, 107.69, 111.73, 113.37, 107.64, 113.99, 106.96,
    103.57, 121.97, 108.05, 111.64, 113.94, 110.2, 111.39, 111.48, 109.18, 113.93, 110.16, 107.93, 107.42,
    111.5, 104.84, 116.57, 108.03, 111.58, 109.26, 114.01, 111.58, 106.63, 133.6, 97.82, 119.07, 109.46,
    108.34, 114.03, 110.1, 111.6, 109.23, 109.22, 109.19, 109.27, 112.14, 109.3, 105.93, 116.45, 109.67,
    113.94, 116.33, 111.58, 119.1, 111.59, 107.04, 107.42, 111.55, 115.41, 113.92, 111.6, 115.13, 112.13,
    111.52, 107.44, 111.56, 119.2, 109.24, 116.44, 111.92, 113.96, 111.59, 114.68, 115.66, 109.26, 111.56,
    109.17, 109.21, 116.55, 111.72, 111.64, 119.19, 111.49, 104.3, 114.39, 114.02, 109.27, 111.55, 116.52,
    106.69, 111.64, 111.61, 110.33, 114.06, 111.57, 111.67, 111.53, 110.13,
];

/// The throttled times on a busy machine: a narrow peak with a broad foot above it.
const THROTTLED_BESIDE_OTHERS: [f64; 100] = [
    99.67, 110.21, 107.9, 100.92, 114.73, 132.32, 95.19, 109.15, 109.02, 108.18, 110.3, 108.62, 122.43,
    108.95, 113.06, 114.05, 107.15, 117.31, 108.7, 111.59, 114.09, 116.9, 109.37, 108.03, 107.15, 111.49,
    112.83, 111.36, 104.68, 107.8, 109.48, 118.47, 127.55, 118.96, 109.32, 109.21, 109.22, 105.17, 109.47,
    108.21, 109.32, 114.91, 118.5, 111.22, 110.57, 111.14, 106.51, 111.52, 107.82, 109.5, 109.23, 110.19,
    111.54, 109.26, 109.81, 111.59, 111.58, 111.53, 108.86, 113.92, 112.17, 109.23, 114.01, 110.69, 110.9,
    110.74, 109.24, 109.48, 113.81, 109.91, 111.58, 119.82, 111.59, 111.59, 111.61, 111.57, 111.53, 105.28,
    113.07, 113.27, 113.49, 114.02, 111.15, 112.05, 109.02, 111.58, 113.91, 108.35, 109.2, 109.76, 114.01,
    104.99, 117.09, 109.27, 119.17, 109.28, 109.25, 105.17, 109.74, 107.19,
];

#[test]
fn the_clock_of_a_throttle_makes_no_modes() {
    for rates in [THROTTLED, THROTTLED_BESIDE_OTHERS] {
        let found = find_modes(&rates).unwrap();
        assert_eq!(found.modes.len(), 1, "{found:?}");
    }
}

/// Rates of a disk in MB/s, beside a neighbour that comes and goes, on a busy machine. Their logarithms are two peaks with thin feet, in which gaps
/// are wide; the peaks were taken for two ticks of a clock.
#[test]
fn two_peaks_with_thin_feet_are_no_ticks_of_a_clock() {
    let rates = [
        314.0, 304.2, 220.9, 212.9, 233.5, 368.5, 225.3, 9.3, 5.7, 42.8, 9.5, 9.6, 9.0, 11.7, 180.0, 12.5,
        206.6, 316.1, 294.6, 365.2, 397.8, 95.2, 249.0, 219.5, 190.5, 9.1, 9.2, 10.2, 9.8, 9.6, 10.3, 11.7,
        8.5, 9.5, 11.3, 6.1, 258.9, 263.4, 69.8, 149.8, 319.7, 244.0, 162.0, 336.9, 210.1, 80.5, 2.4, 7.9,
        2.4, 4.9, 241.0, 368.2, 220.2, 343.3, 409.1, 318.4, 206.9, 175.9, 229.9, 11.2, 11.2, 10.4, 4.2, 6.7,
        8.5, 9.9, 9.5, 8.9, 10.8, 9.1, 312.6, 301.7, 245.6, 542.6, 452.0, 394.7, 617.3, 323.7, 598.5, 300.1,
        203.1, 248.1, 11.5, 10.7, 8.9, 9.4, 9.0, 12.4, 13.0, 10.2, 10.2, 12.2, 12.9, 16.4, 406.3, 297.4,
        317.1, 286.5, 302.7, 357.6,
    ];
    let logs = rates.map(f64::ln);
    let modes = find_modes(&logs).unwrap();
    let centers: Vec<f64> = modes.modes.iter().map(|mode| mode.center.exp().round()).collect();
    assert_eq!(centers.len(), 2, "{modes:?}");
    assert!((8.0..=12.0).contains(&centers[0]) && (240.0..=320.0).contains(&centers[1]), "{centers:?}");
}
