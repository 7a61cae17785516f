//! Results of several rounds as one figure.

use std::fs::OpenOptions;
use std::io::Write;

/// The median; of an even number of values the upper of the two in the middle.
pub fn median(values: &[f64]) -> f64 {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Variable with the file that collects the rows of several programs, for `guard`.
pub const ROWS_FILE: &str = "PLIMSOLL_LAB_ROWS";

/// Of each round one value over the other: median and range, as `1.31 [1.25, 1.73]`. The row also goes to the file in [`ROWS_FILE`].
pub fn ratio(row: &str, ours: &[f64], theirs: &[f64]) -> String {
    let ratios: Vec<f64> = ours.iter().zip(theirs).map(|(ours, theirs)| ours / theirs).collect();
    note_row(row, &ratios);
    let least = ratios.iter().copied().fold(f64::INFINITY, f64::min);
    let most = ratios.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    format!("{:.2} [{least:.2}, {most:.2}]", median(&ratios))
}

/// Appends `row<TAB>ours/theirs of each round` to the file in [`ROWS_FILE`], if that is set.
pub fn note_row(row: &str, ratios: &[f64]) {
    let Some(path) = std::env::var_os(ROWS_FILE) else { return };
    let file = OpenOptions::new().create(true).append(true).open(&path);
    let ratios: Vec<String> = ratios.iter().map(f64::to_string).collect();
    if let Err(error) = file.and_then(|mut file| writeln!(file, "{row}\t{}", ratios.join(" "))) {
        eprintln!("{}: {error}", path.display());
    }
}
