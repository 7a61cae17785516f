//! The sections below the short answer. One that has nothing to show is not written.

use std::io::{self, Write};

use plimsoll_model::cause::Cause;
use plimsoll_model::observation::{PhaseKind, StorageFacts, Twin};
use plimsoll_model::report::{
    CheckReport, Evidence, GrowthPointReport, HopReport, KneePointReport, LoadFit, LoadPointReport,
    LossPointReport, OfferReport, PacketReport, PhaseReport, ProfileReport, RunReport, StepReport,
    TrialReport,
};
use plimsoll_model::verdict::Outcome;

use super::Page;
use super::table::{self, Align, Column, Row, column};
use crate::diagnosis;
use crate::environment;
use crate::number::{NONE, count, figure, millis, percent, ratio, times};
use crate::path;
use crate::profile;
use crate::search;
use crate::summary::{self, CONTROL, Figures};
use crate::wording;

/// How many classes of stalls are shown for each cell.
const STALLS_SHOWN: usize = 2;
/// How much evidence is shown; the rest is in the JSON and in the page.
const EVIDENCE_SHOWN: usize = 12;

/// The table per phase and cycle, the control's line below that of the treatment.
pub(super) fn figures(page: &mut Page<'_>, report: &RunReport) -> io::Result<()> {
    let with = |title, expendable| Column { title, align: Align::Right, expendable };
    let columns = [
        column("cycle", Align::Right),
        column("phase", Align::Left),
        column("rig", Align::Left),
        column(summary::rate_title(report), Align::Right),
        with("p50 ms", 4),
        with("p99 ms", 2),
        with("errors", 1),
        with("user%", 7),
        with("sys%", 6),
        with("softirq%", 3),
        with("idle%", 5),
    ];
    for cell in summary::cells(report) {
        if cell.rows.is_empty() {
            continue;
        }
        let twins = cell.rows.iter().any(|r| r.control.is_some());
        let mut title =
            wording::titled(if twins { "Treatment against control" } else { "Figures" }, &cell.cell);
        let trials = cell.rows.iter().flat_map(summary::Row::rigs).map(|(_, f)| f.trials).max().unwrap_or(0);
        if trials > 1 {
            title.push_str(&format!(" (median of {trials} trials; errors summed)"));
        }
        page.heading(&title)?;
        let mut rows = Vec::new();
        for row in &cell.rows {
            for (i, (rig, figures)) in row.rigs().enumerate() {
                rows.push(figures_row(row, if twins { rig } else { "" }, figures, i == 0));
            }
        }
        table::write(page, &columns, &rows)?;
        for note in summary::error_notes(&cell.rows) {
            page.item(&format!("Errors in {note}."))?;
        }
    }
    Ok(())
}

/// Which level of a factor is best, row by row.
pub(super) fn winners(page: &mut Page<'_>, report: &RunReport) -> io::Result<()> {
    let Some(first) = report.winners.first() else { return Ok(()) };
    page.heading(&format!("Which {} is best for what", first.factor))?;
    let columns = [
        column("phase", Align::Left),
        Column { title: "at", align: Align::Left, expendable: 0 },
        column("best", Align::Left),
        column("figure", Align::Right),
        Column { title: "next", align: Align::Left, expendable: 2 },
        column("lead", Align::Right),
        column("certain%", Align::Right),
        Column { title: "", align: Align::Left, expendable: 1 },
    ];
    let rows = report.winners.iter().map(|winner| Row {
        cells: vec![
            winner.phase.clone(),
            wording::cell_title(&winner.row),
            winner.winner.clone(),
            figure(winner.figure),
            winner.next.clone(),
            format!("×{}", ratio(winner.lead)),
            figure((winner.certainty * 100.0).round()),
            wording::lead(winner.outcome).to_owned(),
        ],
        faint: winner.outcome != Outcome::Faster,
    });
    table::write(page, &columns, &rows.collect::<Vec<_>>())?;
    page.item("Figures are geometric means over the blocks, and a lead is the quotient of two of them.")?;
    for winner in report.winners.iter().filter(|winner| !winner.doubts.is_empty()) {
        let place = [winner.phase.clone(), wording::cell_title(&winner.row)];
        let place: Vec<String> = place.into_iter().filter(|part| !part.is_empty()).collect();
        page.item(&format!("{}: {}.", place.join(", "), winner.doubts.join("; ")))?;
    }
    Ok(())
}

