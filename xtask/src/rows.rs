//! `docs/rows.md`: rows of the reports that Plimsoll replaces, each by one command, beside another program that measures the same.
//! `xtask/rows/measured.tsv` keeps what each day measured, so that the page shows all days.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::Value;

use crate::shell;

const PAGE: &str = "docs/rows.md";
const MEASURED: &str = "xtask/rows/measured.tsv";

/// How often each row is measured, both sides in turns: the machine may be another one a minute later.
const ROUNDS: usize = 5;

/// What one side of a row runs, and where its figure is.
struct Side {
    /// A line for the shell, with `plimsoll` for the program; empty where the other side's run has this side's figure, too.
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
    /// The program that the peer's figure is from.
    by: &'static str,
}

const fn side(command: &'static str, figure: &'static str) -> Side {
    Side { command, figure, times: 1.0 }
}

const OWN_CONNECTIONS: &str = "/trials/0/phases/0/figures/connections_per_second";
/// The rate that a load of another program printed, in the second phase of the same run.
const OTHER_RATE: Side = side("", "/trials/0/phases/1/figures/rate");

const ROWS: [Row; 18] = [
    Row {
        name: "connections to a web server",
        unit: "1/s",
        ours: side("plimsoll run xtask/rows/http.toml", OWN_CONNECTIONS),
        peer: OTHER_RATE,
        by: "ab",
    },
    Row {
        name: "connections to a server that forks",
        unit: "1/s",
        ours: side("plimsoll run xtask/rows/fork.toml", OWN_CONNECTIONS),
        peer: OTHER_RATE,
        by: "ab",
    },
    Row {
        name: "rate after a flood, as a share of that before",
        unit: "%",
        ours: Side {
            command: "plimsoll run xtask/rows/flood.toml",
            figure: "/verdicts/0/estimate",
            times: 100.0,
        },
        peer: Side { times: 100.0, ..side("", "/verdicts/1/estimate") },
        by: "ab",
    },
    Row {
        name: "interaction of a path and a server's work",
        unit: "x",
        ours: side("plimsoll run xtask/rows/matrix.toml", "/verdicts/0/estimate"),
        peer: side("", "/verdicts/1/estimate"),
        by: "ab",
    },
    Row {
        name: "mail into Postfix",
        unit: "1/min",
        ours: side("plimsoll run xtask/rows/mail.toml", "/trials/0/phases/1/figures/messages_per_minute"),
        peer: side("", "/trials/0/phases/3/figures/rate"),
        by: "smtp-source",
    },
    Row {
        name: "cached reads of 2 MB",
        unit: "MB/s",
        ours: side("plimsoll run xtask/rows/cached.toml", "/trials/0/phases/0/figures/megabytes_per_second"),
        peer: Side {
            command: "dd if=/dev/urandom of=/var/tmp/rows bs=2M count=1 iflag=fullblock status=none; fio --name=rows --filename=/var/tmp/rows --rw=read \
                      --bs=2M --size=2M --time_based --runtime=3 --mem=mmap --invalidate=0 > $DIR/fio; rm /var/tmp/rows; plimsoll import $DIR/fio",
            figure: "operations_per_second",
            times: 2.097_152,
        },
        by: "fio",
    },
    Row {
        name: "direct random reads of 4 KB",
        unit: "MB/s",
        ours: side("plimsoll run xtask/rows/random.toml", "/trials/0/phases/0/figures/megabytes_per_second"),
        peer: Side {
            command: "fio --name=rows --rw=randread --bs=4k --size=64M --direct=1 --norandommap=1 --time_based --runtime=3 --fallocate=none \
                      --directory=/var/tmp > $DIR/fio; rm /var/tmp/rows.0.0; plimsoll import $DIR/fio",
            figure: "operations_per_second",
            times: 0.004_096,
        },
        by: "fio",
    },
    Row {
        name: "one stream over loopback, 128 KB a call",
        unit: "Gbit/s",
        ours: Side {
            command: "plimsoll run xtask/rows/bulk.toml",
            figure: "/trials/0/phases/0/figures/bits_per_second",
            times: 1e-9,
        },
        peer: Side { times: 1e-3, ..OTHER_RATE },
        by: "iperf 2",
    },
    Row {
        name: "one stream over 50 Mbit/s and a round trip of 20 ms",
        unit: "Mbit/s",
        ours: Side {
            command: "plimsoll run xtask/rows/shaped.toml",
            figure: "/trials/0/phases/0/figures/bits_per_second",
            times: 1e-6,
        },
        peer: OTHER_RATE,
        by: "iperf3",
    },
    Row {
        name: "lost datagrams where 50 Mbit/s are offered 76",
        unit: "%",
        ours: Side {
            command: "plimsoll run xtask/rows/udp.toml",
            figure: "/trials/0/phases/0/figures/loss_share",
            times: 100.0,
        },
        peer: OTHER_RATE,
        by: "iperf3",
    },
    Row {
        name: "400 processes over sockets, 100 messages to each",
        unit: "s",
        ours: Side {
            command: "plimsoll run xtask/rows/messaging.toml",
            figure: "/trials/0/phases/0/figures/median_ms",
            times: 1e-3,
        },
        peer: OTHER_RATE,
        by: "hackbench",
    },
    Row {
        name: "1,000 processes over sockets, 50 messages to each",
        unit: "s",
        ours: Side {
            command: "plimsoll run xtask/rows/crowd.toml",
            figure: "/trials/0/phases/0/figures/median_ms",
            times: 1e-3,
        },
        peer: OTHER_RATE,
        by: "hackbench",
    },
    Row {
        name: "exponent of time in processes, from a table",
        unit: "",
        ours: side("plimsoll judge growth xtask/rows/growth.txt", "/exponent"),
        peer: side(
            "awk 'NR > 1 { x = log($1); y = log($2); n++; a += x; b += y; c += x * x; d += x * y } END { print (n * d - a * b) / (n * c - a * a) }' \
             xtask/rows/growth.txt",
            "",
        ),
        by: "awk",
    },
    Row {
        name: "user time of a server at 100 requests/s",
        unit: "%",
        ours: Side {
            command: "plimsoll run xtask/rows/utilisation.toml",
            figure: "/trials/0/vmstat/0/user",
            times: 100.0,
        },
        peer: OTHER_RATE,
        by: "vmstat",
    },
    Row {
        name: "round trip of a handshake in a capture",
        unit: "ms",
        ours: side(
            "plimsoll trace crates/plimsoll-explain/tests/data/mixed.pcap",
            "/connections/0/handshake/took_ms",
        ),
        peer: Side {
            times: 1e3,
            ..side(
                "tshark -r crates/plimsoll-explain/tests/data/mixed.pcap -Y tcp.stream==0 -T fields -e tcp.analysis.initial_rtt | sort -g | tail -1",
                "",
            )
        },
        by: "tshark",
    },
    Row {
        name: "packets in a capture",
        unit: "",
        ours: side("plimsoll trace crates/plimsoll-explain/tests/data/mixed.pcap", "/packets"),
        peer: side("tshark -r crates/plimsoll-explain/tests/data/mixed.pcap | wc -l", ""),
        by: "tshark",
    },
    Row {
        name: "the pause of a relay that holds data back",
        unit: "s",
        ours: side(
            "plimsoll trace crates/plimsoll-explain/tests/data/sender_held-23.pcap",
            "/connections/0/stalled_s",
        ),
        peer: side(
            "tshark -r crates/plimsoll-explain/tests/data/sender_held-23.pcap -T fields -e frame.time_delta | sort -g | tail -1",
            "",
        ),
        by: "tshark",
    },
    Row {
        name: "a table of two kernels by two",
        unit: "x",
        ours: side("plimsoll judge factors xtask/rows/table.txt", "/estimate"),
        peer: side(
            "awk 'NF == 5 { cell[$1 $3] = sqrt($4 * $5) } END { print cell[\"newnew\"] * cell[\"oldold\"] / cell[\"newold\"] / cell[\"oldnew\"] }' \
             xtask/rows/table.txt",
            "",
        ),
        by: "awk",
    },
];

