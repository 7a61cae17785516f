//! The one way through an input: which line is whose, and which document is whose.

mod blocks;
mod documents;
mod titles;

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

use super::clean;
use super::coverage::{Coverage, Part};
use super::error::ReadError;
use super::figure::Figure;
use super::format::{Fit, Format, Options, Out, Reader, Start};
use super::formats;
use super::line::Line;
use super::magic::Magic;
use super::rules;
use super::unsupported;
use blocks::{Block, Gap, Names, is_fence};
use documents::{Gather, begins_document};
use titles::Titles;

/// So much is looked at to see what an input is.
const HEAD: u64 = 64 << 10;
/// The longest line, and the largest JSON document, in bytes. What is larger is not read. Parts of a document take up to eight times its size.
const LONGEST: usize = 8 << 20;
/// Foreign lines in a row after which a tool's output has ended.
const PATIENCE: u32 = 30;
/// The most parts of a log's prefix: date, time, host and program, level, stream, mark.
const PREFIXES: usize = 6;
/// The most lines without a figure that are kept of a call until its end.
const SILENT: usize = 1000;

/// Reads every figure of `input`, in the order of the text, and passes each to `sink`. Memory does not grow with the
/// input, except that a JSON document is kept until its end.
///
/// # Errors
/// The input cannot be read, or is no text; there is no such format as `options` name.
pub fn stream(
    mut input: impl Read,
    options: &Options,
    sink: &mut dyn FnMut(&Figure<'_>),
) -> Result<Coverage, ReadError> {
    read_all(&mut input, options, sink)
}

/// Not generic, so that it is compiled here and as this crate is optimised, not as its caller is.
fn read_all(
    input: &mut dyn Read,
    options: &Options,
    sink: &mut dyn FnMut(&Figure<'_>),
) -> Result<Coverage, ReadError> {
    let mut scanner = Scanner::new(options, sink)?;
    let io_error = |line| move |source: io::Error| ReadError::Io { line, source };
    let mut input = BufReader::with_capacity(1 << 18, input);
    let mut head = Vec::new();
    input.by_ref().take(HEAD).read_to_end(&mut head).map_err(io_error(0))?;
    check(&head)?;
    scanner.open(&head);
    let mut input = Cursor::new(head).chain(input);
    let mut bytes = Vec::new();
    let mut number = 0;
    loop {
        bytes.clear();
        let taken =
            input.by_ref().take(LONGEST as u64).read_until(b'\n', &mut bytes).map_err(io_error(number))?;
        if taken == 0 {
            return Ok(scanner.finish(number));
        }
        number += 1;
        if taken == LONGEST && !bytes.ends_with(b"\n") {
            pass_over_line(&mut input).map_err(io_error(number))?;
            scanner.too_long(number, "line");
        } else {
            scanner.line(number, &String::from_utf8_lossy(&bytes));
        }
    }
}

/// Passes over the rest of a line.
fn pass_over_line(input: &mut impl BufRead) -> io::Result<()> {
    loop {
        let buffer = input.fill_buf()?;
        let (length, end) = match memchr::memchr(b'\n', buffer) {
            Some(place) => (place + 1, true),
            None => (buffer.len(), buffer.is_empty()),
        };
        input.consume(length);
        if end {
            return Ok(());
        }
    }
}

/// Refuses input that is no text, and names its kind.
fn check(head: &[u8]) -> Result<(), ReadError> {
    match Magic::of(head) {
        Some(Magic::Compressed(program)) => return Err(ReadError::Compressed(program)),
        Some(Magic::Pcap | Magic::Pcapng | Magic::OtherPcap(_)) => return Err(ReadError::Packets),
        None => {}
    }
    if let [0xff, 0xfe, ..] | [0xfe, 0xff, ..] = head {
        return Err(ReadError::Utf16);
    }
    if memchr::memchr(0, head).is_some() {
        return Err(ReadError::Binary);
    }
    Ok(())
}

/// A reader at work.
struct Active {
    format: &'static Format,
    run: u32,
    reader: Box<dyn Reader>,
    /// How many lines in a row were not of it.
    foreign: u32,
    /// Whether its last line stood behind the prefix of a log.
    prefixed: bool,
    /// Its lines with digits of which no figure was handed on so far.
    silent: Vec<u64>,
    /// Lines behind its last line with a figure.
    gap: Gap,
    /// The figures that it has.
    names: Names,
}

struct Scanner<'s> {
    /// The formats that are looked for.
    formats: Vec<&'static Format>,
    /// The words that mark them, and the format that each marks.
    marks: Option<AhoCorasick>,
    owners: Vec<usize>,
    options: &'s Options,
    sink: &'s mut dyn FnMut(&Figure<'_>),
    runs: BTreeMap<&'static str, u32>,
    active: Option<Active>,
    gather: Option<Gather>,
    /// The document before, where it was one of many of a call of its tool.
    document: Option<(&'static str, u32)>,
    /// Whether braces are text, because they turned out to be no JSON.
    braces_are_text: bool,
    coverage: Coverage,
    /// Whether the input is quoted-printable mail.
    quoted_printable: bool,
    /// The line before, which the next may continue, and its number; 0 before the first.
    held: (u64, String),
    /// The last line that was of no tool, and its number.
    above: (u64, String),
    /// The lines of no tool that may be the title of the next call.
    titles: Titles,
    /// The tool whose lines are recognised, until the next blank line, but not read.
    unsupported: Option<&'static str>,
    /// Lines that are perhaps another call of the tool at work.
    block: Option<Block>,
    /// Whether lines that were held back are read.
    reads_again: bool,
}

/// The words that mark all formats. The machine that finds them takes longer to build than a short text to read.
static MARKS: LazyLock<(Option<AhoCorasick>, Vec<usize>)> = LazyLock::new(|| marks(formats::ALL));

/// Matcher of the words that mark these formats, and the format of each word.
fn marks(formats: &[&'static Format]) -> (Option<AhoCorasick>, Vec<usize>) {
    let of_each =
        |(index, format): (usize, &&'static Format)| format.marks.iter().map(move |mark| (*mark, index));
    let marks = formats.iter().enumerate().flat_map(of_each);
    let (words, owners): (Vec<&str>, Vec<usize>) = marks.unzip();
    (if words.is_empty() { None } else { AhoCorasick::new(&words).ok() }, owners)
}

/// A reader for one call of the tool; nothing for formats that are JSON only.
fn reader(format: &Format, options: &Options) -> Option<Box<dyn Reader>> {
    let of_lines = || (!format.lines.is_empty()).then(|| rules::reader(format.lines));
    format.reader.map(|new| new(options)).or_else(of_lines)
}

impl<'s> Scanner<'s> {
    fn new(options: &'s Options, sink: &'s mut dyn FnMut(&Figure<'_>)) -> Result<Self, ReadError> {
        let formats: Vec<&'static Format> = match &options.only {
            Some(name) => vec![formats::named(name)?],
            None => formats::ALL.to_vec(),
        };
        let (marks, owners) = if options.only.is_some() { marks(&formats) } else { MARKS.clone() };
        Ok(Self {
            formats,
            marks,
            owners,
            options,
            sink,
            runs: BTreeMap::new(),
            active: None,
            gather: None,
            document: None,
            braces_are_text: false,
            coverage: Coverage::default(),
            quoted_printable: false,
            held: (0, String::new()),
            above: (0, String::new()),
            titles: Titles::default(),
            unsupported: None,
            block: None,
            reads_again: false,
        })
    }

    /// Looks whether the beginning of the input shows a format that no word marks, or whether the format is given.
    fn open(&mut self, head: &[u8]) {
        let head = String::from_utf8_lossy(head);
        self.quoted_printable = clean::is_quoted_printable(&head);
        let cleaned: Vec<_> = head.lines().map(|raw| clean::clean(raw, self.quoted_printable)).collect();
        let lines = (1..).zip(&cleaned).map(|(number, raw)| Line::new(number, raw));
        let mut lines = lines.filter(|line| !line.is_blank() && !line.text.starts_with('#'));
        let Some(first) = lines.next() else { return };
        let second = lines.next();
        let given = self.options.only.is_some();
        let opens = |format: &&&'static Format| {
            let starts_json = format.json.is_some() && begins_document(first.text);
            (given && !starts_json) || format.opening.is_some_and(|opening| opening(&first, second.as_ref()))
        };
        if let Some(format) = self.formats.iter().find(opens).copied() {
            self.begin(format);
        }
    }

    /// Begins with the next call of a tool.
    fn begin(&mut self, format: &'static Format) {
        let Some(reader) = reader(format, self.options) else { return };
        // A line that begins the output of several tools is of the one that is recognised later.
        let silent = self.end_before(true);
        let run = self.next_run(format);
        self.active = Some(Active {
            format,
            run,
            reader,
            foreign: 0,
            prefixed: false,
            silent,
            gap: Gap::default(),
            names: Names::default(),
        });
    }

    /// Ends with the reader at work.
    fn end(&mut self) {
        self.end_before(false);
    }

    /// Ends with the reader at work: its lines, if it had no figure and another follows.
    fn end_before(&mut self, another: bool) -> Vec<u64> {
        let Some(mut active) = self.active.take() else { return Vec::new() };
        let mut out = Out {
            format: active.format.name,
            run: active.run,
            line: 0,
            given: 0,
            refused: None,
            silent: &mut active.silent,
            sink: &mut *self.sink,
        };
        active.reader.end(&mut out);
        let given = out.given;
        self.coverage.late(active.format.name, active.run, given);
        if another && given == 0 && active.names.is_empty() {
            self.titles.restore(self.coverage.without_call(active.format.name, active.run));
            return active.silent;
        }
        self.coverage.without_figures(active.format.name, &active.silent);
        Vec::new()
    }

    fn next_run(&mut self, format: &'static Format) -> u32 {
        self.document = None;
        let run = self.runs.entry(format.name).or_default();
        *run += 1;
        self.coverage.call(format.name, *run, self.titles.take());
        *run
    }

    /// Takes the next line of the input. A line is read when the next shows that it was not wrapped.
    fn line(&mut self, number: u64, raw: &str) {
        let has_room = self.held.1.len() + raw.len() <= LONGEST;
        if self.held.0 > 0 && has_room && clean::join(&mut self.held.1, raw, self.quoted_printable) {
            return;
        }
        self.flush();
        self.held.0 = number;
        self.held.1.push_str(raw);
    }

    /// Notes something that is beyond the limit, and not read.
    fn too_long(&mut self, number: u64, what: &str) {
        self.flush();
        self.give_up();
        self.release();
        self.coverage.refuse(number, format!("the {what} is longer than {LONGEST} bytes (8 MiB)"));
    }

    /// Reads the line that was held back.
    fn flush(&mut self) {
        let (number, mut held) = std::mem::take(&mut self.held);
        if number == 0 {
            return;
        }
        if self.gather.is_some() && !self.quoted_printable {
            self.gathered(&Line::new(number, &held));
        } else {
            let cleaned = clean::clean(&held, self.quoted_printable);
            let line = Line::new(number, &cleaned);
            if self.gather.is_some() { self.gathered(&line) } else { self.text(&line) }
        }
        held.clear();
        self.held.1 = held;
    }

    fn text(&mut self, line: &Line<'_>) {
        if self.holds(line) {
            return;
        }
        if line.is_blank() {
            if let Some(active) = &mut self.active {
                active.reader.blank();
                active.gap.blank();
            }
            self.unsupported = None;
            return;
        }
        let prefixed =
            self.active.as_ref().is_some_and(|active| active.prefixed) || clean::is_logged(line.text);
        let fits = !is_fence(line.text)
            && ((prefixed && self.route_behind_prefix(line))
                || self.route(line)
                || (!prefixed && self.route_behind_prefix(line)));
        if !fits && !self.braces_are_text && begins_document(line.text) {
            self.end();
            self.gather = Some(Gather::default());
            self.gathered(line);
        } else if !fits {
            self.foreign(line);
        }
    }

    /// Gives a line to the reader that it belongs to, without as much of a log's prefix as that reader can do without.
    fn route_behind_prefix(&mut self, line: &Line<'_>) -> bool {
        let bare = std::iter::successors(line.behind_log_prefix(), Line::behind_log_prefix);
        let bare: Vec<Line<'_>> = bare.take(PREFIXES).collect();
        for bare in bare.into_iter().rev() {
            if self.is_marked(&bare) && self.route(&bare) {
                if let Some(active) = &mut self.active {
                    active.prefixed = true;
                }
                return true;
            }
        }
        false
    }

    /// Whether a reader may take a line without the prefix that a log added: formats that no word marks take any line.
    fn is_marked(&self, line: &Line<'_>) -> bool {
        let at_work = self.active.as_ref();
        at_work.is_some_and(|active| !active.format.marks.is_empty()) || self.starts(line).is_some()
    }

    /// Gives a line to the reader that it belongs to. False where none takes it.
    fn route(&mut self, line: &Line<'_>) -> bool {
        match self.starts(line) {
            Some((format, Start::Head)) if !self.goes_on(format, line) => {
                self.begin(format);
                self.feed(line)
            }
            Some((format, Start::Within | Start::Perhaps)) => {
                let fits = self.feed(line);
                let is_its_own = self.active.as_ref().is_some_and(|active| active.format.name == format.name);
                if fits || is_its_own {
                    return fits;
                }
                self.begin(format);
                self.show_above(line.number);
                self.feed(line)
            }
            _ => self.feed(line),
        }
    }

    /// Shows the line above the first of a call to its reader.
    fn show_above(&mut self, first: u64) {
        if let Some(active) = &mut self.active
            && self.above.0 + 2 >= first
        {
            active.reader.above(&self.above.1, self.above.0 + 2 == first);
        }
    }

    /// Whether the reader at work takes this beginning for a heading that is repeated.
    fn goes_on(&self, format: &Format, line: &Line<'_>) -> bool {
        self.active
            .as_ref()
            .is_some_and(|active| active.format.name == format.name && active.reader.goes_on(line))
    }

    /// Whose output this line may begin: that of the reader at work before others.
    fn starts(&self, line: &Line<'_>) -> Option<(&'static Format, Start)> {
        let marks = self.marks.as_ref()?;
        if !marks.is_match(line.text) {
            return None;
        }
        let mut found: Option<(&'static Format, Start)> = None;
        let mut tried = None;
        for mark in marks.find_overlapping_iter(line.text) {
            let owner = self.owners[mark.pattern().as_usize()];
            if tried == Some(owner) {
                continue;
            }
            tried = Some(owner);
            let format = self.formats[owner];
            let start = (format.start)(line).or_else(|| rules::start(format.lines, line));
            let Some(start) = start else { continue };
            let at_work = self.active.as_ref().is_some_and(|active| active.format.name == format.name);
            if at_work && start > Start::Perhaps {
                return Some((format, start));
            }
            if found.is_none_or(|(_, before)| start > before) {
                found = Some((format, start));
            }
        }
        found
    }

    /// Gives a line to the reader at work. Whether it is of its tool.
    fn feed(&mut self, line: &Line<'_>) -> bool {
        match self.offer(line) {
            Fit::Mine => true,
            Fit::Next => {
                if let Some(format) = self.active.as_ref().map(|active| active.format) {
                    self.begin(format);
                }
                self.offer(line) == Fit::Mine
            }
            Fit::Foreign => false,
        }
    }

    fn offer(&mut self, line: &Line<'_>) -> Fit {
        let Some(active) = &mut self.active else { return Fit::Foreign };
        let (format, run) = (active.format, active.run);
        let (names, to) = (&mut active.names, &mut *self.sink);
        let mut sink = |figure: &Figure<'_>| {
            names.add(figure);
            to(figure);
        };
        let mut out = Out {
            format: format.name,
            run,
            line: line.number,
            given: 0,
            refused: None,
            silent: &mut active.silent,
            sink: &mut sink,
        };
        let fit = active.reader.line(line, &mut out);
        let (given, refused) = (out.given, out.refused.take());
        if let Some(reason) = refused {
            active.foreign = 0;
            self.coverage.refuse(line.number, reason);
            self.coverage.figures += given;
            return Fit::Mine;
        }
        // A line with a figure is of the tool, even where the rest of the line is wrong.
        let fit = if given > 0 { Fit::Mine } else { fit };
        if fit == Fit::Mine {
            active.foreign = 0;
            active.prefixed = false;
            if given > 0 {
                active.gap = Gap::default();
                self.titles.clear();
            }
            if given == 0
                && active.silent.len() < SILENT
                && line.text.bytes().any(|byte| byte.is_ascii_digit())
            {
                active.silent.push(line.number);
            }
            self.document = None;
            self.note(line.number, format, run, given);
        }
        fit
    }

    fn note(&mut self, line: u64, format: &'static Format, run: u32, given: u64) {
        let part = match format.elsewhere {
            Some(command) => Part::Elsewhere { format: format.name, command },
            None => Part::Read { format: format.name, run },
        };
        self.coverage.note(line, || part.clone(), |other| *other == part, given);
    }

    /// Notes a line that is of no tool that is known here.
    fn foreign(&mut self, line: &Line<'_>) {
        if let Some(active) = &mut self.active {
            active.gap.line(line);
        }
        // A drawn line says nothing.
        if line.is_rule() {
            return;
        }
        self.document = None;
        if !is_fence(line.text) {
            self.titles.add(line.text);
        }
        self.above.0 = line.number;
        line.text.clone_into(&mut self.above.1);
        self.unsupported = unsupported::tool(line.text).or(self.unsupported);
        match self.unsupported {
            Some(tool) => self.coverage.unsupported(line.number, tool),
            None => self.coverage.skip(line.number, line.text),
        }
        if self.options.only.is_none()
            && let Some(active) = &mut self.active
        {
            active.foreign += 1;
            if active.foreign >= PATIENCE {
                self.end();
            }
        }
    }

    fn finish(mut self, lines: u64) -> Coverage {
        self.flush();
        self.give_up();
        self.release();
        self.end();
        self.coverage.without_single_calls();
        titles::name(&mut self.coverage.calls);
        self.coverage.lines = lines;
        self.coverage
    }
}
