use super::*;
use crate::stats::rng::SmallRng;

/// Bisects until sure; the culprit found and the number of measurements.
fn bisect(versions: usize, culprit: usize, effect: f64, noise: f64, seed: u64) -> (Option<Culprit>, usize) {
    let mut rng = SmallRng::new(seed);
    let mut state = Bisection::new(versions, BisectSettings::default()).unwrap();
    while let Some(version) = state.next_query() {
        let level = if version >= culprit { 100.0 * (1.0 + effect) } else { 100.0 };
        let wild = if rng.uniform() < 0.03 { 6.0 } else { 1.0 };
        state.record(version, level * (noise * wild * rng.normal()).exp()).unwrap();
        assert!(state.observations().len() < 1000, "no end in sight");
    }
    (state.answer(), state.observations().len())
}

#[test]
fn a_tenth_in_128_versions_is_found_in_few_measurements() {
    let mut total = 0;
    for seed in 0..20 {
        let culprit = 1 + (seed as usize * 37) % 127;
        let (found, count) = bisect(128, culprit, 0.10, 0.03, seed);
        assert_eq!(found.unwrap().version, culprit, "seed {seed}");
        total += count;
    }
    assert!(total <= 20 * 30, "{total}");
}

#[test]
fn of_fifty_bisections_over_ten_versions_with_three_per_cent_of_noise_at_least_49_end_at_the_right_one() {
    let right = (0..50).filter(|seed| {
        let culprit = 1 + (*seed as usize * 7) % 9;
        bisect(10, culprit, 0.05, 0.03, 1000 + seed).0.is_some_and(|found| found.version == culprit)
    });
    assert!(right.count() >= 49);
}

#[test]
fn figures_that_repeat_exactly_take_few_measurements_for_a_tenth_of_a_per_cent() {
    for culprit in 1..10 {
        let (found, count) = bisect(10, culprit, 0.001, 1e-7, culprit as u64);
        assert_eq!(found.unwrap().version, culprit);
        assert!(count <= 12, "{count} measurements for {culprit}");
    }
}

#[test]
fn an_improvement_is_found_as_well() {
    let (found, _) = bisect(30, 17, -0.2, 0.02, 3);
    let found = found.unwrap();
    assert_eq!(found.version, 17);
    assert!((found.ratio - 0.8).abs() < 0.05, "{found:?}");
}

#[test]
fn versions_that_cannot_be_measured_are_never_asked_for_and_the_answer_spans_them() {
    let mut rng = SmallRng::new(4);
    let mut state = Bisection::new(30, BisectSettings::default()).unwrap();
    // The change came with 16 or 17, or with 18, which is the first of the three that runs.
    for version in [16, 17, 25] {
        state.skip(version).unwrap();
    }
    while let Some(version) = state.next_query() {
        assert!(![16, 17, 25].contains(&version));
        let level = if version >= 16 { 1.1 } else { 1.0 };
        state.record(version, level * (0.01 * rng.normal()).exp()).unwrap();
        assert!(state.observations().len() < 500, "no end in sight");
    }
    let found = state.answer().unwrap();
    assert_eq!((found.before, found.version), (15, 18));
    assert!(found.probability >= 0.99);
    assert!(state.skip(0).is_err() && state.skip(29).is_err() && state.skip(30).is_err());
}

#[test]
fn two_versions_have_one_culprit_and_only_the_ends_are_asked_for() {
    let (found, count) = bisect(2, 1, 0.5, 0.01, 1);
    assert_eq!((found.unwrap().version, count), (1, 6));
}

#[test]
fn a_stored_bisection_goes_on_where_it_was() {
    let mut state = Bisection::new(64, BisectSettings::default()).unwrap();
    let mut rng = SmallRng::new(2);
    for _ in 0..12 {
        let version = state.next_query().unwrap();
        let level = if version >= 40 { 1.1 } else { 1.0 };
        state.record(version, level * (0.03 * rng.normal()).exp()).unwrap();
    }
    let stored = serde_json::to_string(&state).unwrap();
    let resumed: Bisection = serde_json::from_str(&stored).unwrap();
    assert_eq!(resumed.next_query(), state.next_query());
    assert_eq!(resumed.posterior(), state.posterior());
}

#[test]
fn the_unit_does_not_matter() {
    let posterior = |unit: f64| {
        let mut state = Bisection::new(8, BisectSettings::default()).unwrap();
        for (version, value) in [(0, 1.0), (0, 1.01), (7, 1.2), (7, 1.21), (4, 1.0), (5, 1.22)] {
            state.record(version, unit * value).unwrap();
        }
        state.posterior()
    };
    for (a, b) in posterior(1.0).iter().zip(posterior(1000.0)) {
        assert!((a - b).abs() < 1e-9);
    }
}

#[test]
fn bad_measurements_are_refused_and_not_counted() {
    let mut state = Bisection::new(4, BisectSettings::default()).unwrap();
    assert!(state.record(4, 1.0).is_err());
    assert!(state.record(0, 0.0).is_err());
    assert!(state.record(0, f64::INFINITY).is_err());
    assert!(state.observations().is_empty());
    assert_eq!(state.best(), None);
    assert!(Bisection::new(1, BisectSettings::default()).is_err());
}

#[test]
fn equal_and_extreme_figures_give_no_panic() {
    for (good, bad) in [(1.0, 1.0), (1e-300, 1e300), (5.0, 5.000_000_1)] {
        let mut state = Bisection::new(10, BisectSettings::default()).unwrap();
        for i in 0..30 {
            let version = [0, 9, 5][i % 3];
            state.record(version, if version == 0 { good } else { bad }).unwrap();
        }
        let sum: f64 = state.posterior().iter().sum();
        assert!((sum - 1.0).abs() < 1e-9, "{good} {bad}");
    }
}

#[test]
fn pairs_without_the_step_take_a_culprit_its_probability() {
    let believed = Culprit { version: 8, before: 7, probability: 0.99, ratio: 1.1 };
    let mut rng = SmallRng::new(8);
    let mut pairs = |step: f64| (0..30).map(|_| step + 0.03 * rng.normal()).collect::<Vec<f64>>();
    assert!(believed.confirmed_by(&pairs(0.0)).probability < 0.01);
    assert!(believed.confirmed_by(&pairs(1.1_f64.ln())).probability > 0.999);
    assert_eq!(believed.confirmed_by(&[]), believed);
    assert!(believed.confirmed_by(&[0.0; 8]).probability < 0.01);
}
