//! TCP past its slow start: what its streams did from their first loss on.

use super::{Slice, Stream, TcpState};

/// Counter of the sender's host when its TCP notices a loss: once for each episode, however many segments were lost in it.
const EPISODES: [&str; 3] =
    ["netstat.TcpExt.TCPSackRecovery", "netstat.TcpExt.TCPRenoRecovery", "netstat.TcpExt.TCPTimeouts"];

/// Sums of streams from the first loss of each to its end.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SteadyStreams {
    bits: f64,
    seconds: f64,
    episodes: f64,
    segments: f64,
    /// Of the streams' round-trip times and segment sizes.
    readings: f64,
    rtt_s: f64,
    mss: f64,
}

impl SteadyStreams {
    /// Streams of a slice, sent from `host`; `None` if none went on after a loss.
    pub fn of(slice: &Slice, host: &str) -> Option<Self> {
        let streams = slice.result.streams();
        let counters = slice.counters.get(host)?;
        let all: f64 = EPISODES.iter().filter_map(|name| counters.get(*name)).sum();
        // Each stream's first one ends its slow start, which formulas leave out.
        let mut sums = Self { episodes: (all - streams.len() as f64).max(0.0), ..Self::default() };
        streams.iter().for_each(|stream| sums.take(stream));
        (sums.readings > 0.0 && sums.seconds > 0.0).then_some(sums)
    }

    fn take(&mut self, stream: &Stream) {
        let Some(first) = stream.tcp.iter().position(|state| state.retransmits > 0) else { return };
        let (first, steady) = (&stream.tcp[first], &stream.tcp[first + 1..]);
        let last = steady.last().unwrap_or(first);
        // Seconds of streams, so that the rate is that of one, as in formulas.
        self.seconds += (last.at_ns - first.at_ns) as f64 / 1e9;
        self.bits += 8.0 * (last.acked_bytes - first.acked_bytes) as f64;
        self.segments += f64::from(last.segments_out - first.segments_out);
        for TcpState { srtt_us, mss, .. } in steady {
            self.readings += 1.0;
            self.rtt_s += f64::from(*srtt_us) / 1e6;
            self.mss += f64::from(*mss);
        }
    }

    /// Takes in what other streams did.
    pub fn add(&mut self, other: &Self) {
        self.bits += other.bits;
        self.seconds += other.seconds;
        self.episodes += other.episodes;
        self.segments += other.segments;
        self.readings += other.readings;
        self.rtt_s += other.rtt_s;
        self.mss += other.mss;
    }

    /// Losses for each segment, counted as TCP notices them; `None` if there was none.
    pub fn loss(&self) -> Option<f64> {
        Some(self.episodes / self.segments).filter(|loss| *loss > 0.0 && *loss < 1.0)
    }

    /// The rate of one stream, in bits per second.
    pub fn bits_per_second(&self) -> f64 {
        self.bits / self.seconds
    }

    /// The mean round-trip time, in seconds.
    pub fn rtt_s(&self) -> f64 {
        self.rtt_s / self.readings
    }

    /// The mean size of a segment, in bytes.
    pub fn mss(&self) -> f64 {
        self.mss / self.readings
    }
}
