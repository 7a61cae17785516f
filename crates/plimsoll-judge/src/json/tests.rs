use super::*;
use std::io::Cursor;

fn judged(test: Test, line: &str) -> Value {
    judge_line(test, line).unwrap_or_else(|e| panic!("{line}: {e}"))
}

const PAIRS: &str = r#"{"id": 7, "a": [100, 101, 99, 100, 102, 98, 100, 101, 99, 100],
    "b": [110, 111, 109, 111, 112, 107, 110, 112, 108, 110], "paired": true, "unit": "ms"}"#;

#[test]
fn a_comparison_answers_with_the_verdict_and_its_own_fields() {
    let found = judged(Test::Compare, PAIRS);
    assert_eq!(found["schema"], "plimsoll.verdict/1");
    assert_eq!(found["id"], 7);
    assert_eq!(found["claim"], "difference");
    assert_eq!(found["outcome"], "slower");
    assert_eq!(found["n"], 10);
    assert_eq!(found["paired"], true);
    assert!((found["estimate"].as_f64().unwrap() - 1.1).abs() < 0.01);
    assert!(found["interval"][0].as_f64().unwrap() > 1.05);
}

#[test]
fn lists_are_no_pairs_unless_that_is_claimed() {
    for line in [r#"{"a": [1, 2, 3], "b": [1, 2]}"#, r#"{"a": [1, 2, 3], "b": [1, 2, 3]}"#] {
        assert_eq!(judged(Test::Compare, line)["paired"], false);
    }
    let claimed = r#"{"a": [1, 2, 3], "b": [1, 2], "paired": true}"#;
    assert!(matches!(judge_line(Test::Compare, claimed), Err(JudgeError::MixedLengths { .. })));
}

#[test]
fn recovery_is_judged_against_its_control() {
    let line = r#"{"id": "web", "treatment": {"baseline": [219, 221, 218, 220, 222, 219], "after": [110, 109, 111, 110, 110, 109]},
        "control": {"baseline": [219, 221, 218, 220, 222, 219], "after": [111, 109, 110, 110, 112, 109]}, "margin": 0.05}"#;
    let found = judged(Test::Recovery, line);
    assert_eq!(found["outcome"], "recovered");
    assert_eq!(found["id"], "web");
    assert_eq!(found["per_cycle"].as_array().unwrap().len(), 1);
}

#[test]
fn a_bare_table_of_factors_lists_the_deviation_of_each_cell() {
    let line = r#"{"id": 1, "rows": [{"server": "old", "client": 1, "value": 219}, {"server": "old", "client": 2, "value": 215},
        {"server": "new", "client": 1, "value": 221}, {"server": "new", "client": 2, "value": 48}],
        "factors": ["server", "client"], "value": "value", "block": "block"}"#;
    let found = judged(Test::Factors, line);
    assert_eq!(found["outcome"], "undecided");
    assert_eq!(found["odd_cell"], Value::Null);
    assert_eq!(found["deviations"][3]["cell"], serde_json::json!({"server": "new", "client": "2"}));
    assert_eq!(found["deviations"][3]["size"], found["estimate"]);
    let csv = "server,client,value\nold,1,219\nold,2,215\nnew,1,221\nnew,2,48\n";
    let from_csv = judge_text(Test::Factors, csv.into(), TextOptions::default()).unwrap();
    assert_eq!(from_csv["deviations"], found["deviations"]);
}

