//! Simulated machines from `years.py`, and the truth of the messages about them.

use std::path::Path;
use std::process::Command;

use plimsoll_judge::weeks::{DAY, LEAST, LOOKED_AT, Remembered};
use plimsoll_model::weeks::{Drift, News};
use rayon::prelude::*;
use serde::Deserialize;

/// Hours between two looks, as of `plimsoll watch --keep`.
const EVERY: usize = 3;
/// Monday, 5 January 1970, 00:00 UTC in hours: a week of the simulation begins with its Monday.
const FIRST: u64 = 96;
/// A message is about an event within this many hours of it.
const NEAR: u64 = 36;

#[derive(Deserialize)]
pub(crate) struct Series {
    pub(crate) name: String,
    hours: Vec<Option<f64>>,
    truth: Vec<Event>,
}

/// A true event.
#[derive(Deserialize)]
pub(crate) struct Event {
    kind: String,
    hour: u64,
    ends: Option<u64>,
    rises: bool,
}

#[derive(Deserialize)]
struct Machine {
    series: Vec<Series>,
}

/// A message, and whether it is true.
pub(crate) struct Message {
    /// The hour of the simulation in which the news came.
    pub(crate) hour: u64,
    pub(crate) news: News,
    /// Whether it matches an event.
    pub(crate) is_true: bool,
}

/// The messages of a series.
pub(crate) struct Announced {
    pub(crate) series: String,
    /// The messages, the oldest first.
    pub(crate) messages: Vec<Message>,
    /// Hours from each event to its first news; `None` if it was missed.
    pub(crate) delays: Vec<Option<u64>>,
}

/// The news about the requested series of a machine; on a still one nothing happens.
pub(crate) fn machine(
    seed: u32,
    days: u32,
    still: bool,
    wanted: &(dyn Fn(&str) -> bool + Sync),
) -> Vec<Announced> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/weeks/years.py");
    let words = [seed.to_string(), days.to_string()];
    let still = still.then_some("still");
    let output = Command::new("/usr/bin/python3").arg("-B").arg(script).args(words).args(still).output();
    let output = output.expect("python3 starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let machine: Machine = serde_json::from_slice(&output.stdout).expect("a machine");
    machine.series.par_iter().filter(|series| wanted(&series.name)).map(announced).collect()
}

fn announced(series: &Series) -> Announced {
    let hours = &series.hours;
    let mut remembered = Remembered::default();
    let mut messages = Vec::new();
    for now in (LEAST..=hours.len()).step_by(EVERY) {
        let from = now.saturating_sub(LOOKED_AT);
        let news = remembered.look(&hours[from..now], FIRST + from as u64).expect("numbers");
        messages.extend(news.into_iter().map(|news| Message {
            hour: now as u64,
            news,
            is_true: series.truth.iter().any(|event| event.is_announced_by(&news)),
        }));
    }
    let delay = |event: &Event| {
        let first = messages.iter().find(|message| event.is_announced_by(&message.news))?;
        Some(first.hour.saturating_sub(event.hour))
    };
    let delays = series.truth.iter().map(delay).collect();
    Announced { series: series.name.clone(), messages, delays }
}

impl Event {
    fn is_announced_by(&self, news: &News) -> bool {
        let hour = (news.since_unix_s() / 3600).saturating_sub(FIRST);
        let near = |moment: u64| hour.abs_diff(moment) <= NEAR;
        let rises = match news {
            News::Change { before, after, .. } => after > before,
            News::Drift(Drift { per_hour, .. }) => *per_hour > 0.0,
        };
        let ended = matches!(news, News::Drift(drift) if drift.per_hour == 0.0);
        match self.ends {
            // It comes back at once, and does not move on.
            Some(ends) if near(ends) && hour + DAY as u64 >= ends && (ended || rises != self.rises) => true,
            Some(ends) => !ended && rises == self.rises && hour + NEAR >= self.hour && hour < ends,
            None => {
                assert_eq!(self.kind, "step");
                !ended && rises == self.rises && near(self.hour)
            }
        }
    }
}
