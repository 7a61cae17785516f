//! Whether a figure stands where it is said to stand: written without any of the readers' code, and used by tests and by a fuzz target.

/// Whether a value stands in a line: one of its numbers is that, with any decimal mark, or times a thousand, a million or more where `k`, `M` or
/// `G` stands behind it; or a time of day is. A number may have points between thousands, and a duration may have several units (`1m6s`).
pub(crate) fn stands_in(line: &str, value: f64) -> bool {
    let bytes = line.as_bytes();
    let is_part = |byte: u8| byte.is_ascii_digit() || matches!(byte, b'.' | b',' | b'+' | b'-' | b'e' | b'E');
    (0..bytes.len()).filter(|at| bytes[*at].is_ascii_digit() || bytes[*at] == b'.').any(|digit| {
        let starts = [digit.checked_sub(1).filter(|sign| matches!(bytes[*sign], b'-' | b'+')), Some(digit)];
        starts.into_iter().flatten().any(|start| {
            let longest = digit + bytes[digit..].iter().take_while(|byte| is_part(**byte)).count();
            (digit + 1..=longest).any(|end| {
                let word = &line[start..end];
                let count = |mark: u8| word.bytes().filter(|byte| *byte == mark).count();
                let (commas, points) = (count(b','), count(b'.'));
                let found = match (commas, points) {
                    (0, _) => word.parse::<f64>().ok(),
                    (1, 0) => word.replace(',', ".").parse().ok(),
                    _ => word.replace(',', "").parse::<f64>().ok(),
                };
                let factor = match bytes.get(end) {
                    Some(b'k' | b'K') => 1e3,
                    Some(b'M') => 1e6,
                    Some(b'G') => 1e9,
                    // `10.1 k` of ioping.
                    Some(b' ') if line[end..].starts_with(" k ") => 1e3,
                    _ => 1.0,
                };
                let thousands = || match commas + points {
                    0 => found,
                    _ => word.replace([',', '.'], "").parse::<f64>().ok(),
                };
                let minutes = || match bytes.get(end) {
                    Some(b'm') => {
                        seconds(&line[end + 1..]).zip(found).map(|(rest, minutes)| minutes * 60.0 + rest)
                    }
                    Some(b':') => {
                        leading(&line[end + 1..]).zip(found).map(|(rest, minutes)| minutes * 60.0 + rest)
                    }
                    _ => None,
                };
                let direct = found.is_some_and(|found| found == value || found * factor == value);
                direct || thousands() == Some(value) || minutes() == Some(value)
            })
        })
    })
}

/// The number at the beginning of a text.
fn leading(text: &str) -> Option<f64> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    text[..end].parse().ok()
}

/// The seconds at the beginning of a text: `6.5s`.
fn seconds(text: &str) -> Option<f64> {
    let (number, _) = text.split_once('s')?;
    number.replace(',', ".").parse().ok()
}
