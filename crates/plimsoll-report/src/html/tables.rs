//! Every figure of the charts as a table, and what else there is to know of a run.

use maud::{Markup, html};
use plimsoll_model::observation::Percentiles;
use plimsoll_model::report::{CpuShares, RunReport};

use super::page;
use super::section::Section;
use crate::claims::Group;
use crate::environment;
use crate::escape::block;
use crate::number::{NONE, count, figure, percent};
use crate::section::{Align, Block, Section as Found, Table};
use crate::summary::{self, CONTROL, CellRows, Figures, Row};
use crate::wording;

/// The table per phase and cycle, for each cell.
pub(super) fn figures(report: &RunReport, cells: &[CellRows]) -> Option<Section> {
    let cells: Vec<&CellRows> = cells.iter().filter(|c| !c.rows.is_empty()).collect();
    (!cells.is_empty()).then(|| Section {
        id: "figures",
        title: "Figures",
        content: html! { @for cell in &cells { (of_cell(cell, summary::rate_title(report))) } },
    })
}

/// Findings with their sentences and tables, one below the other; `None` if there is none.
pub(super) fn found(
    id: &'static str,
    title: &'static str,
    findings: impl IntoIterator<Item = Found>,
) -> Option<Section> {
    let markup: Vec<Markup> = findings.into_iter().map(|finding| in_figures(&finding)).collect();
    (!markup.is_empty()).then(|| Section { id, title, content: html! { @for m in &markup { (m) } } })
}

/// Section of a kind of claim: all charts, and below them their figures.
pub(super) fn group(group: &Group) -> Section {
    let charts = group.sections.iter().flat_map(|section| &section.blocks).filter_map(|block| match block {
        Block::Chart(figure) => Some(figure.markup()),
        _ => None,
    });
    let tables = group.sections.iter().filter(|section| section.has_text()).map(in_figures);
    let markup: Vec<Markup> = charts.chain(tables).collect();
    Section { id: group.id, title: group.title, content: html! { @for m in &markup { (m) } } }
}

/// A finding: its heading, and what stands below it, without its charts.
pub(super) fn in_figures(finding: &Found) -> Markup {
    html! {
        h3 { (finding.title) }
        @for block in &finding.blocks {
            @match block {
                Block::Sentence { text, .. } => p .soft { (text) },
                Block::Table(table) => (rows_of(&finding.title, table)),
                Block::Chart(_) => {}
            }
        }
    }
}

fn rows_of(name: &str, table: &Table) -> Markup {
    let used = table.used();
    let is_figure = |at: usize| table.columns[at].align == Align::Right;
    let titles: Vec<_> = used.iter().map(|&at| (table.columns[at].title, is_figure(at))).collect();
    page::table(
        name,
        "",
        &html! {
            (page::head(&titles))
            tbody {
                @for row in &table.rows {
                    tr { @for &at in &used { td .num[is_figure(at)] { (row.cells[at]) } } }
                }
            }
        },
    )
}

fn of_cell(cell: &CellRows, rate: &str) -> Markup {
    let trials = cell.rows.iter().flat_map(Row::rigs).map(|(_, f)| f.trials).max().unwrap_or(0);
    let words = [("cycle", true), ("phase", false), ("rig", false), (rate, true)];
    let figures = ["p50", "p90", "p99", "slowest", "errors", "user", "system", "softirq", "iowait", "idle"];
    let titles: Vec<_> = words.into_iter().chain(figures.map(|title| (title, true))).collect();
    html! {
        @if !cell.cell.is_empty() { h3 { (wording::cell_title(&cell.cell)) } }
        p .soft {
            "Times in milliseconds, CPU in per cent of all CPUs."
            @if trials > 1 { " Medians of " (trials) " trials; CPU: means; errors: sums; slowest: of all." }
        }
        (page::table(&wording::titled("Figures per phase and cycle", &cell.cell), "", &html! {
            (page::head(&titles))
            tbody {
                @for row in &cell.rows {
                    @for (i, (rig, figures)) in row.rigs().enumerate() { (of_rig(row, rig, figures, i == 0)) }
                }
            }
        }))
        @for note in summary::error_notes(&cell.rows) { p .soft { "Errors in " (note) "." } }
    }
}

