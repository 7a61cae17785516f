//! The answer on one screen: at most 20 lines, or 30 with a table, and the verdict as the last of them.

use std::io::{self, Write};

use plimsoll_model::cause::Cause;
use plimsoll_model::experiment::Metric;
use plimsoll_model::note::NoteKind;
use plimsoll_model::report::{RunReport, RunStatus};
use plimsoll_model::verdict::{Standing, Verdict};

use super::line::{Line, clipped};
use super::{Page, TextOptions, style, table};
use crate::claims;
use crate::next::Next;
use crate::number::{NONE, count, figure, ratio};
use crate::section::{Row, Section, Table, columns};
use crate::summary::{self, CellRows};
use crate::tone::Tone;
use crate::{answer, findings, wording};

/// The most lines of a report with a table; the other parts leave it at least ten.
const MOST_LINES: usize = 30;
/// The most lines of each part.
const TITLE_LINES: usize = 2;
const VERDICTS_SHOWN: usize = 3;
const VERDICT_LINES: usize = 3;
const SENTENCE_LINES: usize = 5;
const ANSWER_LINES: usize = 7;
const ARITHMETIC_LINES: usize = 2;
const REMEDY_LINES: usize = 2;
const DISTURBANCE_LINES: usize = 2;
const CAUSES_SHOWN: usize = 3;
const CAUSE_LINES: usize = 4;

/// Writes the answer, the figures that it rests on, what disturbed the measurement, causes, a command to run next, and the verdict.
pub(super) fn write(
    out: &mut dyn Write,
    report: &RunReport,
    store: Option<&str>,
    options: &TextOptions,
) -> io::Result<()> {
    let mut page = Page::new(out, options);
    let width = page.width;
    let title = format!("{}: {}", report.experiment, report.question);
    let mut head: Vec<Line> = clipped(&title, width, 2, TITLE_LINES).into_iter().map(Line::from).collect();
    head.extend(answers(report, width));
    let reasons = reasons(report, width);
    let mut end: Vec<Line> = Next::all(report, store).iter().flat_map(|it| next(it, width)).collect();
    end.push(verdict(report, width));

    let (basis, arithmetic) = basis(report);
    let arithmetic =
        arithmetic.map_or_else(Vec::new, |it| clipped(&format!("  {it}"), width, 4, ARITHMETIC_LINES));
    // An empty line stands before each part but the first.
    let used = head.len() + reasons.len() + end.len() + arithmetic.len() + 3;
    page.lines(head)?;
    if let Some(basis) = basis {
        let (basis, hidden) = fitted(basis, MOST_LINES.saturating_sub(used), options)?;
        writeln!(page.out)?;
        table::write(&mut page, &basis, table::Hidden::Silent)?;
        if hidden > 0 {
            writeln!(page.out, "  ({hidden} more: --details)")?;
        }
        page.lines(arithmetic.into_iter().map(Line::from))?;
    }
    writeln!(page.out)?;
    page.lines(reasons)?;
    writeln!(page.out)?;
    page.lines(end)
}

/// The verdicts in words, those that do not hold first, and what belongs to them.
fn answers(report: &RunReport, width: usize) -> Vec<Line> {
    let mut verdicts: Vec<&Verdict> = answer::in_sentences(report).map(|finding| &finding.verdict).collect();
    verdicts.sort_by_key(|verdict| verdict.standing() == Standing::Holds);
    let most = if verdicts.len() == 1 { VERDICT_LINES } else { VERDICT_LINES - 1 };
    let shown = verdicts.iter().take(VERDICTS_SHOWN);
    let mut lines: Vec<Line> = shown.flat_map(|verdict| Line::of_verdict(verdict, width, most)).collect();
    if verdicts.len() > VERDICTS_SHOWN {
        lines.push(Line::from(format!("({} more answers: --details)", verdicts.len() - VERDICTS_SHOWN)));
    }
    let rest = answer::short_answer(report);
    lines
        .extend(rest.iter().flat_map(|sentence| clipped(sentence, width, 0, SENTENCE_LINES)).map(Line::from));
    lines.truncate(ANSWER_LINES);
    lines
}

