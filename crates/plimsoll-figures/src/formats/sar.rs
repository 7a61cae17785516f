//! The text of `sar`, and the JSON of `sadf -j` (sysstat).

use super::prelude::*;

pub(super) const FORMAT: Format = Format {
    name: "sar",
    tool: "sar, sadf -j (sysstat)",
    command: "sar 1 10, sadf -j FILE -- -u",
    measured: &[
        "plain *,cpu,device,interface,stat,table %, 1/s, KiB/s, KiB, ms: each column, by the name that stands above it; averages with `stat=mean`. In JSON each field, with the name of its `table`",
    ],
    main: &["%system,cpu=all", "%sys,cpu=all", "system,cpu=all,table=cpu-load"],
    checked: Checked::Run("sysstat 12.6.1"),
    marks: &["%user", "%usr", "/s", "runq-sz", "kbmemfree", "dentunusd", "totsck", "MHz"],
    start: |line| {
        let names = sysstat::heading(line.text)?;
        let others = names.contains(&"PID") || names.contains(&"TGID") || super::mpstat::is_heading(&names);
        let known = |name: &&str| {
            sysstat::is_label(name)
                || name.ends_with("/s")
                || ["runq-sz", "kbmemfree", "dentunusd", "totsck", "MHz"].contains(name)
        };
        (!others && names.first().is_some_and(known)).then_some(Start::Within)
    },
    reader: Some(|_| Box::<Clocked>::default()),
    json: Some(Document::whole(
        |json| {
            let timestamp = sysstat::statistics(json).first().and_then(|first| first.get("timestamp"));
            timestamp.is_some_and(|timestamp: Json<'_>| timestamp.has(&["time"]))
        },
        sysstat::document,
    )),
    ..Format::EMPTY
};
