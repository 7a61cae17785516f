//! Numbers as tools print them.

/// The decimal mark of a number in a list or a table that no known tool wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decimal {
    /// `108.43`
    Point,
    /// `108,43`
    Comma,
}

/// A whole word as a number: `12`, `-3.5`, `1e-3`, `12,50` as tools print it where the language has decimal commas, and `1,234,567` or `1,234.5` with
/// separated thousands. A single comma stands before decimals: no tool that is read here separates thousands in numbers that could be meant.
pub(super) fn number(word: &str) -> Option<f64> {
    let bytes = word.as_bytes();
    if let Some(value) = short(bytes) {
        return Some(value);
    }
    let first = *bytes.first()?;
    if !(first.is_ascii_digit() || matches!(first, b'-' | b'+' | b'.')) {
        return None;
    }
    let mut commas = 0;
    let mut point = false;
    for byte in bytes {
        match byte {
            b'0'..=b'9' | b'+' | b'-' | b'e' | b'E' => {}
            b',' => commas += 1,
            b'.' => point = true,
            _ => return None,
        }
    }
    let value: f64 = match (commas, point) {
        (0, _) => word.parse().ok()?,
        (1, false) if has_whole(word.split_once(',')?.0) => word.replace(',', ".").parse().ok()?,
        (1, false) => return None,
        _ => without_thousands(word)?.parse().ok()?,
    };
    value.is_finite().then_some(value)
}

/// Whether what stands before a decimal comma ends with a digit. Without one it is a comma of the text: `,2` for 0.2 is not written.
fn has_whole(before: &str) -> bool {
    before.ends_with(|last: char| last.is_ascii_digit())
}

/// The most digits of a number that is read at once.
const AT_ONCE: usize = 15;
/// The powers of ten that are exact as a float, up to the digits that are read at once.
const TENS: [f64; AT_ONCE + 1] = {
    let mut tens = [1.0; AT_ONCE + 1];
    let mut at = 1;
    while at <= AT_ONCE {
        tens[at] = tens[at - 1] * 10.0;
        at += 1;
    }
    tens
};

/// A number of few digits, with one decimal mark or none, which is what nearly all are. Its digits and the power of ten are whole as floats, so that
/// their quotient is the float next to the number (Clinger, "How to read floating point numbers accurately", 1990).
fn short(bytes: &[u8]) -> Option<f64> {
    let (negative, digits) = match bytes {
        [b'-', rest @ ..] => (true, rest),
        rest => (false, rest),
    };
    if digits.is_empty() || digits.len() > AT_ONCE + 1 {
        return None;
    }
    let (mut whole, mut mark) = (0_u64, None);
    for (at, byte) in digits.iter().enumerate() {
        match byte {
            b'0'..=b'9' => whole = whole * 10 + u64::from(byte - b'0'),
            b'.' | b',' if mark.is_none() && at > 0 && at + 1 < digits.len() => mark = Some(at),
            _ => return None,
        }
    }
    let decimals = mark.map_or(0, |mark| digits.len() - mark - 1);
    if digits.len() - usize::from(mark.is_some()) > AT_ONCE {
        return None;
    }
    let value = whole as f64 / TENS[decimals];
    Some(if negative { -value } else { value })
}

/// `1,234,567.8` without its commas, where they stand in groups of three before the point.
fn without_thousands(word: &str) -> Option<String> {
    let (whole, decimals) = word.split_once('.').unwrap_or((word, ""));
    let mut groups = whole.trim_start_matches(['-', '+']).split(',');
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let first = groups.next()?;
    // Zero thousands are not written: `0,123` has decimals.
    let of_nothing = whole.contains(',') && first.starts_with('0');
    let fits = (1..=3).contains(&first.len())
        && digits(first)
        && !of_nothing
        && groups.all(|group| group.len() == 3 && digits(group))
        && !decimals.contains(',');
    fits.then(|| word.replace(',', ""))
}

