//! A series as a row of bars, one character each.

const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// The last `width` values as bars between 0 and the greatest of them; a blank where there is no value.
pub(crate) fn spark(values: impl DoubleEndedIterator<Item = f64>, width: usize) -> String {
    let mut shown: Vec<f64> = values.rev().take(width).collect();
    shown.reverse();
    let most = shown.iter().copied().filter(|value| value.is_finite()).fold(0.0, f64::max);
    let bar = |value: f64| match value {
        value if !value.is_finite() => ' ',
        _ if most <= 0.0 => BARS[0],
        value => BARS[((value / most * 8.0).ceil() as usize).clamp(1, 8) - 1],
    };
    shown.into_iter().map(bar).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_greatest_value_is_a_full_bar_and_the_oldest_go_first() {
        assert_eq!(spark([8.0, 1.0, 4.0, f64::NAN, 0.0].into_iter(), 9), "█▁▄ ▁");
        assert_eq!(spark([8.0, 1.0, 4.0].into_iter(), 2), "▂█");
        assert_eq!(spark([0.0, 0.0].into_iter(), 5), "▁▁");
        assert_eq!(spark([].into_iter(), 5), "");
    }
}
