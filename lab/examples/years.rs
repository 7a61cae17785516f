//! Simulated years of machines, made by another program (`tests/weeks/years.py`): the messages about them, and which of those are false.
//!
//!     cargo run --release --example years DAYS SEED... [still] [SERIES...]
//!
//! With `still` nothing happens to the machines, so that each message is false; series that are named are looked at alone.

use plimsoll_model::weeks::News;

#[path = "../../crates/plimsoll-judge/tests/weeks/simulated.rs"]
mod simulated;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let numbers: Vec<u32> = words.iter().map_while(|word| word.parse().ok()).collect();
    let Some((days, seeds)) = numbers.split_first() else { panic!("DAYS SEED... were expected") };
    let (still, only): (Vec<&String>, Vec<&String>) =
        words[numbers.len()..].iter().partition(|word| *word == "still");
    let mut false_ones = Vec::new();
    for seed in seeds {
        let mut wrong = 0;
        let wanted = |series: &str| only.is_empty() || only.iter().any(|name| *name == series);
        for announced in simulated::machine(*seed, *days, !still.is_empty(), &wanted) {
            for message in &announced.messages {
                let what = match message.news {
                    News::Change { hour, before, after, .. } => {
                        format!("{:+.1} % at {hour}", 100.0 * (after - before) / before)
                    }
                    News::Drift(drift) => {
                        format!("{:+.3e} an hour since {}", drift.per_hour, drift.since_hour)
                    }
                };
                let is_true = if message.is_true { "true" } else { "FALSE" };
                println!(
                    "{seed} {} day {:.1}: {what} {is_true}",
                    announced.series,
                    message.hour as f64 / 24.0
                );
                wrong += usize::from(!message.is_true);
            }
            if !announced.delays.is_empty() {
                println!("{seed} {}: announced after {:?} h", announced.series, announced.delays);
            }
        }
        println!("{seed}: {wrong} false messages in {days} days");
        false_ones.push(wrong);
    }
    println!("false messages: {false_ones:?}");
}