#[test]
fn an_unknown_field_is_refused_with_the_nearest_name() {
    let error = |test, line| judge_line(test, line).unwrap_err().to_string();
    let misspelt = error(Test::Compare, r#"{"id": 1, "a": [1, 2], "b": [1, 2], "alhpa": 0.05}"#);
    assert!(misspelt.contains("unknown field `alhpa`: did you mean `alpha`?"), "{misspelt}");
    let required = error(Test::Modes, r#"{"valeus": [1, 2]}"#);
    assert!(required.contains("did you mean `values`?"), "{required}");
    let nested = error(Test::Scaling, r#"{"rows": [{"n": 1, "throughput": 2, "through": 3}]}"#);
    assert!(nested.contains("unknown field `rows.0.through`"), "{nested}");
}

#[test]
fn csv_and_bare_columns_give_what_json_gives() {
    let csv = "a,b\n100,110\n101,111\n99,109\n100,111\n102,112\n98,107\n100,110\n101,112\n99,108\n100,110\n";
    let bare = csv.lines().skip(1).collect::<Vec<_>>().join("\n").replace(',', "  ");
    let expected = judged(Test::Compare, PAIRS);
    for text in [csv, bare.as_str()] {
        let options = TextOptions { paired: true, ..TextOptions::default() };
        let found = judge_text(Test::Compare, text.into(), options).unwrap();
        assert!(judge_text(Test::Modes, "1,2,3".into(), options).is_err());
        assert_eq!(found["estimate"], expected["estimate"]);
        assert_eq!(found["p"], expected["p"]);
    }
}

#[test]
fn windows_by_phase_are_read_from_csv() {
    let csv = "phase,flooded,control\nbaseline,100,50\nbaseline,101,50\nbaseline,99,50\nbaseline,100,51\n\
               baseline,100,50\nafter,50,50\nafter,51,50\nafter,50,50\nafter,49,50\nafter,50,50\n";
    assert_eq!(
        judge_text(Test::Recovery, csv.into(), TextOptions::default()).unwrap()["outcome"],
        "not_recovered"
    );
    let wide = "baseline,after\n100,50\n101,51\n99,50\n100,49\n100,50\n100,50";
    assert_eq!(
        judge_text(Test::Recovery, wide.into(), TextOptions::default()).unwrap()["outcome"],
        "not_recovered"
    );
}

#[test]
fn a_cell_that_is_no_number_is_named_by_its_place() {
    let error = judge_text(Test::Compare, "a,b\n1,2\n1,two\n".into(), TextOptions::default()).unwrap_err();
    assert_eq!(error.to_string(), "line 3, column 2: row 2 of `b` is `two`: expected a number");
    let error = judge_text(Test::Compare, "1\n2\n3\n".into(), TextOptions::default()).unwrap_err();
    assert!(error.to_string().contains("no column `b`"), "{error}");
}

#[test]
fn a_bad_line_gets_an_error_with_its_id_and_the_rest_goes_on() {
    let good = PAIRS.replace('\n', " ");
    let input = format!(
        "{good}\n\n{{\"id\": \"x\", \"a\": [1, 0], \"b\": [1, 1]}}\nno json\n{{\"id\": \"y\", \"a\": [1]}}\n{good}\n"
    );
    let mut output = Vec::new();
    let summary = judge_batch(Test::Compare, Cursor::new(input), &mut output).unwrap();
    assert_eq!(summary, BatchSummary { judged: 2, errors: 3 });
    let lines: Vec<Value> =
        String::from_utf8(output).unwrap().lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    assert_eq!(lines.len(), 5);
    assert_eq!(lines[0]["outcome"], "slower");
    assert_eq!(lines[1]["id"], "x");
    assert!(lines[1]["error"].as_str().unwrap().contains("`a`[1] is 0"), "{}", lines[1]);
    assert_eq!((&lines[2]["id"], &lines[2]["line"]), (&Value::Null, &Value::from(4)));
    assert_eq!(lines[3]["id"], "y");
    assert_eq!(lines[4]["id"], 7);
}

#[test]
fn a_batch_of_many_lines_keeps_its_order() {
    let input: String =
        (0..10_000).map(|i| format!("{{\"id\": {i}, \"a\": [1, 2, 3], \"b\": [1, 2, 3]}}\n")).collect();
    let mut output = Vec::new();
    judge_batch(Test::Compare, Cursor::new(input), &mut output).unwrap();
    for (i, line) in String::from_utf8(output).unwrap().lines().enumerate() {
        assert_eq!(serde_json::from_str::<Value>(line).unwrap()["id"], i);
    }
}

#[test]
fn every_test_is_found_by_its_name() {
    for &test in Test::ALL {
        assert_eq!(Test::from_name(test.name()), Some(test));
    }
    assert_eq!(Test::from_name("Compare"), None);
}
