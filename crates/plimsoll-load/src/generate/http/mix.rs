//! Which document is asked for next.

use plimsoll_model::documents::{CLASSES, Document, FILES, SHARES};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

/// The files of a directory by popularity: those in the middle of a class first.
const BY_POPULARITY: [u8; FILES as usize] = [5, 4, 6, 3, 7, 2, 8, 1, 9];

/// Chooses documents of a set.
pub(super) struct Mix {
    random: SmallRng,
    /// For the n-th most popular document of a class, the sum of 1, 1/2 .. 1/n.
    cumulative: Vec<f64>,
}

impl Mix {
    /// Chooses from `directories` directories, with random numbers that begin at `seed`.
    pub(super) fn new(directories: u32, seed: u64) -> Self {
        let ranks = 1..=directories * u32::from(FILES);
        let sums = ranks.scan(0.0, |sum, rank| {
            *sum += 1.0 / f64::from(rank);
            Some(*sum)
        });
        Self { random: SmallRng::seed_from_u64(seed), cumulative: sums.collect() }
    }

    /// The next document.
    pub(super) fn next(&mut self) -> Document {
        let class = self.class();
        let all = self.cumulative.last().copied().unwrap_or(0.0);
        let place = self.random.random::<f64>() * all;
        let rank = self.cumulative.partition_point(|sum| *sum <= place).min(self.cumulative.len() - 1);
        let (directory, file) = (rank / usize::from(FILES), rank % usize::from(FILES));
        Document { directory: directory as u32, class, file: BY_POPULARITY[file] }
    }

    fn class(&mut self) -> u8 {
        let mut place = self.random.random::<f64>();
        for (class, share) in (0..).zip(SHARES) {
            place -= share;
            if place < 0.0 {
                return class;
            }
        }
        CLASSES - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_have_their_shares_and_documents_follow_zipf() {
        let mut mix = Mix::new(10, 3);
        let mut classes = [0u32; CLASSES as usize];
        let mut middles = [0u32; 10];
        for _ in 0..100_000 {
            let document = mix.next();
            classes[usize::from(document.class)] += 1;
            if document.file == 5 {
                middles[document.directory as usize] += 1;
            }
        }
        for (count, share) in classes.into_iter().zip(SHARES) {
            let found = f64::from(count) / 1e5;
            assert!((found - share).abs() < 0.01, "{found} instead of {share}");
        }
        // The most popular of 90 documents has 1/H(90) of its class; that of the next directory is the tenth.
        let first = f64::from(middles[0]) / 1e5;
        assert!((0.18..0.21).contains(&first), "{first}");
        let ratio = f64::from(middles[0]) / f64::from(middles[1]);
        assert!((8.5..11.5).contains(&ratio), "{ratio}");
    }
}
