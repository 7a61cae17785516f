//! Evidence: which figures per connection moved from before to after, ranked by how far the two sets lie apart.
//!
//! The rank shift is `2·AUC − 1`, where AUC is the probability that a value after is greater than one before (the Mann-Whitney
//! statistic over the number of pairs; Hanley & McNeil, Radiology 143, 1982). It does not depend on the unit or on outliers, and a
//! counter that was zero and no longer is reaches 1 at once.

use plimsoll_model::report::Evidence;

/// How far apart two sets must lie to be reported: three quarters of all pairs on one side more than on the other.
const LEAST_SHIFT: f64 = 0.75;
/// How much the median must move, as a ratio.
const LEAST_RATIO: f64 = 1.25;

/// The values of one figure before and after, on the treatment and on its control.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figure {
    /// The host.
    pub host: String,
    /// What it is.
    pub metric: String,
    /// Its unit.
    pub unit: String,
    /// Whether it counts what others on the machine do as well. Among figures that lie equally far apart these come last.
    pub is_shared: bool,
    /// Values before, one per window.
    pub before: Vec<f64>,
    /// Values after, one per window.
    pub after: Vec<f64>,
    /// Values on the control before; empty if there is none.
    pub control_before: Vec<f64>,
    /// Values on the control after; empty if there is none.
    pub control_after: Vec<f64>,
}

/// The figures that moved, the strongest first. What moved as much on the control is the machine's doing and is left out.
pub fn rank(figures: &[Figure], most: usize) -> Vec<Evidence> {
    let mut moved: Vec<(f64, Evidence)> = figures
        .iter()
        .filter_map(|figure| judge(figure).map(|it| (strength(&it, figure.is_shared), it)))
        .collect();
    moved.sort_by(|(a, one), (b, other)| b.total_cmp(a).then_with(|| one.metric.cmp(&other.metric)));
    moved.into_iter().take(most).map(|(_, evidence)| evidence).collect()
}

fn judge(figure: &Figure) -> Option<Evidence> {
    let (before, after) = (median(&figure.before)?, median(&figure.after)?);
    let shift = shift(&figure.before, &figure.after);
    let control = median(&figure.control_before).zip(median(&figure.control_after));
    let control_ratio = control.filter(|(before, _)| *before != 0.0).map(|(before, after)| after / before);
    let moved = log_ratio(before, after);
    let of_control = control.map_or(0.0, |(before, after)| log_ratio(before, after));
    let is_sure = shift.abs() >= LEAST_SHIFT
        && (moved - of_control).abs() >= LEAST_RATIO.ln()
        && moved.abs() >= LEAST_RATIO.ln();
    is_sure.then(|| Evidence {
        host: figure.host.clone(),
        metric: figure.metric.clone(),
        before,
        after,
        unit: figure.unit.clone(),
        shift,
        control_ratio,
    })
}

/// First how far the sets lie apart, then whether others count too, then what grew before what fell, then by what ratio.
fn strength(evidence: &Evidence, is_shared: bool) -> f64 {
    let own = if is_shared { 0.0 } else { 20.0 };
    let grew = if evidence.shift > 0.0 { 10.0 } else { 0.0 };
    evidence.shift.abs() * 40.0 + own + grew + log_ratio(evidence.before, evidence.after).abs().min(9.0)
}

/// `ln(after/before)`; what comes from nothing, or goes to it, counts as a ratio of 1000.
fn log_ratio(before: f64, after: f64) -> f64 {
    match (before.abs(), after.abs()) {
        (0.0, 0.0) => 0.0,
        (0.0, _) => 1000_f64.ln(),
        (_, 0.0) => -(1000_f64.ln()),
        (before, after) => (after / before).ln(),
    }
}

/// `2·AUC − 1`: -1 where every value after is smaller than every one before, 1 where every one is greater. Ties count half.
pub fn shift(before: &[f64], after: &[f64]) -> f64 {
    let pairs = before.len() * after.len();
    if pairs == 0 {
        return 0.0;
    }
    let signs = before.iter().flat_map(|b| {
        after.iter().map(move |a| match a.total_cmp(b) {
            std::cmp::Ordering::Greater => 1.0,
            std::cmp::Ordering::Less => -1.0,
            std::cmp::Ordering::Equal => 0.0,
        })
    });
    signs.sum::<f64>() / pairs as f64
}

fn median(values: &[f64]) -> Option<f64> {
    let mut sorted: Vec<f64> = values.iter().copied().filter(|value| value.is_finite()).collect();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        n if n % 2 == 1 => Some(sorted[middle]),
        _ => Some(f64::midpoint(sorted[middle - 1], sorted[middle])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(metric: &str, before: &[f64], after: &[f64]) -> Figure {
        Figure { metric: metric.into(), before: before.into(), after: after.into(), ..Figure::default() }
    }

    #[test]
    fn the_shift_is_that_of_the_mann_whitney_statistic() {
        // U = 22 of 25 pairs for these two samples, so AUC = 0.88.
        let (before, after) = ([1.0, 4.0, 6.0, 8.0, 9.0], [5.0, 10.0, 12.0, 13.0, 14.0]);
        assert!((shift(&before, &after) - (2.0 * 22.0 / 25.0 - 1.0)).abs() < 1e-12);
        assert_eq!(shift(&before, &before), 0.0);
        assert_eq!(shift(&[], &after), 0.0);
    }

    #[test]
    fn what_came_from_nothing_ranks_above_what_merely_grew_and_noise_is_left_out() {
        let ranked = rank(
            &[
                figure("grew", &[10.0, 11.0, 12.0], &[20.0, 21.0, 22.0]),
                figure("noise", &[10.0, 20.0, 15.0], &[16.0, 12.0, 18.0]),
                figure("from nothing", &[0.0, 0.0, 0.0], &[1.0, 2.0, 1.0]),
                figure("hardly", &[100.0, 100.0, 100.0], &[101.0, 101.0, 101.0]),
                figure("not seen", &[], &[1.0]),
            ],
            10,
        );
        let metrics: Vec<&str> = ranked.iter().map(|evidence| evidence.metric.as_str()).collect();
        assert_eq!(metrics, ["from nothing", "grew"]);
    }

    #[test]
    fn what_others_count_in_comes_after_a_hosts_own_counters() {
        let writes = Figure { is_shared: true, ..figure("writes", &[0.0, 0.0], &[9.0, 9.0]) };
        let fell = figure("fell", &[50.0, 50.0], &[0.0, 0.0]);
        let resets = figure("resets", &[1.0, 1.0], &[2.0, 2.0]);
        let ranked: Vec<String> =
            rank(&[writes, fell, resets], 10).into_iter().map(|evidence| evidence.metric).collect();
        assert_eq!(ranked, ["resets", "fell", "writes"]);
    }

    #[test]
    fn what_moved_on_the_control_too_is_the_machines_doing() {
        let drifted = Figure {
            control_before: vec![10.0, 11.0, 12.0],
            control_after: vec![20.0, 21.0, 22.0],
            ..figure("drifted", &[10.0, 11.0, 12.0], &[20.0, 21.0, 22.0])
        };
        assert!(rank(&[drifted], 10).is_empty());
    }
}
