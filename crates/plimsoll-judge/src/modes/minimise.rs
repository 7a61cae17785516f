//! The least value of a function of a few variables (Nelder & Mead 1965, *A simplex method for function minimization*).

/// The simplex has settled when its corners differ by less than this.
const SETTLED: f64 = 1e-4;

/// The least value of `f` found from `start` in `rounds` rounds, with a first simplex of the width `step`.
pub(super) fn minimise(start: &[f64], step: f64, rounds: usize, f: impl Fn(&[f64]) -> f64) -> f64 {
    let value = |x: &[f64]| {
        let y = f(x);
        if y.is_nan() { f64::INFINITY } else { y }
    };
    let n = start.len();
    let mut corners: Vec<(f64, Vec<f64>)> = vec![(value(start), start.to_vec())];
    for k in 0..n {
        let mut x = start.to_vec();
        x[k] += step;
        corners.push((value(&x), x));
    }
    for _ in 0..rounds {
        corners.sort_by(|a, b| a.0.total_cmp(&b.0));
        if corners[n].0 - corners[0].0 < SETTLED {
            break;
        }
        let centre: Vec<f64> =
            (0..n).map(|k| corners[..n].iter().map(|c| c.1[k]).sum::<f64>() / n as f64).collect();
        let towards = |share: f64| {
            let x: Vec<f64> =
                centre.iter().zip(&corners[n].1).map(|(c, worst)| c + share * (c - worst)).collect();
            (value(&x), x)
        };
        let mirrored = towards(1.0);
        let next = if mirrored.0 < corners[0].0 {
            let farther = towards(2.0);
            if farther.0 < mirrored.0 { farther } else { mirrored }
        } else if mirrored.0 < corners[n - 1].0 {
            mirrored
        } else {
            let nearer = if mirrored.0 < corners[n].0 { towards(0.5) } else { towards(-0.5) };
            if nearer.0 < corners[n].0.min(mirrored.0) { nearer } else { shrink(&mut corners, &value) }
        };
        corners[n] = next;
    }
    corners.into_iter().map(|c| c.0).fold(f64::INFINITY, f64::min)
}

/// Draws all corners halfway towards the best; gives the last.
fn shrink(corners: &mut [(f64, Vec<f64>)], value: &impl Fn(&[f64]) -> f64) -> (f64, Vec<f64>) {
    let (best, others) = corners.split_at_mut(1);
    for corner in others.iter_mut() {
        for (x, b) in corner.1.iter_mut().zip(&best[0].1) {
            *x = (*x + b) / 2.0;
        }
        corner.0 = value(&corner.1);
    }
    corners[corners.len() - 1].clone()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bottom_of_a_curved_valley_is_found() {
        // Rosenbrock 1960.
        let f = |x: &[f64]| 100.0 * (x[1] - x[0] * x[0]).powi(2) + (1.0 - x[0]).powi(2);
        assert!(minimise(&[-1.2, 1.0], 0.5, 500, f) < 1e-3);
    }

    #[test]
    fn what_is_no_number_is_walked_around() {
        let f = |x: &[f64]| if x[0] < 0.0 { f64::NAN } else { (x[0] - 1.0).powi(2) + x[1].powi(2) };
        assert!(minimise(&[0.1, 3.0], 0.5, 500, f) < 1e-3);
    }
}
