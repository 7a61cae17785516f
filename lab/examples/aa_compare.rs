//! Error rates of `plimsoll compare` on a machine with other work.
//!
//! `sha256sum` of a file is compared with itself, and with `sha256sum` of a file that is 5 % longer, again and again, while other
//! threads take the CPUs for random spells. It prints how many of the first raised an alarm, and how many of the second were found; how
//! far it is goes to stderr.
//!
//! ```text
//! cargo build --release -p plimsoll
//! cargo run --release --example aa_compare -- ../target/release/plimsoll REPETITIONS MEGABYTES METRIC MAX_PAIRS
//! ```
//!
//! As shipped: 100 repetitions, 16 MB, wall time, 500 pairs.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use plimsoll_judge::stats::rng::SmallRng;
use plimsoll_judge::stats::{mean, median, sd};
use serde_json::Value;

/// The longer file, in lengths of the shorter one.
const LONGER: f64 = 1.05;
/// The longest spell of work or rest of the load, in milliseconds.
const LONGEST_SPELL: f64 = 50.0;

struct Settings {
    program: PathBuf,
    repetitions: usize,
    megabytes: usize,
    metric: String,
    max_pairs: usize,
}

/// Outcomes of a series of comparisons.
#[derive(Default)]
struct Tally {
    slower: usize,
    faster: usize,
    same: usize,
    undecided: usize,
    pairs: Vec<f64>,
    estimates: Vec<f64>,
    spreads: Vec<f64>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let settings = settings()?;
    let program = &settings.program;
    let folder = tempfile::tempdir()?;
    let [short, long] = ["short", "long"].map(|name| folder.path().join(name));
    let bytes = settings.megabytes * 1_000_000;
    write_noise(&short, bytes)?;
    write_noise(&long, (bytes as f64 * LONGER) as usize)?;
    let load = Load::start();
    println!(
        "{} compare --a 'sha256sum A' --b 'sha256sum B' --metric {} --max-pairs {} --seed 0.. --format json",
        program.display(),
        settings.metric,
        settings.max_pairs
    );
    println!(
        "{} MB, {} repetitions, {} threads of load\n",
        settings.megabytes,
        settings.repetitions,
        load.threads()
    );
    println!(
        "| B | slower | faster | same | undecided | pairs, mean | B/A, median | SD of ln(B/A) in pairs |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- | --- |");
    let mut tallies = [("A itself", &short), ("5 % longer", &long)].map(|of| (of, Tally::default()));
    for seed in 0..settings.repetitions {
        for ((_, other), tally) in &mut tallies {
            tally.add(&compare(program, &settings, (&short, other), seed)?)?;
        }
        let rows: Vec<String> = tallies.iter().map(|((name, _), tally)| tally.row(name)).collect();
        eprintln!("after {}:\n{}", seed + 1, rows.join("\n"));
    }
    for ((name, _), tally) in &tallies {
        println!("{}", tally.row(name));
    }
    load.stop();
    Ok(())
}

fn settings() -> Result<Settings, Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |place: usize, shipped: usize| words.get(place).map_or(Ok(shipped), |word| word.parse());
    Ok(Settings {
        program: words.first().ok_or("the path of the program is missing")?.into(),
        repetitions: number(1, 100)?,
        megabytes: number(2, 16)?,
        metric: words.get(3).cloned().unwrap_or_else(|| "wall".into()),
        max_pairs: number(4, 500)?,
    })
}

fn write_noise(path: &Path, bytes: usize) -> std::io::Result<()> {
    let mut rng = SmallRng::new(1);
    let noise: Vec<u8> = (0..bytes).map(|_| rng.below(256) as u8).collect();
    std::fs::write(path, noise)
}

fn compare(
    program: &Path,
    settings: &Settings,
    (a, b): (&Path, &Path),
    seed: usize,
) -> Result<Value, Box<dyn Error>> {
    let sum = |file: &Path| format!("sha256sum {}", file.display());
    let output = Command::new(program)
        .args(["compare", "--format", "json", "--metric", &settings.metric])
        .args(["--a", &sum(a), "--b", &sum(b)])
        .args(["--max-pairs", &settings.max_pairs.to_string(), "--seed", &seed.to_string()])
        .output()?;
    serde_json::from_slice(&output.stdout)
        .map_err(|error| format!("{error}: {}", String::from_utf8_lossy(&output.stderr)).into())
}

impl Tally {
    fn add(&mut self, verdict: &Value) -> Result<(), Box<dyn Error>> {
        match verdict["outcome"].as_str() {
            Some("slower") => self.slower += 1,
            Some("faster") => self.faster += 1,
            Some("same") => self.same += 1,
            Some("undecided") => self.undecided += 1,
            other => return Err(format!("no outcome of a comparison: {other:?}").into()),
        }
        let pairs = verdict["pairs"].as_array().ok_or("no pairs")?;
        let ratio = |pair: &Value| Some(pair["b"].as_f64()?.ln() - pair["a"].as_f64()?.ln());
        let ratios: Vec<f64> = pairs.iter().filter_map(ratio).collect();
        self.pairs.push(pairs.len() as f64);
        self.estimates.push(verdict["estimate"].as_f64().ok_or("no estimate")?);
        self.spreads.push(sd(&ratios));
        Ok(())
    }

    fn row(&self, name: &str) -> String {
        format!(
            "| {name} | {} | {} | {} | {} | {:.1} | {:.4} | {:.3} |",
            self.slower,
            self.faster,
            self.same,
            self.undecided,
            mean(&self.pairs),
            median(&self.estimates),
            median(&self.spreads),
        )
    }
}

/// One thread for each CPU, busy and idle in turns for random spells: half of the machine on average, never in step.
struct Load {
    stop: Arc<AtomicBool>,
    threads: Vec<std::thread::JoinHandle<()>>,
}

impl Load {
    fn start() -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let cpus = std::thread::available_parallelism().map_or(1, usize::from);
        let thread = |seed: usize| {
            let stop = Arc::clone(&stop);
            std::thread::spawn(move || {
                let mut rng = SmallRng::new(seed as u64);
                while !stop.load(Ordering::Relaxed) {
                    let until = Instant::now() + spell(&mut rng);
                    while Instant::now() < until {
                        std::hint::spin_loop();
                    }
                    std::thread::sleep(spell(&mut rng));
                }
            })
        };
        Self { threads: (0..cpus).map(thread).collect(), stop }
    }

    fn threads(&self) -> usize {
        self.threads.len()
    }

    fn stop(self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads {
            // A thread that panicked has printed why.
            thread.join().ok();
        }
    }
}

fn spell(rng: &mut SmallRng) -> Duration {
    Duration::from_secs_f64(LONGEST_SPELL / 1e3 * rng.uniform())
}
