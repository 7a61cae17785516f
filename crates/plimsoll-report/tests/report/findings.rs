//! Each kind of finding in text and in Markdown, and its chart on the page.

use plimsoll_model::report::{ComparedProfile, PhaseReport, RunReport};
use plimsoll_report::html::{self, Drawn};
use plimsoll_report::markdown;
use plimsoll_report::text::{self, TextOptions};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::fixture;

/// A part of a report, as its JSON says.
pub(crate) fn of<T: DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).expect("a part of the public form of a run")
}

/// The run in text and in Markdown. Its page must have a chart of this title.
fn written(report: &RunReport, chart: &str) -> String {
    let (mut plain, mut summary, mut page) = (Vec::new(), Vec::new(), Vec::new());
    text::details(&mut plain, report, &TextOptions::default()).unwrap();
    markdown::run(&mut summary, report).unwrap();
    html::run(&mut page, report, &[], &Drawn::default()).unwrap();
    let [plain, summary, page] = [plain, summary, page].map(|bytes| String::from_utf8(bytes).unwrap());
    assert!(page.contains(chart), "the page has no chart `{chart}`");
    let until = |text: &str, end: &str| text.split(end).next().unwrap_or_default().to_owned();
    // The description of the machine is equal everywhere, and has snapshots of its own.
    format!("{}\n--- Markdown\n{}", until(&plain, "Measured on"), until(&summary, "Measured on"))
}

pub(crate) fn search() -> RunReport {
    let probe = |offered: f64, in_time: f64, took: f64, finding: &str| json!({ "trial": 1, "offered_per_second": offered, "in_time": in_time, "took_ms": took, "finding": finding });
    RunReport {
        verdicts: of(json!([{
            "claim": "limit", "metric": "requests_per_second", "outcome": "estimated", "estimate": 1450.0, "interval": [1400.0, 1500.0],
            "confidence": 0.95, "n": 3, "reason": "the bound held at 1,400 and not at 1,500",
            "details": {
            "phase": "search", "cell": {}, "at_most_ms": 20.0, "share": 0.95,
            "probes": [probe(1000.0, 0.999, 4.5, "held"), probe(2000.0, 0.42, 180.0, "broken"), probe(1400.0, 0.97, 18.0, "held"),
                       probe(1500.0, 0.91, 29.0, "broken"), probe(9000.0, 0.1, 900.0, "not_offered")],
            "predicted": { "from": "light", "points": 12, "highest_per_second": 600.0, "service_ms": 0.62, "service_interval": [0.6, 0.65],
                           "per_second": 1460.0, "interval": [1390.0, 1540.0] }
            }
        }])),
        ..fixture::empty()
    }
}

#[test]
fn a_search_shows_its_probes_and_what_light_load_predicted() {
    insta::assert_snapshot!(written(&search(), "earch"));
}

pub(crate) fn modes() -> RunReport {
    let values: Vec<f64> =
        (0..40).map(|n| if n / 5 % 2 == 0 { 108.0 } else { 59.0 } + fixture::wobble(n)).collect();
    let there: Vec<bool> = (0..40).map(|n| n / 5 % 2 == 1).collect();
    let belongs: Vec<u32> = there.iter().map(|there| u32::from(!there)).collect();
    RunReport {
        verdicts: of(json!([{
            "claim": "modes", "metric": "megabytes_per_second", "outcome": "several_modes", "estimate": 2.0, "interval": null,
            "confidence": 0.95, "n": 40, "reason": "two modes at 59 and 108 MB/s; they come and go", "expected": "several_modes", "holds": true,
            "details": {
            "phase": "timed", "cell": {}, "metric": "megabytes_per_second", "values": values,
            "modes": [{ "center": 59.0, "weight": 0.5 }, { "center": 108.0, "weight": 0.5 }],
            "belongs_to": belongs, "order": "comes_and_goes", "background": { "reader": there }
            }
        }])),
        ..fixture::empty()
    }
}

