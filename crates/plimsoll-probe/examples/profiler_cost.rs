//! What the profiler costs: the work of a busy loop and of a loop that forks, with the profiler on and off, in random order within each pair.
//!
//!     cargo run --release -p plimsoll-probe --example profiler_cost

use std::error::Error;
use std::hint::black_box;
use std::process::Command;
use std::time::{Duration, Instant};

use plimsoll_model::observation::Arm;
use plimsoll_probe::profile::{HERTZ, HostNamespaces, Profiler};

/// Work whose amount is counted by how often it is done.
type Work = fn() -> u64;

/// Pairs of measurements.
const PAIRS: usize = 60;
/// How long each takes.
const SLICE: Duration = Duration::from_millis(200);

fn main() -> Result<(), Box<dyn Error>> {
    let profiler = Profiler::open()?;
    println!("{HERTZ} samples a second by {:?}", profiler.clock());
    for (name, work) in [("a busy loop", spin as Work), ("a loop that starts programs", start)] {
        let mut costs: Vec<f64> = (0..PAIRS).map(|pair| pair_of(&profiler, pair % 2 == 0, work)).collect();
        costs.sort_by(f64::total_cmp);
        // An interval of the median by order statistics: some 95 % for 60 pairs.
        let [low, median, high] = [22, PAIRS / 2, 38].map(|place| 100.0 * costs[place]);
        println!("{name}: {median:+.2} % [{low:+.2}, {high:+.2}], {PAIRS} pairs");
    }
    Ok(())
}

/// The logarithm of the work with the profiler over that without.
fn pair_of(profiler: &Profiler, on_first: bool, work: Work) -> f64 {
    let measured = |on: bool| {
        if on {
            profiler.start(HostNamespaces::new());
        }
        let done = count(work);
        if on {
            profiler.stop(Arm::Treatment);
        }
        done as f64
    };
    let (first, second) = (measured(on_first), measured(!on_first));
    let (on, off) = if on_first { (first, second) } else { (second, first) };
    // What was sampled is given names between two pairs, as between two phases.
    drop(profiler.take());
    (on / off).ln()
}

fn count(work: Work) -> u64 {
    let start = Instant::now();
    let mut done = 0;
    while start.elapsed() < SLICE {
        black_box(work());
        done += 1;
    }
    done
}

fn spin() -> u64 {
    (0..1000)
        .fold(1, |state: u64, _| black_box(state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1)))
}

fn start() -> u64 {
    Command::new("/bin/true").status().map_or(0, |status| u64::from(status.success()))
}
