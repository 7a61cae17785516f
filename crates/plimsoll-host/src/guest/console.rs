//! What a guest's kernel says on its serial port, of which the last is kept.

use std::collections::VecDeque;

/// Lines of a panic that are kept, from its reason on.
const MOST_LINES: usize = 30;
/// A line that never ends is cut.
const LONGEST_LINE: usize = 300;

/// The last lines.
#[derive(Debug, Default)]
pub(crate) struct Console {
    lines: VecDeque<String>,
    unfinished: Vec<u8>,
}

impl Console {
    /// Takes more of it in.
    pub(crate) fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            match byte {
                b'\n' => self.finish(),
                _ if self.unfinished.len() < LONGEST_LINE => self.unfinished.push(*byte),
                _ => {}
            }
        }
    }

    fn finish(&mut self) {
        let line = shown(&self.unfinished);
        self.unfinished.clear();
        if line.is_empty() {
            return;
        }
        if self.lines.len() == MOST_LINES {
            self.lines.pop_front();
        }
        self.lines.push_back(line);
    }

    /// The first kept line that begins with one of these words.
    pub(crate) fn line_of(&self, beginnings: &[&str]) -> Option<String> {
        self.lines.iter().find(|line| beginnings.iter().any(|words| line.starts_with(words))).cloned()
    }

    /// The kept lines, joined; empty if the console printed nothing.
    pub(crate) fn last_lines(&self) -> String {
        let unfinished = shown(&self.unfinished);
        let last = (!unfinished.is_empty()).then_some(unfinished);
        self.lines.iter().cloned().chain(last).collect::<Vec<_>>().join("\n")
    }
}

/// The text without what would move a terminal's cursor, such as the colours and the clearing of the screen by a boot loader.
fn shown(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let mut plain = String::new();
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match character {
            // CSI sequences end with a letter (ECMA-48, 5.4).
            '\u{1b}' => drop(characters.by_ref().find(char::is_ascii_alphabetic)),
            '\t' => plain.push(' '),
            _ if character.is_control() => {}
            _ => plain.push(character),
        }
    }
    plain.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_are_kept_and_nothing_that_moves_the_cursor() {
        let mut console = Console::default();
        for n in 0..100 {
            console.write(format!("line {n}\r\n\r\n").as_bytes());
        }
        console.write(b"\x1b[2J\x1b[1;31mKernel panic\x1b[0m");
        let kept = console.last_lines();
        let lines: Vec<&str> = kept.lines().collect();
        assert_eq!((lines.len(), lines[0], lines[MOST_LINES]), (MOST_LINES + 1, "line 70", "Kernel panic"));
    }

    #[test]
    fn a_line_without_an_end_does_not_fill_memory() {
        let mut console = Console::default();
        console.write(&[b'x'; 1 << 20]);
        assert_eq!(console.last_lines().len(), LONGEST_LINE);
    }
}
