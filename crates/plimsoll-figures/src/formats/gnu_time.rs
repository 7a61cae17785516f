//! Output of GNU `time`: one line of figures, or a list with `-v`.

use super::prelude::*;

pub(super) const FORMAT: Format = Format {
    name: "gnu-time",
    tool: "time (GNU)",
    command: "/usr/bin/time -v COMMAND",
    measured: &[
        "lower time,of s: `elapsed`, `user` and `system`; with `-v` `Elapsed (wall clock) time`, `User time`, `System time`",
        "lower memory KiB: `maxresident`, `Maximum resident set size (kbytes)`",
        "plain cpu %: `CPU`, `Percent of CPU this job got`",
        "plain page_faults,of: `major` and `minor`",
        "plain context_switches,of: `Voluntary`, `Involuntary`",
        "plain file_system,of: `inputs` and `outputs`",
    ],
    main: &["time,of=elapsed", "time,of=user"],
    checked: Checked::Kept("1.9"),
    marks: &["elapsed ", "User time (seconds)", "Command being timed", "pagefaults"],
    start: |line| {
        let is_head = line.text.starts_with("Command being timed: ") || summary(line.text).is_some();
        let within = line.text.starts_with("User time (seconds): ");
        if is_head { Some(Start::Head) } else { within.then_some(Start::Within) }
    },
    reader: Some(|_| Box::new(GnuTime { rules: rules::reader(LINES), begun: false, other_units: false })),
    ..Format::EMPTY
};

const LINES: &[&str] = &[
    "-{file_system,of=inputs}inputs+{file_system,of=outputs}outputs ({page_faults,of=major}major+{page_faults,of=minor}minor)pagefaults {#}swaps",
    "-Command being timed: {...}",
    "-User time (seconds): {time,of=user s}",
    "-System time (seconds): {time,of=system s}",
    "-Percent of CPU this job got: {cpu %}%",
    "-Maximum resident set size (kbytes): {memory KiB}",
    "-Major (requiring I/O) page faults: {page_faults,of=major}",
    "-Minor (reclaiming a frame) page faults: {page_faults,of=minor}",
    "-Voluntary context switches: {context_switches,of=voluntary}",
    "-Involuntary context switches: {context_switches,of=involuntary}",
    "-File system inputs: {file_system,of=inputs}",
    "-File system outputs: {file_system,of=outputs}",
    "-Average {...}: {#}",
    "-Swaps: {#}",
    "-Socket messages {_}: {#}",
    "-Signals delivered: {#}",
    "-Page size (bytes): {#}",
    "-Exit status: {#}",
];

struct GnuTime {
    rules: Box<dyn Reader>,
    /// Whether the first line of a call has been read.
    begun: bool,
    /// Whether a line has stated another unit than seconds.
    other_units: bool,
}

impl Reader for GnuTime {
    fn line(&mut self, line: &Line<'_>, out: &mut Out<'_>) -> Fit {
        if let Some(figures) = summary(line.text) {
            if std::mem::replace(&mut self.begun, true) {
                return Fit::Next;
            }
            for (metric, of, value, its_unit) in figures {
                let of = (!of.is_empty()).then_some(("of", of));
                out.put(metric, value, its_unit, of.as_slice());
            }
            return Fit::Mine;
        }
        self.other_units |= line.after("User time (").is_some_and(|rest| !rest.starts_with("seconds)"));
        if self.other_units {
            return out.refuse("a line names a unit that is not known");
        }
        let elapsed = line.after("Elapsed (wall clock) time (h:mm:ss or m:ss):");
        if let Some(value) = elapsed.and_then(|rest| seconds(rest.trim())) {
            out.put("time", value, "s", &[("of", "elapsed")]);
            return Fit::Mine;
        }
        self.rules.line(line, out)
    }
}

/// A metric, its label `of`, its value and its unit.
type Figure = (&'static str, &'static str, f64, &'static str);

/// `216.34user 14.36system 2:00.03elapsed 192%CPU (0avgtext+0avgdata 1024maxresident)k`
fn summary(text: &str) -> Option<Vec<Figure>> {
    let (user, rest) = text.split_once("user ")?;
    let (system, rest) = rest.split_once("system ")?;
    let (elapsed, rest) = rest.split_once("elapsed ")?;
    let (cpu, rest) = rest.split_once("%CPU")?;
    let mut figures = vec![
        ("time", "user", number(user)?, "s"),
        ("time", "system", number(system)?, "s"),
        ("time", "elapsed", seconds(elapsed)?, "s"),
    ];
    // `?%CPU` stands where no time passed.
    figures.extend(number(cpu).map(|value| ("cpu", "", value, "%")));
    let resident = rest.split_once("avgdata ").and_then(|(_, rest)| rest.split_once("maxresident"));
    // Kernels before 2.6.32 did not count.
    let resident = resident.and_then(|(value, _)| number(value)).filter(|value| *value > 0.0);
    figures.extend(resident.map(|value| ("memory", "", value, "KiB")));
    Some(figures)
}

/// `2:00.03` and `1:02:03` in seconds.
fn seconds(word: &str) -> Option<f64> {
    let parts: Vec<&str> = word.split(':').collect();
    let mut sum = 0.0;
    for part in &parts {
        let value = number(part).filter(|_| part.starts_with(|c: char| c.is_ascii_digit()))?;
        sum = sum * 60.0 + value;
    }
    (2..=3).contains(&parts.len()).then_some(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hours_and_minutes_are_seconds() {
        assert_eq!(seconds("2:00.03"), Some(120.03));
        assert_eq!(seconds("1:02:03"), Some(3723.0));
        assert_eq!(seconds("12"), None);
        assert_eq!(seconds("1:-2"), None);
        assert_eq!(seconds("1:2:3:4"), None);
    }
}
