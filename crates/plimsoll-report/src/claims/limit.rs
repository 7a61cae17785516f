//! Searches for a limit: the probes of all trials of one cell, put together by the rate that was offered.

use plimsoll_model::experiment::claim::limit::{
    BoundExpect, LimitClaim, LimitDetails, ProbeFinding, ProbeReport, SearchDetails,
};
use plimsoll_model::verdict::{Expected, Interval, Verdict};
use plotly::Trace;
use plotly::common::{DashType, Marker, MarkerSymbol, Mode};
use plotly::layout::{AxisType, Shape, ShapeLine, ShapeType};

use super::{Judged, Shown};
use crate::chart::{CONTROL, Drawing, Figure, Plot, SOFT, TREATMENT, axis, band, drawn, hovered, layout};
use crate::number::{NONE, count, figure, median, percent, sorted};
use crate::section::{Row, Section, columns};
use crate::wording;

impl Shown for LimitClaim {
    type Details = LimitDetails;
    const TITLE: &'static str = "The search for the limit";

    fn found(verdict: &Verdict, metric: &str, value: &str) -> String {
        if is_bound(verdict) {
            format!("{metric}: {value}")
        } else {
            format!("the bound is held up to {value} {metric}")
        }
    }

    fn sections(found: &[Judged<'_, Self::Details>]) -> Vec<Section> {
        let searches = found.iter().filter_map(|found| match found.details {
            LimitDetails::Search(search) => Some((search, found.verdict)),
            LimitDetails::Bound(_) => None,
        });
        (1..).zip(searches).map(|(number, (search, verdict))| section(number, search, verdict)).collect()
    }
}

/// Whether a verdict is about a figure and its bound, and not about a search.
fn is_bound(verdict: &Verdict) -> bool {
    let expected = verdict.expected.as_deref();
    BoundExpect::ALL.iter().any(|expect| expected == Some(Expected::from(*expect).name))
}

/// The probes of a search, by the rate that was offered.
fn section(number: usize, search: &SearchDetails, verdict: &Verdict) -> Section {
    let columns = columns![
        right "offered/s", right "held", right "broken", right "not offered", right "in time %",
        right "took ms",
    ];
    let row = |band: Band| {
        Row::of([
            band.rates(),
            count(band.held),
            count(band.broken),
            count(band.not_offered),
            percent(band.in_time),
            band.took_ms.map_or_else(|| NONE.to_owned(), figure),
        ])
    };
    let section =
        chart(number, search, verdict).into_iter().fold(Section::new(title(search)), Section::chart);
    section
        .say(how_to_read(search))
        .say_all(prediction(search, Some(verdict)))
        .table(columns, bands(search).into_iter().map(row))
}

/// Probes whose rates are no further apart than this stand together.
const TOGETHER: f64 = 1.05;

/// Probes at much the same rate.
#[derive(Debug)]
struct Band {
    least: f64,
    most: f64,
    held: u64,
    broken: u64,
    not_offered: u64,
    /// The share of requests that were answered in time, the median over probes.
    in_time: f64,
    /// In what time the wanted share was answered, the median over probes; absent where more than half had no such time.
    took_ms: Option<f64>,
}

impl Band {
    fn new(probes: &[&ProbeReport]) -> Self {
        let number = |finding| probes.iter().filter(|probe| probe.finding == finding).count() as u64;
        let middle = |of: fn(&ProbeReport) -> f64| median(&sorted(probes.iter().map(|probe| of(probe))));
        // A probe without such a time comes after all that have one.
        let mut took: Vec<f64> = probes.iter().map(|probe| probe.took_ms.unwrap_or(f64::INFINITY)).collect();
        took.sort_by(f64::total_cmp);
        Self {
            least: probes.first().map_or(0.0, |probe| probe.offered_per_second),
            most: probes.last().map_or(0.0, |probe| probe.offered_per_second),
            held: number(ProbeFinding::Held),
            broken: number(ProbeFinding::Broken),
            not_offered: number(ProbeFinding::NotOffered),
            in_time: middle(|probe| probe.in_time).unwrap_or(f64::NAN),
            took_ms: median(&took).filter(|ms| ms.is_finite()),
        }
    }

