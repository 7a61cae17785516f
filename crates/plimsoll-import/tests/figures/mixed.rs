//! Text built from all samples: lines shuffled and repeated, units changed, columns cut, words in bold, lines quoted. No value comes out that does not
//! stand in its line, and none with another unit than the one that stands behind it there.

use plimsoll_import::figures::{self, Options};
use proptest::prelude::*;

use super::seeds;
use super::stands_in::stands_in;
use super::{names, text};

/// Spellings of units behind a number, with the units that their figures must have.
const UNITS: [(&str, &str); 18] = [
    ("ns", "ns"),
    ("nsec", "ns"),
    ("us", "us"),
    ("µs", "us"),
    ("usec", "us"),
    ("usecs", "us"),
    ("ms", "ms"),
    ("msec", "ms"),
    ("milliseconds", "ms"),
    ("s", "s"),
    ("sec", "s"),
    ("secs", "s"),
    ("seconds", "s"),
    ("Kbits/sec", "kbit/s"),
    ("Mbits/sec", "Mbit/s"),
    ("Gbits/sec", "Gbit/s"),
    ("apples", "apples"),
    ("Tbogus/sec", "Tbogus/sec"),
];

/// Brackets around units, as in `[ms]`.
const BRACKETS: [char; 5] = ['[', ']', '(', ')', ','];

#[derive(Clone, Debug)]
enum Change {
    Nothing,
    /// Another unit in place of the first.
    Unit(usize),
    /// The word at this place is cut away, with all of the line behind it.
    Cut(usize),
    Without(usize),
    Bold(usize),
    Quoted,
    Numbered,
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        4 => Just(Change::Nothing),
        2 => any::<usize>().prop_map(Change::Unit),
        1 => any::<usize>().prop_map(Change::Cut),
        1 => any::<usize>().prop_map(Change::Without),
        1 => any::<usize>().prop_map(Change::Bold),
        1 => Just(Change::Quoted),
        1 => Just(Change::Numbered),
    ]
}

fn changed(line: &str, change: &Change) -> String {
    // Blanks stay as they are, so that tables keep their columns.
    let words: Vec<&str> = line.split(' ').collect();
    let replaced = |at: usize, word: String| {
        let all = words
            .iter()
            .enumerate()
            .map(|(index, old)| if index == at { word.clone() } else { (*old).to_owned() });
        all.collect::<Vec<_>>().join(" ")
    };
    match change {
        Change::Nothing => line.to_owned(),
        Change::Unit(to) => {
            let bare = |word: &str| word.trim_matches(BRACKETS).to_owned();
            let is_unit = |word: &&str| UNITS.iter().any(|(unit, _)| *unit == bare(word));
            let at = words.iter().position(is_unit);
            at.map_or_else(
                || line.to_owned(),
                |at| replaced(at, words[at].replace(&bare(words[at]), UNITS[to % UNITS.len()].0)),
            )
        }
        Change::Cut(at) => words[..at % (words.len() + 1)].join(" "),
        Change::Without(at) => replaced(at % words.len(), String::new()),
        Change::Bold(at) => {
            let at = at % words.len();
            if words[at].is_empty() { line.to_owned() } else { replaced(at, format!("**{}**", words[at])) }
        }
        Change::Quoted => format!("> {line}"),
        Change::Numbered => format!("21:24:0{} {line}", line.len() % 10),
    }
}

/// The units behind each place where a value stands; empty where one of them has none, or one that is not known here.
fn units_behind(line: &str, value: f64) -> Vec<&'static str> {
    let mut units = Vec::new();
    for (at, _) in line.match_indices(|c: char| c.is_ascii_digit()) {
        if line[..at].ends_with(|c: char| c.is_ascii_digit() || matches!(c, '.' | ',')) {
            continue;
        }
        let rest = &line[at..];
        let end = rest.find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | ','))).unwrap_or(rest.len());
        let number = rest[..end].trim_end_matches(['.', ',']);
        if number.replace(',', ".").parse::<f64>() != Ok(value) {
            continue;
        }
        let behind = rest[number.len()..].trim_start().trim_start_matches(BRACKETS);
        let length = behind.find(|c: char| !(c.is_alphabetic() || c == '/')).unwrap_or(behind.len());
        let Some((_, unit)) = UNITS.iter().find(|(spelling, _)| *spelling == &behind[..length]) else {
            return Vec::new();
        };
        units.push(*unit);
    }
    units
}

#[test]
fn text_built_from_all_samples_never_yields_a_value_that_is_not_there_with_that_unit() {
    let of = |folder| names(folder).into_iter().map(move |name| (name.clone(), text(folder, &name)));
    let texts =
        of("samples").chain(of("documented")).chain(of("pages")).filter(|(name, _)| !name.ends_with("json"));
    let pool: Vec<Vec<String>> = texts
        .map(|(_, text)| text.lines().map(str::to_owned).collect::<Vec<_>>())
        .filter(|lines| !lines.is_empty())
        .collect();
    let piece = (any::<usize>(), any::<usize>(), 1_usize..12, proptest::collection::vec(change(), 12));
    let pieces = proptest::collection::vec(piece, 1..8);
    // Lines change their places, and are there twice.
    let moves = proptest::collection::vec((any::<usize>(), any::<usize>(), any::<bool>()), 0..6);
    let strategy = (pieces, moves);
    seeds::holds("mixed", 750, &strategy, |(pieces, moves)| {
        let mut lines: Vec<String> = Vec::new();
        for (sample, from, length, changes) in &pieces {
            let sample = &pool[sample % pool.len()];
            let from = from % sample.len();
            let taken = sample[from..].iter().take(*length).zip(changes);
            lines.extend(taken.map(|(line, change)| changed(line, change)));
        }
        for (from, to, is_copy) in moves {
            let (from, to) = (from % lines.len(), to % lines.len());
            if is_copy { lines.insert(to, lines[from].clone()) } else { lines.swap(from, to) }
        }
        let whole = lines.join("\n");
        let mut wrong = None;
        figures::stream(whole.as_bytes(), &Options::default(), &mut |figure| {
            let at = usize::try_from(figure.line).unwrap() - 1;
            // Marks of Markdown stand in numbers, and between them and their units; a wrapped line goes on in the next.
            let line = lines[at].replace("**", "").replace('\\', "");
            let mut joined = line.clone();
            for next in &lines[at + 1..] {
                let goes_on = joined.trim_end().ends_with('=');
                joined = joined.trim_end().trim_end_matches('=').to_owned() + next;
                if !goes_on {
                    break;
                }
            }
            let stands = stands_in(&line, figure.value) || stands_in(&joined, figure.value);
            let units = units_behind(&line, figure.value);
            // Other units, such as shares, may stand before words that are units elsewhere.
            let is_checked = UNITS.iter().any(|(_, unit)| *unit == figure.unit);
            let has_unit = units.is_empty() || !is_checked || units.contains(&figure.unit);
            if !stands || !has_unit {
                wrong = Some(format!("{figure:?} in {line:?}"));
            }
        })
        .unwrap();
        prop_assert!(wrong.is_none(), "{wrong:?} of\n{whole}");
        Ok(())
    });
}
