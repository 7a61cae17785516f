//! Prints the accuracy of the judge's tests in simulation, beside its targets, as a table in Markdown.
//!
//! `cargo run --release --example simulate -- [--quick] [NAME ...]`
//!
//! One module per test, each with `rows(quick)`; without names all of them run. Everything is seeded, so that the same
//! command prints the same table (times apart). The last column says where a target is missed.

mod bisect;
mod changes;
mod compare;
mod factors;
mod growth;
mod limit;
mod load_curve;
mod models;
mod modes;
mod noise;
mod recovery;

/// Name of a test, and the function that makes its rows; true asks for a quick look.
type Topic = (&'static str, fn(bool) -> Vec<String>);

const TOPICS: [Topic; 10] = [
    ("bisect", bisect::rows),
    ("changes", changes::rows),
    ("compare", compare::rows),
    ("factors", factors::rows),
    ("growth", growth::rows),
    ("limit", limit::rows),
    ("load-curve", load_curve::rows),
    ("models", models::rows),
    ("modes", modes::rows),
    ("recovery", recovery::rows),
];

fn main() -> std::process::ExitCode {
    let (options, names): (Vec<String>, Vec<String>) =
        std::env::args().skip(1).partition(|argument| argument.starts_with('-'));
    let known = |name: &String| TOPICS.iter().any(|(topic, _)| topic == name);
    if options.iter().any(|option| option != "--quick") || !names.iter().all(known) {
        let topics: Vec<&str> = TOPICS.iter().map(|(topic, _)| *topic).collect();
        eprintln!("usage: simulate [--quick] [{}] ...", topics.join(" | "));
        return std::process::ExitCode::from(2);
    }
    println!("| method | figure | reached | target | |\n| --- | --- | --- | --- | --- |");
    for (topic, rows) in TOPICS {
        if names.is_empty() || names.iter().any(|name| name == topic) {
            rows(!options.is_empty())
                .iter()
                .for_each(|row| println!("{row} {} |", plimsoll_lab::row::met(row)));
        }
    }
    std::process::ExitCode::SUCCESS
}
