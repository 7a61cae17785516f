//! Which lines were read, and which were not.

use serde::Serialize;

/// The most stretches that are kept one by one.
const MOST: usize = 1000;
/// So much of a line that was not read is quoted.
pub(super) const QUOTED: usize = 60;

/// Fate of a line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "part")]
pub enum Part {
    /// Line of a known format.
    Read {
        /// The format.
        format: &'static str,
        /// Which call of the tool, from 1.
        run: u32,
    },
    /// Line of a format that another command reads.
    Elsewhere {
        /// The format.
        format: &'static str,
        /// The command.
        command: &'static str,
    },
    /// The output of a tool that is recognised, but not read.
    Unsupported {
        /// The tool.
        tool: &'static str,
    },
    /// Line of a known format, whose values are impossible, or have no stated unit.
    Refused {
        /// The reason.
        why: String,
    },
    /// Line of no known format.
    Skipped {
        /// How the first of these lines begins.
        what: String,
    },
}

/// Lines that follow one another, with the same fate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Stretch {
    /// The first line, from 1.
    pub from: u64,
    /// The last line.
    pub to: u64,
    /// Fate of the lines.
    #[serde(flatten)]
    pub part: Part,
    /// How many figures were read from them.
    pub figures: u64,
}

/// Lines of a call that have digits, but no figure that its format has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WithoutFigures {
    /// The format.
    pub format: &'static str,
    /// The first line, from 1.
    pub from: u64,
    /// The last line.
    pub to: u64,
}

/// A call of a tool, where a text has several.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Call {
    /// The format.
    pub format: &'static str,
    /// Which call of the tool, from 1.
    pub run: u32,
    /// A line of other text above it: a heading, a command, or the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Lines of other text above it, the nearest first.
    #[serde(skip)]
    pub(super) above: Vec<String>,
}

/// Fate of every line that is not blank.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Coverage {
    /// How many lines there are.
    pub lines: u64,
    /// How many figures were read.
    pub figures: u64,
    /// How many lines that say something were not read.
    pub skipped: u64,
    /// The lines, in order.
    pub stretches: Vec<Stretch>,
    /// Number of further stretches, which are not listed one by one.
    pub more: u64,
    /// Lines of known formats that have digits, but no figure that is read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub without_figures: Vec<WithoutFigures>,
    /// The calls of tools that were called more than once.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<Call>,
}

impl Coverage {
    /// Notes the fate of a line.
    pub(super) fn note(
        &mut self,
        line: u64,
        part: impl FnOnce() -> Part,
        same: impl Fn(&Part) -> bool,
        figures: u64,
    ) {
        self.figures += figures;
        if let Some(last) = self.stretches.last_mut()
            && self.more == 0
            && same(&last.part)
        {
            last.to = line;
            last.figures += figures;
        } else if self.stretches.len() < MOST {
            self.stretches.push(Stretch { from: line, to: line, part: part(), figures });
        } else {
            self.more += 1;
        }
    }

    /// Notes figures that were kept back until the end of a call.
    pub(super) fn late(&mut self, format: &str, run: u32, figures: u64) {
        self.figures += figures;
        if figures == 0 {
            return;
        }
        // The last stretch of a format is of its last call: where that is another, this one is not listed by itself.
        let of_format =
            |stretch: &&mut Stretch| matches!(stretch.part, Part::Read { format: of, .. } if of == format);
        if let Some(stretch) = self.stretches.iter_mut().rev().find(of_format)
            && matches!(stretch.part, Part::Read { run: which, .. } if which == run)
        {
            stretch.figures += figures;
        }
    }

    /// Notes lines of a call that no figure was read from.
    pub(super) fn without_figures(&mut self, format: &'static str, lines: &[u64]) {
        for line in lines {
            if let Some(last) = self.without_figures.last_mut()
                && last.format == format
                && last.to + 1 == *line
            {
                last.to = *line;
            } else if self.without_figures.len() < MOST {
                self.without_figures.push(WithoutFigures { format, from: *line, to: *line });
            }
        }
    }

    /// Notes a call, with the lines above it.
    pub(super) fn call(&mut self, format: &'static str, run: u32, above: Vec<String>) {
        if self.calls.len() < MOST {
            self.calls.push(Call { format, run, title: None, above });
        }
    }

    /// Leaves out a call that turned out to be another tool's, and gives the lines above it back.
    pub(super) fn without_call(&mut self, format: &str, run: u32) -> Vec<String> {
        let call = self.calls.pop_if(|call| call.format == format && call.run == run);
        call.map(|call| call.above).unwrap_or_default()
    }

    /// Keeps the calls of those tools only that were called more than once.
    pub(super) fn without_single_calls(&mut self) {
        let several: Vec<&str> =
            self.calls.iter().filter(|call| call.run > 1).map(|call| call.format).collect();
        self.calls.retain(|call| several.contains(&call.format));
    }

    /// Notes a line that is of no format.
    pub(super) fn skip(&mut self, line: u64, text: &str) {
        self.skipped += 1;
        self.note(
            line,
            || Part::Skipped { what: text.chars().take(QUOTED).collect() },
            |part| matches!(part, Part::Skipped { .. }),
            0,
        );
    }

    /// Notes a line that a reader refused.
    pub(super) fn refuse(&mut self, line: u64, why: String) {
        self.skipped += 1;
        let part = Part::Refused { why };
        self.note(line, || part.clone(), |other| *other == part, 0);
    }

    /// Notes a line of a tool that is recognised, but not read.
    pub(super) fn unsupported(&mut self, line: u64, tool: &'static str) {
        self.skipped += 1;
        let part = Part::Unsupported { tool };
        self.note(line, || part.clone(), |other| *other == part, 0);
    }

    /// The formats that figures were read of, else those of which lines were recognised; each once, in the order of the text.
    pub fn formats(&self) -> Vec<&'static str> {
        let mut found = Vec::new();
        for stretch in &self.stretches {
            if let Part::Read { format, .. } = stretch.part
                && (stretch.figures > 0 || self.figures == 0)
                && !found.contains(&format)
            {
                found.push(format);
            }
        }
        found
    }
}
