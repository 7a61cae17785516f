//! Numbers as people write them: which of point and comma is the decimal mark, and which separates thousands.

/// The decimal mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// `108.43`, and `1,234.5` where thousands are separated.
    Point,
    /// `108,43`, and `1.234,5` where thousands are separated.
    Comma,
}

impl Mark {
    fn decimal(self) -> char {
        match self {
            Self::Point => '.',
            Self::Comma => ',',
        }
    }

    fn thousands(self) -> char {
        match self {
            Self::Point => ',',
            Self::Comma => '.',
        }
    }

    /// The name in messages, and on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Point => "point",
            Self::Comma => "comma",
        }
    }
}

/// Evidence of a piece of text on the decimal mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// A number that means the same with either mark, or by custom has a decimal point: `108`, `1e3`, `1.234`.
    Plain,
    /// A number with this decimal mark only: `12.5`, `108,43`, `1,234,567`.
    Only(Mark),
    /// A number that means one thing with a decimal point, and another with a decimal comma: `1,234`.
    Either,
    /// No number.
    Text,
}

/// Evidence of `text` on the decimal mark.
pub(crate) fn shape(text: &str) -> Shape {
    if !text.contains(',') {
        return match (parse(text, Mark::Point), parse(text, Mark::Comma)) {
            (Some(_), _) if !text.contains('.') => Shape::Plain,
            // `1.234` is one and a bit nearly everywhere; only beside a decimal comma is it a thousand.
            (Some(_), Some(_)) => Shape::Plain,
            (Some(_), None) => Shape::Only(Mark::Point),
            (None, Some(_)) => Shape::Only(Mark::Comma),
            (None, None) => Shape::Text,
        };
    }
    match (parse(text, Mark::Point), parse(text, Mark::Comma)) {
        (Some(_), Some(_)) => Shape::Either,
        (Some(_), None) => Shape::Only(Mark::Point),
        (None, Some(_)) => Shape::Only(Mark::Comma),
        (None, None) => Shape::Text,
    }
}

/// The number that `text` is with this decimal mark. Thousands may be separated by the other mark, an apostrophe, or a blank of any width, always
/// in groups of three. `None` if it is no number, or no finite one.
pub(crate) fn parse(text: &str, mark: Mark) -> Option<f64> {
    let finite = |text: &str| text.parse::<f64>().ok().filter(|value| value.is_finite());
    let simple = |byte: u8| byte.is_ascii_digit() || matches!(byte, b'+' | b'-' | b'e' | b'E');
    if text.bytes().all(|byte| simple(byte) || (byte == b'.' && mark == Mark::Point)) {
        return finite(text);
    }
    let (sign, rest) = match text.strip_prefix(['-', '\u{2212}']) {
        Some(rest) => ("-", rest),
        None => ("", text.strip_prefix('+').unwrap_or(text)),
    };
    let (mantissa, exponent) = match rest.find(['e', 'E']) {
        Some(place) => rest.split_at(place),
        None => (rest, ""),
    };
    let (whole, decimals) = mantissa.split_once(mark.decimal()).unwrap_or((mantissa, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(decimals) || (whole.is_empty() && decimals.is_empty()) {
        return None;
    }
    let whole = ungrouped(whole, mark.thousands())?;
    finite(&format!("{sign}{whole}.{decimals}0{exponent}"))
}

/// Digits without the separators between thousands: one kind of them, and groups of three behind the first, which does not begin with 0.
fn ungrouped(whole: &str, thousands: char) -> Option<String> {
    let separator = whole.chars().find(|c| !c.is_ascii_digit());
    let Some(separator) = separator else { return Some(whole.to_owned()) };
    if separator != thousands
        && !matches!(separator, ' ' | '\u{a0}' | '\u{202f}' | '\u{2009}' | '\'' | '\u{2019}')
    {
        return None;
    }
    let mut groups = whole.split(separator);
    let first = groups.next()?;
    let digits = |group: &str| group.bytes().all(|byte| byte.is_ascii_digit());
    let leads = (1..=3).contains(&first.len()) && !first.starts_with('0') && digits(first);
    (leads && groups.all(|group| group.len() == 3 && digits(group))).then(|| whole.split(separator).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_read_by_its_decimal_mark() {
        for (text, point, comma) in [
            ("108", Some(108.0), Some(108.0)),
            ("-1.5e3", Some(-1500.0), None),
            ("108,43", None, Some(108.43)),
            ("-0,5", None, Some(-0.5)),
            ("1,5e-3", None, Some(0.0015)),
            ("1,234", Some(1234.0), Some(1.234)),
            ("1.234", Some(1.234), Some(1234.0)),
            ("1,234,567", Some(1_234_567.0), None),
            ("1,234.5", Some(1234.5), None),
            ("1.234,5", None, Some(1234.5)),
            ("1'234.5", Some(1234.5), None),
            ("1 234,5", None, Some(1234.5)),
            ("1\u{a0}234\u{202f}567", None, None),
            ("\u{2212}3", Some(-3.0), Some(-3.0)),
            ("12,34,567", None, None),
            ("0,123", None, Some(0.123)),
            (",5", None, Some(0.5)),
            ("5,", None, Some(5.0)),
            (",", None, None),
            ("", None, None),
            ("1,2,3", None, None),
            ("nan", None, None),
            ("inf", None, None),
            ("1e999", None, None),
            ("many", None, None),
            ("12ms", None, None),
        ] {
            assert_eq!((parse(text, Mark::Point), parse(text, Mark::Comma)), (point, comma), "{text}");
        }
    }

    #[test]
    fn what_a_number_says_about_the_mark_is_certain_only_where_the_other_reading_is_none() {
        for (text, expected) in [
            ("108", Shape::Plain),
            ("1.234", Shape::Plain),
            ("12.5", Shape::Only(Mark::Point)),
            ("1.234.567", Shape::Only(Mark::Comma)),
            ("108,43", Shape::Only(Mark::Comma)),
            ("0,123", Shape::Only(Mark::Comma)),
            ("1234,567", Shape::Only(Mark::Comma)),
            ("1,234,567", Shape::Only(Mark::Point)),
            ("1,234", Shape::Either),
            ("1,2,3", Shape::Text),
            ("n", Shape::Text),
        ] {
            assert_eq!(shape(text), expected, "{text}");
        }
    }
}
