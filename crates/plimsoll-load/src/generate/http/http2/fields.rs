//! Header fields (HPACK, RFC 7541): those of a request, and the status of an answer.

use std::net::SocketAddr;

use plimsoll_model::observation::ErrorKind;

/// Where a field stands whose value is the rest of it, in the static table (appendix A).
const METHOD_GET: u8 = 2;
const PATH_ROOT: u8 = 4;
const SCHEME_HTTP: u8 = 6;
const SCHEME_HTTPS: u8 = 7;
/// Where names stand in it.
const AUTHORITY: u64 = 1;
const PATH: u64 = 4;
const ACCEPT: u64 = 19;
const USER_AGENT: u64 = 58;
/// The statuses that stand there with their values, from 8 on.
const STATUSES: [u16; 7] = [200, 204, 206, 304, 400, 404, 500];
const FIRST_STATUS: u64 = 8;

/// The first bits of a field whose name and value stand in a table (section 6.1).
const INDEXED: u8 = 0x80;

/// The fields of a GET for a path.
pub(super) fn request(tls: bool, target: &SocketAddr, path: &str) -> Vec<u8> {
    let scheme = if tls { SCHEME_HTTPS } else { SCHEME_HTTP };
    let mut out = vec![INDEXED | METHOD_GET, INDEXED | scheme];
    if path == "/" {
        out.push(INDEXED | PATH_ROOT);
    } else {
        literal(&mut out, PATH, path);
    }
    literal(&mut out, AUTHORITY, &target.to_string());
    literal(&mut out, USER_AGENT, "plimsoll");
    literal(&mut out, ACCEPT, "*/*");
    out
}

/// A field whose name stands in the table, and that is not to be put there (section 6.2.2).
fn literal(out: &mut Vec<u8>, name: u64, value: &str) {
    integer(out, 4, name);
    integer(out, 7, value.len() as u64);
    out.extend_from_slice(value.as_bytes());
}

/// Writes a number into the last `bits` bits of a byte, and into as many further bytes as it takes (section 5.1). The
/// bits before it are 0.
fn integer(out: &mut Vec<u8>, bits: u32, number: u64) {
    let most = (1_u64 << bits) - 1;
    if number < most {
        return out.push(number as u8);
    }
    out.push(most as u8);
    let mut left = number - most;
    while left >= 0x80 {
        out.push(left as u8 | 0x80);
        left >>= 7;
    }
    out.push(left as u8);
}

/// Reads the number in the last `bits` bits of the first byte, and returns it with the rest.
fn read_integer(bytes: &[u8], bits: u32) -> Option<(u64, &[u8])> {
    let (&first, mut rest) = bytes.split_first()?;
    let most = (1_u64 << bits) - 1;
    let mut number = u64::from(first) & most;
    if number < most {
        return Some((number, rest));
    }
    for shift in (0..28).step_by(7) {
        let (&next, tail) = rest.split_first()?;
        rest = tail;
        number += u64::from(next & 0x7f) << shift;
        if next & 0x80 == 0 {
            return Some((number, rest));
        }
    }
    None
}

/// The status of an answer, which is the only field of it that may begin with a colon, and comes before the others (RFC 9113, section 8.3).
pub(super) fn status(block: &[u8]) -> Result<u16, ErrorKind> {
    read_status(block).ok_or(ErrorKind::Garbage)
}

fn read_status(mut block: &[u8]) -> Option<u16> {
    // Changes of the table's size come first (RFC 7541, section 4.2).
    while block.first()? & 0xe0 == 0x20 {
        (_, block) = read_integer(block, 5)?;
    }
    let first = *block.first()?;
    if first & INDEXED != 0 {
        let (place, _) = read_integer(block, 7)?;
        return STATUSES.get(usize::try_from(place.checked_sub(FIRST_STATUS)?).ok()?).copied();
    }
    let (name, rest) = read_integer(block, if first & 0x40 == 0 { 4 } else { 6 })?;
    let rest = match name {
        0 => {
            let (name, rest) = text(rest)?;
            (name == b":status").then_some(rest)?
        }
        name => STATUSES.get(usize::try_from(name.checked_sub(FIRST_STATUS)?).ok()?).map(|_| rest)?,
    };
    let (value, _) = text(rest)?;
    std::str::from_utf8(&value).ok()?.parse().ok().filter(|status| (100..1000).contains(status))
}

