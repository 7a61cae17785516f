//! Packet files: pcap, pcapng, and what tcpdump prints.
//!
//! A file is read once, front to back, in memory that does not grow with it. A file that is cut, damaged or half
//! captured is read as far as it goes, and [`CaptureSummary::missing`] says what was not there. Only an input that is no
//! packet file at all is an error.
//!
//! The framing and the headers are decoded here and not by a crate: none unpacks PPPoE, MPLS, GRE, VXLAN, GTP and
//! 802.11 alike; a header that the snap length cut in the middle still has its fixed part, which has to be used;
//! missing parts have to be reported with their place; and a packet must not cost more than some tens of nanoseconds
//! (`lab/examples/read_speed.rs` measures it).

mod compressed;
mod decoded;
mod headers;
mod link;
mod order;
mod pcap;
mod pcapng;
mod sink;
mod text;
mod tunnel;
mod window;

use std::io::{self, Read};

use plimsoll_figures::magic::Magic;
use plimsoll_model::packet::{CaptureSummary, Packet};
use thiserror::Error;

use compressed::Unpacked;
use sink::Sink;
use window::Window;

/// Why an input could not be read as packets at all.
#[derive(Debug, Error)]
pub enum ReadError {
    /// Reading failed.
    #[error("reading failed after {after} bytes: {source}")]
    Io {
        /// How many bytes had been read.
        after: u64,
        /// The cause.
        source: io::Error,
    },
    /// There is nothing in it.
    #[error("the file is empty")]
    Empty,
    /// The file is compressed.
    #[error(
        "the file is compressed with {0}; unpack it first, for example `{0} -dc FILE | plimsoll trace -`"
    )]
    Compressed(&'static str),
    /// A format of the pcap family that is not read here.
    #[error("{0} is not read here; `editcap -F pcapng IN OUT` converts it")]
    Unsupported(&'static str),
    /// Neither a packet file nor text that tcpdump prints.
    #[error(
        "no packets in it: expected pcap, pcapng, or the text that tcpdump prints; line {line} is {found:?}"
    )]
    NotPackets {
        /// The number of the first line that could not be read, from 1.
        line: u64,
        /// How that line begins.
        found: String,
    },
    /// A binary file that is no packet file.
    #[error("no packet file: expected the magic number of pcap or pcapng, or tcpdump's text; found {0:02x?}")]
    UnknownMagic(Vec<u8>),
}

/// Reads every TCP and UDP packet of `input`, and hands each to `visit`.
///
/// The format is found by its first bytes, also behind gzip or zstd. Packets are handed on in the order of their times, as far as a window of
/// 256 allows. `input` need not be buffered.
///
/// # Errors
/// [`ReadError`] if the input cannot be read or holds no packet format that is known here.
pub fn read<R: Read, V: FnMut(&Packet)>(mut input: R, mut visit: V) -> Result<CaptureSummary, ReadError> {
    read_all(&mut input, &mut visit)
}

/// Not generic, so that it is compiled here and as this crate is optimised, not as its caller is.
fn read_all(input: &mut dyn Read, visit: &mut dyn FnMut(&Packet)) -> Result<CaptureSummary, ReadError> {
    let mut window = Window::new(input);
    let mut sink = Sink::new(visit);
    match Magic::of(window.fill_to(HEAD)?) {
        Some(Magic::Compressed(program)) => {
            let unpacked = Unpacked::of(program, &mut window);
            let mut unpacked = unpacked.ok_or(ReadError::Compressed(program))?;
            read_format(&mut Window::new(&mut unpacked), &mut sink)?;
            if let Some(damage) = unpacked.damage() {
                sink.missing(format!(
                    "the {program} data is cut or damaged, and read up to there ({damage})"
                ));
            }
        }
        _ => read_format(&mut window, &mut sink)?,
    }
    Ok(sink.finish())
}

/// Bytes by which a format is recognised, at most.
const HEAD: usize = 4096;

fn read_format(window: &mut Window<'_>, sink: &mut Sink<'_>) -> Result<(), ReadError> {
    match Format::of(window.fill_to(HEAD)?)? {
        Format::Pcap => pcap::read(window, sink),
        Format::Pcapng => pcapng::read(window, sink),
        Format::Text => text::read(window, sink),
    }
}

/// The formats read here.
enum Format {
    Pcap,
    Pcapng,
    Text,
}

impl Format {
    /// The format by its first bytes.
    fn of(head: &[u8]) -> Result<Self, ReadError> {
        if head.is_empty() {
            return Err(ReadError::Empty);
        }
        match Magic::of(head) {
            Some(Magic::Pcap) => return Ok(Self::Pcap),
            Some(Magic::Pcapng) => return Ok(Self::Pcapng),
            Some(Magic::OtherPcap(what)) => return Err(ReadError::Unsupported(what)),
            Some(Magic::Compressed(program)) => return Err(ReadError::Compressed(program)),
            None => {}
        }
        if head.contains(&0) {
            return Err(ReadError::UnknownMagic(head.iter().take(8).copied().collect()));
        }
        Ok(Self::Text)
    }
}

/// Whether the words of a file have their high byte first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ByteOrder {
    Big,
    Little,
}

impl ByteOrder {
    fn u16(self, bytes: [u8; 2]) -> u16 {
        match self {
            Self::Big => u16::from_be_bytes(bytes),
            Self::Little => u16::from_le_bytes(bytes),
        }
    }

    fn u32(self, bytes: [u8; 4]) -> u32 {
        match self {
            Self::Big => u32::from_be_bytes(bytes),
            Self::Little => u32::from_le_bytes(bytes),
        }
    }

    /// The word at `at`, or `None` past the end.
    fn u16_at(self, data: &[u8], at: usize) -> Option<u16> {
        Some(self.u16(*data.get(at..)?.first_chunk()?))
    }

    /// The word at `at`, or `None` past the end.
    fn u32_at(self, data: &[u8], at: usize) -> Option<u32> {
        Some(self.u32(*data.get(at..)?.first_chunk()?))
    }
}
