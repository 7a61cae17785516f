//! Figures that belong together: the same thing, measured again and again.

use std::collections::HashMap;
use std::io::{self, Read, Write};

use serde::Serialize;

use super::coverage::Coverage;
use super::error::ReadError;
use super::figure::{Better, Figure};
use super::format::Options;
use super::{formats, scan, unit};

/// Memory of the figures that are kept, at most, in bytes: some 3.2 million of a few series, 15 MB of vmstat.
const MOST: usize = 128 << 20;
/// Bytes of JSON that are written at once.
const CHUNK: usize = 64 << 10;

/// A figure among others of its series.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Point {
    /// How much, in the series' unit.
    pub value: f64,
    /// The line that it stands in, from 1.
    pub line: u64,
    /// Which call of the tool, from 1.
    pub run: u32,
    /// When, in seconds: since the start, or of the day.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_s: Option<f64>,
}

/// Figures of the same thing.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Series {
    /// The format that it was read as.
    pub format: &'static str,
    /// Name of the metric.
    pub metric: String,
    /// Labels that set it apart from others of the same name.
    #[serde(serialize_with = "as_map", skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<(&'static str, String)>,
    /// The unit of all of its values.
    pub unit: String,
    /// Which way it is better.
    pub better: Better,
    /// The values, in the order of the text.
    pub points: Vec<Point>,
}

fn as_map<S: serde::Serializer>(labels: &[(&'static str, String)], to: S) -> Result<S::Ok, S::Error> {
    to.collect_map(labels.iter().map(|(name, value)| (*name, value)))
}

impl Series {
    /// Copy that lacks the points.
    #[must_use]
    pub fn head(&self) -> Self {
        Self {
            format: self.format,
            metric: self.metric.clone(),
            labels: self.labels.clone(),
            unit: self.unit.clone(),
            better: self.better,
            points: Vec::new(),
        }
    }

    /// Writes the points as a JSON array, one on each line. A file has millions of them, so the optimised crate serializes them, not its
    /// caller.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn write_points(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut text = b"[".to_vec();
        for (nth, point) in self.points.iter().enumerate() {
            text.extend_from_slice(if nth == 0 { b"\n" } else { b",\n" });
            serde_json::to_writer(&mut text, point)?;
            if text.len() >= CHUNK {
                out.write_all(&text)?;
                text.clear();
            }
        }
        text.extend_from_slice(b"\n]");
        out.write_all(&text)
    }

    /// The values, in the order of the text.
    pub fn values(&self) -> Vec<f64> {
        self.points.iter().map(|point| point.value).collect()
    }

    /// Its name with its labels: `latency,percentile=99`.
    pub fn name(&self) -> String {
        let labels = self.labels.iter().map(|(name, value)| format!(",{name}={value}"));
        std::iter::once(self.metric.clone()).chain(labels).collect()
    }

    /// Whether it is the requested series: a metric, and labels that it must have (`latency,percentile=99`).
    pub fn is(&self, wanted: &str) -> bool {
        let wanted = SeriesSelector::of(wanted);
        wanted.metric == self.metric
            && wanted.fits(|name, value| self.labels.iter().any(|(own, is)| *own == name && is == value))
    }
}

/// The requested series: a metric, and labels that it must have (`latency,percentile=99`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeriesSelector<'w> {
    metric: &'w str,
    /// A label that has no value is none that a figure could have.
    labels: Vec<Option<(&'w str, &'w str)>>,
}

impl<'w> SeriesSelector<'w> {
    /// Selector from these words.
    #[must_use]
    pub fn of(words: &'w str) -> Self {
        let mut parts = words.split(',').map(str::trim);
        let metric = parts.next().unwrap_or_default();
        let label = |part: &'w str| part.split_once('=').map(|(name, value)| (name.trim(), value.trim()));
        Self { metric, labels: parts.map(label).collect() }
    }

    /// Whether a figure is asked for.
    pub fn is(&self, figure: &Figure<'_>) -> bool {
        self.metric == figure.metric
            && self.fits(|name, value| figure.labels.iter().any(|(own, is)| *own == name && *is == value))
    }

    fn fits(&self, has: impl Fn(&str, &str) -> bool) -> bool {
        self.labels.iter().all(|label| label.is_some_and(|(name, value)| has(name, value)))
    }
}

/// All series of an input.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Figures {
    /// The figures by metric, in the order in which they first appear.
    pub series: Vec<Series>,
    /// Which lines were read.
    pub coverage: Coverage,
}

impl Figures {
    /// The series that are what is asked for (see [`Series::is`]): those that have just these labels where there are some, else all that have them.
    pub fn all(&self, wanted: &str) -> Vec<&Series> {
        let found: Vec<&Series> = self.series.iter().filter(|series| series.is(wanted)).collect();
        let labels = wanted.matches('=').count();
        let exact: Vec<&Series> =
            found.iter().filter(|series| series.labels.len() == labels).copied().collect();
        if exact.is_empty() { found } else { exact }
    }

