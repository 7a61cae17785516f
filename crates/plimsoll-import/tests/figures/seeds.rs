//! Seeds of the texts that properties draw: some that never change, and one that nobody has tried yet.

use std::env;
use std::fmt::Debug;
use std::time::{SystemTime, UNIX_EPOCH};

use proptest::strategy::Strategy;
use proptest::test_runner::{Config, RngSeed, TestCaseResult, TestRunner};

const FIXED: [u64; 3] = [1, 2, 3];

/// The seeds of `FIGURES_SEEDS`, between commas; else the fixed ones, and one of the clock.
fn seeds() -> Vec<u64> {
    if let Ok(given) = env::var("FIGURES_SEEDS") {
        return given.split(',').map(|seed| seed.trim().parse().expect("a seed is a whole number")).collect();
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("the clock is past 1970");
    FIXED.into_iter().chain([u64::from(now.subsec_nanos())]).collect()
}

/// Tries a property with `cases` drawn values for each seed. A failure names the seed that repeats it.
pub(crate) fn holds<S: Strategy>(
    name: &str,
    cases: u32,
    strategy: &S,
    property: impl Fn(S::Value) -> TestCaseResult,
) where
    S::Value: Debug,
{
    for seed in seeds() {
        let rng_seed = RngSeed::Fixed(seed);
        let config = Config { cases, rng_seed, failure_persistence: None, ..Config::default() };
        if let Err(error) = TestRunner::new(config).run(strategy, &property) {
            panic!("{name}, FIGURES_SEEDS={seed}: {error}");
        }
    }
}
