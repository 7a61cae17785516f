//! Description of a format, and input of its reader.

use std::fmt;

use super::figure::{Better, Figure};
use super::json::Json;
use super::line::Line;
use super::number::Decimal;
use super::unit::HeadingTime;

/// A format: its name, its recognition and its figures.
pub struct Format {
    /// Its name, for `--as`.
    pub name: &'static str,
    /// The tool that writes it.
    pub tool: &'static str,
    /// A call of the tool that writes it.
    pub command: &'static str,
    /// The metrics of the format, each as text that [`Measured`] describes.
    pub(super) measured: &'static [&'static str],
    /// The figure that is judged unless another is named: the first of these that is there.
    pub main: &'static [&'static str],
    /// How it is known that it is read as the tool writes it.
    pub checked: Checked,
    /// Words, one of which a line has that may be the first of the tool's output.
    pub(super) marks: &'static [&'static str],
    /// Patterns of its lines, as the module `rules` describes them; the format needs no reader of its own then.
    pub(super) lines: &'static [&'static str],
    /// Whether a line with such a word is one of the tool, where no pattern shows that.
    pub(super) start: fn(&Line<'_>) -> Option<Start>,
    /// Whether the first two lines of an input that say something show it, for formats that no word marks.
    pub(super) opening: Option<Opening>,
    /// A reader for one call of the tool; nothing for formats that have `lines` or are JSON only.
    pub(super) reader: Option<NewReader>,
    /// How a JSON document is recognised and read.
    pub(super) json: Option<Document>,
    /// The command that reads it, where that is another.
    pub(super) elsewhere: Option<&'static str>,
}

impl Format {
    /// A format that says nothing yet.
    pub(super) const EMPTY: Self = Self {
        name: "",
        tool: "",
        command: "",
        measured: &[],
        main: &[],
        checked: Checked::Documented(""),
        marks: &[],
        lines: &[],
        start: |_| None,
        opening: None,
        reader: None,
        json: None,
        elsewhere: None,
    };

    /// The metrics of the format.
    pub fn measured(&self) -> impl Iterator<Item = Measured> {
        self.measured.iter().filter_map(|text| Measured::of(text))
    }

    /// The facts about a metric of this format.
    pub fn about(&self, metric: &str) -> Option<Measured> {
        let exact = self.measured().find(|measured| measured.metric == metric);
        exact.or_else(|| self.measured().find(|measured| measured.metric == "*"))
    }

    /// The command that reads it, where `import` does not.
    pub fn elsewhere(&self) -> Option<&'static str> {
        self.elsewhere
    }
}

impl fmt::Debug for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Format").field("name", &self.name).finish_non_exhaustive()
    }
}

/// How it is known that a format is read as the tool writes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checked {
    /// Tests run the tool, and read what it printed in this version, too.
    Run(&'static str),
    /// Tests read what the tool printed in this version; running it would need more than Debian's packages.
    Kept(&'static str),
    /// The tool cannot be had; this documentation says how it writes.
    Documented(&'static str),
    /// No tool writes it, or any: this is the rule.
    Rule(&'static str),
}

/// A metric that is read from a format, declared as `lower latency,stat ms: where it stands`: which way it is better (`higher`, `lower`, or `plain` for
/// neither), its name with its labels, its unit if it has one, and the rest in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Measured {
    /// Its name; `*` stands for the columns, which keep the names that the tool gives them.
    pub metric: &'static str,
    /// Its usual unit; where the tool chooses one, that is kept.
    pub unit: &'static str,
    /// Which way it is better.
    pub better: Better,
    /// Its labels.
    pub labels: Vec<&'static str>,
    /// Where it stands, in words.
    pub what: &'static str,
}

impl Measured {
    /// The metric that a text declares.
    fn of(text: &'static str) -> Option<Self> {
        let (head, what) = text.split_once(": ")?;
        let (better, head) = head.split_once(' ')?;
        let better = match better {
            "higher" => Better::Higher,
            "lower" => Better::Lower,
            "plain" => Better::Unknown,
            _ => return None,
        };
        let (names, unit) = head.split_once(' ').unwrap_or((head, ""));
        let mut names = names.split(',');
        Some(Self { metric: names.next()?, unit, better, labels: names.collect(), what })
    }
}

/// The options of a reader.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The only format to read, by its name.
    pub only: Option<String>,
    /// The columns of a CSV file that are read; all that have numbers where there are none.
    pub columns: Vec<String>,
    /// The decimal mark of numbers in CSV and in bare lists; without it, `1,234` alone is refused.
    pub decimal: Option<Decimal>,
}

/// How a format is recognised by the beginning of an input: the first line that says something, and the second.
pub(super) type Opening = fn(&Line<'_>, Option<&Line<'_>>) -> bool;

/// Makes a reader for one call of a tool.
pub(super) type NewReader = fn(&Options) -> Box<dyn Reader>;

/// Where in the tool's output a line stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Start {
    /// Perhaps at its beginning, if the line is of no other tool.
    Perhaps,
    /// Somewhere in it: people paste the lines that matter.
    Within,
    /// At its beginning: what follows is another call of the tool.
    Head,
}