#[test]
fn modes_show_where_measurements_gather_and_with_whom() {
    insta::assert_snapshot!(written(&modes(), "timed"));
}

pub(crate) fn winners() -> RunReport {
    let winner = |phase: &str, best: &str, lead: f64, outcome: &str, doubts: &[&str]| {
        json!({
            "phase": phase, "row": { "threads": "4" }, "factor": "scheduler", "metric": "operations_per_second", "winner": best, "figure": 1000.0 * lead,
            "next": "none", "lead": lead, "certainty": 0.93, "outcome": outcome,
            "figures": { "kyber": 1000.0 * lead, "none": 1000.0, "bfq": 800.0 }, "doubts": doubts
        })
    };
    let finding = |details: Value| {
        json!({
            "claim": "winner", "metric": "operations_per_second", "outcome": "faster", "estimate": 1.2, "interval": [1.1, 1.3],
            "confidence": 0.95, "n": 8, "reason": "kyber is best", "details": details
        })
    };
    RunReport {
        verdicts: of(json!([
            finding(winner("reads", "kyber", 1.2, "faster", &[])),
            finding(winner("writes", "kyber", 1.01, "same", &["the medians put none first"])),
        ])),
        ..fixture::empty()
    }
}

#[test]
fn winners_are_a_table_with_their_doubts() {
    insta::assert_snapshot!(written(&winners(), "scheduler"));
}

pub(crate) fn growth() -> RunReport {
    let point = |workers: u64, ms: f64| json!({ "workers": workers, "trials": 3, "ms": ms, "least_ms": ms * 0.9, "most_ms": ms * 1.1, "memory_bytes": 20000.0 * workers as f64 });
    RunReport {
        verdicts: of(json!([{
            "claim": "growth", "metric": "median_ms", "outcome": "estimated", "estimate": 1.02, "interval": [0.98, 1.06],
            "confidence": 0.95, "n": 12, "reason": "linear up to 80 workers, then twice as steep",
            "details": {
            "cell": {}, "phase": "rounds", "kind": "knee", "knee": 80.0, "knee_interval": [60.0, 110.0], "bytes_per_worker": 20000.0,
            "points": [point(20, 2.0), point(40, 4.0), point(80, 8.0), point(160, 24.0)],
            "curve": [[20.0, 2.0], [80.0, 8.0], [160.0, 24.0]]
            }
        }])),
        ..fixture::empty()
    }
}

#[test]
fn growth_shows_each_number_of_workers_and_the_knee() {
    insta::assert_snapshot!(written(&growth(), "Time over workers"));
}

pub(crate) fn knee() -> RunReport {
    let point = |offered: f64, loss: f64| json!({ "offered_bits_per_second": offered, "arrived_bits_per_second": offered * (1.0 - loss), "loss": loss });
    RunReport {
        verdicts: of(json!([{
            "claim": "knee", "metric": "bits_per_second", "outcome": "estimated", "estimate": 1e7, "interval": [9.8e6, 1.02e7],
            "confidence": 0.95, "n": 4, "reason": "from 10 Mbit/s on, more is lost",
            "details": {
            "cell": {}, "phase": "offered", "knee_bits_per_second": 1e7, "interval": [9.8e6, 1.02e7],
            "points": [point(5e6, 0.0), point(9e6, 0.001), point(1.2e7, 0.167), point(2e7, 0.5)], "curve": [[5e6, 0.0], [1e7, 0.0], [2e7, 0.5]]
            }
        }])),
        ..fixture::empty()
    }
}

#[test]
fn a_knee_shows_what_is_lost_at_each_rate() {
    insta::assert_snapshot!(written(&knee(), "Loss over rate"));
}