/// The figures that the first answer rests on, and how they give its estimate.
fn basis(report: &RunReport) -> (Option<Table>, Option<String>) {
    let first = report.verdicts.iter().find(|finding| finding.details.is_some());
    let kind = first.map_or("", |finding| finding.verdict.claim.as_str());
    let metric = first.and_then(|finding| Metric::named(&finding.verdict.metric));
    let cells = summary::cells_with(report, metric.unwrap_or_else(|| summary::rate_metric(report)));
    let of_kind = claims::basis(report, kind);
    let arithmetic = if of_kind.is_none() { claims::arithmetic(report, kind, &cells) } else { None };
    (of_kind.or_else(|| phases(report, metric, &cells)), arithmetic)
}

/// The figure of each measured phase, of the last cycle alone where there are several, beside its control.
fn phases(report: &RunReport, metric: Option<Metric>, cells: &[CellRows]) -> Option<Table> {
    let title = metric.unwrap_or_else(|| summary::rate_metric(report)).short();
    let columns = columns![
        left "cell", left "phase", right title, right "control", right "of control", right "p99 ms" => 2,
        right "errors" => 1,
    ];
    let rows = cells.iter().flat_map(|cell| {
        let last = cell.rows.iter().map(|row| row.cycle).max();
        let of_last = move |row: &&summary::Row| row.cycle == 0 || Some(row.cycle) == last;
        cell.rows.iter().filter(of_last).map(move |row| phase(cell, row))
    });
    Section::new("").table(columns, rows).first_table()
}

fn phase(cell: &CellRows, row: &summary::Row) -> Row {
    let control = row.control.as_ref();
    let of_control = row.main.as_ref().and_then(|main| Some(main.rate? / control?.rate?));
    let main =
        |text: fn(&summary::Figures) -> String| row.main.as_ref().map_or_else(|| NONE.to_owned(), text);
    Row::of([
        wording::cell_title(&cell.cell),
        row.rung.map_or_else(|| summary::place(row), |rung| format!("→ {}", wording::rung(rung))),
        main(summary::Figures::rate_text),
        control.map_or_else(String::new, summary::Figures::rate_text),
        of_control.map_or_else(String::new, ratio),
        main(|figures| figures.millis(|times| times.p99)),
        main(|figures| count(figures.failed())),
    ])
}

/// The table with as many rows as there is room for, and how many it lacks.
fn fitted(mut table: Table, room: usize, options: &TextOptions) -> io::Result<(Table, usize)> {
    let all = table.rows.len();
    while table.rows.len() > 1 {
        let mut out = Vec::new();
        table::write(&mut Page::new(&mut out, options), &table, table::Hidden::Silent)?;
        let note = usize::from(table.rows.len() < all);
        if String::from_utf8_lossy(&out).lines().count() + note <= room {
            break;
        }
        table.rows.pop();
    }
    let hidden = all - table.rows.len();
    Ok((table, hidden))
}

/// Disturbances of the measurement, and explanations of its result.
fn reasons(report: &RunReport, width: usize) -> Vec<Line> {
    let mut disturbed = wording::faults(report);
    let others = report.notes.iter().filter(|note| note.kind == NoteKind::OtherProcesses);
    disturbed.extend(others.map(|note| note.text.clone()));
    let disturbed = if disturbed.is_empty() { "none seen".to_owned() } else { disturbed.join("; ") };
    let own = wording::own_share(&report.sampling);
    let own = own.map_or_else(String::new, |it| format!("Plimsoll itself: {} % of all CPUs. ", figure(it)));
    let mut lines = remedies(report).map_or_else(Vec::new, |it| clipped(&it, width, 2, REMEDY_LINES));
    lines.extend(clipped(&format!("{own}Disturbances: {disturbed}."), width, 2, DISTURBANCE_LINES));
    let causes = report.causes.iter().take(CAUSES_SHOWN);
    let each = if report.causes.len() > 1 { CAUSE_LINES / 2 } else { CAUSE_LINES };
    let mut why: Vec<String> = causes.flat_map(|it| clipped(&cause(it), width, 2, each)).collect();
    if let (true, Some(evidence)) = (why.is_empty(), report.evidence.first().filter(|_| fails(report))) {
        let change = format!("{} → {} {}", figure(evidence.before), figure(evidence.after), evidence.unit);
        let change = format!(
            "No known cause fits. The strongest change, on {}: {}, {change}",
            evidence.host, evidence.metric
        );
        why.extend(clipped(&format!("{}.", change.trim_end()), width, 2, CAUSE_LINES));
    }
    why.truncate(CAUSE_LINES);
    lines.extend(why);
    lines.into_iter().map(Line::from).collect()
}

