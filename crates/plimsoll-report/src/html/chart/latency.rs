//! Percentiles of request time by phase and cycle, treatment against control.

use plimsoll_model::observation::Percentiles;
use plotly::common::{HoverInfo, Line, Marker, MarkerSymbol, Mode};
use plotly::layout::AxisType;
use plotly::{Scatter, Trace};

use super::places::{ASIDE, Places, hover};
use super::{CONTROL, Drawing, Figure, Plot, TREATMENT, axis, drawn, hovered};
use crate::number::millis;
use crate::summary::{self, CellRows, Figures, Row};
use crate::wording;

const HEIGHT: usize = 400;

const CAPTION: &str = "Circle: half of the requests are faster (p50). Diamond: 90 % (p90). Square: 99 % (p99). Triangle: the \
slowest. The scale is logarithmic. Over several trials: the median of each percentile, and the slowest of all.";

/// A percentile: what to call it, its mark, and where it stands.
type Percentile = (&'static str, MarkerSymbol, fn(&Percentiles) -> u64);

fn percentiles() -> [Percentile; 4] {
    [
        ("p50", MarkerSymbol::Circle, |p| p.p50),
        ("p90", MarkerSymbol::Diamond, |p| p.p90),
        ("p99", MarkerSymbol::Square, |p| p.p99),
        ("slowest", MarkerSymbol::TriangleUpOpen, |p| p.max),
    ]
}

/// The chart of one cell; absent when no latency was measured, and of one phase, whose percentiles stand in a row of the table.
pub(in crate::html) fn chart(id: String, cell: &CellRows) -> Option<Figure> {
    let places = Places::new(&cell.rows);
    if places.rows.len() < 2 || !places.rows.iter().flat_map(|r| r.rigs()).any(|(_, f)| f.latency.is_some()) {
        return None;
    }
    let measured = summary::measured(cell.rows.iter().any(|row| row.control.is_some()));
    let mut traces = rig(&places, measured, TREATMENT, -ASIDE, |r| r.main.as_ref());
    traces.extend(rig(&places, summary::CONTROL, CONTROL, ASIDE, |r| r.control.as_ref()));
    let y_axis = axis("request time, ms").type_(AxisType::Log);
    Some(Figure {
        id,
        title: wording::titled("Request time by phase and cycle", &cell.cell),
        description: description(&places),
        caption: CAPTION.into(),
        drawing: Drawing::One(Plot::new(traces, places.layout(HEIGHT).y_axis(y_axis))),
    })
}

/// A line from p50 to the slowest at each place, and a mark for each percentile on it. Clicking the legend takes all away.
fn rig(
    places: &Places<'_>,
    name: &'static str,
    color: &'static str,
    aside: f64,
    figures: fn(&Row) -> Option<&Figures>,
) -> Vec<Box<dyn Trace>> {
    let points: Vec<_> =
        places.iter().filter_map(|(x, row)| Some((x + aside, row, figures(row)?.latency?))).collect();
    if points.is_empty() {
        return Vec::new();
    }
    let ms = |us: u64| drawn(us.max(1) as f64 / 1e3);
    let xs: Vec<_> = points.iter().flat_map(|(x, ..)| [Some(*x), Some(*x), None]).collect();
    let ys: Vec<_> =
        points.iter().flat_map(|(_, _, times)| [Some(ms(times.p50)), Some(ms(times.max)), None]).collect();
    let line: Box<dyn Trace> = Scatter::new(xs, ys)
        .name(name)
        .legend_group(name)
        .show_legend(false)
        .mode(Mode::Lines)
        .line(Line::new().color(color).width(1.5))
        .hover_info(HoverInfo::Skip);
    let marks = percentiles().into_iter().map(|(percentile, symbol, value)| {
        let text = |us: u64| format!("{percentile} {} ms", millis(us));
        let mark = |(x, row, us): (f64, &Row, u64)| (x, ms(us), hover(row, name, &text(us)));
        let of_percentile = points.iter().map(|(x, row, times)| mark((*x, row, value(times))));
        let marks: Box<dyn Trace> = hovered(of_percentile)
            .name(name)
            .legend_group(name)
            .show_legend(percentile == "p50")
            .mode(Mode::Markers)
            .marker(Marker::new().color(color).symbol(symbol).size(9));
        marks
    });
    std::iter::once(line).chain(marks).collect()
}

fn description(places: &Places<'_>) -> String {
    let mut text =
        String::from("Percentiles of request time on a logarithmic scale, for each measured phase.");
    for (_, row) in places.iter() {
        let rigs: Vec<String> = row
            .rigs()
            .map(|(rig, f)| {
                format!(
                    "{rig} p50 {} ms, p99 {} ms",
                    f.millis(|times| times.p50),
                    f.millis(|times| times.p99)
                )
            })
            .collect();
        text.push_str(&format!(" {}: {}.", summary::place(row), rigs.join("; ")));
    }
    text
}