fn of_rig(row: &Row, rig: &str, f: &Figures, first: bool) -> Markup {
    let cpu =
        |share: fn(&CpuShares) -> f64| f.cpu.as_ref().map_or_else(|| NONE.to_owned(), |c| percent(share(c)));
    let times: [fn(&Percentiles) -> u64; 4] = [|t| t.p50, |t| t.p90, |t| t.p99, |t| t.max];
    let shares = [cpu(|c| c.user), cpu(|c| c.system), cpu(|c| c.softirq), cpu(|c| c.iowait), cpu(|c| c.idle)];
    html! {
        tr .control[rig == CONTROL] {
            td .num { @if first && row.cycle > 0 { (row.cycle) } }
            @if first {
                th .tight scope="row" {
                    @match row.rung { Some(rung) => { "→ " (wording::rung(rung)) }, None => (row.phase), }
                }
            } @else { td {} }
            td .tight { span .key {} (rig) }
            td .num { (f.rate_text()) }
            @for of in times { td .num { (f.millis(of)) } }
            td .num { (count(f.failed())) }
            @for share in shares { td .num { (share) } }
        }
    }
}

/// The environment of the run, and the experiment to take away.
pub(super) fn environment(report: &RunReport) -> Option<Section> {
    let lines = environment::lines(report);
    let file = &report.environment.experiment;
    (!lines.is_empty()).then(|| Section {
        id: "environment",
        title: "Measured on",
        content: html! {
            (page::table("Measured on", "", &html! {
                tbody { @for (name, text) in &lines { tr { th scope="row" { (name) } td { (text) } } } }
            }))
            @if !file.is_empty() {
                details {
                    summary { "The experiment" }
                    p {
                        a download=(file_name(&report.experiment)) href=(data_link(file)) { "Download " (file_name(&report.experiment)) }
                    }
                    pre { code { (block(file)) } }
                }
            }
        },
    })
}

/// A name for the experiment's file that is the same everywhere.
fn file_name(experiment: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '_' };
    format!("{}.toml", experiment.trim_end_matches(".toml").chars().map(plain).collect::<String>())
}

/// A link that holds the text itself, byte by byte (RFC 2397).
fn data_link(text: &str) -> String {
    let byte = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => char::from(byte).to_string(),
        byte => format!("%{byte:02X}"),
    };
    format!("data:text/plain;charset=utf-8,{}", text.bytes().map(byte).collect::<String>())
}

/// Notes, hosts and trials.
pub(super) fn about(report: &RunReport) -> Option<Section> {
    let notes: Vec<String> = wording::notes(report);
    let content = html! {
        @if !notes.is_empty() { ul { @for note in &notes { li { (note) } } } }
        @if !report.hosts.is_empty() { h3 { "Hosts" } (hosts(report)) }
        @if !report.trials.is_empty() { h3 { "Trials, in the order of carrying out" } (trials(report)) }
    };
    let empty = notes.is_empty() && report.hosts.is_empty() && report.trials.is_empty();
    (!empty).then_some(Section { id: "about", title: "About this run", content })
}

fn hosts(report: &RunReport) -> Markup {
    let rows = html! {
        (page::head(&[("host", false), ("made of", false), ("services", false), ("loads", false)]))
        tbody {
            @for host in &report.hosts {
                tr {
                    th scope="row" { (host.name) }
                    td { (host.kind.title()) }
                    td { (host.services.join(", ")) }
                    td { (host.loads.join(", ")) }
                }
            }
        }
    };
    page::table("Hosts", "", &rows)
}

fn trials(report: &RunReport) -> Markup {
    let factors = report.trials.iter().any(|t| !t.cell.is_empty());
    let faults = report.trials.iter().any(|t| !t.faults.is_empty());
    let mut titles = vec![("trial", true), ("block", true), ("set-up, ms", true), ("teardown, ms", true)];
    titles.extend(factors.then_some(("cell", false)));
    titles.extend(faults.then_some(("faults", false)));
    let rows = html! {
        (page::head(&titles))
        tbody {
            @for trial in &report.trials {
                tr {
                    td .num { (trial.number) }
                    td .num { (trial.block) }
                    td .num { (figure(trial.setup_ms)) }
                    td .num { (figure(trial.teardown_ms)) }
                    @if factors { td { (wording::cell_title(&trial.cell)) } }
                    @if faults {
                        td { @for fault in &trial.faults { (wording::fault_kind(fault.kind)) " in " (fault.phase) br; } }
                    }
                }
            }
        }
    };
    page::table("Trials", "", &rows)
}
