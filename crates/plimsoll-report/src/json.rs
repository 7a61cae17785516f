//! The public JSON, as the model's types have it.

use std::io::{self, Write};

use plimsoll_model::report::RunReport;
use plimsoll_model::verdict::{VERDICT_SCHEMA, Verdict};
use serde::Serialize;
use serde_json::ser::{Formatter, PrettyFormatter, Serializer};

use crate::escape;

/// Writes a run, indented, with a line end behind it. Its schema is [`plimsoll_model::report::RUN_SCHEMA`].
///
/// # Errors
/// Those of the writer.
pub fn run(out: &mut dyn Write, report: &RunReport) -> io::Result<()> {
    pretty(out, report)
}

/// Writes a single verdict, indented, with its schema's name in front and a line end behind it.
///
/// # Errors
/// Those of the writer.
pub fn verdict(out: &mut dyn Write, verdict: &Verdict) -> io::Result<()> {
    pretty(out, &Versioned { schema: VERDICT_SCHEMA, verdict })
}

/// A verdict that stands alone says what form it has.
#[derive(Serialize)]
struct Versioned<'a> {
    schema: &'static str,
    #[serde(flatten)]
    verdict: &'a Verdict,
}

/// Writes a value, indented, with a line end behind it. What a terminal would obey is written as `\u....` in strings, which means the
/// same in JSON.
///
/// # Errors
/// Those of the writer.
pub fn pretty(out: &mut dyn Write, value: &impl Serialize) -> io::Result<()> {
    value.serialize(&mut Serializer::with_formatter(&mut *out, Harmless::default()))?;
    writeln!(out)
}

/// Writes a value on a line of its own, in strings as [`pretty`] has them.
///
/// # Errors
/// Those of the writer.
pub fn line(out: &mut dyn Write, value: &impl Serialize) -> io::Result<()> {
    value.serialize(&mut Serializer::with_formatter(&mut *out, HarmlessLine))?;
    writeln!(out)
}

/// The form without blanks, in which strings have nothing that a terminal obeys.
struct HarmlessLine;

impl Formatter for HarmlessLine {
    fn write_string_fragment<W: ?Sized + Write>(&mut self, out: &mut W, fragment: &str) -> io::Result<()> {
        harmless(out, fragment)
    }
}

/// Writes a part of a string. What a terminal would obey is escaped.
fn harmless<W: ?Sized + Write>(out: &mut W, fragment: &str) -> io::Result<()> {
    let mut rest = fragment;
    while let Some(place) = rest.find(escape::disturbs) {
        let (plain, begins) = rest.split_at(place);
        let disturbing = begins.chars().next().expect("it was found there");
        out.write_all(plain.as_bytes())?;
        for unit in disturbing.encode_utf16(&mut [0; 2]) {
            write!(out, "\\u{unit:04x}")?;
        }
        rest = &begins[disturbing.len_utf8()..];
    }
    out.write_all(rest.as_bytes())
}

/// The usual indented form, in which strings have nothing that a terminal obeys.
#[derive(Default)]
struct Harmless(PrettyFormatter<'static>);

impl Formatter for Harmless {
    fn write_string_fragment<W: ?Sized + Write>(&mut self, out: &mut W, fragment: &str) -> io::Result<()> {
        harmless(out, fragment)
    }

    fn begin_array<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.begin_array(out)
    }

    fn end_array<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.end_array(out)
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        self.0.begin_array_value(out, first)
    }

    fn end_array_value<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.end_array_value(out)
    }

    fn begin_object<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.begin_object(out)
    }

    fn end_object<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.end_object(out)
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        self.0.begin_object_key(out, first)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.begin_object_value(out)
    }

    fn end_object_value<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.end_object_value(out)
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
