//! Units in headings. A heading with another unit changes the unit of the values below it, or nothing below it is read: no value keeps a unit that
//! the text no longer has.

use super::{names, read, text};

/// Spellings of units, with the units of their figures. Units of a row measure the same quantity, and may replace each other.
const FAMILIES: [&[(&str, &str)]; 3] = [
    &[
        ("ns", "ns"),
        ("nsec", "ns"),
        ("us", "us"),
        ("usec", "us"),
        ("usecs", "us"),
        ("ms", "ms"),
        ("msec", "ms"),
        ("milliseconds", "ms"),
        ("s", "s"),
        ("sec", "s"),
        ("secs", "s"),
        ("seconds", "s"),
        ("fortnights", "fortnights"),
    ],
    &[
        ("Kbits/sec", "kbit/s"),
        ("Mbits/sec", "Mbit/s"),
        ("Gbits/sec", "Gbit/s"),
        ("10^3bits/s", "kbit/s"),
        ("10^6bits/s", "Mbit/s"),
        ("10^9bits/s", "Gbit/s"),
        ("10^6bits/sec", "Mbit/s"),
        ("Tbogus/sec", "Tbogus/sec"),
    ],
    &[
        ("kB/s", "KiB/s"),
        ("KB/s", "KiB/s"),
        ("MB/s", "MiB/s"),
        ("KB/sec", "KiB/s"),
        ("MB/sec", "MiB/s"),
        ("KiB/s", "KiB/s"),
        ("MiB/s", "MiB/s"),
        ("Bogus/s", "Bogus/s"),
    ],
];

/// The places of a unit that stands behind a number, or of one that does not.
fn places(line: &str, spelling: &str, behind_number: bool) -> Vec<usize> {
    let is_word = |c: char| c.is_alphanumeric() || c == '/' || c == '^';
    let is_digit = |c: char| c.is_ascii_digit() || c == '.';
    line.match_indices(spelling)
        .map(|(at, _)| at)
        .filter(|at| {
            let (before, behind) = (&line[..*at], &line[at + spelling.len()..]);
            let bare = before.trim_end().trim_end_matches(['[', '(']).trim_end();
            (before.ends_with(is_digit) || !before.ends_with(is_word))
                && !behind.starts_with(is_word)
                && bare.ends_with(is_digit) == behind_number
        })
        .collect()
}

fn with_other_unit(line: &str, spelling: &str, other: &str) -> String {
    let mut changed = line.to_owned();
    for at in places(line, spelling, false).into_iter().rev() {
        changed.replace_range(at..at + spelling.len(), other);
    }
    changed
}

/// Figures of `unit` that are read although each heading with this spelling of it names `other`, and that have no unit of their own.
fn kept(text: &str, spelling: &str, unit: &str, other: &str, family: &[(&str, &str)]) -> Vec<String> {
    let Some(first) = text.lines().position(|line| !places(line, spelling, false).is_empty()) else {
        return Vec::new();
    };
    let changed: Vec<String> = text.lines().map(|line| with_other_unit(line, spelling, other)).collect();
    let has_own =
        |line: &str| family.iter().any(|(word, of)| *of == unit && !places(line, word, true).is_empty());
    let found = read(&changed.join("\n"));
    let of_unit = found.series.iter().filter(|series| series.unit == unit);
    of_unit
        .flat_map(|series| series.points.iter().map(|point| (&series.metric, point)))
        .filter_map(|(metric, point)| {
            let at = usize::try_from(point.line).unwrap() - 1;
            let line = &changed[at];
            (at >= first && !has_own(line))
                .then(|| format!("{other}: {metric} {} {unit} in {line:?}", point.value))
        })
        .collect()
}

#[test]
fn a_heading_with_another_unit_changes_what_stands_below_it() {
    let of = |folder| names(folder).into_iter().map(move |name| (name.clone(), text(folder, &name)));
    let texts = of("samples").chain(of("documented")).chain(of("pages"));
    for (name, text) in texts.filter(|(name, _)| !name.ends_with("json")) {
        for family in FAMILIES {
            for (spelling, unit) in family {
                for (other, _) in family.iter().filter(|(_, other)| other != unit) {
                    let kept = kept(&text, spelling, unit, other, family);
                    assert!(kept.is_empty(), "{name}: {spelling} -> {}", kept.join("\n"));
                }
            }
        }
    }
}
