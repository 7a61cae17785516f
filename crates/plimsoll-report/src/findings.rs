//! Findings of a run, as sections that every writer shows: those of its claims, and in [`all`] those of none.

use plimsoll_model::cause::{Cause, CauseEvidence};
use plimsoll_model::observation::{Arm, Percentiles};
use plimsoll_model::report::{Evidence, OfferReport, PacketReport, ProfileReport, RunReport, StepReport};

use crate::claims::{self, Group};
use crate::number::{NONE, count, figure, millis, ratio, times};
use crate::section::{Column, Row, Section, columns, left, right};
use crate::steps::step_millis;
use crate::summary::{self, CONTROL, CellRows, Figures};
use crate::{answer, environment, events, loads, machines, profile as cpu_profile, seen, wording};

/// How many classes of stalls are shown for each cell.
const STALLS_SHOWN: usize = 2;
/// How much evidence is shown; the rest is in the JSON and in the page.
const EVIDENCE_SHOWN: usize = 12;

/// Titles of a comparison: a heading, and its two sides.
pub(crate) type Sides<'s> = (&'s str, &'static str, &'static str);

/// Everything below the short answer, in order.
pub(crate) fn all(report: &RunReport) -> Vec<Section> {
    let sides = answer::evidence_sides(report);
    let (answering, groups): (Vec<Group>, _) = claims::groups(report).into_iter().partition(|it| it.open);
    let of_groups = |groups: Vec<Group>| {
        let all = groups.into_iter().flat_map(|group| group.sections);
        all.filter(Section::has_text).collect::<Vec<Section>>()
    };
    let mut sections = of_groups(answering);
    sections.extend(summary::cells(report).iter().filter_map(|cell| figures(report, cell)));
    sections.extend(events::section(report));
    sections.extend(of_groups(loads::groups(report, &[])));
    sections.extend(steps(report));
    sections.extend(of_groups(groups));
    sections.extend(offers(report));
    sections.extend(machines::sections(report));
    sections.extend(ladder(report));
    sections.extend(packets(report));
    sections.extend(causes(&report.causes));
    sections.extend(profiles(sides, report));
    sections.extend(seen::sections(sides, report.profile.as_ref()));
    sections.extend(evidence(sides, &report.evidence));
    sections.extend(vmstat(report));
    sections
}

/// The table per phase and cycle, the control's line below that of the treatment.
pub(crate) fn figures(report: &RunReport, cell: &CellRows) -> Option<Section> {
    let rigs = cell.rows.iter().any(|row| row.control.is_some());
    let mut title = wording::titled(if rigs { "Treatment against control" } else { "Figures" }, &cell.cell);
    let trials = cell.rows.iter().flat_map(summary::Row::rigs).map(|(_, f)| f.trials).max()?;
    if trials > 1 {
        title.push_str(&format!(" (median of {trials} trials; errors summed)"));
    }
    let columns = columns![
        right "cycle", left "phase", left "rig", right summary::rate_title(report), right "p50 ms" => 4,
        right "p99 ms" => 2, right "errors" => 1, right "user%" => 7, right "sys%" => 6,
        right "softirq%" => 3, right "idle%" => 5,
    ];
    let rows = cell.rows.iter().flat_map(|row| {
        row.rigs()
            .enumerate()
            .map(move |(i, (rig, figures))| figures_row(row, if rigs { rig } else { "" }, figures, i == 0))
    });
    let notes = summary::error_notes(&cell.rows);
    Some(
        Section::new(title)
            .table(columns, rows)
            .say_all(notes.iter().map(|note| format!("Errors in {note}."))),
    )
}

fn figures_row(row: &summary::Row, rig: &'static str, figures: &Figures, first: bool) -> Row {
    let phase = row.rung.map_or_else(|| row.phase.clone(), |rung| format!("→ {}", wording::rung(rung)));
    let cycle = if row.cycle > 0 { row.cycle.to_string() } else { String::new() };
    let place =
        [if first { cycle } else { String::new() }, if first { phase } else { String::new() }, rig.into()];
    let cells: Vec<String> = place.into_iter().chain(figures.cells()).collect();
    Row::of(cells).faint_if(rig == CONTROL)
}

