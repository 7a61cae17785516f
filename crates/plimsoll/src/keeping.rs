//! A machine's weeks as they come: seconds are put into the file of weeks, and examined for changes now and then.

use std::collections::BTreeMap;
use std::path::Path;

use plimsoll_assess::weeks::{forecast, hours};
use plimsoll_judge::weeks::{self, LOOKED_AT, Remembered};
use plimsoll_model::weeks::News;
use plimsoll_report::weeks as sentences;
use plimsoll_store::StoreError;
use plimsoll_store::weeks::{Keep, Notice, SIXTY, Series, Tier, Weeks};

const MINUTE: u64 = 60;
const HOUR: u64 = 3600;
/// Hours between two looks for changes.
const LOOKS: u64 = 3;

/// Keeps what a machine does.
pub struct Keeper {
    weeks: Weeks,
    minute: Option<Minute>,
    /// The stretch of hours that was looked at last.
    looked: Option<u64>,
}

/// A minute that is not full yet.
struct Minute {
    start_unix_s: u64,
    values: BTreeMap<Series, [f32; SIXTY]>,
}

/// News of a series.
#[derive(Clone, Debug, PartialEq)]
pub struct SeriesNews {
    /// The name of the series.
    pub series: String,
    /// The news.
    pub news: News,
    /// The news in a sentence.
    pub sentence: String,
}

impl Keeper {
    /// Goes on with a file, or begins one.
    ///
    /// # Errors
    /// When the file cannot be made or used.
    pub fn open(path: &Path, keep: Keep) -> Result<Self, StoreError> {
        Ok(Self { weeks: Weeks::open(path, keep)?, minute: None, looked: None })
    }

    /// The file.
    pub fn weeks(&self) -> &Weeks {
        &self.weeks
    }

    /// Whether the next second is the first of its minute.
    pub fn is_between_minutes(&self) -> bool {
        self.minute.is_none()
    }

    /// Takes the values of a second; returns the news once a minute is complete.
    ///
    /// # Errors
    /// When the file cannot be written to.
    pub fn take<'s>(
        &mut self,
        now_unix_s: u64,
        values: impl IntoIterator<Item = (&'s Series, f64)>,
    ) -> Result<Vec<SeriesNews>, StoreError> {
        let start_unix_s = now_unix_s / MINUTE * MINUTE;
        let mut found = Vec::new();
        if self.minute.as_ref().is_some_and(|minute| minute.start_unix_s != start_unix_s) {
            self.end()?;
            let stretch = start_unix_s / HOUR / LOOKS;
            if self.looked.replace(stretch).is_some_and(|looked| looked != stretch) {
                found = self.look(start_unix_s / HOUR)?;
            }
        }
        let minute = self.minute.get_or_insert_with(|| Minute { start_unix_s, values: BTreeMap::new() });
        let second = usize::try_from(now_unix_s % MINUTE).unwrap_or_default();
        for (series, value) in values {
            let seconds = match minute.values.get_mut(series) {
                Some(seconds) => seconds,
                None => minute.values.entry(series.clone()).or_insert([f32::NAN; SIXTY]),
            };
            seconds[second] = value as f32;
        }
        Ok(found)
    }

    /// Stores the minute that is under way.
    ///
    /// # Errors
    /// When the file cannot be written to.
    pub fn end(&mut self) -> Result<(), StoreError> {
        let Some(minute) = self.minute.take() else { return Ok(()) };
        let rows: Vec<_> = minute.values.into_iter().collect();
        self.weeks.put_minute(minute.start_unix_s, &rows)
    }

    /// Looks at each series up to an hour (hours since 1970), and stores what is new.
    fn look(&self, hour: u64) -> Result<Vec<SeriesNews>, StoreError> {
        let first = hour.saturating_sub(LOOKED_AT as u64);
        let mut found = Vec::new();
        let mut notices = None;
        for series in self.weeks.series()? {
            let hours = hours_of(&self.weeks, &series.name, first, hour)?;
            let before = self.weeks.state(&series.name)?;
            let mut remembered: Remembered = match before.and_then(|state| serde_json::from_value(state).ok())
            {
                Some(remembered) => remembered,
                None => {
                    let all = match &notices {
                        Some(all) => all,
                        None => notices.insert(self.weeks.notices()?),
                    };
                    Remembered::from_news(&news_of(all, &series.name))
                }
            };
            // A value that is no number was not measured, and is left out of the hours.
            let Ok(news) = remembered.look(&hours, first) else { continue };
            if news.is_empty() {
                continue;
            }
            self.weeks.put_state(&series.name, &serde_json::to_value(&remembered).unwrap_or_default())?;
            for news in news {
                self.weeks.put_notice(&Notice {
                    series: series.name.clone(),
                    since_unix_s: news.since_unix_s(),
                    found_unix_s: hour * HOUR,
                    notice: serde_json::to_value(news).unwrap_or_default(),
                })?;
                let sentence = sentences::news(&series.name, &series.unit, &news);
                found.push(SeriesNews { series: series.name.clone(), news, sentence });
            }
        }
        Ok(found)
    }
}

