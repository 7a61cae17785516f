//! The text of `pidstat` (sysstat).

use super::prelude::*;

pub(super) const FORMAT: Format = Format {
    name: "pidstat",
    tool: "pidstat (sysstat)",
    command: "pidstat -u -r 1 10",
    measured: &[
        "plain *,pid,command,stat %, 1/s, KiB, KiB/s: each column, by the name that stands above it; averages with `stat=mean`",
    ],
    main: &["%CPU"],
    checked: Checked::Run("sysstat 12.6.1"),
    marks: &["PID", "TGID"],
    start: |line| {
        let names = sysstat::heading(line.text)?;
        (names.contains(&"PID") || names.contains(&"TGID")).then_some(Start::Within)
    },
    reader: Some(|_| Box::<Clocked>::default()),
    ..Format::EMPTY
};
