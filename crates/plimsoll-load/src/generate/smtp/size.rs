//! How long the next message is.

use plimsoll_model::experiment::load::smtp::{MessageSize, SizeShape};
use rand::RngExt;
use rand::rngs::SmallRng;

/// A length of this distribution, in bytes.
pub(super) fn draw(size: &MessageSize, random: &mut SmallRng) -> u32 {
    let (least, most) = (size.least.0 as f64, size.most.0 as f64);
    let share: f64 = random.random();
    let length = match size.shape {
        SizeShape::Uniform => least + share * (most + 1.0 - least),
        SizeShape::LogUniform => least * ((most + 1.0) / least).powf(share),
        // By the inverse of the distribution that ends at the longest: the same as another draw for each that is longer.
        SizeShape::Exponential => {
            let mean = size.mean.map_or(most, |mean| mean.0 as f64) - least;
            let beyond = (-(most - least) / mean.max(1.0)).exp();
            least - mean.max(1.0) * (1.0 - share * (1.0 - beyond)).ln()
        }
    };
    length.clamp(least, most) as u32
}

#[cfg(test)]
mod tests {
    use plimsoll_model::units::ByteSize;
    use rand::SeedableRng;

    use super::*;

    fn drawn(shape: SizeShape, mean: Option<u64>) -> Vec<u32> {
        let size =
            MessageSize { least: ByteSize(1000), most: ByteSize(101_000), shape, mean: mean.map(ByteSize) };
        let mut random = SmallRng::seed_from_u64(3);
        let mut lengths: Vec<u32> = (0..20_000).map(|_| draw(&size, &mut random)).collect();
        lengths.sort_unstable();
        assert!(lengths[0] >= 1000 && lengths[19_999] <= 101_000);
        lengths
    }

    #[test]
    fn lengths_are_spread_as_they_should() {
        let uniform = drawn(SizeShape::Uniform, None);
        assert!((49_000..53_000).contains(&uniform[10_000]), "{}", uniform[10_000]);
        let log = drawn(SizeShape::LogUniform, None);
        assert!((9_500..10_600).contains(&log[10_000]), "{}", log[10_000]);
        // The median of an exponential distribution is ln 2 of its mean.
        let exponential = drawn(SizeShape::Exponential, Some(11_000));
        assert!((7_600..8_300).contains(&exponential[10_000]), "{}", exponential[10_000]);
    }

    #[test]
    fn messages_may_all_be_equally_long() {
        let size = MessageSize { least: ByteSize(4000), most: ByteSize(4000), ..MessageSize::default() };
        let mut random = SmallRng::seed_from_u64(3);
        assert!((0..100).all(|_| draw(&size, &mut random) == 4000));
    }
}
