//! Markdown for the summary of a CI job or a comment on a change.

use std::io::{self, Write};

use plimsoll_model::report::RunReport;
use plimsoll_model::verdict::Standing;

use crate::environment;
use crate::escape::{block, markdown as md, terminal};
use crate::number::{NONE, count, figure, times};
use crate::profile;
use crate::summary::{self, CellRows};
use crate::wording;

/// How much evidence is shown.
const EVIDENCE_SHOWN: usize = 5;

/// Writes a run: the verdicts as a table, the short answer, the remedies, and the figures and the evidence folded away.
///
/// # Errors
/// Those of the writer.
pub fn run(out: &mut dyn Write, report: &RunReport) -> io::Result<()> {
    writeln!(out, "### {}\n\n{}\n", md(&report.experiment), md(&report.question))?;
    verdicts(out, report)?;
    for sentence in wording::short_answer(report) {
        writeln!(out, "{}\n", md(&sentence))?;
    }
    remedies(out, report)?;
    for cell in summary::cells(report).iter().filter(|c| !c.rows.is_empty()) {
        figures(out, cell, summary::rate_title(report))?;
    }
    profile(out, report)?;
    evidence(out, report)?;
    for note in wording::faults(report).iter().chain(&report.notes) {
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

/// What the run was measured on, and the experiment itself, folded away.
fn measured_on(out: &mut dyn Write, report: &RunReport) -> io::Result<()> {
    let lines = environment::lines(report);
    if !lines.is_empty() {
        writeln!(out, "\n<details><summary>Measured on</summary>\n")?;
        for (name, text) in lines {
            writeln!(out, "- {}: {}", md(&name), md(&text))?;
        }
        writeln!(out, "\n</details>\n")?;
    }
    let rows = environment::vmstat(report);
    if !rows.is_empty() {
        writeln!(out, "<details><summary>The machine in each phase, as vmstat shows it</summary>\n")?;
        writeln!(out, "| phase | host | {} |", environment::VMSTAT.join(" | "))?;
        writeln!(out, "| --- | --- |{}", " --: |".repeat(environment::VMSTAT.len()))?;
        for row in rows {
            writeln!(out, "| {} | {} | {} |", md(&row.phase), md(&row.host), row.cells.join(" | "))?;
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
    for v in &report.verdicts {
        let mark = match v.standing() {
            Standing::Holds => "✅",
            Standing::Fails => "❌",
            Standing::Open => "❔",
        };
        let estimate = match (v.estimate, wording::is_ratio(v)) {
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
            md(&v.claim),
            md(&wording::metric(&v.metric)),
            wording::outcome(v.outcome),
            md(&estimate),
            count(v.n as u64),
            md(format!("{} {}", wording::reason(v), wording::expectation(v)).trim_end()),
        )?;
    }
    writeln!(out)
}

fn remedies(out: &mut dyn Write, report: &RunReport) -> io::Result<()> {
    if report.remedies.is_empty() {
        return Ok(());
    }
    writeln!(out, "| remedy | after/baseline | |")?;
    writeln!(out, "| --- | --: | --- |")?;
    for r in &report.remedies {
        let estimate = wording::ratio_and_interval(r.estimate, r.interval);
        writeln!(out, "| {} | {} | {} |", wording::rung(r.rung), md(&estimate), wording::rung_outcome(r))?;
    }
    writeln!(out)
}

fn figures(out: &mut dyn Write, cell: &CellRows, rate: &str) -> io::Result<()> {
    let title = wording::titled("Figures per cycle", &cell.cell);
    writeln!(out, "<details><summary>{}</summary>\n", md(&title))?;
    writeln!(
        out,
        "| cycle | phase | rig | {rate} | p50 ms | p99 ms | errors | user % | system % | softirq % | idle % |"
    )?;
    writeln!(out, "| --: | --- | --- | --: | --: | --: | --: | --: | --: | --: | --: |")?;
    for row in &cell.rows {
        let cycle = if row.cycle > 0 { row.cycle.to_string() } else { String::new() };
        let rung = row.rung.map(|r| format!(" ({})", wording::rung(r))).unwrap_or_default();
        for (rig, f) in row.rigs() {
            writeln!(
                out,
                "| {cycle} | {}{} | {rig} | {} |",
                md(&row.phase),
                md(&rung),
                f.cells().join(" | ")
            )?;
        }
    }
    writeln!(out, "\n</details>\n")
}

fn profile(out: &mut dyn Write, report: &RunReport) -> io::Result<()> {
    let Some(found) = report.profile.as_ref().filter(|found| found.tells()) else { return Ok(()) };
    let (_, before, after) = wording::evidence_sides(report);
    writeln!(out, "<details><summary>{}</summary>\n", profile::HEADING)?;
    for sentence in profile::sentences(found, (before, after)) {
        writeln!(out, "{}\n", md(&sentence))?;
    }
    if !found.functions.is_empty() {
        writeln!(out, "| {} |", profile::columns(before, after).join(" | "))?;
        writeln!(out, "| --- | --- | --: | --: | --: | --- |")?;
    }
    for function in &found.functions {
        writeln!(out, "| {} |", profile::cells(function).map(|cell| md(&cell)).join(" | "))?;
    }
    writeln!(out, "\n{}\n\n</details>\n", md(&profile::made(found)))
}

fn evidence(out: &mut dyn Write, report: &RunReport) -> io::Result<()> {
    if report.evidence.is_empty() {
        return Ok(());
    }
    let (heading, before, after) = wording::evidence_sides(report);
    writeln!(out, "<details><summary>{heading}</summary>\n")?;
    writeln!(out, "| host | counter | {before} | {after} | unit | change |")?;
    writeln!(out, "| --- | --- | --: | --: | --- | --: |")?;
    for e in report.evidence.iter().take(EVIDENCE_SHOWN) {
        writeln!(
            out,
            "| {} | {} | {} | {} | {} | {} |",
            md(&e.host),
            md(&e.metric),
            figure(e.before),
            figure(e.after),
            md(&e.unit),
            times(e.before, e.after),
        )?;
    }
    writeln!(out, "\n</details>\n")
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
