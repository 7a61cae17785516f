//! JSON for programs, which a terminal can show as well.

use std::io::{self, Write};

use serde::Serialize;

use crate::escape;

/// Writes a value, indented, with a line end behind it. What a terminal would obey is written as `\u....`, which means the same in JSON.
///
/// # Errors
/// Those of the writer.
pub fn pretty(out: &mut dyn Write, value: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer_pretty(Harmless(out), value)?;
    writeln!(out)
}

/// Writes a value on a line of its own, in strings as [`pretty`] has them.
///
/// # Errors
/// Those of the writer.
pub fn line(out: &mut dyn Write, value: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(Harmless(out), value)?;
    writeln!(out)
}

/// A writer of JSON that escapes what a terminal would obey. Only strings have such letters, and no line ends, which JSON escapes in them.
struct Harmless<'w>(&'w mut dyn Write);

impl Write for Harmless<'_> {
    /// The serialiser writes whole letters at a time.
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        let mut rest =
            str::from_utf8(text).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
        while let Some(place) = rest.find(|c| c != '\n' && escape::disturbs(c)) {
            let (plain, begins) = rest.split_at(place);
            let disturbing = begins.chars().next().expect("it was found there");
            self.0.write_all(plain.as_bytes())?;
            for unit in disturbing.encode_utf16(&mut [0; 2]) {
                write!(self.0, "\\u{unit:04x}")?;
            }
            rest = &begins[disturbing.len_utf8()..];
        }
        self.0.write_all(rest.as_bytes())?;
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_looks_as_usual_and_means_the_same_without_anything_that_a_terminal_obeys() {
        let plain = serde_json::json!({ "a": [1, { "b": null }], "c": [], "d": {} });
        let written = |value: &serde_json::Value| {
            let mut out = Vec::new();
            pretty(&mut out, value).unwrap();
            String::from_utf8(out).unwrap()
        };
        assert_eq!(written(&plain), serde_json::to_string_pretty(&plain).unwrap() + "\n");
        let nasty = serde_json::json!({ "\u{9b}2J": "\u{1b}[2J \u{202e}\u{7f} \u{e0041} ä\r\n" });
        let text = written(&nasty);
        assert!(!text.contains(|c| c != '\n' && escape::disturbs(c)), "{text:?}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), nasty);
        let mut out = Vec::new();
        line(&mut out, &nasty).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!((text.matches('\n').count(), text.ends_with('\n')), (1, true));
        assert!(!text.contains(|c| c != '\n' && escape::disturbs(c)), "{text:?}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), nasty);
    }
}