pub(crate) fn load_curve() -> RunReport {
    let point = |offered: f64, utilisation: f64, load: f64| json!({ "offered_per_second": offered, "utilisation": utilisation, "load": load });
    let fit = |model: &str, error: f64| {
        json!({ "model": model, "background": 0.05, "left_out_error": error, "residuals": [0.01, -0.02, 0.0],
                "curve": [[0.1, 0.11], [0.5, 1.0], [0.9, 9.0]] })
    };
    RunReport {
        verdicts: of(json!([{
            "claim": "load_curve", "metric": "load", "outcome": "estimated", "estimate": null, "interval": null,
            "confidence": 0.95, "n": 3, "reason": "M/M/1 fits within 4 %",
            "details": {
            "cell": {}, "phase": "steps", "cpus": 1,
            "points": [point(100.0, 0.1, 0.12), point(500.0, 0.5, 1.02), point(900.0, 0.9, 8.7)],
            "fits": [fit("M/M/1", 0.04), fit("M/D/1", 0.2)]
            }
        }])),
        ..fixture::empty()
    }
}

#[test]
fn a_load_curve_shows_its_steps_and_the_models_that_fit() {
    insta::assert_snapshot!(written(&load_curve(), "Load against CPU"));
}

pub(crate) fn loss_curve() -> RunReport {
    let point = |loss: f64, rate: f64| json!({ "loss": loss, "rtt_ms": 40.0, "mss": 1448.0, "bits_per_second": rate, "mathis": rate * 1.1, "padhye": rate * 0.9 });
    RunReport {
        verdicts: of(json!([{
            "claim": "loss_curve", "metric": "bits_per_second", "outcome": "estimated", "estimate": 1.05, "interval": [0.9, 1.2],
            "confidence": 0.95, "n": 3, "reason": "the rate follows Mathis' formula with C = 1.05",
            "details": {
            "cell": { "congestion": "reno" }, "phase": "bulk", "constant": 1.05, "worst_factor": 1.3, "exponent": -0.49,
            "points": [point(0.001, 1.2e7), point(0.01, 3.6e6), point(0.03, 2.1e6)]
            }
        }])),
        ..fixture::empty()
    }
}

#[test]
fn a_loss_curve_shows_the_rate_at_each_loss_beside_the_formulas() {
    insta::assert_snapshot!(written(&loss_curve(), "over loss"));
}

pub(crate) fn diagnosis() -> RunReport {
    let check = |check: &str, passes: Option<bool>, measured: f64, needed: f64, unit: &str, advice: &str| {
        json!({ "check": check, "passes": passes, "measured": measured, "needed": needed, "unit": unit, "told": format!("{check} was looked at"),
                "advice": advice })
    };
    RunReport {
        verdicts: of(json!([{
            "claim": "diagnose", "metric": "bits_per_second", "outcome": "not_held", "estimate": 4e7, "interval": null,
            "confidence": 0.95, "n": 1, "reason": "the receive buffer holds the path down",
            "details": {
            "cell": {}, "phase": "path", "target_bits_per_second": 9e7, "target_rtt_ms": 30.0, "reaches_bits_per_second": 4e7,
            "tcp_bits_per_second": 3.9e7, "rtt_ms": 3.1, "congestion": "cubic",
            "checks": [check("rate", Some(true), 1e8, 9e7, "bit/s", ""), check("loss", None, 0.0, 0.0001, "share", ""),
                       check("receive_buffer", Some(false), 150000.0, 337500.0, "bytes", "raise net.ipv4.tcp_rmem")]
            }
        }])),
        ..fixture::empty()
    }
}

#[test]
fn a_diagnosis_shows_each_check_and_what_to_do() {
    insta::assert_snapshot!(written(&diagnosis(), "receive"));
}

