//! The one way through an input: which line is whose, and which document is whose.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Cursor, Read};

use aho_corasick::AhoCorasick;

use super::clean;
use super::coverage::{Coverage, Part};
use super::error::ReadError;
use super::figure::Figure;
use super::format::{Fit, Format, Options, Out, Reader, Start};
use super::formats;
use super::json::{Json, Lines};
use super::line::Line;
use super::magic::Magic;
use super::unsupported;

/// So much is looked at to see what an input is.
const HEAD: u64 = 64 << 10;
/// The longest line, and the largest JSON document, in bytes. What is larger is not read. Parts of a document take up to eight times its size.
const LONGEST: usize = 8 << 20;
/// Foreign lines in a row after which a tool's output has ended.
const PATIENCE: u32 = 30;

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

/// Refuses what is no text, and says what it is.
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
}

/// A JSON document that has begun.
#[derive(Default)]
struct Gather {
    text: String,
    lines: Lines,
    depth: usize,
    in_string: bool,
    escaped: bool,
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
    /// The tool whose lines are recognised, until the next blank line, but not read.
    unsupported: Option<&'static str>,
}

impl<'s> Scanner<'s> {
    fn new(options: &'s Options, sink: &'s mut dyn FnMut(&Figure<'_>)) -> Result<Self, ReadError> {
        let formats: Vec<&'static Format> = match &options.only {
            Some(name) => vec![formats::named(name)?],
            None => formats::ALL.to_vec(),
        };
        let marks = || {
            let texts =
                formats.iter().enumerate().filter_map(|(index, format)| Some((index, format.text.as_ref()?)));
            texts.flat_map(|(index, text)| text.marks.iter().map(move |mark| (index, *mark)))
        };
        let owners = marks().map(|(index, _)| index).collect();
        let words: Vec<&str> = marks().map(|(_, word)| word).collect();
        let marks = if words.is_empty() { None } else { AhoCorasick::new(&words).ok() };
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
            unsupported: None,
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
            let Some(text) = &format.text else { return false };
            let starts_json = format.json.is_some() && begins_document(first.text);
            (given && !starts_json) || text.opening.is_some_and(|opening| opening(&first, second.as_ref()))
        };
        if let Some(format) = self.formats.iter().find(opens).copied() {
            self.begin(format);
        }
    }

    /// Begins with the next call of a tool.
    fn begin(&mut self, format: &'static Format) {
        let Some(text) = &format.text else { return };
        self.end();
        let reader = (text.reader)(self.options);
        self.active = Some(Active { format, run: self.next_run(format), reader, foreign: 0 });
    }

    /// Ends with the reader at work.
    fn end(&mut self) {
        let Some(mut active) = self.active.take() else { return };
        let mut out = Out {
            format: active.format.name,
            run: active.run,
            line: 0,
            given: 0,
            refused: None,
            sink: &mut *self.sink,
        };
        active.reader.end(&mut out);
        self.coverage.late(active.format.name, active.run, out.given);
    }

    fn next_run(&mut self, format: &'static Format) -> u32 {
        self.document = None;
        let run = self.runs.entry(format.name).or_default();
        *run += 1;
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
        if line.is_blank() {
            if let Some(active) = &mut self.active {
                active.reader.blank();
            }
            self.unsupported = None;
            return;
        }
        let bare = || line.behind_log_prefix().and_then(|line| line.behind_log_prefix().or(Some(line)));
        let fits = self.route(line) || bare().is_some_and(|bare| self.is_marked(&bare) && self.route(&bare));
        if !fits && !self.braces_are_text && begins_document(line.text) {
            self.end();
            self.gather = Some(Gather::default());
            self.gathered(line);
        } else if !fits {
            self.foreign(line);
        }
    }

    /// Whether a reader may take a line without the prefix that a log added: formats that no word marks take any line.
    fn is_marked(&self, line: &Line<'_>) -> bool {
        let at_work = self.active.as_ref().and_then(|active| active.format.text.as_ref());
        at_work.is_some_and(|text| !text.marks.is_empty()) || self.starts(line).is_some()
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
                if let Some(active) = &mut self.active
                    && self.above.0 + 2 >= line.number
                {
                    active.reader.above(&self.above.1, self.above.0 + 2 == line.number);
                }
                self.feed(line)
            }
            _ => self.feed(line),
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
            let Some(start) = format.text.as_ref().and_then(|text| (text.start)(line)) else { continue };
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
        let mut out = Out {
            format: format.name,
            run,
            line: line.number,
            given: 0,
            refused: None,
            sink: &mut *self.sink,
        };
        let fit = active.reader.line(line, &mut out);
        let (given, refused) = (out.given, out.refused.take());
        if let Some(reason) = refused {
            active.foreign = 0;
            self.coverage.refuse(line.number, reason);
            return Fit::Mine;
        }
        // What a figure was handed on from is of the tool, whatever is wrong with the rest of the line.
        let fit = if given > 0 { Fit::Mine } else { fit };
        if fit == Fit::Mine {
            active.foreign = 0;
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
        // What is drawn says nothing.
        if line.is_rule() {
            return;
        }
        self.document = None;
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

    /// Adds a line to the document that has begun.
    fn gathered(&mut self, line: &Line<'_>) {
        let Some(gather) = &mut self.gather else { return };
        match gather.add(line) {
            Grown::Goes if gather.text.len() <= LONGEST => {}
            Grown::Goes => {
                self.gather = None;
                self.too_long(line.number, "JSON document");
            }
            Grown::Ended { rest } => {
                let gather = std::mem::take(gather);
                self.gather = None;
                if self.document(&gather) {
                    let rest = rest.trim_start_matches(',').trim();
                    if !rest.is_empty() {
                        self.coverage.skip(line.number, rest);
                    }
                } else {
                    self.gather = Some(gather);
                    self.give_up();
                }
            }
        }
    }

    /// Reads a whole document. Whether it is JSON at all.
    fn document(&mut self, gather: &Gather) -> bool {
        let Ok(whole) = Json::new(&gather.text, &gather.lines) else { return false };
        let fits = |format: &'static Format| {
            let document = format.json.as_ref()?;
            (document.is)(&whole).then_some((format, document))
        };
        // Of lines that are documents, the next is most likely what the one before was.
        let before = self.document.and_then(|(name, _)| formats::named(name).ok());
        let before = before.filter(|format| format.json.as_ref().is_some_and(|document| document.by_line));
        let found = before.and_then(fits).or_else(|| self.formats.iter().copied().find_map(fits));
        let numbers = gather.lines.starts.iter().map(|(_, number)| *number);
        let Some((format, document)) = found else {
            let text = gather.text.lines().next().unwrap_or_default();
            for number in numbers {
                self.coverage.skip(number, text);
            }
            self.document = None;
            return true;
        };
        let run = match self.document {
            Some((name, run)) if document.by_line && name == format.name => run,
            _ => self.next_run(format),
        };
        let mut out = Out {
            format: format.name,
            run,
            line: whole.line(),
            given: 0,
            refused: None,
            sink: &mut *self.sink,
        };
        (document.read)(&whole, &mut out);
        let mut given = out.given;
        for number in numbers {
            self.note(number, format, run, given);
            given = 0;
        }
        self.document = Some((format.name, run));
        true
    }

    /// Reads as text what was taken for the beginning of a document.
    fn give_up(&mut self) {
        let Some(gather) = self.gather.take() else { return };
        self.braces_are_text = true;
        for (index, (start, number)) in gather.lines.starts.iter().enumerate() {
            let end = gather.lines.starts.get(index + 1).map_or(gather.text.len(), |(next, _)| *next);
            self.text(&Line::new(*number, &gather.text[*start..end]));
        }
        self.braces_are_text = false;
    }

    fn finish(mut self, lines: u64) -> Coverage {
        self.flush();
        self.give_up();
        self.end();
        self.coverage.lines = lines;
        self.coverage
    }
}