/// How a JSON document is recognised, and read.
pub(super) struct Document {
    /// Whether it is of the tool.
    pub(super) is: fn(&Json<'_>) -> bool,
    /// Reads it.
    pub(super) read: fn(&Json<'_>, &mut Out<'_>),
    /// Whether a document is only a line of many, all of one call of the tool.
    pub(super) by_line: bool,
}

impl Document {
    /// A document that is all of a call's output.
    pub(super) const fn whole(is: fn(&Json<'_>) -> bool, read: fn(&Json<'_>, &mut Out<'_>)) -> Self {
        Self { is, read, by_line: false }
    }
}

/// A reader's judgement of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fit {
    /// The line belongs to this call of the tool.
    Mine,
    /// The line belongs to the tool, but to its next call.
    Next,
    /// The line is not the tool's.
    Foreign,
}

/// Reads the text of one call of a tool, line by line.
pub(super) trait Reader {
    /// Reads a line, which is not blank.
    fn line(&mut self, line: &Line<'_>, out: &mut Out<'_>) -> Fit;

    /// Takes the last line above the first, which was of no tool, and whether a blank line is between them.
    fn above(&mut self, _text: &str, _gap: bool) {}

    /// Handles a blank line.
    fn blank(&mut self) {}

    /// Hands on pending figures, because no further line is of this call.
    fn end(&mut self, _out: &mut Out<'_>) {}

    /// Whether a line that begins a call of the tool is still one of this call: a heading that is repeated.
    fn goes_on(&self, _line: &Line<'_>) -> bool {
        false
    }
}

/// Label of one of several columns that are compared, counted from 0: `before` and `after` of two, or `1`, `2`, `3` ... of more.
pub(super) fn side(at: usize, columns: usize) -> String {
    match (columns, at) {
        (2, 0) => "before".to_owned(),
        (2, _) => "after".to_owned(),
        _ => (at + 1).to_string(),
    }
}

/// Where a reader hands figures to.
pub(super) struct Out<'s> {
    pub(super) format: &'static str,
    pub(super) run: u32,
    pub(super) line: u64,
    pub(super) given: u64,
    /// Why the line is not read although its format is known.
    pub(super) refused: Option<String>,
    /// Earlier lines of this call with digits, but without a figure so far: some readers keep lines back.
    pub(super) silent: &'s mut Vec<u64>,
    pub(super) sink: &'s mut dyn FnMut(&Figure<'_>),
}

impl Out<'_> {
    /// Refuses the line, because its values are impossible or because nothing states their unit.
    pub(super) fn refuse(&mut self, why: impl Into<String>) -> Fit {
        self.refused = Some(why.into());
        Fit::Mine
    }

    /// The unit of a time below a heading. Refuses the line if the heading states a word that is no unit.
    pub(super) fn time_unit(&mut self, heading: HeadingTime, usual: &'static str) -> Option<&'static str> {
        match heading {
            HeadingTime::Usual => Some(usual),
            HeadingTime::Stated(unit) => Some(unit),
            HeadingTime::Unknown => {
                self.refuse("the heading names a unit of time that is not known");
                None
            }
        }
    }

    /// Hands a figure on, where there is one.
    pub(super) fn put(
        &mut self,
        metric: &str,
        value: impl Into<Option<f64>>,
        unit: &str,
        labels: &[(&'static str, &str)],
    ) {
        self.put_at(None, metric, value, unit, labels);
    }

    /// Hands a figure of some moment on, where there is one.
    pub(super) fn put_at(
        &mut self,
        at_s: Option<f64>,
        metric: &str,
        value: impl Into<Option<f64>>,
        unit: &str,
        labels: &[(&'static str, &str)],
    ) {
        let Some(value) = value.into().filter(|value| value.is_finite()) else { return };
        self.given += 1;
        let (format, run, line) = (self.format, self.run, self.line);
        if self.silent.last().is_some_and(|last| line <= *last) {
            self.silent.retain(|silent| *silent != line);
        }
        (self.sink)(&Figure { format, run, metric, labels, value, unit, at_s, line });
    }

    /// Hands a number of a JSON document on, where there is one.
    pub(super) fn json(
        &mut self,
        metric: &str,
        value: Option<Json<'_>>,
        unit: &str,
        labels: &[(&'static str, &str)],
    ) {
        self.json_at(None, metric, value, unit, labels);
    }

    /// Hands a number of a JSON document that is of some moment on, where there is one.
    pub(super) fn json_at(
        &mut self,
        at_s: Option<f64>,
        metric: &str,
        value: Option<Json<'_>>,
        unit: &str,
        labels: &[(&'static str, &str)],
    ) {
        if let Some(value) = value
            && let Some(number) = value.number()
        {
            self.line = value.line();
            self.put_at(at_s, metric, number, unit, labels);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::formats;

    #[test]
    fn every_format_declares_its_metrics_in_full() {
        for format in formats::ALL {
            assert_eq!(format.measured().count(), format.measured.len(), "{}", format.name);
            assert!(format.measured().all(|measured| !measured.what.is_empty()), "{}", format.name);
        }
    }
}