pub(crate) fn hops() -> RunReport {
    let hop = |hop: u32, address: Option<&str>, rate: Option<f64>| {
        json!({ "hop": hop, "address": address, "unanswered": if address.is_some() { 0.0 } else { 1.0 }, "bits_per_second": rate,
                "rate_interval": rate.map(|rate| [rate * 0.95, rate * 1.05]), "at_least_bits_per_second": null, "back_bits_per_second": null,
                "latency_ms": rate.map(|_| 5.0), "latency_interval": rate.map(|_| [4.8, 5.2]), "queue_ms": 0.2 })
    };
    RunReport {
        verdicts: of(json!([{
            "claim": "hops", "metric": "bits_per_second", "outcome": "estimated", "estimate": 1e7, "interval": [9.5e6, 1.05e7],
            "confidence": 0.95, "n": 1, "reason": "the second link is the narrow one",
            "details": {
            "cell": {}, "phase": "probes", "reached": true, "probes": 4800,
            "hops": [hop(1, Some("10.0.0.1"), Some(1e8)), hop(2, None, None), hop(3, Some("10.0.2.1"), Some(1e7))]
            }
        }])),
        ..fixture::empty()
    }
}

#[test]
fn hops_show_what_each_link_is_and_what_nobody_answered() {
    insta::assert_snapshot!(written(&hops(), "10.0.2.1"));
}

#[test]
fn each_kind_of_load_shows_what_it_found_beside_its_rate() {
    let train = json!({ "sent": 100, "received": 99, "elapsed_ns": 1_500_000_000 });
    let limits = json!({ "send_buffer": 4_000_000, "receive_buffer": 6_000_000, "window_scaling": true, "selective_acks": false,
                         "congestion": "cubic" });
    let state = json!({ "at_ns": 9, "busy_us": 2_000_000, "rwnd_limited_us": 500_000, "sndbuf_limited_us": 0, "cwnd": 10, "ssthresh": 20,
                        "srtt_us": 900, "min_rtt_us": 800, "rto_us": 200_000, "mss": 1448, "retransmits": 3, "unacked": 0, "unsent_bytes": 0,
                        "acked_bytes": 7, "received_bytes": 0, "segments_out": 70, "delivery_rate": 1 });
    let all = json!({
        "bulk": { "streams": [{ "from": "10.0.0.1:4000", "to": "10.0.0.2:5000", "sent": 8_000_000, "block": 524_288, "received": 0,
                                "elapsed_ns": 2_000_000_000, "tcp": [state] }] },
        "udp": { "intended": 1000, "sent": 990, "received": 900, "duplicates": 2, "reordered": 5, "jitter_us": 250.0, "receiver_cpu_us": 3 },
        "hops": { "reached": true, "hops": [
            { "sizes": [] },
            { "address": "10.0.2.1", "sizes": [{ "bytes": 64, "answer_bytes": 64, "sent": 3, "rtt_ns": [1_200_000, 1_100_000] }] }] },
        "diagnose": { "path": { "frame_bytes": 1514, "apart": train, "at_rate": train, "bursts": [train], "sender": limits,
                                "receiver": limits }, "streams": [] },
        "storage": { "reads": 400, "writes": 0, "read_bytes": 4000, "written_bytes": 0, "syncs": 0, "mean_us": 2500.0, "over_2s": 1,
                     "over_10s": 0, "device_read_bytes": 1000 },
        "messaging": { "workers": 400, "rounds": 3, "memory": { "own_bytes": 9_000_000, "kernel_bytes": 12_000_000 } },
        "exec": { "reading": {}, "runs": [{ "stdout": "", "elapsed_ns": 1_500_000_000 },
                                          { "ended": "exit status: 1", "stdout": "", "stderr": "no\nroom", "elapsed_ns": 500_000_000 }] },
    });
    let trials = fixture::recovered().trials.into_iter().take(1).collect();
    let mut report = RunReport { trials, ..fixture::empty() };
    let phase = report.trials[0].phases[0].clone();
    report.trials[0].phases = all
        .as_object()
        .unwrap()
        .iter()
        .map(|(kind, facts)| PhaseReport {
            name: format!("a {kind} phase"),
            facts: Some(of(json!({ kind: facts }))),
            ..phase.clone()
        })
        .collect();
    insta::assert_snapshot!(written(&report, "load-exec"));
    let written: Value = serde_json::to_value(&report.trials[0]).unwrap();
    let kinds =
        written["phases"].as_array().unwrap().iter().filter_map(|phase| {
            all.as_object().unwrap().keys().find(|kind| phase.get(kind.as_str()).is_some())
        });
    assert_eq!(kinds.collect::<Vec<_>>(), ["udp", "storage", "messaging"]);
}

