//! Words of a shell.

use std::borrow::Cow;

/// One word of a POSIX shell that means `text`.
pub fn shell_word(text: &str) -> Cow<'_, str> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._/-+=:,@%".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(format!("'{}'", text.replace('\'', r"'\''")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_quoted_where_a_shell_would_read_more_in_it() {
        assert_eq!(shell_word("flood-relay"), "flood-relay");
        assert_eq!(shell_word("it's; rm"), r"'it'\''s; rm'");
        assert_eq!(shell_word("--help"), "--help");
        assert_eq!(shell_word(""), "''");
    }
}
