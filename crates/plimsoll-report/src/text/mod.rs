//! Text for a terminal: the answer on one screen, or with everything that it rests on.

mod brief;
mod line;
mod mailing_list;
mod sections;
mod style;
mod table;
mod wrap;

use std::io::{self, Write};

use plimsoll_model::cause::Cause;
use plimsoll_model::report::{Evidence, ProfileReport, RunReport};
use plimsoll_model::verdict::Verdict;

use crate::answer;
use crate::control_characters::Screen;
use crate::escape::terminal;
use crate::findings::{self, Sides};
use crate::section::{Block, Section};
use crate::seen;
use line::Line;
use table::Hidden;
use wrap::wrapped;

pub use mailing_list::{judged_by_mail, mailing_list};

/// How to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextOptions {
    /// Whether to use colours and weights (ANSI escape sequences). Whether a terminal is there, and what `NO_COLOR` says, the
    /// caller knows.
    pub color: bool,
    /// Columns to keep to; below 40 it is taken for 40. Tables hide their least important columns to fit, and say which and how wide it
    /// must be to see them; what must stay and is still too wide goes on in a second block of lines.
    pub width: usize,
}

impl Default for TextOptions {
    fn default() -> Self {
        Self { color: false, width: 100 }
    }
}

/// The narrowest text that still reads.
const NARROWEST: usize = 40;

/// Where the text goes, and how it looks there.
struct Page<'a> {
    out: Screen<&'a mut dyn Write>,
    width: usize,
}

impl<'a> Page<'a> {
    fn new(out: &'a mut dyn Write, options: &TextOptions) -> Self {
        Self { out: Screen::new(out, options.color), width: options.width.max(NARROWEST) }
    }

    /// A paragraph, wrapped; every line after the first is set in by `indent` columns.
    fn paragraph(&mut self, text: &str, indent: usize) -> io::Result<()> {
        wrapped(&terminal(text), self.width, indent).iter().try_for_each(|line| writeln!(self.out, "{line}"))
    }

    /// An item of a list.
    fn item(&mut self, text: &str) -> io::Result<()> {
        self.paragraph(&format!("  {text}"), 4)
    }

    /// A section: an empty line, its heading, and what stands below it.
    fn section(&mut self, section: &Section) -> io::Result<()> {
        self.heading(&section.title)?;
        section.blocks.iter().try_for_each(|block| match block {
            Block::Sentence { text, depth } => self.item(&format!("{}{text}", "   ".repeat(*depth))),
            Block::Table(table) => table::write(self, table, Hidden::Named),
            Block::Chart(_) => Ok(()),
        })
    }

    /// An empty line and a heading.
    fn heading(&mut self, text: &str) -> io::Result<()> {
        writeln!(self.out)?;
        wrapped(&terminal(text), self.width, 2).iter().try_for_each(|line| {
            self.out.styled(style::HEADING, line)?;
            writeln!(self.out)
        })
    }
}

/// Writes what a run found on one screen: the answer, the figures that it rests on, what disturbed the measurement, causes, the command to run
/// next, and the verdict as the last line. Where runs are kept in another place than usual, `store` names it for that command.
///
/// # Errors
/// Those of the writer.
pub fn brief(
    out: &mut dyn Write,
    report: &RunReport,
    store: Option<&str>,
    options: &TextOptions,
) -> io::Result<()> {
    brief::write(out, report, store, options)
}

/// Writes all that a run found: the answer in a few sentences, the table per cycle, what the ladder of remedies did, explanations and
/// evidence by rank, and at the end what a reader must know, what sampling cost, and how to do it again.
///
/// # Errors
/// Those of the writer.
pub fn details(out: &mut dyn Write, report: &RunReport, options: &TextOptions) -> io::Result<()> {
    let mut page = Page::new(out, options);
    let title = format!("{}: {}", report.experiment, report.question);
    page.paragraph(&title, 0)?;
    found(&mut page, report)?;
    sections::provenance(&mut page, report)
}

/// All findings of a run, and its notes to the reader.
fn found(page: &mut Page<'_>, report: &RunReport) -> io::Result<()> {
    writeln!(page.out)?;
    for finding in answer::in_sentences(report) {
        write_verdict(page, &finding.verdict)?;
    }
    for sentence in answer::short_answer(report) {
        page.paragraph(&sentence, 0)?;
    }
    findings::all(report).iter().try_for_each(|section| page.section(section))?;
    sections::environment(page, report)?;
    sections::notes(page, report)
}

/// Writes why a run came out as it did: the verdicts, the causes, and what they rest on.
///
/// # Errors
/// Those of the writer.
pub fn explanation(out: &mut dyn Write, report: &RunReport, options: &TextOptions) -> io::Result<()> {
    let mut page = Page::new(out, options);
    for finding in answer::in_sentences(report) {
        write_verdict(&mut page, &finding.verdict)?;
    }
    let why =
        Explanation { causes: &report.causes, profile: report.profile.as_ref(), evidence: &report.evidence };
    let sides = answer::evidence_sides(report);
    reasons(&mut page, sides, &why, findings::profiles(sides, report))
}

/// Explanation of the difference between two sides.
#[derive(Clone, Copy, Debug)]
pub struct Explanation<'r> {
    /// Named explanations, the likeliest first.
    pub causes: &'r [Cause],
    /// Where the CPUs' time went.
    pub profile: Option<&'r ProfileReport>,
    /// Changes, the strongest first.
    pub evidence: &'r [Evidence],
}

/// Writes causes, and the evidence under this heading with the titles of its two sides. Where there is evidence and no cause, that is said.
///
/// # Errors
/// Those of the writer.
pub fn why(
    out: &mut dyn Write,
    sides: (&str, &'static str, &'static str),
    why: &Explanation<'_>,
    options: &TextOptions,
) -> io::Result<()> {
    reasons(&mut Page::new(out, options), sides, why, findings::profile(sides, why.profile))
}

fn reasons(
    page: &mut Page<'_>,
    sides: Sides<'_>,
    why: &Explanation<'_>,
    profiles: impl IntoIterator<Item = Section>,
) -> io::Result<()> {
    if let Some(causes) = findings::causes(why.causes) {
        page.section(&causes)?;
    } else if !why.evidence.is_empty() {
        writeln!(page.out)?;
        page.paragraph("No known cause fits. The strongest evidence:", 0)?;
    }
    let profile = profiles.into_iter().chain(seen::sections(sides, why.profile));
    let mut rest = profile.chain(findings::evidence(sides, why.evidence));
    rest.try_for_each(|section| page.section(&section))
}

/// Writes a single verdict: the outcome and its figures, then the reason.
///
/// # Errors
/// Those of the writer.
pub fn verdict(out: &mut dyn Write, verdict: &Verdict, options: &TextOptions) -> io::Result<()> {
    write_verdict(&mut Page::new(out, options), verdict)
}

fn write_verdict(page: &mut Page<'_>, verdict: &Verdict) -> io::Result<()> {
    page.lines(Line::of_verdict(verdict, page.width, usize::MAX))
}
