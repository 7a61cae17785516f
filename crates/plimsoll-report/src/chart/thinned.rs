//! Of many points, those that a chart draws.

/// So many points of one name are drawn: a screen has room for no more, and a page of a hundred thousand would be megabytes.
const DRAWN: usize = 2000;

/// The points to draw, from the left to the right. Of more than are drawn the lowest and the highest of each stretch, so that nothing that stands out is lost.
pub(crate) fn thinned(mut points: Vec<[f64; 2]>) -> Vec<[f64; 2]> {
    if points.len() <= DRAWN {
        return points;
    }
    points.sort_by(|a, b| a[0].total_cmp(&b[0]));
    let mut kept = Vec::with_capacity(DRAWN);
    for stretch in points.chunks(points.len().div_ceil(DRAWN / 2)) {
        let places = 0..stretch.len();
        let lowest = places.clone().min_by(|a, b| stretch[*a][1].total_cmp(&stretch[*b][1]));
        let highest = places.max_by(|a, b| stretch[*a][1].total_cmp(&stretch[*b][1]));
        let (Some(lowest), Some(highest)) = (lowest, highest) else { continue };
        kept.push(stretch[lowest.min(highest)]);
        if stretch[lowest][1] < stretch[highest][1] {
            kept.push(stretch[lowest.max(highest)]);
        }
    }
    kept
}

/// What stands below a chart of so many points.
pub(crate) fn caption(text: &str, points: usize) -> String {
    if points <= DRAWN {
        return text.to_owned();
    }
    format!("{text} Of more than {DRAWN} values, the lowest and the highest of each stretch are drawn.")
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
        assert_eq!((drawn[0][0], drawn[DRAWN - 1][0] > 99_900.0), (0.0, true));
        assert_eq!(thinned(vec![[1.0, 2.0]; 3 * DRAWN]).len(), DRAWN / 2);
    }
}
