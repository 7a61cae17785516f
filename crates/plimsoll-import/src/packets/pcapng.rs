//! pcapng: <https://www.ietf.org/archive/id/draft-ietf-opsawg-pcapng-03.html>.

use plimsoll_model::units::counted;

use super::link::LinkType;
use super::pcap::MAX_KEPT;
use super::sink::Sink;
use super::window::Window;
use super::{ByteOrder, ReadError};

const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
const OBSOLETE_PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
const INTERFACE_STATISTICS: u32 = 5;
const ENHANCED_PACKET: u32 = 6;

/// Type and length, which every block begins with.
const BLOCK_HEADER: usize = 8;
/// The shortest block: header and the length again.
const SHORTEST: usize = 12;
/// A section with more interfaces than this is taken for an attack.
const MAX_INTERFACES: usize = 1 << 16;

struct Interface {
    link: LinkType,
    clock: Clock,
    snap: u32,
    /// Packets lost, as the last statistics block of this interface says.
    dropped: Option<u64>,
}

/// How an interface counts time.
#[derive(Clone, Copy)]
struct Clock {
    /// Units in a second.
    per_second: u64,
    /// Seconds to add.
    offset_s: i64,
}

impl Clock {
    fn nanoseconds(self, units: u64) -> u64 {
        let ns = match self.per_second {
            1_000_000 => units.saturating_mul(1000),
            1_000_000_000 => units,
            per_second => {
                let ns = u128::from(units) * 1_000_000_000 / u128::from(per_second.max(1));
                u64::try_from(ns).unwrap_or(u64::MAX)
            }
        };
        let offset = self.offset_s.unsigned_abs().saturating_mul(1_000_000_000);
        if self.offset_s < 0 { ns.saturating_sub(offset) } else { ns.saturating_add(offset) }
    }
}

/// A stretch of the file with one byte order and its own interfaces.
struct Section {
    order: ByteOrder,
    interfaces: Vec<Interface>,
    unknown_interface: u64,
    /// The time of the last packet: a simple packet block carries none of its own.
    last_time: u64,
    simple: u64,
}

pub(super) fn read(window: &mut Window<'_>, sink: &mut Sink<'_>) -> Result<(), ReadError> {
    sink.format("pcapng");
    let mut section = Section::new(ByteOrder::Little);
    while block(&mut section, window, sink)? {}
    section.close(sink);
    Ok(())
}

/// Reads one block; false at the end, or where it makes no sense to go on.
#[inline]
fn block(section: &mut Section, window: &mut Window<'_>, sink: &mut Sink<'_>) -> Result<bool, ReadError> {
    let bytes = window.fill_to(SHORTEST)?;
    if bytes.len() < SHORTEST {
        if !bytes.is_empty() {
            sink.missing(format!("the file is cut within a block's header at byte {}", window.offset()));
        }
        return Ok(false);
    }
    let head: &[u8; SHORTEST] = bytes.first_chunk().expect("the length was checked above");
    let word = |order: ByteOrder, at: usize| order.u32([head[at], head[at + 1], head[at + 2], head[at + 3]]);
    if word(ByteOrder::Little, 0) == SECTION_HEADER {
        section.close(sink);
        *section = match word(ByteOrder::Little, 8) {
            0x1a2b_3c4d => Section::new(ByteOrder::Little),
            0x4d3c_2b1a => Section::new(ByteOrder::Big),
            _ => {
                sink.missing(format!(
                    "damaged from byte {} on: a section without byte order",
                    window.offset()
                ));
                return Ok(false);
            }
        };
    }
    let (kind, length) = (word(section.order, 0), word(section.order, 4) as usize);
    if length < SHORTEST || length % 4 != 0 {
        sink.missing(format!("damaged from byte {} on: a block of {length} bytes", window.offset()));
        return Ok(false);
    }
    if length > MAX_KEPT {
        return skip_large(kind, length, window, sink);
    }
    let at = window.offset();
    let bytes = window.fill_to(length)?;
    if bytes.len() < length {
        sink.missing(format!("the file is cut within its last block, which begins at byte {at}"));
        // The packet itself may still be there, all but its end.
        section.body(kind, &bytes[BLOCK_HEADER..], sink);
        return Ok(false);
    }
    let usable = section.body(kind, &bytes[BLOCK_HEADER..length - 4], sink);
    if !usable {
        sink.missing(format!("damaged from byte {at} on: a block too short for its kind"));
    }
    window.advance(length);
    Ok(usable)
}

