//! The text of `pidstat` (sysstat).

use super::super::format::{Checked, Format, Measured, Start, Text};
use super::super::sysstat::{self, Clocked};

pub(super) const FORMAT: Format = Format {
    name: "pidstat",
    tool: "pidstat (sysstat)",
    command: "pidstat -u -r 1 10",
    measured: &[Measured::plain(
        "*",
        "%, 1/s, KiB, KiB/s",
        &["pid", "command", "stat"],
        "each column, by the name that stands above it; averages with `stat=mean`",
    )],
    main: &["%CPU"],
    checked: Checked::Run("sysstat 12.6.1"),
    text: Some(Text {
        marks: &["PID", "TGID"],
        start: |line| {
            let names = sysstat::heading(line.text)?;
            (names.contains(&"PID") || names.contains(&"TGID")).then_some(Start::Within)
        },
        opening: None,
        reader: |_| Box::<Clocked>::default(),
    }),
    ..Format::EMPTY
};
