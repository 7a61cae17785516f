//! Small pieces of HTTP's syntax that clients and servers share.

/// Whether a list of tokens, separated by commas, has this one (RFC 9110, section 5.6.1).
pub(crate) fn has_token(list: &[u8], token: &str) -> bool {
    list.split(|&b| b == b',').any(|item| item.trim_ascii().eq_ignore_ascii_case(token.as_bytes()))
}

/// A number of decimal digits and nothing else, such as a length (RFC 9110, section 8.6).
pub(crate) fn decimal(text: &[u8]) -> Option<u64> {
    let digits = !text.is_empty() && text.iter().all(u8::is_ascii_digit);
    if digits { std::str::from_utf8(text).ok()?.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_found_whole_and_in_any_case() {
        assert!(has_token(b"a, Close ,b", "close"));
        assert!(!has_token(b"enclose", "close"));
        assert!(!has_token(b"", "close"));
    }

    #[test]
    fn numbers_have_digits_only_and_must_fit() {
        assert_eq!(decimal(b"18446744073709551615"), Some(u64::MAX));
        for text in ["", "+1", "-1", "1 ", "0x1", "18446744073709551616"] {
            assert_eq!(decimal(text.as_bytes()), None, "{text}");
        }
    }
}