/// What storage loads did beside their rate.
pub(super) fn storage(page: &mut Page<'_>, report: &RunReport) -> io::Result<()> {
    let phases = report.trials.iter().flat_map(|trial| &trial.phases);
    let counted = phases.filter(|phase| phase.kind != PhaseKind::WarmUp);
    let facts: Vec<_> = counted.filter_map(|phase| Some((phase, phase.storage.as_ref()?))).collect();
    if facts.is_empty() {
        return Ok(());
    }
    let mut names: Vec<&str> = Vec::new();
    for (phase, _) in &facts {
        if !names.contains(&phase.name.as_str()) {
            names.push(&phase.name);
        }
    }
    page.heading("Storage, all trials of a phase together")?;
    let columns = [
        column("phase", Align::Left),
        column("operations", Align::Right),
        column("mean ms", Align::Right),
        column("slowest ms", Align::Right),
        column(">2 s %", Align::Right),
        column(">10 s %", Align::Right),
        column("device%", Align::Right),
    ];
    let row = |name: &str| {
        let of: Vec<_> = facts.iter().filter(|(phase, _)| phase.name == name).collect();
        let sum = |f: fn(&StorageFacts) -> u64| of.iter().map(|(_, facts)| f(facts)).sum::<u64>();
        let operations = sum(|f| f.reads) + sum(|f| f.writes);
        let share = |part: u64, of: u64| if of > 0 { part as f64 / of as f64 } else { f64::NAN };
        let spent: f64 = of.iter().map(|(_, f)| f.mean_us * (f.reads + f.writes) as f64).sum();
        let slowest = of.iter().map(|(phase, _)| phase.latency_us.max).max().unwrap_or(0);
        let fetched: Option<u64> = of.iter().map(|(_, facts)| facts.device_read_bytes).sum();
        let read = sum(|f| f.read_bytes);
        let fetched = fetched.filter(|_| read > 0);
        let device = fetched.map_or(f64::NAN, |bytes| share(bytes.min(read), read));
        Row {
            cells: vec![
                name.to_owned(),
                count(operations),
                millis((spent / operations.max(1) as f64).round() as u64),
                millis(slowest),
                percent(share(sum(|f| f.over_2s), operations)),
                percent(share(sum(|f| f.over_10s), operations)),
                percent(device),
            ],
            faint: false,
        }
    };
    table::write(page, &columns, &names.iter().map(|name| row(name)).collect::<Vec<_>>())
}

/// What loads met that go up and down in steps, step by step.
pub(super) fn steps(page: &mut Page<'_>, report: &RunReport) -> io::Result<()> {
    let columns = [
        column("way", Align::Left),
        column("offered/s", Align::Right),
        column("answered/s", Align::Right),
        column("p50 ms", Align::Right),
        column("p99 ms", Align::Right),
        column("errors", Align::Right),
    ];
    for stepped in crate::steps::all(report) {
        let mut title = wording::titled(&format!("Up and down the load, {}", stepped.phase), &stepped.cell);
        if stepped.trials > 1 {
            title.push_str(&format!(" (median of {} trials; errors summed)", stepped.trials));
        }
        page.heading(&title)?;
        let up = stepped.ways().0.len();
        let row = |(n, step): (usize, &StepReport)| Row {
            cells: vec![
                if n < up { "up" } else { "down" }.to_owned(),
                figure(step.offered_per_second),
                figure(step.answered_per_second),
                millis(step.latency_us.p50),
                millis(step.latency_us.p99),
                count(step.errors),
            ],
            faint: false,
        };
        table::write(page, &columns, &stepped.steps.iter().enumerate().map(row).collect::<Vec<_>>())?;
    }
    Ok(())
}