/// A block too large for a packet (decryption secrets, a private kind) is stepped over without being kept.
#[cold]
fn skip_large(
    kind: u32,
    length: usize,
    window: &mut Window<'_>,
    sink: &mut Sink<'_>,
) -> Result<bool, ReadError> {
    let at = window.offset();
    if matches!(kind, ENHANCED_PACKET | OBSOLETE_PACKET | SIMPLE_PACKET | INTERFACE | SECTION_HEADER) {
        sink.missing(format!("damaged from byte {at} on: a packet's block claims {length} bytes"));
        return Ok(false);
    }
    let whole = window.skip(length as u64)? == length as u64;
    if !whole {
        sink.missing(format!("the file is cut within its last block, which begins at byte {at}"));
    }
    Ok(whole)
}

impl Section {
    fn new(order: ByteOrder) -> Self {
        Self { order, interfaces: Vec::new(), unknown_interface: 0, last_time: 0, simple: 0 }
    }

    /// Reads what is between a block's header and its trailing length. False if that makes no sense.
    #[inline]
    fn body(&mut self, kind: u32, body: &[u8], sink: &mut Sink<'_>) -> bool {
        match kind {
            ENHANCED_PACKET => self.enhanced(body, sink),
            INTERFACE => self.interface(body),
            SIMPLE_PACKET => self.simple(body, sink),
            OBSOLETE_PACKET => self.obsolete(body, sink),
            INTERFACE_STATISTICS => self.statistics(body),
            _ => Some(()),
        }
        .is_some()
    }

    fn interface(&mut self, body: &[u8]) -> Option<()> {
        let order = self.order;
        let mut clock = Clock { per_second: 1_000_000, offset_s: 0 };
        for (code, value) in options(order, body.get(8..)?) {
            match (code, value) {
                (9, [resolution, ..]) => clock.per_second = per_second(*resolution),
                (14, [_, _, _, _, _, _, _, _, ..]) => clock.offset_s = i64_at(order, value)?,
                _ => {}
            }
        }
        let link = LinkType::from_number(u32::from(order.u16_at(body, 0)?));
        let snap = order.u32_at(body, 4)?;
        if self.interfaces.len() == MAX_INTERFACES {
            return None;
        }
        self.interfaces.push(Interface { link, clock, snap, dropped: None });
        Some(())
    }

    #[inline]
    fn enhanced(&mut self, body: &[u8], sink: &mut Sink<'_>) -> Option<()> {
        let fixed: &[u8; 20] = body.first_chunk()?;
        let word = |at: usize| self.order.u32([fixed[at], fixed[at + 1], fixed[at + 2], fixed[at + 3]]);
        let time = u64::from(word(4)) << 32 | u64::from(word(8));
        self.packet(word(0), time, word(12), word(16), &body[20..], sink)
    }

    /// The packet block of the first pcapng files, which says itself how many packets were lost before it.
    fn obsolete(&mut self, body: &[u8], sink: &mut Sink<'_>) -> Option<()> {
        let word = |at| self.order.u32_at(body, at);
        let interface = u32::from(self.order.u16_at(body, 0)?);
        let dropped = self.order.u16_at(body, 2)?;
        let time = u64::from(word(4)?) << 32 | u64::from(word(8)?);
        if dropped != u16::MAX {
            sink.dropped(u64::from(dropped));
        }
        self.packet(interface, time, word(12)?, word(16)?, body.get(20..)?, sink)
    }

