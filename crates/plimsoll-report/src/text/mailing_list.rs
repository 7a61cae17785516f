//! A report for a mailing list: plain text of at most 72 columns (RFC 3676, section 4.2, has lines that every reader shows whole).

use std::io::{self, Write};

use plimsoll_model::report::RunReport;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::{Page, TextOptions, found, write_verdict};
use crate::escape::terminal;
use crate::html::NumbersPage;
use crate::section::{Column, Row, Section, left, right};
use crate::wording;

/// No line is wider than that.
const WIDTH: usize = 72;

/// Writes what a run found for people who read mail: the question, the answers with their intervals, the tables, what it was measured on, the
/// command that does it again, and the experiment file. Where a line had to be broken that may not be, it ends in a backslash.
///
/// # Errors
/// Those of the writer.
pub fn mailing_list(out: &mut dyn Write, report: &RunReport) -> io::Result<()> {
    narrow(out, |page| whole(page, report))
}

/// Writes what was read or judged for people who read mail: what was asked, the answer, what else was found, the tables, and the command that does it
/// again.
///
/// # Errors
/// Those of the writer.
pub fn judged_by_mail(out: &mut dyn Write, judged: &NumbersPage<'_>) -> io::Result<()> {
    narrow(out, |page| numbers(page, judged))
}

/// Writes what is made for a page of this width, and breaks the lines that are wider.
fn narrow(out: &mut dyn Write, make: impl FnOnce(&mut Page<'_>) -> io::Result<()>) -> io::Result<()> {
    let mut text = Vec::new();
    make(&mut Page::new(&mut text, &TextOptions { color: false, width: WIDTH }))?;
    String::from_utf8_lossy(&text).lines().try_for_each(|line| folded(out, line.trim_end()))
}

fn numbers(page: &mut Page<'_>, judged: &NumbersPage<'_>) -> io::Result<()> {
    page.paragraph(&format!("{}: {}", judged.title, judged.asked), 0)?;
    if let Some(verdict) = judged.verdict {
        writeln!(page.out)?;
        write_verdict(page, verdict)?;
    }
    if !judged.facts.is_empty() {
        page.heading("What else was found")?;
        judged
            .facts
            .iter()
            .try_for_each(|(name, text)| page.item(&format!("{}: {text}", name.replace('_', " "))))?;
    }
    for rows in judged.tables {
        let columns: Vec<Column> = rows
            .columns
            .iter()
            .map(|(title, figures)| if *figures { right(title) } else { left(title) })
            .collect();
        page.section(
            &Section::new(&rows.name).table(columns, rows.rows.iter().map(|cells| Row::of(cells.as_slice()))),
        )?;
    }
    page.heading("To do it again")?;
    page.item(judged.again)
}

fn whole(page: &mut Page<'_>, report: &RunReport) -> io::Result<()> {
    page.paragraph(&format!("Question: {}", report.question), 10)?;
    found(page, report)?;
    page.heading("To do it again")?;
    page.item(&wording::reproduce(report))?;
    page.paragraph(&wording::provenance(report), 0)?;
    let file = &report.environment.experiment;
    if file.is_empty() {
        return Ok(());
    }
    page.heading("The experiment file (a line that ends in \\ goes on in the next)")?;
    writeln!(page.out)?;
    file.lines().try_for_each(|line| writeln!(page.out, "{}", terminal(line)))
}

/// Writes a line, in several where it is too wide.
fn folded(out: &mut dyn Write, line: &str) -> io::Result<()> {
    let mut rest = line;
    while rest.width() > WIDTH {
        let mut columns = 0;
        let end = rest.char_indices().find(|(_, c)| {
            columns += c.width().unwrap_or(0);
            columns > WIDTH - 1
        });
        let at = end.map_or(rest.len(), |(place, _)| place);
        writeln!(out, "{}\\", &rest[..at])?;
        rest = &rest[at..];
    }
    writeln!(out, "{rest}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_too_wide_goes_on_behind_a_backslash_and_can_be_put_together_again() {
        for line in ["short", &"x".repeat(72), &"x".repeat(73), &"größer ".repeat(40), &"漢".repeat(80)] {
            let mut out = Vec::new();
            folded(&mut out, line).unwrap();
            let text = String::from_utf8(out).unwrap();
            assert!(text.lines().all(|line| line.width() <= WIDTH), "{text}");
            assert_eq!(text.replace("\\\n", "").trim_end_matches('\n'), line);
        }
    }
}
