//! The sections of a run's page, from the answer down to how to do it again.

use maud::{Markup, html};
use plimsoll_model::experiment::Claim;
use plimsoll_model::observation::{Profile, TrialRecord};
use plimsoll_model::report::RunReport;
use plimsoll_model::verdict::{Standing, Verdict};

use super::chart::forest::{Point, Scale, strip};
use super::chart::{
    Figure, bars, cpu, cycles, growth, hops, knee, latency, load, load_curve, loss_curve, modes, probes,
    rate, stacks, steps, sweep,
};
use super::section::Section;
use super::{Drawn, TRIAL_PICKER, packets, page, tables, timeline};
use crate::findings;
use crate::number::figure;
use crate::profile as told;
use crate::section::Section as Found;
use crate::summary::{self, CellRows};
use crate::wording;

/// Everything between the head and the script.
pub(super) fn body(
    report: &RunReport,
    records: &[TrialRecord],
    claims: &[Claim],
    drawn: &Drawn<'_>,
) -> Markup {
    let cells = summary::cells(report);
    let sections: Vec<Section> = [
        remedies(report, claims),
        causes(report),
        searches(report),
        packets::section(report, drawn.time_sequences),
        profile(report, drawn.stacks),
        gathered(report),
        tables::found("winners", "Winners", findings::winners(report)),
        with_tables("sweep", "Storage", sweep::charts(records), findings::storage(report)),
        up_and_down(report),
        queues(report),
        lossy(report),
        growing(report),
        paths(report),
        tables::found("diagnoses", "Is the path good enough?", report.diagnoses.iter().map(findings::checks)),
        knees(report),
        rates(report, &cells, records, claims),
        over_time(report, records),
        latencies(&cells),
        evidence(report),
        tables::figures(report, &cells),
        tables::found("offers", "Offered load", findings::offers(report)),
        tables::found("mail", "Mail", findings::mail(report)),
        tables::found("machine", "The machine", findings::vmstat(report)),
        tables::environment(report),
        tables::about(report),
    ]
    .into_iter()
    .flatten()
    .collect();
    html! {
        header .page {
            h1 { (report.experiment) }
            p .question { (report.question) }
        }
        nav aria-label="Sections" { ul {
            li { a href="#answer" { "Answer" } }
            @for section in &sections { li { a href=(format!("#{}", section.id)) { (section.title) } } }
        } }
        main {
            (answer(report, claims))
            noscript { p { "The charts need JavaScript. Every figure also stands in the tables below." } }
            @for section in &sections {
                section id=(section.id) aria-label=(section.title) {
                    h2 { (section.title) }
                    (section.content)
                }
            }
        }
        footer {
            p { (wording::provenance(report)) }
            @if let Some(cost) = wording::sampling(&report.sampling) { p { (cost) } }
            p { "The same again, in the same random order:" }
            pre { code { (wording::reproduce(report)) } }
        }
    }
}

/// The verdicts in large plain words, each with its interval against the margin, and the rest of the short answer.
fn answer(report: &RunReport, claims: &[Claim]) -> Markup {
    html! {
        section #answer aria-label="Answer" {
            @for verdict in wording::told_in_words(report) { (verdict_box(verdict, limits(verdict, claims))) }
            @let facts = wording::short_answer(report);
            @if !facts.is_empty() {
                ul .facts { @for fact in facts { li { (fact) } } }
            }
        }
    }
}

fn verdict_box(verdict: &Verdict, limits: Vec<f64>) -> Markup {
    let standing = verdict.standing();
    let class = match standing {
        Standing::Holds => "holds",
        Standing::Fails => "fails",
        Standing::Open => "open",
    };
    let point = Point { estimate: verdict.estimate, interval: verdict.interval };
    html! {
        div class={ "verdict " (class) } {
            h2 { (wording::outcome(verdict.outcome)) }
            p .answer { (wording::answer(verdict)) }
            p { (wording::reason(verdict)) " " span .soft { "(" (verdict.claim) @if let Some(expected) = &verdict.expected { ", expected: " (expected.replace('_', " ")) } ": " (wording::standing(standing)) ")" } }
            @if wording::is_ratio(verdict) && verdict.claim != "winner" && point.estimate.is_some() {
                (strip(&Scale::new(&[point], limits), point, true))
            }
        }
    }
}

