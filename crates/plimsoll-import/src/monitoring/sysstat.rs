//! Files of sysstat: `sadf -d` (semicolons, times in UTC or since 1970), and the tables of `sar -f`, of several days one after another.

use std::collections::BTreeMap;

use plimsoll_figures::{Options, read};

use super::{Monitored, MonitoringError, names};
use crate::calendar;

const DAY: u64 = 86_400;

/// Series by name, as they come.
#[derive(Default)]
struct SeriesByName(BTreeMap<String, Monitored>);

impl SeriesByName {
    fn put(&mut self, label: &str, column: &str, at: u64, value: f64) {
        // Of all CPUs together: `all` in tables, -1 in `sadf -d`.
        let (name, unit, value) = match (column, label) {
            ("%idle", "all" | "-1") => ("cpu.busy".to_owned(), "share", 1.0 - value / 100.0),
            _ => match names::of_sysstat(label, column) {
                Some((name, unit, times)) => (name, unit, value * times),
                None => return,
            },
        };
        let series = self.0.entry(name).or_insert_with_key(|name| Monitored {
            name: name.clone(),
            unit,
            points: Vec::new(),
        });
        series.points.push((at, value));
    }

    fn finish(self) -> Vec<Monitored> {
        self.0.into_values().collect()
    }
}

pub(super) fn sadf(text: &str) -> Result<Vec<Monitored>, MonitoringError> {
    const LABELS: [&str; 6] = ["CPU", "DEV", "IFACE", "FILESYSTEM", "MOUNTPOINT", "INTR"];
    let mut kept = SeriesByName::default();
    let mut columns: Vec<&str> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        if let Some(names) = line.strip_prefix("# ") {
            columns = names.split(';').collect();
            continue;
        }
        let cells: Vec<&str> = line.split(';').collect();
        // `LINUX-RESTART` and comments have fewer cells.
        if cells.len() != columns.len() {
            continue;
        }
        let what = "expected `YYYY-MM-DD HH:MM:SS UTC` or seconds since 1970 in the third column";
        let at = cells.get(2).and_then(|cell| timestamp(cell));
        let at = at.ok_or(MonitoringError::Line { line: index + 1, what })?;
        let label = columns.iter().position(|name| LABELS.contains(name)).map_or("", |label| cells[label]);
        for (column, cell) in columns.iter().zip(&cells).skip(3) {
            if let Ok(value) = cell.replace(',', ".").parse() {
                kept.put(label, column, at, value);
            }
        }
    }
    Ok(kept.finish())
}

pub(super) fn sar(text: &str) -> Result<Vec<Monitored>, MonitoringError> {
    let mut kept = SeriesByName::default();
    let banner = |line: &str| line.starts_with("Linux ") && line.contains('(');
    // Where each day begins in the text, and in which line.
    let mut starts: Vec<(usize, usize)> = Vec::new();
    let mut at = 0;
    for (number, line) in (1..).zip(text.split_inclusive('\n')) {
        starts.extend(banner(line).then_some((at, number)));
        at += line.len();
    }
    let ends = starts.iter().skip(1).map(|(at, _)| *at).chain([text.len()]);
    for ((at, line), end) in starts.iter().copied().zip(ends) {
        let day = &text[at..end];
        let wrong = |what| MonitoringError::Line { line, what };
        let date = day.lines().next().and_then(|line| line.split_whitespace().find_map(date));
        let date = date.ok_or_else(|| wrong("expected a date behind the host's name"))?;
        let options = Options { only: Some("sar".to_owned()), ..Options::default() };
        let found = read(day, &options).map_err(|_| wrong("expected tables of sar below"))?;
        for series in &found.series {
            let label = series.labels.first().map_or("", |(_, label)| label.as_str());
            let (mut midnights, mut last) = (0, 0.0);
            for (at, value) in series.points.iter().filter_map(|point| Some((point.at_s?, point.value))) {
                // The table of a day ends behind midnight.
                midnights += u64::from(at < last);
                last = at;
                kept.put(label, &series.metric, date + midnights * DAY + at as u64, value);
            }
        }
    }
    Ok(kept.finish())
}

/// Seconds since 1970 of a time in UTC.
fn timestamp(cell: &str) -> Option<u64> {
    if let Ok(seconds) = cell.parse() {
        return Some(seconds);
    }
    let mut words = cell.split(' ');
    let (day, time) = (date(words.next()?)?, words.next()?);
    let mut parts = time.splitn(3, ':').map(str::parse::<u32>);
    let mut part = || parts.next()?.ok().map(u64::from);
    Some(day + part()? * 3600 + part()? * 60 + part()?)
}

/// Midnight of a date: `2026-11-28`, or as the United States write it, `11/28/26` or `11/28/2026`.
fn date(word: &str) -> Option<u64> {
    let days = match word.split('/').collect::<Vec<_>>()[..] {
        [month, day, year] if year.len() == 2 => calendar::days(&format!("20{year}-{month}-{day}")),
        [month, day, year] => calendar::days(&format!("{year}-{month}-{day}")),
        _ => calendar::days(word),
    };
    days.map(|days| days * DAY)
}
