//! A machine's counters, by the names that Plimsoll's own probes use.

use std::collections::BTreeMap;

/// Counts of one stretch of time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Window {
    /// How long it is, where that is known.
    pub seconds: Option<f64>,
    /// Change of each counter.
    pub values: BTreeMap<String, f64>,
}

/// Counters as they stood at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reading {
    /// The time of the reading in seconds, where the text has one. Only differences have a meaning.
    pub at: Option<f64>,
    /// Counts since the machine was started.
    pub totals: BTreeMap<String, f64>,
    /// Amounts and rates, which may fall. Tools that print at intervals give several.
    pub levels: BTreeMap<String, Vec<f64>>,
}

impl Reading {
    /// Whether nothing was read.
    pub fn is_empty(&self) -> bool {
        self.at.is_none() && self.totals.is_empty() && self.levels.is_empty()
    }

    pub(super) fn total(&mut self, name: impl Into<String>, value: f64) {
        self.totals.insert(name.into(), value);
    }

    pub(super) fn add_total(&mut self, name: impl Into<String>, value: f64) {
        *self.totals.entry(name.into()).or_default() += value;
    }

    /// An amount, where it is known.
    pub(super) fn level(&mut self, name: impl Into<String>, value: impl Into<Option<f64>>) {
        if let Some(value) = value.into() {
            self.levels.entry(name.into()).or_default().push(value);
        }
    }

    pub(super) fn add_level(&mut self, name: impl Into<String>, value: f64) {
        let values = self.levels.entry(name.into()).or_default();
        match values.first_mut() {
            Some(first) => *first += value,
            None => values.push(value),
        }
    }
}

/// One program's output of a machine's counters.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Counters {
    /// The program: `netstat -s`, `/proc/net/snmp`.
    pub program: String,
    /// The machine, where the text names it.
    pub host: Option<String>,
    /// Counters as they stood, in the order of the text.
    pub readings: Vec<Reading>,
    /// Counts of stretches whose length the program measured itself.
    pub windows: Vec<Window>,
    /// Lines that were not read.
    pub unread: Unread,
}

impl Counters {
    /// Whether the program prints no counter that is 0.
    pub fn omits_zeros(&self) -> bool {
        matches!(self.program.as_str(), "netstat -s" | "nstat -az")
    }
}

/// Lines that were not read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unread {
    /// The number of lines.
    pub lines: usize,
    /// The first of them: its number, from 1 on, and how it begins.
    pub first: Option<(usize, String)>,
}

/// How much of an unread line is quoted.
const QUOTED: usize = 40;

impl Unread {
    /// Notes a line by its index.
    pub(super) fn note(&mut self, index: usize, line: &str) {
        self.lines += 1;
        self.first.get_or_insert_with(|| (index + 1, line.trim().chars().take(QUOTED).collect()));
    }
}
