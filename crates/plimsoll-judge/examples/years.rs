//! Simulated years of machines, made by another program (`tests/weeks/years.py`): what is told of them, when, and what of it is false.
//!
//!     cargo run --release -p plimsoll-judge --example years DAYS SEED...

use plimsoll_model::weeks::News;

#[path = "../tests/weeks/simulated.rs"]
mod simulated;

fn main() {
    let numbers: Vec<u32> =
        std::env::args().skip(1).map(|word| word.parse().expect("DAYS SEED... are numbers")).collect();
    let Some((days, seeds)) = numbers.split_first() else { panic!("DAYS SEED... were expected") };
    let mut false_ones = Vec::new();
    for seed in seeds {
        let mut wrong = 0;
        for told in simulated::machine(*seed, *days) {
            for message in &told.messages {
                let what = match message.news {
                    News::Change { hour, before, after, .. } => {
                        format!("{:+.1} % at {hour}", 100.0 * (after - before) / before)
                    }
                    News::Drift(drift) => {
                        format!("{:+.3e} an hour since {}", drift.per_hour, drift.since_hour)
                    }
                };
                let is_true = if message.is_true { "true" } else { "FALSE" };
                println!("{seed} {} day {:.1}: {what} {is_true}", told.series, message.told as f64 / 24.0);
                wrong += usize::from(!message.is_true);
            }
            if !told.delays.is_empty() {
                println!("{seed} {}: told after {:?} h", told.series, told.delays);
            }
        }
        println!("{seed}: {wrong} false messages in {days} days");
        false_ones.push(wrong);
    }
    println!("false messages: {false_ones:?}");
}
