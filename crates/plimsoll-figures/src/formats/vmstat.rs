//! The output of `vmstat` (procps), today's and that of 2001.

use super::prelude::*;
use crate::vmstat as columns;

pub(super) const FORMAT: Format = Format {
    name: "vmstat",
    tool: "vmstat (procps)",
    command: "vmstat 1 10",
    measured: &[
        "plain *,since processes, KiB, KiB/s, blocks/s, 1/s, %: each column, by the name that stands above it. The first line is the mean since the start of the machine and has `since=boot`, if the whole heading begins the text or follows the call. It also does if its interrupts or switches are less than half or more than twice those of the next line. `-S` in a line above states the unit of memory; without it, amounts that are too small for KiB have no unit",
    ],
    main: &["sy"],
    checked: Checked::Run("procps-ng 4.0.2"),
    marks: &[" cs", "procs", "-procs-", "vmstat "],
    start: |line| {
        let heading = columns::header(line.text).is_some();
        (heading || is_groups(line.text) || is_call(line.text) || stated_unit(line.text).is_some())
            .then_some(Start::Head)
    },
    reader: Some(|_| Box::<Vmstat>::default()),
    ..Format::EMPTY
};

/// The line above the names of the columns.
fn is_groups(text: &str) -> bool {
    text.contains("procs") && text.contains("memory") && text.contains("swap") && text.contains("cpu")
}

/// The unit of memory that a call states: the letter behind `-S`.
fn stated_unit(text: &str) -> Option<&'static str> {
    let (_, options) = text.split_once("vmstat ")?;
    let mut words = options.split_whitespace().skip_while(|word| !word.starts_with("-S"));
    let letter = match words.next()? {
        "-S" => words.next()?,
        word => &word["-S".len()..],
    };
    Some(match letter {
        "k" => "kB",
        "K" => "KiB",
        "m" => "MB",
        "M" => "MiB",
        _ => return None,
    })
}

/// Less memory in use, in KiB, than a machine has that has a column for waiting: a sign of another unit.
const LITTLE: f64 = 65536.0;

#[derive(Default)]
struct Vmstat {
    names: Vec<String>,
    has_date: bool,
    /// The unit of memory that the call stated.
    memory: Option<&'static str>,
    /// Whether the groups of columns were named: the output was pasted from its beginning.
    from_beginning: bool,
    /// Whether the call stands above, or nothing: the first line of figures is that since the start of the machine.
    from_call: bool,
    /// The first line of figures behind a whole heading, until the next shows what it is.
    held: Option<Row>,
    /// How many lines of figures have been read.
    rows: u64,
    /// Whether the line before was one of figures.
    after_row: bool,
}

/// A line of figures.
struct Row {
    line: u64,
    at: Option<f64>,
    values: Vec<f64>,
}

/// Whether a line is a call of `vmstat`: only options and numbers follow the name.
fn is_call(text: &str) -> bool {
    let is_argument = |word: &str| word.starts_with('-') || word.bytes().all(|byte| byte.is_ascii_digit());
    let name = |word: &&str| *word == "vmstat" || word.ends_with("/vmstat");
    let words: Vec<&str> = text.split_whitespace().collect();
    words.iter().position(name).is_some_and(|at| words[at + 1..].iter().all(|word| is_argument(word)))
}

impl Reader for Vmstat {
    fn line(&mut self, line: &Line<'_>, out: &mut Out<'_>) -> Fit {
        let stated = stated_unit(line.text);
        if stated.is_some() || is_call(line.text) {
            self.memory = stated.or(self.memory);
            self.from_call = true;
            return Fit::Mine;
        }
        if is_groups(line.text) {
            self.from_beginning = line.text.trim_start_matches('-').starts_with("procs");
            self.from_call |= line.number == 1;
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

    fn end(&mut self, out: &mut Out<'_>) {
        if let Some(held) = self.held.take() {
            self.hand_on(&held, self.from_call, out);
        }
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
        // Scripts put the date, the time of day or both before a row.
        let stamps = words.iter().take(2).take_while(|word| word.contains([':', '-', '/'])).count();
        let words = &words[stamps..];
        let fits = wanted > 0 && (words.len() == wanted || (self.has_date && words.len() > wanted));
        let values: Option<Vec<f64>> =
            if fits { words[..wanted].iter().map(|word| number(word)).collect() } else { None };
        let Some(values) = values else {
            self.after_row = false;
            return Fit::Foreign;
        };
        let shares = self.names.iter().zip(&values).filter(|(name, _)| columns::unit(name) == "%");
        if let Some(why) = impossible_shares(shares.map(|(_, value)| *value)) {
            return out.refuse(why);
        }
        self.rows += 1;
        self.after_row = true;
        let before = line.words().take(stamps).find_map(|word| clock(word, None));
        let at = before.or_else(|| words[wanted..].last().and_then(|word| clock(word, None)));
        let row = Row { line: line.number, at, values };
        if let Some(held) = self.held.take() {
            let from_boot = self.from_call || self.differs(&held, &row);
            self.hand_on(&held, from_boot, out);
        }
        if self.rows == 1 && self.from_beginning && stamps == 0 {
            self.held = Some(row);
        } else {
            self.hand_on(&row, false, out);
        }
        Fit::Mine
    }

    /// Whether interrupts or switches of two lines are far apart, as those of a mean since the start and of a moment are.
    fn differs(&self, first: &Row, second: &Row) -> bool {
        ["in", "cs"].into_iter().any(|wanted| {
            let at = self.names.iter().position(|name| name == wanted);
            let pair = at.and_then(|at| Some((first.values.get(at)?, second.values.get(at)?)));
            pair.is_some_and(|(first, second)| 2.0 * first < *second || *first > 2.0 * second)
        })
    }

    fn hand_on(&self, row: &Row, from_boot: bool, out: &mut Out<'_>) {
        let labels: &[(&str, &str)] = if from_boot { &[("since", "boot")] } else { &[] };
        let is_modern = self.names.iter().any(|name| name == "wa");
        let pairs = || self.names.iter().zip(&row.values);
        let used: f64 =
            pairs().filter(|(name, _)| columns::unit(name) == "KiB").map(|(_, value)| value).sum();
        let memory = self.memory.unwrap_or(if is_modern && used < LITTLE { "" } else { "KiB" });
        let line = std::mem::replace(&mut out.line, row.line);
        for (name, value) in pairs() {
            let its_unit = match columns::unit(name) {
                "KiB" => memory,
                "KiB/s" => per_second(memory),
                other => other,
            };
            out.put_at(row.at, name, *value, its_unit, labels);
        }
        out.line = line;
    }
}

/// The unit of swapping, by that of memory.
fn per_second(memory: &str) -> &'static str {
    match memory {
        "KiB" => "KiB/s",
        "MiB" => "MiB/s",
        "kB" => "kB/s",
        "MB" => "MB/s",
        _ => "",
    }
}
