//! Text from elsewhere, made harmless for the format that it is put into.

use std::borrow::Cow;

/// One line of terminal text: control characters (escape sequences, line ends) and marks that turn the writing direction
/// become U+FFFD, so that a name can neither move the cursor nor hide what stands beside it.
#[must_use]
pub fn terminal(text: &str) -> Cow<'_, str> {
    if text.chars().any(disturbs_a_line) {
        Cow::Owned(
            text.chars().map(|c| if disturbs_a_line(c) { char::REPLACEMENT_CHARACTER } else { c }).collect(),
        )
    } else {
        Cow::Borrowed(text)
    }
}

/// Control characters, and the bidirectional controls of Unicode Standard Annex 9.
fn disturbs_a_line(c: char) -> bool {
    c.is_control() || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Markdown (CommonMark with tables) that renders as `text`, on one line.
#[must_use]
pub fn markdown(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            '@' => escaped.push_str("&#64;"),
            '\\' | '`' | '*' | '_' | '{' | '}' | '[' | ']' | '(' | ')' | '#' | '!' | '|' | '~' => {
                escaped.push('\\');
                escaped.push(c);
            }
            c if disturbs_a_line(c) => escaped.push(' '),
            c => escaped.push(c),
        }
    }
    escaped
}

/// Text of a chart. Plotly reads a few HTML tags and entities in every label, and `%{..}` in templates; entities keep all of
/// them text. (Plotly 3, `src/lib/svg_text_utils.js`: tags are taken apart first, entities are decoded in what is left.)
#[must_use]
pub fn chart(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '{' => escaped.push_str("&#123;"),
            '$' => escaped.push_str("&#36;"),
            c if disturbs_a_line(c) => escaped.push(' '),
            c => escaped.push(c),
        }
    }
    escaped
}

/// JSON that may stand inside an HTML `<script>` element: no `<`, so neither `</script>` nor `<!--` can occur in it.
/// A `<` of JSON is always inside a string, where `\u003c` means the same.
#[must_use]
pub fn json_in_script(json: &str) -> String {
    json.replace('<', "\\u003c").replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029")
}

/// One word of a POSIX shell that means `text`.
#[must_use]
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
    fn a_name_cannot_drive_the_terminal() {
        assert_eq!(terminal("fire\u{1b}[2Jwall\r\n"), "fire\u{fffd}[2Jwall\u{fffd}\u{fffd}");
        assert_eq!(terminal("a\u{202e}b"), "a\u{fffd}b");
        assert!(matches!(terminal("Brandmauer ä"), Cow::Borrowed(_)));
    }

    #[test]
    fn markdown_of_a_name_is_one_cell_of_text() {
        assert_eq!(markdown("a|b\n*c* <img> @all"), r"a\|b \*c\* &lt;img&gt; &#64;all");
    }

    #[test]
    fn json_in_a_script_cannot_end_it() {
        let json = serde_json::to_string("</script><!-- \u{2028}").unwrap();
        let safe = json_in_script(&json);
        assert!(!safe.contains('<'), "{safe}");
        assert_eq!(serde_json::from_str::<String>(&safe).unwrap(), "</script><!-- \u{2028}");
    }

    #[test]
    fn a_label_of_a_chart_has_no_tag_and_no_template() {
        assert_eq!(chart("<a href='x'>%{y}</a>"), "&lt;a href='x'&gt;%&#123;y}&lt;/a&gt;");
    }

    #[test]
    fn a_shell_reads_a_quoted_name_as_one_word() {
        assert_eq!(shell_word("flood-relay"), "flood-relay");
        assert_eq!(shell_word("it's; rm"), r"'it'\''s; rm'");
        assert_eq!(shell_word("--help"), "--help");
        assert_eq!(shell_word(""), "''");
    }
}