#[test]
fn each_comparison_has_its_own_table_of_functions_and_gives_their_former_names() {
    let mut report = fixture::not_recovered();
    let profile = report.profile.clone().expect("it has one");
    let compared = |phase: &str, function: &str, was: Option<&str>| {
        let mut profile = profile.clone();
        profile.functions.truncate(1);
        profile.functions[0].function = function.into();
        profile.functions[0].was = was.map(Into::into);
        let levels = |kernel: &str| [("kernel".to_owned(), kernel.to_owned())].into();
        ComparedProfile { phase: phase.into(), better: levels("6.1"), worse: levels("6.12"), profile }
    };
    report.profiles = vec![
        compared("faults", "__alloc_pages_noprof", Some("__alloc_pages")),
        compared("pipes", "pipe_read", None),
    ];
    let mut page = Vec::new();
    html::run(&mut page, &report, &[], &Drawn::default()).unwrap();
    // The text is wrapped, Markdown puts a backslash before underscores, and the page has no entities here.
    let plain = |text: &str| text.replace('\\', "").split_whitespace().collect::<Vec<_>>().join(" ");
    let both = written(&report, "CPU time");
    let (text, markdown) = both.split_once("--- Markdown").expect("both");
    for form in [text, markdown, &String::from_utf8(page).unwrap()] {
        let form = plain(form);
        for words in [
            "Where the CPU time went that was added: faults, kernel = 6.12 (worse) against kernel = 6.1 (better)",
            "Where the CPU time went that was added: pipes, kernel = 6.12 (worse) against kernel = 6.1 (better)",
            "__alloc_pages_noprof (was __alloc_pages)",
            "pipe_read",
        ] {
            assert!(form.contains(words), "{words} in {form}");
        }
    }
    let json = serde_json::to_value(&report).unwrap();
    assert_eq!(json["profiles"][0]["profile"]["functions"][0]["was"], "__alloc_pages");
    assert!(json["profile"].is_object(), "the one that was there before stays");
}

#[test]
fn machines_that_drove_together_have_a_table_and_their_clocks_another() {
    let mut report = fixture::recovered();
    report.trials.truncate(1);
    let generator = |host: &str, rate: f64, after: f64| {
        json!({ "host": host, "figures": { "requests_per_second": rate, "connections_per_second": 0.0 }, "errors": 2, "busy_share": 0.25,
                "after_ms": after, "within_ms": 0.12 })
    };
    report.trials[0].phases[0].generators =
        of(json!([generator("gen1", 400.0, 0.0), generator("gen2", 380.0, 0.345)]));
    let clock = |ahead: i64| json!({ "ahead_ns": ahead, "within_ns": 61_000, "round_trip_ns": 130_000 });
    report.trials[0].clocks = of(json!({ "gen1": clock(-1_500_000), "gen2": clock(7_000_000_000) }));
    let mut plain = Vec::new();
    text::details(&mut plain, &report, &TextOptions::default()).unwrap();
    let plain = String::from_utf8(plain).unwrap();
    let row = |of: &str, machine: &str| {
        let section = plain.split(of).nth(1).unwrap_or_else(|| panic!("no {of} in {plain}"));
        let line = section.lines().find(|line| line.contains(machine)).expect("a row");
        line.split_whitespace().skip_while(|word| *word != machine).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(row("\nGenerators\n", "gen2"), "gen2 380 0 2 25 0.345 ± 0.120");
    assert_eq!(row("\nClocks against the controller's\n", "gen1"), "gen1 -1.500 0.061 0.130");
    assert_eq!(row("\nClocks against the controller's\n", "gen2"), "gen2 7000.000 0.061 0.130");
}
