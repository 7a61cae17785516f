//! The limit: coverage of its interval, error of the estimate, and number of probes.

use plimsoll_judge::limit::{LimitSettings, Probe, limit, next};
use plimsoll_judge::stats::rng::SmallRng;
use plimsoll_lab::row::{row, share};
use rayon::prelude::*;

/// The most probes in a trial, as shipped.
const MOST: usize = 30;

struct System {
    name: &'static str,
    /// The steepness of its edge: a logistic one in the logarithm of the rate.
    steepness: f64,
    /// Scatter of its trials' limits.
    scatter: f64,
    /// The share of probes that break the bound for another reason.
    hiccups: f64,
    trials: usize,
}

const SYSTEMS: [System; 5] = [
    System {
        name: "3 trials, edge 2 %, scatter 2 %",
        steepness: 0.02,
        scatter: 0.02,
        hiccups: 0.02,
        trials: 3,
    },
    System {
        name: "3 trials, edge 5 %, scatter 5 %",
        steepness: 0.05,
        scatter: 0.05,
        hiccups: 0.02,
        trials: 3,
    },
    System {
        name: "6 trials, edge 5 %, scatter 5 %",
        steepness: 0.05,
        scatter: 0.05,
        hiccups: 0.02,
        trials: 6,
    },
    System {
        name: "3 trials, edge 2 %, scatter 2 %, 10 % hiccups",
        steepness: 0.02,
        scatter: 0.02,
        hiccups: 0.1,
        trials: 3,
    },
    System {
        name: "1 trial, edge 2 %, scatter 2 %",
        steepness: 0.02,
        scatter: 0.02,
        hiccups: 0.02,
        trials: 1,
    },
];

pub(crate) fn rows(quick: bool) -> Vec<String> {
    let runs = if quick { 60 } else { 1000 };
    SYSTEMS.iter().flat_map(|system| of_system(system, runs)).collect()
}

fn of_system(system: &System, runs: usize) -> Vec<String> {
    let found: Vec<Searched> = (0..runs as u64).into_par_iter().map(|seed| search(system, seed)).collect();
    let mean = |of: &dyn Fn(&Searched) -> f64| found.iter().map(of).sum::<f64>() / runs as f64;
    let method = format!("limit in a range of 1:200, {}", system.name);
    let covered = found.iter().filter(|found| found.covered).count();
    vec![
        row(&method, "coverage of the 95 % interval", &share(covered, runs), "≥ 93 %"),
        row(
            &method,
            "mean distance of the estimate",
            &format!("{:.1} %", 100.0 * mean(&|found| found.off)),
            "",
        ),
        row(
            &method,
            "mean half width of the interval",
            &format!("{:.1} %", 100.0 * mean(&|found| found.half_width)),
            "",
        ),
        row(&method, "mean probes in a trial", &format!("{:.1}", mean(&|found| found.probes)), ""),
    ]
}

struct Searched {
    covered: bool,
    off: f64,
    half_width: f64,
    probes: f64,
}

fn search(system: &System, seed: u64) -> Searched {
    let mut rng = SmallRng::new(seed);
    let settings = LimitSettings::between(100.0, 20_000.0);
    // Anywhere in the range, so that no grid is met.
    let truth = 150.0 * (100.0_f64.ln() * rng.uniform()).exp();
    let trials: Vec<Vec<Probe>> =
        (0..system.trials).map(|_| trial(system, truth, &settings, &mut rng)).collect();
    let found = limit(&trials, &settings).unwrap_or_else(|e| panic!("{e}"));
    let (lo, hi) = (found.interval.lo(), found.interval.hi());
    Searched {
        covered: (lo..=hi).contains(&truth),
        off: found.estimate.map_or(1.0, |estimate| (estimate / truth).ln().abs()),
        half_width: (hi / lo.max(1.0)).ln() / 2.0,
        probes: trials.iter().map(Vec::len).sum::<usize>() as f64 / system.trials as f64,
    }
}

fn trial(system: &System, truth: f64, settings: &LimitSettings, rng: &mut SmallRng) -> Vec<Probe> {
    let limit = truth * (system.scatter * rng.normal()).exp();
    let mut probes = Vec::new();
    while probes.len() < MOST {
        let Some(at) = next(&probes, settings).unwrap_or_else(|e| panic!("{e}")) else { break };
        let holds = 1.0 / (1.0 + ((at / limit).ln() / system.steepness).exp());
        let held = rng.uniform() < holds && rng.uniform() >= system.hiccups;
        probes.push(Probe { at, held });
    }
    probes
}