    /// The rates, from the least to the most.
    fn rates(&self) -> String {
        let (least, most) = (figure(self.least), figure(self.most));
        if least == most { least } else { format!("{least} to {most}") }
    }
}

/// The probes of a search by rising rate.
fn bands(search: &SearchDetails) -> Vec<Band> {
    let mut probes: Vec<&ProbeReport> = search.probes.iter().collect();
    probes.sort_by(|a, b| a.offered_per_second.total_cmp(&b.offered_per_second));
    let mut bands = Vec::new();
    let mut rest = &probes[..];
    while let Some(first) = rest.first() {
        let end =
            rest.partition_point(|probe| probe.offered_per_second <= first.offered_per_second * TOGETHER);
        let (together, others) = rest.split_at(end.max(1));
        bands.push(Band::new(together));
        rest = others;
    }
    bands
}

/// A heading for a search.
fn title(search: &SearchDetails) -> String {
    wording::titled(&format!("The search for the limit, {}", search.phase), &search.cell)
}

/// Question of its probes.
fn how_to_read(search: &SearchDetails) -> String {
    let percent = figure((search.share * 1e4).round() / 100.0);
    format!(
        "A probe held the bound where {percent} % of the requests that were due were answered within {} ms; `took` is the time within \
         which that share was.",
        figure(search.at_most_ms)
    )
}

/// Prediction of the limit from light load, beside the result of the search; `None` if it was not requested.
fn prediction(search: &SearchDetails, verdict: Option<&Verdict>) -> Option<String> {
    let predicted = search.predicted.as_ref()?;
    let range = |interval: Interval| format!("{} to {}", figure(interval.lo()), figure(interval.hi()));
    let from = format!(
        "{} steps of `{}`, up to {}/s, at {} ms for a request",
        predicted.points,
        predicted.from,
        figure(predicted.highest_per_second),
        figure(predicted.service_ms)
    );
    let Some(rate) = predicted.per_second else {
        return Some(format!("Predicted from {from}: the bound breaks even when idle."));
    };
    let around = predicted.interval.map_or_else(String::new, |interval| format!(" ({})", range(interval)));
    let prediction = format!("Predicted from {from}: {}/s{around}.", figure(rate));
    let measured = verdict.and_then(|verdict| Some((verdict.estimate?, verdict.interval?)));
    let Some((found, interval)) = measured else { return Some(prediction) };
    let apart = predicted.interval.is_some_and(|own| own.lo() > interval.hi() || own.hi() < interval.lo());
    let verdict = if apart { "they disagree: something else than this queue decides" } else { "they agree" };
    Some(format!("{prediction} Measured: {}/s ({}); {verdict}.", figure(found), range(interval)))
}

const HEIGHT: usize = 400;

/// The chart; absent where no probe was made.
fn chart(number: usize, found: &SearchDetails, verdict: &Verdict) -> Option<Figure> {
    let slowest = found.probes.iter().filter_map(|probe| probe.took_ms).fold(found.at_most_ms, f64::max);
    // A request without an answer is drawn above all others.
    let ceiling = slowest * 2.0;
    let findings = [
        (ProbeFinding::Held, "held", CONTROL, MarkerSymbol::Circle),
        (ProbeFinding::Broken, "broken", TREATMENT, MarkerSymbol::X),
        (ProbeFinding::NotOffered, "not offered", SOFT, MarkerSymbol::CircleOpen),
    ];
    let traces: Vec<_> = findings
        .into_iter()
        .filter_map(|(finding, name, color, symbol)| {
            let probes: Vec<&ProbeReport> = found.probes.iter().filter(|p| p.finding == finding).collect();
            (!probes.is_empty()).then(|| points(&probes, name, color, symbol, ceiling))
        })
        .collect();
    let layout = layout(HEIGHT)
        .x_axis(axis("offered requests per second").type_(AxisType::Log))
        .y_axis(axis("time within which the share was answered, ms").type_(AxisType::Log))
        .shapes(marks(found, verdict));
    (!found.probes.is_empty()).then(|| Figure {
        id: format!("search-{number}"),
        title: title(found),
        description: description(found),
        caption: format!(
            "One point for each probe. {} Dashed line: the bound. Shaded: the interval of the limit. Probes at the upper edge had too \
             many failures to have such a time. Both scales are logarithmic. {}",
            how_to_read(found),
            prediction(found, Some(verdict)).unwrap_or_default()
        ),
        drawing: Drawing::One(Plot::new(traces, layout)),
    })
}

fn points(
    probes: &[&ProbeReport],
    name: &'static str,
    color: &'static str,
    symbol: MarkerSymbol,
    ceiling: f64,
) -> Box<dyn Trace> {
    let points = probes.iter().map(|probe| {
        let (offered, in_time) = (probe.offered_per_second, figure((probe.in_time * 1e3).round() / 10.0));
        let text = format!("trial {}: {}/s {name}, {in_time} % in time", probe.trial, figure(offered));
        (drawn(offered), probe.took_ms.unwrap_or(ceiling).max(1e-3), text)
    });
    hovered(points).name(name).mode(Mode::Markers).marker(Marker::new().color(color).symbol(symbol).size(9))
}

/// The bound, and the interval of the limit as far as it is closed.
fn marks(found: &SearchDetails, verdict: &Verdict) -> Vec<Shape> {
    let bound = Shape::new()
        .shape_type(ShapeType::Line)
        .x_ref("paper")
        .x0(0.0)
        .x1(1.0)
        .y0(found.at_most_ms)
        .y1(found.at_most_ms)
        .line(ShapeLine::new().color("var(--open)").width(1.5).dash(DashType::Dash));
    let rates = found.probes.iter().map(|probe| probe.offered_per_second);
    let (least, most) = rates.fold((f64::INFINITY, 0.0), |(lo, hi), rate| (rate.min(lo), rate.max(hi)));
    let interval = verdict.interval.map(|interval| {
        band("var(--grid)").x0(drawn(interval.lo().max(least))).x1(drawn(interval.hi().min(most)))
    });
    interval.into_iter().chain([bound]).collect()
}

fn description(found: &SearchDetails) -> String {
    let mut text = String::from("What probes at rising rates found.");
    for band in bands(found) {
        text.push_str(&format!(
            " At {} per second: {} held, {} broken.",
            band.rates(),
            band.held,
            band.broken
        ));
    }
    text
}

#[cfg(test)]
mod tests {
    use plimsoll_model::experiment::claim::limit::PredictedLimit;
    use plimsoll_model::verdict::Outcome;

