//! Prints the accuracy of `modes` and `changes` on series of another make than those of `simulate`, and the bound of any test of modes, as
//! a table in Markdown.
//!
//! `cargo run --release --example unseen -- [--quick] [--tuned] [modes | bound | changes | smooth] ...`
//!
//! The thresholds of both tests were chosen on the series that `--tuned` asks for. Without it, other distributions, other ranges and
//! other seeds are drawn, which were not looked at before the thresholds stood. Everything is seeded.

mod bound;
mod changes;
mod modes;
mod smooth;

/// The two sets of series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Set {
    /// Those on which the thresholds were chosen.
    Tuned,
    /// Those that the tuning did not see.
    HeldOut,
}

/// Name of a test, and the function that makes its rows.
type Topic = (&'static str, fn(Set, bool) -> Vec<String>);

const TOPICS: [Topic; 4] =
    [("modes", modes::rows), ("bound", bound::rows), ("changes", changes::rows), ("smooth", smooth::rows)];

fn main() -> std::process::ExitCode {
    let (options, names): (Vec<String>, Vec<String>) =
        std::env::args().skip(1).partition(|argument| argument.starts_with('-'));
    let known = |name: &String| TOPICS.iter().any(|(topic, _)| topic == name);
    let option = |wanted: &str| options.iter().any(|option| option == wanted);
    if options.iter().any(|option| !["--quick", "--tuned"].contains(&option.as_str()))
        || !names.iter().all(known)
    {
        eprintln!("usage: unseen [--quick] [--tuned] [modes | bound | changes | smooth] ...");
        return std::process::ExitCode::from(2);
    }
    let set = if option("--tuned") { Set::Tuned } else { Set::HeldOut };
    println!("| method | figure | reached | target | |\n| --- | --- | --- | --- | --- |");
    for (topic, rows) in TOPICS {
        if names.is_empty() || names.iter().any(|name| name == topic) {
            rows(set, option("--quick"))
                .iter()
                .for_each(|row| println!("{row} {} |", plimsoll_lab::row::met(row)));
        }
    }
    std::process::ExitCode::SUCCESS
}
