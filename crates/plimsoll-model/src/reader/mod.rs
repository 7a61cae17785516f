//! From what a program printed to named figures: a reader for each program that is known, and picks for any other.
//!
//! Reading is pure: what was printed is stored as it is, and read whenever a figure is asked for.

mod named;
mod pick;
mod programs;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use named::{Better, NamedMetric};
pub use pick::{Pick, PickError};

/// Figures by name.
pub type Figures = BTreeMap<String, f64>;

/// Why what a program printed cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// A required value is missing.
    #[error("the output of {program} has no {what}")]
    Missing {
        /// The program.
        program: &'static str,
        /// The figure that was looked for.
        what: &'static str,
    },
    /// The output has several tests.
    #[error(
        "the output of {program} has {tests} tests, expected one test, such as `-t set`, or `metrics` that pick one"
    )]
    Several {
        /// The program.
        program: &'static str,
        /// How many there are.
        tests: usize,
    },
    /// The output is not readable text.
    #[error("the output of {program} cannot be read: {why}")]
    Unreadable {
        /// The program.
        program: &'static str,
        /// The error.
        why: String,
    },
    /// A figure that an experiment picks out of the output is not there.
    #[error("no `{name}` in the output: {why}")]
    Picked {
        /// The figure.
        name: String,
        /// The error.
        why: PickError,
    },
}

/// Makes the enum of the programs from a list of them. Each is a [`programs::Program`].
macro_rules! readers {
    ($($(#[$doc:meta])* $name:literal: $kind:ident in $program:ident,)+) => {
        /// A program whose output is known.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
        pub enum Reader {
            $($(#[$doc])* #[serde(rename = $name)] $kind,)+
        }

        impl Reader {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$kind),+];

            /// The name in files.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$kind => $name,)+
                }
            }

            fn program(self) -> &'static programs::Program {
                match self {
                    $(Self::$kind => &programs::$program,)+
                }
            }
        }
    };
}

readers! {
    /// `ab` of ApacheBench, whose percentiles are whole milliseconds.
    "ab": Ab in AB,
    /// `pgbench` of PostgreSQL.
    "pgbench": Pgbench in PGBENCH,
    /// `postal`, which sends mail until it is ended. It prints a row at the end of each minute of the clock and nothing finer, so that a slice has to last for
    /// 62 s to have one.
    "postal": Postal in POSTAL,
    /// `redis-benchmark --csv` with one test.
    "redis-benchmark": RedisBenchmark in REDIS_BENCHMARK,
    /// `sysbench ... run`.
    "sysbench": Sysbench in SYSBENCH,
    /// `wrk`, with or without `--latency`.
    "wrk": Wrk in WRK,
}

impl Reader {
    /// The figures that its output may have; the first is the main one.
    pub fn metrics(self) -> impl Iterator<Item = NamedMetric> {
        self.program().metrics()
    }

    /// The figures in what it printed.
    ///
    /// # Errors
    /// When something is missing that its output always has.
    pub fn read(self, text: &str) -> Result<Figures, ReadError> {
        self.program().read(text)
    }
}

/// How figures are read off what a program printed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Reading {
    /// The program whose output it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reads: Option<Reader>,
    /// Patterns that pick figures out of it, by the figure's name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub metrics: BTreeMap<String, Pick>,
}

impl Reading {
    /// The default subject of the load: the figure with this name, or else the first.
    const USUAL: &'static str = "rate";

    /// The figures that it gives.
    pub fn named(&self) -> Vec<NamedMetric> {
        let picked = self.metrics.iter().map(|(name, pick)| pick.named(name));
        self.reads.into_iter().flat_map(Reader::metrics).chain(picked).collect()
    }

    /// The figure that it is about; `None` if it gives none.
    pub fn usual(&self) -> Option<NamedMetric> {
        let named = self.named();
        named.iter().find(|metric| metric.name == Self::USUAL).or(named.first()).cloned()
    }