/// The load of a host's CPUs at each step, and what each model makes of it.
pub(super) fn load_curves(page: &mut Page<'_>, report: &RunReport) -> io::Result<()> {
    for curve in &report.load_curves {
        page.heading(&wording::titled(&format!("Load against CPU, {}", curve.phase), &curve.cell))?;
        let columns = [
            column("offered/s", Align::Right),
            column("CPU %", Align::Right),
            column("load", Align::Right),
            column("best model", Align::Right),
        ];
        let best = curve.fits.first();
        let row = |(n, point): (usize, &LoadPointReport)| {
            let residual = best.and_then(|fit| fit.residuals.get(n)).copied();
            let modelled = residual.map(|residual| figure((point.load.ln_1p() - residual).exp_m1()));
            let measured = [point.offered_per_second, 100.0 * point.utilisation, point.load].map(figure);
            Row { cells: measured.into_iter().chain([modelled.unwrap_or_default()]).collect(), faint: false }
        };
        table::write(page, &columns, &curve.points.iter().enumerate().map(row).collect::<Vec<_>>())?;
        let told = |fit: &LoadFit| format!("{} {} %", fit.model, figure(100.0 * fit.left_out_error));
        let errors: Vec<String> = curve.fits.iter().map(told).collect();
        page.item(&format!("Error at points left out of the fit, of 1 + load: {}.", errors.join(", ")))?;
    }
    Ok(())
}

/// TCP's rate at each loss, and what the formulas make of it.
pub(super) fn loss_curves(page: &mut Page<'_>, report: &RunReport) -> io::Result<()> {
    let columns = [
        column("loss %", Align::Right),
        column("RTT ms", Align::Right),
        column("Mbit/s", Align::Right),
        column("Mathis", Align::Right),
        column("Padhye", Align::Right),
    ];
    for curve in &report.loss_curves {
        page.heading(&wording::titled(&format!("Rate over loss, {}", curve.phase), &curve.cell))?;
        let mega = |rate: Option<f64>| rate.map_or_else(String::new, |rate| figure(rate / 1e6));
        let row = |point: &LossPointReport| Row {
            cells: vec![
                figure(100.0 * point.loss),
                figure(point.rtt_ms),
                mega(Some(point.bits_per_second)),
                mega(point.mathis),
                mega(point.padhye),
            ],
            faint: false,
        };
        table::write(page, &columns, &curve.points.iter().map(row).collect::<Vec<_>>())?;
    }
    Ok(())
}

/// The hops of paths.
pub(super) fn paths(page: &mut Page<'_>, report: &RunReport) -> io::Result<()> {
    let columns = path::COLUMNS.map(|title| column(title, Align::Right));
    for path in &report.paths {
        page.heading(&path::title(path))?;
        let row = |hop: &HopReport| Row { cells: path::cells(hop).to_vec(), faint: hop.address.is_none() };
        table::write(page, &columns, &path.hops.iter().map(row).collect::<Vec<_>>())?;
        page.item(&path::how_to_read(path))?;
    }
    Ok(())
}

/// What was found of paths that are to carry TCP.
pub(super) fn diagnoses(page: &mut Page<'_>, report: &RunReport) -> io::Result<()> {
    let titles = diagnosis::COLUMNS;
    let columns = [
        column(titles[0], Align::Left),
        column(titles[1], Align::Left),
        column(titles[2], Align::Right),
        column(titles[3], Align::Right),
        Column { title: titles[4], align: Align::Left, expendable: 1 },
    ];
    for found in &report.diagnoses {
        page.heading(&diagnosis::title(found))?;
        let row = |check: &CheckReport| Row {
            cells: diagnosis::cells(check).to_vec(),
            faint: check.passes == Some(true),
        };
        table::write(page, &columns, &found.checks.iter().map(row).collect::<Vec<_>>())?;
        page.item(&diagnosis::carried(found))?;
        for check in found.checks.iter().filter(|check| !check.advice.is_empty()) {
            page.item(&diagnosis::advice(check))?;
        }
    }
    Ok(())
}

/// The loss of datagrams at each rate.
pub(super) fn knees(page: &mut Page<'_>, report: &RunReport) -> io::Result<()> {
    let columns = [
        column("offered Mbit/s", Align::Right),
        column("arrived Mbit/s", Align::Right),
        column("lost %", Align::Right),
    ];
    for knee in &report.knees {
        page.heading(&wording::titled(&format!("Loss over rate, {}", knee.phase), &knee.cell))?;
        let row = |point: &KneePointReport| Row {
            cells: vec![
                figure(point.offered_bits_per_second / 1e6),
                figure(point.arrived_bits_per_second / 1e6),
                percent(point.loss),
            ],
            faint: false,
        };
        table::write(page, &columns, &knee.points.iter().map(row).collect::<Vec<_>>())?;
    }
    Ok(())
}

