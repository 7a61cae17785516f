//! Levels of factors on one axis: what was measured in each cell, with a line for each choice of levels of the other factors. Lines that are not parallel
//! are factors that act on each other (Cox 1984, *Interaction*, International Statistical Review 52).

use plotly::common::{DashType, HoverInfo, Line, Marker, MarkerSymbol, Mode};
use plotly::layout::{AxisType, RangeMode};
use plotly::{Scatter, Trace};

use crate::chart::thinned::thinned;
use crate::chart::{Drawing, Figure, LOOKS, Plot, axis, drawn, hovered, layout, reach, shortened, whiskers};
use crate::escape::chart as safe;
use crate::number::{figure, median, sorted};

const HEIGHT: usize = 380;
/// The longest name of a level, in characters.
const LABEL_LENGTH: usize = 18;
/// Longest name of a line.
const NAME_LENGTH: usize = 40;
/// How far the values stand beside the middle of their level, for all lines together.
const ASIDE: f64 = 0.3;
/// Values of one cell on one rig.
pub(crate) struct Group {
    /// The level on the axis.
    pub(crate) level: String,
    /// Level of the line; empty where there is but one.
    pub(crate) line: String,
    /// One value for each trial.
    pub(crate) values: Vec<f64>,
}

/// Texts of a chart of levels beside its groups.
pub(crate) struct About {
    pub(crate) id: String,
    pub(crate) title: String,
    pub(crate) caption: String,
    /// The factor on the axis.
    pub(crate) factor: String,
    /// Metric of the values.
    pub(crate) metric: String,
    /// Whether the scale is logarithmic, on which factors that multiply give parallel lines.
    pub(crate) logarithmic: bool,
    /// A level and a line to mark, with the remark about them.
    pub(crate) odd: Option<(String, String, String)>,
}

/// The chart; `None` if no two levels have values.
pub(crate) fn chart(about: About, groups: &[Group]) -> Option<Figure> {
    let names = |of: fn(&Group) -> &String| {
        let mut all: Vec<&str> = Vec::new();
        for group in groups.iter().filter(|group| !group.values.is_empty()) {
            let name = of(group).as_str();
            if !all.contains(&name) {
                all.push(name);
            }
        }
        all
    };
    let (levels, lines) = (names(|group| &group.level), names(|group| &group.line));
    if levels.len() < 2 {
        return None;
    }
    let mut traces: Vec<Box<dyn Trace>> = Vec::new();
    for (n, line) in lines.iter().enumerate() {
        let aside = if lines.len() < 2 { 0.0 } else { ASIDE * (n as f64 / (lines.len() - 1) as f64 - 0.5) };
        let of_line = |level: &str| groups.iter().find(|it| it.level == level && it.line == *line);
        let points: Vec<(f64, &Group)> = (0..)
            .zip(&levels)
            .filter_map(|(place, level)| {
                Some((f64::from(place) + aside, of_line(level).filter(|it| !it.values.is_empty())?))
            })
            .collect();
        traces.extend(drawn_line(&points, &LOOKS[n % LOOKS.len()], line));
    }
    traces.extend(about.odd.as_ref().and_then(|odd| mark(odd, groups, &levels, &lines)));
    let description = description(&about, groups);
    let labels: Vec<String> = levels.iter().map(|level| safe(&shortened(level, LABEL_LENGTH))).collect();
    let x_axis = axis(&about.factor)
        .range(vec![-0.5, levels.len() as f64 - 0.5])
        .tick_values((0..levels.len()).map(|place| place as f64).collect())
        .tick_text(labels)
        .show_grid(false)
        .zero_line(false);
    let layout = layout(HEIGHT).show_legend(lines.len() > 1 || about.odd.is_some()).x_axis(x_axis).y_axis(
        if about.logarithmic {
            axis(&about.metric).type_(AxisType::Log)
        } else {
            axis(&about.metric).range_mode(RangeMode::ToZero)
        },
    );
    Some(Figure {
        id: about.id,
        title: about.title,
        description,
        caption: about.caption,
        drawing: Drawing::One(Plot::new(traces, layout)),
    })
}

