//! Removes control characters before a terminal shows text.
//!
//! All text that Plimsoll prints passes through a [`Screen`]. Names, questions, arguments and what programs wrote to their standard
//! error may hold escape sequences, carriage returns and marks that turn the writing direction; a screen shows them as they are
//! written in source code (`\x1b`, `\r`, `\u{202e}`), so that they can neither move the cursor nor hide what stands beside them. The
//! styles of Plimsoll's own reach the terminal by [`Screen::styled`] alone, and only where the screen has colour.

use std::io::{self, Write};

use anstyle::Style;

use crate::escape;

/// A stream that shows what is written to it, and obeys nothing in it but line ends and tabs.
pub struct Screen<W: Write> {
    out: W,
    color: bool,
    /// The beginning of a character whose end has not been written yet.
    begun: Vec<u8>,
}

impl<W: Write> Screen<W> {
    /// A screen on `out`, which is a terminal that may have colour or anything without.
    pub fn new(out: W, color: bool) -> Self {
        Self { out, color, begun: Vec::new() }
    }

    /// Writes text in a style.
    ///
    /// # Errors
    /// Those of the stream.
    pub fn styled(&mut self, style: Style, text: &str) -> io::Result<()> {
        if !self.color {
            return self.write_all(text.as_bytes());
        }
        write!(self.out, "{style}")?;
        self.write_all(text.as_bytes())?;
        write!(self.out, "{style:#}")
    }

    /// Shows the beginning of a character that never ended.
    fn end_character(&mut self) -> io::Result<()> {
        std::mem::take(&mut self.begun).into_iter().try_for_each(|byte| write!(self.out, "\\x{byte:02x}"))
    }
}

impl<W: Write> Write for Screen<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut all = std::mem::take(&mut self.begun);
        all.extend_from_slice(bytes);
        let mut chunks = all.utf8_chunks().peekable();
        while let Some(chunk) = chunks.next() {
            self.out.write_all(escape::block(chunk.valid()).as_bytes())?;
            let wrong = chunk.invalid();
            if chunks.peek().is_none() && is_begun(wrong) {
                self.begun = wrong.to_vec();
            } else {
                wrong.iter().try_for_each(|byte| write!(self.out, "\\x{byte:02x}"))?;
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.end_character()?;
        self.out.flush()
    }
}

/// Whether bytes may become a character when more of them come.
fn is_begun(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_err_and(|error| error.error_len().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;
    use anstyle::AnsiColor;

    fn shown(bytes: &[u8], color: bool) -> String {
        let mut out = Vec::new();
        let mut screen = Screen::new(&mut out, color);
        screen.write_all(bytes).unwrap();
        screen.flush().unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn escape_sequences_are_shown_and_not_obeyed() {
        assert_eq!(shown(b"a\x1b[2Jb\r\x07\n\tc", true), "a\\x1b[2Jb\\r\\x07\n\tc");
        assert_eq!(shown("\u{9b}31m \u{202e}".as_bytes(), false), "\\u{9b}31m \\u{202e}");
        assert_eq!(shown(b"a\xffb\xc3", false), "a\\xffb\\xc3");
    }

    #[test]
    fn only_a_style_of_our_own_colours_the_screen() {
        let mut out = Vec::new();
        let mut screen = Screen::new(&mut out, true);
        screen.styled(AnsiColor::Green.on_default(), "good\x1b[31m").unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "\x1b[32mgood\\x1b[31m\x1b[0m");
        let mut out = Vec::new();
        Screen::new(&mut out, false).styled(AnsiColor::Green.on_default(), "good").unwrap();
        assert_eq!(out, b"good");
    }

    #[test]
    fn a_character_may_come_in_pieces() {
        let mut out = Vec::new();
        let mut screen = Screen::new(&mut out, false);
        for byte in "ä\u{202e}€ 𝕏".bytes() {
            screen.write_all(&[byte]).unwrap();
        }
        screen.flush().unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "ä\\u{202e}€ 𝕏");
    }

    #[test]
    fn whatever_is_written_in_whatever_pieces_nothing_is_obeyed() {
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let mut random = |below: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % below
        };
        let nasty: [&[u8]; 14] = [
            b"\x1b",
            b"[2J",
            b"\x1b]0;title\x07",
            b"\r",
            b"\n",
            b"\x7f",
            "\u{9b}".as_bytes(),
            "\u{202e}".as_bytes(),
            "\u{2066}".as_bytes(),
            "\u{feff}".as_bytes(),
            "\u{61c}".as_bytes(),
            b"\xe2\x80",
            b"\xc2",
            b"plain ",
        ];
        for _ in 0..2000 {
            let mut out = Vec::new();
            let mut screen = Screen::new(&mut out, false);
            for _ in 0..random(12) {
                let piece = nasty[random(nasty.len())];
                let cut = random(piece.len() + 1);
                screen.write_all(&piece[..cut]).unwrap();
                screen.write_all(&piece[cut..]).unwrap();
            }
            screen.flush().unwrap();
            let text = String::from_utf8(out).expect("what is shown is UTF-8");
            let obeyed = text.chars().find(|&c| c != '\n' && escape::disturbs(c));
            assert_eq!(obeyed, None, "{text:?}");
        }
    }
}