/// Kept figures, by the row's name and the day.
type Measured = BTreeMap<(String, String), Figures>;

/// The medians of a row's rounds, and the range of their ratios.
struct Figures {
    own: f64,
    theirs: f64,
    ratio: f64,
    lowest: f64,
    highest: f64,
}

/// Runs each row whose name has `part`, and its peer, with a build of Plimsoll, and writes the page with this day beside the earlier ones.
pub(crate) fn run(program: &str, part: &str) -> Result<(), String> {
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
    let day = shell::output("date", &["+%F"])?.trim().to_owned();
    let kept = std::fs::read_to_string(MEASURED).map_err(|error| format!("{MEASURED}: {error}"))?;
    let mut measured = parse(&kept)?;
    for row in ROWS.iter().filter(|row| row.name.contains(part)) {
        let rounds: Vec<[f64; 2]> =
            (0..ROUNDS).map(|_| measure(&environment, row)).collect::<Result<_, _>>()?;
        measured.insert((row.name.to_owned(), day.clone()), Figures::of(&rounds));
        // After each row, so that a later one that fails loses nothing.
        for (file, text) in [(MEASURED, tsv(&measured)), (PAGE, page(&measured))] {
            std::fs::write(file, text).map_err(|error| format!("{file}: {error}"))?;
        }
    }
    Ok(())
}

