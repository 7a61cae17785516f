//! Readers made of patterns: lines as a tool prints them, with a name in braces where a figure or a label stands.
//!
//! | in braces | matches |
//! | --- | --- |
//! | `{latency,stat=max us}` | a number: a figure with these labels and this unit |
//! | `{requests ~}`, `{rate ~1/s}` | a number, perhaps with a prefix of thousands behind a blank (`1.5 k`), which multiplies it |
//! | `{latency ?}` | a number and its unit, which is kept; the line does not fit where the unit is unknown |
//! | `{time dur}` | a duration of several units (`1m6s`), in seconds |
//! | `{@device}`, `{@device*}` | a word, or any text: a label of the figures of this line |
//! | `{@bucket#}` | a number without the zeros at its end: a label of the figures of this line |
//! | `{^device}` | a word: a label of the figures of this line and of the following |
//! | `{^of=wakeup}` | nothing: sets the label of the following lines |
//! | `{#}`, `{_}`, `{...}` | a number, a word, any text, which are not kept |
//!
//! A blank matches any number of blanks. A pattern begins with `^` where its line is the first of a call, with `+` where its figures come again in one
//! call, with `-` where its line is recognised inside of other output of the tool only. One with `!` is a heading with other units than the readers
//! know: no figure behind it is read.

use std::borrow::Cow;

use super::format::{Fit, Out, Reader, Start};
use super::line::Line;
use super::number::{duration, leading, number};
use super::unit;

/// Match of a pattern in a line.
enum Capture<'t> {
    Figure { metric: &'static str, labels: &'static str, value: f64, unit: &'static str },
    Label(&'static str, Cow<'t, str>),
    Kept(&'static str, Cow<'t, str>),
}

/// Whether a line fits a pattern from its beginning to its end; with what was found.
fn captures<'t>(pattern: &'static str, text: &'t str) -> Option<Vec<Capture<'t>>> {
    let mut found = Vec::new();
    fits(pattern.strip_prefix(['^', '+', '-', '!']).unwrap_or(pattern), text, &mut found).then_some(found)
}

fn fits<'t>(pattern: &'static str, text: &'t str, found: &mut Vec<Capture<'t>>) -> bool {
    let Some(first) = pattern.chars().next() else { return text.trim_end().is_empty() };
    let behind = &pattern[first.len_utf8()..];
    match first {
        ' ' => fits(behind.trim_start(), text.trim_start(), found),
        '{' => behind.split_once('}').is_some_and(|(name, rest)| captured(name, rest, text, found)),
        _ => text.strip_prefix(first).is_some_and(|text| fits(behind, text, found)),
    }
}

fn captured<'t>(name: &'static str, rest: &'static str, text: &'t str, found: &mut Vec<Capture<'t>>) -> bool {
    let before = found.len();
    let with = |capture: Option<Capture<'t>>, text: &'t str, found: &mut Vec<Capture<'t>>| {
        found.truncate(before);
        found.extend(capture);
        fits(rest, text, found)
    };
    if let Some((label, value)) = name.strip_prefix('^').and_then(|name| name.split_once('=')) {
        return with(Some(Capture::Kept(label, value.into())), text, found);
    }
    let any = name == "..." || name.ends_with('*');
    if any || name == "_" || name.starts_with(['@', '^']) {
        let longest = if any { text.len() } else { text.find(char::is_whitespace).unwrap_or(text.len()) };
        // A word in front of a blank is a whole one.
        let whole = !any && (rest.is_empty() || rest.starts_with(' '));
        let shortest = if whole { longest.max(1) } else { usize::from(!any) };
        let mut ends = (shortest..=longest).filter(|end| text.is_char_boundary(*end));
        return ends.any(|end| {
            let label = name.trim_start_matches(['@', '^']).trim_end_matches(['*', '#']);
            let mut value = Cow::Borrowed(text[..end].trim());
            if name.ends_with('#') {
                let Some(number) = number(&value) else { return false };
                value = Cow::Owned(number.to_string());
            }
            let capture = match name.as_bytes().first() {
                Some(b'@') => Some(Capture::Label(label, value)),
                Some(b'^') => Some(Capture::Kept(label, value)),
                _ => None,
            };
            with(capture, &text[end..], found)
        });
    }
    let (figure, its_unit) = name.split_once(' ').unwrap_or((name, ""));
    let Some((value, its_unit, behind)) = value(its_unit, text) else { return false };
    let (metric, labels) = figure.split_once(',').unwrap_or((figure, ""));
    let capture = (figure != "#").then_some(Capture::Figure { metric, labels, value, unit: its_unit });
    // A number that goes on in a word is not the number that the pattern means.
    let goes_on =
        behind.starts_with(|c: char| c.is_alphanumeric()) && !rest.starts_with(|c: char| c.is_alphanumeric());
    !goes_on && with(capture, behind, found)
}

