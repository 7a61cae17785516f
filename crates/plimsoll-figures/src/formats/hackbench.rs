//! The output of `hackbench`, of rt-tests and that of 2001, which was the number alone.

use super::prelude::*;

pub(super) const FORMAT: Format = Format {
    name: "hackbench",
    tool: "hackbench (rt-tests)",
    command: "hackbench -g 10 -l 1000",
    measured: &[
        "lower time,groups,mode s: `Time`; the groups and whether they were processes or threads, where the line above says so",
    ],
    main: &["time"],
    checked: Checked::Run("2.4"),
    marks: &["Running in ", "Running with ", "Time: "],
    start: |line| (heading(line).is_some() || time(line).is_some()).then_some(Start::Within),
    reader: Some(|_| Box::<Hackbench>::default()),
    ..Format::EMPTY
};

/// `Running in process mode with 2 groups using 40 file descriptors each (== 80 tasks)`: the groups, and the mode.
fn heading(line: &Line<'_>) -> Option<(f64, Option<&'static str>)> {
    let rest = line.text.strip_prefix("Running ")?;
    let (how, rest) = rest.split_once("with ")?;
    let groups = leading(rest.split_whitespace().next()?)?;
    let is_heading =
        rest.contains("groups using") || rest.contains("groups connected") || rest.contains("*40 (==");
    let mode = match how.trim() {
        "in process mode" => Some("process"),
        "in threaded mode" => Some("thread"),
        _ => None,
    };
    is_heading.then_some((groups.0, mode))
}

fn time(line: &Line<'_>) -> Option<f64> {
    let value = line.text.strip_prefix("Time:")?.trim();
    number(value.strip_suffix('s').unwrap_or(value).trim())
}

#[derive(Default)]
struct Hackbench {
    groups: Option<String>,
    mode: Option<&'static str>,
}

impl Reader for Hackbench {
    fn line(&mut self, line: &Line<'_>, out: &mut Out<'_>) -> Fit {
        if let Some((groups, mode)) = heading(line) {
            self.groups = Some(groups.to_string());
            self.mode = mode;
            return Fit::Mine;
        }
        if let Some(value) = time(line) {
            let groups = self.groups.as_deref().map(|groups| ("groups", groups));
            let labels: Vec<_> = groups.into_iter().chain(self.mode.map(|mode| ("mode", mode))).collect();
            out.put("time", value, "s", &labels);
            return Fit::Mine;
        }
        if line.text.starts_with("Each sender will pass") { Fit::Mine } else { Fit::Foreign }
    }
}
