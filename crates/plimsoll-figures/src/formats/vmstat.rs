//! The output of `vmstat` (procps), today's and that of 2001.

use super::super::format::{Checked, Fit, Format, Measured, Out, Reader, Start, Text};
use super::super::line::Line;
use super::super::number::{clock, number};
use crate::vmstat as columns;

pub(super) const FORMAT: Format = Format {
    name: "vmstat",
    tool: "vmstat (procps)",
    command: "vmstat 1 10",
    measured: &[Measured::plain(
        "*",
        "processes, KiB, KiB/s, blocks/s, 1/s, %",
        &["since"],
        "each column, by the name that stands above it; of the first line, which is the mean since the start of the machine, with `since=boot`",
    )],
    main: &["sy"],
    checked: Checked::Run("procps-ng 4.0.2"),
    text: Some(Text {
        marks: &[" cs", "procs", "-procs-"],
        start: |line| {
            let heading = columns::header(line.text).is_some();
            (heading || is_groups(line.text)).then_some(Start::Head)
        },
        opening: None,
        reader: |_| Box::<Vmstat>::default(),
    }),
    ..Format::EMPTY
};

/// The line above the names of the columns.
fn is_groups(text: &str) -> bool {
    text.contains("procs") && text.contains("memory") && text.contains("cpu")
}

#[derive(Default)]
struct Vmstat {
    names: Vec<String>,
    has_date: bool,
    /// How many lines of figures have been read.
    rows: u64,
    /// Whether the line before was one of figures.
    after_row: bool,
}

impl Reader for Vmstat {
    fn line(&mut self, line: &Line<'_>, out: &mut Out<'_>) -> Fit {
        if is_groups(line.text) {
            return Fit::Mine;
        }
        if let Some(header) = columns::header(line.text) {
            self.names = header.names.iter().map(|name| (*name).to_owned()).collect();
            self.has_date = header.has_date;
            self.after_row = false;
            return Fit::Mine;
        }
        self.row(line, out)
    }

    fn blank(&mut self) {
        self.after_row = false;
    }

    /// A heading that follows figures at once is that of the same call: it comes again with each page of a terminal.
    fn goes_on(&self, _line: &Line<'_>) -> bool {
        self.after_row || self.rows == 0
    }
}

impl Vmstat {
    fn row(&mut self, line: &Line<'_>, out: &mut Out<'_>) -> Fit {
        let words: Vec<&str> = line.words().collect();
        let wanted = self.names.len();
        let fits = wanted > 0 && (words.len() == wanted || (self.has_date && words.len() > wanted));
        let values: Option<Vec<f64>> =
            if fits { words[..wanted].iter().map(|word| number(word)).collect() } else { None };
        let Some(values) = values else {
            self.after_row = false;
            return Fit::Foreign;
        };
        self.rows += 1;
        self.after_row = true;
        let at = words[wanted..].last().and_then(|word| clock(word, None));
        let labels: &[(&str, &str)] = if self.rows == 1 { &[("since", "boot")] } else { &[] };
        for (name, value) in self.names.iter().zip(values) {
            out.put_at(at, name, value, columns::unit(name), labels);
        }
        Fit::Mine
    }
}
