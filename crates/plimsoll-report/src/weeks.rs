//! Findings in a machine's weeks, in sentences.

use plimsoll_model::weeks::{Drift, News, Reached};

use crate::number::{NONE, figure};

/// A value of a series with its unit: `37 %`, `2.1 GB`.
pub fn amount(value: f64, unit: &str) -> String {
    const STEPS: [(f64, &str); 4] = [(1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")];
    let scaled = |per: &str| {
        let step = STEPS.into_iter().find(|(least, _)| value.abs() >= *least);
        let (by, name) = step.unwrap_or((1.0, "bytes"));
        format!("{} {name}{per}", figure(value / by))
    };
    match unit {
        "share" => format!("{} %", figure(100.0 * value)),
        "bytes" => scaled(""),
        "bytes/s" => scaled("/s"),
        "" => figure(value),
        unit => format!("{} {unit}", figure(value)),
    }
}

/// News of a series, in a sentence.
pub fn news(series: &str, unit: &str, news: &News) -> String {
    match news {
        News::Change { hour, before, after, low, high } => {
            let way = if after > before { "rose" } else { "fell" };
            let (from, to) = (amount(*before, unit), amount(*after, unit));
            let (low, high) = (amount(*low, unit), amount(*high, unit));
            format!(
                "{series} {way} from {from} to {to} at about {} (by {low} to {high}, 95 %)",
                hour_in_words(*hour)
            )
        }
        News::Drift(drift) => format!("{series} {}", drift_in_words(unit, drift)),
    }
}

fn drift_in_words(unit: &str, Drift { since_hour, per_hour }: &Drift) -> String {
    if *per_hour == 0.0 {
        return format!("moves no further since about {}", hour_in_words(*since_hour));
    }
    let way = if *per_hour > 0.0 { "rises" } else { "falls" };
    let by = amount(24.0 * per_hour.abs(), unit);
    format!("{way} by {by} a day since {}", hour_in_words(*since_hour))
}

/// When a limit is reached, in a sentence: `/var is full on 14 March 2027, 90 %: 3 to 29 March 2027`. `what` says what happens then.
pub fn forecast(what: &str, now_unix_s: u64, reached: &Reached) -> String {
    let date = |days: f64| date(now_unix_s as f64 + days * 86_400.0);
    let (earliest, latest) = (date(reached.earliest), reached.latest.map(date));
    let between = match &latest {
        None => format!("90 %: from {earliest} on, or never"),
        Some(latest) if *latest == earliest => "90 %: on that day".to_owned(),
        // The common part of both dates is said once.
        Some(latest) => format!("90 %: {} to {latest}", without_shared(&earliest, latest)),
    };
    format!("{what} on {}, {between}", date(reached.days))
}

fn without_shared<'e>(earliest: &'e str, latest: &str) -> &'e str {
    let shared = |from: usize| {
        let rest = |text: &str| text.splitn(3, ' ').skip(from).collect::<Vec<_>>().join(" ");
        rest(earliest) == rest(latest)
    };
    let ends = |words: usize| earliest.match_indices(' ').nth(words).map_or(earliest.len(), |(end, _)| end);
    if shared(1) {
        &earliest[..ends(0)]
    } else if shared(2) {
        &earliest[..ends(1)]
    } else {
        earliest
    }
}

fn date(unix_s: f64) -> String {
    chrono::DateTime::from_timestamp(unix_s as i64, 0)
        .map_or_else(|| NONE.into(), |at| at.format("%-d %B %Y").to_string())
}

fn hour_in_words(hour: u64) -> String {
    let at = i64::try_from(hour)
        .ok()
        .and_then(|hour| chrono::DateTime::from_timestamp(hour.checked_mul(3600)?, 0));
    at.map_or_else(|| NONE.into(), |at| at.format("%-d %B %Y %H:00 UTC").to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1 March 2027, 00:00 UTC.
    const MARCH: u64 = 1_803_859_200;

    #[test]
    fn a_forecast_says_when_with_its_interval() {
        let text =
            |days, earliest, latest| forecast("/var is full", MARCH, &Reached { days, earliest, latest });
        assert_eq!(text(13.0, 2.0, Some(28.0)), "/var is full on 14 March 2027, 90 %: 3 to 29 March 2027");
        assert_eq!(
            text(13.0, 2.0, Some(60.0)),
            "/var is full on 14 March 2027, 90 %: 3 March to 30 April 2027"
        );
        assert_eq!(
            text(13.0, 2.0, Some(400.0)),
            "/var is full on 14 March 2027, 90 %: 3 March 2027 to 4 April 2028"
        );
        assert_eq!(
            text(13.0, 2.0, None),
            "/var is full on 14 March 2027, 90 %: from 3 March 2027 on, or never"
        );
        assert_eq!(text(1.0, 1.0, Some(1.2)), "/var is full on 2 March 2027, 90 %: on that day");
    }

    #[test]
    fn news_have_their_units() {
        let change =
            News::Change { hour: MARCH / 3600 + 7, before: 0.32, after: 0.37, low: 0.041, high: 0.056 };
        assert_eq!(
            news("cpu.busy", "share", &change),
            "cpu.busy rose from 32 % to 37 % at about 1 March 2027 07:00 UTC (by 4.10 % to 5.60 %, 95 %)"
        );
        let drift = News::Drift(Drift { since_hour: MARCH / 3600, per_hour: -2e6 });
        assert_eq!(
            news("memory.available", "bytes", &drift),
            "memory.available falls by 48 MB a day since 1 March 2027 00:00 UTC"
        );
        let ended = News::Drift(Drift { since_hour: MARCH / 3600, per_hour: 0.0 });
        assert_eq!(
            news("memory.available", "bytes", &ended),
            "memory.available moves no further since about 1 March 2027 00:00 UTC"
        );
    }
}
