//! Dates as days.

/// `2023-11-14` as days since the epoch.
pub(crate) fn days(word: &str) -> Option<u64> {
    let mut parts = word.splitn(3, '-');
    let (year, month, day) =
        (number(parts.next()?, 4)?, number(parts.next()?, 2)?, number(parts.next()?, 2)?);
    if !(1970..2500).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    // Years are counted from March, so that the leap day is the last of its year.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let leap_days = year / 4 - year / 100 + year / 400;
    let before_epoch = 719_468;
    Some(year * 365 + leap_days + (month * 153 + 2) / 5 + day - 1 - before_epoch)
}

/// One to `most` digits and nothing else.
pub(crate) fn number(word: &str, most: usize) -> Option<u64> {
    let valid = !word.is_empty() && word.len() <= most && word.bytes().all(|byte| byte.is_ascii_digit());
    valid.then(|| word.parse().ok())?
}
