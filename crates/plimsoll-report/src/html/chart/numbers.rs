//! Numbers from anywhere: the chart that fits what was asked of them, and the same in a table.

use std::collections::BTreeMap;

use plimsoll_model::experiment::claim::modes::ModesDetails;
use plimsoll_model::numbers::{Curve, Level, Numbers, Side};
use plotly::common::{HoverInfo, Line, MarkerSymbol, Mode};
use plotly::layout::{Axis, AxisType};
use plotly::{Layout, Scatter, Trace};

use super::{CONTROL, Drawing, Figure, Plot, SOFT, TREATMENT, axis, drawn, layout};
use crate::chart::thinned::{caption, markers};
use crate::chart::{self, BEST_FIRST};
use crate::claims::modes_charts;
use crate::levels::{self, About, Group};
use crate::number::{count, figure, median, sorted};
use crate::section::{Row, Section, left, right};

const HEIGHT: usize = 400;
/// The rows of numbers that stand in a table.
const LISTED: usize = 500;

const SERIES: &str = "Each value at its place in the series. The line is the level between the changes that were found; without changes there is none.";
const SIDES: &str = "Each value, in the order of the input, one side after the other; the line is the side's median. Open: the control.";
const CURVE: &str = "Solid: what describes the points best.";
const FACTORS: &str = "Lines join the medians of the cells; points are the single values, whiskers 95 % intervals of the medians. Where the factors do not act on each other, the lines are parallel on this \
scale, which is logarithmic: factors that do not act on each other multiply.";

/// The charts of numbers of this name, and what they show in a table. The anchor of a chart ends in the number.
pub(in crate::html) fn section(number: usize, name: &str, metric: &str, numbers: &Numbers) -> Section {
    let section = Section::new(name);
    match numbers {
        Numbers::Gathered { values, modes } => {
            let details = ModesDetails {
                phase: name.to_owned(),
                metric: metric.to_owned(),
                values: values.clone(),
                modes: modes.clone(),
                cell: BTreeMap::new(),
                belongs_to: Vec::new(),
                order: None,
                background: BTreeMap::new(),
            };
            let section = modes_charts(number, &details).into_iter().fold(section, Section::chart);
            listed(section, values.iter().copied().map(Some))
        }
        Numbers::Series { values, levels } => {
            let section = section.chart(series(number, name, metric, values, levels));
            listed(section, values.iter().copied())
        }
        Numbers::Sides(sides) => of_sides(section.chart(side_by_side(number, name, metric, sides)), sides),
        Numbers::Curve(curve) => of_curve(section.chart(fitted(number, name, curve)), curve),
        Numbers::Factors { factors, rows } => {
            let chart = interaction(number, name, metric, factors, rows);
            of_cells(chart.into_iter().fold(section, Section::chart), factors, rows)
        }
    }
}

fn one(
    id: &str,
    number: usize,
    name: &str,
    (caption, description): (String, String),
    (traces, layout): (Vec<Box<dyn Trace>>, Layout),
) -> Figure {
    Figure {
        id: format!("{id}-{number}"),
        title: name.to_owned(),
        description,
        caption,
        drawing: Drawing::One(Plot::new(traces, layout)),
    }
}

/// A table of values, the first of them where there are many.
fn listed(section: Section, values: impl ExactSizeIterator<Item = Option<f64>>) -> Section {
    let number = values.len();
    let rows = values.take(LISTED).zip(1_u64..).map(|(value, place)| {
        Row::of([count(place), value.map_or_else(|| "missing".to_owned(), |value| value.to_string())])
    });
    of_many(section.table([right("place"), right("value")], rows), number)
}

fn of_many(section: Section, number: usize) -> Section {
    if number <= LISTED { section } else { section.say(format!("The first {LISTED} of {number}.")) }
}