/// A value at the beginning of a text, with its unit and what stands behind.
fn value<'t>(its_unit: &'static str, text: &'t str) -> Option<(f64, &'static str, &'t str)> {
    if its_unit == "dur" {
        let (value, behind) = duration(text)?;
        return Some((value, "s", behind));
    }
    let (value, behind) = leading(text)?;
    if let Some(of) = its_unit.strip_prefix('~') {
        let thousands = [(" k ", 1e3), (" M ", 1e6), (" G ", 1e9)];
        let prefix = thousands.into_iter().find(|(prefix, _)| behind.starts_with(prefix));
        let (length, factor) = prefix.map_or((0, 1.0), |(prefix, factor)| (prefix.len() - 1, factor));
        return Some((value * factor, of, &behind[length..]));
    }
    if its_unit != "?" {
        return Some((value, its_unit, behind));
    }
    let word = behind.trim_start();
    let end = word.find(|c: char| !(c.is_alphabetic() || matches!(c, '/' | '%'))).unwrap_or(word.len());
    Some((value, unit::any(&word[..end])?, &word[end..]))
}

/// Where in a tool's output a line stands, if it is one of these patterns.
pub(super) fn start(patterns: &'static [&'static str], line: &Line<'_>) -> Option<Start> {
    patterns.iter().filter(|pattern| !pattern.starts_with(['-', '!'])).find_map(|pattern| {
        let found = captures(pattern, line.text)?;
        let head = pattern.starts_with('^');
        let figures = found.iter().any(|capture| matches!(capture, Capture::Figure { .. }));
        if head { Some(Start::Head) } else { figures.then_some(Start::Within) }
    })
}

/// A reader of the lines that fit these patterns.
pub(super) fn reader(patterns: &'static [&'static str]) -> Box<dyn Reader> {
    Box::new(Rules { patterns, kept: Vec::new(), seen: Vec::new(), other_units: false })
}

struct Rules {
    patterns: &'static [&'static str],
    kept: Vec<(&'static str, String)>,
    /// Figures of this call, by name and labels.
    seen: Vec<String>,
    /// A heading has named units that are not known.
    other_units: bool,
}

