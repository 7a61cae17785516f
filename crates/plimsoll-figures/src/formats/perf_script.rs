//! Output of `perf script`. It is recognised, and read by another command.

use super::prelude::*;
use crate::perf_script as stacks;

pub(super) const FORMAT: Format = Format {
    name: "perf-script",
    tool: "perf script",
    command: "perf record -F 99 -a -g; perf script",
    checked: Checked::Run("6.1"),
    marks: &["cpu-clock:", "cycles:", "task-clock:"],
    start: |line| stacks::head(line.text).is_some().then_some(Start::Within),
    reader: Some(|_| Box::new(PerfScript)),
    elsewhere: Some("plimsoll explain --before FILE --after FILE"),
    ..Format::EMPTY
};

struct PerfScript;

impl Reader for PerfScript {
    fn line(&mut self, line: &Line<'_>, _out: &mut Out<'_>) -> Fit {
        let is_its = stacks::head(line.text).is_some() || stacks::frame(line.text).is_some();
        if is_its { Fit::Mine } else { Fit::Foreign }
    }
}
