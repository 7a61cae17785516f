//! Text as its author meant it: without the encoding of mail, wrapped lines, Markdown and the drawing of terminals.

use std::borrow::Cow;

/// Longest line that is put together from wrapped ones, in bytes.
const LONGEST_JOINED: usize = 64 << 10;
/// A line of quoted-printable mail is wrapped near this width: RFC 2045, section 6.7.
const WRAPPED_FROM: usize = 60;
/// Begins a control sequence of a terminal.
const ESCAPE: u8 = 0x1b;

/// Whether the beginning of an input is quoted-printable mail: escaped bytes, and long lines that end with `=`. Such mail escapes each `=` of its text,
/// so most are escapes; those of `p(90)=16` are few among others.
pub(super) fn is_quoted_printable(head: &str) -> bool {
    let wrapped = head.lines().map(str::trim_end).any(|line| {
        line.len() >= WRAPPED_FROM && line.strip_suffix('=').is_some_and(|rest| !rest.ends_with('='))
    });
    let escapes = || {
        let signs = || head.match_indices('=').map(|(at, _)| &head.as_bytes()[at..]);
        let wraps = |rest: &[u8]| rest.get(1).is_none_or(|next| matches!(next, b'\n' | b'\r'));
        let count = signs().filter(|rest| escape(rest).is_some()).count();
        let others = signs().filter(|rest| escape(rest).is_none() && !wraps(rest)).count();
        count > others
    };
    wrapped && escapes()
}

/// The byte of an escape of quoted-printable text: `=C3`.
fn escape(bytes: &[u8]) -> Option<u8> {
    let [b'=', high, low, ..] = bytes else { return None };
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'A'..=b'F' => Some(byte - b'A' + 10),
        _ => None,
    };
    Some(digit(*high)? << 4 | digit(*low)?)
}

/// Appends the next line to one that was wrapped. False where the next line stands for itself.
pub(super) fn join(line: &mut String, next: &str, quoted_printable: bool) -> bool {
    if line.len() > LONGEST_JOINED {
        return false;
    }
    if quoted_printable {
        let wrapped = line.trim_end().strip_suffix('=').map(str::len);
        if let Some(length) = wrapped {
            line.truncate(length);
            line.push_str(next);
        }
        return wrapped.is_some();
    }
    let rest = unquoted(next);
    // The role of a stream of iperf3, and the last figure of a line of cyclictest.
    let role = matches!(rest, "sender" | "receiver") && unquoted(line).starts_with('[');
    let figure = || line.trim_end().ends_with("Max:") && super::number::number(rest).is_some();
    let joined = role || figure();
    if joined {
        line.truncate(line.trim_end().len());
        line.push(' ');
        line.push_str(rest);
    }
    joined
}

/// A line without blanks at its ends and without the marks of quoted mail.
pub(super) fn unquoted(raw: &str) -> &str {
    let mut text = raw.trim_end();
    // Of a line that overwrote itself (progress that ends in a carriage return), the last text is the one on a terminal.
    if let Some(place) = memchr::memrchr(b'\r', text.as_bytes()) {
        text = &text[place + 1..];
    }
    text = text.trim_start_matches('\u{feff}').trim_start();
    while let Some(rest) = text.strip_prefix('>') {
        text = rest.trim_start();
    }
    text
}

/// Escapes of HTML and Markdown for blanks and for marks.
const ENTITIES: [(&str, &str); 5] =
    [("&nbsp;", " "), ("&#8203;", ""), ("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&")];

