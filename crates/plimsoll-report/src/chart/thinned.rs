//! Of many points, those that a chart draws.

use plotly::Trace;
use plotly::common::{Marker, MarkerSymbol, Mode};

use super::hovered;

/// The most points of one name that are drawn: a screen has room for no more, and a page of a hundred thousand would be
/// megabytes.
const DRAWN: usize = 2000;

/// The stretches that give their lowest and their highest point. The others are taken at even distances, so that a
/// chart looks like all of its values. With the lowest and highest alone, values that vary about one level look like
/// two levels.
const STRETCHES: usize = DRAWN / 8;

/// The points to draw, from the left to the right. Of more than are drawn, some at even distances, and the lowest and the highest of each stretch, so that
/// nothing that stands out is lost.
pub(crate) fn thinned(mut points: Vec<[f64; 2]>) -> Vec<[f64; 2]> {
    if points.len() <= DRAWN {
        return points;
    }
    points.sort_by(|a, b| a[0].total_cmp(&b[0]));
    let mut kept: Vec<usize> =
        (0..points.len()).step_by(points.len().div_ceil(DRAWN - 2 * STRETCHES)).collect();
    let length = points.len().div_ceil(STRETCHES);
    for from in (0..points.len()).step_by(length) {
        let places = from..points.len().min(from + length);
        let by_height = |a: &usize, b: &usize| points[*a][1].total_cmp(&points[*b][1]);
        kept.extend(places.clone().min_by(by_height));
        kept.extend(places.max_by(by_height));
    }
    kept.sort_unstable();
    kept.dedup();
    kept.into_iter().map(|at| points[at]).collect()
}

/// A trace of markers for the points, as many as are drawn. `hover` makes the text that a pointer shows.
pub(crate) fn markers(
    name: &str,
    points: Vec<[f64; 2]>,
    (color, symbol): (&'static str, MarkerSymbol),
    hover: impl Fn([f64; 2]) -> String,
) -> Box<dyn Trace> {
    let points = thinned(points);
    hovered(points.into_iter().map(|point| (point[0], point[1], hover(point))))
        .name(name)
        .mode(Mode::Markers)
        .marker(Marker::new().color(color).symbol(symbol).size(7))
}

/// The caption of a chart with `points` points.
pub(crate) fn caption(text: &str, points: usize) -> String {
    if points <= DRAWN {
        return text.to_owned();
    }
    format!(
        "{text} Of more than {DRAWN} values, some at even distances are drawn, and the lowest and the highest of each stretch."
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_points_those_that_stand_out_are_drawn_at_their_places() {
        let few: Vec<[f64; 2]> = (0..DRAWN).map(|x| [x as f64, (x % 7) as f64]).collect();
        assert_eq!(thinned(few.clone()), few);
        // From the right to the left, as a curve's points may come.
        let mut many: Vec<[f64; 2]> = (0..100_000).rev().map(|x| [f64::from(x), f64::from(x % 7)]).collect();
        many[45_678][1] = 1e6;
        many[45_679][1] = -1e6;
        let drawn = thinned(many);
        assert!(drawn.len() <= DRAWN, "{}", drawn.len());
        assert!(drawn.is_sorted_by(|a, b| a[0] < b[0]));
        assert!(drawn.contains(&[54_321.0, 1e6]) && drawn.contains(&[54_320.0, -1e6]));
        assert!(drawn[0][0] == 0.0 && drawn[drawn.len() - 1][0] > 99_900.0);
        assert!(thinned(vec![[1.0, 2.0]; 3 * DRAWN]).len() <= DRAWN);
    }

    #[test]
    fn what_is_drawn_lies_where_most_values_lie() {
        // Sums of four numbers that move evenly: most lie about the middle.
        let height =
            |x: u32| [2.0_f64, 3.0, 5.0, 7.0].iter().map(|n| f64::from(x) * n.sqrt() % 1.0).sum::<f64>();
        let all: Vec<[f64; 2]> = (0..100_000).map(|x| [f64::from(x), height(x)]).collect();
        let share = |of: &[[f64; 2]]| {
            let about_the_middle = of.iter().filter(|[_, y]| (1.0..3.0).contains(y)).count();
            about_the_middle as f64 / of.len() as f64
        };
        assert!(share(&all) > 0.85, "{}", share(&all));
        assert!(share(&thinned(all.clone())) > 0.6, "{}", share(&thinned(all)));
    }
}