/// Earlier news about a series, the oldest first.
fn news_of(notices: &[Notice], series: &str) -> Vec<News> {
    let mut of_series: Vec<&Notice> = notices.iter().filter(|notice| notice.series == series).collect();
    of_series.sort_by_key(|notice| notice.found_unix_s);
    of_series.iter().filter_map(|notice| serde_json::from_value(notice.notice.clone()).ok()).collect()
}

fn hours_of(kept: &Weeks, series: &str, first: u64, end: u64) -> Result<Vec<Option<f64>>, StoreError> {
    let points = kept.points_of(series, Tier::Hours, first * HOUR, end * HOUR)?;
    Ok(hours(points.iter().map(|point| (point.at_unix_s, f64::from(point.mean))), first, end))
}

/// The news in sentences, the newest first, and the forecasts of limits.
///
/// # Errors
/// When the file cannot be read.
pub fn summary(kept: &Weeks) -> Result<Vec<String>, StoreError> {
    let Some((first, last)) = kept.extent()? else { return Ok(vec!["nothing was kept yet".to_owned()]) };
    let all = kept.series()?;
    let times = [first, last].map(plimsoll_report::moment);
    let mut lines = vec![format!("{} series from {} to {}", all.len(), times[0], times[1])];
    let hour = last / HOUR;
    let from = hour.saturating_sub(LOOKED_AT as u64);
    for series in &all {
        if let Some((what, reached)) =
            forecast(&series.name, &hours_of(kept, &series.name, from, hour)?, from)
        {
            lines.push(sentences::forecast(&what, last, &reached));
        }
    }
    let unit =
        |name: &str| all.iter().find(|series| series.name == name).map_or("", |series| series.unit.as_str());
    for notice in kept.notices()? {
        if let Ok(news) = serde_json::from_value(notice.notice) {
            lines.push(sentences::news(&notice.series, unit(&notice.series), &news));
        }
    }
    if lines.len() == 1 {
        let days = weeks::LEAST / weeks::DAY;
        lines
            .push(format!("no change was found; the first can be after {days} days, when the week is known"));
    }
    Ok(lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_found_a_full_disk_is_forecast_and_nothing_else_is_said() {
        let folder = tempfile::tempdir().unwrap();
        let mut keeper = Keeper::open(&folder.path().join("weeks.sqlite"), Keep::default()).unwrap();
        let series = |name: &str, unit: &str| Series { name: name.into(), unit: unit.into() };
        let (busy, free) = (series("cpu.busy", "share"), series("free./var", "bytes"));
        let (start, days, step) = (1_803_859_200, 26, 24 * 24);
        let mut found = Vec::new();
        // One second of each minute stands for it; noise by a generator of Lehmer's (MINSTD).
        let mut noise = 1_u64;
        for minute in 0..days * 24 * 60_u64 {
            noise = noise * 48_271 % 0x7fff_ffff;
            let hour = minute / 60;
            let of_day = (std::f64::consts::TAU * (hour % 24) as f64 / 24.0).sin();
            let level = if hour < step { 0.30 } else { 0.33 };
            let cpu = level + 0.1 * of_day + 0.1 * (noise as f64 / 2e9 - 0.5);
            let values = [(&busy, cpu), (&free, 2e10 - 3e5 * minute as f64)];
            found.extend(keeper.take(start + minute * 60, values).unwrap());
        }
        keeper.end().unwrap();
        let steps: Vec<&SeriesNews> = found.iter().filter(|found| found.series == "cpu.busy").collect();
        assert_eq!(steps.len(), 1, "{found:?}");
        assert!(steps[0].sentence.starts_with("cpu.busy rose from 30"), "{found:?}");
        let lines = summary(keeper.weeks()).unwrap();
        // 20 GB at 432 MB a day are gone after 46 days.
        assert!(lines[1].starts_with("/var is full on 16 April 2027, 90 %:"), "{lines:?}");
        assert_eq!(keeper.weeks().notices().unwrap().len(), found.len());
        // State of an older version cannot be read; the news are not repeated for all that.
        let hour = start / HOUR + days * 24;
        keeper
            .weeks()
            .put_state("cpu.busy", &serde_json::json!({ "announced": [hour - 48], "drifts": [] }))
            .unwrap();
        assert!(keeper.look(hour).unwrap().iter().all(|found| found.series != "cpu.busy"));
    }
}
