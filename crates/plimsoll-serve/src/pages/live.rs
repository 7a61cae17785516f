//! A run that goes on: its state now. A script adds later states; without it the page shows the state at the time of loading.

use maud::{Markup, html};
use plimsoll_model::observation::Arm;
use plimsoll_model::under_way::{CpusUnderWay, PhaseUnderWay, RigUnderWay, Stage, UnderWay};
use plimsoll_model::verdict::Verdict;
use plimsoll_report::html::served;
use plimsoll_report::tone::Tone;
use plimsoll_report::{figure, seconds};

use super::{PageError, Served, SiteSection, above};
use crate::link;
use crate::site::Site;

/// The size of a chart, in its own units.
const WIDTH: f64 = 240.0;
const HEIGHT: f64 = 48.0;
/// Shares of CPU time below this are not shown.
const LEAST_SHARE: f64 = 0.005;

pub(crate) fn page(site: &Site, id: &str) -> Result<Served, PageError> {
    let store = site.runs.open()?;
    let Some(now) = store.under_way_of(id) else {
        // It ended, or never was: its own page knows which.
        return Ok(Served::Elsewhere(link::run(id)));
    };
    let body = html! {
        main #content .list {
            h1 { (now.question) }
            p { "Run " code { (now.run) } " of " a href=(link::experiment(&now.experiment)) { (now.experiment) } ", under way." }
            p #live-note .soft role="status" { "As it was when this page was loaded." }
            div #live data-events=(link::events(&now.run)) { (state(&now)) }
        }
        script defer src="/assets/live.js" {}
    };
    let title = format!("{}: {} under way", now.experiment, now.run);
    Ok(served::page(&title, &above(SiteSection::Runs), &body, false).into())
}

/// The runs that go on, for the list of runs.
pub(super) fn list(all: &[UnderWay]) -> Markup {
    html! {
        @if !all.is_empty() {
            section .going aria-label="Under way" {
                h2 { "Under way" }
                ul .plain {
                    @for now in all {
                        li {
                            a href=(link::live(&now.run)) { (now.experiment) " " code { (now.run) } }
                            ": " (place(now)) ", " (seconds(now.elapsed_s.round())) " so far" (left(now))
                        }
                    }
                }
            }
        }
    }
}

/// The state of a run as a part of a page. It has nothing to focus with a keyboard: the focus would be lost when it is
/// replaced.
pub(crate) fn state(now: &UnderWay) -> Markup {
    html! {
        p .place { strong { (place(now)) } ", " (seconds(now.elapsed_s.round())) " so far" (left(now)) }
        div .sides {
            section {
                h2 { "Rate and latency" }
                @if now.rigs.is_empty() { p { "Nothing was measured yet." } }
                @else {
                    (chart("operations per second", &now.rigs, |rig| &rig.per_second))
                    (chart("99th percentile of latency, last 5 s, ms", &now.rigs, |rig| &rig.p99_ms))
                    (errors(&now.rigs))
                }
            }
            section {
                h2 { "Verdict so far" }
                @if let Some(so_far) = &now.so_far { p { (so_far) } }
                @if now.verdicts.is_empty() { p { "Nothing before the first trial is stored." } }
                @for verdict in &now.verdicts { (said(verdict)) }
            }
            section {
                h2 { "Phases" }
                ol .phases { @for phase in &now.phases { (step(phase)) } }
            }
            section {
                h2 { "CPU" }
                @if now.cpus.is_empty() { p { "Nothing was sampled yet." } }
                ul .plain { @for cpus in &now.cpus { (busy(cpus)) } }
                h2 { "What happened" }
                @if now.lines.is_empty() { p { "Nothing yet." } }
                ul .plain {
                    @for line in now.lines.iter().rev() {
                        li .wrong[line.matters] { (seconds(line.at_s.round())) ": " (line.text) }
                    }
                }
            }
        }
    }
}

fn place(now: &UnderWay) -> String {
    let (trial, of) = now.trial;
    let phase = now.phases.iter().find(|phase| phase.stage == Stage::Now);
    let phase = phase.map_or_else(|| "setting up".to_owned(), |phase| phase.name.clone());
    if trial == 0 {
        "Before the first trial".to_owned()
    } else {
        format!("Trial {trial} of at most {of}, {phase}")
    }
}

