//! The posterior in a few columns of text.

/// No more columns than this.
const COLUMNS: usize = 32;
const BARS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// One bar for each stretch of versions, as high as the stretch is probable against the most probable one. A version that is possible at
/// all has a bar that can be seen.
pub(super) fn bars(posterior: &[f64]) -> String {
    let columns = posterior.len().clamp(1, COLUMNS);
    let mut sums = vec![0.0; columns];
    for (version, p) in posterior.iter().enumerate() {
        sums[version * columns / posterior.len()] += p;
    }
    let highest = sums.iter().copied().fold(0.0, f64::max);
    let bar = |sum: &f64| {
        let share = if highest > 0.0 { sum / highest } else { 0.0 };
        let height = (share * (BARS.len() - 1) as f64).ceil() as usize;
        BARS[if share < 1e-4 { 0 } else { height.min(BARS.len() - 1) }]
    };
    sums.iter().map(bar).collect()
}

/// The stretch of versions that holds the culprit with a probability of 90 %: 5 % are left on each side.
pub(super) fn middle(posterior: &[f64]) -> (usize, usize) {
    let quantile = |q: f64| {
        let mut up_to = 0.0;
        posterior.iter().position(|p| {
            up_to += p;
            up_to >= q
        })
    };
    let last = posterior.len().saturating_sub(1);
    (quantile(0.05).unwrap_or(0), quantile(0.95).unwrap_or(last))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_probable_version_has_the_highest_bar_and_impossible_ones_have_none() {
        assert_eq!(bars(&[0.0, 0.1, 0.8, 0.1]), " ▁█▁");
        assert_eq!(bars(&[0.0, 1.0]), " █");
    }

    #[test]
    fn many_versions_share_columns() {
        let mut posterior = vec![0.0; 1000];
        posterior[999] = 1.0;
        let text = bars(&posterior);
        assert_eq!(text.chars().count(), COLUMNS);
        assert!(text.ends_with('█') && text.starts_with(' '));
    }

    #[test]
    fn the_middle_leaves_a_twentieth_on_each_side() {
        assert_eq!(middle(&[0.0, 0.04, 0.5, 0.43, 0.03]), (2, 3));
        assert_eq!(middle(&[0.0, 1.0]), (1, 1));
    }
}
