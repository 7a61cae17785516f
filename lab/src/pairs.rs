//! Two programs in turns, and the ratios of their results.

use std::error::Error;
use std::process::{Command, Stdio};

use wait4::Wait4;

use crate::load::cpu_seconds;
use crate::rounds::note_row;

pub type Outcome<T> = Result<T, Box<dyn Error>>;

/// Measures pairs, and prints both sides, with `digits` digits after the point, and their ratio.
pub fn report(
    name: &str,
    unit: &str,
    digits: usize,
    pairs: usize,
    ours: impl Fn() -> Outcome<f64>,
    theirs: impl Fn() -> Outcome<f64>,
) -> Outcome<()> {
    let mut found = Vec::new();
    for pair in 0..pairs {
        let (a, b);
        if pair % 2 == 0 {
            a = ours()?;
            b = theirs()?;
        } else {
            b = theirs()?;
            a = ours()?;
        }
        found.push((a, b));
    }
    let (mine, low, high) = middle(found.iter().map(|(a, _)| *a));
    let (peer, ..) = middle(found.iter().map(|(_, b)| *b));
    println!(
        "plimsoll {mine:.digits$} [{low:.digits$}, {high:.digits$}], {name} {peer:.digits$} {unit} (medians of {pairs})"
    );
    note_row(name, &found.iter().map(|(a, b)| a / b).collect::<Vec<_>>());
    let (ratio, low, high) = middle(found.iter().map(|(a, b)| a / b));
    println!("  ratio {ratio:.3} [{low:.3}, {high:.3}]");
    Ok(())
}

/// User and system time of a command and of its children, in seconds. What it prints is dropped.
pub fn cost(command: &[&str]) -> Outcome<f64> {
    let mut process = Command::new(command[0]);
    process
        .args(&command[1..])
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let ended = process.spawn().map_err(|error| format!("{}: {error}", command[0]))?.wait4()?;
    if !ended.status.success() {
        return Err(format!("`{}`: {}", command.join(" "), ended.status).into());
    }
    Ok(cpu_seconds(&ended))
}

/// The median, and the values that enclose it with about 95 % (David & Nagaraja, Order Statistics, section 7.1).
fn middle(values: impl Iterator<Item = f64>) -> (f64, f64, f64) {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let n = values.len();
    let depth = ((n as f64 - 1.96 * (n as f64).sqrt()) / 2.0).max(0.0) as usize;
    (values[n / 2], values[depth], values[n - 1 - depth])
}