/// A text (section 5.2), and what follows it. Of texts in the Huffman code only digits are known: nothing else is looked for.
fn text(bytes: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let huffman = bytes.first()? & 0x80 != 0;
    let (length, rest) = read_integer(bytes, 7)?;
    let (value, rest) = rest.split_at_checked(usize::try_from(length).ok()?)?;
    Some((if huffman { digits(value)? } else { value.to_vec() }, rest))
}

/// Digits in the Huffman code (appendix B): 0 to 2 have five bits, 3 to 9 six.
fn digits(coded: &[u8]) -> Option<Vec<u8>> {
    let mut found = Vec::new();
    let (mut bits, mut number) = (0_u32, 0_u32);
    for byte in coded {
        bits = bits << 8 | u32::from(*byte);
        number += 8;
        loop {
            let five = number.checked_sub(5).map(|left| (bits >> left & 0x1f, left));
            let six = number.checked_sub(6).map(|left| (bits >> left & 0x3f, left));
            let (digit, left) = match (five, six) {
                (Some((code @ 0..=2, left)), _) => (code, left),
                (_, Some((code @ 0x19..=0x1f, left))) => (code - 0x19 + 3, left),
                _ => break,
            };
            found.push(b'0' + digit as u8);
            number = left;
        }
    }
    // The rest are the first bits of the code that means the end: ones, and fewer than eight.
    let rest = (1 << number) - 1;
    (number < 8 && bits & rest == rest).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_standard() {
        // RFC 7541, appendix C.1.
        let cases: [(u32, u64, &[u8]); 3] = [(5, 10, &[10]), (5, 1337, &[31, 154, 10]), (8, 42, &[42])];
        for (bits, number, bytes) in cases {
            let mut out = Vec::new();
            integer(&mut out, bits, number);
            assert_eq!(out, bytes);
            assert_eq!(read_integer(bytes, bits), Some((number, &[][..])));
        }
        assert_eq!(read_integer(&[31, 154], 5), None, "it breaks off");
        assert_eq!(read_integer(&[31, 255, 255, 255, 255, 255], 5), None, "it has no end");
    }

    #[test]
    fn a_status_is_read_however_it_is_coded() {
        let cases: [(&[u8], u16); 8] = [
            (&[0x88, 0x61], 200),
            (&[0x8d], 404),
            // RFC 7541, appendix C.5.1 and C.6.1: 302 as it is, and in the Huffman code.
            (&[0x48, 0x03, 0x33, 0x30, 0x32, 0x58], 302),
            (&[0x48, 0x82, 0x64, 0x02, 0x58], 302),
            // C.6.2: 307.
            (&[0x48, 0x83, 0x64, 0x0e, 0xff], 307),
            // The table is given up before, and the name is written out.
            (&[0x20, 0x00, 7, b':', b's', b't', b'a', b't', b'u', b's', 3, b'5', b'0', b'3'], 503),
            (&[0x3f, 0xe1, 0x1f, 0x88], 200),
            (&[0x08, 0x03, b'4', b'2', b'9'], 429),
        ];
        for (block, expected) in cases {
            assert_eq!(status(block), Ok(expected), "{block:x?}");
        }
    }

    #[test]
    fn what_is_no_status_is_garbage() {
        let cases: [&[u8]; 7] = [
            &[],
            &[0x82],
            &[0x8f],
            &[0xbe],
            &[0x48, 0x03, b'2'],
            &[0x48, 0x02, b'2', b'x'],
            &[0x48, 0x81, 0xff],
        ];
        for block in cases {
            assert_eq!(status(block), Err(ErrorKind::Garbage), "{block:x?}");
        }
    }
}
