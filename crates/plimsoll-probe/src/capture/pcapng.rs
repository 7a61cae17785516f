//! Writes pcapng (draft-ietf-opsawg-pcapng): one section, one interface, its packets, and at the end its statistics.

use std::io::{self, Write};

/// `LINKTYPE_RAW`: packets begin with IP.
const LINK_RAW: u16 = 101;
const SECTION: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
const ENHANCED_PACKET: u32 = 6;
const STATISTICS: u32 = 5;
/// Options of an interface: its name, and the resolution of its time stamps.
const IF_NAME: u16 = 2;
const IF_TSRESOL: u16 = 9;
/// Options of the statistics: packets that came, and packets that were dropped.
const ISB_IFRECV: u16 = 4;
const ISB_IFDROP: u16 = 5;

/// A file that is being written, in this machine's byte order.
pub(super) struct Pcapng<W> {
    out: W,
    block: Vec<u8>,
    last_ns: u64,
}

impl<W: Write> Pcapng<W> {
    /// Begins a file for the packets of an interface.
    pub(super) fn begin(out: W, interface: &str, snap: u32) -> io::Result<Self> {
        let mut file = Self { out, block: Vec::new(), last_ns: 0 };
        file.block(SECTION, |body| {
            body.extend(0x1a2b_3c4d_u32.to_ne_bytes());
            body.extend(1u16.to_ne_bytes());
            body.extend(0u16.to_ne_bytes());
            body.extend(u64::MAX.to_ne_bytes());
        })?;
        file.block(INTERFACE, |body| {
            body.extend(LINK_RAW.to_ne_bytes());
            body.extend(0u16.to_ne_bytes());
            body.extend(snap.to_ne_bytes());
            option(body, IF_NAME, interface.as_bytes());
            // Nanoseconds.
            option(body, IF_TSRESOL, &[9]);
            option(body, 0, &[]);
        })?;
        Ok(file)
    }

    /// Adds a packet of this length with its captured bytes.
    pub(super) fn packet(&mut self, time_ns: u64, length: u32, bytes: &[u8]) -> io::Result<()> {
        self.last_ns = time_ns;
        self.block(ENHANCED_PACKET, |body| {
            body.extend(0u32.to_ne_bytes());
            time(body, time_ns);
            body.extend((bytes.len() as u32).to_ne_bytes());
            body.extend(length.to_ne_bytes());
            body.extend(bytes);
        })
    }

    /// Adds what the kernel counted, and ends the file.
    pub(super) fn end(mut self, packets: u64, dropped: u64) -> io::Result<()> {
        let last_ns = self.last_ns;
        self.block(STATISTICS, |body| {
            body.extend(0u32.to_ne_bytes());
            time(body, last_ns);
            option(body, ISB_IFRECV, &(packets + dropped).to_ne_bytes());
            option(body, ISB_IFDROP, &dropped.to_ne_bytes());
            option(body, 0, &[]);
        })?;
        self.out.flush()
    }

    /// Writes a block: its type, its length, a body that is filled up to whole words, and its length again.
    fn block(&mut self, kind: u32, fill: impl FnOnce(&mut Vec<u8>)) -> io::Result<()> {
        self.block.clear();
        self.block.extend(kind.to_ne_bytes());
        self.block.extend(0u32.to_ne_bytes());
        fill(&mut self.block);
        pad(&mut self.block);
        let length = (self.block.len() as u32 + 4).to_ne_bytes();
        self.block[4..8].copy_from_slice(&length);
        self.block.extend(length);
        self.out.write_all(&self.block)
    }
}

/// A time stamp: its upper half first, whatever the byte order.
fn time(body: &mut Vec<u8>, ns: u64) {
    body.extend(((ns >> 32) as u32).to_ne_bytes());
    body.extend((ns as u32).to_ne_bytes());
}

fn option(body: &mut Vec<u8>, code: u16, value: &[u8]) {
    body.extend(code.to_ne_bytes());
    body.extend((value.len() as u16).to_ne_bytes());
    body.extend(value);
    pad(body);
}

fn pad(body: &mut Vec<u8>) {
    body.resize(body.len().next_multiple_of(4), 0);
}