/// Results of loads that go up and down in steps, step by step.
pub(crate) fn steps(report: &RunReport) -> Vec<Section> {
    let columns = columns![
        left "way", right "offered/s", right "answered/s", right "p50 ms", right "p99 ms", right "errors",
    ];
    let section = |stepped: crate::steps::Stepped| {
        let mut title = wording::titled(&format!("Up and down the load, {}", stepped.phase), &stepped.cell);
        if stepped.trials > 1 {
            title.push_str(&format!(" (median of {} trials; errors summed)", stepped.trials));
        }
        let up = stepped.ways().0.len();
        let row = |(n, step): (usize, &StepReport)| {
            Row::of([
                if n < up { "up" } else { "down" }.to_owned(),
                figure(step.offered_per_second),
                figure(step.answered_per_second),
                step_millis(step, |times| times.p50),
                step_millis(step, |times| times.p99),
                count(step.errors),
            ])
        };
        Section::new(title).table(columns, stepped.steps.iter().enumerate().map(row))
    };
    crate::steps::all(report).into_iter().map(section).collect()
}

/// Whether open loops met the rate that they were to offer.
pub(crate) fn offers(report: &RunReport) -> Option<Section> {
    let columns = columns![
        right "trial", left "phase", right "wanted/s", right "sent/s", right "waited", right "late p50 ms",
        right "late p99 ms",
    ];
    let phases = report.trials.iter().flat_map(|trial| trial.phases.iter().map(move |phase| (trial, phase)));
    let late = |offer: &OfferReport, of: fn(&Percentiles) -> u64| {
        offer.send_lag_us.as_ref().map_or_else(|| NONE.to_owned(), |times| millis(of(times)))
    };
    let rows = phases.filter_map(|(trial, phase)| {
        let offer = phase.offer.as_ref()?;
        Some(Row::of([
            trial.number.to_string(),
            phase.name.clone(),
            figure(offer.offered_per_second),
            figure(offer.sent_per_second),
            count(offer.queued),
            late(offer, |times| times.p50),
            late(offer, |times| times.p99),
        ]))
    });
    let section = Section::new("Offered load").table(columns, rows);
    (!section.blocks.is_empty()).then_some(section)
}

/// Effect of every rung of the ladder of remedies.
fn ladder(report: &RunReport) -> Option<Section> {
    let rows = report.remedies.iter().map(|remedy| {
        Row::of([
            wording::rung(remedy.rung).into(),
            wording::ratio_and_interval(remedy.estimate, remedy.interval),
            wording::rung_outcome(remedy).into(),
        ])
    });
    let columns = [left("remedy"), left("after/baseline"), left("what it did")];
    let section = Section::new("What the ladder of remedies did").opened();
    (!report.remedies.is_empty()).then(|| section.table(columns, rows))
}

/// Where the connections' time went.
fn packets(report: &RunReport) -> Option<Section> {
    let columns = columns![
        left "cell", left "phase" => 2, left "host" => 1, right "conn." => 3, right "moving%",
        left "stalls", right "window/buffer%" => 5, right "packets" => 4, right "lost",
    ];
    let row = |of: &PacketReport| {
        Row::of([
            wording::cell_title(&of.cell),
            of.phase.clone(),
            wording::captured_on(of),
            count(of.connections),
            wording::moving(of),
            wording::stalls(of, STALLS_SHOWN),
            wording::limited(of),
            count(of.packets),
            count(of.dropped),
        ])
        .faint_if(of.arm == Arm::Control)
    };
    let longest = wording::longest_stalls(report);
    let section = Section::new("Where the connections' time went, from their packets");
    (!report.packets.is_empty()).then(|| {
        section
            .table(columns, report.packets.iter().map(row))
            .say_all(report.packets.iter().flat_map(|of| &of.errors))
            .say_all(longest.iter().map(|(what, evidence)| format!("{what}: {evidence}")))
    })
}