impl Reader for Rules {
    fn line(&mut self, line: &Line<'_>, out: &mut Out<'_>) -> Fit {
        let fitting = |pattern: &&'static str| Some((*pattern, captures(pattern, line.text)?));
        let Some((pattern, found)) = self.patterns.iter().find_map(fitting) else { return Fit::Foreign };
        let has_figures = found.iter().any(|capture| matches!(capture, Capture::Figure { .. }));
        self.other_units |= pattern.starts_with('!');
        if pattern.starts_with('!') || (self.other_units && has_figures) {
            return out.refuse("the heading names units that are not known");
        }
        let mut kept = self.kept.clone();
        for capture in &found {
            if let Capture::Kept(name, value) = capture {
                kept.retain(|(other, _)| other != name);
                kept.push((name, value.to_string()));
            }
        }
        let own = found.iter().filter_map(|capture| match capture {
            Capture::Label(name, value) => Some((*name, &**value)),
            _ => None,
        });
        let common: Vec<(&'static str, &str)> = kept
            .iter()
            .map(|(name, value)| (*name, value.as_str()))
            .filter(|(_, value)| !value.is_empty())
            .chain(own)
            .collect();
        let mut figures = Vec::new();
        for capture in &found {
            if let Capture::Figure { metric, labels, value, unit } = capture {
                let fixed = labels.split(',').filter_map(|label| label.split_once('='));
                let all: Vec<(&'static str, &str)> = common.iter().copied().chain(fixed).collect();
                figures.push((*metric, all, *value, *unit));
            }
        }
        if let Some(why) = impossible(&figures) {
            return out.refuse(why);
        }
        if !pattern.starts_with('+') {
            let keys: Vec<String> =
                figures.iter().map(|(metric, labels, ..)| format!("{metric} {labels:?}")).collect();
            if keys.iter().any(|key| self.seen.contains(key)) {
                return Fit::Next;
            }
            self.seen.extend(keys);
        }
        for (metric, labels, value, its_unit) in &figures {
            out.put(metric, *value, its_unit, labels);
        }
        self.kept = kept;
        Fit::Mine
    }
}

/// A figure of a line: its metric, labels, value and unit.
type LineFigure<'t> = (&'static str, Vec<(&'static str, &'t str)>, f64, &'static str);

/// Why the figures of a line cannot be: a loss of more than all, or a minimum above its mean or maximum.
fn impossible(figures: &[LineFigure<'_>]) -> Option<String> {
    let is_loss = |(metric, _, _, unit): &&LineFigure<'_>| (*metric, *unit) == ("loss", "%");
    if let Some((_, _, loss, _)) = figures.iter().find(is_loss).filter(|(_, _, loss, _)| *loss > 100.0) {
        return Some(format!("impossible: a loss of {loss} %"));
    }
    let stat = |wanted: &str| {
        let of = |(_, labels, ..): &&LineFigure<'_>| labels.contains(&("stat", wanted));
        figures.iter().find(of).map(|(_, _, value, unit)| (*value, *unit))
    };
    for (low, high) in [("min", "max"), ("min", "mean"), ("mean", "max")] {
        if let (Some((least, of)), Some((most, and))) = (stat(low), stat(high))
            && of == and
            && least > most
        {
            return Some(format!("impossible: the {low} of {least} {of} is above the {high} of {most}"));
        }
    }
    None
}

/// Why the parts of a processor's time cannot be: one is no share, or all together are more than the whole.
pub(super) fn impossible_shares(shares: impl Iterator<Item = f64>) -> Option<String> {
    /// Rounding of up to a dozen parts to whole per cents.
    const ROUNDING: f64 = 5.0;
    let mut sum = 0.0;
    for share in shares {
        if !(0.0..=100.5).contains(&share) {
            return Some(format!("impossible: {share} % of a processor's time"));
        }
        sum += share;
    }
    (sum > 100.0 + ROUNDING)
        .then(|| format!("impossible: the parts of a processor's time are {sum:.1} % together"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pattern: &'static str, text: &str) -> Option<Vec<String>> {
        let each = |capture: &Capture<'_>| match capture {
            Capture::Figure { metric, labels, value, unit } => format!("{metric} {labels} {value} {unit}"),
            Capture::Label(name, value) => format!("{name}={value}"),
            Capture::Kept(name, value) => format!("^{name}={value}"),
        };
        captures(pattern, text).map(|found| found.iter().map(each).collect())
    }

    #[test]
    fn patterns_find_figures_and_labels_and_refuse_other_units() {
        let min = "T: {@thread} ( {_}) Min: {latency,stat=min us}";
        assert_eq!(read(min, "T: 0 ( 1946) Min:   1").unwrap(), ["thread=0", "latency stat=min 1 us"]);
        assert!(read(min, "T: 0 ( 1946) Min:   1ms").is_none());
        assert_eq!(read("{@name*} took {time ?}", "a b took 5 ms").unwrap(), ["name=a b", "time  5 ms"]);
        assert!(read("{@name*} took {time ?}", "a b took 5 apples").is_none());
        assert_eq!(read("real {time dur}", "real\t1m6.5s").unwrap(), ["time  66.5 s"]);
        assert!(read("{#} ops", "12 ops more").is_none());
        assert_eq!(
            read("{@a} {@b} {@c*}", "a.out [kernel] f g").unwrap(),
            ["a=a.out", "b=[kernel]", "c=f g"]
        );
        assert!(read("{@a} {@b}", "one").is_none());
        assert_eq!(read("{@a#}, {b}", "5, 6").unwrap(), ["a=5", "b  6 "]);
        assert!(read("{@a#}, {b}", "Return=0, 6").is_none());
    }

    #[test]
    fn impossible_shares_are_named() {
        assert!(impossible_shares([19.0, 892.0].into_iter()).unwrap().contains("892"));
        assert!(impossible_shares([60.0, 60.0].into_iter()).unwrap().contains("120"));
        assert!(impossible_shares([33.4, 33.4, 33.4].into_iter()).is_none());
    }
}
