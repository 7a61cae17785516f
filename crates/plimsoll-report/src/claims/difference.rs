//! How two levels of a factor, or two cells, compare.

use plimsoll_model::experiment::claim::difference::{DifferenceClaim, DifferenceDetails, DifferenceSide};
use plimsoll_model::plan::cell_text;
use plimsoll_model::verdict::Verdict;

use plotly::Scatter;
use plotly::common::{HoverInfo, Line, Marker, Mode};
use plotly::layout::{Shape, ShapeLayer, ShapeLine, ShapeType};

use super::{Judged, Scale, Shown, is_share};
use crate::chart::{
    CONTROL, Drawing, Figure, Plot, SOFT, TREATMENT, axis, drawn, hovered, layout, shortened,
};
use crate::escape::chart as safe;
use crate::number::figure;
use crate::section::{Row, Section, columns};
use crate::wording;

const HEIGHT: usize = 380;
/// The longest name of a comparison, in characters.
const LABEL_LENGTH: usize = 18;
/// How far a column reaches to either side of its middle.
const ASIDE: f64 = 0.4;

impl Shown for DifferenceClaim {
    type Details = DifferenceDetails;
    const TITLE: &'static str = "Differences";

    fn scale(verdict: &Verdict) -> Scale {
        if is_share(verdict) { Scale::Points } else { Scale::Ratio }
    }

    fn found(verdict: &Verdict, metric: &str, value: &str) -> String {
        if is_share(verdict) {
            format!("{metric} of B less that of A: {value}")
        } else {
            format!("B came to {value} of A in {metric}")
        }
    }

    fn limits(_: &Verdict, details: &Self::Details) -> Vec<f64> {
        vec![1.0 / (1.0 + details.margin), 1.0 + details.margin]
    }

