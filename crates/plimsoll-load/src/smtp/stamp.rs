//! The id and the checksum that every message of a source carries, and the text that it is made of.
//!
//! `X-Plimsoll: ID LENGTH CRC`, three hexadecimal numbers: the message's id, and the length and CRC-32 of its text, from behind the
//! headers to its end, with CR LF at the end of each line and without the transport's dots.

use std::fmt::Write;

use crc32fast::Hasher;
use memchr::memmem;

use super::text::unstuffed;

/// Start of the header.
const HEADER: &[u8] = b"\r\nX-Plimsoll: ";
/// The length of a line of the text, with its end.
const LINE: usize = 80;
/// The places at which a text may begin, so that those of two messages in a row differ.
const STARTS: usize = 16;
/// The distance of the places up to which the checksum is known beforehand.
const STRIDE: usize = 51 * LINE;
/// The shortest last line: the id and the end of the line.
const SHORTEST_LAST_LINE: usize = 18;

/// Texts of any length up to a limit, whose checksums are known.
pub(crate) struct Texts {
    text: Vec<u8>,
    /// For each start, the checksums at every stride.
    known: Vec<Vec<u32>>,
}

/// One message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    /// Its id.
    pub(crate) id: u64,
    /// The length of its text.
    pub(crate) length: u32,
}

impl Texts {
    /// Texts of up to `longest` bytes.
    pub(crate) fn new(longest: usize) -> Self {
        let lines = longest.div_ceil(LINE) + STARTS;
        let mut text = Vec::with_capacity(lines * LINE);
        // Any sequence does that has no line like another; this one is Lehmer's (1951), with the multiplier of MINSTD.
        let mut state: u64 = 1;
        for _ in 0..lines {
            for _ in 0..LINE - 2 {
                state = state * 48_271 % 0x7fff_ffff;
                text.push(b'a' + (state % 26) as u8);
            }
            text.extend_from_slice(b"\r\n");
        }
        let known = |start: usize| {
            let mut hasher = Hasher::new();
            let mut sums = vec![hasher.clone().finalize()];
            for stride in text[start * LINE..].chunks_exact(STRIDE) {
                hasher.update(stride);
                sums.push(hasher.clone().finalize());
            }
            sums
        };
        let known = (0..STARTS).map(known).collect();
        Self { text, known }
    }

    /// The part of a message's text that has no id: all lines but the last.
    pub(crate) fn body(&self, stamp: Stamp) -> &[u8] {
        let start = start(stamp) * LINE;
        &self.text[start..start + whole_lines(stamp)]
    }

    /// Writes the rest of the headers and the empty line behind them, and into `tail` the text's last line and its end.
    pub(crate) fn write(&self, stamp: Stamp, headers: &mut String, tail: &mut Vec<u8>) {
        let body = self.body(stamp);
        let fill = stamp.length as usize - body.len() - SHORTEST_LAST_LINE;
        tail.clear();
        push_hex(tail, stamp.id);
        tail.resize(16 + fill, b'.');
        tail.extend_from_slice(b"\r\n");
        let strides = body.len() / STRIDE;
        let mut hasher =
            Hasher::new_with_initial_len(self.known[start(stamp)][strides], (strides * STRIDE) as u64);
        hasher.update(&body[strides * STRIDE..]);
        hasher.update(tail);
        tail.extend_from_slice(b".\r\n");
        let Stamp { id, length } = stamp;
        write!(
            headers,
            "Message-ID: <{id:016x}@plimsoll.example>\r\nX-Plimsoll: {id:016x} {length:08x} {:08x}\r\n\r\n",
            hasher.finalize()
        )
        .expect("a string can be written to");
    }
}

fn push_hex(out: &mut Vec<u8>, number: u64) {
    out.extend((0..16).rev().map(|place| b"0123456789abcdef"[(number >> (4 * place) & 15) as usize]));
}

fn start(stamp: Stamp) -> usize {
    (stamp.id % STARTS as u64) as usize
}

/// How long the lines before the last are.
fn whole_lines(stamp: Stamp) -> usize {
    (stamp.length as usize - SHORTEST_LAST_LINE) / LINE * LINE
}

/// Stamp of a message that has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ReceivedStamp {
    pub(crate) id: u64,
    /// Whether its text is correct.
    pub(crate) whole: bool,
}

/// Reads the stamp of a message as it came over the wire, and checks it; `None` if it has none.
pub(crate) fn check(wire: &[u8]) -> Option<ReceivedStamp> {
    let end = memmem::find(wire, b"\r\n\r\n")? + 2;
    let (headers, text) = (&wire[..end], &wire[end + 2..]);
    let at = memmem::find(headers, HEADER)? + HEADER.len();
    let line = headers[at..].split(|&byte| byte == b'\r').next()?;
    let mut fields =
        std::str::from_utf8(line).ok()?.split(' ').map(|field| u64::from_str_radix(field, 16).ok());
    let (id, length, sum) = (fields.next()??, fields.next().flatten(), fields.next().flatten());
    let (mut hasher, mut found) = (Hasher::new(), 0);
    unstuffed(text, |piece| {
        hasher.update(piece);
        found += piece.len() as u64;
    });
    Some(ReceivedStamp { id, whole: length == Some(found) && sum == Some(u64::from(hasher.finalize())) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(texts: &Texts, stamp: Stamp) -> Vec<u8> {
        let (mut headers, mut tail) = ("Subject: x\r\n".to_owned(), Vec::new());
        texts.write(stamp, &mut headers, &mut tail);
        [headers.as_bytes(), texts.body(stamp), &tail].concat()
    }

    #[test]
    fn a_message_of_any_length_fits_its_checksum() {
        let texts = Texts::new(20_000);
        for length in (128..20_000).step_by(37).chain([20_000]) {
            let stamp = Stamp { id: 0xfeed_0000 + u64::from(length), length };
            let wire = message(&texts, stamp);
            assert_eq!(check(&wire), Some(ReceivedStamp { id: stamp.id, whole: true }), "{length}");
            let text = wire.len() - memmem::find(&wire, b"\r\n\r\n").unwrap() - 4 - 3;
            assert_eq!(text, length as usize);
            assert!(wire.split(|&byte| byte == b'\n').all(|line| line.len() < 998));
        }
    }

    #[test]
    fn what_was_spoiled_on_its_way_is_noticed() {
        let texts = Texts::new(1000);
        let wire = message(&texts, Stamp { id: 7, length: 1000 });
        let behind = memmem::find(&wire, b"\r\n\r\n").unwrap() + 4;
        for at in [behind, behind + 500, wire.len() - 6] {
            let mut spoiled = wire.clone();
            spoiled[at] ^= 1;
            assert_eq!(check(&spoiled), Some(ReceivedStamp { id: 7, whole: false }), "byte {at}");
        }
        let cut = [&wire[..behind + 80], b".\r\n"].concat();
        assert_eq!(check(&cut), Some(ReceivedStamp { id: 7, whole: false }));
    }

    #[test]
    fn headers_that_relays_put_before_it_and_dots_make_no_difference() {
        let text = b".dot\r\n..\r\nend\r\n";
        let wire = format!(
            "Received: by x\r\n\twith ESMTP\r\nX-Plimsoll: 2a {:x} {:x}\r\n\r\n..dot\r\n...\r\nend\r\n.\r\n",
            text.len(),
            crc32fast::hash(text)
        );
        assert_eq!(check(wire.as_bytes()), Some(ReceivedStamp { id: 42, whole: true }));
        assert_eq!(check(b"Subject: x\r\n\r\nX-Plimsoll: 2a 0 0\r\n.\r\n"), None);
    }
}