/// A line without what Markdown, mail and terminals add to it. Most lines are returned as they are.
pub(super) fn clean(raw: &str, quoted_printable: bool) -> Cow<'_, str> {
    let marks = || {
        memchr::memchr3(b'*', b'\\', b'`', raw.as_bytes())
            .or_else(|| memchr::memchr2(ESCAPE, b'&', raw.as_bytes()))
    };
    let plain = raw.is_ascii() && marks().is_none();
    if plain && !quoted_printable {
        return Cow::Borrowed(raw);
    }
    let text = if quoted_printable { decoded(raw) } else { raw.to_owned() };
    let text = ENTITIES.iter().fold(text, |text, (name, what)| match text.contains(name) {
        true => text.replace(name, what),
        false => text,
    });
    let bold = text.matches("**").count();
    let text = if bold > 0 && bold % 2 == 0 && !text.contains("***") { text.replace("**", "") } else { text };
    let text = if opens_or_ends_code(&text) { text.replace('`', " ") } else { text };
    let is_table = text.contains('|');
    let mut out = String::with_capacity(text.len());
    let mut before = ' ';
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        let next = rest.peek().copied().unwrap_or(' ');
        let lone = before == ' ' && (next == ' ' || next.is_ascii_digit());
        match c {
            '\\' if before != '\\'
                && matches!(
                    next,
                    '.' | '_' | '-' | '*' | '%' | '+' | '~' | '#' | ',' | '(' | ')' | '[' | ']'
                ) => {}
            // A control sequence, such as a colour (ECMA-48, section 5.4), ends with its first byte from `@` on.
            '\u{1b}' if next == '[' => {
                rest.next();
                rest.by_ref().find(|c| ('@'..='~').contains(c));
            }
            '`' if is_table && !is_inside_number(before, rest.clone()) => {}
            '\u{2212}' => out.push('-'),
            '\u{a0}' | '\u{202f}' | '\u{2007}' => out.push(' '),
            '│' | '┃' | '║' => out.push('|'),
            '─' | '━' | '═' => out.push('-'),
            // Corners and crossings of a drawn table.
            '\u{250c}'..='\u{254b}' | '\u{2552}'..='\u{2570}' => out.push('+'),
            // The sign for plus or minus in another encoding of one byte.
            'ą' | '\u{fffd}' if lone => out.push('±'),
            other => out.push(other),
        }
        before = c;
    }
    Cow::Owned(out)
}

/// Whether a line is the first or the last of code, whose only mark stands before or behind a word.
fn opens_or_ends_code(text: &str) -> bool {
    let text = text.trim();
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '%' | ')');
    let opens = text.strip_prefix('`').is_some_and(|rest| rest.starts_with(is_word));
    let ends = text.strip_suffix('`').is_some_and(|rest| rest.ends_with(is_word));
    (opens || ends) && text.matches('`').count() == 1
}

/// Whether a mark stands within a number: without it the text would hold another number.
fn is_inside_number(before: char, mut behind: impl Iterator<Item = char>) -> bool {
    let is_point = |c: char| matches!(c, '.' | ',');
    let goes_on = match behind.next() {
        Some(c) if is_point(c) => behind.next().is_some_and(|c| c.is_ascii_digit()),
        next => next.is_some_and(|c| c.is_ascii_digit()),
    };
    goes_on && (before.is_ascii_digit() || is_point(before))
}

