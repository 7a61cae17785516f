//! Lines, words and numbers of the kernel's text files, read without allocation.

/// The lines of a file, without their ends.
pub(super) fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|&byte| byte == b'\n').filter(|line| !line.is_empty())
}

/// The words of a line.
pub(super) fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty())
}

/// A decimal number, with or without a sign and a fraction; `None` for anything else.
pub(super) fn decimal(word: &[u8]) -> Option<f64> {
    // Up to 19 digits fit into 64 bits: nearly all there is. The rest takes the slow way.
    if word.len() <= 19 && !word.is_empty() {
        let digits = word.iter().try_fold(0_u64, |sum, byte| match byte {
            b'0'..=b'9' => Some(sum * 10 + u64::from(byte - b'0')),
            _ => None,
        });
        if let Some(value) = digits {
            return Some(value as f64);
        }
    }
    let plain = word.iter().all(|byte| byte.is_ascii_digit() || matches!(byte, b'-' | b'.'));
    plain.then(|| str::from_utf8(word).ok()?.parse().ok()).flatten()
}

/// A hexadecimal number without prefix.
pub(super) fn hexadecimal(word: &[u8]) -> Option<f64> {
    let value = u64::from_str_radix(str::from_utf8(word).ok()?, 16).ok()?;
    Some(value as f64)
}

/// A word as part of a name; what is not UTF-8 is replaced.
pub(super) fn name(word: &[u8]) -> String {
    String::from_utf8_lossy(word).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_of_any_length_are_read_and_other_words_are_not() {
        for (word, expected) in [
            ("0", Some(0.0)),
            ("18446744073709551615", Some(18_446_744_073_709_551_615.0)),
            ("9999999999999999999999999", Some(1e25)),
            ("-1", Some(-1.0)),
            ("2.86", Some(2.86)),
            ("", None),
            ("-", None),
            ("1e3", None),
            ("inf", None),
            ("NaN", None),
            ("12kB", None),
        ] {
            assert_eq!(decimal(word.as_bytes()), expected, "{word:?}");
        }
    }
}
