//! How modes stand in time: do they alternate, do they come and go, and do they go with something that was switched?
//!
//! Two questions of the sequence of modes. Its number of runs against that of a random order (Wald & Wolfowitz 1940, *On a test whether
//! two samples are from the same population*): fewer when a mode stays for a while, more when modes take turns. And its agreement
//! with a switch (Fisher's exact test, two-sided by summing all tables that are as improbable).

use crate::stats::dist::normal_two_sided;

/// The chance of seeing an order in random data.
const ALPHA: f64 = 0.01;

/// How two modes follow one another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Each stays for a while.
    ComesAndGoes,
    /// The modes take turns.
    Alternates,
    /// Neither more nor less than by chance.
    Random,
}

/// How a mode, present or not in each measurement, follows on itself.
pub fn order(present: &[bool]) -> Order {
    let n = present.len() as f64;
    let ones = present.iter().filter(|p| **p).count() as f64;
    let zeros = n - ones;
    if ones == 0.0 || zeros == 0.0 {
        return Order::Random;
    }
    let runs = 1.0 + present.windows(2).filter(|pair| pair[0] != pair[1]).count() as f64;
    let twice = 2.0 * ones * zeros;
    let variance = twice * (twice - n) / (n * n * (n - 1.0));
    if variance <= 0.0 {
        return Order::Random;
    }
    let z = (runs - twice / n - 1.0) / variance.sqrt();
    match normal_two_sided(z) < ALPHA {
        true if z < 0.0 => Order::ComesAndGoes,
        true => Order::Alternates,
        false => Order::Random,
    }
}

/// How a mode agrees with a switch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Agreement {
    /// Measurements in the mode while it was on.
    pub on_in: usize,
    /// Measurements while it was on.
    pub on: usize,
    /// Measurements in the mode while it was off.
    pub off_in: usize,
    /// Measurements while it was off.
    pub off: usize,
    /// The chance of as much agreement, or as much disagreement, were the two independent.
    pub p: f64,
}

/// Compares a mode, present or not in each measurement, with a switch that was on or off in it.
pub fn agreement(present: &[bool], switched: &[bool]) -> Agreement {
    let count = |of: bool, wanted: bool| {
        present.iter().zip(switched).filter(|(p, s)| **s == of && (**p || !wanted)).count()
    };
    let (on_in, on, off_in, off) =
        (count(true, true), count(true, false), count(false, true), count(false, false));
    Agreement { on_in, on, off_in, off, p: fisher(on_in, on, off_in, off) }
}

/// Fisher's exact test of `a` of `m` against `b` of `n`.
fn fisher(a: usize, m: usize, b: usize, n: usize) -> f64 {
    let (hits, all) = (a + b, m + n);
    let logs: Vec<f64> = std::iter::once(0.0)
        .chain((1..=all).scan(0.0, |sum, k| {
            *sum += (k as f64).ln();
            Some(*sum)
        }))
        .collect();
    let choose = |n: usize, k: usize| logs[n] - logs[k] - logs[n - k];
    let log_chance = |k: usize| choose(m, k) + choose(n, hits - k) - choose(all, hits);
    let seen = log_chance(a);
    // A table counts as as improbable up to rounding.
    let least = hits.saturating_sub(n)..=hits.min(m);
    least.map(log_chance).filter(|chance| *chance <= seen + 1e-9).map(f64::exp).sum::<f64>().min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sequence(text: &str) -> Vec<bool> {
        text.bytes().map(|b| b == b'1').collect()
    }

    #[test]
    fn a_mode_that_stays_is_distinguished_from_one_that_takes_turns() {
        assert_eq!(order(&sequence(&"1111100000".repeat(5))), Order::ComesAndGoes);
        assert_eq!(order(&sequence(&"10".repeat(20))), Order::Alternates);
        assert_eq!(order(&sequence("1101000101101001101011001010")), Order::Random);
        assert_eq!(order(&sequence("1111")), Order::Random);
        assert_eq!(order(&[]), Order::Random);
    }

    /// The lady tasting tea: three of four cups right (Fisher 1935).
    #[test]
    fn fishers_own_example_comes_out() {
        let p = fisher(3, 4, 1, 4);
        assert!((p - 0.485_714_285_7).abs() < 1e-9, "{p}");
        assert!((fisher(4, 4, 0, 4) - 0.028_571_428_57).abs() < 1e-9);
    }

    #[test]
    fn a_switch_that_goes_with_the_mode_is_no_chance() {
        let present = sequence(&"1111100000".repeat(4));
        let with = agreement(&present, &present);
        assert_eq!((with.on_in, with.on, with.off_in, with.off), (20, 20, 0, 20));
        assert!(with.p < 1e-9, "{}", with.p);
        let without = agreement(&present, &sequence(&"10".repeat(20)));
        assert!(without.p > 0.2, "{}", without.p);
    }
}