/// Where "as good" ends for this verdict: on the bad side for recovery, on both for a difference. Empty when no claim of its kind
/// and metric is known, or several that differ.
fn limits(verdict: &Verdict, claims: &[Claim]) -> Vec<f64> {
    let of = |claim: &Claim| match (claim.recovery(), claim.difference()) {
        (Some(c), _) if verdict.claim == "recovery" && c.metric.name() == verdict.metric => {
            Some(vec![if c.metric.lower_is_better() { 1.0 + c.margin.0 } else { 1.0 - c.margin.0 }])
        }
        (_, Some(c)) if verdict.claim == "difference" && c.metric.name() == verdict.metric => {
            Some(vec![1.0 / (1.0 + c.margin.0), 1.0 + c.margin.0])
        }
        _ => None,
    };
    let mut known: Vec<Vec<f64>> = claims.iter().filter_map(of).collect();
    known.dedup();
    if known.len() == 1 { known.remove(0) } else { Vec::new() }
}

/// The limits of the recovery claim.
fn recovery_limits(report: &RunReport, claims: &[Claim]) -> Vec<f64> {
    let recovery = report.verdicts.iter().find(|v| v.claim == "recovery");
    recovery.map_or_else(Vec::new, |verdict| limits(verdict, claims))
}

fn remedies(report: &RunReport, claims: &[Claim]) -> Option<Section> {
    if report.remedies.is_empty() {
        return None;
    }
    let after = report.verdicts.iter().find(|v| v.claim == "recovery");
    let after = after.map(|v| Point { estimate: v.estimate, interval: v.interval });
    let rungs: Vec<Point> =
        report.remedies.iter().map(|r| Point { estimate: r.estimate, interval: r.interval }).collect();
    let all: Vec<Point> = rungs.iter().copied().chain(after).collect();
    let limits = recovery_limits(report, claims);
    let margin = !limits.is_empty();
    let scale = Scale::new(&all, limits);
    let line = |what: &str, point: Point, outcome: &str, reason: &str| {
        html! {
            tr {
                th scope="row" { (what) }
                td style="width:45%" { (strip(&scale, point, false)) }
                td .num { (wording::ratio_and_interval(point.estimate, point.interval)) }
                td { (outcome) @if !reason.is_empty() { br; span .soft { (reason) } } }
            }
        }
    };
    Some(Section {
        id: "remedies",
        title: "Remedies",
        content: html! {
            p { "What was tried, in order, and what was measured after it." }
            p .soft {
                "Grey line: as before."
                @if margin { " Dashed line: the margin. What lies in the shaded zone is as good." }
            }
            (page::table("Remedies", "middle", &html! {
                (page::head(&[("remedy", false), ("", false), ("after/baseline", true), ("what it did", false)]))
                tbody {
                    @if let Some(point) = after { (line("after the flood", point, "", "")) }
                    @for (remedy, point) in report.remedies.iter().zip(&rungs) {
                        (line(wording::rung(remedy.rung), *point, wording::rung_outcome(remedy), &remedy.reason))
                    }
                }
            }))
            @if let Some(place) = report.state_lives_in { p { strong { (wording::state_lives_in(place)) } } }
        },
    })
}

