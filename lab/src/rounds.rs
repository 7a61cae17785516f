//! What several rounds found, as one figure.

/// The median; of an even number of values the upper of the two in the middle.
pub fn median(values: &[f64]) -> f64 {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Of each round one value over the other: median and range, as `1.31 [1.25, 1.73]`.
pub fn ratio(ours: &[f64], theirs: &[f64]) -> String {
    let ratios: Vec<f64> = ours.iter().zip(theirs).map(|(ours, theirs)| ours / theirs).collect();
    let least = ratios.iter().copied().fold(f64::INFINITY, f64::min);
    let most = ratios.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    format!("{:.2} [{least:.2}, {most:.2}]", median(&ratios))
}
