use super::*;
use crate::stats::rng::SmallRng;

/// A rig whose weather drifts between phases by `weather` and moves both services alike.
struct Rig {
    rng: SmallRng,
    weather: f64,
    window: f64,
    wild: f64,
}

impl Rig {
    fn new(seed: u64) -> Self {
        Self { rng: SmallRng::new(seed), weather: 0.05, window: 0.015, wild: 0.05 }
    }

    fn phase(&mut self, ratio: f64, windows: usize) -> Vec<WindowPair> {
        let weather = self.weather * self.rng.normal();
        (0..windows)
            .map(|_| {
                let neighbour = if self.rng.uniform() < self.wild { -1.0 } else { 0.0 };
                let mut figure = |level: f64| {
                    let own = if neighbour < 0.0 { 0.3 * self.rng.normal() } else { 0.0 };
                    level * (weather + neighbour + own + self.window * self.rng.normal()).exp()
                };
                WindowPair { treatment: figure(200.0 * ratio), control: Some(figure(200.0)) }
            })
            .collect()
    }

    fn trial(&mut self, ratios: &[f64]) -> RecoveryTrial {
        RecoveryTrial {
            baseline: self.phase(1.0, 20),
            cycles: ratios.iter().map(|&r| self.phase(r, 20)).collect(),
        }
    }
}

fn judge(trials: &[RecoveryTrial]) -> RecoveryVerdict {
    judge_trials("connections_per_second", trials, &RecoverySettings::default()).unwrap()
}

#[test]
fn a_service_that_lost_a_tenth_has_not_recovered_whatever_the_weather() {
    let mut rig = Rig::new(1);
    let trials: Vec<_> = (0..4).map(|_| rig.trial(&[0.9, 0.9])).collect();
    let found = judge(&trials);
    assert_eq!(found.verdict.outcome, Outcome::NotRecovered, "{}", found.verdict.reason);
    assert!((found.verdict.estimate.unwrap() - 0.9).abs() < 0.02);
    assert_eq!(found.verdict.n, 4);
}

#[test]
fn an_unchanged_service_has_recovered_whatever_the_weather() {
    for seed in 0..20 {
        let mut rig = Rig::new(seed);
        let trials: Vec<_> = (0..4).map(|_| rig.trial(&[1.0, 1.0, 1.0])).collect();
        let found = judge(&trials);
        assert_eq!(found.verdict.outcome, Outcome::Recovered, "{}", found.verdict.reason);
    }
}

#[test]
fn the_same_trial_without_its_control_says_what_that_costs() {
    let mut trial = Rig::new(3).trial(&[1.0]);
    for window in trial.baseline.iter_mut().chain(trial.cycles.iter_mut().flatten()) {
        window.control = None;
    }
    let found = judge(&[trial]);
    assert!(found.verdict.reason.contains("no control ran"), "{}", found.verdict.reason);
}

#[test]
fn one_trial_says_that_trials_were_not_compared() {
    let found = judge(&[Rig::new(3).trial(&[0.25])]);
    assert_eq!(found.verdict.outcome, Outcome::NotRecovered);
    assert!(found.verdict.reason.contains("one trial"), "{}", found.verdict.reason);
}

#[test]
fn damage_that_grows_with_every_flood_is_a_trend_and_is_judged_at_its_end() {
    let mut rig = Rig::new(5);
    let trials: Vec<_> = (0..3).map(|_| rig.trial(&[0.9, 0.7, 0.5, 0.25])).collect();
    let found = judge(&trials);
    assert!((found.verdict.estimate.unwrap() - 0.25).abs() < 0.02);
    let trend = found.trend.unwrap();
    assert!(trend.tau < -0.9 && trend.p < 0.001, "{trend:?}");
    assert!(found.verdict.reason.contains("falls from flood to flood"), "{}", found.verdict.reason);
    assert_eq!(found.per_cycle.len(), 4);
    assert!((found.per_cycle[1].estimate - 0.7).abs() < 0.03);
}

#[test]
fn a_service_that_died_has_not_recovered() {
    let mut trial = Rig::new(6).trial(&[1.0]);
    for window in &mut trial.cycles[0] {
        window.treatment = 0.0;
    }
    let found = judge(&[trial]);
    assert_eq!(found.verdict.outcome, Outcome::NotRecovered);
    assert!(found.verdict.estimate.unwrap() < 0.01);
}

#[test]
fn a_control_that_died_makes_the_run_invalid() {
    let mut trial = Rig::new(6).trial(&[1.0]);
    for window in &mut trial.cycles[0] {
        window.control = Some(0.0);
    }
    let found = judge(&[trial]);
    assert_eq!(found.verdict.outcome, Outcome::Invalid);
    assert!(found.verdict.reason.contains("control"), "{}", found.verdict.reason);
}

fn steady(treatment: f64, control: f64) -> Vec<WindowPair> {
    (0..20)
        .map(|i| {
            let noise = 1.0 + 0.01 * f64::from(i % 5);
            WindowPair { treatment: treatment * noise, control: Some(control * noise) }
        })
        .collect()
}

#[test]
fn the_reason_says_what_was_divided_by_what_and_that_the_control_moved() {
    let trial = RecoveryTrial { baseline: steady(340.0, 322.0), cycles: vec![steady(55.0, 235.0)] };
    let reason = judge(&[trial]).verdict.reason;
    assert!(reason.contains("went from 347 to 56.1 (x0.162)"), "{reason}");
    assert!(reason.contains("from 328 to 240 (x0.730) (its own drift of -27 %"), "{reason}");
    assert!(reason.contains("one divided by the other, window by window, is 0.222"), "{reason}");
}