fn causes(report: &RunReport) -> Option<Section> {
    let content = html! {
        ol .causes {
            @for cause in &report.causes {
                li value=(cause.rank) {
                    h3 { (cause.title) }
                    p .soft {
                        code { (cause.id.id()) } ", " (figure((cause.confidence * 100.0).round())) " % sure"
                        @if cause.confirmed { ", confirmed by an intervention" }
                    }
                    ul {
                        @for e in &cause.evidence {
                            li { (e.metric) ": " (figure(e.before)) " → " (figure(e.after)) " " (e.unit) }
                        }
                    }
                    @if !cause.remedy.is_empty() { p { "Remedy: " (cause.remedy) } }
                }
            }
        }
    };
    (!report.causes.is_empty()).then_some(Section { id: "why", title: "Why", content })
}

fn rates(
    report: &RunReport,
    cells: &[CellRows],
    records: &[TrialRecord],
    claims: &[Claim],
) -> Option<Section> {
    let metric = summary::rate_metric(report);
    let charts = cells
        .iter()
        .enumerate()
        .filter_map(|(i, cell)| rate::chart(format!("rate-{}", i + 1), cell, metric, records));
    let limit = match *recovery_limits(report, claims).as_slice() {
        [limit] => Some(limit),
        _ => None,
    };
    let cycles = report.recovery.as_ref().and_then(|facts| cycles::chart(facts, limit));
    figures("rate", "Rate", charts.chain(cycles))
}

/// The probes by which limits were searched.
fn searches(report: &RunReport) -> Option<Section> {
    let is_search = |verdict: &&Verdict| verdict.claim == "limit" && !wording::is_bound(verdict);
    let verdicts = report.verdicts.iter().filter(is_search);
    let both = (1..).zip(report.searches.iter().zip(verdicts));
    let charts = both.filter_map(|(n, (search, verdict))| probes::chart(n, search, verdict));
    with_tables("search", "The search for the limit", charts, findings::searches(report))
}

/// Where measurements gather, and in which order.
fn gathered(report: &RunReport) -> Option<Section> {
    figures("modes", "Modes", (1..).zip(&report.modes).flat_map(|(n, facts)| modes::charts(n, facts)))
}

/// What loads met that go up and down in steps.
fn up_and_down(report: &RunReport) -> Option<Section> {
    let all = crate::steps::all(report);
    let charts = (1..).zip(&all).flat_map(|(n, stepped)| steps::charts(n, stepped));
    with_tables("steps", "Up and down the load", charts, findings::steps(report))
}

/// Load over CPU time, with the queueing models.
fn queues(report: &RunReport) -> Option<Section> {
    let charts = (1..).zip(&report.load_curves).map(|(n, curve)| load_curve::chart(n, curve));
    with_tables("queues", "Load against CPU", charts, report.load_curves.iter().map(findings::load_curve))
}

/// Rate over loss, with the formulas.
fn lossy(report: &RunReport) -> Option<Section> {
    let charts = (1..).zip(&report.loss_curves).map(|(n, curve)| loss_curve::chart(n, curve));
    with_tables("lossy", "Rate over loss", charts, report.loss_curves.iter().map(findings::loss_curve))
}

/// The loss of datagrams over the rate that was offered.
fn knees(report: &RunReport) -> Option<Section> {
    let charts = (1..).zip(&report.knees).map(|(n, found)| knee::chart(n, found));
    with_tables("knees", "Loss over rate", charts, report.knees.iter().map(findings::knee))
}

/// The hops of paths.
fn paths(report: &RunReport) -> Option<Section> {
    let charts = (1..).zip(&report.paths).map(|(n, path)| hops::chart(n, path));
    with_tables("paths", "Hops", charts, report.paths.iter().map(findings::hops))
}

/// Time over the number of workers, with what was fitted.
fn growing(report: &RunReport) -> Option<Section> {
    let charts = (1..).zip(&report.growths).map(|(n, curve)| growth::chart(n, curve));
    with_tables("growing", "Time over workers", charts, report.growths.iter().map(findings::growth))
}

fn latencies(cells: &[CellRows]) -> Option<Section> {
    let charts =
        cells.iter().enumerate().filter_map(|(i, cell)| latency::chart(format!("latency-{}", i + 1), cell));
    figures("latency", "Latency", charts)
}