fn left(now: &UnderWay) -> String {
    match now.remaining_s {
        Some((least, most)) if most > least + 1.0 => {
            format!(", about {} left, at most {}", seconds(least.round()), seconds(most.round()))
        }
        Some((least, _)) => format!(", about {} left", seconds(least.round())),
        None => String::new(),
    }
}

/// Both rigs on one axis, which begins at 0; empty if neither has a value.
fn chart(title: &str, rigs: &[RigUnderWay], of: impl Fn(&RigUnderWay) -> &Vec<f64>) -> Markup {
    let all = || rigs.iter().flat_map(|rig| of(rig).iter().copied());
    let most = all().fold(0.0, f64::max);
    let longest = rigs.iter().map(|rig| of(rig).len()).max().unwrap_or_default();
    let points = |values: &[f64]| {
        let apart = WIDTH / (longest.max(2) - 1) as f64;
        let place = |(n, value): (usize, &f64)| {
            format!("{:.1},{:.1}", n as f64 * apart, HEIGHT - value / most.max(f64::MIN_POSITIVE) * HEIGHT)
        };
        values.iter().enumerate().map(place).collect::<Vec<_>>().join(" ")
    };
    let latest = rigs.iter().filter_map(|rig| Some((rig, of(rig).last()?)));
    let latest: Vec<_> = latest.map(|(rig, last)| format!("{} {}", rig.arm.name(), figure(*last))).collect();
    html! {
        @if longest > 0 {
            p .now { (title) ": "
                @for (n, rig) in rigs.iter().filter(|rig| !of(rig).is_empty()).enumerate() {
                    @if n > 0 { ", " }
                    span .control[rig.arm == Arm::Control] { span .key {} (rig.arm.name()) " " strong { (of(rig).last().map_or(String::new(), |last| figure(*last))) } }
                }
            }
            svg .course viewBox={ "0 -2 " (WIDTH) " " (HEIGHT + 4.0) } preserveAspectRatio="none" role="img" aria-label={ (title) ", from 0 to " (figure(most)) "; now " (latest.join(", ")) } {
                @for rig in rigs { polyline .control[rig.arm == Arm::Control] points=(points(of(rig))) {} }
            }
        }
    }
}

fn errors(rigs: &[RigUnderWay]) -> Markup {
    html! {
        @for rig in rigs.iter().filter(|rig| rig.errors > 0) {
            p .wrong { (figure(rig.errors as f64)) " operations of " (rig.arm.name()) " failed" }
        }
    }
}

fn said(verdict: &Verdict) -> Markup {
    html! {
        p {
            (verdict.title()) ", " (verdict.metric.replace('_', " ")) ": "
            span .outcome .(Tone::of(verdict.outcome).class()) { (verdict.outcome.name().replace('_', " ")) }
            @if let Some(estimate) = verdict.estimate { " " (figure(estimate)) }
            @if let Some(interval) = verdict.interval { " [" (figure(interval.lo())) ", " (figure(interval.hi())) "]" }
            ", n = " (verdict.n)
            br;
            span .soft { (verdict.reason) }
        }
    }
}

fn step(phase: &PhaseUnderWay) -> Markup {
    let (mark, class) = match phase.stage {
        Stage::Over => ("over", "over"),
        Stage::Now => ("now", "now"),
        Stage::Coming => ("to come", "coming"),
    };
    let usually = phase.usually_s.filter(|_| phase.stage != Stage::Over);
    html! {
        li .(class) aria-current=[(phase.stage == Stage::Now).then_some("step")] {
            (phase.name) ": " (mark)
            @if let Some(took) = phase.took_s { ", " (seconds(took.round())) }
            @if let Some(usually) = usually { ", usually " (seconds(usually.round())) }
        }
    }
}

fn busy(cpus: &CpusUnderWay) -> Markup {
    let mut kinds: Vec<_> =
        cpus.kinds.iter().filter(|(kind, share)| kind != "idle" && *share >= LEAST_SHARE).collect();
    kinds.sort_by(|a, b| b.1.total_cmp(&a.1));
    let kinds: Vec<String> =
        kinds.iter().map(|(kind, share)| format!("{kind} {:.0} %", 100.0 * share)).collect();
    let busy = cpus.busy.last().map_or(0.0, |busy| 100.0 * busy);
    html! { li { (cpus.host) ": " strong { (format!("{busy:.0} %")) } " (" (kinds.join(", ")) ")" } }
}
