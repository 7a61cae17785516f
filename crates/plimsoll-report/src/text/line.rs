//! Lines of running text, wrapped before they are styled: an escape sequence has no width.

use std::io::{self, Write};

use anstyle::Style;
use plimsoll_model::verdict::Verdict;
use unicode_width::UnicodeWidthStr;

use super::wrap::wrapped;
use super::{Page, style};
use crate::escape::terminal;
use crate::tone::Tone;
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
        let mut style = Some((style::of(Tone::of(verdict.outcome)), outcome));
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

/// The first lines of a text, wrapped; an ellipsis stands for the rest. It follows a whole word, for half of a number is another number.
pub(super) fn clipped(text: &str, width: usize, indent: usize, most: usize) -> Vec<String> {
    let mut lines = wrapped(&terminal(text), width, indent);
    if lines.len() > most {
        lines.truncate(most);
        if let Some(last) = lines.last_mut() {
            while last.width() + 2 > width
                && let Some(word) = last.rfind(' ')
            {
                last.truncate(word);
            }
            last.push_str(" …");
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ellipsis_follows_a_whole_word_and_fits() {
        let text = "the median went from 510 to 626 and then to 700 on each of the rigs";
        let words: Vec<&str> = text.split(' ').collect();
        for width in 12..=text.len() {
            let lines = clipped(text, width, 0, 1);
            let [line] = lines.as_slice() else { panic!("one line was asked for: {lines:?}") };
            assert!(line.width() <= width, "{width}: {line}");
            let kept: Vec<&str> = line.trim_end_matches(" …").split(' ').collect();
            assert_eq!(kept, words[..kept.len()], "{width}: {line}");
        }
        assert_eq!(clipped(text, text.len(), 0, 1), [text]);
    }
}
