//! The text and the JSON of `mpstat` (sysstat).

use super::prelude::*;

pub(super) const FORMAT: Format = Format {
    name: "mpstat",
    tool: "mpstat (sysstat)",
    command: "mpstat -P ALL 1 10, mpstat -o JSON 1 10",
    measured: &[
        "plain *,cpu,stat,table %: each column, by the name that stands above it; averages with `stat=mean`. In JSON each field of `cpu-load`",
    ],
    main: &["%sys,cpu=all", "sys,cpu=all,table=cpu-load"],
    checked: Checked::Run("sysstat 12.6.1"),
    marks: &["%soft"],
    start: |line| sysstat::heading(line.text).filter(|names| is_heading(names)).map(|_| Start::Within),
    reader: Some(|_| Box::<Clocked>::default()),
    json: Some(Document::whole(
        |json| {
            let all = sysstat::statistics(json);
            let first = all.first();
            let timestamp =
                first.and_then(|first| first.get("timestamp")).and_then(|timestamp| timestamp.text());
            timestamp.is_some() && first.is_some_and(|first| first.has(&["cpu-load"]))
        },
        sysstat::document,
    )),
    ..Format::EMPTY
};

/// mpstat has interrupts before stolen time, sar behind it.
pub(super) fn is_heading(names: &[&str]) -> bool {
    let place = |wanted: &str| names.iter().position(|name| *name == wanted);
    names.first() == Some(&"CPU")
        && place("%irq").zip(place("%steal")).is_some_and(|(irq, steal)| irq < steal)
}