/// A line through the medians, and each trial beside it.
fn drawn_line(
    points: &[(f64, &Group)],
    (color, dash, symbol): &(&'static str, DashType, MarkerSymbol),
    line: &str,
) -> [Box<dyn Trace>; 2] {
    let name = if line.is_empty() { "median" } else { line };
    let middle = |group: &Group| median(&sorted(group.values.iter().copied())).unwrap_or(f64::NAN);
    let text = |group: &Group| format!("{}<br>{}: {}", safe(&group.level), safe(name), figure(middle(group)));
    let reached: Vec<_> =
        points.iter().map(|(_, group)| reach(middle(group), &sorted(group.values.iter().copied()))).collect();
    let medians = hovered(points.iter().map(|(x, group)| (drawn(*x), middle(group), text(group))))
        .name(safe(&shortened(name, NAME_LENGTH)))
        .legend_group(line)
        .mode(Mode::LinesMarkers)
        .line(Line::new().color(*color).width(2.0).dash(dash.clone()))
        .marker(Marker::new().color(*color).symbol(symbol.clone()).size(10))
        .error_y(whiskers(&reached, color));
    let each = points.iter().flat_map(|(x, group)| group.values.iter().map(|value| [*x, *value]));
    let (xs, ys): (Vec<f64>, Vec<f64>) =
        thinned(each.collect()).into_iter().map(|[x, y]| (drawn(x), drawn(y))).unzip();
    let trials = Scatter::new(xs, ys)
        .legend_group(line)
        .show_legend(false)
        .mode(Mode::Markers)
        .marker(Marker::new().color(*color).symbol(symbol.clone()).size(5).opacity(0.5))
        .hover_info(HoverInfo::Y);
    [medians, trials]
}

fn mark(
    (level, line, what): &(String, String, String),
    groups: &[Group],
    levels: &[&str],
    lines: &[&str],
) -> Option<Box<dyn Trace>> {
    let group = groups.iter().find(|it| it.level == *level && it.line == *line)?;
    let (place, n) = (levels.iter().position(|it| it == level)?, lines.iter().position(|it| it == line)?);
    let aside = if lines.len() < 2 { 0.0 } else { ASIDE * (n as f64 / (lines.len() - 1) as f64 - 0.5) };
    let at = median(&sorted(group.values.iter().copied()))?;
    let ring = Marker::new().color("var(--ink)").symbol(MarkerSymbol::CircleOpen).size(22);
    Some(
        Scatter::new(vec![place as f64 + aside], vec![drawn(at)])
            .name(safe(what))
            .mode(Mode::Markers)
            .marker(ring.line(Line::new().width(2.0)))
            .hover_info(HoverInfo::Name),
    )
}

fn description(about: &About, groups: &[Group]) -> String {
    let mut text = format!("{} by {}.", about.metric, about.factor);
    for group in groups.iter().filter(|group| !group.values.is_empty()) {
        let middle = median(&sorted(group.values.iter().copied())).unwrap_or(f64::NAN);
        let line = if group.line.is_empty() { String::new() } else { format!(", {}", group.line) };
        text.push_str(&format!(" {}{line}: {}.", group.level, figure(middle)));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(level: &str, line: &str, values: &[f64]) -> Group {
        Group { level: level.into(), line: line.into(), values: values.to_vec() }
    }

    fn about() -> About {
        About {
            id: "levels-1".into(),
            title: "By level".into(),
            caption: String::new(),
            factor: "kernel".into(),
            metric: "requests per second".into(),
            logarithmic: false,
            odd: Some(("6.12".into(), "on".into(), "odd".into())),
        }
    }

    #[test]
    fn a_line_joins_the_medians_of_its_levels_and_the_odd_cell_is_marked() {
        let groups = [
            group("6.1", "off", &[1.0, 3.0, 2.0]),
            group("6.12", "off", &[4.0]),
            group("6.1", "on", &[2.0, 2.0]),
            group("6.12", "on", &[9.0]),
        ];
        let Drawing::One(plot) = chart(about(), &groups).unwrap().drawing else { panic!("one drawing") };
        let json = plot.json();
        let traces = json["data"].as_array().unwrap();
        assert_eq!(traces.len(), 5, "two lines, their trials, a mark");
        assert_eq!(traces[0]["y"], serde_json::json!([2.0, 4.0]));
        assert_eq!(traces[0]["error_y"]["array"], serde_json::json!([1.0, 0.0]), "to the greatest of three");
        assert_eq!(traces[1]["y"], serde_json::json!([1.0, 3.0, 2.0, 4.0]));
        assert_eq!(traces[4]["y"], serde_json::json!([9.0]));
        assert_eq!(traces[4]["x"][0], traces[2]["x"][1], "where its line is");
    }

    #[test]
    fn one_level_is_nothing_to_compare() {
        assert!(chart(about(), &[group("6.1", "", &[1.0]), group("6.12", "", &[])]).is_none());
    }
}