/// A number that a person or an unknown program wrote, with this decimal mark. Without it, what could be either (`1,234`) is no number.
pub(super) fn plain(word: &str, decimal: Option<Decimal>) -> Option<f64> {
    let Some((whole, rest)) = word.split_once(',') else {
        // `1.234.567` has points between thousands.
        let thousands = decimal == Some(Decimal::Comma) && word.contains('.');
        return if thousands { number(&without_thousands(&word.replace('.', ","))?) } else { number(word) };
    };
    match decimal {
        Some(Decimal::Comma) if !has_whole(whole) => None,
        Some(Decimal::Comma) => {
            let whole = if whole.contains('.') {
                without_thousands(&whole.replace('.', ","))?
            } else {
                whole.to_owned()
            };
            number(&format!("{whole}.{rest}"))
        }
        Some(Decimal::Point) => number(&without_thousands(word)?),
        None => {
            let either = rest.len() == 3 && without_thousands(word).is_some();
            if either { None } else { number(word) }
        }
    }
}

/// A number at the beginning of a word, and what stands behind it: `13.02k` is 13.02 and `k`.
pub(super) fn leading(word: &str) -> Option<(f64, &str)> {
    let bytes = word.as_bytes();
    let mut end = usize::from(matches!(bytes.first()?, b'-' | b'+'));
    while end < bytes.len() && (bytes[end].is_ascii_digit() || matches!(bytes[end], b'.' | b',')) {
        end += 1;
    }
    if let [b'e' | b'E', rest @ ..] = &bytes[end..] {
        let sign = usize::from(matches!(rest.first(), Some(b'-' | b'+')));
        let digits = rest[sign..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        end += if digits > 0 { 1 + sign + digits } else { 0 };
    }
    let figure = word[..end].trim_end_matches(['.', ',']);
    Some((number(figure)?, &word[figure.len()..]))
}

/// A count with a prefix of thousands: `13.02k` is 13020.
pub(super) fn count(word: &str) -> Option<f64> {
    let (value, behind) = leading(word)?;
    let factor = match behind {
        "" => 1.0,
        "k" | "K" => 1e3,
        "M" => 1e6,
        "G" => 1e9,
        _ => return None,
    };
    let value = value * factor;
    value.is_finite().then_some(value)
}

/// Seconds of a duration of several units at the beginning of a word (`1m6s`, `0m15.659s`, `1h2m`), and what stands behind it.
pub(super) fn duration(word: &str) -> Option<(f64, &str)> {
    const UNITS: [(&str, f64); 6] =
        [("h", 3600.0), ("ms", 1e-3), ("m", 60.0), ("µs", 1e-6), ("us", 1e-6), ("s", 1.0)];
    let (mut sum, mut rest, mut last) = (0.0, word, f64::INFINITY);
    while rest.starts_with(|c: char| c.is_ascii_digit()) {
        let (value, behind) = leading(rest)?;
        let (name, seconds) =
            UNITS.iter().find(|(name, seconds)| behind.starts_with(name) && *seconds < last)?;
        // Parts of a second stand alone.
        if *seconds < 1.0 && last.is_finite() {
            return None;
        }
        sum += value * seconds;
        (rest, last) = (&behind[name.len()..], *seconds);
        // Only the last of several units has decimals.
        if value.fract() != 0.0 && rest.starts_with(|c: char| c.is_ascii_digit()) {
            return None;
        }
    }
    last.is_finite().then_some((sum, rest))
}

/// Seconds since midnight of a time of day: `21:24:01`, `21:24` or `09:24:01 PM`, the half of the day in `half`.
pub(super) fn clock(word: &str, half: Option<&str>) -> Option<f64> {
    let mut parts = word.split(':');
    let mut part = |below: u32| -> Option<u32> {
        let text = parts.next()?;
        let fits = (1..=2).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
        fits.then(|| text.parse().ok())?.filter(|value| *value < below)
    };
    let (hour, minute) = (part(24)?, part(60)?);
    let second = if word.matches(':').count() > 1 { part(61)? } else { 0 };
    if word.matches(':').count() > 2 {
        return None;
    }
    let hour = match half {
        Some("PM") if hour < 12 => hour + 12,
        Some("AM") if hour == 12 => 0,
        _ => hour,
    };
    Some(f64::from(hour * 3600 + minute * 60 + second))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_tools_print_them() {
        for (word, value) in [
            ("12", Some(12.0)),
            ("-3.5", Some(-3.5)),
            ("1e-3", Some(0.001)),
            (".5", Some(0.5)),
            ("12,50", Some(12.5)),
            ("0,123", Some(0.123)),
            ("1,234,567", Some(1_234_567.0)),
            ("1,234.5", Some(1234.5)),
            ("1,23,456", None),
            ("1.2.3", None),
            ("nan", None),
            ("-nan", None),
            ("inf", None),
            ("1e999", None),
            ("", None),
            ("-", None),
            ("-,2", None),
            (",2", None),
            ("12ms", None),
            ("21:24", None),
        ] {
            assert_eq!(number(word), value, "{word}");
        }
        assert_eq!(plain("-,2", Some(Decimal::Comma)), None);
        assert_eq!(plain("-1,2", Some(Decimal::Comma)), Some(-1.2));
    }

    proptest::proptest! {
        #[test]
        fn what_is_read_at_once_is_what_the_library_reads(word in "-?[0-9]{1,17}([.,][0-9]{1,17})?") {
            if let Some(value) = short(word.as_bytes()) {
                let read: f64 = word.replace(',', ".").parse().unwrap();
                proptest::prop_assert_eq!(value.to_bits(), read.to_bits());
            }
        }
    }

    #[test]
    fn a_number_at_the_beginning_of_a_word_leaves_its_unit() {
        assert_eq!(leading("13.02k"), Some((13.02, "k")));
        assert_eq!(leading("560.43us"), Some((560.43, "us")));
        assert_eq!(leading("1.5e3MB/s"), Some((1500.0, "MB/s")));
        assert_eq!(leading("12,"), Some((12.0, ",")));
        assert_eq!(leading("5each"), Some((5.0, "each")));
        assert_eq!(leading("ms"), None);
        assert_eq!(count("13.02k"), Some(13020.0));
        assert_eq!(count("13.02x"), None);
    }

    #[test]
    fn what_could_be_either_is_read_by_a_stated_mark_only() {
        for (word, none, point, comma) in [
            ("108,43", Some(108.43), None, Some(108.43)),
            ("1,234", None, Some(1234.0), Some(1.234)),
            ("0,123", Some(0.123), None, Some(0.123)),
            ("1.234", Some(1.234), Some(1.234), Some(1234.0)),
            ("1.234,5", None, None, Some(1234.5)),
            ("1,234.5", Some(1234.5), Some(1234.5), None),
            ("1,234,567", Some(1_234_567.0), Some(1_234_567.0), None),
            ("12", Some(12.0), Some(12.0), Some(12.0)),
        ] {
            let read = |decimal| plain(word, decimal);
            assert_eq!(
                (read(None), read(Some(Decimal::Point)), read(Some(Decimal::Comma))),
                (none, point, comma),
                "{word}"
            );
        }
    }

    #[test]
    fn a_duration_of_several_units_is_their_sum() {
        for (word, found) in [
            ("1m6s", Some((66.0, ""))),
            ("0m15.659s", Some((15.659, ""))),
            ("1h2m", Some((3720.0, ""))),
            ("5s,", Some((5.0, ","))),
            ("250ms", Some((0.25, ""))),
            ("5", None),
            ("5s6m", None),
            ("475.1h2µs", None),
            ("s", None),
        ] {
            assert_eq!(duration(word), found, "{word}");
        }
    }

    #[test]
    fn a_time_of_day_is_seconds_since_midnight() {
        assert_eq!(clock("21:24:01", None), Some(77041.0));
        assert_eq!(clock("09:24:01", Some("PM")), Some(77041.0));
        assert_eq!(clock("12:00:01", Some("AM")), Some(1.0));
        assert_eq!(clock("00:07", None), Some(420.0));
        for no in ["24:00", "1:2:3:4", "1:60", "12", "a:b", "-1:00"] {
            assert_eq!(clock(no, None), None, "{no}");
        }
    }
}
