//! The classic capture file: <https://www.ietf.org/archive/id/draft-ietf-opsawg-pcap-05.html>.

use super::link::LinkType;
use super::sink::Sink;
use super::window::Window;
use super::{ByteOrder, ReadError};

/// A record that claims to have kept more than this is taken for damage. The largest snap length of libpcap is 256 KiB.
pub(super) const MAX_KEPT: usize = 4 << 20;

const FILE_HEADER: usize = 24;
const RECORD_HEADER: usize = 16;

/// Content of the file header.
struct Header {
    order: ByteOrder,
    link: LinkType,
    /// Nanoseconds in a unit of the record's second time word.
    unit_ns: u64,
}

pub(super) fn read(window: &mut Window<'_>, sink: &mut Sink<'_>) -> Result<(), ReadError> {
    let Some(header) = Header::of(window.fill_to(FILE_HEADER)?) else {
        sink.format("pcap");
        sink.missing("the file ends within its header");
        return Ok(());
    };
    sink.format(if header.unit_ns == 1 { "pcap (nanoseconds)" } else { "pcap (microseconds)" });
    window.advance(FILE_HEADER);
    while record(&header, window, sink)? {}
    Ok(())
}

/// Reads one record; false at the end, or where it makes no sense to go on.
#[inline]
fn record(header: &Header, window: &mut Window<'_>, sink: &mut Sink<'_>) -> Result<bool, ReadError> {
    let bytes = window.fill_to(RECORD_HEADER)?;
    let Some(fixed) = bytes.first_chunk::<RECORD_HEADER>() else {
        if !bytes.is_empty() {
            sink.missing(format!("the file is cut within a packet's header at byte {}", window.offset()));
        }
        return Ok(false);
    };
    let word = |at: usize| header.order.u32([fixed[at], fixed[at + 1], fixed[at + 2], fixed[at + 3]]);
    let time_ns = u64::from(word(0)) * 1_000_000_000 + u64::from(word(4)) * header.unit_ns;
    let (kept, wire_bytes) = (word(8) as usize, word(12));
    if kept > MAX_KEPT {
        sink.missing(format!(
            "damaged from byte {} on: a packet claims to have kept {kept} bytes",
            window.offset()
        ));
        return Ok(false);
    }
    let bytes = window.fill_to(RECORD_HEADER + kept)?;
    let whole = bytes.len() >= RECORD_HEADER + kept;
    let frame = &bytes[RECORD_HEADER..bytes.len().min(RECORD_HEADER + kept)];
    sink.frame(time_ns, header.link, frame, wire_bytes);
    let length = frame.len();
    if !whole {
        sink.missing(format!(
            "the file is cut within its last packet, which begins at byte {}",
            window.offset()
        ));
    }
    window.advance(RECORD_HEADER + length);
    Ok(whole)
}

impl Header {
    fn of(bytes: &[u8]) -> Option<Self> {
        let fixed: &[u8; FILE_HEADER] = bytes.first_chunk()?;
        let order = if fixed[0] == 0xa1 { ByteOrder::Big } else { ByteOrder::Little };
        let unit_ns = if order.u32_at(fixed, 0)? == 0xa1b2_3c4d { 1 } else { 1000 };
        // The upper bits say whether frames end with a checksum, which the IP length makes irrelevant.
        let link = LinkType::from_number(order.u32_at(fixed, 20)? & 0x0fff_ffff);
        Some(Self { order, link, unit_ns })
    }
}