/// Effect of each remedy.
fn remedies(report: &RunReport) -> Option<String> {
    let each = report.remedies.iter().map(|remedy| {
        let ratio = remedy.estimate.map_or_else(|| wording::rung_outcome(remedy).to_owned(), ratio);
        format!("{} {ratio}", wording::rung(remedy.rung))
    });
    let each: Vec<String> = each.collect();
    (!each.is_empty()).then(|| format!("Remedies, after/baseline: {}.", each.join(", ")))
}

fn fails(report: &RunReport) -> bool {
    report.verdicts.iter().any(|finding| finding.verdict.standing() == Standing::Fails)
}

/// A cause with its first evidence.
fn cause(cause: &Cause) -> String {
    let first = cause.evidence.first().map(|e| format!("; {}", findings::change(e)));
    format!("Cause {}: {}{}.", cause.rank, findings::cause_title(cause), first.unwrap_or_default())
}

/// The command that comes next. It is never broken, so that it can be copied.
fn next(next: &Next, width: usize) -> Vec<Line> {
    let Next { purpose, command } = next;
    let one = format!("{purpose}: {command}");
    if one.chars().count() <= width {
        return vec![one.into()];
    }
    vec![format!("{purpose}:").into(), format!("  {command}").into()]
}

/// The last line: the only verdict with its figures, or how many claims hold.
fn verdict(report: &RunReport, width: usize) -> Line {
    let verdicts: Vec<&Verdict> = report.verdicts.iter().map(|finding| &finding.verdict).collect();
    let (word, rest, tone) = match verdicts.as_slice() {
        [] => (none(report).to_owned(), String::new(), Tone::Open),
        [verdict] => {
            let word = wording::outcome(verdict.outcome).to_lowercase();
            (word, figures(verdict), Tone::of(verdict.outcome))
        }
        several => {
            let (word, standing) = of_several(several);
            (word, String::new(), Tone::of_standing(standing))
        }
    };
    let unfinished = match report.status {
        RunStatus::Interrupted => " The run was interrupted.",
        RunStatus::Failed => " The run could not go on.",
        RunStatus::Running => " The run is still going on.",
        RunStatus::Complete => "",
    };
    let start = format!("Verdict: {word}");
    // One line, whatever the width: what it rests on stands above.
    let fits = |text: &String| text.chars().count() <= width;
    let forms = [format!("{start}{rest}.{unfinished}"), format!("{start}.{unfinished}")];
    let text = forms.into_iter().find(fits).unwrap_or_else(|| format!("{start}."));
    let text = clipped(&text, width, 0, 1).concat();
    Line { styled: Some((style::of(tone), start)), text }
}

fn none(report: &RunReport) -> &'static str {
    match report.status {
        RunStatus::Complete if report.trials.is_empty() => "none, no trial was carried out",
        RunStatus::Complete => "none, the experiment claims nothing",
        _ => "none yet",
    }
}

/// Estimate, interval, and whether the claim holds.
fn figures(verdict: &Verdict) -> String {
    let scale = claims::scale(verdict);
    let estimate = verdict.estimate.filter(|estimate| estimate.is_finite()).map(|estimate| {
        let interval = verdict.interval.map_or_else(String::new, |interval| {
            format!(" [{}, {}]", scale.write(interval.lo()), scale.write(interval.hi()))
        });
        format!(", {} {}{interval}", wording::metric(&verdict.metric), scale.write(estimate))
    });
    let claim = verdict.expected.as_ref().map(|_| format!("; {}", wording::standing(verdict.standing())));
    [estimate, claim].into_iter().flatten().collect()
}

fn of_several(verdicts: &[&Verdict]) -> (String, Standing) {
    let of = |standing| verdicts.iter().filter(|verdict| verdict.standing() == standing).count();
    let counts = [
        (Standing::Fails, of(Standing::Fails), ["fails", "fail"]),
        (Standing::Open, of(Standing::Open), ["stays open", "stay open"]),
        (Standing::Holds, of(Standing::Holds), ["holds", "hold"]),
    ];
    let parts = counts.iter().filter(|(_, number, _)| *number > 0);
    let parts: Vec<String> =
        parts.map(|(_, number, verb)| format!("{number} {}", verb[usize::from(*number > 1)])).collect();
    let worst =
        counts.iter().find(|(_, number, _)| *number > 0).map_or(Standing::Open, |(standing, ..)| *standing);
    (format!("of {} claims, {}", verdicts.len(), parts.join(", ")), worst)
}
