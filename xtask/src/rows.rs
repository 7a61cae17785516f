//! `docs/rows.md`: rows of the reports that Plimsoll replaces, each by one command, beside another program that measures the same.
//! `xtask/rows/measured.tsv` keeps what each day measured, so that the page shows all days.

mod storage;

use std::borrow::Cow;
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
    command: Cow<'static, str>,
    /// A JSON pointer into what the command prints, or the metric of what `plimsoll import` reads, whose last series counts.
    figure: &'static str,
    /// What the figure is multiplied by.
    times: f64,
}

struct Row {
    name: Cow<'static, str>,
    unit: &'static str,
    ours: Side,
    peer: Side,
    /// The program that the peer's figure is from. fio is measured against itself as well: disks scatter.
    by: &'static str,
}

fn side(command: impl Into<Cow<'static, str>>, figure: &'static str) -> Side {
    Side { command: command.into(), figure, times: 1.0 }
}

const OWN_CONNECTIONS: &str = "/trials/0/phases/0/figures/connections_per_second";
/// The rate that a load of another program printed, in the second phase of the same run.
fn other_rate() -> Side {
    side("", "/trials/0/phases/1/figures/rate")
}

/// The rows of the reports, and one for each kind of storage load.
fn rows() -> Vec<Row> {
    let mut rows = reports();
    rows.extend(storage::rows());
    rows
}

fn reports() -> Vec<Row> {
    vec![
    Row {
        name: "connections to a web server".into(),
        unit: "1/s",
        ours: side("plimsoll run xtask/rows/http.toml", OWN_CONNECTIONS),
        peer: other_rate(),
        by: "ab",
    },
    Row {
        name: "connections to a server that forks".into(),
        unit: "1/s",
        ours: side("plimsoll run xtask/rows/fork.toml", OWN_CONNECTIONS),
        peer: other_rate(),
        by: "ab",
    },
    Row {
        name: "rate after a flood, as a share of that before".into(),
        unit: "%",
        ours: Side {
            command: "plimsoll run xtask/rows/flood.toml".into(),
            figure: "/verdicts/0/estimate",
            times: 100.0,
        },
        peer: Side { times: 100.0, ..side("", "/verdicts/1/estimate") },
        by: "ab",
    },
    Row {
        name: "interaction of a path and a server's work".into(),
        unit: "x",
        ours: side("plimsoll run xtask/rows/matrix.toml", "/verdicts/0/estimate"),
        peer: side("", "/verdicts/1/estimate"),
        by: "ab",
    },
    Row {
        name: "mail into Postfix".into(),
        unit: "1/min",
        ours: side("plimsoll run xtask/rows/mail.toml", "/trials/0/phases/1/figures/messages_per_minute"),
        peer: side("", "/trials/0/phases/3/figures/rate"),
        by: "smtp-source",
    },
    Row {
        name: "cached reads of 2 MB".into(),
        unit: "MB/s",
        ours: side("plimsoll run xtask/rows/cached.toml", "/trials/0/phases/0/figures/megabytes_per_second"),
        peer: Side {
            command: "dd if=/dev/urandom of=/var/tmp/rows bs=2M count=1 iflag=fullblock status=none; fio --name=rows --filename=/var/tmp/rows --rw=read \
                      --bs=2M --size=2M --time_based --runtime=3 --mem=mmap --invalidate=0 > $DIR/fio; rm /var/tmp/rows; plimsoll import $DIR/fio".into(),
            figure: "operations_per_second",
            times: 2.097_152,
        },
        by: "fio",
    },
    Row {
        name: "direct random reads of 4 KB".into(),
        unit: "MB/s",
        ours: side("plimsoll run xtask/rows/random.toml", "/trials/0/phases/0/figures/megabytes_per_second"),
        peer: Side {
            command: "sh xtask/rows/fio.sh randread 4k 1 psync 1 1".into(),
            figure: "operations_per_second",
            times: 0.004_096,
        },
        by: "fio",
    },
    Row {
        name: "one stream over loopback, 128 KB a call".into(),
        unit: "Gbit/s",
        ours: Side {
            command: "plimsoll run xtask/rows/bulk.toml".into(),
            figure: "/trials/0/phases/0/figures/bits_per_second",
            times: 1e-9,
        },
        peer: Side { times: 1e-3, ..other_rate() },
        by: "iperf 2",
    },
    Row {
        name: "one stream over 50 Mbit/s and a round trip of 20 ms".into(),
        unit: "Mbit/s",
        ours: Side {
            command: "plimsoll run xtask/rows/shaped.toml".into(),
            figure: "/trials/0/phases/0/figures/bits_per_second",
            times: 1e-6,
        },
        peer: other_rate(),
        by: "iperf3",
    },
    Row {
        name: "lost datagrams where 50 Mbit/s are offered 76".into(),
        unit: "%",
        ours: Side {
            command: "plimsoll run xtask/rows/udp.toml".into(),
            figure: "/trials/0/phases/0/figures/loss_share",
            times: 100.0,
        },
        peer: other_rate(),
        by: "iperf3",
    },
    Row {
        name: "400 processes over sockets, 100 messages to each".into(),
        unit: "s",
        ours: Side {
            command: "plimsoll run xtask/rows/messaging.toml".into(),
            figure: "/trials/0/phases/0/figures/median_ms",
            times: 1e-3,
        },
        peer: other_rate(),
        by: "hackbench",
    },
    Row {
        name: "1,000 processes over sockets, 50 messages to each".into(),
        unit: "s",
        ours: Side {
            command: "plimsoll run xtask/rows/crowd.toml".into(),
            figure: "/trials/0/phases/0/figures/median_ms",
            times: 1e-3,
        },
        peer: other_rate(),
        by: "hackbench",
    },
    Row {
        name: "exponent of time in processes, from a table".into(),
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
        name: "user time of a server at 100 requests/s".into(),
        unit: "%",
        ours: Side {
            command: "plimsoll run xtask/rows/utilisation.toml".into(),
            figure: "/trials/0/vmstat/0/user",
            times: 100.0,
        },
        peer: other_rate(),
        by: "vmstat",
    },
    Row {
        name: "round trip of a handshake in a capture".into(),
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
        name: "packets in a capture".into(),
        unit: "",
        ours: side("plimsoll trace crates/plimsoll-explain/tests/data/mixed.pcap", "/packets"),
        peer: side("tshark -r crates/plimsoll-explain/tests/data/mixed.pcap | wc -l", ""),
        by: "tshark",
    },
    Row {
        name: "the pause of a relay that holds data back".into(),
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
        name: "a table of two kernels by two".into(),
        unit: "x",
        ours: side("plimsoll judge factors xtask/rows/table.txt", "/estimate"),
        peer: side(
            "awk 'NF == 5 { cell[$1 $3] = sqrt($4 * $5) } END { print cell[\"newnew\"] * cell[\"oldold\"] / cell[\"newold\"] / cell[\"oldnew\"] }' \
             xtask/rows/table.txt",
            "",
        ),
        by: "awk",
    },
    ]
}

