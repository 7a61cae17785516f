use super::*;
use crate::stats::rng::SmallRng;

/// A system with a limit of its own in every trial.
struct System {
    limit: f64,
    /// The steepness of its edge.
    steepness: f64,
    /// How far trials scatter.
    scatter: f64,
    /// The share of probes that break for another reason.
    hiccups: f64,
}

impl System {
    fn trial(&self, rng: &mut SmallRng, settings: &LimitSettings, most: usize) -> Vec<Probe> {
        let limit = self.limit * (self.scatter * rng.normal()).exp();
        let mut probes = Vec::new();
        while let Some(at) = next(&probes, settings).unwrap().filter(|_| probes.len() < most) {
            let holds = 1.0 / (1.0 + ((at / limit).ln() / self.steepness).exp());
            let held = rng.uniform() < holds && rng.uniform() >= self.hiccups;
            probes.push(Probe { at, held });
        }
        probes
    }
}

#[test]
fn the_interval_holds_the_limit_and_few_probes_are_needed() {
    let settings = LimitSettings::between(100.0, 20_000.0);
    let system = System { limit: 1700.0, steepness: 0.02, scatter: 0.02, hiccups: 0.03 };
    let (mut covered, mut probes, mut error) = (0, 0, 0.0);
    const RUNS: u64 = 60;
    for seed in 0..RUNS {
        let mut rng = SmallRng::new(seed);
        let trials: Vec<_> = (0..3).map(|_| system.trial(&mut rng, &settings, 40)).collect();
        probes += trials.iter().map(Vec::len).sum::<usize>();
        let found = limit(&trials, &settings).unwrap();
        covered += usize::from(found.interval.lo() <= system.limit && system.limit <= found.interval.hi());
        error += (found.estimate.unwrap() / system.limit).ln().abs();
    }
    let (mean_probes, mean_error) = (probes as f64 / (3 * RUNS) as f64, error / RUNS as f64);
    assert!(covered >= 54, "{covered} of {RUNS} intervals hold the limit");
    assert!(mean_probes < 25.0, "{mean_probes} probes in a trial");
    assert!(mean_error < 0.03, "{mean_error} off on average");
}

#[test]
fn a_sharp_edge_is_found_like_by_bisection() {
    let settings = LimitSettings::between(1.0, 1e6);
    let sharp = System { limit: 31_415.0, steepness: 1e-6, scatter: 0.0, hiccups: 0.0 };
    let probes = sharp.trial(&mut SmallRng::new(1), &settings, 100);
    assert!(probes.len() < 30, "{} probes", probes.len());
    let found = limit(&[probes], &settings).unwrap();
    assert!((found.estimate.unwrap() / 31_415.0 - 1.0).abs() < 0.03, "{found:?}");
}

#[test]
fn trials_that_agree_are_surer_than_one_and_those_that_do_not_are_not() {
    let settings = LimitSettings::between(100.0, 10_000.0);
    let at = |limit: f64| {
        let system = System { limit, steepness: 0.01, scatter: 0.0, hiccups: 0.0 };
        system.trial(&mut SmallRng::new(7), &settings, 40)
    };
    let width = |trials: &[Vec<Probe>]| {
        let Interval(lo, hi) = limit(trials, &settings).unwrap().interval;
        (hi / lo).ln()
    };
    let (one, alike) = (width(&[at(900.0)]), width(&[at(900.0), at(900.0), at(900.0), at(900.0)]));
    let apart = width(&[at(700.0), at(900.0), at(1100.0), at(900.0)]);
    assert!(alike < one / 2.0, "{alike} against {one}");
    assert!(apart > 2.0 * alike, "{apart} against {alike}");
}

#[test]
fn a_limit_outside_of_the_range_is_said_to_be_there() {
    let settings = LimitSettings::between(100.0, 1000.0);
    for (limit, held, open) in
        [(1e6, true, Interval(1000.0, f64::INFINITY)), (1.0, false, Interval(0.0, 100.0))]
    {
        let system = System { limit, steepness: 0.02, scatter: 0.0, hiccups: 0.0 };
        let probes = system.trial(&mut SmallRng::new(3), &settings, 40);
        assert!(probes.len() < 25 && probes.iter().all(|probe| probe.held == held), "{probes:?}");
        let verdict = judge("requests_per_second", std::slice::from_ref(&probes), &settings, None).unwrap();
        assert_eq!((verdict.outcome, verdict.estimate), (Outcome::Undecided, None));
        let interval = verdict.interval.unwrap();
        assert_eq!((interval.lo(), interval.hi()), (open.lo(), open.hi()));
        // The claim may be decided all the same.
        let wanted = judge("requests_per_second", &[probes], &settings, Some(500.0)).unwrap();
        assert_eq!(wanted.outcome, if held { Outcome::Reached } else { Outcome::NotReached });
    }
}

#[test]
fn a_least_limit_is_reached_or_not_or_left_open() {
    let settings = LimitSettings::between(100.0, 10_000.0);
    let system = System { limit: 900.0, steepness: 0.01, scatter: 0.0, hiccups: 0.0 };
    let trials: Vec<_> = (0..4).map(|seed| system.trial(&mut SmallRng::new(seed), &settings, 40)).collect();
    let outcome = |least| judge("requests_per_second", &trials, &settings, Some(least)).unwrap().outcome;
    assert_eq!(outcome(500.0), Outcome::Reached);
    assert_eq!(outcome(1500.0), Outcome::NotReached);
    assert_eq!(outcome(900.0), Outcome::Undecided);
    assert_eq!(judge("requests_per_second", &trials, &settings, None).unwrap().outcome, Outcome::Estimated);
}

#[test]
fn the_unit_does_not_matter_and_the_search_is_a_function_of_its_probes() {
    let probes = |unit: f64| -> Vec<Probe> {
        [(1000.0, false), (300.0, true), (600.0, true)]
            .map(|(at, held)| Probe { at: at * unit, held })
            .to_vec()
    };
    let next_of = |unit: f64| {
        let settings = LimitSettings::between(100.0 * unit, 10_000.0 * unit);
        next(&probes(unit), &settings).unwrap().unwrap()
    };
    assert!((next_of(1000.0) / next_of(1.0) / 1000.0 - 1.0).abs() < 1e-9);
    assert_eq!(next_of(1.0), next_of(1.0));
}

#[test]
fn what_makes_no_sense_is_refused() {
    let settings = LimitSettings::between(100.0, 1000.0);
    assert!(matches!(limit(&[vec![]], &settings), Err(JudgeError::Empty { .. })));
    let strange = [Probe { at: f64::NAN, held: true }];
    assert!(matches!(next(&strange, &settings), Err(JudgeError::NotPositive { .. })));
    assert!(matches!(
        next(&[], &LimitSettings::between(10.0, 5.0)),
        Err(JudgeError::Setting { name: "to", .. })
    ));
}

#[test]
fn numbers_in_a_sentence_have_three_digits() {
    for (value, text) in [(1234.5, "1234"), (12.345, "12.3"), (10.0, "10"), (0.5, "0.5")] {
        assert_eq!(number(value), text);
    }
}