#[test]
fn a_control_that_moved_by_more_than_a_factor_of_three_makes_the_run_invalid() {
    let trial =
        |after: f64| RecoveryTrial { baseline: steady(300.0, 300.0), cycles: vec![steady(300.0, after)] };
    let gone = judge(&[trial(80.0)]).verdict;
    assert_eq!(gone.outcome, Outcome::Invalid);
    assert!(gone.reason.contains("went from 306 to 81.6 by itself"), "{}", gone.reason);
    assert_ne!(judge(&[trial(120.0)]).verdict.outcome, Outcome::Invalid);
}

#[test]
fn a_baseline_that_carried_nothing_makes_the_run_invalid() {
    let treatment = BeforeAfter { baseline: vec![0.0; 10], after: vec![5.0; 10] };
    let found = judge_flat("rate", &treatment, None, &RecoverySettings::default()).unwrap();
    assert_eq!(found.verdict.outcome, Outcome::Invalid);
}

#[test]
fn plain_numbers_from_the_old_report_are_judged() {
    let treatment = BeforeAfter {
        baseline: vec![219.0, 221.0, 215.0, 220.0, 218.0, 222.0],
        after: vec![48.0, 47.0, 49.0, 48.5, 47.5, 48.0],
    };
    let found = judge_flat("connections_per_second", &treatment, None, &RecoverySettings::default()).unwrap();
    assert_eq!(found.verdict.outcome, Outcome::NotRecovered);
    assert!((found.verdict.estimate.unwrap() - 48.0 / 219.0).abs() < 0.01);
}

#[test]
fn a_control_of_other_length_is_compared_as_a_whole() {
    let mut rng = SmallRng::new(8);
    let mut series = |level: f64, n: usize| (0..n).map(|_| level * (0.01 * rng.normal()).exp()).collect();
    // The machine lost a fifth by itself.
    let treatment = BeforeAfter { baseline: series(100.0, 40), after: series(80.0, 40) };
    let control = BeforeAfter { baseline: series(50.0, 30), after: series(40.0, 35) };
    let found = judge_flat("rate", &treatment, Some(&control), &RecoverySettings::default()).unwrap();
    assert_eq!(found.verdict.outcome, Outcome::Recovered, "{}", found.verdict.reason);
}

#[test]
fn a_delay_that_doubled_has_not_recovered() {
    let settings = RecoverySettings { lower_is_better: true, ..RecoverySettings::default() };
    let treatment = BeforeAfter {
        baseline: vec![10.0, 10.1, 9.9, 10.0, 10.2, 9.8],
        after: vec![20.0, 20.1, 19.9, 20.0, 20.2, 19.8],
    };
    assert_eq!(judge_flat("ms", &treatment, None, &settings).unwrap().verdict.outcome, Outcome::NotRecovered);
    let better = BeforeAfter { baseline: treatment.after, after: treatment.baseline };
    assert_eq!(judge_flat("ms", &better, None, &settings).unwrap().verdict.outcome, Outcome::Recovered);
}

#[test]
fn one_window_on_each_side_decides_nothing() {
    let treatment = BeforeAfter { baseline: vec![100.0], after: vec![50.0] };
    let found = judge_flat("rate", &treatment, None, &RecoverySettings::default()).unwrap();
    assert_eq!(found.verdict.outcome, Outcome::Undecided);
    assert_eq!(found.verdict.interval, None);
}

#[test]
fn bad_windows_are_named_by_their_place() {
    let treatment = BeforeAfter { baseline: vec![1.0, -1.0], after: vec![1.0] };
    let error = judge_flat("rate", &treatment, None, &RecoverySettings::default()).unwrap_err();
    assert_eq!(error.to_string(), "`baseline.treatment`[1] is -1: expected 0 or more");
    assert!(judge_trials("rate", &[], &RecoverySettings::default()).is_err());
    assert!(judge_trials("rate", &[RecoveryTrial::default()], &RecoverySettings::default()).is_err());
}

/// Windows of a service that recovers exponentially, `lost` below its baseline at first, over `constants` time
/// constants.
fn returning(lost: f64, constants: f64, seed: u64) -> BeforeAfter {
    let mut rng = SmallRng::new(seed);
    let mut window = |level: f64| 200.0 * level * (0.01 * rng.normal()).exp();
    let baseline = (0..30).map(|_| window(1.0)).collect();
    let after = (0..30).map(|i| window(1.0 - lost * (-constants * f64::from(i) / 30.0).exp())).collect();
    BeforeAfter { baseline, after }
}

#[test]
fn a_return_under_way_is_not_recovered_yet() {
    let recovered = |lost: f64, constants: f64| {
        let outcome =
            |seed| judge_flat("rate", &returning(lost, constants, seed), None, &RecoverySettings::default());
        (0..200).filter(|&seed| outcome(seed).unwrap().verdict.outcome == Outcome::Recovered).count()
    };
    for (lost, constants) in [(0.1, 2.0), (0.15, 3.0), (0.08, 1.5)] {
        let found = recovered(lost, constants);
        assert!(found <= 12, "{lost} over {constants}: {found} of 200");
    }
    // Unchanged, and back within the first few windows.
    assert!(recovered(0.0, 1.0) >= 190);
    assert!(recovered(0.3, 20.0) >= 180);
    let reason = judge_flat("rate", &returning(0.1, 2.0, 1), None, &RecoverySettings::default())
        .unwrap()
        .verdict
        .reason;
    assert!(reason.contains("it is recovering"), "{reason}");
}
