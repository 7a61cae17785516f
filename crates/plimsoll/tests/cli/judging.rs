//! `plimsoll judge`: numbers from anywhere.

use serde_json::{Value, json};

use crate::lab::Lab;

/// Times, of which less is better where nothing else is said.
const FAST: [f64; 12] = [80.4, 79.1, 81.2, 80.9, 78.8, 80.2, 79.9, 80.5, 81.0, 79.3, 80.1, 80.7];
const SLOW: [f64; 12] = [100.2, 99.1, 101.0, 100.4, 98.9, 100.8, 99.6, 100.1, 101.3, 99.4, 100.0, 100.6];

#[test]
fn the_same_numbers_get_the_same_verdict_as_json_as_csv_and_as_a_bare_list() {
    let lab = Lab::new();
    let rows: Vec<String> = FAST.iter().zip(SLOW).map(|(a, b)| format!("{a},{b}")).collect();
    let rows = rows.join("\n");
    let forms = [json!({"a": FAST, "b": SLOW}).to_string(), format!("a,b\n{rows}\n"), rows.replace(',', " ")];
    let verdicts = forms.map(|text| {
        lab.plimsoll_reading(&["judge", "compare", "-", "--format", "json"], &text)
            .exits(1)
            .says_nothing()
            .json()
    });
    assert_eq!(verdicts[0]["schema"], "plimsoll.verdict/1");
    assert_eq!(verdicts[0]["outcome"], "slower");
    let estimate = verdicts[0]["estimate"].as_f64().expect("a ratio");
    assert!((1.24..1.26).contains(&estimate), "{estimate}");
    assert_eq!(verdicts[0], verdicts[1]);
    assert_eq!(verdicts[0], verdicts[2]);
}

#[test]
fn a_verdict_decides_the_exit_status() {
    let lab = Lab::new();
    let judge = |a: &[f64], b: &[f64]| {
        lab.plimsoll_reading(&["judge", "compare"], &json!({"a": a, "b": b}).to_string())
    };
    judge(&FAST, &SLOW).exits(1).prints("Slower");
    judge(&SLOW, &FAST).exits(0).prints("Faster");
    judge(&FAST, &FAST).exits(0).prints("Same");
    judge(&[100.0, 120.0, 90.0], &[110.0, 100.0, 105.0]).exits(4).prints("Undecided");
}

#[test]
fn numbers_can_come_from_a_file() {
    let lab = Lab::new();
    let values: Vec<String> = FAST.iter().chain(&SLOW).map(ToString::to_string).collect();
    let file = lab.file("series.txt", &values.join("\n"));
    let verdict = lab.plimsoll(&["judge", "changes", &file, "--format", "json"]).exits(0).json();
    assert_eq!(verdict["outcome"], "changed", "{verdict}");
    assert_eq!(verdict["changes"][0]["index"], 12, "{verdict}");
    lab.plimsoll(&["judge", "changes", "nowhere.csv"]).exits(2).says("cannot read nowhere.csv");
}

#[test]
fn a_batch_keeps_ids_and_order_and_a_bad_line_does_not_stop_the_rest() {
    let lab = Lab::new();
    let slower = json!({"id": "first", "a": FAST, "b": SLOW}).to_string();
    let same = json!({"id": 3, "a": FAST, "b": FAST}).to_string();
    let bad = "{\"id\": \"second\", \"a\": [1, 2], \"b\": \"many\"}";
    let lines = [&slower, bad, "no JSON at all", "", &same].join("\n");
    let told = lab.plimsoll_reading(&["judge", "compare", "-", "--batch"], &lines).exits(0).says_nothing();
    let answers: Vec<Value> =
        told.stdout.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect();
    assert_eq!(answers.len(), 4, "{answers:?}");
    assert_eq!((&answers[0]["id"], &answers[0]["outcome"]), (&json!("first"), &json!("slower")));
    assert_eq!((&answers[1]["id"], &answers[1]["line"]), (&json!("second"), &json!(2)));
    assert!(answers[1]["error"].as_str().is_some_and(|error| error.contains("many")), "{}", answers[1]);
    assert_eq!(answers[2]["line"], 3);
    assert!(answers[2]["error"].is_string());
    assert_eq!((&answers[3]["id"], &answers[3]["outcome"]), (&json!(3), &json!("same")));
}

#[test]
fn what_cannot_be_judged_is_told() {
    let lab = Lab::new();
    lab.plimsoll_reading(&["judge", "compare"], "a,b\n1,2\n3,many\n")
        .exits(2)
        .prints_nothing()
        .says("row 2 of `b` is `many`: expected a number");
    lab.plimsoll_reading(&["judge", "compare"], "").exits(2).prints_nothing().says("empty");
    lab.plimsoll(&["judge", "comparison"])
        .exits(2)
        .prints_nothing()
        .says("there is no test `comparison`: expected one of changes, compare,");
}
