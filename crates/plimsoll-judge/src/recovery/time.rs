//! Time to recover.

/// When the figure came back: the start of the first of `k` windows in a row that reach `reference * (1 - margin)`.
///
/// `windows` are (start, figure) in order of time, starts in any unit; the answer is one of the starts, in the same
/// unit. `None` when no such run exists. For figures where lower is better see [`first_of_run`].
pub fn time_to_recover(windows: &[(f64, f64)], reference: f64, margin: f64, k: usize) -> Option<f64> {
    let least = reference * (1.0 - margin);
    first_of_run(windows, k, |figure| figure >= least)
}

/// The start of the first of `k` windows in a row whose figure passes; a `k` of 0 counts as 1.
pub fn first_of_run(windows: &[(f64, f64)], k: usize, passes: impl Fn(f64) -> bool) -> Option<f64> {
    windows.windows(k.max(1)).find(|run| run.iter().all(|&(_, figure)| passes(figure))).map(|run| run[0].0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLIMB: [(f64, f64); 7] =
        [(0.0, 10.0), (1.0, 97.0), (2.0, 40.0), (3.0, 94.9), (4.0, 95.0), (5.0, 99.0), (6.0, 101.0)];

    #[test]
    fn a_single_good_window_in_the_climb_is_no_recovery() {
        assert_eq!(time_to_recover(&CLIMB, 100.0, 0.05, 3), Some(4.0));
        assert_eq!(time_to_recover(&CLIMB, 100.0, 0.05, 1), Some(1.0));
    }

    #[test]
    fn what_never_comes_back_has_no_time() {
        assert_eq!(time_to_recover(&CLIMB, 200.0, 0.05, 1), None);
        assert_eq!(time_to_recover(&CLIMB, 100.0, 0.05, 8), None);
        assert_eq!(time_to_recover(&[], 100.0, 0.05, 0), None);
        assert_eq!(time_to_recover(&[(0.0, f64::NAN)], 100.0, 0.05, 1), None);
    }

    #[test]
    fn a_delay_recovers_when_it_has_fallen() {
        assert_eq!(first_of_run(&CLIMB, 1, |ms| ms <= 50.0), Some(0.0));
    }
}