    /// The figures in what a program printed on its standard output; a pattern that is not found there is looked for on its standard error.
    ///
    /// # Errors
    /// When something is missing.
    pub fn read(&self, stdout: &str, stderr: &str) -> Result<Figures, ReadError> {
        let mut figures = match self.reads {
            Some(reader) => reader.read(stdout)?,
            None => Figures::new(),
        };
        for (name, pick) in &self.metrics {
            let figure =
                pick.of(stdout, stderr).map_err(|why| ReadError::Picked { name: name.clone(), why })?;
            figures.insert(name.clone(), figure);
        }
        Ok(figures)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(reader: Reader, text: &str) -> Vec<(String, f64)> {
        reader.read(text).unwrap().into_iter().collect()
    }

    fn figures(list: &[(&str, f64)]) -> Vec<(String, f64)> {
        list.iter().map(|(name, figure)| ((*name).to_owned(), *figure)).collect()
    }

    #[test]
    fn redis_benchmarks_row_is_read_and_several_are_refused() {
        // redis-benchmark 7.0.15
        let head = "\"test\",\"rps\",\"avg_latency_ms\",\"min_latency_ms\",\"p50_latency_ms\",\"p95_latency_ms\",\"p99_latency_ms\",\"max_latency_ms\"\n";
        let set = "\"SET\",\"29498.53\",\"1.186\",\"0.168\",\"0.631\",\"4.447\",\"8.479\",\"16.863\"\n";
        let expected = [
            ("latency_max", 16.863),
            ("latency_mean", 1.186),
            ("latency_p50", 0.631),
            ("latency_p95", 4.447),
            ("latency_p99", 8.479),
            ("rate", 29498.53),
        ];
        assert_eq!(read(Reader::RedisBenchmark, &format!("{head}{set}")), figures(&expected));
        let two = Reader::RedisBenchmark.read(&format!("{head}{set}{set}")).unwrap_err().to_string();
        assert!(two.contains("2 tests"), "{two}");
        assert!(Reader::RedisBenchmark.read("Could not connect\n").is_err());
        // Version 5 has neither a head nor latencies.
        assert_eq!(read(Reader::RedisBenchmark, "\"SET\",\"84745.77\"\n"), figures(&[("rate", 84745.77)]));
    }

    #[test]
    fn sysbenchs_general_statistics_are_read() {
        // sysbench 1.0.20, cpu
        let text = "CPU speed:\n    events per second:  3882.23\n\nGeneral statistics:\n    total time:                          1.0014s\n    \
                    total number of events:              3890\n\nLatency (ms):\n         min:                                    0.22\n         \
                    avg:                                    0.26\n         max:                                    8.33\n         \
                    95th percentile:                        0.25\n         sum:                                  998.31\n";
        let found = Reader::Sysbench.read(text).unwrap();
        assert!((found["rate"] - 3890.0 / 1.0014).abs() < 1e-9);
        assert_eq!((found["latency_mean"], found["latency_p95"], found["latency_max"]), (0.26, 0.25, 8.33));
        let error = Reader::Sysbench.read("FATAL: Cannot find benchmark").unwrap_err().to_string();
        assert!(error.contains("total time"), "{error}");
    }

    #[test]
    fn abs_figures_are_read_and_other_replies_than_2xx_are_errors() {
        // ab 2.3
        let text = include_str!("../../../plimsoll-import/tests/samples/ab.txt");
        let found = Reader::Ab.read(text).unwrap();
        assert_eq!((found["rate"], found["errors"], found["latency_mean"]), (12_449.04, 0.0, 0.643));
        assert_eq!((found["latency_p50"], found["latency_p99"], found["latency_max"]), (1.0, 4.0, 6.0));
        // 70159.56 [Kbytes/sec], which are KiB.
        assert!((found["transfer"] - 71.843_389_44).abs() < 1e-9, "{}", found["transfer"]);
        let failing = text
            .replace("Failed requests:        0", "Failed requests:        3\nNon-2xx responses:      40");
        assert_eq!(Reader::Ab.read(&failing).unwrap()["errors"], 43.0);
        let refused = Reader::Ab.read("apr_socket_recv: Connection refused (111)\n").unwrap_err().to_string();
        assert!(refused.contains("Requests per second"), "{refused}");
    }

    #[test]
    fn wrks_figures_are_read_in_their_units() {
        // wrk 4.1.0 with --latency
        let text = "Running 1s test @ http://127.0.0.1:17380/x\n  1 threads and 4 connections\n  Thread Stats   Avg      Stdev     Max   +/- Stdev\n    \
                    Latency     3.07ms    2.82ms  19.33ms   87.25%\n    Req/Sec     1.51k   569.39     2.56k    80.00%\n  Latency Distribution\n     \
                    50%    1.80ms\n     75%    4.22ms\n     90%    6.70ms\n     99%   14.01ms\n  1500 requests in 1.00s, 537.60KB read\n\
                    Requests/sec:   1498.51\nTransfer/sec:    537.06KB\n";
        let found = Reader::Wrk.read(text).unwrap();
        assert_eq!((found["rate"], found["errors"]), (1498.51, 0.0));
        assert_eq!((found["latency_mean"], found["latency_max"]), (3.07, 19.33));
        assert_eq!((found["latency_p50"], found["latency_p90"], found["latency_p99"]), (1.8, 6.7, 14.01));
        assert!((found["transfer"] - 0.549_949_44).abs() < 1e-6, "{}", found["transfer"]);
        let failing = "  Thread Stats   Avg      Stdev     Max   +/- Stdev\n    Latency   963.00us    3.15ms  1.20s   87.37%\n  \
                       Socket errors: connect 1, read 2, write 0, timeout 4\n  Non-2xx or 3xx responses: 1206\nRequests/sec:   1205.56\n";
        let found = Reader::Wrk.read(failing).unwrap();
        assert_eq!((found["errors"], found["latency_mean"], found["latency_max"]), (1213.0, 0.963, 1200.0));
        assert!(!found.contains_key("latency_p50"));
    }

    #[test]
    fn postals_first_and_broken_minute_is_no_rate() {
        // postal 0.75, begun at 51 minutes and some seconds
        let head = "time,messages,data(K),errors,connections,SSL connections\n";
        let first = format!("{head}05:51,50,284,0,25,0\n");
        assert_eq!(read(Reader::Postal, &first), figures(&[("errors", 0.0), ("messages", 50.0)]));
        let more = format!("{first}05:52,580,3112,1,286,0\n05:53,600,3112,0,286,0\n");
        assert_eq!(
            read(Reader::Postal, &more),
            figures(&[("errors", 1.0), ("messages", 1230.0), ("rate", 590.0)])
        );
        assert!(Reader::Postal.read(head).is_err());
    }

    #[test]
    fn pgbenchs_transactions_are_read() {
        // pgbench 15
        let text = "transaction type: <builtin: TPC-B (sort of)>\nscaling factor: 1\nquery mode: simple\nnumber of clients: 2\n\
                    number of transactions actually processed: 2340\nnumber of failed transactions: 3 (0.128%)\n\
                    latency average = 1.708 ms\nlatency stddev = 0.9 ms\ninitial connection time = 4.215 ms\n\
                    tps = 1170.614223 (without initial connection time)\n";
        let expected = [("failed", 3.0), ("latency_mean", 1.708), ("rate", 1_170.614_223)];
        assert_eq!(read(Reader::Pgbench, text), figures(&expected));
    }

    #[test]
    fn what_a_reader_gives_is_among_what_it_announces_and_has_no_name_of_the_programs_own() {
        for reader in Reader::ALL {
            assert_eq!(serde_json::to_value(reader).unwrap(), reader.name());
            for metric in reader.metrics() {
                assert!(crate::experiment::Metric::named(&metric.name).is_none(), "{}", metric.name);
            }
        }
    }
}
