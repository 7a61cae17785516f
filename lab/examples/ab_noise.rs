//! `ab`'s decision on noise that was recorded: `ab_noise RUNS PAIRS FILE...`.
//!
//! A file is what `plimsoll ab X X --format json` printed of a program against itself: blocks of four runs that were next to each other. A simulated
//! trial begins at a random block and takes the blocks that follow. Within each block chance says which runs are base and which are head, and
//! head's are made slower. The same figures, the first half as base and the second as head, are what sequential runs would have seen: they are judged
//! by the Mann-Whitney test at 5 % (benchstat) and by Welch's t test at 5 %.
//!
//! Record with `plimsoll ab ./x ./x --budget 4m --margin 0.0001% --alpha 0.0000001% --format json -- '{}' > noise.json`.

use plimsoll_judge::sequential::{Decision, Family, SequentialSettings};
use plimsoll_judge::stats::rank::mann_whitney;
use plimsoll_judge::stats::rng::SmallRng;
use plimsoll_judge::stats::{mean, sd};
use plimsoll_model::verdict::Outcome;

const EFFECTS: [f64; 5] = [0.0, 0.01, 0.02, 0.05, 0.1];

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [runs, pairs, files @ ..] = args.as_slice() else { panic!("usage: ab_noise RUNS PAIRS FILE...") };
    let (runs, pairs): (u64, usize) = (runs.parse().expect("a number"), pairs.parse().expect("a number"));
    println!(
        "| noise | slowed by | runs | ab: slower | faster | same | undecided | pairs (mean) | Mann-Whitney: slower | faster | Welch: slower | faster |"
    );
    println!("| --- |{}", " ---: |".repeat(11));
    for file in files {
        let text = std::fs::read_to_string(file).expect("a file");
        let found: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        for series in found["series"].as_array().expect("series") {
            let metric = series["metric"].as_str().unwrap_or_default();
            if metric != "wall_time" && metric != "cpu_time" {
                continue;
            }
            let figures: Vec<f64> =
                serde_json::from_value::<Vec<[f64; 2]>>(series["pairs"].clone()).expect("pairs").concat();
            for effect in EFFECTS {
                let mut row = [0_u64; 9];
                (0..runs).for_each(|seed| trial(&figures, pairs, effect, seed, &mut row));
                let share = |count: u64| format!("{:.2} %", 100.0 * count as f64 / runs as f64);
                let shares: Vec<String> = row[..8].iter().map(|count| share(*count)).collect();
                println!(
                    "| {file} {metric} | {} % | {runs} | {} | {:.0} | {} |",
                    100.0 * effect,
                    shares[..4].join(" | "),
                    row[8] as f64 / runs as f64,
                    shares[4..].join(" | ")
                );
            }
        }
    }
}

/// One trial: adds to the counts of slower, faster, same, undecided; of both sequential tests; and of pairs.
fn trial(figures: &[f64], pairs: usize, effect: f64, seed: u64, row: &mut [u64; 9]) {
    let mut rng = SmallRng::new(seed);
    let blocks = figures.len() / 4;
    let first = (rng.uniform() * blocks as f64) as usize;
    let taken: Vec<f64> =
        (first..first + pairs / 2).flat_map(|block| figures[block % blocks * 4..][..4].to_vec()).collect();
    let mut family =
        Family::new(1, SequentialSettings { most: None, ..SequentialSettings::default() }).expect("settings");
    let mut used = 0;
    for block in taken.chunks(4) {
        let mut order = [0, 1, 2, 3];
        rng.shuffle(&mut order);
        for [base, head] in [[0, 2], [1, 3]] {
            family.push(0, block[order[base]], block[order[head]] * (1.0 + effect)).expect("figures");
        }
        used += 2;
        if family.is_decided() {
            break;
        }
    }
    let decision = family.decisions().next().expect("one member");
    row[match decision {
        Decision::Different(Outcome::Slower) => 0,
        Decision::Different(_) => 1,
        Decision::Equivalent => 2,
        Decision::NotYet { .. } => 3,
    }] += 1;
    row[8] += used as u64;
    // As much machine time as `ab` took, one version after the other.
    let (base, head) = taken[..2 * used].split_at(used);
    let head: Vec<f64> = head.iter().map(|value| value * (1.0 + effect)).collect();
    let higher = mean(&head) > mean(base);
    if mann_whitney(base, &head).p < 0.05 {
        row[if higher { 4 } else { 5 }] += 1;
    }
    let error = ((sd(base).powi(2) + sd(&head).powi(2)) / used as f64).sqrt();
    let t = (mean(&head) - mean(base)) / error;
    if t > 1.96 {
        row[6] += 1;
    } else if t < -1.96 {
        row[7] += 1;
    }
}
