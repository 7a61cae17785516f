//! Markdown for the summary of a CI job or a comment on a change.

use std::io::{self, Write};

use plimsoll_model::report::RunReport;
use plimsoll_model::verdict::Standing;

use crate::answer;
use crate::environment;
use crate::escape::{block, markdown as md, terminal};
use crate::findings;
use crate::number::{NONE, count, figure};
use crate::section::{Align, Block, Column, Section, Table};
use crate::wording;

/// Writes a run: the verdicts as a table, the short answer, and what it rests on folded away.
///
/// # Errors
/// Those of the writer.
pub fn run(out: &mut dyn Write, report: &RunReport) -> io::Result<()> {
    writeln!(out, "### {}\n\n{}\n", md(&report.experiment), md(&report.question))?;
    verdicts(out, report)?;
    for sentence in answer::short_answer(report) {
        writeln!(out, "{}\n", md(&sentence))?;
    }
    findings::all(report).iter().try_for_each(|found| section(out, found))?;
    for note in &wording::notes(report) {
        writeln!(out, "- {}", md(note))?;
    }
    measured_on(out, report)?;
    writeln!(
        out,
        "\n{}\nThe same again: {}",
        md(&wording::provenance(report)),
        code(&wording::reproduce(report))
    )
}

/// The environment of the run, and the experiment itself, folded away.
fn measured_on(out: &mut dyn Write, report: &RunReport) -> io::Result<()> {
    let lines = environment::lines(report);
    if !lines.is_empty() {
        writeln!(out, "\n<details><summary>Measured on</summary>\n")?;
        for (name, text) in lines {
            writeln!(out, "- {}: {}", md(&name), md(&text))?;
        }
        writeln!(out, "\n</details>\n")?;
    }
    let file = &report.environment.experiment;
    if !file.is_empty() {
        let shown = block(file);
        let longest = shown.split(|c| c != '`').map(str::len).max().unwrap_or(0);
        let fence = "`".repeat(longest.max(2) + 1);
        writeln!(
            out,
            "<details><summary>The experiment</summary>\n\n{fence}toml\n{}\n{fence}\n",
            shown.trim_end()
        )?;
        writeln!(out, "</details>\n")?;
    }
    Ok(())
}

/// Text as code within a line (CommonMark 0.31, section 6.1): between more backticks than follow one another in it.
fn code(text: &str) -> String {
    let text = terminal(text);
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    let space = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    format!("{fence}{space}{text}{space}{fence}")
}

fn verdicts(out: &mut dyn Write, report: &RunReport) -> io::Result<()> {
    if report.verdicts.is_empty() {
        return Ok(());
    }
    writeln!(out, "| | claim | outcome | estimate | n | reason |")?;
    writeln!(out, "| :-: | --- | --- | --: | --: | --- |")?;
    for v in report.verdicts.iter().map(|finding| &finding.verdict) {
        let mark = match v.standing() {
            Standing::Holds => "✅",
            Standing::Fails => "❌",
            Standing::Open => "❔",
        };
        let estimate = match (v.estimate, answer::is_ratio(v)) {
            (_, true) => wording::ratio_and_interval(v.estimate, v.interval),
            (None, _) => NONE.into(),
            (Some(e), _) => match v.interval {
                Some(i) => format!("{} [{}, {}]", figure(e), figure(i.lo()), figure(i.hi())),
                None => figure(e),
            },
        };
        writeln!(
            out,
            "| {mark} | {} of {} | **{}** | {} | {} | {} |",
            md(&v.title()),
            md(&wording::metric(&v.metric)),
            wording::outcome(v.outcome),
            md(&estimate),
            count(v.n as u64),
            md(format!("{} {}", answer::reason(v), answer::expectation(v)).trim_end()),
        )?;
    }
    writeln!(out)
}

/// A section, folded away unless it is part of the answer.
fn section(out: &mut dyn Write, section: &Section) -> io::Result<()> {
    let open = if section.open { " open" } else { "" };
    writeln!(out, "<details{open}><summary>{}</summary>\n", md(&section.title))?;
    let mut after_sentence = false;
    let to_read = section.blocks.iter().filter(|block| !matches!(block, Block::Chart(_)));
    for (place, block) in to_read.enumerate() {
        let is_sentence = matches!(block, Block::Sentence { .. });
        // A list ends, and a table begins, with an empty line.
        if place > 0 && !(is_sentence && after_sentence) {
            writeln!(out)?;
        }
        match block {
            Block::Sentence { text, depth } => writeln!(out, "{}- {}", "  ".repeat(*depth), sentence(text))?,
            Block::Table(found) => table(out, found)?,
            Block::Chart(_) => {}
        }
        after_sentence = is_sentence;
    }
    writeln!(out, "\n</details>\n")
}

/// A sentence of a list. A number at its beginning is not that of a list.
fn sentence(text: &str) -> String {
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    match text[digits..].strip_prefix('.') {
        Some(rest) if digits > 0 => format!("{}\\.{}", &text[..digits], md(rest)),
        _ => md(text),
    }
}

fn table(out: &mut dyn Write, table: &Table) -> io::Result<()> {
    let used = table.used();
    let line = |cells: Vec<String>| format!("| {} |", cells.join(" | "));
    let columns = || used.iter().map(|&at| &table.columns[at]);
    writeln!(out, "{}", line(columns().map(|column| md(column.title)).collect()))?;
    let side = |column: &Column| if column.align == Align::Left { "---" } else { "--:" };
    writeln!(out, "{}", line(columns().map(|column| side(column).to_owned()).collect()))?;
    for row in &table.rows {
        writeln!(out, "{}", line(used.iter().map(|&at| md(&row.cells[at])).collect()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_ends_where_it_should_and_shows_what_it_has() {
        assert_eq!(code("plimsoll run a"), "`plimsoll run a`");
        assert_eq!(code("a `b` ``c"), "```a `b` ``c```");
        assert_eq!(code("`a\r\nb"), r"`` `a\r\nb ``");
    }
}