    use super::*;

    fn probe(rate: f64, finding: ProbeFinding) -> ProbeReport {
        let took_ms = (finding == ProbeFinding::Held).then_some(rate / 100.0);
        ProbeReport { trial: 1, offered_per_second: rate, in_time: 1.0, took_ms, finding }
    }

    #[test]
    fn probes_at_much_the_same_rate_stand_together_by_rising_rate() {
        let search = SearchDetails {
            phase: "search".into(),
            cell: Default::default(),
            at_most_ms: 10.0,
            share: 0.95,
            probes: vec![
                probe(1000.0, ProbeFinding::Held),
                probe(200.0, ProbeFinding::Held),
                probe(1040.0, ProbeFinding::Broken),
                probe(1020.0, ProbeFinding::Broken),
                probe(5000.0, ProbeFinding::NotOffered),
            ],
            predicted: None,
        };
        let bands = bands(&search);
        let counts: Vec<_> = bands.iter().map(|b| (b.rates(), b.held, b.broken, b.not_offered)).collect();
        assert_eq!(
            counts,
            [
                ("200".to_owned(), 1, 0, 0),
                ("1,000 to 1,040".to_owned(), 1, 2, 0),
                ("5,000".to_owned(), 0, 0, 1)
            ]
        );
        assert_eq!((bands[0].took_ms, bands[1].took_ms), (Some(2.0), None));
    }

    #[test]
    fn what_was_predicted_stands_beside_what_was_measured() {
        let mut search = SearchDetails {
            phase: "search".into(),
            cell: Default::default(),
            at_most_ms: 20.0,
            share: 0.95,
            probes: Vec::new(),
            predicted: Some(PredictedLimit {
                from: "light".into(),
                points: 4,
                highest_per_second: 160.0,
                service_ms: 2.1,
                service_interval: Interval(2.0, 2.2),
                per_second: Some(410.0),
                interval: Some(Interval(395.0, 430.0)),
            }),
        };
        let limit = |lo: f64, hi: f64| Verdict {
            estimate: Some(f64::midpoint(lo, hi)),
            interval: Some(Interval(lo, hi)),
            ..Verdict::bare("limit", "requests_per_second", Outcome::Estimated, 3, "")
        };
        let sentence = prediction(&search, Some(&limit(380.0, 420.0))).unwrap();
        assert!(
            sentence.contains("410/s (395 to 430)")
                && sentence.ends_with("Measured: 400/s (380 to 420); they agree."),
            "{sentence}"
        );
        assert!(prediction(&search, Some(&limit(300.0, 320.0))).unwrap().contains("they disagree"));
        assert!(prediction(&search, None).unwrap().ends_with("(395 to 430)."));
        search.predicted = search.predicted.map(|predicted| PredictedLimit { per_second: None, ..predicted });
        assert!(prediction(&search, None).unwrap().contains("even when idle"));
    }
}
