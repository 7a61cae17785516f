//! The columns of `vmstat` (procps), today's and those of 2001.

/// The unit of each column that is known (vmstat(8)).
const UNITS: [(&str, &str); 16] = [
    ("r", "processes"),
    ("b", "processes"),
    ("w", "processes"),
    ("swpd", "KiB"),
    ("si", "KiB/s"),
    ("so", "KiB/s"),
    ("bi", "blocks/s"),
    ("bo", "blocks/s"),
    ("in", "1/s"),
    ("cs", "1/s"),
    ("us", "%"),
    ("sy", "%"),
    ("id", "%"),
    ("wa", "%"),
    ("st", "%"),
    ("gu", "%"),
];
/// Columns that every version has.
const ALWAYS: [&str; 6] = ["r", "b", "in", "cs", "us", "sy"];

/// The line above the figures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header<'t> {
    /// The names of the columns of figures.
    pub names: Vec<&'t str>,
    /// Whether a date stands behind them, as with `-t`: its column is called by the time zone.
    pub has_date: bool,
}

/// The unit of a column; that of memory where it is not known.
#[must_use]
pub fn unit(name: &str) -> &'static str {
    UNITS.iter().find(|(known, _)| *known == name).map_or("KiB", |(_, unit)| unit)
}

/// The names of the columns, where a line has them.
#[must_use]
pub fn header(line: &str) -> Option<Header<'_>> {
    let mut words = line.split_ascii_whitespace().peekable();
    let is_figure = |word: &&str| word.starts_with(|first: char| first.is_ascii_lowercase());
    let names: Vec<&str> = std::iter::from_fn(|| words.next_if(is_figure)).collect();
    let has_date = words.next().is_some();
    ALWAYS.iter().all(|name| names.contains(name)).then_some(Header { names, has_date })
}
