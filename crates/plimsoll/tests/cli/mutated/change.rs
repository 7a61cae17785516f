//! Changes that make an input of a sample.

use std::fs;
use std::ops::Range;
use std::path::Path;
use std::process::Command;

use rand::RngExt;
use rand::rngs::StdRng;

/// Numbers at which something may overflow, or that are none.
const NUMBERS: [&str; 16] = [
    "0",
    "-1",
    "1e308",
    "1e-320",
    "1e999",
    "NaN",
    "inf",
    "4294967295",
    "4294967296",
    "9223372036854775807",
    "18446744073709551616",
    "340282366920938463463374607431768211456",
    "0.0000000000000000000000001",
    "1_000_000_000",
    "0x7fffffffffffffff",
    "99999999999999999999999999999999999999999999999999999999999999999999",
];
/// Bytes that are no UTF-8, or hard to show.
const BYTES: [&[u8]; 8] = [
    b"\xff\xfe",
    b"\xc0\x80",
    b"\xed\xa0\x80",
    b"\xf4\x90\x80\x80",
    b"\0",
    b"\x1b[2J",
    b"\xe2\x80\xae",
    b"\xcc\x81",
];
/// Beginnings of nested values.
const NESTS: [&[u8]; 6] = [b"[", b"{\"a\":", b"(", b"[[", b"{a=", b"\"\\"];
/// Largest length of a repetition: usually, and now and then.
const LONG: [usize; 2] = [64 << 10, 12 << 20];

pub(super) fn some(mut bytes: Vec<u8>, other: &[u8], random: &mut StdRng) -> Vec<u8> {
    for _ in 0..random.random_range(1..=3) {
        one(&mut bytes, other, random);
    }
    bytes
}

fn one(bytes: &mut Vec<u8>, other: &[u8], random: &mut StdRng) {
    let place = place(bytes, random);
    match random.random_range(0..9) {
        0 => flip(bytes, random),
        1 => bytes.truncate(place),
        2 => {
            bytes.truncate(place);
            bytes.extend_from_slice(&other[random.random_range(0..=other.len())..]);
        }
        3 => {
            let block = bytes[part(bytes, random)].to_vec();
            insert(bytes, place, &block, random);
        }
        4 => number(bytes, random),
        5 => insert(bytes, place, pick(&[b"a", b"7", b" ", b"\"", b"a,"], random), random),
        6 => insert(bytes, place, pick(&NESTS, random), random),
        7 => {
            let wrong = pick(&BYTES, random);
            bytes.splice(place..place, wrong.iter().copied());
        }
        _ => drop(bytes.drain(part(bytes, random))),
    }
}

/// A place in the bytes, or their end.
fn place(bytes: &[u8], random: &mut StdRng) -> usize {
    random.random_range(0..=bytes.len())
}

/// A part of the bytes: a few, or up to all.
fn part(bytes: &[u8], random: &mut StdRng) -> Range<usize> {
    let start = place(bytes, random);
    let most = if random.random_bool(0.5) { 64.min(bytes.len() - start) } else { bytes.len() - start };
    start..start + random.random_range(0..=most)
}

fn pick<'a>(of: &[&'a [u8]], random: &mut StdRng) -> &'a [u8] {
    of[random.random_range(0..of.len())]
}

/// Changes some bytes: any bit of them, or all.
fn flip(bytes: &mut [u8], random: &mut StdRng) {
    if bytes.is_empty() {
        return;
    }
    for _ in 0..random.random_range(1..=64) {
        let at = random.random_range(0..bytes.len());
        bytes[at] = if random.random_bool(0.5) {
            bytes[at] ^ 1 << random.random_range(0..8)
        } else {
            random.random()
        };
    }
}

/// Puts something there, many times.
fn insert(bytes: &mut Vec<u8>, place: usize, what: &[u8], random: &mut StdRng) {
    let long = LONG[usize::from(random.random_bool(0.05))];
    let length = random.random_range(0..=long);
    let repeated: Vec<u8> = what.iter().copied().cycle().take(length).collect();
    bytes.splice(place..place, repeated);
}

/// Puts another number in the place of one.
fn number(bytes: &mut Vec<u8>, random: &mut StdRng) {
    let digits: Vec<usize> = (0..bytes.len()).filter(|at| bytes[*at].is_ascii_digit()).collect();
    if digits.is_empty() {
        return;
    }
    let start = digits[random.random_range(0..digits.len())];
    let end = (start..bytes.len()).find(|at| !bytes[*at].is_ascii_digit()).unwrap_or(bytes.len());
    bytes.splice(start..end, NUMBERS[random.random_range(0..NUMBERS.len())].bytes());
}

/// Compresses an input of a kind that may be, now and then, and damages that.
pub(super) fn packed(bytes: Vec<u8>, may_be: bool, folder: &Path, random: &mut StdRng) -> Vec<u8> {
    if !may_be || !random.random_bool(0.2) {
        return bytes;
    }
    let program = if random.random_bool(0.5) { "gzip" } else { "zstd" };
    let plain = folder.join("plain");
    fs::write(&plain, bytes).expect("writable");
    let output = Command::new(program).args(["-q", "-c"]).arg(&plain).output().expect("it starts");
    assert!(output.status.success(), "{output:?}");
    let mut packed = output.stdout;
    match random.random_range(0..3) {
        0 => packed.truncate(place(&packed, random)),
        1 => flip(&mut packed, random),
        _ => {}
    }
    packed
}