fn points(name: &str, points: Vec<[f64; 2]>, look: (&'static str, MarkerSymbol)) -> Box<dyn Trace> {
    markers(name, points, look, |[_, y]| figure(y))
}

fn series(number: usize, name: &str, metric: &str, values: &[Option<f64>], levels: &[Level]) -> Figure {
    let there = values.iter().enumerate().filter_map(|(at, value)| Some([(at + 1) as f64, (*value)?]));
    let there: Vec<_> = there.collect();
    let caption = caption(SERIES, there.len());
    let measured = points("values", there, (CONTROL, MarkerSymbol::Circle));
    let ends = |level: &Level| [level.from as f64 + 0.5, level.to as f64 + 0.5];
    let steps = Scatter::new(
        levels.iter().flat_map(ends).collect(),
        levels.iter().flat_map(|level| [drawn(level.height); 2]).collect::<Vec<_>>(),
    )
    .name("levels")
    .mode(Mode::Lines)
    .line(Line::new().color(TREATMENT).width(2.0))
    .hover_info(HoverInfo::Skip);
    let mut traces = vec![measured];
    if !levels.is_empty() {
        traces.push(steps);
    }
    let mut description = format!("{} values of {metric} in their order.", values.len());
    for level in levels {
        let Level { from, to, height } = *level;
        description.push_str(&format!(" From {} to {to}: {}.", from + 1, figure(height)));
    }
    let layout = layout(HEIGHT).x_axis(axis("place in the series")).y_axis(axis(metric));
    one("series", number, name, (caption, description), (traces, layout))
}

fn side_by_side(number: usize, name: &str, metric: &str, sides: &[Side]) -> Figure {
    let mut traces: Vec<Box<dyn Trace>> = Vec::new();
    let mut description = format!("Values of {metric}.");
    let mut place = 0;
    for (at, side) in sides.iter().enumerate() {
        let color = if at == 0 || side.beside { CONTROL } else { TREATMENT };
        let symbol = if side.beside { MarkerSymbol::CircleOpen } else { MarkerSymbol::Circle };
        let from = place + 1;
        place += side.values.len();
        let values = (from..=place).zip(&side.values).map(|(x, y)| [x as f64, *y]).collect();
        traces.push(points(&side.name, values, (color, symbol)));
        let Some(middle) = median(&sorted(side.values.iter().copied())) else { continue };
        traces.push(
            Scatter::new(vec![from as f64 - 0.4, place as f64 + 0.4], vec![drawn(middle); 2])
                .name(format!("{}: median {}", side.name, figure(middle)))
                .mode(Mode::Lines)
                .line(Line::new().color(SOFT).width(2.0))
                .hover_info(HoverInfo::Name),
        );
        let n = side.values.len();
        description.push_str(&format!(" {}: {n} values, median {}.", side.name, figure(middle)));
    }
    let most = sides.iter().map(|side| side.values.len()).max().unwrap_or(0);
    let layout = layout(HEIGHT).x_axis(axis("measurement")).y_axis(axis(metric));
    one("sides", number, name, (caption(SIDES, most), description), (traces, layout))
}

fn of_sides(section: Section, sides: &[Side]) -> Section {
    let number = sides.iter().map(|side| side.values.len()).sum();
    let rows = sides.iter().flat_map(|side| side.values.iter().map(move |value| (side, *value)));
    let rows = rows.take(LISTED).map(|(side, value)| Row::of([side.name.clone(), value.to_string()]));
    of_many(section.table([left("side"), right("value")], rows), number)
}

fn scaled(title: &str, logarithmic: bool) -> Axis {
    if logarithmic { axis(title).type_(AxisType::Log) } else { axis(title) }
}

fn fitted(number: usize, name: &str, curve: &Curve) -> Figure {
    // Values of 0 and below have no place on a logarithmic scale.
    let is_shown = |point: &&[f64; 2]| (0..2).all(|axis| !curve.logarithmic[axis] || point[axis] > 0.0);
    let lines = curve.curves.iter().zip(BEST_FIRST).map(|((name, points), (color, dash))| {
        let shown = points.iter().filter(is_shown).map(|[x, y]| (*x, *y));
        let line: Box<dyn Trace> = chart::curve(name, shown, Line::new().color(color).width(1.5).dash(dash));
        line
    });
    let shown: Vec<[f64; 2]> = curve.points.iter().filter(is_shown).map(|[x, y]| [drawn(*x), *y]).collect();
    let caption = caption(CURVE, shown.len());
    let measured = points(curve.legend, shown, (TREATMENT, MarkerSymbol::Circle));
    let mut description = format!("{} over {}.", curve.y, curve.x);
    for [x, y] in curve.points.iter().take(LISTED) {
        description.push_str(&format!(" At {}: {}.", figure(*x), figure(*y)));
    }
    let [x, y] = curve.logarithmic;
    let layout = layout(HEIGHT).x_axis(scaled(&curve.x, x)).y_axis(scaled(&curve.y, y));
    one("curve", number, name, (caption, description), (lines.chain([measured]).collect(), layout))
}

fn of_curve(section: Section, curve: &Curve) -> Section {
    let section = section.say(format!("x: {}; y: {}.", curve.x, curve.y));
    let rows = curve.points.iter().take(LISTED).map(|[x, y]| Row::of([x.to_string(), y.to_string()]));
    of_many(section.table([right("x"), right("y")], rows), curve.points.len())
}

/// The levels of the first factor along the axis, a line for each choice of levels of the others.
fn interaction(
    number: usize,
    name: &str,
    metric: &str,
    factors: &[String],
    rows: &[(Vec<String>, f64)],
) -> Option<Figure> {
    let mut groups: Vec<Group> = Vec::new();
    for (row, value) in rows {
        let (level, others) = row.split_first()?;
        let line = others.join(", ");
        match groups.iter_mut().find(|group| group.level == *level && group.line == line) {
            Some(group) => group.values.push(*value),
            None => groups.push(Group { level: level.clone(), line, values: vec![*value] }),
        }
    }
    let about = About {
        id: format!("interaction-{number}"),
        title: name.to_owned(),
        caption: caption(FACTORS, rows.len()),
        factor: factors.first().cloned().unwrap_or_default(),
        metric: metric.to_owned(),
        logarithmic: rows.iter().all(|(_, value)| *value > 0.0),
        odd: None,
    };
    levels::chart(about, &groups)
}

fn of_cells(section: Section, factors: &[String], rows: &[(Vec<String>, f64)]) -> Section {
    let section = section.say(format!("Factors: {}.", factors.join(", ")));
    let shown = rows.iter().take(LISTED);
    let shown = shown.map(|(levels, value)| Row::of([levels.join(", "), value.to_string()]));
    of_many(section.table([left("levels"), right("value")], shown), rows.len())
}