    fn sections(found: &[Judged<'_, Self::Details>]) -> Vec<Section> {
        let rows: Vec<Row> = found.iter().filter_map(row).collect();
        if rows.is_empty() {
            return Vec::new();
        }
        let columns = columns![
            left "phase", left "metric", left "A", right "value ± sd", right "change", right "value ± sd",
            left "B",
        ];
        let section = Section::new("Both sides, mean and standard deviation over trials");
        let charts = pair_charts(found);
        vec![charts.into_iter().fold(section, Section::chart).table(columns, rows)]
    }
}

/// A chart for each metric, in which every comparison has a column: its pairs as points, the interval of the verdict as a band.
fn pair_charts(found: &[Judged<'_, DifferenceDetails>]) -> Vec<Figure> {
    let mut metrics: Vec<&str> = Vec::new();
    for it in found.iter().filter(|it| !it.details.pairs.is_empty()) {
        if !metrics.contains(&it.verdict.metric.as_str()) {
            metrics.push(&it.verdict.metric);
        }
    }
    let of_metric = |(n, metric): (usize, &&str)| {
        let columns: Vec<_> = found.iter().filter(|it| it.verdict.metric == **metric).collect();
        pair_chart(n, metric, &columns)
    };
    (1..).zip(&metrics).map(of_metric).collect()
}

fn pair_chart(number: usize, metric: &str, columns: &[&Judged<'_, DifferenceDetails>]) -> Figure {
    let share = is_share(columns[0].verdict);
    let (same, title) = if share { (0.0, "B - A, points") } else { (1.0, "B/A") };
    let change = |[a, b]: [f64; 2]| {
        if share { Some(100.0 * (b - a)) } else { (a > 0.0).then(|| b / a) }
    };
    let scaled = |value: f64| if share { 100.0 * value } else { value };
    let metric = wording::metric(metric);
    let mut description = format!("{title} of {metric}, pair by pair.");
    let mut points: Vec<(f64, f64, String)> = Vec::new();
    let mut bands = Vec::new();
    let mut middles: (Vec<f64>, Vec<Option<f64>>) = Default::default();
    for (column, it) in columns.iter().enumerate() {
        let (middle, pairs) = (column as f64, &it.details.pairs);
        for (n, pair) in pairs.iter().enumerate() {
            let Some(y) = change(*pair) else { continue };
            let aside = (n as f64 + 0.5) / pairs.len() as f64 - 0.5;
            let text = format!("pair {}: A {}, B {}", n + 1, figure(pair[0]), figure(pair[1]));
            points.push((drawn(middle + 2.0 * ASIDE * aside), drawn(y), text));
        }
        let ends = [middle - ASIDE, middle + ASIDE];
        if let Some(interval) = it.verdict.interval {
            bands.push(band(ends, [interval.lo(), interval.hi()].map(scaled), TREATMENT, 0.22));
        }
        if let Some(estimate) = it.verdict.estimate.map(scaled) {
            middles.0.extend([ends[0], ends[1], ends[1]].map(drawn));
            middles.1.extend([Some(drawn(estimate)), Some(drawn(estimate)), None]);
            description.push_str(&format!(" {}: {}.", cell_text(&it.details.b), figure(estimate)));
        }
    }
    let end = columns.len() as f64 - 0.5;
    let margin = columns[0].details.margin;
    let zone = if share { [-100.0 * margin, 100.0 * margin] } else { [1.0 / (1.0 + margin), 1.0 + margin] };
    if columns.iter().all(|it| it.details.margin.total_cmp(&margin).is_eq()) {
        bands.insert(0, band([-0.5, end], zone, "var(--zone)", 1.0));
    }
    bands.insert(0, band([-0.5, end], [same; 2], SOFT, 1.0));
    let pairs =
        hovered(points).name("pairs").mode(Mode::Markers).marker(Marker::new().color(CONTROL).size(7));
    let estimates = Scatter::new(middles.0, middles.1)
        .name("estimate, with its interval as a band")
        .mode(Mode::Lines)
        .connect_gaps(false)
        .line(Line::new().color(TREATMENT).width(2.5))
        .hover_info(HoverInfo::Y);
    let several = columns.iter().any(|it| it.details.phase != columns[0].details.phase);
    let label = |it: &&Judged<'_, DifferenceDetails>| {
        let levels = it.details.b.values().map(String::as_str);
        let phase = several.then_some(it.details.phase.as_str());
        safe(&shortened(&phase.into_iter().chain(levels).collect::<Vec<_>>().join(", "), LABEL_LENGTH))
    };
    let x_axis = axis("")
        .range(vec![-0.5, end])
        .tick_values((0..columns.len()).map(|column| column as f64).collect())
        .tick_text(columns.iter().map(label).collect::<Vec<_>>())
        .show_grid(false)
        .zero_line(false);
    let layout = layout(HEIGHT)
        .show_legend(true)
        .shapes(bands)
        .x_axis(x_axis)
        .y_axis(axis(&format!("{title}, {metric}")).zero_line(false));
    Figure {
        id: format!("pairs-{number}"),
        title: format!("Each pair: {title} of {metric}"),
        description,
        caption: format!(
            "A is {}. Points are pairs of trials in the order of their blocks. Shaded zone: the margin within which B is as good as A.",
            cell_text(&columns[0].details.a)
        ),
        drawing: Drawing::One(Plot::new(vec![pairs, estimates], layout)),
    }
}

fn band([x0, x1]: [f64; 2], [y0, y1]: [f64; 2], color: &'static str, opacity: f64) -> Shape {
    Shape::new()
        .shape_type(ShapeType::Rect)
        .layer(ShapeLayer::Below)
        .x0(x0)
        .x1(x1)
        .y0(drawn(y0))
        .y1(drawn(y1))
        .fill_color(color)
        .opacity(opacity)
        .line(ShapeLine::new().width(if y0 < y1 { 0.0 } else { 1.0 }).color(color))
}

/// A comparison as lists of kernel developers have it: `value ± stddev  %change  value ± stddev`.
fn row(found: &Judged<'_, DifferenceDetails>) -> Option<Row> {
    let details = found.details;
    let [a, b] = details.sides?;
    let spread = |side: DifferenceSide| match side.mean {
        mean if mean > 0.0 => format!("{} ± {:.2} %", figure(mean), 100.0 * side.sd / mean),
        mean => format!("{} ± {}", figure(mean), figure(side.sd)),
    };
    let change = match a.mean {
        mean if mean > 0.0 && !is_share(found.verdict) => format!("{:+.2} %", 100.0 * (b.mean / mean - 1.0)),
        mean => Scale::Points.write(b.mean - mean),
    };
    let metric = found.verdict.metric.clone();
    Some(Row::of([
        details.phase.clone(),
        metric,
        cell_text(&details.a),
        spread(a),
        change,
        spread(b),
        cell_text(&details.b),
    ]))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use plimsoll_model::verdict::Outcome;

    use super::*;

    #[test]
    fn a_comparison_stands_in_one_row_with_the_spread_of_both_sides() {
        let kernel = |version: &str| BTreeMap::from([("kernel".to_owned(), version.to_owned())]);
        let sides = Some([DifferenceSide { mean: 200.0, sd: 1.0 }, DifferenceSide { mean: 150.0, sd: 3.0 }]);
        let details = DifferenceDetails {
            phase: "pipes".into(),
            a: kernel("6.1"),
            b: kernel("6.12"),
            margin: 0.01,
            sides,
            pairs: vec![[200.0, 150.0], [0.0, 1.0]],
        };
        let verdict = Verdict::bare("difference", "requests_per_second", Outcome::Slower, 6, String::new());
        let found = Judged { number: 1, verdict: &verdict, details: &details };
        let [chart] = &pair_charts(std::slice::from_ref(&found))[..] else { panic!("one metric, one chart") };
        let Drawing::One(plot) = &chart.drawing else { panic!("one drawing") };
        assert_eq!(plot.json()["data"][0]["y"], serde_json::json!([0.75]), "of 0 there is no ratio");
        let row = row(&found).expect("both sides have figures");
        let cells = row.cells.join(" | ");
        assert_eq!(
            cells,
            "pipes | requests_per_second | kernel = 6.1 | 200 ± 0.50 % | -25.00 % | 150 ± 2.00 % | kernel = 6.12"
        );
    }
}
