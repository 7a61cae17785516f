//! The tests that take series and rows, from text to verdict.

use super::{Test, TextOptions, judge_line, judge_text};
use crate::models::load_curve::Queue;
use serde_json::{Value, json};

fn judged(test: Test, input: &Value) -> Value {
    judge_line(test, &input.to_string()).unwrap()
}

#[test]
fn a_change_comes_out_with_index_levels_and_interval() {
    let series: Vec<f64> =
        (0..60).map(|i| if i < 35 { 10.0 } else { 12.0 } + f64::from(i * 7 % 5) / 10.0).collect();
    let out = judged(Test::Changes, &json!({"id": "nightly", "series": series, "metric": "seconds"}));
    assert_eq!(
        (&out["id"], &out["outcome"], &out["metric"]),
        (&json!("nightly"), &json!("changed"), &json!("seconds"))
    );
    assert_eq!(out["changes"].as_array().unwrap().len(), 1);
    assert_eq!(out["changes"][0]["index"], 35);
    let interval = out["changes"][0]["interval"].as_array().unwrap();
    assert!(interval[0].as_f64().unwrap() < 2.0 && interval[1].as_f64().unwrap() > 2.0);
}

#[test]
fn a_bare_list_is_a_series() {
    let text: String = (0..40).map(|i| format!("{}\n", if i < 20 { 5 } else { 9 })).collect();
    assert_eq!(judge_text(Test::Changes, text, TextOptions::default()).unwrap()["changes"][0]["index"], 20);
}

#[test]
fn null_and_an_empty_cell_are_missing_values() {
    let series: Vec<Value> =
        (0..60).map(|i| if i % 7 == 3 { Value::Null } else { json!(if i < 40 { 5 } else { 9 }) }).collect();
    let out = judged(Test::Changes, &json!({"series": series}));
    assert_eq!((&out["changes"][0]["index"], &out["missing"]), (&json!(40), &json!(9)));
    let rows: String = (0..40)
        .map(|i| {
            format!(
                "{i},{}\n",
                if i == 9 {
                    ""
                } else if i < 20 {
                    "5"
                } else {
                    "9"
                }
            )
        })
        .collect();
    let out = judge_text(Test::Changes, format!("day,series\n{rows}"), TextOptions::default()).unwrap();
    assert_eq!((&out["changes"][0]["index"], &out["missing"]), (&json!(20), &json!(1)));
}

#[test]
fn modes_come_out_with_center_and_weight() {
    let values: Vec<f64> =
        (0..90).map(|i| f64::from(i * 17 % 10) / 10.0 + if i * 31 % 3 == 0 { 8.0 } else { 0.0 }).collect();
    let out = judged(Test::Modes, &json!({"values": values}));
    assert_eq!(out["outcome"], "several_modes", "{out}");
    let weight = out["modes"][1]["weight"].as_f64().unwrap();
    assert!((weight - 1.0 / 3.0).abs() < 0.02 && out["modes"][1]["center"].as_f64().unwrap() > 8.0);
    assert_eq!(judged(Test::Modes, &json!({"values": [1.0, 2.0]}))["outcome"], "too_few");
}

#[test]
fn a_load_curve_names_its_queue_and_keeps_the_residuals() {
    let rows: Vec<Value> = (1..=9)
        .map(|k| f64::from(k) / 10.0)
        .map(|u| json!({"utilisation": u, "load": Queue::Shared.load(u, 2)}))
        .collect();
    let out = judged(Test::LoadCurve, &json!({"rows": rows, "cpus": 2}));
    assert_eq!((&out["outcome"], &out["fits"][0]["name"]), (&json!("estimated"), &json!("M/M/2")));
    assert_eq!(out["fits"][0]["residuals"].as_array().unwrap().len(), 9);
}

#[test]
fn scaling_reads_a_table_with_a_heading() {
    let rows: String = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0]
        .map(|n: f64| format!("{n},{}\n", 100.0 * n / (1.0 + 0.05 * (n - 1.0) + 0.01 * n * (n - 1.0))))
        .concat();
    let out = judge_text(Test::Scaling, format!("n,throughput\n{rows}"), TextOptions::default()).unwrap();
    assert!((out["estimate"].as_f64().unwrap() - 95.0_f64.sqrt()).abs() < 1e-6, "{out}");
}

#[test]
fn a_loss_target_gives_the_budget() {
    let out = judged(Test::Loss, &json!({"target": {"rate": 90e6, "rtt": 0.003, "mss": 1448, "c": 0.7}}));
    assert_eq!(
        (&out["budget"]["packets_per_loss"], &out["budget"]["queue_bytes"]),
        (&json!(1108.0), &json!(33_750.0))
    );
}

#[test]
fn what_is_missing_or_no_number_is_an_error() {
    for (test, line) in [
        (Test::Changes, r#"{"values": [1]}"#),
        (Test::Changes, r#"{"series": []}"#),
        (Test::Modes, r#"{"values": [1, "x"]}"#),
        (Test::Loss, "{}"),
        (Test::Loss, r#"{"target": {"rate": -1, "rtt": 0.1}}"#),
        (Test::LoadCurve, r#"{"rows": [{"utilisation": 2, "load": 1}]}"#),
        (Test::Scaling, r#"{"rows": []}"#),
    ] {
        assert!(judge_line(test, line).is_err(), "{line}");
    }
}