impl Figures {
    fn of(rounds: &[[f64; 2]]) -> Self {
        let sorted = |of: fn(&[f64; 2]) -> f64| {
            let mut values: Vec<f64> = rounds.iter().map(of).collect();
            values.sort_by(f64::total_cmp);
            values
        };
        let ratios = sorted(|[own, theirs]| own / theirs);
        let middle = rounds.len() / 2;
        Self {
            own: sorted(|[own, _]| *own)[middle],
            theirs: sorted(|[_, theirs]| *theirs)[middle],
            ratio: ratios[middle],
            lowest: ratios[0],
            highest: ratios[ratios.len() - 1],
        }
    }
}

/// Reads the kept figures: one line for each row and day.
fn parse(text: &str) -> Result<Measured, String> {
    let line = |line: &str| -> Option<((String, String), Figures)> {
        let mut fields = line.split('\t');
        let of = (fields.next()?.to_owned(), fields.next()?.to_owned());
        let mut number = || fields.next()?.parse().ok();
        let [own, theirs, ratio, lowest, highest] = [number()?, number()?, number()?, number()?, number()?];
        Some((of, Figures { own, theirs, ratio, lowest, highest }))
    };
    text.lines()
        .map(|text| {
            line(text).ok_or_else(|| format!("{MEASURED}: `{text}`: expected a row, a day and five figures"))
        })
        .collect()
}

fn tsv(measured: &Measured) -> String {
    let line =
        |((name, day), Figures { own, theirs, ratio, lowest, highest }): (&(String, String), &Figures)| {
            format!("{name}\t{day}\t{own}\t{theirs}\t{ratio}\t{lowest}\t{highest}\n")
        };
    measured.iter().map(line).collect()
}

/// The page, with the figures of all days.
fn page(measured: &Measured) -> String {
    let days: BTreeSet<&String> = measured.keys().map(|(_, day)| day).collect();
    let heads: String = days.iter().map(|day| format!(" on {day} | ratio |")).collect();
    let mut page = format!(
        "# Rows\n\nEach row of a report by one command, beside another program that measures the same on the same machine. `cargo xtask rows PROGRAM` writes this page. \
         Each row is measured {ROUNDS} times a day, both sides in turns. A day has both medians, Plimsoll's first. Its ratio is the median of the rounds, with the lowest and \
         the highest. Where no command stands beside a peer, it is a load of the same run.\n\n\
         | row | command | peer |{heads}\n| --- | --- | --- |{}\n",
        " --- | --- |".repeat(days.len())
    );
    for row in &ROWS {
        page.push_str(&line(
            row,
            days.iter().map(|day| measured.get(&(row.name.to_owned(), (*day).clone()))),
        ));
    }
    page
}

