//! JSON documents in a text: their lines are gathered until the last bracket closes.

use super::super::format::{Format, Out};
use super::super::formats;
use super::super::json::{Json, Lines};
use super::super::line::Line;
use super::{LONGEST, Scanner};

/// A JSON document that has begun.
#[derive(Default)]
pub(super) struct Gather {
    text: String,
    lines: Lines,
    depth: usize,
    in_string: bool,
    escaped: bool,
}

impl Scanner<'_> {
    /// Adds a line to the document that has begun.
    pub(super) fn gathered(&mut self, line: &Line<'_>) {
        let Some(gather) = &mut self.gather else { return };
        match gather.add(line) {
            DocumentState::Open if gather.text.len() <= LONGEST => {}
            DocumentState::Open => {
                self.gather = None;
                self.too_long(line.number, "JSON document");
            }
            DocumentState::Closed { rest } => {
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
            silent: &mut Vec::new(),
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
    pub(super) fn give_up(&mut self) {
        let Some(gather) = self.gather.take() else { return };
        self.braces_are_text = true;
        for (index, (start, number)) in gather.lines.starts.iter().enumerate() {
            let end = gather.lines.starts.get(index + 1).map_or(gather.text.len(), |(next, _)| *next);
            self.text(&Line::new(*number, &gather.text[*start..end]));
        }
        self.braces_are_text = false;
    }
}

/// Whether a line may be the first of a JSON document.
pub(super) fn begins_document(text: &str) -> bool {
    let behind = |bracket: char| text.strip_prefix(bracket).map(str::trim_start);
    behind('{').is_some_and(|rest| rest.is_empty() || rest.starts_with(['"', '}']))
        || behind('[').is_some_and(|rest| rest.is_empty() || rest.starts_with(['{', '[']))
}

/// Whether the last bracket of a document is closed.
enum DocumentState<'t> {
    Open,
    /// With the rest of the line.
    Closed {
        rest: &'t str,
    },
}

impl Gather {
    fn add<'t>(&mut self, line: &Line<'t>) -> DocumentState<'t> {
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
                        return DocumentState::Closed { rest: &line.text[place + 1..] };
                    }
                }
                _ => {}
            }
        }
        self.text.push_str(line.text);
        self.text.push('\n');
        DocumentState::Open
    }
}
