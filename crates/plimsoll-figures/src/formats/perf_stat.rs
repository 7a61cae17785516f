//! The JSON lines of `perf stat -j`.

use super::super::format::{Checked, Document, Format, Measured, Out};
use super::super::json::Json;
use super::super::unit;

pub(super) const FORMAT: Format = Format {
    name: "perf-stat",
    tool: "perf stat -j",
    command: "perf stat -j -I 1000 COMMAND",
    measured: &[Measured::plain(
        "*",
        "ms, counts",
        &["cpu"],
        "`counter-value` of each event, by its name; what was not counted or is not supported is left out",
    )],
    main: &["cycles", "task-clock"],
    checked: Checked::Run("6.1"),
    json: Some(Document { is: |json| json.has(&["counter-value", "event"]), read: document, by_line: true }),
    ..Format::EMPTY
};

fn document(json: &Json<'_>, out: &mut Out<'_>) {
    let Some(event) = json.text_of("event") else { return };
    let word = json.text_of("unit").unwrap_or_default();
    let its_unit = unit::time(&word).unwrap_or(&word);
    let at = json.get("interval").and_then(|interval| interval.number());
    let cpu = json.text_of("cpu").or_else(|| json.text_of("core"));
    let label = cpu.as_deref().map(|cpu| ("cpu", cpu));
    out.json_at(at, &event, json.get("counter-value"), its_unit, label.as_slice());
}