/// Kept figures, by the row's name and the day.
type Measured = BTreeMap<(String, String), Figures>;

/// The medians of a row's rounds, and their ratios.
struct Figures {
    own: f64,
    theirs: f64,
    ratio: Spread,
    /// The peer against itself.
    noise: Option<Spread>,
}

/// The median of ratios, the lowest and the highest.
struct Spread([f64; 3]);

/// The figures of both sides in a round, and that of the peer once more.
struct Round {
    own: f64,
    theirs: f64,
    again: Option<f64>,
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
    for row in rows().iter().filter(|row| row.name.contains(part)) {
        let rounds: Vec<Round> =
            (0..ROUNDS).map(|round| measure(&environment, row, round)).collect::<Result<_, _>>()?;
        measured.insert((row.name.to_string(), day.clone()), Figures::of(&rounds));
        // After each row, so that a later one that fails loses nothing.
        for (file, text) in [(MEASURED, tsv(&measured)), (PAGE, page(&measured))] {
            std::fs::write(file, text).map_err(|error| format!("{file}: {error}"))?;
        }
    }
    Ok(())
}

impl Spread {
    fn of(ratios: impl Iterator<Item = f64>) -> Option<Self> {
        let sorted = sorted(ratios);
        Some(Self([*sorted.get(sorted.len() / 2)?, *sorted.first()?, *sorted.last()?]))
    }

    fn text(&self) -> String {
        let [ratio, lowest, highest] = self.0;
        format!("{ratio:.2} ({lowest:.2} to {highest:.2})")
    }
}

impl Figures {
    fn of(rounds: &[Round]) -> Self {
        let middle = |of: fn(&Round) -> f64| sorted(rounds.iter().map(of))[rounds.len() / 2];
        let ratio = Spread::of(rounds.iter().map(|round| round.own / round.theirs));
        Self {
            own: middle(|round| round.own),
            theirs: middle(|round| round.theirs),
            ratio: ratio.expect("a row has rounds"),
            noise: Spread::of(rounds.iter().filter_map(|round| Some(round.again? / round.theirs))),
        }
    }
}

fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values
}

/// Reads the kept figures: one line for each row and day.
fn parse(text: &str) -> Result<Measured, String> {
    let line = |line: &str| -> Option<((String, String), Figures)> {
        let mut fields = line.split('\t');
        let of = (fields.next()?.to_owned(), fields.next()?.to_owned());
        let numbers: Vec<f64> = fields.map(|field| field.parse().ok()).collect::<Option<_>>()?;
        let spread = |at: usize| numbers.get(at..at + 3)?.try_into().ok().map(Spread);
        let [own, theirs, ..] = numbers[..] else { return None };
        Some((of, Figures { own, theirs, ratio: spread(2)?, noise: spread(5) }))
    };
    text.lines()
        .map(|text| {
            line(text).ok_or_else(|| format!("{MEASURED}: `{text}`: expected a row, a day and five figures"))
        })
        .collect()
}

fn tsv(measured: &Measured) -> String {
    let line = |((name, day), Figures { own, theirs, ratio, noise }): (&(String, String), &Figures)| {
        let spreads = std::iter::once(ratio).chain(noise).flat_map(|spread| spread.0);
        let numbers: String =
            [*own, *theirs].into_iter().chain(spreads).map(|it| format!("\t{it}")).collect();
        format!("{name}\t{day}{numbers}\n")
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
         the highest. fio stands against itself as well, which shows how far the disk scatters. Where no command stands beside a peer, it is a load of the same run.\n\n\
         | row | command | peer |{heads}\n| --- | --- | --- |{}\n",
        " --- | --- |".repeat(days.len())
    );
    for row in &rows() {
        page.push_str(&line(
            row,
            days.iter().map(|day| measured.get(&(row.name.to_string(), (*day).clone()))),
        ));
    }
    page.push_str(&days.iter().filter_map(|day| pooled(measured, day)).collect::<String>());
    page
}

/// What the rows that have fio beside itself say together: a single one scatters by more than programs differ.
fn pooled(measured: &Measured, day: &str) -> Option<String> {
    let rows: Vec<(&Spread, &Spread)> = measured
        .iter()
        .filter(|((_, of), _)| of == day)
        .filter_map(|(_, figures)| Some((&figures.ratio, figures.noise.as_ref()?)))
        .collect();
    let own = geometric_mean(rows.iter().map(|(ratio, _)| ratio.0[0]))?;
    let itself = geometric_mean(rows.iter().map(|(_, noise)| noise.0[0]))?;
    Some(format!(
        "\nOn {day}, {} rows have fio beside itself. Their geometric mean is {own}, and that of fio against itself {itself} (two standard errors each).\n",
        rows.len()
    ))
}

/// The geometric mean, with twice its standard error; nothing for a single ratio.
fn geometric_mean(ratios: impl Iterator<Item = f64>) -> Option<String> {
    let logs: Vec<f64> = ratios.map(f64::ln).collect();
    let n = logs.len() as f64;
    let mean = logs.iter().sum::<f64>() / n;
    let variance = logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>() / (n - 1.0);
    let error = 2.0 * (variance / n).sqrt();
    error.is_finite().then(|| {
        let [at, low, high] = [mean, mean - error, mean + error].map(f64::exp);
        format!("{at:.3} ({low:.3} to {high:.3})")
    })
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
            Some(Figures { own, theirs, ratio, noise }) => {
                let noise =
                    noise.as_ref().map_or_else(String::new, |noise| format!("; {by}/{by} {}", noise.text()));
                format!(" {} | {}{noise} |", format!("{own:.2}, {theirs:.2} {unit}").trim_end(), ratio.text())
            }
            None => " | |".to_owned(),
        })
        .collect();
    format!("| {name} | `{}` | {beside} |{figures}\n", command(ours))
}

