//! Text from elsewhere, made harmless for the format that it is put into.

use std::borrow::Cow;

/// One line of text for a terminal: what would be obeyed or not be seen there (control characters, line ends, marks that turn the
/// writing direction, characters without width) is written as in source code, such as `\x1b`, `\r` and `\u{202e}`.
pub fn terminal(text: &str) -> Cow<'_, str> {
    visible(text, disturbs)
}

/// Lines of text for a terminal: as [`terminal`], but line ends and tabs remain.
pub fn block(text: &str) -> Cow<'_, str> {
    visible(text, |c| disturbs(c) && !matches!(c, '\n' | '\t'))
}

fn visible(text: &str, hidden: impl Fn(char) -> bool) -> Cow<'_, str> {
    let Some(first) = text.find(&hidden) else { return Cow::Borrowed(text) };
    let mut shown = text[..first].to_owned();
    for c in text[first..].chars() {
        match c {
            c if !hidden(c) => shown.push(c),
            '\r' | '\n' | '\t' => shown.extend(c.escape_default()),
            c if c.is_ascii() => shown.push_str(&format!("\\x{:02x}", u32::from(c))),
            c => shown.extend(c.escape_unicode()),
        }
    }
    Cow::Owned(shown)
}

/// Whether a terminal obeys a character, or turns or hides text at it: control characters, the bidirectional controls of Unicode
/// Standard Annex 9, line and paragraph separators, format characters without width, tags among them, and what is no character in XML. The joiners U+200C and
/// U+200D are letters' own in some scripts, and turn nothing.
pub(crate) fn disturbs(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'
                ..='\u{202e}'
        )
        || matches!(c, '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{fffe}' | '\u{ffff}' | '\u{e0000}'..='\u{e007f}')
}

/// Markdown (CommonMark with tables) that renders as `text`, on one line.
pub fn markdown(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    let mut letters = text.chars().peekable();
    while let Some(c) = letters.next() {
        match c {
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            '@' => {
                escaped.push_str("&#64;");
                // A space without width keeps `@name` from notifying a user of that name.
                if letters.peek().is_some_and(|next| next.is_alphanumeric()) {
                    escaped.push_str("&#8203;");
                }
            }
            '\\' | '`' | '*' | '_' | '{' | '}' | '[' | ']' | '(' | ')' | '#' | '!' | '|' | '~' => {
                escaped.push('\\');
                escaped.push(c);
            }
            c if disturbs(c) => escaped.push(' '),
            c => escaped.push(c),
        }
    }
    escaped
}

/// Text of a chart. Plotly reads a few HTML tags and entities in every label, and `%{..}` in templates; entities keep all of
/// them text. (Plotly 3, `src/lib/svg_text_utils.js`: tags are taken apart first, entities are decoded in what is left.)
pub fn chart(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '{' => escaped.push_str("&#123;"),
            '$' => escaped.push_str("&#36;"),
            c if disturbs(c) => escaped.push(' '),
            c => escaped.push(c),
        }
    }
    escaped
}

/// JSON that may stand inside an HTML `<script>` element: no `<`, so neither `</script>` nor `<!--` can occur in it.
/// A `<` of JSON is always inside a string, where `\u003c` means the same.
pub fn json_in_script(json: &str) -> String {
    json.replace('<', "\\u003c").replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_drive_the_terminal() {
        assert_eq!(terminal("fire\u{1b}[2Jwall\r\n"), r"fire\x1b[2Jwall\r\n");
        assert_eq!(terminal("a\u{202e}b\u{9b}"), r"a\u{202e}b\u{9b}");
        assert!(matches!(terminal("Brandmauer ä"), Cow::Borrowed(_)));
    }

    #[test]
    fn markdown_of_a_name_is_one_cell_of_text() {
        assert_eq!(markdown("a|b\n*c* <img> @all"), r"a\|b \*c\* &lt;img&gt; &#64;&#8203;all");
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
}
