//! Every figure of the charts as a table, and what else there is to know of a run.

use maud::{Markup, html};
use plimsoll_model::report::{CpuShares, PathReport, RunReport};

use super::page;
use super::section::Section;
use crate::diagnosis;
use crate::environment;
use crate::escape::block;
use crate::number::{NONE, count, figure, millis, percent};
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

/// What became of the mail, and how long each command took.
pub(super) fn mail(report: &RunReport) -> Option<Section> {
    let tables = crate::mail::tables(report);
    (!tables.is_empty()).then(|| Section {
        id: "mail",
        title: "Mail",
        content: html! {
            @for (caption, titles, rows) in &tables {
                (page::table(caption, "", &html! {
                    (page::head(&titles.iter().map(|title| (*title, true)).collect::<Vec<_>>()))
                    tbody { @for row in rows { tr { @for cell in row { td .num { (cell) } } } } }
                }))
            }
        },
    })
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
        (page::table("Figures per phase and cycle", "", &html! {
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
    let shares = [cpu(|c| c.user), cpu(|c| c.system), cpu(|c| c.softirq), cpu(|c| c.iowait), cpu(|c| c.idle)];
    let l = &f.latency;
    html! {
        tr .control[rig == CONTROL] {
            td .num { @if first && row.cycle > 0 { (row.cycle) } }
            th .tight scope="row" {
                @if first {
                    @match row.rung { Some(rung) => { "→ " (wording::rung(rung)) }, None => (row.phase), }
                }
            }
            td .tight { span .key {} (rig) }
            td .num { (figure(f.rate)) }
            @for us in [l.p50, l.p90, l.p99, l.max] { td .num { (millis(us)) } }
            td .num { (count(f.failed())) }
            @for share in shares { td .num { (share) } }
        }
    }
}

/// What was found of paths that are to carry TCP, and what to do about it.
pub(super) fn diagnoses(report: &RunReport) -> Option<Section> {
    let left = |title: &&str| ["check", "verdict", "found"].contains(title);
    let titles = diagnosis::COLUMNS.map(|title| (title, !left(&title)));
    (!report.diagnoses.is_empty()).then(|| Section {
        id: "diagnoses",
        title: "Is the path good enough?",
        content: html! {
            @for found in &report.diagnoses {
                h3 { (diagnosis::title(found)) }
                (page::table(&diagnosis::title(found), "", &html! {
                    (page::head(&titles))
                    tbody {
                        @for check in &found.checks {
                            tr {
                                @for (cell, (_, number)) in diagnosis::cells(check).iter().zip(titles) {
                                    td .num[number] { (cell) }
                                }
                            }
                        }
                    }
                }))
                p .soft { (diagnosis::carried(found)) }
                @let advised: Vec<_> = found.checks.iter().filter(|check| !check.advice.is_empty()).collect();
                @if !advised.is_empty() { ul { @for check in advised { li { (diagnosis::advice(check)) } } } }
            }
        },
    })
}

/// The hops of a path.
pub(super) fn hops(path: &PathReport) -> Markup {
    let titles = crate::path::COLUMNS.map(|title| (title, true));
    html! {
        p .soft { (crate::path::how_to_read(path)) }
        (page::table(&crate::path::title(path), "", &html! {
            (page::head(&titles))
            tbody { @for hop in &path.hops { tr { @for cell in crate::path::cells(hop) { td .num { (cell) } } } } }
        }))
    }
}

/// Which level of a factor is best, row by row.
pub(super) fn winners(report: &RunReport) -> Option<Section> {
    let titles = [
        ("phase", false),
        ("at", false),
        ("best", false),
        ("figure", true),
        ("next", false),
        ("lead", true),
        ("certain, %", true),
        ("", false),
    ];
    let rows = html! {
        (page::head(&titles))
        tbody {
            @for winner in &report.winners {
                tr {
                    th .tight scope="row" { (winner.phase) }
                    td { (wording::cell_title(&winner.row)) }
                    td { strong { (winner.winner) } }
                    td .num { (figure(winner.figure)) }
                    td { (winner.next) }
                    td .num { "×" (crate::number::ratio(winner.lead)) }
                    td .num { (figure((winner.certainty * 100.0).round())) }
                    td { (wording::lead(winner.outcome)) }
                }
            }
        }
    };
    (!report.winners.is_empty()).then(|| Section {
        id: "winners",
        title: "Winners",
        content: html! {
            p .soft {
                "Which " (report.winners[0].factor) " is best for what. Certain: in how many of 100 resamples of the blocks it comes out best. \
                Figures are geometric means over the blocks, and a lead is the quotient of two of them."
            }
            (page::table("Winners", "", &rows))
            @for winner in report.winners.iter().filter(|winner| !winner.doubts.is_empty()) {
                p .soft {
                    (winner.phase) " " (wording::cell_title(&winner.row)) ": " (winner.doubts.join("; ")) "."
                }
            }
        },
    })
}

/// What the machine did in each phase.
pub(super) fn vmstat(report: &RunReport) -> Option<Section> {
    let rows = environment::vmstat(report);
    let hosts = rows.iter().any(|row| !row.host.is_empty());
    let titles = [("phase", false)].into_iter().chain(hosts.then_some(("host", false)));
    let titles: Vec<_> = titles.chain(environment::VMSTAT.map(|title| (title, true))).collect();
    (!rows.is_empty()).then(|| Section {
        id: "machine",
        title: "The machine",
        content: html! {
            p .soft { "What vmstat shows, in each phase: medians over trials and cycles. CPU in per cent of all CPUs; s: how long." }
            (page::table("The machine in each phase", "", &html! {
                (page::head(&titles))
                tbody {
                    @for row in &rows {
                        tr {
                            th scope="row" { (row.phase) }
                            @if hosts { td { (row.host) } }
                            @for cell in &row.cells { td .num { (cell) } }
                        }
                    }
                }
            }))
        },
    })
}

/// What the run was measured on, and the experiment to take away.
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
    let notes: Vec<String> =
        wording::faults(report).into_iter().chain(report.notes.iter().cloned()).collect();
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
                    td { (wording::host_kind(host.kind)) }
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
