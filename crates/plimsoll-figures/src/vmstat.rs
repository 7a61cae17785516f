//! The columns of `vmstat` (procps), today's and those of 2001.

/// The unit of each column that is known (vmstat(8)).
const UNITS: [(&str, &str); 21] = [
    ("r", "processes"),
    ("b", "processes"),
    ("w", "processes"),
    ("swpd", "KiB"),
    ("free", "KiB"),
    ("buff", "KiB"),
    ("cache", "KiB"),
    ("inact", "KiB"),
    ("active", "KiB"),
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
/// Columns that every version has. Those of other systems lack some of them, and have others of the same name with another meaning.
const ALWAYS: [&str; 8] = ["r", "b", "swpd", "free", "in", "cs", "us", "sy"];

/// The line above the figures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header<'t> {
    /// The names of the columns of figures.
    pub names: Vec<&'t str>,
    /// Whether a date stands behind them, as with `-t`: its column is called by the time zone.
    pub has_date: bool,
}

/// The unit of a column without `-S`; none of a column that is not known.
pub fn unit(name: &str) -> &'static str {
    UNITS.iter().find(|(known, _)| *known == name).map_or("", |(_, unit)| unit)
}

/// The names of the columns, where a line has them and all are known.
pub fn header(line: &str) -> Option<Header<'_>> {
    let mut words = line.split_ascii_whitespace().peekable();
    let is_figure = |word: &&str| word.starts_with(|first: char| first.is_ascii_lowercase());
    let names: Vec<&str> = std::iter::from_fn(|| words.next_if(is_figure)).collect();
    let has_date = words.next().is_some();
    let known = names.iter().all(|name| UNITS.iter().any(|(known, _)| known == name));
    (known && ALWAYS.iter().all(|name| names.contains(name))).then_some(Header { names, has_date })
}
