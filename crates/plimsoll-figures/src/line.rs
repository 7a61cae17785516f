//! A line as it was meant: without the quotation marks of a mail, and as a terminal would have shown it.

use super::clean::{behind_log_prefix, unquoted};

/// A line of text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line<'t> {
    /// Its number, from 1.
    pub(super) number: u64,
    /// Its text, without blanks at its ends and without marks of quotation.
    pub(super) text: &'t str,
}

impl<'t> Line<'t> {
    /// A line without the marks of quoted mail.
    pub(super) fn new(number: u64, raw: &'t str) -> Self {
        Self { number, text: unquoted(raw) }
    }

    /// The line without one part of the prefix that a log added.
    pub(super) fn behind_log_prefix(&self) -> Option<Self> {
        behind_log_prefix(self.text).map(|text| Self { text, ..*self })
    }

    /// Its words.
    pub(super) fn words(&self) -> Words<'t> {
        words(self.text)
    }

    /// Text after a beginning, without blanks around it.
    pub(super) fn after(&self, beginning: &str) -> Option<&'t str> {
        self.text.strip_prefix(beginning).map(str::trim)
    }

    /// Whether it says nothing.
    pub(super) fn is_blank(&self) -> bool {
        self.text.is_empty()
    }

    /// Whether the line is drawn: dashes and the like, between parts.
    pub(super) fn is_rule(&self) -> bool {
        !self.text.is_empty()
            && self.text.bytes().all(|byte| {
                matches!(byte, b'-' | b'=' | b'_' | b'*' | b' ' | b'+' | b'|' | b'.' | b':' | b'`')
            })
    }
}

/// The words of a text.
pub(super) fn words(text: &str) -> Words<'_> {
    if text.is_ascii() {
        Words::Ascii(text.split_ascii_whitespace())
    } else {
        Words::Any(text.split_whitespace())
    }
}

/// The words of a text, between blanks of any kind; those of most texts are found byte by byte.
pub(super) enum Words<'t> {
    Ascii(std::str::SplitAsciiWhitespace<'t>),
    Any(std::str::SplitWhitespace<'t>),
}

impl<'t> Iterator for Words<'t> {
    type Item = &'t str;

    fn next(&mut self) -> Option<&'t str> {
        match self {
            Self::Ascii(words) => words.next(),
            Self::Any(words) => words.next(),
        }
    }
}
