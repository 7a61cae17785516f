//! Searches for a limit: the probes of all trials of one cell, put together by the rate that was offered.

use plimsoll_model::report::{ProbeFinding, ProbeReport, SearchReport};
use plimsoll_model::verdict::{Interval, Verdict};

use crate::number::{figure, median, sorted};
use crate::wording;

/// Probes whose rates are no further apart than this stand together.
const TOGETHER: f64 = 1.05;

/// Probes at much the same rate.
#[derive(Debug)]
pub(crate) struct Band {
    least: f64,
    most: f64,
    pub(crate) held: u64,
    pub(crate) broken: u64,
    pub(crate) not_offered: u64,
    /// The share of requests that were answered in time, the median over probes.
    pub(crate) in_time: f64,
    /// In what time the wanted share was answered, the median over probes; absent where more than half had no such time.
    pub(crate) took_ms: Option<f64>,
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
    pub(crate) fn rates(&self) -> String {
        let (least, most) = (figure(self.least), figure(self.most));
        if least == most { least } else { format!("{least} to {most}") }
    }
}

/// The probes of a search by rising rate.
pub(crate) fn bands(search: &SearchReport) -> Vec<Band> {
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
pub(crate) fn title(search: &SearchReport) -> String {
    wording::titled(&format!("The search for the limit, {}", search.phase), &search.cell)
}

/// What its probes were asked.
pub(crate) fn how_to_read(search: &SearchReport) -> String {
    let percent = figure((search.share * 1e4).round() / 100.0);
    format!(
        "A probe held the bound where {percent} % of the requests that were due were answered within {} ms; `took` is the time within \
         which so many were.",
        figure(search.at_most_ms)
    )
}

/// What light load says of the limit, beside what the search says; nothing where nobody asked.
pub(crate) fn prediction(search: &SearchReport, verdict: Option<&Verdict>) -> Option<String> {
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
    let told = format!("Predicted from {from}: {}/s{around}.", figure(rate));
    let measured = verdict.and_then(|verdict| Some((verdict.estimate?, verdict.interval?)));
    let Some((found, interval)) = measured else { return Some(told) };
    let apart = predicted.interval.is_some_and(|own| own.lo() > interval.hi() || own.hi() < interval.lo());
    let verdict = if apart { "they disagree: something else than this queue decides" } else { "they agree" };
    Some(format!("{told} Measured: {}/s ({}); {verdict}.", figure(found), range(interval)))
}

#[cfg(test)]
mod tests {
    use plimsoll_model::report::PredictedLimit;
    use plimsoll_model::verdict::Outcome;

    use super::*;

    fn probe(rate: f64, finding: ProbeFinding) -> ProbeReport {
        let took_ms = (finding == ProbeFinding::Held).then_some(rate / 100.0);
        ProbeReport { trial: 1, offered_per_second: rate, in_time: 1.0, took_ms, finding }
    }

    #[test]
    fn probes_at_much_the_same_rate_stand_together_by_rising_rate() {
        let search = SearchReport {
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
        let mut search = SearchReport {
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
        let told = prediction(&search, Some(&limit(380.0, 420.0))).unwrap();
        assert!(
            told.contains("410/s (395 to 430)")
                && told.ends_with("Measured: 400/s (380 to 420); they agree."),
            "{told}"
        );
        assert!(prediction(&search, Some(&limit(300.0, 320.0))).unwrap().contains("they disagree"));
        assert!(prediction(&search, None).unwrap().ends_with("(395 to 430)."));
        search.predicted = search.predicted.map(|predicted| PredictedLimit { per_second: None, ..predicted });
        assert!(prediction(&search, None).unwrap().contains("even when idle"));
    }
}
