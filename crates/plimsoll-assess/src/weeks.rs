//! Analyses of a machine's weeks: hours to search for changes, and forecasts of limits.

use plimsoll_judge::weeks;
use plimsoll_model::weeks::Reached;

const HOUR: u64 = 3600;

/// Points by hour, from one hour up to another (hours since 1970, UTC); points have seconds since 1970. `None` for an hour without a point.
pub fn hours(points: impl IntoIterator<Item = (u64, f64)>, first: u64, end: u64) -> Vec<Option<f64>> {
    let mut hours = vec![None; usize::try_from(end.saturating_sub(first)).unwrap_or_default()];
    for (at_unix_s, value) in points {
        let place = (at_unix_s / HOUR).checked_sub(first).and_then(|place| usize::try_from(place).ok());
        if let Some(hour) = place.and_then(|place| hours.get_mut(place)) {
            *hour = Some(value).filter(|value| value.is_finite());
        }
    }
    hours
}

/// Resource that is used up when a series is at 0, in words; nothing for series that may be at 0 in good order.
fn ends_at_zero(series: &str) -> Option<String> {
    match series.strip_prefix("free.") {
        Some(mounted) => Some(format!("{mounted} is full")),
        None => (series == "memory.available").then(|| "memory is exhausted".to_owned()),
    }
}

/// When a series reaches its limit, counted from the end of these hours, and the consequence in words; `None` without a limit or a forecast.
pub fn forecast(series: &str, hours: &[Option<f64>], first_hour: u64) -> Option<(String, Reached)> {
    let what = ends_at_zero(series)?;
    let days = weeks::days(hours, first_hour).ok()?;
    let found = weeks::reached(&days, 0.0)?;
    // The figure of a day is that of its middle, and the last day has ended.
    let since_now = |days: f64| (days - 0.5).max(0.0);
    let reached = Reached {
        days: since_now(found.days),
        earliest: since_now(found.earliest),
        latest: found.latest.map(since_now),
    };
    Some((what, reached))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_system_that_fills_is_forecast_and_a_busy_cpu_is_not() {
        // 10 GB, of which two per cent go each day; backups by night come and go.
        let free = |hour: u64| 1e10 - 2e8 * (hour as f64 / 24.0) - if hour % 24 < 3 { 1e8 } else { 0.0 };
        let points = (0..20 * 24).map(|hour| (hour * HOUR + 60, free(hour)));
        let hours = hours(points, 0, 20 * 24);
        let (what, reached) = forecast("free./var", &hours, 0).unwrap();
        assert_eq!(what, "/var is full");
        assert!((reached.days - 30.0).abs() < 1.0, "{reached:?}");
        assert_eq!(forecast("cpu.busy", &hours, 0), None);
    }

    #[test]
    fn hours_that_are_missing_are_gaps() {
        let found = hours([(2 * HOUR, 1.0), (3 * HOUR, f64::NAN), (9 * HOUR, 2.0)], 1, 5);
        assert_eq!(found, [None, Some(1.0), None, None]);
    }
}
