//! `plimsoll judge`: numbers from anywhere.

use serde_json::{Value, json};

use crate::lab::Lab;

/// Times: lower is better by default.
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
    judge(&FAST, &FAST).exits(0).prints("Same").prints("not paired");
    lab.plimsoll_reading(&["judge", "compare", "--paired"], &json!({"a": FAST, "b": FAST}).to_string())
        .exits(0)
        .prints("Same");
    lab.plimsoll_reading(&["judge", "modes", "--paired"], &json!({"values": FAST}).to_string())
        .exits(2)
        .says("compare");
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
    let same = json!({"id": 3, "a": FAST, "b": FAST, "paired": true}).to_string();
    let bad = "{\"id\": \"second\", \"a\": [1, 2], \"b\": \"many\"}";
    let lines = [&slower, bad, "no JSON at all", "", &same].join("\n");
    let output = lab
        .plimsoll_reading(&["judge", "compare", "-", "--batch"], &lines)
        .exits(2)
        .says("2 of 4 lines cannot be judged");
    let answers: Vec<Value> =
        output.stdout.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect();
    assert_eq!(answers.len(), 4, "{answers:?}");
    assert_eq!((&answers[0]["id"], &answers[0]["outcome"]), (&json!("first"), &json!("slower")));
    assert_eq!((&answers[1]["id"], &answers[1]["line"]), (&json!("second"), &json!(2)));
    assert!(answers[1]["error"].as_str().is_some_and(|error| error.contains("many")), "{}", answers[1]);
    assert_eq!(answers[2]["line"], 3);
    assert!(answers[2]["error"].is_string());
    assert_eq!((&answers[3]["id"], &answers[3]["outcome"]), (&json!(3), &json!("same")));
}

