//! Output of tcpdump, in today's form and in the one before version 4:
//!
//! ```text
//! 18:32:08.275493 IP 127.0.0.1.8000 > 127.0.0.1.26792: Flags [P.], seq 1:61, ack 2, win 16, length 60
//! 18:32:08.275493 IP 127.0.0.1.8000 > 127.0.0.1.26792: P 1:61(60) ack 2 win 16 <nop,nop,timestamp 1 2>
//! ```
//!
//! With any of `-t` to `-ttttt`, `-e`, `-v`, `-S`, `-x`, `-n` or without, and from `-i any`. Lines that are no packets
//! are stepped over, and counted where they look as if they should have been.

mod clock;
mod line;
mod names;
mod sequence;

use plimsoll_model::packet::{Endpoint, Packet, Segment, Transport};
use plimsoll_model::units::counted;

use super::ReadError;
use super::decoded::Skip;
use super::sink::Sink;
use super::window::Window;
use clock::Clock;
use line::{Body, Line};
use names::Names;
use sequence::Conversations;

/// A line longer than this is no line of tcpdump's.
const MAX_LINE: usize = 64 << 10;

pub(super) fn read(window: &mut Window<'_>, sink: &mut Sink<'_>) -> Result<(), ReadError> {
    sink.format("tcpdump's text");
    let mut reader = Reader::new(Clock::for_text(window.fill_to(MAX_LINE)?));
    loop {
        let bytes = window.fill_to(MAX_LINE)?;
        if bytes.is_empty() {
            break;
        }
        let at_end = bytes.len() < MAX_LINE;
        // Many lines are in the window at a time; they are all taken before it moves.
        let mut taken = 0;
        for end in memchr::memchr_iter(b'\n', bytes) {
            reader.line(&bytes[taken..end], sink);
            taken = end + 1;
        }
        if at_end && taken < bytes.len() {
            reader.line(&bytes[taken..], sink);
            taken = bytes.len();
        }
        if taken == 0 {
            reader.too_long += 1;
            taken = bytes.len();
        }
        window.advance(taken);
    }
    reader.finish(sink)
}

/// State of the reader from line to line.
struct Reader {
    clock: Clock,
    names: Names,
    conversations: Conversations,
    /// The time of a header line of `-v`, whose packet is on the line after it.
    pending: Option<u64>,
    number: u64,
    packets: u64,
    not_understood: u64,
    first_not_understood: Option<(u64, String)>,
    without_sequence: u64,
    too_long: u64,
}

impl Reader {
    fn new(clock: Clock) -> Self {
        Self {
            clock,
            names: Names::default(),
            conversations: Conversations::default(),
            pending: None,
            number: 0,
            packets: 0,
            not_understood: 0,
            first_not_understood: None,
            without_sequence: 0,
            too_long: 0,
        }
    }

    fn line(&mut self, bytes: &[u8], sink: &mut Sink<'_>) {
        self.number += 1;
        let Ok(text) = std::str::from_utf8(bytes.trim_ascii_end()) else { return self.strange(bytes) };
        match Line::of(text) {
            Line::Blank | Line::Dump => {}
            Line::Dropped(count) => sink.dropped(count),
            Line::Note => {}
            Line::Stamped { stamp, rest } => {
                let time = self.clock.at(stamp);
                self.pending = Some(time);
                self.body(time, rest, bytes, sink);
            }
            Line::Continued(rest) => match self.pending {
                Some(time) => self.body(time, rest, bytes, sink),
                None => self.strange(bytes),
            },
        }
    }

    /// The part of a line behind its time.
    fn body(&mut self, time_ns: u64, rest: &str, bytes: &[u8], sink: &mut Sink<'_>) {
        match line::body(rest, &mut self.names) {
            Body::Tcp { source, destination, segment } => {
                let segment = self.conversations.absolute(source, destination, segment);
                self.packet(time_ns, source, destination, Transport::Tcp(segment), sink);
            }
            Body::Udp { source, destination, payload } => {
                self.packet(time_ns, source, destination, Transport::Udp { payload }, sink);
            }
            Body::TcpWithoutSequence => {
                self.without_sequence += 1;
                sink.other(Skip::OtherTransport);
                self.pending = None;
            }
            Body::Other => {
                sink.other(Skip::OtherTransport);
                self.pending = None;
                self.packets += 1;
            }
            Body::Header => {}
            Body::Unknown => {
                self.pending = None;
                self.strange(bytes);
            }
        }
    }

    fn packet(
        &mut self,
        time_ns: u64,
        source: Endpoint,
        destination: Endpoint,
        transport: Transport,
        sink: &mut Sink<'_>,
    ) {
        self.packets += 1;
        self.pending = None;
        let wire_bytes = wire_bytes(source, &transport);
        sink.packet(&Packet { time_ns, wire_bytes, source, destination, ip_id: None, transport });
    }

    fn strange(&mut self, bytes: &[u8]) {
        self.not_understood += 1;
        if self.first_not_understood.is_none() {
            let start = String::from_utf8_lossy(&bytes[..bytes.len().min(80)]).into_owned();
            self.first_not_understood = Some((self.number, start));
        }
    }

    fn finish(self, sink: &mut Sink<'_>) -> Result<(), ReadError> {
        if self.packets + self.without_sequence == 0 && sink.packets() == 0 {
            let (line, found) = self.first_not_understood.unwrap_or((1, String::new()));
            return Err(ReadError::NotPackets { line, found });
        }
        if let Some((line, found)) = self.first_not_understood {
            let lines = counted(self.not_understood, "line");
            sink.missing(format!("{lines} not understood, the first is line {line}: {found:?}"));
        }
        if self.too_long > 0 {
            sink.missing(format!("{} too long for tcpdump's", counted(self.too_long, "line")));
        }
        if self.without_sequence > 0 {
            let segments = counted(self.without_sequence, "TCP segment");
            sink.missing(format!("{segments} without sequence numbers (tcpdump -q leaves them out)"));
        }
        if self.clock.has_no_stamps() {
            sink.missing("the lines carry no time (tcpdump -t), so no stall can be seen");
        }
        for (address, name) in self.names.into_invented() {
            sink.name(address, name);
        }
        Ok(())
    }
}

/// The length of the IP packet: headers without options, as far as text has them.
fn wire_bytes(source: Endpoint, transport: &Transport) -> u32 {
    let ip: u32 = if source.address.is_ipv4() { 20 } else { 40 };
    let carried = match transport {
        Transport::Tcp(Segment { payload, options, .. }) => {
            let stamps = if options.timestamps.is_some() { 12 } else { 0 };
            payload.saturating_add(20 + stamps)
        }
        Transport::Udp { payload } => payload.saturating_add(8),
        Transport::PacketTooBig { .. } => 36,
    };
    ip.saturating_add(carried)
}