    /// The only series that is requested (see [`Figures::all`]).
    pub fn one(&self, wanted: &str) -> Option<&Series> {
        match self.all(wanted).as_slice() {
            [only] => Some(only),
            _ => None,
        }
    }

    /// The series of each format's main figure: what is judged unless something else is asked for.
    pub fn main(&self) -> Vec<&Series> {
        let mut found = Vec::new();
        for format in formats::ALL {
            let of_it = |metric: &&str| -> Vec<&Series> {
                self.all(metric).into_iter().filter(|series| series.format == format.name).collect()
            };
            found.extend(format.main.iter().map(of_it).find(|found| !found.is_empty()).unwrap_or_default());
        }
        found
    }
}

/// Reads all figures of a text.
///
/// # Errors The input is not text, has too many figures to keep, or `options` name an unknown format.
pub fn read(text: &str, options: &Options) -> Result<Figures, ReadError> {
    read_from(text.as_bytes(), options, &|_| true)
}

/// Reads those figures of an input that are wanted.
///
/// # Errors
/// As for [`read`], or the input cannot be read.
pub fn read_from(
    input: impl Read,
    options: &Options,
    wanted: &dyn Fn(&Figure<'_>) -> bool,
) -> Result<Figures, ReadError> {
    let mut kept = SeriesIndex::default();
    let coverage = scan::stream(input, options, &mut |figure| {
        if wanted(figure) {
            kept.add(figure);
        }
    })?;
    match kept.too_many {
        Some(line) => Err(ReadError::TooMany { line, most: MOST }),
        None => Ok(Figures { series: kept.series, coverage }),
    }
}

/// Series and their lookup while an input is read.
#[derive(Default)]
struct SeriesIndex {
    series: Vec<Series>,
    /// Which series are called so.
    places: HashMap<String, Vec<usize>>,
    /// The series that the figure before went to: tables repeat the same order.
    last: usize,
    key: String,
    /// Memory of the figures so far, in bytes.
    bytes: usize,
    too_many: Option<u64>,
}

impl SeriesIndex {
    fn add(&mut self, figure: &Figure<'_>) {
        if self.bytes >= MOST {
            self.too_many.get_or_insert(figure.line);
            return;
        }
        self.bytes += size_of::<Point>();
        let (place, factor) = self.place(figure);
        self.last = place;
        let value = if factor == 1.0 { figure.value } else { figure.value * factor };
        let Figure { line, run, at_s, .. } = *figure;
        self.series[place].points.push(Point { value, line, run, at_s });
    }

    /// The series of a figure, and the factor of its value to the series' unit.
    fn place(&mut self, figure: &Figure<'_>) -> (usize, f64) {
        let next = self.last + 1;
        for guess in [next, self.last] {
            if let Some(series) = self.series.get(guess)
                && is_same(series, figure)
                && series.unit == figure.unit
            {
                return (guess, 1.0);
            }
        }
        self.key.clear();
        for part in [figure.format, figure.metric] {
            self.key.push_str(part);
            self.key.push('\0');
        }
        for (name, value) in figure.labels {
            for part in [name, value] {
                self.key.push_str(part);
                self.key.push('\0');
            }
        }
        for place in self.places.get(&self.key).into_iter().flatten() {
            if let Some(factor) = unit::factor(figure.unit, &self.series[*place].unit) {
                return (*place, factor);
            }
        }
        self.bytes += 2 * (self.key.len() + size_of::<Series>());
        self.places.entry(self.key.clone()).or_default().push(self.series.len());
        self.series.push(Series {
            format: figure.format,
            metric: figure.metric.to_owned(),
            labels: figure.labels.iter().map(|(name, value)| (*name, (*value).to_owned())).collect(),
            unit: figure.unit.to_owned(),
            better: better(figure),
            points: Vec::new(),
        });
        (self.series.len() - 1, 1.0)
    }
}

fn is_same(series: &Series, figure: &Figure<'_>) -> bool {
    series.format == figure.format
        && series.metric == figure.metric
        && series.labels.len() == figure.labels.len()
        && series
            .labels
            .iter()
            .zip(figure.labels)
            .all(|((name, value), (other, is))| name == other && value == is)
}

/// Which way a figure is better: as its format says. How much times scatter is no time that something took.
fn better(figure: &Figure<'_>) -> Better {
    let spread = figure.labels.contains(&("stat", "stdev"));
    let about = formats::named(figure.format).ok().and_then(|format| format.about(figure.metric));
    about.filter(|_| !spread).map_or(Better::Unknown, |about| about.better)
}
