//! Frames (RFC 9113, section 4).

/// How many bytes stand before what a frame carries.
pub(super) const HEAD: usize = 9;

/// Preface of a client (section 3.4).
pub(super) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// The bytes that a server may send on one stream, and on a connection, before the next WINDOW_UPDATE.
pub(super) const WINDOW: u32 = (1 << 31) - 1;
/// The initial window of a connection.
const USUAL_WINDOW: u32 = 65_535;

pub(super) const DATA: u8 = 0;
pub(super) const HEADERS: u8 = 1;
pub(super) const RST_STREAM: u8 = 3;
pub(super) const SETTINGS: u8 = 4;
pub(super) const PUSH_PROMISE: u8 = 5;
pub(super) const PING: u8 = 6;
pub(super) const GOAWAY: u8 = 7;
pub(super) const WINDOW_UPDATE: u8 = 8;
pub(super) const CONTINUATION: u8 = 9;

/// Of SETTINGS and PING: it is an answer.
pub(super) const ACK: u8 = 1;
/// Of DATA and HEADERS: nothing more will come on the stream.
pub(super) const END_STREAM: u8 = 1;
/// Of HEADERS and CONTINUATION: these are all header fields.
pub(super) const END_HEADERS: u8 = 4;
/// Of DATA and HEADERS: it is padded.
pub(super) const PADDED: u8 = 8;
/// Of HEADERS: it carries a priority.
pub(super) const PRIORITY: u8 = 0x20;

/// The largest frame that a server may send to who has not asked for more (section 4.2).
pub(super) const LARGEST: usize = 16_384;

/// Header of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) length: usize,
    pub(super) kind: u8,
    pub(super) flags: u8,
    pub(super) stream: u32,
}

impl Head {
    /// Header of the frame at the start of `bytes`; `None` if it is not all there.
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let &[a, b, c, kind, flags, d, e, f, g, ..] = bytes else { return None };
        let length = usize::from(a) << 16 | usize::from(b) << 8 | usize::from(c);
        Some(Self { length, kind, flags, stream: u32::from_be_bytes([d & 0x7f, e, f, g]) })
    }

    pub(super) fn has(self, flag: u8) -> bool {
        self.flags & flag != 0
    }
}

/// Puts a frame at the end of `out`.
pub(super) fn write(out: &mut Vec<u8>, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
    out.extend_from_slice(&(payload.len() as u32).to_be_bytes()[1..]);
    out.extend_from_slice(&[kind, flags]);
    out.extend_from_slice(&stream.to_be_bytes());
    out.extend_from_slice(payload);
}

/// A client's frames before its first request: no table of header fields, no pushes, and windows that are as large as they can be.
pub(super) fn begin(out: &mut Vec<u8>) {
    out.extend_from_slice(PREFACE);
    let settings = [(1_u16, 0), (2, 0), (4, WINDOW)];
    let mut payload = Vec::with_capacity(6 * settings.len());
    for (name, value) in settings {
        payload.extend_from_slice(&name.to_be_bytes());
        payload.extend_from_slice(&value.to_be_bytes());
    }
    write(out, SETTINGS, 0, 0, &payload);
    widen(out, 0, WINDOW - USUAL_WINDOW);
}

/// Lets a server send `by` more bytes: on a stream, or on the connection if the stream is 0.
pub(super) fn widen(out: &mut Vec<u8>, stream: u32, by: u32) {
    write(out, WINDOW_UPDATE, 0, stream, &by.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_read_as_it_was_written() {
        let mut out = Vec::new();
        write(&mut out, HEADERS, END_STREAM | END_HEADERS, 0x7fff_ffff, &[0; 300]);
        let head = Head::read(&out).unwrap();
        assert_eq!(head, Head { length: 300, kind: HEADERS, flags: 5, stream: 0x7fff_ffff });
        assert!(head.has(END_STREAM) && !head.has(PADDED));
        assert_eq!(out.len(), HEAD + 300);
        assert_eq!(Head::read(&out[..8]), None);
    }
}