/// The time of messaging by the number of workers, and what they need.
pub(super) fn growths(page: &mut Page<'_>, report: &RunReport) -> io::Result<()> {
    let columns = [
        column("workers", Align::Right),
        column("trials", Align::Right),
        column("ms", Align::Right),
        column("least ms", Align::Right),
        column("most ms", Align::Right),
        column("memory MB", Align::Right),
    ];
    for growth in &report.growths {
        page.heading(&wording::titled(&format!("Time over workers, {}", growth.phase), &growth.cell))?;
        let row = |point: &GrowthPointReport| Row {
            cells: vec![
                count(point.workers),
                count(point.trials as u64),
                figure(point.ms),
                figure(point.least_ms),
                figure(point.most_ms),
                point.memory_bytes.map_or_else(String::new, |bytes| figure(bytes / 1e6)),
            ],
            faint: false,
        };
        table::write(page, &columns, &growth.points.iter().map(row).collect::<Vec<_>>())?;
        if let Some(bytes) = growth.bytes_per_worker {
            page.item(&format!(
                "Each further worker needs {} KB, of its own and of the kernel's.",
                figure(bytes / 1e3)
            ))?;
        }
    }
    Ok(())
}

/// The probes by which limits were searched, by the rate that was offered.
pub(super) fn searches(page: &mut Page<'_>, report: &RunReport) -> io::Result<()> {
    let columns = [
        column("offered/s", Align::Right),
        column("held", Align::Right),
        column("broken", Align::Right),
        column("not offered", Align::Right),
        column("in time %", Align::Right),
        column("took ms", Align::Right),
    ];
    let mut verdicts = report.verdicts.iter().filter(|verdict| verdict.claim == "limit");
    for search in &report.searches {
        page.heading(&search::title(search))?;
        page.item(&search::how_to_read(search))?;
        if let Some(prediction) = search::prediction(search, verdicts.next()) {
            page.item(&prediction)?;
        }
        let row = |band: search::Band| Row {
            cells: vec![
                band.rates(),
                count(band.held),
                count(band.broken),
                count(band.not_offered),
                percent(band.in_time),
                band.took_ms.map_or_else(|| NONE.to_owned(), figure),
            ],
            faint: false,
        };
        table::write(page, &columns, &search::bands(search).into_iter().map(row).collect::<Vec<_>>())?;
    }
    Ok(())
}

/// Whether open loops met the rate that they were to offer.
pub(super) fn offers(page: &mut Page<'_>, report: &RunReport) -> io::Result<()> {
    let phases = report.trials.iter().flat_map(|trial| trial.phases.iter().map(move |phase| (trial, phase)));
    let offers: Vec<_> =
        phases.filter_map(|(trial, phase)| Some((trial, phase, phase.offer.as_ref()?))).collect();
    if offers.is_empty() {
        return Ok(());
    }
    page.heading("Offered load")?;
    let columns = [
        column("trial", Align::Right),
        column("phase", Align::Left),
        column("wanted/s", Align::Right),
        column("sent/s", Align::Right),
        column("waited", Align::Right),
        column("late p50 ms", Align::Right),
        column("late p99 ms", Align::Right),
    ];
    let row = |(trial, phase, offer): &(&TrialReport, &PhaseReport, &OfferReport)| Row {
        cells: vec![
            trial.number.to_string(),
            phase.name.clone(),
            figure(offer.offered_per_second),
            figure(offer.sent_per_second),
            count(offer.held_back),
            millis(offer.lateness_us.p50),
            millis(offer.lateness_us.p99),
        ],
        faint: false,
    };
    table::write(page, &columns, &offers.iter().map(row).collect::<Vec<_>>())
}

/// What became of the mail of each trial, and how long each command took.
pub(super) fn mail(page: &mut Page<'_>, report: &RunReport) -> io::Result<()> {
    for (caption, titles, rows) in crate::mail::tables(report) {
        page.heading(caption)?;
        let columns: Vec<Column> = titles.iter().map(|title| column(title, Align::Right)).collect();
        let rows: Vec<Row> = rows.into_iter().map(|cells| Row { cells, faint: false }).collect();
        table::write(page, &columns, &rows)?;
    }
    Ok(())
}

