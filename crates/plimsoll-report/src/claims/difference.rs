//! How two levels of a factor, or two cells, compare.

use plimsoll_model::experiment::claim::difference::{DifferenceClaim, DifferenceDetails, DifferenceSide};
use plimsoll_model::plan::cell_text;
use plimsoll_model::verdict::Verdict;

use super::{Found, Scale, Shown, is_share};
use crate::number::figure;
use crate::section::{Row, Section, left, right};

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

    fn sections(found: &[Found<'_, Self::Details>]) -> Vec<Section> {
        let rows: Vec<Row> = found.iter().filter_map(row).collect();
        if rows.is_empty() {
            return Vec::new();
        }
        let columns = [
            left("phase"),
            left("metric"),
            left("A"),
            right("value ± sd"),
            right("change"),
            right("value ± sd"),
            left("B"),
        ];
        vec![Section::new("Both sides, mean and standard deviation over trials").table(columns, rows)]
    }
}

/// A comparison as lists of kernel developers have it: `value ± stddev  %change  value ± stddev`.
fn row(found: &Found<'_, DifferenceDetails>) -> Option<Row> {
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
        };
        let verdict = Verdict::bare("difference", "requests_per_second", Outcome::Slower, 6, String::new());
        let found = Found { number: 1, verdict: &verdict, details: &details };
        let row = row(&found).expect("both sides have figures");
        let told = row.cells.join(" | ");
        assert_eq!(
            told,
            "pipes | requests_per_second | kernel = 6.1 | 200 ± 0.50 % | -25.00 % | 150 ± 2.00 % | kernel = 6.12"
        );
    }
}