#[test]
fn what_cannot_be_judged_is_named() {
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

#[test]
fn decimal_commas_are_read_right_or_refused_with_their_place_and_the_option_that_decides() {
    let lab = Lab::new();
    let read = |args: &[&str], text: &str| {
        lab.plimsoll_reading(&[&["judge"], args, &["--format", "json"]].concat(), text)
    };
    // Twelve pairs as a spreadsheet in Germany saves them.
    let german = |value: f64| value.to_string().replace('.', ",");
    let rows: String =
        FAST.iter().zip(SLOW).map(|(a, b)| format!("{};{}\r\n", german(*a), german(b))).collect();
    let plain = read(&["compare"], &json!({"a": FAST, "b": SLOW}).to_string()).exits(1).json();
    assert_eq!(read(&["compare"], &format!("a;b\r\n{rows}")).exits(1).json(), plain);
    assert_eq!(read(&["compare"], &rows.replace(';', "\t")).exits(1).json(), plain);
    let column: String = FAST.iter().chain(&SLOW).map(|value| german(*value) + "\n").collect();
    for test in ["changes", "modes"] {
        let named = read(&[test], &format!("seconds\n{column}")).json();
        assert_eq!(read(&[test, "-", "--decimal", "comma"], &column).json(), named);
        assert_eq!(named["n"], 24, "{named}");
        read(&[test], &column)
            .exits(2)
            .prints_nothing()
            .says("standard input: line 1, column 1: `80,4` is one number with --decimal comma and several");
    }
    let ambiguous = "n;time\n1;1,234\n2;2,468\n4;4,936\n8;9,872\n16;19,744\n";
    read(&["growth"], ambiguous).exits(2).says(
        "line 2, column 2: row 1 of `time` is `1,234`: 1234 with --decimal point, 1.234 with --decimal comma",
    );
    let points = read(&["growth", "-", "--decimal", "point"], ambiguous).json();
    assert!((points["each"].as_f64().expect("a slope") - 1234.0).abs() < 1e-6, "{points}");
    let commas = read(&["growth", "-", "--decimal", "comma"], ambiguous).json();
    assert!((commas["each"].as_f64().expect("a slope") - 1.234).abs() < 1e-9, "{commas}");
}

#[test]
fn bad_input_is_bad_usage_and_all_of_its_places_are_named_at_once() {
    let lab = Lab::new();
    lab.plimsoll_reading(&["judge", "growth"], "n,time\n1,5\n2,\n3,x\n4,7,8\n")
        .exits(2)
        .says("line 5, column 3");
    lab.plimsoll_reading(&["judge", "growth"], "n,time\n1,5\n2,\n3,x\n4,7\n")
        .exits(2)
        .says("line 3, column 2: row 2 of `time` is empty: expected a number")
        .says("line 4, column 2: row 3 of `time` is `x`: expected a number");
    lab.plimsoll(&["judge", "modes", "."]).exits(2).says("cannot read .: is a directory");
    lab.script("printf '1\\n\\377\\n' | $PLIMSOLL judge modes").exits(2).says("standard input");
    lab.plimsoll_reading(&["judge", "modes", "-", "--batch"], "no JSON\n")
        .exits(2)
        .says("the only line cannot be judged");
    lab.plimsoll_reading(&["judge", "modes", "-", "--batch"], "").exits(2).says("empty");
}

#[test]
fn growth_that_is_of_no_kind_and_a_load_that_is_no_queue_are_said_to_be_so() {
    let lab = Lab::new();
    let rows = |time: &dyn Fn(f64) -> f64| -> String {
        let each =
            [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0].into_iter().flat_map(|n| [(n, 0.99), (n, 1.0), (n, 1.01)]);
        each.map(|(n, off)| format!("{n},{}\n", time(n) * off)).collect()
    };
    let growth = |time: &dyn Fn(f64) -> f64| {
        lab.plimsoll_reading(
            &["judge", "growth", "-", "--format", "json"],
            &format!("n,time\n{}", rows(time)),
        )
    };
    let square = |n: f64| 30.0 + 2.0 * n + n * n;
    let found = growth(&square).exits(0).json();
    assert_eq!((&found["kind"], &found["outcome"]), (&json!("quadratic"), &json!("estimated")));
    let doubling = found["estimate"].as_f64().expect("a factor");
    assert!((doubling / (square(64.0) / square(32.0)) - 1.0).abs() < 0.02, "{doubling}");
    let step = growth(&|n| if n < 6.0 { 10.0 } else { 40.0 }).exits(4).json();
    assert_eq!((&step["outcome"], &step["estimate"]), (&json!("undecided"), &Value::Null));
    assert!(step["reason"].as_str().is_some_and(|reason| reason.contains("steepest from 4 to 8")), "{step}");

    let flat = "utilisation,load\n0.1,3.0\n0.25,3.05\n0.4,2.95\n0.55,3.0\n0.7,3.02\n0.85,2.98\n0.95,3.01\n";
    lab.plimsoll_reading(&["judge", "load-curve"], flat).exits(4).prints("No queue: a load of 3.00 at any");
    // Machine repairman with five users, whose think time falls from four service times to a fourth of one.
    let closed =
        "utilisation,load,users\n0.801,1.797,5\n0.964,3.073,5\n0.997,4.003,5\n0.471,0.648,5\n0.246,0.283,5\n";
    lab.plimsoll_reading(&["judge", "load-curve"], closed).exits(0).prints("M/M/1//5 describes 5 points");
}

#[test]
fn what_a_lossy_path_allows_is_a_share_of_packets_and_its_rate_has_a_unit() {
    let lab = Lab::new();
    let target = json!({"target": {"rate": 90e6, "rtt": 0.003}}).to_string();
    let output = lab.plimsoll_reading(&["judge", "loss"], &target).exits(0);
    assert!(!output.stdout.contains("Rate: 0.0009"), "{}", output.stdout);
    output.prints("Allowed loss share: 0.0009").prints("90.0 Mbit/s over 3.00 ms: one loss in 1108 packets");
}

#[test]
fn a_number_that_cannot_be_read_an_unknown_field_and_an_endless_line_are_refused() {
    let lab = Lab::new();
    let judge = |test: &str, text: &str| lab.plimsoll_reading(&["judge", test, "-"], text).exits(2);
    judge("modes", "12ms\n11\n12\n").says("line 1, column 1").says("12ms");
    judge("compare", r#"{"a": [1, 2], "b": [1, 2], "alhpa": 0.1}"#)
        .says("unknown field `alhpa`")
        .says("`alpha`");
    judge("modes", &"1 ".repeat(1 << 20)).says("line 1 is longer than 1048576 bytes");
    lab.plimsoll_reading(&["judge", "modes", "-", "--batch"], &"1".repeat(2 << 20))
        .says("longer than 1048576 bytes");
}