fn figures_row(row: &summary::Row, rig: &'static str, figures: &Figures, first: bool) -> Row {
    let phase = row.rung.map_or_else(|| row.phase.clone(), |rung| format!("→ {}", wording::rung(rung)));
    let cycle = if row.cycle > 0 { row.cycle.to_string() } else { String::new() };
    let place =
        [if first { cycle } else { String::new() }, if first { phase } else { String::new() }, rig.into()];
    Row { cells: place.into_iter().chain(figures.cells()).collect(), faint: rig == CONTROL }
}

/// What every rung of the ladder of remedies did.
pub(super) fn ladder(page: &mut Page<'_>, report: &RunReport) -> io::Result<()> {
    if report.remedies.is_empty() {
        return Ok(());
    }
    page.heading("What the ladder of remedies did (after/baseline)")?;
    let columns = [column("", Align::Left), column("", Align::Left), column("", Align::Left)];
    let rows: Vec<Row> = report
        .remedies
        .iter()
        .map(|remedy| Row {
            cells: vec![
                wording::rung(remedy.rung).into(),
                wording::ratio_and_interval(remedy.estimate, remedy.interval),
                wording::rung_outcome(remedy).into(),
            ],
            faint: false,
        })
        .collect();
    table::write(page, &columns, &rows)
}

/// Where the connections' time went.
pub(super) fn packets(page: &mut Page<'_>, report: &RunReport) -> io::Result<()> {
    if report.packets.is_empty() {
        return Ok(());
    }
    page.heading("Where the connections' time went, from their packets")?;
    let factors = report.packets.iter().any(|of| !of.cell.is_empty());
    let mut columns = Vec::new();
    columns.extend(factors.then(|| column("cell", Align::Left)));
    columns.extend([
        Column { title: "phase", align: Align::Left, expendable: 2 },
        Column { title: "host", align: Align::Left, expendable: 1 },
        Column { title: "conn.", align: Align::Right, expendable: 3 },
        column("moving%", Align::Right),
        column("stalls", Align::Left),
        Column { title: "window/buffer%", align: Align::Right, expendable: 5 },
        Column { title: "packets", align: Align::Right, expendable: 4 },
        column("lost", Align::Right),
    ]);
    let row = |of: &PacketReport| {
        let mut cells = Vec::new();
        cells.extend(factors.then(|| wording::cell_title(&of.cell)));
        cells.extend([
            of.phase.clone(),
            wording::captured_on(of),
            count(of.connections),
            wording::moving(of),
            wording::stalls(of, STALLS_SHOWN),
            wording::limited(of),
            count(of.packets),
            count(of.dropped),
        ]);
        Row { cells, faint: of.twin == Twin::Control }
    };
    table::write(page, &columns, &report.packets.iter().map(row).collect::<Vec<_>>())?;
    report.packets.iter().flat_map(|of| &of.errors).try_for_each(|error| page.item(error))?;
    wording::longest_stalls(report)
        .iter()
        .try_for_each(|(what, evidence)| page.item(&format!("{what}: {evidence}")))
}

/// Explanations, the likeliest first, each with its evidence and its remedy.
pub(super) fn causes(page: &mut Page<'_>, causes: &[Cause]) -> io::Result<()> {
    if causes.is_empty() {
        return Ok(());
    }
    page.heading("Why")?;
    for cause in causes {
        let confirmed = if cause.confirmed { ", confirmed" } else { "" };
        page.item(&format!(
            "{}. {} ({}, {} % sure{confirmed})",
            cause.rank,
            cause.title,
            cause.id.id(),
            figure((cause.confidence * 100.0).round()),
        ))?;
        for e in &cause.evidence {
            let change = format!("{} → {} {}", figure(e.before), figure(e.after), e.unit);
            page.item(&format!("   {}: {}", e.metric, change.trim_end()))?;
        }
        if !cause.remedy.is_empty() {
            page.item(&format!("   Remedy: {}", cause.remedy))?;
        }
    }
    Ok(())
}

