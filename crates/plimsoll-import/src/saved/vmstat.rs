//! The output of `vmstat N` (procps), also as it was in 2001: with a column `w`, without `wa`.

use plimsoll_figures::vmstat::{Header, header, unit};

use super::SavedError;
use super::table::{Column, ColumnKind, Table, number};

const PROGRAM: &str = "vmstat";

/// Kinds of the columns (vmstat(8)). Those of memory in use for caches only show how long a machine has been up.
const KINDS: [(&str, ColumnKind); 16] = [
    ("r", ColumnKind::Level),
    ("b", ColumnKind::Level),
    ("w", ColumnKind::Level),
    ("swpd", ColumnKind::Level),
    ("si", ColumnKind::PerSecond),
    ("so", ColumnKind::PerSecond),
    ("bi", ColumnKind::PerSecond),
    ("bo", ColumnKind::PerSecond),
    ("in", ColumnKind::PerSecond),
    ("cs", ColumnKind::PerSecond),
    ("us", ColumnKind::CpuUser),
    ("sy", ColumnKind::CpuSystem),
    ("id", ColumnKind::CpuIdle),
    ("wa", ColumnKind::CpuIdle),
    ("st", ColumnKind::CpuOther),
    ("gu", ColumnKind::CpuOther),
];

pub(super) fn is_header(text: &str) -> bool {
    text.lines().any(|line| header(line).is_some())
}

pub(super) fn read(text: &str) -> Result<Table, SavedError> {
    let mut above: Option<Header<'_>> = None;
    let mut rows: Vec<Vec<f64>> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        if let Some(found) = header(line) {
            if above.as_ref().is_some_and(|above| *above != found) {
                return Err(SavedError::line(
                    index,
                    "other columns than above; one file is for one call of vmstat",
                ));
            }
            above = Some(found);
        } else if let Some(header) =
            above.as_ref().filter(|_| line.trim_start().starts_with(|first: char| first.is_ascii_digit()))
        {
            // Other lines are those before the header, and the groups of columns above it.
            rows.push(row(index, line, header)?);
        }
    }
    // The first line is the mean since the machine was started.
    if !rows.is_empty() {
        rows.remove(0);
    }
    let column = |(at, name): (usize, &&str)| {
        let (_, kind) = KINDS.iter().find(|(known, _)| known == name)?;
        let values = rows.iter().map(|row| row[at]).collect();
        Some(Column { name: (*name).to_owned(), kind: *kind, unit: unit(name), values })
    };
    let names = above.map(|above| above.names).unwrap_or_default();
    Table::checked(PROGRAM, names.iter().enumerate().filter_map(column).collect())
}

/// The figures of a line.
fn row(index: usize, line: &str, header: &Header<'_>) -> Result<Vec<f64>, SavedError> {
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    let wanted = header.names.len();
    if words.len() < wanted || (!header.has_date && words.len() > wanted) {
        let what =
            format!("{wanted} figures were expected, as the header has, and {} were found", words.len());
        return Err(SavedError::line(index, what));
    }
    let read = |word: &&str| {
        number(word)
            .ok_or_else(|| SavedError::line(index, format!("a number was expected in place of `{word}`")))
    };
    words[..wanted].iter().map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const OF_2001: &str = "\
   procs                      memory    swap          io     system         cpu
 r  b  w   swpd   free   buff  cache  si  so    bi    bo   in    cs  us  sy  id
 0  0  0    512  14164  65264 131224   0   0     1     2   10     8   1   2  97
 2  0  0    512  14100  65264 131224   0   0     0     0 4101   710  12  61  27
 3  0  0    512  14092  65264 131224   0   0     0    12 4230   698  11  65  24
 1  1  0    512  14092  65264 131224   0   0     0     0 4188   702  12  63  25
";

    #[test]
    fn the_layout_of_2001_is_read_without_its_first_line() {
        let table = read(OF_2001).unwrap();
        let names: Vec<&str> = table.columns.iter().map(|column| column.name.as_str()).collect();
        assert_eq!(names, ["r", "b", "w", "swpd", "si", "so", "bi", "bo", "in", "cs", "us", "sy", "id"]);
        assert_eq!(table.sum(ColumnKind::CpuSystem), [61.0, 65.0, 63.0]);
    }

    #[test]
    fn a_date_at_the_end_is_passed_over_and_a_header_may_come_again() {
        let text = "procs -----------memory---------- ---swap-- -----io---- -system-- -------cpu------- -----timestamp-----\n \
                    r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st gu                 UTC\n \
                    5  0      0 20000000  40000 2000000    0    0    26   250 1800    6 30 10 60  0  0  0 2026-11-23 21:24:00\n \
                    4  0      0 20000000  40000 2000000    0    0    0    0 1000  2000 40 20 35  5  0  0 2026-11-23 21:24:01\n\
                    procs -----------memory----------\n \
                    r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st gu                 UTC\n \
                    4  0      0 20000000  40000 2000000    0    0    0    0 1000  2000 40 21 34  5  0  0 2026-11-23 21:24:02\n \
                    4  0      0 20000000  40000 2000000    0    0    0    0 1000  2000 40 22 33  5  0  0 2026-11-23 21:24:03\n";
        let table = read(text).unwrap();
        assert_eq!(table.sum(ColumnKind::CpuIdle), [40.0, 39.0, 38.0]);
    }

    #[test]
    fn what_does_not_fit_is_refused_with_its_line() {
        let cut = OF_2001.replace("  12  61  27", "  12");
        assert_eq!(
            read(&cut).unwrap_err().to_string(),
            "line 4: 16 figures were expected, as the header has, and 14 were found"
        );
        let word = OF_2001.replace("4230", "many");
        assert_eq!(read(&word).unwrap_err().to_string(), "line 5: a number was expected in place of `many`");
        // Names behind a date are no columns.
        let odd = format!(" r b swpd free in UTC cs us sy\n{}", " 1 2 3 4 5 6 7 8 9\n".repeat(5));
        assert!(!is_header(&odd));
        let odd = format!(" r b swpd free in cs us sy UTC id\n{}", " 1 2 3 4 5 6 7 8 9 10\n".repeat(5));
        assert_eq!(read(&odd).unwrap().columns.len(), 7);
        let short: String = OF_2001.lines().take(4).map(|line| format!("{line}\n")).collect();
        assert!(read(&short).unwrap_err().to_string().contains("1 lines of figures"));
    }
}