/// A row of the page, with the figures of each day.
fn line<'a>(
    Row { name, unit, ours, peer, by }: &Row,
    days: impl Iterator<Item = Option<&'a Figures>>,
) -> String {
    let command =
        |side: &Side| side.command.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|");
    let beside =
        if peer.command.is_empty() { (*by).to_owned() } else { format!("{by}: `{}`", command(peer)) };
    let figures: String = days
        .map(|day| match day {
            Some(Figures { own, theirs, ratio, lowest, highest }) => {
                format!(
                    " {} | {ratio:.2} ({lowest:.2} to {highest:.2}) |",
                    format!("{own:.2}, {theirs:.2} {unit}").trim_end()
                )
            }
            None => " | |".to_owned(),
        })
        .collect();
    format!("| {name} | `{}` | {beside} |{figures}\n", command(ours))
}

/// The figures of both sides in a round.
fn measure(environment: &str, row: &Row) -> Result<[f64; 2], String> {
    let printed = |side: &Side| -> Result<Value, String> {
        // A claim that is undecided (status 4) has its figure all the same.
        let text = shell::output("sh", &["-c", &format!("{environment} {} || test $? = 4", side.command)])?;
        serde_json::from_str(&text).map_err(|error| format!("`{}`: {error}", side.command))
    };
    let ours = printed(&row.ours)?;
    let peer = if row.peer.command.is_empty() { ours.clone() } else { printed(&row.peer)? };
    Ok([figure(&ours, &row.ours)?, figure(&peer, &row.peer)?])
}

/// The figure of a side in what was printed.
fn figure(printed: &Value, side: &Side) -> Result<f64, String> {
    let figure = if side.figure.is_empty() || side.figure.starts_with('/') {
        printed.pointer(side.figure).and_then(Value::as_f64)
    } else {
        imported(printed, side.figure)
    };
    let figure = figure.ok_or_else(|| format!("`{}`: no figure at {}", side.command, side.figure))?;
    Ok(figure * side.times)
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

    #[test]
    fn a_row_has_the_medians_of_the_rounds_and_the_range_of_their_ratios() {
        let figures = Figures::of(&[[90.0, 100.0], [300.0, 300.0], [220.0, 200.0]]);
        let found = line(&ROWS[0], [Some(&figures)].into_iter());
        assert!(found.ends_with("| ab | 220.00, 200.00 1/s | 1.00 (0.90 to 1.10) |\n"), "{found}");
    }

    #[test]
    fn a_second_day_stands_beside_the_first_and_a_second_run_of_a_day_replaces_it() {
        let of = |day: &str| (ROWS[0].name.to_owned(), day.to_owned());
        let mut measured = BTreeMap::from([(of("2026-01-01"), Figures::of(&[[1.0, 2.0]]))]);
        let third = BTreeMap::from([(of("2026-01-03"), Figures::of(&[[1_887.235_000_1, 3.0]]))]);
        assert_eq!(page(&parse(&tsv(&third)).expect("it is read")), page(&third), "no digit is lost");
        measured = parse(&tsv(&measured)).expect("what was written is read");
        measured.insert(of("2026-01-02"), Figures::of(&[[9.0, 2.0]]));
        measured.insert(of("2026-01-02"), Figures::of(&[[3.0, 2.0]]));
        let found = page(&measured);
        assert!(found.contains("| peer | on 2026-01-01 | ratio | on 2026-01-02 | ratio |\n"), "{found}");
        assert!(
            found.contains(
                "| ab | 1.00, 2.00 1/s | 0.50 (0.50 to 0.50) | 3.00, 2.00 1/s | 1.50 (1.50 to 1.50) |\n"
            ),
            "{found}"
        );
        assert!(found.ends_with("| | | | |\n"), "{found}");
    }

    #[test]
    fn the_page_shows_the_kept_figures() {
        let measured = parse(include_str!("../rows/measured.tsv")).expect("the kept figures are read");
        assert_eq!(page(&measured), include_str!("../../docs/rows.md"), "run `cargo xtask rows`");
    }
}
