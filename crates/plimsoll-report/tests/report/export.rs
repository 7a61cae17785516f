//! Runs for other programs, and for people who read mail.

use plimsoll_model::experiment::{Experiment, Metric, parse};
use plimsoll_model::observation::TrialRecord;
use plimsoll_model::report::RunReport;
use plimsoll_report::export::{self, Exported, Row, Rows, Selection};
use plimsoll_report::text;
use serde_json::Value;

use crate::fixture::{self, Fate};

fn records() -> Vec<TrialRecord> {
    (1..=2).map(|number| fixture::record(number, Fate::Leaks, 2)).collect()
}

/// The experiment of the records: every phase drives the same HTTP load.
fn experiment() -> Experiment {
    let file = r#"
        question = "How fast is it?"
        [hosts.client]
        [hosts.server]
        [[links]]
        between = ["client", "server"]
        [services.site]
        on = "server"
        web = {}
        [loads.clients]
        from = "client"
        to = "site"
        http = { connections = 100, concurrency = 4 }
        [[phases]]
        name = "baseline"
        measure = "clients"
        [[phases]]
        name = "flood"
        drive = "clients"
        [[phases]]
        name = "after"
        measure = "clients"
    "#;
    parse(file, &[]).unwrap()
}

fn exported<'r>(
    experiment: &'r Experiment,
    report: &'r RunReport,
    trials: &'r [TrialRecord],
    wanted: &'r Selection,
) -> Exported<'r> {
    Exported { experiment, report, trials, wanted }
}

fn written(write: impl FnOnce(&mut dyn std::io::Write) -> std::io::Result<()>) -> String {
    let mut out = Vec::new();
    write(&mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn only(metric: &str) -> Selection {
    Selection { metrics: vec![metric.to_owned()], ..Selection::default() }
}

#[test]
fn each_slice_has_its_figure_in_every_form() {
    let (experiment, report, records) = (experiment(), fixture::not_recovered(), records());
    let wanted = only(Metric::ConnectionsPerSecond.name());
    let slices = || records.iter().flat_map(|trial| &trial.phases).flat_map(|phase| &phase.slices);
    let expected: Vec<f64> =
        slices().filter_map(|slice| slice.result.figure(Metric::ConnectionsPerSecond)).collect();
    assert!(expected.len() > 4, "{}", expected.len());
    let mut rows = Vec::new();
    let each = &mut |row: &Row<'_>| -> Result<(), ()> {
        rows.push(row.value);
        Ok(())
    };
    export::rows(&exported(&experiment, &report, &records, &wanted), each).unwrap();
    assert_eq!(rows, expected);
    let csv = written(|out| {
        export::csv(out, &export::RunTable::of(exported(&experiment, &report, &records, &wanted)))
    });
    let mut lines = csv.lines();
    assert!(lines.next().unwrap().starts_with("run,experiment,trial,block,"), "{csv}");
    let values: Vec<f64> = lines.map(|line| line.rsplit(',').next().unwrap().parse().unwrap()).collect();
    assert_eq!(values, expected);
    let jsonl = written(|out| export::jsonl(out, &exported(&experiment, &report, &records, &wanted)));
    let values: Vec<f64> = jsonl
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["value"].as_f64().unwrap())
        .collect();
    assert_eq!(values, expected);
    let metrics = written(|out| export::openmetrics(out, &exported(&experiment, &report, &records, &wanted)));
    assert!(metrics.starts_with("# TYPE plimsoll_connections_per_second gauge\n"), "{metrics}");
    assert!(metrics.ends_with("\n# EOF\n"), "{metrics}");
    assert_eq!(metrics.lines().filter(|line| !line.starts_with('#')).count(), expected.len());
}

#[test]
fn counters_and_intervals_are_exported_and_phases_chosen() {
    let (experiment, report, records) = (experiment(), fixture::not_recovered(), records());
    let csv = |rows: Rows, phases: Vec<String>| {
        let wanted = Selection { rows, metrics: Vec::new(), phases };
        written(|out| {
            export::csv(out, &export::RunTable::of(exported(&experiment, &report, &records, &wanted)))
        })
        .lines()
        .count()
            - 1
    };
    let samples: usize = records
        .iter()
        .flat_map(|trial| trial.series.values().flatten())
        .map(|sample| sample.values.len())
        .sum();
    assert_eq!(csv(Rows::Counters, Vec::new()), samples);
    let all = csv(Rows::Intervals, Vec::new());
    let first = records[0].phases.iter().find(|phase| !phase.slices.is_empty()).unwrap().name.clone();
    let one = csv(Rows::Intervals, vec![first]);
    assert!(one <= all);
    assert_eq!(csv(Rows::Figures, vec!["none".into()]), 0);
}

#[test]
fn latencies_of_all_slices_stand_in_one_distribution() {
    let records = records();
    let text = written(|out| export::hdr(out, &records, &Selection::default()));
    let slices = || records.iter().flat_map(|trial| &trial.phases).flat_map(|phase| &phase.slices);
    let recorded: u64 = slices().map(|slice| slice.result.latency.total.len()).sum();
    let exported: u64 = text
        .lines()
        .filter_map(|line| {
            line.split_once("Total count    =")?.1.trim().trim_end_matches(']').parse::<u64>().ok()
        })
        .sum();
    assert_eq!(exported, recorded, "{text}");
}

#[test]
fn a_mail_is_narrow_and_has_the_question_the_answer_and_the_file() {
    for report in [
        fixture::recovered(),
        fixture::not_recovered(),
        fixture::undecided(),
        fixture::invalid(),
        fixture::hostile(),
    ] {
        let mail = written(|out| text::mailing_list(out, &report));
        assert!(mail.lines().all(|line| line.chars().count() <= 72), "{mail}");
        assert!(mail.starts_with("Question: "), "{mail}");
        assert!(mail.contains("To do it again"), "{mail}");
    }
}