/// Measures both sides, the peer first in every other round.
fn measure(environment: &str, row: &Row, round: usize) -> Result<Round, String> {
    let printed = |side: &Side| -> Result<Value, String> {
        // A claim that is undecided (status 4) has its figure all the same.
        let text = shell::output("sh", &["-c", &format!("{environment} {} || test $? = 4", side.command)])?;
        serde_json::from_str(&text).map_err(|error| format!("`{}`: {error}", side.command))
    };
    let ours = || printed(&row.ours);
    let peers = || figure(&printed(&row.peer)?, &row.peer);
    if row.peer.command.is_empty() {
        let run = ours()?;
        return Ok(Round { own: figure(&run, &row.ours)?, theirs: figure(&run, &row.peer)?, again: None });
    }
    let again = || if row.by == "fio" { peers().map(Some) } else { Ok(None) };
    if round.is_multiple_of(2) {
        let own = figure(&ours()?, &row.ours)?;
        Ok(Round { own, theirs: peers()?, again: again()? })
    } else {
        let (again, theirs) = (again()?, peers()?);
        Ok(Round { own: figure(&ours()?, &row.ours)?, theirs, again })
    }
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
        for row in &rows() {
            for side in [&row.ours, &row.peer] {
                let is_metric = !side.figure.is_empty() && !side.figure.starts_with('/');
                let imports = ["plimsoll import", "fio.sh"].iter().any(|part| side.command.contains(part));
                assert_eq!(is_metric, imports, "{}", row.name);
            }
        }
    }

    fn rounds(of: &[[f64; 2]]) -> Vec<Round> {
        of.iter().map(|[own, theirs]| Round { own: *own, theirs: *theirs, again: None }).collect()
    }

    #[test]
    fn a_peer_that_is_measured_twice_shows_how_far_it_scatters() {
        let of = |again| Round { own: 90.0, theirs: 100.0, again: Some(again) };
        let found = line(&rows()[0], [Some(&Figures::of(&[of(90.0), of(99.0), of(120.0)]))].into_iter());
        assert!(found.ends_with("| 0.90 (0.90 to 0.90); ab/ab 0.99 (0.90 to 1.20) |\n"), "{found}");
        let kept = BTreeMap::from([(
            (rows()[0].name.to_string(), "2026-01-01".to_owned()),
            Figures::of(&[of(90.0)]),
        )]);
        assert_eq!(page(&parse(&tsv(&kept)).expect("it is read")), page(&kept));
    }

    #[test]
    fn a_row_has_the_medians_of_the_rounds_and_the_range_of_their_ratios() {
        let figures = Figures::of(&rounds(&[[90.0, 100.0], [300.0, 300.0], [220.0, 200.0]]));
        let found = line(&rows()[0], [Some(&figures)].into_iter());
        assert!(found.ends_with("| ab | 220.00, 200.00 1/s | 1.00 (0.90 to 1.10) |\n"), "{found}");
    }

    #[test]
    fn a_second_day_stands_beside_the_first_and_a_second_run_of_a_day_replaces_it() {
        let of = |day: &str| (rows()[0].name.to_string(), day.to_owned());
        let mut measured = BTreeMap::from([(of("2026-01-01"), Figures::of(&rounds(&[[1.0, 2.0]])))]);
        let third = BTreeMap::from([(of("2026-01-03"), Figures::of(&rounds(&[[1_887.235_000_1, 3.0]])))]);
        assert_eq!(page(&parse(&tsv(&third)).expect("it is read")), page(&third), "no digit is lost");
        measured = parse(&tsv(&measured)).expect("what was written is read");
        measured.insert(of("2026-01-02"), Figures::of(&rounds(&[[9.0, 2.0]])));
        measured.insert(of("2026-01-02"), Figures::of(&rounds(&[[3.0, 2.0]])));
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
    fn rows_with_fio_beside_itself_have_a_geometric_mean_of_the_day() {
        // Twofold and half of it multiply to nothing; two logs of plus and minus ln 2 have a standard error of ln 2.
        assert_eq!(geometric_mean([2.0, 0.5].into_iter()).as_deref(), Some("1.000 (0.250 to 4.000)"));
        assert_eq!(geometric_mean([2.0].into_iter()), None);
        let name = |row: usize| (rows()[row].name.to_string(), "2026-01-01".to_owned());
        let round = |own| Round { own, theirs: 1.0, again: Some(1.0) };
        let measured = [(name(5), 2.0), (name(6), 0.5)].map(|(of, own)| (of, Figures::of(&[round(own)])));
        let page = page(&BTreeMap::from(measured));
        assert!(
            page.contains(
                "On 2026-01-01, 2 rows have fio beside itself. Their geometric mean is 1.000 (0.250 to 4.000)"
            ),
            "{page}"
        );
    }

    #[test]
    fn the_page_shows_the_kept_figures() {
        let measured = parse(include_str!("../rows/measured.tsv")).expect("the kept figures are read");
        assert_eq!(page(&measured), include_str!("../../docs/rows.md"), "run `cargo xtask rows`");
    }
}
