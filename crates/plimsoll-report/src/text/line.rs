//! Lines of running text, wrapped before they are styled: an escape sequence has no width.

use std::io::{self, Write};

use anstyle::Style;
use plimsoll_model::verdict::Verdict;
use unicode_width::UnicodeWidthStr;

use super::wrap::wrapped;
use super::{Page, style};
use crate::escape::terminal;
use crate::{answer, wording};

/// A line, and the style of its beginning.
pub(super) struct Line {
    pub(super) text: String,
    pub(super) styled: Option<(Style, String)>,
}

impl From<String> for Line {
    fn from(text: String) -> Self {
        Self { text, styled: None }
    }
}

impl Line {
    /// A verdict in words: the outcome and its figures, whether the claim holds, and the reason.
    pub(super) fn of_verdict(verdict: &Verdict, width: usize, most: usize) -> Vec<Self> {
        let outcome = format!("{}.", wording::outcome(verdict.outcome));
        let sentences = [answer::answer(verdict), answer::expectation(verdict), answer::reason(verdict)];
        let said: Vec<&str> = sentences.iter().map(String::as_str).filter(|it| !it.is_empty()).collect();
        let lines = clipped(&format!("{outcome} {}", said.join(" ")), width, 0, most);
        let mut style = Some((style::of(verdict.standing()), outcome));
        lines.into_iter().map(|text| Self { text, styled: style.take() }).collect()
    }
}

impl Page<'_> {
    pub(super) fn lines(&mut self, lines: impl IntoIterator<Item = Line>) -> io::Result<()> {
        for Line { text, styled } in lines {
            let begun = styled.and_then(|(style, start)| Some((style, text.strip_prefix(&*start)?, start)));
            match begun {
                Some((style, rest, start)) => {
                    self.out.styled(style, &start)?;
                    writeln!(self.out, "{rest}")?;
                }
                None => writeln!(self.out, "{text}")?,
            }
        }
        Ok(())
    }
}

/// The first lines of a text, wrapped; an ellipsis stands for the rest.
pub(super) fn clipped(text: &str, width: usize, indent: usize, most: usize) -> Vec<String> {
    let mut lines = wrapped(&terminal(text), width, indent);
    if lines.len() > most {
        lines.truncate(most);
        if let Some(last) = lines.last_mut() {
            while last.width() + 2 > width && last.pop().is_some() {}
            last.push_str(" …");
        }
    }
    lines
}
