//! What happens to packets on one direction of a link.

use std::fmt;
use std::str::FromStr;

/// One direction of a link. The default does nothing.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkShape {
    /// The rate of Ethernet frames, in bits per second; without it, any.
    pub rate_bits: Option<u64>,
    /// How long a frame travels, in nanoseconds.
    pub delay_ns: u64,
    /// How much longer or shorter it may travel, in nanoseconds; every value is as likely, and frames keep their order.
    pub jitter_ns: u64,
    /// The share of frames that are lost (0 to 1).
    pub loss: f64,
    /// How many frames are lost in a row, on average; less than by chance alone is by chance alone.
    pub loss_burst: f64,
    /// The share of frames that do not travel but come out as soon as they are sent, and so overtake others (0 to 1).
    pub reorder: f64,
    /// What may wait to be sent, where there is a rate.
    pub queue: Queue,
}

/// How much may wait to be sent, beside the frame that is being sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queue {
    /// So many frames.
    Packets(u32),
    /// Frames of so many bytes together.
    Bytes(u64),
}

impl Default for LinkShape {
    fn default() -> Self {
        Self {
            rate_bits: None,
            delay_ns: 0,
            jitter_ns: 0,
            loss: 0.0,
            loss_burst: 0.0,
            reorder: 0.0,
            // As netem has it (tc-netem(8)).
            queue: Queue::Packets(1000),
        }
    }
}

impl LinkShape {
    /// Gilbert's model: in the bad state every frame is lost, in the good one none (Bell System Technical Journal 39, 1960). The
    /// probabilities, at each frame, to go from the good state to the bad one, and back; none where no frame is lost, or each. A mean burst
    /// of 1/(1 - loss) frames is chance without memory.
    pub(crate) fn gilbert(&self) -> Option<(f64, f64)> {
        let loss = self.loss;
        (loss > 0.0 && loss < 1.0).then(|| {
            let to_good = 1.0 / self.loss_burst.max(1.0 / (1.0 - loss));
            ((to_good * loss / (1.0 - loss)).min(1.0), to_good)
        })
    }
}

/// As one argument of an emulator's process.
impl fmt::Display for LinkShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rate_bits, delay_ns, jitter_ns, loss, loss_burst, reorder, queue } = self;
        let (packets, bytes) = match queue {
            Queue::Packets(n) => (u64::from(*n), 0),
            Queue::Bytes(n) => (0, *n),
        };
        let rate = rate_bits.unwrap_or(0);
        write!(f, "{rate},{delay_ns},{jitter_ns},{loss},{loss_burst},{reorder},{packets},{bytes}")
    }
}

/// This is no shape of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this is no shape of a link")]
pub struct NoShape;

impl FromStr for LinkShape {
    type Err = NoShape;

    fn from_str(text: &str) -> Result<Self, NoShape> {
        let words: Vec<&str> = text.split(',').collect();
        let [rate, delay, jitter, loss, burst, reorder, packets, bytes] =
            words.try_into().map_err(|_| NoShape)?;
        let whole = |word: &str| word.parse::<u64>().map_err(|_| NoShape);
        let part = |word: &str| word.parse::<f64>().map_err(|_| NoShape);
        let queue = match whole(bytes)? {
            0 => Queue::Packets(packets.parse().map_err(|_| NoShape)?),
            bytes => Queue::Bytes(bytes),
        };
        Ok(Self {
            rate_bits: Some(whole(rate)?).filter(|rate| *rate > 0),
            delay_ns: whole(delay)?,
            jitter_ns: whole(jitter)?,
            loss: part(loss)?,
            loss_burst: part(burst)?,
            reorder: part(reorder)?,
            queue,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shape_is_read_as_it_was_written() {
        let shape = LinkShape {
            rate_bits: Some(90_000_000),
            delay_ns: 3_000_000,
            loss: 0.000_902,
            queue: Queue::Bytes(33_750),
            ..LinkShape::default()
        };
        for shape in [shape, LinkShape::default()] {
            assert_eq!(shape.to_string().parse(), Ok(shape));
        }
        assert_eq!("1,2,3".parse::<LinkShape>(), Err(NoShape));
    }
}