fn figures(id: &'static str, title: &'static str, figures: impl Iterator<Item = Figure>) -> Option<Section> {
    let markup: Vec<Markup> = figures.map(|f| f.markup()).collect();
    (!markup.is_empty()).then(|| Section { id, title, content: html! { @for m in &markup { (m) } } })
}

/// Charts, and below them what they show in figures.
fn with_tables(
    id: &'static str,
    title: &'static str,
    figures: impl IntoIterator<Item = Figure>,
    findings: impl IntoIterator<Item = Found>,
) -> Option<Section> {
    let charts = figures.into_iter().map(|figure| figure.markup());
    let tables = findings.into_iter().map(|finding| tables::in_figures(&finding));
    let markup: Vec<Markup> = charts.chain(tables).collect();
    (!markup.is_empty()).then(|| Section { id, title, content: html! { @for m in &markup { (m) } } })
}

/// Load and CPU over the time of a trial that can be chosen.
fn over_time(report: &RunReport, records: &[TrialRecord]) -> Option<Section> {
    if report.trials.is_empty() {
        return None;
    }
    let drawn: Vec<&TrialRecord> = records.iter().take(timeline::TRIALS_DRAWN).collect();
    let load = load::chart(&drawn, summary::rate_metric(report));
    let cpu = cpu::chart(&drawn);
    Some(Section {
        id: "time",
        title: "Over time",
        content: html! {
            @if drawn.is_empty() {
                p { "The raw records of the trials are not at hand: nothing can be drawn over time." }
            } @else {
                label .pick {
                    "Trial "
                    select .picker id=(TRIAL_PICKER) autocomplete="off" {
                        @for trial in &drawn { option value=(trial.number) { (trial_title(trial)) } }
                    }
                }
                @if records.len() > drawn.len() {
                    p .soft { "The first " (drawn.len()) " of " (records.len()) " trials are drawn." }
                }
                @match &load { Some(chart) => (chart.markup()), None => p { "No load was seen in any trial." } }
                @match &cpu {
                    Some(chart) => (chart.markup()),
                    None => p { "CPU time was not seen: no host sampled " code { "machine.stat.cpu" } "." },
                }
            }
        },
    })
}

fn trial_title(trial: &TrialRecord) -> String {
    let mut title = trial.number.to_string();
    if !trial.cell.is_empty() {
        title.push_str(&format!(" ({})", wording::cell_title(&trial.cell)));
    }
    if !trial.faults.is_empty() {
        title.push_str(", worthless");
    }
    title
}

fn profile(report: &RunReport, drawn: Option<&[Profile; 2]>) -> Option<Section> {
    let found = report.profile.as_ref()?;
    let (_, before, after) = wording::evidence_sides(report);
    let columns = told::columns(before, after);
    let titles: Vec<(&str, bool)> =
        (0..).zip(columns).map(|(n, title)| (title, (2..5).contains(&n))).collect();
    Some(Section {
        id: "profile",
        title: "CPU time",
        content: html! {
            @for sentence in told::sentences(found, (before, after)) { p { (sentence) } }
            @if !found.functions.is_empty() {
                (page::table(told::HEADING, "", &html! {
                    (page::head(&titles))
                    tbody {
                        @for function in &found.functions {
                            tr { @for (n, cell) in told::cells(function).iter().enumerate() {
                                td .num[(2..5).contains(&n)] { (cell) }
                            } }
                        }
                    }
                }))
            }
            @if let Some(drawn) = drawn { (stacks::chart(found, drawn).markup()) }
            p .soft { (told::made(found)) }
        },
    })
}

fn evidence(report: &RunReport) -> Option<Section> {
    (!report.evidence.is_empty()).then(|| Section {
        id: "evidence",
        title: "What changed",
        content: html! {
            p { (wording::evidence_sides(report).0) ", the strongest first." }
            (bars::table(report))
        },
    })
}
