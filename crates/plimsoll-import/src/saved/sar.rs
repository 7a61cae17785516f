//! The output of sar (sysstat): tables whose lines begin with the time of day.

use super::SavedError;
use super::table::{Column, ColumnKind, Table, number};

const PROGRAM: &str = "sar";

/// Columns that name what a line is about.
const LABELS: [&str; 6] = ["CPU", "DEV", "IFACE", "INTR", "TTY", "FILESYSTEM"];
/// The line of all CPUs together.
const ALL: &str = "all";

pub(super) fn is_banner(text: &str) -> bool {
    let banner = |line: &str| {
        ["Linux ", "FreeBSD ", "SunOS "].iter().any(|system| line.starts_with(system)) && line.contains('(')
    };
    text.lines().take(3).any(banner) && text.lines().any(|line| time(line).is_some())
}

/// The words behind the time of day, where a line begins with one.
fn time(line: &str) -> Option<Vec<&str>> {
    let mut words = line.split_ascii_whitespace().peekable();
    let first = words.next()?;
    let is_time = first.len() >= 8 && first.bytes().all(|byte| byte.is_ascii_digit() || byte == b':');
    words.next_if(|word| matches!(*word, "AM" | "PM"));
    is_time.then(|| words.collect())
}

pub(super) fn read(text: &str) -> Result<Table, SavedError> {
    let mut columns: Vec<Column> = Vec::new();
    let mut names: Vec<&str> = Vec::new();
    let mut after_gap = true;
    for (index, line) in text.lines().enumerate() {
        let Some(words) = time(line) else {
            after_gap = true;
            continue;
        };
        // A header follows an empty line. Its first column may be called by a number, but never all of them.
        if after_gap && words.iter().all(|word| number(word).is_none()) {
            names = words;
            after_gap = false;
            continue;
        }
        after_gap = false;
        // "LINUX RESTART" and comments.
        if names.is_empty() || words.contains(&"RESTART") || words.first() == Some(&"COM") {
            continue;
        }
        if words.len() != names.len() {
            let what = format!(
                "{} columns were expected, as the header has, and {} were found",
                names.len(),
                words.len()
            );
            return Err(SavedError::line(index, what));
        }
        add(&mut columns, &names, &words, index)?;
    }
    Table::checked(PROGRAM, columns)
}

/// Adds the figures of a line.
fn add(columns: &mut Vec<Column>, names: &[&str], words: &[&str], index: usize) -> Result<(), SavedError> {
    let label = names.iter().zip(words).find(|(name, _)| LABELS.contains(name)).map(|(_, word)| *word);
    for (name, word) in names.iter().zip(words).filter(|(name, _)| !LABELS.contains(name)) {
        let Some(kind) = kind(name, label) else { continue };
        let value = number(word)
            .ok_or_else(|| SavedError::line(index, format!("a number was expected in place of `{word}`")))?;
        let name = match label {
            Some(label) if label != ALL => format!("{label} {name}"),
            _ => (*name).to_owned(),
        };
        match columns.iter_mut().find(|column| column.name == name) {
            Some(column) => column.values.push(value),
            None => columns.push(Column { unit: unit(&name), name, kind, values: vec![value] }),
        }
    }
    Ok(())
}

/// Kind of a column: sar(1). Nothing for single CPUs, which add nothing to all of them, and for memory, which shows how long a machine has
/// been up.
fn kind(name: &str, label: Option<&str>) -> Option<ColumnKind> {
    let of_all = label.is_none_or(|label| label == ALL);
    Some(match name {
        "%user" | "%usr" | "%nice" if of_all => ColumnKind::CpuUser,
        "%system" | "%sys" | "%irq" | "%soft" if of_all => ColumnKind::CpuSystem,
        "%idle" | "%iowait" if of_all => ColumnKind::CpuIdle,
        "%steal" | "%guest" | "%gnice" if of_all => ColumnKind::CpuOther,
        "%user" | "%usr" | "%nice" | "%system" | "%sys" | "%irq" | "%soft" | "%idle" | "%iowait"
        | "%steal" | "%guest" | "%gnice" => return None,
        name if name.starts_with("kb") || name.starts_with("%mem") || name.starts_with("%commit") => {
            return None;
        }
        name if name.ends_with("/s") => ColumnKind::PerSecond,
        _ => ColumnKind::Level,
    })
}

fn unit(name: &str) -> &'static str {
    if name.contains('%') {
        "%"
    } else if name.ends_with("/s") {
        "1/s"
    } else {
        "count"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CPU: &str = "\
Linux 6.1.0-18-cloud-amd64 (relay) \t11/23/26 \t_x86_64_\t(2 CPU)

21:24:01        CPU     %user     %nice   %system   %iowait    %steal     %idle
21:24:02        all     12,00      0,00     61,00      0,00      0,00     27,00
21:24:02          0     10,00      0,00     71,00      0,00      0,00     19,00
21:24:03        all     11,00      0,00     63,00      0,00      0,00     26,00
21:24:03          0     11,00      0,00     70,00      0,00      0,00     19,00

21:24:03        CPU     %user     %nice   %system   %iowait    %steal     %idle
21:24:04        all     11,00      0,00     65,00      0,00      0,00     24,00
Average:        all     11,33      0,00     63,00      0,00      0,00     25,67
";

    #[test]
    fn all_cpus_together_are_read_with_commas_and_repeated_headers_and_without_the_average() {
        let table = read(CPU).unwrap();
        assert_eq!(table.sum(ColumnKind::CpuSystem), [61.0, 63.0, 65.0]);
        assert_eq!(table.columns.len(), 6);
    }

    #[test]
    fn devices_and_several_tables_with_am_and_pm_are_read_apart() {
        let text = "Linux 5.10 (host)\t11/23/2026\n\n\
                    12:00:01 AM    proc/s   cswch/s\n12:00:02 AM      1.00   2000.00\n12:00:03 AM      2.00   2100.00\n\
                    12:00:04 AM      1.00   2050.00\nAverage:         1.33   2050.00\n\n\
                    12:00:01 AM       DEV       tps     rkB/s\n12:00:02 AM       vda     10.00      4.00\n\
                    12:00:03 AM       vda     11.00      4.00\n12:00:04 AM       vda     12.00      4.00\n";
        let table = read(text).unwrap();
        let names: Vec<&str> = table.columns.iter().map(|column| column.name.as_str()).collect();
        assert_eq!(names, ["proc/s", "cswch/s", "vda tps", "vda rkB/s"]);
        assert_eq!(table.columns[2].values, [10.0, 11.0, 12.0]);
    }

    #[test]
    fn a_line_that_was_cut_is_refused() {
        let cut = CPU.replace("11,00      0,00     65,00      0,00      0,00     24,00", "11,00");
        assert_eq!(
            read(&cut).unwrap_err().to_string(),
            "line 10: 7 columns were expected, as the header has, and 2 were found"
        );
    }
}