/// A cause, its id, and how sure it is.
pub(crate) fn cause_title(cause: &Cause) -> String {
    let confirmed = if cause.confirmed { ", confirmed" } else { "" };
    let sure = figure((cause.confidence * 100.0).round());
    format!("{} ({}, {sure} % sure{confirmed})", cause.headline(), cause.id.id())
}

/// A piece of the evidence of a cause.
pub(crate) fn change(e: &CauseEvidence) -> String {
    let change = format!("{} → {} {}", figure(e.before), figure(e.after), e.unit);
    format!("{}: {}", e.metric, change.trim_end())
}

/// Explanations, the likeliest first, each with its evidence and its remedy.
pub(crate) fn causes(causes: &[Cause]) -> Option<Section> {
    let add_cause = |section: Section, cause: &Cause| {
        let section = section.say(format!("{}. {}", cause.rank, cause_title(cause)));
        let section = cause.evidence.iter().fold(section, |section, e| section.add(change(e)));
        if cause.remedy.is_empty() { section } else { section.add(format!("Remedy: {}", cause.remedy)) }
    };
    (!causes.is_empty()).then(|| causes.iter().fold(Section::new("Why").opened(), add_cause))
}

/// Where the CPU time went that was added, in each comparison.
pub(crate) fn profiles(sides: Sides<'_>, report: &RunReport) -> Vec<Section> {
    match report.profiles.as_slice() {
        [] => profile(sides, report.profile.as_ref()).into_iter().collect(),
        several => several
            .iter()
            .map(|compared| of_profile(cpu_profile::heading(compared), sides, &compared.profile))
            .collect(),
    }
}

/// Section on the added CPU time; `None` if none was added.
pub(crate) fn profile(sides: Sides<'_>, found: Option<&ProfileReport>) -> Option<Section> {
    found.filter(|found| found.tells()).map(|found| of_profile(cpu_profile::HEADING.to_owned(), sides, found))
}

fn of_profile(heading: String, (_, before, after): Sides<'_>, found: &ProfileReport) -> Section {
    let columns = cpu_profile::columns(before, after).map(|title| match title {
        "function" => left(title),
        "of" => left(title).expendable(1),
        "called from" => left(title).expendable(2),
        _ => right(title),
    });
    let rows = found.functions.iter().map(|function| Row::of(cpu_profile::cells(function)));
    Section::new(heading)
        .say_all(cpu_profile::sentences(found, (before, after)))
        .table(columns, rows)
        .say(cpu_profile::made(found))
}

/// Changes, the strongest first.
pub(crate) fn evidence((heading, before, after): Sides<'_>, evidence: &[Evidence]) -> Option<Section> {
    let columns = columns![
        left "host", left "counter", right before, right after, left "unit" => 1, right "change",
        right "on control" => 3, right "shift" => 2,
    ];
    let rows = evidence.iter().take(EVIDENCE_SHOWN).map(|e| {
        Row::of([
            e.host.clone(),
            e.metric.clone(),
            figure(e.before),
            figure(e.after),
            e.unit.clone(),
            times(e.before, e.after),
            e.control_ratio.map_or_else(String::new, |r| format!("×{}", ratio(r))),
            format!("{:+.2}", e.shift),
        ])
    });
    let more = evidence.len().checked_sub(EVIDENCE_SHOWN).filter(|more| *more > 0);
    let section = Section::new(heading).table(columns, rows);
    (!evidence.is_empty())
        .then(|| section.say_all(more.map(|more| format!("({more} more in --format json and html)"))))
}

/// State of the machine in each phase.
pub(crate) fn vmstat(report: &RunReport) -> Option<Section> {
    let rows = environment::vmstat(report);
    let figures = environment::VMSTAT.map(|title| right(title).expendable(u8::from(title == "s")));
    let columns: Vec<Column> = [left("phase"), left("host")].into_iter().chain(figures).collect();
    let section =
        Section::new("The machine in each phase, as vmstat shows it (medians over trials and cycles)");
    let row = |row: environment::VmstatRow| Row::of([vec![row.phase, row.host], row.cells].concat());
    (!rows.is_empty()).then(|| section.table(columns, rows.into_iter().map(row)))
}
