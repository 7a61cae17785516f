//! CSV files of collectd (collectd.conf(5), plugin `csv`): a line for each time, seconds since 1970 first.

use super::{Columns, MonitoringError};

pub(super) fn csv(text: &str) -> Result<Columns, MonitoringError> {
    let mut columns = Columns::new();
    for (index, line) in text.lines().enumerate() {
        let mut cells = line.split(',');
        let first = cells.next().unwrap_or_default();
        // Files of several days may follow one another.
        if first == "epoch" {
            if columns.is_empty() {
                columns = cells.map(|name| (name.to_owned(), Vec::new())).collect();
            }
            continue;
        }
        let wrong = |what| MonitoringError::Line { line: index + 1, what };
        let at: f64 =
            first.parse().map_err(|_| wrong("expected seconds since 1970 before the first comma"))?;
        for (_, points) in &mut columns {
            let value = cells.next().and_then(|cell| cell.parse().ok());
            points.push((at as u64, value.ok_or_else(|| wrong("expected a number for each column"))?));
        }
    }
    columns.iter_mut().for_each(|(_, points)| of_counter(points));
    Ok(columns)
}

/// Turns a counter, which the plugin stores without `StoreRates`, into its rate per second. Counters are whole numbers that seldom fall; after a
/// restart one begins at zero.
fn of_counter(points: &mut Vec<(u64, f64)>) {
    const LEAST: usize = 20;
    let whole = points.iter().all(|(_, value)| value.is_nan() || value.fract() == 0.0);
    let steps = || points.windows(2).map(|pair| pair[1].1 - pair[0].1);
    let (falls, rises) =
        (steps().filter(|step| *step < 0.0).count(), steps().filter(|step| *step > 0.0).count());
    if points.len() < LEAST || !whole || rises < points.len() / 2 || falls * LEAST > points.len() {
        return;
    }
    let rate = |pair: &[(u64, f64)]| {
        let (seconds, step) = (pair[1].0.saturating_sub(pair[0].0) as f64, pair[1].1 - pair[0].1);
        (step >= 0.0 && seconds > 0.0).then_some((pair[1].0, step / seconds))
    };
    *points = points.windows(2).filter_map(rate).collect();
}
