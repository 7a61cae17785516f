//! One figure under one name: every output of a run has the same value.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::lab::Lab;

/// Loads of several kinds, each in a phase of one slice, so that a phase and its slice have the same figures.
const KINDS: &str = r#"
question = "How much does each do?"
[hosts.client]
[hosts.server]
[[links]]
between = ["client", "server"]
[volumes.disk]
on = "client"
folder = {}
[services.site]
on = "server"
web = { document = "20K" }
[services.sink]
on = "server"
bulk = {}
[services.post]
on = "server"
smtp_sink = {}
[loads.visits]
from = "client"
to = "site"
http = { connections = 50, concurrency = 4 }
[loads.transfer]
from = "client"
to = "sink"
bulk = { total = "4M" }
[loads.datagrams]
from = "client"
to = "sink"
udp = { packets_per_second = 2000, duration = "200ms" }
[loads.reads]
from = "client"
to = "disk"
storage = { size = "4M", operations = 200 }
[loads.crowd]
from = "client"
messaging = { groups = 1, pairs = 2, messages = 20, over = "pipes", rounds = 1 }
[loads.program]
from = "client"
exec = ["sh", "-c", "echo 42.5 widgets"]
metrics = { widgets = { regex = "([0-9.]+) widgets", unit = "1/s", better = "higher" } }
[loads.letters]
from = "client"
to = "post"
smtp = { messages = 20, sessions = 2 }
[loads.faults]
from = "client"
kernel = { path = "page_fault", operations = 500 }
[loads.route]
from = "client"
to = "site"
hops = { probes = 2, sizes = 6 }
[loads.refused]
from = "client"
to = "site"
http = { connections = 20 }
[[phases]]
name = "http"
measure = "visits"
[[phases]]
name = "bulk"
measure = "transfer"
[[phases]]
name = "udp"
measure = "datagrams"
[[phases]]
name = "storage"
measure = "reads"
[[phases]]
name = "messaging"
measure = "crowd"
[[phases]]
name = "exec"
measure = "program"
[[phases]]
name = "smtp"
measure = "letters"
[[phases]]
name = "kernel"
measure = "faults"
[[phases]]
name = "hops"
measure = "route"
[[phases]]
name = "down"
stop = "site"
[[phases]]
name = "refused"
measure = "refused"
[run]
max_trials = 1
"#;

type Figures = BTreeMap<(String, String), f64>;

fn reported(report: &Value) -> Figures {
    let phases = report["trials"][0]["phases"].as_array().expect("phases").iter();
    let figures = phases.flat_map(|phase| {
        let name = phase["name"].as_str().expect("a name").to_owned();
        let figures = phase["figures"].as_object().expect("figures").clone();
        figures
            .into_iter()
            .map(move |(metric, value)| ((name.clone(), metric), value.as_f64().expect("a number")))
    });
    figures.collect()
}

#[test]
fn every_output_has_the_same_figures_and_none_that_a_load_lacks() {
    let lab = Lab::new();
    let file = lab.file("kinds.toml", KINDS);
    let report = lab.plimsoll(&["run", &file, "--format", "json"]).json();
    let figures = reported(&report);
    let phases: Vec<&str> = figures.keys().map(|(phase, _)| phase.as_str()).collect();
    for phase in ["http", "bulk", "udp", "storage", "messaging", "exec", "smtp", "kernel", "refused"] {
        assert!(phases.contains(&phase), "{phase} in {report}");
    }
    let figure = |phase: &str, metric: &str| figures.get(&(phase.to_owned(), metric.to_owned())).copied();
    let http = |metric| figure("http", metric).unwrap_or_else(|| panic!("no {metric} in {report}"));
    assert!((http("bits_per_second") / (http("megabytes_per_second") * 8e6) - 1.0).abs() < 1e-9, "{report}");
    assert_eq!(figure("exec", "widgets"), Some(42.5), "{report}");
    assert_eq!(figure("refused", "error_share"), Some(1.0), "{report}");
    for metric in ["median_ms", "p99_ms", "max_ms", "mean_ms"] {
        assert_eq!(figure("refused", metric), None, "nothing was answered: {report}");
    }
    assert_eq!(figure("bulk", "connections_per_second"), None, "a transfer counts none: {report}");
    assert_eq!(figure("storage", "loss_share"), None, "{report}");

    let mut rows = csv::Reader::from_reader(std::io::Cursor::new(
        lab.plimsoll(&["export", "latest", "--format", "csv"]).exits(0).stdout,
    ));
    let headings = rows.headers().expect("headings").clone();
    let column = |name: &str| headings.iter().position(|heading| heading == name).expect("a column");
    let (phase, metric, value) = (column("phase"), column("metric"), column("value"));
    let csv: Figures = rows
        .records()
        .map(|row| row.expect("a row"))
        .map(|row| ((row[phase].to_owned(), row[metric].to_owned()), row[value].parse().expect("a number")))
        .collect();
    assert_eq!(csv, figures, "CSV");

    let lines = lab.plimsoll(&["export", "latest", "--format", "jsonl"]).exits(0).stdout;
    let text = |row: &Value, key: &str| row[key].as_str().expect("text").to_owned();
    let jsonl: Figures = lines
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON"))
        .map(|row| ((text(&row, "phase"), text(&row, "metric")), row["value"].as_f64().expect("a number")))
        .collect();
    assert_eq!(jsonl, figures, "JSONL");

    let gauges = lab.plimsoll(&["export", "latest", "--format", "openmetrics"]).exits(0).stdout;
    for ((phase, metric), value) in &figures {
        let here = |line: &&str| {
            line.starts_with(&format!("plimsoll_{metric}{{")) && line.contains(&format!("phase=\"{phase}\""))
        };
        let line = gauges.lines().find(here).unwrap_or_else(|| panic!("no {metric} of {phase} in {gauges}"));
        assert_eq!(line.split_whitespace().rev().nth(1), Some(value.to_string().as_str()), "{line}");
    }

    // Tables round, and the rate of a program carries its own unit.
    for format in ["text", "markdown", "html"] {
        let shown = lab.plimsoll(&["show", "latest", "--details", "--format", format]).stdout;
        assert!(shown.contains("42.5 widgets"), "{format}: {shown}");
    }
}
