//! Cost of the profiler: the work of a busy loop, of one that forks, and of one of system calls alone, with the profiler on and off, in turns
//! within each pair. It also samples the waits of all processes in this network namespace, as it does with the hosts of a run.
//!
//!     cargo run --release --example profiler_cost

use std::error::Error;
use std::fs;
use std::hint::black_box;
use std::os::unix::fs::MetadataExt;
use std::process::Command;
use std::time::{Duration, Instant};

use plimsoll_model::observation::Arm;
use plimsoll_probe::profile::{HERTZ, HostNamespaces, Profiler, usable_clock};

/// Work that returns the number of its repetitions.
type Work = fn() -> u64;

const PAIRS: usize = 40;
/// Duration of each measurement.
const SLICE: Duration = Duration::from_millis(600);

fn main() -> Result<(), Box<dyn Error>> {
    let profiler = Profiler::open("no run")?;
    println!("{HERTZ} samples a second by {:?}", usable_clock()?);
    let here = fs::metadata("/proc/self/ns/net")?.ino();
    for (name, work) in [
        ("a busy loop", spin as Work),
        ("a loop that starts programs", start),
        ("a loop of system calls", call),
        ("a loop of system calls that fail", fail),
    ] {
        let mut costs: Vec<f64> =
            (0..PAIRS).map(|pair| pair_of(&profiler, here, pair % 2 == 0, work)).collect();
        costs.sort_by(f64::total_cmp);
        // An interval of the median by order statistics: some 95 % for 40 pairs.
        let [low, median, high] = [13, PAIRS / 2, 26].map(|place| 100.0 * costs[place]);
        println!("{name}: {median:+.2} % [{low:+.2}, {high:+.2}], {PAIRS} pairs");
    }
    Ok(())
}

/// The logarithm of the work with the profiler over that without.
fn pair_of(profiler: &Profiler, here: u64, on_first: bool, work: Work) -> f64 {
    let measured = |on: bool| {
        if on {
            profiler.start(HostNamespaces::from([(here, "here".to_owned())]));
        }
        let done = count(work);
        if on {
            profiler.stop(Arm::Treatment);
        }
        done as f64
    };
    let (first, second) = (measured(on_first), measured(!on_first));
    let (on, off) = if on_first { (first, second) } else { (second, first) };
    // Samples get their names between two pairs, as between two phases.
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

fn call() -> u64 {
    (0..100).map(|_| black_box(u64::from(std::os::unix::process::parent_id()))).fold(0, u64::wrapping_add)
}

fn fail() -> u64 {
    (0..100).map(|_| u64::from(fs::metadata("/no/such/file").is_err())).sum()
}
