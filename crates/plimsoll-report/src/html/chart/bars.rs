//! How far each piece of evidence moved, as a bar beside its figures.

use maud::{Markup, html};
use plimsoll_model::report::Evidence;

use crate::html::page;
use crate::number::{figure, ratio, times};

/// How much evidence has a bar; the rest is in the JSON.
pub(in crate::html) const SHOWN: usize = 20;
/// Bars longer than this ratio are cut off.
const LONGEST: f64 = 1e4;

/// The table, the strongest evidence first. Bars are on a logarithmic scale that all share, from 1 (no change) outwards.
pub(in crate::html) fn table(
    evidence: &[Evidence],
    (heading, before, after): (&str, &'static str, &'static str),
) -> Markup {
    let divided = format!("{after}/{before}");
    let shown = &evidence[..evidence.len().min(SHOWN)];
    let finite = shown
        .iter()
        .map(|e| reach(e.before, e.after))
        .chain(shown.iter().filter_map(|e| e.control_ratio.map(f64::ln)));
    let reach = finite.filter(|r| r.is_finite()).map(f64::abs).fold(2.0_f64.ln(), f64::max) * 1.05;
    let titles = [("counter", false), (before, true), (after, true), ("unit", false), ("change", true)];
    let titles: Vec<_> = titles.into_iter().chain([(divided.as_str(), false), ("shift", true)]).collect();
    html! {
        p .soft {
            "Bars show " (divided) " on a logarithmic scale; hatched: there was nothing on one side. "
            "Diamonds: the same on the control. Shift: how far the two sets of values lie apart, from −1 to 1."
        }
        (page::table(heading, "bars", &html! {
            (page::head(&titles))
            tbody {
                @for e in shown {
                    tr {
                        th scope="row" { (e.metric) " " span .soft { "on " (e.host) } }
                        td .num { (figure(e.before)) }
                        td .num { (figure(e.after)) }
                        td { (e.unit) }
                        td .num { (times(e.before, e.after)) }
                        td .bar { (bar(e, reach)) }
                        td .num { (format!("{:+.2}", e.shift)) }
                    }
                }
            }
        }))
        @if let Some(more @ 1..) = evidence.len().checked_sub(SHOWN) {
            p .soft { (more) " more are in the JSON." }
        }
    }
}

/// The logarithm of after/before; endless where there was nothing on one side.
fn reach(before: f64, after: f64) -> f64 {
    match (before == 0.0, after == 0.0) {
        (true, true) => 0.0,
        (true, false) => f64::INFINITY,
        (false, true) => f64::NEG_INFINITY,
        (false, false) => (after / before).abs().ln(),
    }
}

fn bar(e: &Evidence, reach_of_all: f64) -> Markup {
    let scale = reach_of_all.min(LONGEST.ln());
    let place = |r: f64| (0.5 + (r / scale).clamp(-1.0, 1.0) / 2.0) * 100.0;
    let reached = reach(e.before, e.after);
    let (from, to) = (place(0.0).min(place(reached)), place(0.0).max(place(reached)));
    let control = e.control_ratio.filter(|r| r.is_finite() && *r > 0.0);
    let mut label = format!("{} after/before", times(e.before, e.after));
    if let Some(r) = control {
        label.push_str(&format!(", control ×{}", ratio(r)));
    }
    html! {
        div .track role="img" aria-label=(label) title=(label) {
            span .fill .endless[reached.is_infinite() || reached.abs() > scale] style=(format!("left:{from:.1}%;width:{:.1}%", to - from)) {}
            span .one style=(format!("left:{:.1}%", place(0.0))) {}
            @if let Some(r) = control { span .arm style=(format!("left:{:.1}%", place(r.ln()))) {} }
        }
    }
}
