//! The data files of `flent` (`.flent`, unpacked).

use super::prelude::*;

pub(super) const FORMAT: Format = Format {
    name: "flent",
    tool: "flent",
    command: "flent rrul -H HOST; gzip -dc FILE.flent.gz",
    measured: &[
        "plain value,series: each series of `results`, over `x_values` in seconds; the unit is that of `SERIES_META`, where it has one",
    ],
    main: &["value"],
    checked: Checked::Run("2.1.1"),
    json: Some(Document::whole(|json| json.has(&["metadata", "results", "x_values"]), document)),
    ..Format::EMPTY
};

fn document(json: &Json<'_>, out: &mut Out<'_>) {
    let times: Vec<Option<f64>> =
        json.get("x_values").map(|all| all.items().iter().map(Json::number).collect()).unwrap_or_default();
    let meta = json.at(&["metadata", "SERIES_META"]);
    for (series, values) in json.get("results").map(|all| all.fields()).unwrap_or_default() {
        let unit = meta
            .and_then(|meta| meta.at(&[&series, "UNITS"]))
            .and_then(|unit| unit.text())
            .unwrap_or_default();
        for (index, value) in values.items().into_iter().enumerate() {
            out.json_at(
                times.get(index).copied().flatten(),
                "value",
                Some(value),
                &unit,
                &[("series", &series)],
            );
        }
    }
}
