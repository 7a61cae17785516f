//! Damaged samples: read or refused, never a panic, and never a value that does not stand in the line that it is said to stand in.

use std::thread;

use plimsoll_import::figures::{self, Options};
use proptest::prelude::*;

use super::seeds;
use super::stands_in::stands_in;
use super::{names, text};

/// Replacements for words.
const ODD: [&str; 22] = [
    "",
    "-1",
    "1e999",
    "NaN",
    "inf",
    "0,5",
    "1.2.3",
    "größe",
    "\u{202e}",
    "[000]",
    "all",
    ":",
    "21:24:05",
    "us",
    "{",
    "]",
    "\"",
    "99999999999999999999999999",
    "-0",
    "1e-320",
    "%",
    "=",
];

#[derive(Clone, Debug)]
enum Damage {
    Drop(usize),
    Twice(usize),
    Swap(usize, usize),
    Word(usize, usize, usize),
    Cut(usize),
    /// A byte of another encoding.
    Byte(usize, u8),
    /// All of it again.
    Repeat,
}

fn damage() -> impl Strategy<Value = Damage> {
    prop_oneof![
        any::<usize>().prop_map(Damage::Drop),
        any::<usize>().prop_map(Damage::Twice),
        any::<(usize, usize)>().prop_map(|(a, b)| Damage::Swap(a, b)),
        any::<(usize, usize, usize)>().prop_map(|(line, word, odd)| Damage::Word(line, word, odd)),
        any::<usize>().prop_map(Damage::Cut),
        any::<(usize, u8)>().prop_map(|(at, byte)| Damage::Byte(at, byte)),
        Just(Damage::Repeat),
    ]
}

fn damaged(text: &[u8], all: &[Damage]) -> Vec<u8> {
    let mut lines: Vec<Vec<u8>> = text.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
    for one in all {
        let n = lines.len();
        match *one {
            Damage::Drop(at) if n > 1 => drop(lines.remove(at % n)),
            Damage::Drop(_) => {}
            Damage::Twice(at) => lines.insert(at % n, lines[at % n].clone()),
            Damage::Swap(a, b) => lines.swap(a % n, b % n),
            Damage::Word(line, word, odd) => {
                let line = &mut lines[line % n];
                let mut words: Vec<&[u8]> = line.split(|byte| *byte == b' ').collect();
                let at = word % words.len();
                words[at] = ODD[odd % ODD.len()].as_bytes();
                *line = words.join(&b' ');
            }
            Damage::Cut(at) => {
                let all = lines.join(&b'\n');
                lines =
                    all[..at % (all.len() + 1)].split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
            }
            Damage::Byte(line, byte) if byte != 0 => {
                let line = &mut lines[line % n];
                let at = usize::from(byte) % (line.len() + 1);
                line.insert(at, byte);
            }
            Damage::Byte(..) => {}
            Damage::Repeat if n < 200 => lines.extend(lines.clone()),
            Damage::Repeat => {}
        }
    }
    lines.join(&b'\n')
}

#[test]
fn damaged_samples_never_panic_and_never_yield_a_value_that_is_not_there() {
    let of = |folder| names(folder).into_iter().map(move |name| (name.clone(), text(folder, &name)));
    let all: Vec<(String, String)> = of("samples").chain(of("documented")).chain(of("pages")).collect();
    let threads = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for first in 0..threads {
            let own = all.iter().skip(first).step_by(threads);
            scope.spawn(move || own.for_each(|(name, sample)| holds_when_damaged(name, sample)));
        }
    });
}

fn holds_when_damaged(name: &str, sample: &str) {
    seeds::holds(name, 50, &proptest::collection::vec(damage(), 1..6), |damage| {
        let bytes = damaged(sample.as_bytes(), &damage);
        let lossy = String::from_utf8_lossy(&bytes);
        let lines: Vec<&str> = lossy.split('\n').collect();
        let mut wrong = None;
        let read = figures::stream(bytes.as_slice(), &Options::default(), &mut |figure| {
            // A line that was wrapped goes on in the next, with or without the mark of quoted-printable text.
            let at = usize::try_from(figure.line).unwrap_or(0).wrapping_sub(1);
            // Markdown escapes the points of numbers, and may set a part of one in bold.
            let line = lines.get(at).map(|line| line.replace('\\', "").replace("**", ""));
            let line = line.as_deref();
            let wrapped = || {
                let ends = line.is_some_and(|line| line.trim_end().ends_with(['=', ':']));
                let next = lines.get(at + 1).filter(|_| ends);
                let joined = line
                    .zip(next)
                    .map(|(line, next)| line.trim_end().trim_end_matches('=').to_owned() + next);
                joined.is_some_and(|joined| stands_in(&joined, figure.value))
            };
            if !line.is_some_and(|line| stands_in(line, figure.value)) && !wrapped() {
                wrong = Some(format!("{figure:?} in {line:?}"));
            }
        });
        prop_assert!(read.is_ok(), "{read:?}");
        prop_assert!(wrong.is_none(), "{wrong:?}");
        Ok(())
    });
}

#[test]
fn anything_is_read_or_refused() {
    seeds::holds("bytes", 125, &proptest::collection::vec(any::<u8>(), 0..400), |bytes| {
        let mut figures = 0;
        if let Ok(coverage) = figures::stream(bytes.as_slice(), &Options::default(), &mut |_| figures += 1) {
            prop_assert_eq!(coverage.figures, figures);
        }
        Ok(())
    });
}
