//! The output of FreeBSD's `vmstat`, whose columns of the same name as those of Linux have another meaning.

use super::prelude::*;

pub(super) const FORMAT: Format = Format {
    name: "vmstat-bsd",
    tool: "vmstat (FreeBSD)",
    command: "vmstat 1 10",
    measured: &[
        "plain *,group processes, B, KiB, 1/s, %: each column, by the name that stands above it, with `group=faults` and `group=cpu`. Memory that is in whole pages is in bytes, as since version 11, else in KiB",
    ],
    main: &["sy,group=cpu"],
    checked: Checked::Documented("https://man.freebsd.org/vmstat"),
    marks: &[" avm ", "procs"],
    start: |line| (names(line.text).is_some() || is_groups(line.text)).then_some(Start::Head),
    reader: Some(|_| Box::<VmstatBsd>::default()),
    ..Format::EMPTY
};

/// The page of every machine that FreeBSD runs on, in bytes.
const PAGE: f64 = 4096.0;
/// The columns behind those of disks: of faults and of the processor.
const LAST: [&str; 6] = ["in", "sy", "cs", "us", "sy", "id"];

/// The line above the names of the columns.
fn is_groups(text: &str) -> bool {
    ["procs", "page", "faults", "cpu"].iter().all(|group| text.contains(group))
}

/// The names of the columns.
fn names(text: &str) -> Option<Vec<String>> {
    let all: Vec<&str> = text.split_whitespace().collect();
    let known = all.starts_with(&["r", "b", "w", "avm", "fre"]) && all.ends_with(&LAST);
    known.then(|| all.iter().map(|name| (*name).to_owned()).collect())
}

#[derive(Default)]
struct VmstatBsd {
    names: Vec<String>,
}

impl Reader for VmstatBsd {
    fn line(&mut self, line: &Line<'_>, out: &mut Out<'_>) -> Fit {
        if let Some(names) = names(line.text) {
            self.names = names;
            return Fit::Mine;
        }
        if is_groups(line.text) {
            return Fit::Mine;
        }
        let values: Option<Vec<f64>> = line.words().map(number).collect();
        let Some(values) = values.filter(|values| values.len() == self.names.len()) else {
            return Fit::Foreign;
        };
        let cpu = values.len() - 3;
        if let Some(why) = impossible_shares(values[cpu..].iter().copied()) {
            return out.refuse(why);
        }
        let memory = if values[3] % PAGE == 0.0 && values[4] % PAGE == 0.0 { "B" } else { "KiB" };
        for (at, (name, value)) in self.names.iter().zip(&values).enumerate() {
            let (unit, group) = match at {
                0..=2 => ("processes", None),
                3 | 4 => (memory, None),
                at if at >= cpu => ("%", Some(("group", "cpu"))),
                at if at >= cpu - 3 => ("1/s", Some(("group", "faults"))),
                _ => ("1/s", None),
            };
            out.put(name, *value, unit, group.as_slice());
        }
        Fit::Mine
    }

    /// A terminal shows the heading again on each page.
    fn goes_on(&self, _line: &Line<'_>) -> bool {
        true
    }
}
