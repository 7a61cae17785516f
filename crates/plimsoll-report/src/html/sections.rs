//! The sections of a run's page, from the answer down to how to do it again.

use maud::{Markup, html};
use plimsoll_model::cause::{Cause, CauseId};
use plimsoll_model::experiment::claim::Details;
use plimsoll_model::observation::{Profile, TrialRecord};
use plimsoll_model::report::{Finding, ProfileReport, RunReport};

use super::chart::forest::{Point, Scale, strip};
use super::chart::{bars, counters, cpu, heat, histogram, latency, load, rate, stacks, steps};
use super::section::Section;
use super::{COUNTER_PICKER, Drawn, TRIAL_PICKER, levels, packets, page, places, sides, tables, timeline};
use crate::chart::Figure;
use crate::findings;
use crate::number::{figure, median};
use crate::profile as cpu_profile;
use crate::section::Section as TextSection;
use crate::seen;
use crate::summary::{self, CellRows};
use crate::tone::Tone;
use crate::{answer, claims, events, loads, wording};

/// Everything between the head and the script.
pub(super) fn body(report: &RunReport, records: &[TrialRecord], drawn: &Drawn<'_>) -> Markup {
    let cells = summary::cells(report);
    // Below the answer and its causes: what the load saw over time, then whatever explains it.
    let top = [remedies(report), why(report, drawn.served)];
    let claimed = claims::groups(report);
    let claimed = claimed.iter().map(|group| Some(tables::group(group)));
    let measured = [
        up_and_down(report),
        sides::section(report, records),
        levels::section(report),
        over_time(report, records),
        rates(report, &cells, records),
        latencies(&cells, records),
    ];
    let of_loads = loads::groups(report, records);
    let of_loads = of_loads.iter().map(|group| Some(tables::group(group)));
    let explaining = [
        packets::section(report, drawn.time_sequences),
        profile(report, drawn.stacks),
        tables::found(
            "seen",
            "Waits and calls",
            seen::sections(answer::evidence_sides(report), report.profile.as_ref()),
        ),
        evidence(report),
        of_hosts(records),
        tables::found("steps-done", "Steps", events::section(report)),
        tables::figures(report, &cells),
        tables::found("offers", "Offered load", findings::offers(report)),
        tables::found("machine", "The machine", findings::vmstat(report)),
        tables::environment(report),
        tables::about(report),
    ];
    let sections = top.into_iter().chain(claimed).chain(measured).chain(of_loads).chain(explaining);
    let sections: Vec<Section> = sections.flatten().collect();
    html! {
        header .page {
            h1 { (report.experiment) }
            p .question { (report.question) }
        }
        nav aria-label="Sections" { ul {
            li { a href="#answer" { "Answer" } }
            @for section in &sections { li { a href=(format!("#{}", section.id)) { (section.title) } } }
        } }
        main #content {
            (short_answer(report))
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
fn short_answer(report: &RunReport) -> Markup {
    html! {
        section #answer aria-label="Answer" {
            @for finding in answer::in_sentences(report) { (verdict_box(finding)) }
            @let facts = answer::short_answer(report);
            @if !facts.is_empty() {
                ul .facts { @for fact in facts { li { (fact) } } }
            }
        }
    }
}

pub(super) fn verdict_box(finding: &Finding) -> Markup {
    let verdict = &finding.verdict;
    let point = Point { estimate: verdict.estimate, interval: verdict.interval };
    html! {
        div class={ "verdict " (Tone::of(verdict.outcome).class()) } {
            h2 { (wording::outcome(verdict.outcome)) }
            p .answer { (answer::answer(verdict)) }
            p { (answer::reason(verdict)) " " span .soft { "(" (verdict.title()) @if let Some(expected) = &verdict.expected { ", expected: " (expected.replace('_', " ")) } ": " (wording::standing(verdict.standing())) ")" } }
            @if answer::is_ratio(verdict) && point.estimate.is_some() {
                (strip(&Scale::new(&[point], limits(finding)), point, true))
            }
        }
    }
}

/// Where "as good" ends for a finding; empty where that is not known.
fn limits(finding: &Finding) -> Vec<f64> {
    finding.details.as_ref().map_or_else(Vec::new, |details| claims::limits(&finding.verdict, details))
}

fn remedies(report: &RunReport) -> Option<Section> {
    if report.remedies.is_empty() {
        return None;
    }
    let recovery = report.verdicts.iter().find(|it| matches!(it.details, Some(Details::Recovery(_))));
    let after = recovery.map(|it| Point { estimate: it.verdict.estimate, interval: it.verdict.interval });
    let rungs: Vec<Point> =
        report.remedies.iter().map(|r| Point { estimate: r.estimate, interval: r.interval }).collect();
    let all: Vec<Point> = rungs.iter().copied().chain(after).collect();
    let limits = recovery.map_or_else(Vec::new, limits);
    let margin = !limits.is_empty();
    let scale = Scale::new(&all, limits);
    let line = |what: &str, point: Point, outcome: &str, reason: &str| {
        html! {
            tr {
                th scope="row" { (what) }
                td .bar style="width:45%" { (strip(&scale, point, false)) }
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

fn why(report: &RunReport, linked: bool) -> Option<Section> {
    let content = || causes(&report.causes, linked);
    (!report.causes.is_empty()).then(|| Section { id: "why", title: "Why", content: content() })
}

/// Causes with their evidence and remedies.
pub(super) fn causes(causes: &[Cause], linked: bool) -> Markup {
    html! {
        ol .causes {
            @for cause in causes {
                li value=(cause.rank) {
                    h3 { (cause.headline()) }
                    p .soft {
                        (cause_id(cause.id, linked))
                        ", " (figure((cause.confidence * 100.0).round())) " % sure"
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
    }
}

/// The id of a cause, which leads to its page where there is one.
pub(super) fn cause_id(cause: CauseId, linked: bool) -> Markup {
    html! {
        @if linked { a href={ (places::CAUSES) (cause.id()) } { code .cause { (cause.id()) } } }
        @else { code .cause { (cause.id()) } }
    }
}

fn rates(report: &RunReport, cells: &[CellRows], records: &[TrialRecord]) -> Option<Section> {
    let metric = summary::rate_metric(report);
    let charts = cells
        .iter()
        .enumerate()
        .filter_map(|(i, cell)| rate::chart(format!("rate-{}", i + 1), cell, metric, records));
    figures("rate", "Rate", charts)
}

/// Results of loads that go up and down in steps.
fn up_and_down(report: &RunReport) -> Option<Section> {
    let all = crate::steps::all(report);
    let charts = (1..).zip(&all).flat_map(|(n, stepped)| steps::charts(n, stepped));
    with_tables("steps", "Up and down the load", charts, findings::steps(report))
}

fn latencies(cells: &[CellRows], records: &[TrialRecord]) -> Option<Section> {
    let charts = (1..).zip(cells).flat_map(|(n, cell)| {
        let percentiles = latency::chart(format!("latency-{n}"), cell);
        let times = histogram::chart(format!("times-{n}"), &cell.cell, records);
        percentiles.into_iter().chain(times)
    });
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
    findings: impl IntoIterator<Item = TextSection>,
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
    let metric = summary::rate_metric(report);
    // The margin of a claim on another figure is no margin of the rate.
    let mut on_rate = report.verdicts.iter().filter(|finding| finding.verdict.metric == metric.name());
    let recovery = on_rate.find_map(|finding| match finding.details.as_ref()? {
        Details::Recovery(details) => {
            Some(load::Baseline { phase: &details.baseline, margin: details.margin })
        }
        _ => None,
    });
    let load = load::chart(&drawn, metric, recovery.as_ref());
    let heat = heat::chart(&drawn);
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
                @if let Some(chart) = &heat { (chart.markup()) }
                @match &cpu {
                    Some(chart) => (chart.markup()),
                    None => p { "CPU time was not seen: no host sampled " code { "machine.stat.cpu" } "." },
                }
            }
        },
    })
}

/// Counters of the hosts' kernels, one at a time; without scripts all of them in a table.
fn of_hosts(records: &[TrialRecord]) -> Option<Section> {
    const COLUMNS: [(&str, bool); 6] = [
        ("host", false),
        ("counter", false),
        ("", false),
        ("least", true),
        ("median", true),
        ("greatest", true),
    ];
    let trials: Vec<&TrialRecord> = records.iter().collect();
    let seen = counters::seen(&trials);
    let chart = counters::chart(&seen, &trials)?;
    let numbered: Vec<_> = (1..).zip(&seen).collect();
    let rows = seen.iter().map(|counter| {
        let values = counter.sorted();
        let figures = [values.first().copied(), median(&values), values.last().copied()];
        html! {
            tr {
                td { (counter.host) }
                td { (counter.name) }
                td { (counter.unit()) }
                @for value in figures { td .num { (value.map_or_else(String::new, figure)) } }
            }
        }
    });
    Some(Section {
        id: "counters-of-hosts",
        title: "Counters",
        content: html! {
            label .pick {
                "Counter "
                select .picker id=(COUNTER_PICKER) autocomplete="off" {
                    @for of_host in numbered.chunk_by(|a, b| a.1.host == b.1.host) {
                        optgroup label=(of_host[0].1.host) {
                            @for (n, counter) in of_host { option value=(n) { (counter.host) ": " (counter.name) } }
                        }
                    }
                }
            }
            (chart.markup())
            details {
                summary { "All " (seen.len()) " counters in figures" }
                (page::table("Counters", "", &html! { (page::head(&COLUMNS)) tbody { @for row in rows { (row) } } }))
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
    let found = report.profile.as_ref().filter(|found| found.hertz > 0)?;
    let (_, before, after) = answer::evidence_sides(report);
    let drawn = drawn.filter(|_| found.tells());
    let several = report.profiles.iter().map(|compared| {
        html! {
            h3 { (cpu_profile::heading(compared)) }
            (grown(&compared.profile, (before, after)))
            p .soft { (cpu_profile::made(&compared.profile)) }
        }
    });
    Some(Section {
        id: "profile",
        title: "CPU time",
        content: html! {
            @if report.profiles.is_empty() { (grown(found, (before, after))) }
            @for compared in several { (compared) }
            @if let Some(drawn) = drawn { (stacks::chart(found, drawn).markup()) }
            @if report.profiles.is_empty() || drawn.is_some() { p .soft { (cpu_profile::made(found)) } }
        },
    })
}

/// Added CPU time, in sentences and as a table of functions.
pub(super) fn grown(found: &ProfileReport, (before, after): (&'static str, &'static str)) -> Markup {
    let columns = cpu_profile::columns(before, after);
    let titles: Vec<(&str, bool)> =
        (0..).zip(columns).map(|(n, title)| (title, (2..5).contains(&n))).collect();
    html! {
        @for sentence in cpu_profile::sentences(found, (before, after)) { p { (sentence) } }
        @if !found.functions.is_empty() {
            (page::table(cpu_profile::HEADING, "", &html! {
                (page::head(&titles))
                tbody {
                    @for function in &found.functions {
                        tr { @for (n, cell) in cpu_profile::cells(function).iter().enumerate() {
                            td .num[(2..5).contains(&n)] { (cell) }
                        } }
                    }
                }
            }))
        }
    }
}

fn evidence(report: &RunReport) -> Option<Section> {
    (!report.evidence.is_empty()).then(|| Section {
        id: "evidence",
        title: "What changed",
        content: html! {
            p { (answer::evidence_sides(report).0) ", the strongest first." }
            (bars::table(&report.evidence, answer::evidence_sides(report)))
        },
    })
}