/// Quoted-printable text without its escapes.
fn decoded(raw: &str) -> String {
    let mut bytes = Vec::with_capacity(raw.len());
    let mut rest = raw.as_bytes();
    while let [first, tail @ ..] = rest {
        match escape(rest) {
            Some(byte) => {
                bytes.push(byte);
                rest = &rest[3..];
            }
            None => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Text after one part of the prefix that a log adds to a line: a time, a level, the name of a service, a mark.
pub(super) fn behind_log_prefix(text: &str) -> Option<&str> {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    // Of a comment, a list, a diff, and the echo of an interrupted command.
    const MARKS: [&str; 4] = ["#", "+", "-", "*"];
    if let Some(rest) = text.strip_prefix("^C") {
        return Some(rest);
    }
    if let Some(rest) = behind_bracket(text) {
        return Some(rest).filter(|rest| !rest.is_empty());
    }
    let (first, rest) = text.split_once(char::is_whitespace)?;
    let rest = rest.trim_start();
    if MONTHS.contains(&first) {
        // `Nov 27 21:24:01 host program[123]: `.
        let (_, message) = rest.split_once(": ")?;
        return rest.split_whitespace().nth(1).is_some_and(is_clock).then(|| message.trim_start());
    }
    // `host program[123]: ` behind a date.
    let program = || {
        let (name, message) = rest.split_once(": ")?;
        let is_name = name.ends_with(']') && name.contains('[') && !name.contains(char::is_whitespace);
        is_name.then(|| message.trim_start())
    };
    // `service_1  | ` of containers.
    let container = || {
        let is_name = first.starts_with(|c: char| c.is_ascii_alphabetic());
        rest.strip_prefix('|').filter(|rest| is_name && !rest.contains('|')).map(str::trim_start)
    };
    if is_marked_level(first) {
        let rest = rest.strip_prefix('|').unwrap_or(rest).trim_start();
        return Some(rest).filter(|rest| !rest.is_empty());
    }
    let is_prefix = is_clock(first) || is_date(first) || MARKS.contains(&first);
    if is_prefix && !rest.is_empty() { Some(rest) } else { program().or_else(container) }
}

/// Whether a log added a level to a line, or the stream that it was written to: no tool that is read here does.
pub(super) fn is_logged(text: &str) -> bool {
    let mut text = text;
    while let Some(rest) = behind_log_prefix(text) {
        let part = text[..text.len() - rest.len()].trim();
        if is_level(part.trim_matches(['[', ']', '|', ':', ','])) {
            return true;
        }
        text = rest;
    }
    false
}

/// Text after `<6>` of the kernel, `[  123.456789]`, `[2026-11-27 21:24:01]`, `[stdout]`, or `<host>:`.
fn behind_bracket(text: &str) -> Option<&str> {
    let (inside, rest) = match text.as_bytes().first()? {
        b'<' => text[1..].split_once('>')?,
        b'[' => text[1..].split_once(']')?,
        _ => return None,
    };
    let is_number = inside.trim_start().starts_with(|c: char| c.is_ascii_digit());
    if text.starts_with('[') {
        let is_prefix = (is_number && inside.contains(['.', ':'])) || is_level(inside.trim());
        return is_prefix.then(|| rest.trim_start());
    }
    if is_number {
        return Some(rest.trim_start());
    }
    let is_name =
        !inside.is_empty() && inside.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    rest.strip_prefix(':').filter(|_| is_name).map(str::trim_start)
}

/// `21:24:01`, `21:24:01.123Z`, `2026-11-27T21:24:01+01:00`.
fn is_clock(word: &str) -> bool {
    let is_part = |c: char| c.is_ascii_digit() || matches!(c, ':' | '.' | ',' | '-' | 'T' | '+');
    word.contains(':')
        && word.starts_with(|c: char| c.is_ascii_digit())
        && word.trim_end_matches('Z').chars().all(is_part)
}

/// `2026-11-27`, `2026/11/27`.
fn is_date(word: &str) -> bool {
    word.len() >= 8 && word.matches(['-', '/']).count() == 2 && word.starts_with(|c: char| c.is_ascii_digit())
}

/// `INFO`, `info:`, `stderr`: a level that is no word of a sentence.
fn is_marked_level(word: &str) -> bool {
    let level = word.trim_end_matches(['|', ':', ',']);
    let stands_out =
        level.len() < word.len() || level.starts_with("std") || level == level.to_ascii_uppercase();
    stands_out && is_level(level)
}

/// A level of a log, or a stream of a process.
fn is_level(word: &str) -> bool {
    const LEVELS: [&str; 10] =
        ["trace", "debug", "info", "notice", "warn", "warning", "error", "fatal", "stdout", "stderr"];
    LEVELS.iter().any(|level| level.eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotation_and_what_overwrote_itself_are_taken_away() {
        for (raw, text) in [
            ("> > Requests per second: 5\r", "Requests per second: 5"),
            (">>  a\tb ", "a\tb"),
            ("SET: rps=0.0\r      \rSET: 52083.33 requests per second", "SET: 52083.33 requests per second"),
            ("\u{feff}{", "{"),
            ("   ", ""),
        ] {
            assert_eq!(unquoted(raw), text);
        }
    }

    #[test]
    fn markdown_and_drawing_are_taken_away_and_json_is_kept() {
        for (raw, text) in [
            ("**296** requests in **30.1**s", "296 requests in 30.1s"),
            ("|333844\\.14|-2\\.77|`SET`|", "|333844.14|-2.77|SET|"),
            ("| `5`, `6` | 1.9`5 | 1`.9 |", "| 5, 6 | 1.9`5 | 1`.9 |"),
            ("│ a │ 1 │", "| a | 1 |"),
            ("[\u{2212}2.1% +1%]", "[-2.1% +1%]"),
            ("110582 ą  3%", "110582 ±  3%"),
            (r#"{"a": "x\\.y"}"#, r#"{"a": "x\\.y"}"#),
            ("2 ** 3", "2 ** 3"),
            ("\u{1b}[2;35m====> avg\u{1b}[0m 5", "====> avg 5"),
        ] {
            assert_eq!(clean(raw, false), text);
        }
    }

    #[test]
    fn quoted_printable_mail_is_decoded_and_its_lines_are_joined() {
        let head = "> the rate of the first machine stays within the limits of the se=\ncond =C2=B1 3%\n";
        assert!(is_quoted_printable(head));
        assert!(!is_quoted_printable(&format!("{}\nx=AA\n", "=".repeat(70))));
        let cut = "iteration_duration: avg=9.41s min=2.02s max=1m10s p(90)=17.9s p(95)=\nmax=1m9s";
        assert!(!is_quoted_printable(cut));
        let mut line = "> 110582 =C2=B1  3%  will-it-scale.52.threa=".to_owned();
        assert!(join(&mut line, "ds", true));
        assert_eq!(clean(&line, true), "> 110582 ±  3%  will-it-scale.52.threads");
    }

    #[test]
    fn prefixes_of_logs_are_taken_away_and_figures_are_not() {
        for (raw, rest) in [
            ("41:24.4: [  7]  0.00-1.00 sec", Some("[  7]  0.00-1.00 sec")),
            ("[2026-09-30 23:24:45,815] host/INFO: x", Some("host/INFO: x")),
            ("<6>ata1: up", Some("ata1: up")),
            ("Nov 27 21:24:01 host bench[12]: Requests/sec: 5", Some("Requests/sec: 5")),
            ("load_1  | Requests/sec: 5", Some("Requests/sec: 5")),
            ("web  | Requests/sec: 5", Some("Requests/sec: 5")),
            ("DEBUG| [stdout]   read: IOPS=84", Some("[stdout]   read: IOPS=84")),
            ("[stdout]   read: IOPS=84", Some("read: IOPS=84")),
            ("<h1>: Requests/sec: 5", Some("Requests/sec: 5")),
            ("host bench[12]: Requests/sec: 5", Some("Requests/sec: 5")),
            ("- INFO # rtt", Some("INFO # rtt")),
            ("INFO | [stdout] read: 5", Some("[stdout] read: 5")),
            ("+    progress: 3.0 s", Some("progress: 3.0 s")),
            ("^CInterim result: 5", Some("Interim result: 5")),
            ("GET | 5.0 | 6.0", None),
            ("[SUM] 0.00-1.00 sec", None),
            ("[  5]  0.00-1.00 sec", None),
            ("12 34 56", None),
            ("Requests/sec: 5", None),
        ] {
            assert_eq!(behind_log_prefix(raw), rest, "{raw}");
        }
        assert!(is_logged("12:06:53 DEBUG| [stdout] rand: (groupid=7)") && is_logged("[stdout] read: 5"));
        assert!(!is_logged("21:21:49  2  0  376") && !is_logged("error rate: 5") && !is_logged("INFO"));
    }
}