/// Where the CPU time went that was added; nothing where none was.
pub(super) fn profile(
    page: &mut Page<'_>,
    (_, before, after): (&str, &'static str, &'static str),
    found: Option<&ProfileReport>,
) -> io::Result<()> {
    let Some(found) = found.filter(|found| found.tells()) else { return Ok(()) };
    page.heading(profile::HEADING)?;
    profile::sentences(found, (before, after)).iter().try_for_each(|sentence| page.item(sentence))?;
    let columns: Vec<Column> = profile::columns(before, after)
        .into_iter()
        .map(|title| match title {
            "function" => column(title, Align::Left),
            "of" => Column { title, align: Align::Left, expendable: 1 },
            "called from" => Column { title, align: Align::Left, expendable: 2 },
            _ => column(title, Align::Right),
        })
        .collect();
    let rows = found.functions.iter().map(|it| Row { cells: profile::cells(it).to_vec(), faint: false });
    if !found.functions.is_empty() {
        table::write(page, &columns, &rows.collect::<Vec<_>>())?;
    }
    page.item(&profile::made(found))
}

/// What changed most, the strongest first.
pub(super) fn evidence(
    page: &mut Page<'_>,
    (heading, before, after): (&str, &'static str, &'static str),
    evidence: &[Evidence],
) -> io::Result<()> {
    if evidence.is_empty() {
        return Ok(());
    }
    page.heading(heading)?;
    let columns = [
        column("host", Align::Left),
        column("counter", Align::Left),
        column(before, Align::Right),
        column(after, Align::Right),
        Column { title: "unit", align: Align::Left, expendable: 1 },
        column("change", Align::Right),
        Column { title: "on control", align: Align::Right, expendable: 3 },
        Column { title: "shift", align: Align::Right, expendable: 2 },
    ];
    let rows: Vec<Row> = evidence
        .iter()
        .take(EVIDENCE_SHOWN)
        .map(|e| Row {
            cells: vec![
                e.host.clone(),
                e.metric.clone(),
                figure(e.before),
                figure(e.after),
                e.unit.clone(),
                times(e.before, e.after),
                e.control_ratio.map_or_else(String::new, |r| format!("×{}", ratio(r))),
                format!("{:+.2}", e.shift),
            ],
            faint: false,
        })
        .collect();
    table::write(page, &columns, &rows)?;
    if let Some(more @ 1..) = evidence.len().checked_sub(EVIDENCE_SHOWN) {
        page.item(&format!("({more} more in --format json and html)"))?;
    }
    Ok(())
}

/// What the machine did in each phase.
pub(super) fn vmstat(page: &mut Page<'_>, report: &RunReport) -> io::Result<()> {
    let rows = environment::vmstat(report);
    if rows.is_empty() {
        return Ok(());
    }
    page.heading("The machine in each phase, as vmstat shows it (medians over trials and cycles)")?;
    let columns: Vec<Column> = [column("phase", Align::Left), column("host", Align::Left)]
        .into_iter()
        .chain(environment::VMSTAT.map(|title| Column {
            title,
            align: Align::Right,
            expendable: u8::from(title == "s"),
        }))
        .collect();
    let cells = |row: environment::VmstatRow| [vec![row.phase, row.host], row.cells].concat();
    let rows: Vec<Row> = rows.into_iter().map(|row| Row { cells: cells(row), faint: false }).collect();
    table::write(page, &columns, &rows)
}

/// What the run was measured on.
pub(super) fn environment(page: &mut Page<'_>, report: &RunReport) -> io::Result<()> {
    let lines = environment::lines(report);
    if lines.is_empty() {
        return Ok(());
    }
    page.heading("Measured on")?;
    lines.iter().try_for_each(|(name, text)| page.item(&format!("{name}: {text}")))
}

/// Faults of trials, and what a reader must know.
pub(super) fn notes(page: &mut Page<'_>, report: &RunReport) -> io::Result<()> {
    let notes: Vec<String> =
        wording::faults(report).into_iter().chain(report.notes.iter().cloned()).collect();
    if notes.is_empty() {
        return Ok(());
    }
    page.heading("Notes")?;
    notes.iter().try_for_each(|note| page.item(note))
}

/// What sampling cost, which run it was, and how to do it again.
pub(super) fn provenance(page: &mut Page<'_>, report: &RunReport) -> io::Result<()> {
    writeln!(page.out)?;
    if let Some(cost) = wording::sampling(&report.sampling) {
        page.paragraph(&cost, 0)?;
    }
    page.paragraph(&wording::provenance(report), 0)?;
    page.paragraph(&format!("The same again: {}", wording::reproduce(report)), 0)
}
