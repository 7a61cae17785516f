//! `docs/rows.md`: rows of the reports that Plimsoll replaces, each by one command, beside another program that measures the same.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::Value;

use crate::shell;

const PAGE: &str = "docs/rows.md";

/// What one side of a row runs, and where its figure is.
struct Side {
    /// A line for the shell, with `plimsoll` for the program.
    command: &'static str,
    /// A JSON pointer into what the command prints, or the metric of what `plimsoll import` reads, whose last series counts.
    figure: &'static str,
    /// What the figure is multiplied by.
    times: f64,
}

struct Row {
    name: &'static str,
    unit: &'static str,
    ours: Side,
    peer: Side,
}

const fn side(command: &'static str, figure: &'static str) -> Side {
    Side { command, figure, times: 1.0 }
}

const ROWS: [Row; 6] = [
    Row {
        name: "connections to a web server",
        unit: "1/s",
        ours: side("plimsoll run xtask/rows/http.toml", "/trials/0/phases/0/figures/connections_per_second"),
        peer: side(
            "plimsoll run xtask/rows/http.toml # ab, in the same run",
            "/trials/0/phases/1/figures/rate",
        ),
    },
    Row {
        name: "cached reads of 2 MB",
        unit: "MB/s",
        ours: side(
            "plimsoll run timed-read --quick --set loads.from-cache.storage.touch_every=0",
            "/trials/0/phases/0/figures/megabytes_per_second",
        ),
        peer: Side {
            command: "fio --name=rows --rw=read --bs=2M --size=2M --time_based --runtime=5 --mem=mmap --invalidate=0 --directory=/var/tmp > $DIR/fio; \
                      rm /var/tmp/rows.0.0; plimsoll import $DIR/fio",
            figure: "operations_per_second",
            times: 2.097_152,
        },
    },
    Row {
        name: "direct random reads of 4 KB",
        unit: "MB/s",
        ours: side("plimsoll run xtask/rows/random.toml", "/trials/0/phases/0/figures/megabytes_per_second"),
        peer: Side {
            command: "fio --name=rows --rw=randread --bs=4k --size=64M --direct=1 --norandommap=1 --time_based --runtime=5 --directory=/var/tmp > $DIR/fio; \
                      rm /var/tmp/rows.0.0; plimsoll import $DIR/fio",
            figure: "operations_per_second",
            times: 0.004_096,
        },
    },
    Row {
        name: "one stream over loopback, 128 KB a call",
        unit: "Gbit/s",
        ours: Side {
            command: "plimsoll run xtask/rows/bulk.toml",
            figure: "/trials/0/phases/0/figures/bits_per_second",
            times: 1e-9,
        },
        peer: Side {
            command: "iperf3 -s -1 -p 5999 > $DIR/server & sleep 0.5; iperf3 -c 127.0.0.1 -p 5999 -t 5 -l 128K > $DIR/iperf3; plimsoll import $DIR/iperf3",
            figure: "bits_per_second",
            times: 1.0,
        },
    },
    Row {
        name: "400 processes over sockets, 100 messages to each",
        unit: "s",
        ours: Side {
            command: "plimsoll run xtask/rows/messaging.toml",
            figure: "/trials/0/phases/0/figures/median_ms",
            times: 1e-3,
        },
        peer: side("hackbench -g 10 -l 100 > $DIR/hackbench; plimsoll import $DIR/hackbench", "time"),
    },
    Row {
        name: "packets in a capture",
        unit: "",
        ours: side("plimsoll trace crates/plimsoll-explain/tests/data/mixed.pcap", "/packets"),
        peer: side("tshark -r crates/plimsoll-explain/tests/data/mixed.pcap | wc -l", ""),
    },
];

/// Runs each row and its peer with a build of Plimsoll, and writes the page.
pub(crate) fn run(program: &str) -> Result<(), String> {
    let program = Path::new(program).canonicalize().map_err(|error| format!("{program}: {error}"))?;
    let folder = shell::target_folder().join("tmp/rows");
    std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    // Both sides are found by their usual names.
    let environment = format!(
        "PATH={}:$PATH DIR={} PLIMSOLL_FORMAT=json PLIMSOLL_YES=true PLIMSOLL_STORE={}; export PATH DIR PLIMSOLL_FORMAT PLIMSOLL_YES PLIMSOLL_STORE;",
        program.parent().unwrap_or(Path::new("/")).display(),
        folder.display(),
        folder.join("rows.db").display()
    );
    let version = shell::output("sh", &["-c", &format!("{environment} plimsoll --version; date +%F")])?;
    let mut page = format!(
        "# Rows\n\nEach row of a report by one command, beside another program that measures the same on the same machine. `cargo xtask rows PROGRAM` writes this page \
         ({}).\n\n| row | command | answer | figure | peer | peer's figure | ratio |\n| --- | --- | --- | --- | --- | --- | --- |\n",
        version.lines().collect::<Vec<_>>().join(", ")
    );
    for Row { name, unit, ours, peer } in &ROWS {
        let (own, answer) = measure(&environment, ours)?;
        let (theirs, _) = measure(&environment, peer)?;
        let command = |side: &Side| side.command.replace("  ", "").replace('|', "\\|");
        writeln!(
            page,
            "| {name} | `{}` | {answer} | {own:.2} {unit} | `{}` | {theirs:.2} {unit} | {:.2} |",
            command(ours),
            command(peer),
            own / theirs
        )
        .map_err(|error| error.to_string())?;
    }
    std::fs::write(PAGE, page).map_err(|error| format!("{PAGE}: {error}"))
}

/// The figure of a side, and the outcome of its first claim.
fn measure(environment: &str, side: &Side) -> Result<(f64, String), String> {
    let text = shell::output("sh", &["-c", &format!("{environment} {}", side.command)])?;
    let printed: Value =
        serde_json::from_str(&text).map_err(|error| format!("`{}`: {error}", side.command))?;
    let figure = if side.figure.is_empty() || side.figure.starts_with('/') {
        printed.pointer(side.figure).and_then(Value::as_f64)
    } else {
        imported(&printed, side.figure)
    };
    let figure = figure.ok_or_else(|| format!("`{}`: no figure at {}", side.command, side.figure))?;
    let outcome = printed.pointer("/verdicts/0/outcome").and_then(Value::as_str);
    Ok((figure * side.times, outcome.unwrap_or("measured").to_owned()))
}

/// The last series of a metric in what `plimsoll import` prints.
fn imported(printed: &Value, metric: &str) -> Option<f64> {
    let series = printed.pointer("/files/0/series")?.as_array()?;
    series.iter().rfind(|series| series["metric"] == metric)?.pointer("/points/0/value")?.as_f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_side_names_a_figure_that_it_can_print() {
        let printed = serde_json::json!({ "files": [{ "series": [
            { "metric": "rate", "points": [{ "value": 1.0 }] }, { "metric": "rate", "points": [{ "value": 2.0 }] },
        ] }] });
        assert_eq!((imported(&printed, "rate"), imported(&printed, "time")), (Some(2.0), None));
        for row in &ROWS {
            for side in [&row.ours, &row.peer] {
                let is_metric = !side.figure.is_empty() && !side.figure.starts_with('/');
                assert_eq!(is_metric, side.command.contains("plimsoll import"), "{}", row.name);
            }
        }
    }
}