    fn simple(&mut self, body: &[u8], sink: &mut Sink<'_>) -> Option<()> {
        let wire_bytes = self.order.u32_at(body, 0)?;
        let Some(interface) = self.interfaces.first() else {
            self.unknown_interface += 1;
            return Some(());
        };
        let snap = if interface.snap == 0 { u32::MAX } else { interface.snap };
        let data = &body[4..];
        self.simple += 1;
        let kept = data.len().min(wire_bytes.min(snap) as usize);
        sink.frame(self.last_time, interface.link, &data[..kept], wire_bytes);
        Some(())
    }

    /// Hands on a packet. `rest` is the data, its padding, and options; the data may have lost its end.
    #[inline]
    fn packet(
        &mut self,
        interface: u32,
        time: u64,
        kept: u32,
        wire_bytes: u32,
        rest: &[u8],
        sink: &mut Sink<'_>,
    ) -> Option<()> {
        let Some(interface) = self.interfaces.get(interface as usize) else {
            self.unknown_interface += 1;
            return Some(());
        };
        let time_ns = interface.clock.nanoseconds(time);
        let data = rest.get(..kept as usize).unwrap_or(rest);
        sink.frame(time_ns, interface.link, data, wire_bytes);
        self.last_time = time_ns;
        let padded = data.len().next_multiple_of(4);
        if rest.len() > padded {
            for (code, value) in options(self.order, &rest[padded..]) {
                if let (4, [_, _, _, _, _, _, _, _, ..]) = (code, value) {
                    sink.dropped(i64_at(self.order, value)? as u64);
                }
            }
        }
        Some(())
    }

    fn statistics(&mut self, body: &[u8]) -> Option<()> {
        let number = self.order.u32_at(body, 0)?;
        let (mut by_interface, mut by_system) = (None, None);
        for (code, value) in options(self.order, body.get(12..)?) {
            match (code, value) {
                (5, [_, _, _, _, _, _, _, _, ..]) => by_interface = i64_at(self.order, value),
                (7, [_, _, _, _, _, _, _, _, ..]) => by_system = i64_at(self.order, value),
                _ => {}
            }
        }
        if let Some(interface) = self.interfaces.get_mut(number as usize)
            && (by_interface.is_some() || by_system.is_some())
        {
            let sum = (by_interface.unwrap_or(0) as u64).saturating_add(by_system.unwrap_or(0) as u64);
            interface.dropped = Some(sum);
        }
        Some(())
    }

    /// States what was missing in this section.
    fn close(&self, sink: &mut Sink<'_>) {
        for dropped in self.interfaces.iter().filter_map(|interface| interface.dropped) {
            sink.dropped(dropped);
        }
        if self.unknown_interface > 0 {
            let packets = counted(self.unknown_interface, "packet");
            sink.missing(format!("{packets} of an interface that the file does not describe"));
        }
        if self.simple > 0 {
            let packets = counted(self.simple, "packet");
            sink.missing(format!("{packets} without a time of their own"));
        }
    }
}

/// The options of a block as code and value, up to the first that makes no sense.
fn options(order: ByteOrder, mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let code = order.u16_at(bytes, 0)?;
        let length = usize::from(order.u16_at(bytes, 2)?);
        if code == 0 {
            return None;
        }
        let value = bytes.get(4..4 + length)?;
        bytes = bytes.get(4 + length.next_multiple_of(4)..).unwrap_or_default();
        Some((code, value))
    })
}

/// Units in a second by the option `if_tsresol`: a negative power of ten, or of two with the highest bit set.
fn per_second(resolution: u8) -> u64 {
    let exponent = u32::from(resolution & 0x7f);
    let base: u64 = if resolution & 0x80 == 0 { 10 } else { 2 };
    base.checked_pow(exponent).unwrap_or(u64::MAX)
}

/// Eight bytes as a number. Counters use the same form; they never reach the sign.
fn i64_at(order: ByteOrder, value: &[u8]) -> Option<i64> {
    let bytes: [u8; 8] = *value.first_chunk()?;
    Some(match order {
        ByteOrder::Big => i64::from_be_bytes(bytes),
        ByteOrder::Little => i64::from_le_bytes(bytes),
    })
}
