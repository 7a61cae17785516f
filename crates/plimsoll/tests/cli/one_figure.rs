//! One figure under one name: every output of a run has the same value.

use std::collections::BTreeMap;
use std::fs::File;

use parquet::file::reader::SerializedFileReader;
use parquet::record::Field;
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
[loads.check]
from = "client"
to = "sink"
diagnose = { rate = "90Mbit", rtt = "3ms", duration = "500ms", packets = 500 }
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
name = "diagnose"
measure = "check"
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

/// The figures of the latest run by its JSON report, once all other formats that hold numbers have given the same.
fn in_every_output(lab: &Lab) -> Figures {
    let figures = reported(&lab.plimsoll(&["show", "latest", "--format", "json"]).json());
    let export = |format| lab.plimsoll(&["export", "latest", "--format", format]).exits(0).stdout;
    let mut rows = csv::Reader::from_reader(std::io::Cursor::new(export("csv")));
    let headings = rows.headers().expect("headings").clone();
    let column = |name: &str| headings.iter().position(|heading| heading == name).expect("a column");
    let (phase, metric, value) = (column("phase"), column("metric"), column("value"));
    let csv: Figures = rows
        .records()
        .map(|row| row.expect("a row"))
        .map(|row| ((row[phase].to_owned(), row[metric].to_owned()), row[value].parse().expect("a number")))
        .collect();
    assert_eq!(csv, figures, "CSV");

    let text = |row: &Value, key: &str| row[key].as_str().expect("text").to_owned();
    let jsonl: Figures = export("jsonl")
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON"))
        .map(|row| ((text(&row, "phase"), text(&row, "metric")), row["value"].as_f64().expect("a number")))
        .collect();
    assert_eq!(jsonl, figures, "JSONL");

    let table = lab.path("table.parquet");
    lab.script(&format!("$PLIMSOLL export latest --format parquet > {}", table.display())).exits(0);
    let table = File::open(table).expect("the table");
    let rows = SerializedFileReader::new(table).expect("a table of Parquet").into_iter();
    let parquet: Figures = rows
        .map(|row| {
            let fields: BTreeMap<String, Field> = row.expect("a row").into_columns().into_iter().collect();
            match (&fields["phase"], &fields["metric"], &fields["value"]) {
                (Field::Str(phase), Field::Str(metric), Field::Double(value)) => {
                    ((phase.clone(), metric.clone()), *value)
                }
                other => panic!("{other:?}"),
            }
        })
        .collect();
    assert_eq!(parquet, figures, "Parquet");

    let gauges = export("openmetrics");
    for ((phase, metric), value) in &figures {
        let here = |line: &&str| {
            line.starts_with(&format!("plimsoll_{metric}{{")) && line.contains(&format!("phase=\"{phase}\""))
        };
        let line = gauges.lines().find(here).unwrap_or_else(|| panic!("no {metric} of {phase} in {gauges}"));
        assert_eq!(line.split_whitespace().rev().nth(1), Some(value.to_string().as_str()), "{line}");
    }
    figures
}

#[test]
fn every_output_has_the_same_figures_and_none_that_a_load_lacks() {
    let lab = Lab::new();
    let file = lab.file("kinds.toml", KINDS);
    let report = lab.plimsoll(&["run", &file, "--format", "json"]).json();
    let figures = in_every_output(&lab);
    assert_eq!(reported(&report), figures, "the report of the run itself");
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

    // Tables round, and the rate of a program carries its own unit.
    for format in ["text", "markdown", "html"] {
        let shown = lab.plimsoll(&["show", "latest", "--details", "--format", format]).stdout;
        assert!(shown.contains("42.5 widgets"), "{format}: {shown}");
    }
}

/// Runs one slice of a load against a program that a shipped experiment starts, and gives its figures.
fn of_program(config: (&str, &str), service: &str, load: &str) -> Figures {
    let lab = Lab::of_ordinary_user();
    lab.file(config.0, config.1);
    let text = format!(
        r#"question = "How much does it do?"
[hosts.client]
[hosts.server]
[[links]]
between = ["client", "server"]
[services.program]
on = "server"
{service}
[loads.questions]
from = "client"
to = "program"
{load}
[[phases]]
name = "asked"
measure = "questions"
[run]
max_trials = 1
"#
    );
    let file = lab.file("program.toml", &text);
    lab.plimsoll(&["run", &file, "--format", "json"]).json();
    in_every_output(&lab)
}

#[test]
#[ignore = "needs unbound"]
fn every_output_has_the_same_figures_of_questions_to_a_resolver() {
    let config = ("unbound.conf.in", include_str!("../../../../experiments/name/unbound.conf.in"));
    let service = r#"port = 5353
exec = ["unbound", "-d", "-c", "{config}"]
config = "unbound.conf.in"
values = { threads = 1 }"#;
    let figures =
        of_program(config, service, r#"dns = { names = ["www.plimsoll.test A"], questions = 200 }"#);
    assert!(figures[&("asked".to_owned(), "requests_per_second".to_owned())] > 0.0, "{figures:?}");
}

#[test]
#[ignore = "needs postgresql"]
fn every_output_has_the_same_figures_of_transactions() {
    let config = ("postgresql.sh.in", include_str!("../../../../experiments/db/postgresql.sh.in"));
    let service = r#"port = 5432
exec = ["sh", "{config}"]
config = "postgresql.sh.in"
values = { scale = 1, synchronous_commit = "off" }
ready.within = "120s""#;
    let load = r#"postgres = { clients = 2, scale = 1, user = "plimsoll", duration = "500ms" }"#;
    let figures = of_program(config, service, load);
    assert!(figures[&("asked".to_owned(), "requests_per_second".to_owned())] > 0.0, "{figures:?}");
}