/// Whether a line may be the first of a JSON document.
fn begins_document(text: &str) -> bool {
    let behind = |bracket: char| text.strip_prefix(bracket).map(str::trim_start);
    behind('{').is_some_and(|rest| rest.is_empty() || rest.starts_with(['"', '}']))
        || behind('[').is_some_and(|rest| rest.is_empty() || rest.starts_with(['{', '[']))
}

/// How far a document is.
enum Grown<'t> {
    Goes,
    /// Its last bracket is closed; what stands behind it in the line.
    Ended {
        rest: &'t str,
    },
}

impl Gather {
    fn add<'t>(&mut self, line: &Line<'t>) -> Grown<'t> {
        self.lines.starts.push((self.text.len(), line.number));
        for (place, byte) in line.text.bytes().enumerate() {
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' if self.in_string => self.escaped = true,
                b'"' => self.in_string = !self.in_string,
                b'{' | b'[' if !self.in_string => self.depth += 1,
                b'}' | b']' if !self.in_string => {
                    self.depth = self.depth.saturating_sub(1);
                    if self.depth == 0 {
                        self.text.push_str(&line.text[..=place]);
                        return Grown::Ended { rest: &line.text[place + 1..] };
                    }
                }
                _ => {}
            }
        }
        self.text.push_str(line.text);
        self.text.push('\n');
        Grown::Goes
    }
}
