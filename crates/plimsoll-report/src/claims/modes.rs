//! Where measurements gather: how often each figure came, and in which order.

use plimsoll_model::experiment::claim::modes::{ModesClaim, ModesDetails};
use plotly::common::{HoverInfo, Line, Marker, MarkerSymbol, Mode};
use plotly::layout::RangeMode;
use plotly::{Bar, Scatter, Trace};

use super::{Judged, Shown};
use crate::chart::thinned::{caption, markers};
use crate::chart::{CONTROL, Drawing, Figure, Plot, SOFT, TREATMENT, axis, drawn, layout};
use crate::number::{count, figure, percent};
use crate::section::{Row, Section, Table, left, right};
use crate::wording;

impl Shown for ModesClaim {
    type Details = ModesDetails;
    const TITLE: &'static str = "Modes";

    fn section(found: &Judged<'_, Self::Details>) -> Option<Section> {
        let facts = found.details;
        let section = Section::new(wording::titled(&format!("Modes, {}", facts.phase), &facts.cell));
        Some(charts(found.number, facts).into_iter().fold(section, Section::chart))
    }

    fn basis(found: &[Judged<'_, Self::Details>]) -> Option<Table> {
        let columns =
            [left("phase"), left("cell"), right("mode at"), right("share %"), right("measurements")];
        let rows = found.iter().flat_map(|found| {
            let facts = found.details;
            facts.modes.iter().map(|mode| {
                Row::of([
                    facts.phase.clone(),
                    wording::cell_title(&facts.cell),
                    figure(mode.center),
                    percent(mode.weight),
                    count((mode.weight * facts.values.len() as f64).round() as u64),
                ])
            })
        });
        Section::new("").table(columns, rows).first_table()
    }
}

const HEIGHT: usize = 320;
/// The fewest and the most bars.
const BARS: (usize, usize) = (8, 40);

const HISTOGRAM: &str = "How many measurements gave each figure. Bars are as wide as the rule of Freedman and Diaconis says. Dashed: the modes.";
const ORDER: &str = "Each measurement at its place in the order of carrying out; squares are those beside a background load. A mode that stays for \
a while has another cause than one that takes turns.";

/// The two charts of one claim in one cell.
pub(crate) fn charts(number: usize, facts: &ModesDetails) -> Vec<Figure> {
    if facts.values.is_empty() {
        return Vec::new();
    }
    let titled = |what: &str| wording::titled(&format!("{what}, {}", facts.phase), &facts.cell);
    let (bars, highest) = bars(facts);
    let figure = |id: &str, what: &str, caption: String, traces, layout| Figure {
        id: format!("{id}-{number}"),
        title: titled(what),
        description: description(facts),
        caption,
        drawing: Drawing::One(Plot::new(traces, layout)),
    };
    let metric = wording::metric(&facts.metric);
    let count = layout(HEIGHT)
        .x_axis(axis(&metric))
        .y_axis(axis("measurements").range_mode(RangeMode::ToZero))
        .bar_gap(0.05);
    let order =
        layout(HEIGHT).x_axis(axis("measurement")).y_axis(axis(&metric).range_mode(RangeMode::ToZero));
    let (traces, most) = points(facts);
    let histogram = std::iter::once(bars).chain(places(facts, highest)).collect();
    vec![
        figure("modes-histogram", "How often each figure came", HISTOGRAM.into(), histogram, count),
        figure("modes-order", "In the order of measuring", caption(ORDER, most), traces, order),
    ]
}

/// The histogram, and its highest bar.
fn bars(facts: &ModesDetails) -> (Box<dyn Trace>, f64) {
    let sorted = crate::number::sorted(facts.values.iter().copied());
    let (least, most) = (sorted[0], sorted[sorted.len() - 1]);
    let quartile = |share: f64| sorted[((sorted.len() - 1) as f64 * share).round() as usize];
    let width = 2.0 * (quartile(0.75) - quartile(0.25)) / (sorted.len() as f64).cbrt();
    let number = if width > 0.0 { ((most - least) / width).ceil() as usize } else { 1 };
    let number = number.clamp(BARS.0, BARS.1);
    let step = ((most - least) / number as f64).max(f64::MIN_POSITIVE);
    let mut counts = vec![0_u32; number];
    for value in &sorted {
        counts[(((value - least) / step) as usize).min(number - 1)] += 1;
    }
    let middle = |n: usize| drawn(least + (n as f64 + 0.5) * step);
    let highest = counts.iter().copied().max().unwrap_or(0);
    let text = counts.iter().enumerate().map(|(n, count)| format!("{count} at about {}", figure(middle(n))));
    let trace = Bar::new((0..number).map(middle).collect(), counts.clone())
        .name("measurements")
        .marker(Marker::new().color(CONTROL))
        .hover_text_array(text.collect())
        .hover_info(HoverInfo::Text);
    (trace, f64::from(highest))
}

/// A line at each mode.
fn places(facts: &ModesDetails, highest: f64) -> Vec<Box<dyn Trace>> {
    let line = |(center, weight): (f64, f64)| -> Box<dyn Trace> {
        Scatter::new(vec![drawn(center); 2], vec![0.0, highest])
            .name(format!("{} ({:.0} %)", figure(center), weight * 100.0))
            .mode(Mode::Lines)
            .line(Line::new().color(SOFT).dash(plotly::common::DashType::Dash).width(2.0))
            .hover_info(HoverInfo::Name)
    };
    facts.modes.iter().map(|mode| line((mode.center, mode.weight))).collect()
}

/// Each measurement at its place, and how many the name with most of them has.
fn points(facts: &ModesDetails) -> (Vec<Box<dyn Trace>>, usize) {
    let beside = |n: usize| facts.background.values().any(|there| there.get(n).copied().unwrap_or(false));
    let of = |wanted: bool| -> Vec<[f64; 2]> {
        let numbered = facts.values.iter().enumerate().filter(|(n, _)| beside(*n) == wanted);
        numbered.map(|(n, value)| [(n + 1) as f64, *value]).collect()
    };
    let alone = if facts.background.is_empty() { "measurements" } else { "alone" };
    let names: Vec<&str> = facts.background.keys().map(String::as_str).collect();
    let with = format!("beside {}", names.join(", "));
    let sides = [
        (of(false), alone, CONTROL, MarkerSymbol::Circle),
        (of(true), &*with, TREATMENT, MarkerSymbol::Square),
    ];
    let most = sides.iter().map(|(of, ..)| of.len()).max().unwrap_or(0);
    let there = sides.into_iter().filter(|(of, ..)| !of.is_empty());
    let traces = there.map(|(of, name, color, symbol)| {
        markers(name, of, (color, symbol), |[n, value]| format!("{n}: {}, {name}", figure(value)))
    });
    (traces.collect(), most)
}

fn description(facts: &ModesDetails) -> String {
    let mut text = format!("{} measurements of {}.", facts.values.len(), wording::metric(&facts.metric));
    for mode in &facts.modes {
        text.push_str(&format!(" A mode at {} with {:.0} %.", figure(mode.center), mode.weight * 100.0));
    }
    text
}
