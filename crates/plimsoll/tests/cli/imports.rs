//! `plimsoll import`: output of other tools, read, compared and judged; and `plimsoll export`, read back by others.

use std::process::Command;

use serde_json::Value;

use crate::lab::Lab;
use crate::stores::SHORT;

/// A page as people post it; those of plimsoll-import's own tests.
fn page(name: &str) -> String {
    format!("{}/../plimsoll-import/tests/pages/{name}", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn a_mail_of_2001_is_read_without_editing_and_its_two_calls_are_before_and_after() {
    let lab = Lab::new();
    lab.plimsoll(&["import", &page("floods-2001.txt")])
        .exits(0)
        .prints("ab, vmstat")
        .prints("requests_per_second")
        .prints("not read")
        .prints("From: someone@example.org");
    let found = lab
        .plimsoll(&[
            "import",
            &page("floods-2001.txt"),
            "--metric",
            "sy",
            "--judge",
            "recovery",
            "--better",
            "lower",
            "--format",
            "json",
        ])
        .exits(1)
        .json();
    assert_eq!(found["schema"], "plimsoll.import/1");
    let verdict = &found["judged"]["verdict"];
    assert_eq!(verdict["outcome"], "not_recovered", "{verdict}");
    let beside = found["judged"]["medians"].as_array().expect("medians");
    let rate = beside.iter().find(|beside| beside["metric"] == "requests_per_second").expect("the rate");
    assert_eq!(rate["medians"], serde_json::json!([219.43, 48.12]));
    let kernel = beside.iter().find(|beside| beside["metric"] == "sy").expect("the kernel's share");
    assert_eq!(kernel["medians"], serde_json::json!([10.5, 64.0]));
}

#[test]
fn a_rate_that_did_not_come_back_is_not_recovered() {
    let lab = Lab::new();
    let rates = |rate: f64| -> String {
        (0..8)
            .map(|i| format!("Requests per second:    {:.2} [#/sec] (mean)\n", rate + f64::from(i % 3)))
            .collect()
    };
    let (before, after) = (lab.file("before.txt", &rates(219.0)), lab.file("after.txt", &rates(48.0)));
    let judge = |files: &[&str], exit: i32| {
        lab.plimsoll(&[&["import"], files, &["--judge", "recovery", "--format", "json"]].concat())
            .exits(exit)
            .json()
    };
    let found = judge(&[&before, &after], 1);
    assert_eq!(found["judged"]["verdict"]["outcome"], "not_recovered");
    let again = lab.file("again.txt", &rates(219.0));
    assert_eq!(judge(&[&before, &again], 0)["judged"]["verdict"]["outcome"], "recovered");
    // Both sides in one file.
    let both = lab.file("both.txt", &format!("{}{}", rates(219.0), rates(48.0)));
    lab.plimsoll(&["import", &both, "--judge", "recovery", "--split", "9"]).exits(1).prints("Not recovered");
    lab.plimsoll(&["import", &both, "--judge", "recovery"]).exits(2).says("--split");
}

#[test]
fn eleven_figures_are_two_modes_or_too_few_and_never_one() {
    let lab = Lab::new();
    let found =
        lab.plimsoll(&["import", &page("hdparm-eleven.txt"), "--judge", "modes", "--format", "json"]).json();
    let outcome = found["judged"]["verdict"]["outcome"].as_str().expect("an outcome").to_owned();
    assert_ne!(outcome, "one_mode", "{found}");
    let bare =
        lab.plimsoll(&["import", &page("hdparm-bare.txt"), "--judge", "modes", "--format", "json"]).json();
    assert_eq!(bare["judged"]["verdict"]["outcome"], outcome.as_str());
    assert_eq!(bare["judged"]["verdict"]["estimate"], found["judged"]["verdict"]["estimate"]);
}

#[test]
fn a_table_of_two_factors_from_a_mail_is_an_interaction() {
    let lab = Lab::new();
    let found = lab
        .plimsoll(&["import", &page("two-by-two.txt"), "--judge", "factors", "--format", "json"])
        .exits(0)
        .json();
    assert_eq!(found["judged"]["verdict"]["outcome"], "interaction", "{found}");
    assert_eq!(found["files"][0]["formats"], serde_json::json!(["cross-table"]));
}

#[test]
fn rows_that_name_both_levels_are_a_table_of_two_factors() {
    let lab = Lab::new();
    let mail = "Both systems at both ends, throughput of one stream in Mbit/s, two runs each:\n\n  sender - receiver\n\
                \x20 old - old    94.1  93.9\n  old - new    93.8  94.2\n  new - old    11.2  10.9\n  new - new    94.0  94.1\n\n\
                Which end is to blame?\n";
    let found =
        lab.plimsoll(&["judge", "factors", &lab.file("mail.txt", mail), "--format", "json"]).exits(0).json();
    assert_eq!(found["outcome"], "interaction", "{found}");
    let reason = found["reason"].as_str().expect("a reason");
    let odd = "The other three than column = old, row = new are alike, which makes it the odd one";
    assert!(reason.contains(odd), "{reason}");
    // The path of the same mail has figures as well, and no two factors.
    let hops = std::fs::read_to_string(page("pathchar-hops.txt")).expect("a page");
    for mail in [mail.to_owned(), format!("{mail}{hops}")] {
        lab.plimsoll(&["import", "--no-store", &lab.file("mail.txt", &mail), "--judge", "factors"])
            .exits(0)
            .prints("value,row=new,column=old");
    }
}

#[test]
fn a_posted_comparison_stands_beside_its_author() {
    let lab = Lab::new();
    let table = lab.file(
        "table.md",
        "| test | before (n=10) | after (n=10) | change |\n|---|---|---|---|\n| read | 12.3 ± 0.4 ms | 11.1 ± 0.3 ms | -9.8% |\n",
    );
    lab.plimsoll(&["import", "--no-store", &table])
        .exits(0)
        .prints("they differ: -9.76 %")
        .prints("the author: -9.8 %");
}

/// Each page in one command, as it was posted, with a figure that its reader looks for.
#[test]
fn every_page_is_read_without_editing() {
    let lab = Lab::new();
    for (name, figure) in [
        ("floods-2001.txt", "requests_per_second 219.43, 48.12 1/s (lines "),
        ("hdparm-eleven.txt", "(median of 11, "),
        ("hdparm-bare.txt", "(median of 11, "),
        ("iperf-wan.txt", "bits_per_second,stream=3 2.8, 85.6 Mbit/s (lines "),
        ("npad-report.txt", "target_rtt 200 ms"),
        ("npad-verdict.txt", "loss,verdict=Fail 0.0253 %"),
        ("pathchar-hops.txt", "bits_per_second,hop=2 1.4 Mbit/s"),
        (
            "postal-minutes.txt",
            "messages_per_minute 605.5 1/min (median of 6, 598 to 612; lines 14 to 19, call 2)",
        ),
        ("tiotest-tables.txt", "throughput,operation=write,threads=4 4.762, 7.843 MiB/s"),
    ] {
        lab.plimsoll(&["import", "--no-store", &page(name)]).exits(0).prints(figure);
    }
    lab.plimsoll(&["trace", &page("tcpdump-2001.txt")])
        .exits(0)
        .prints("3 packets")
        .prints("10.0.0.1:1046 -> 10.0.0.2:80");
}

#[test]
fn minutes_before_and_after_are_compared_as_two_calls() {
    let lab = Lab::new();
    let found = lab
        .plimsoll(&["import", &page("postal-minutes.txt"), "--judge", "compare", "--format", "json"])
        .exits(1)
        .json();
    assert_eq!(found["judged"]["verdict"]["outcome"], "slower", "{found}");
}

#[test]
fn what_is_no_figure_is_refused_and_what_another_command_reads_names_it() {
    let lab = Lab::new();
    lab.plimsoll(&["import", &page("tcpdump-2001.txt")]).exits(2).prints("use `plimsoll trace FILE`");
    lab.plimsoll_reading(&["import", "-"], "Hello.\n").exits(2).says("no figure was found");
    lab.plimsoll_reading(&["import", "-", "--as", "abc"], "Hello.\n").exits(2).says("expected one of ab, ");
    lab.plimsoll(&["import", "nowhere.txt"]).exits(2).says("cannot read nowhere.txt");
    let capture = format!("{}/../plimsoll-import/tests/data/micro.pcapng", env!("CARGO_MANIFEST_DIR"));
    lab.plimsoll(&["import", &capture]).exits(2).says("this is a packet file; use `plimsoll trace`");
    let table = lab.file("table.csv", "host;reads\nalpha;108,43\nbeta;99,7\n");
    let found = lab.plimsoll(&["import", &table, "--column", "reads", "--format", "json"]).exits(0).json();
    assert_eq!(found["files"][0]["series"][0]["points"][0]["value"], 108.43);
    lab.plimsoll(&["import", &page("postal-minutes.txt"), "--metric", "nothing", "--judge", "modes"])
        .exits(2)
        .says("there is no `nothing` in it");
}

/// One run, in every form that others read.
#[test]
#[ignore = "needs python3 with prometheus_client and duckdb"]
fn a_run_is_exported_and_read_back_by_other_programs() {
    let lab = Lab::of_ordinary_user();
    let experiment = lab.file("short.toml", SHORT);
    let report = lab.plimsoll(&["run", &experiment, "--format", "json"]).exits(0).json();
    let export = |args: &[&str]| lab.plimsoll(&[&["export", "latest"], args].concat()).exits(0).stdout;
    let python = |program: &str, text: &str| -> String {
        let file = lab.file("exported.txt", text);
        // Folder of `cargo xtask test` for packages that Debian lacks.
        let packages = concat!(env!("CARGO_TARGET_TMPDIR"), "/python");
        let mut command = Command::new("/usr/bin/python3");
        command.args(["-c", program, &file]).env("PYTHONPATH", packages).current_dir(lab.folder());
        let run = command.output().expect("python3 starts");
        assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
        String::from_utf8(run.stdout).expect("text").trim().to_owned()
    };
    let csv = export(&["--metric", "connections_per_second"]);
    let sum =
        "import csv, sys; print(repr([float(row['value']) for row in csv.DictReader(open(sys.argv[1]))]))";
    let lines = export(&["--format", "jsonl", "--metric", "connections_per_second"]);
    let from_json: Vec<f64> = lines
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON")["value"].as_f64().expect("a number"))
        .collect();
    assert!(!from_json.is_empty());
    let from_csv: Vec<f64> = serde_json::from_str(&python(sum, &csv)).expect("a list of numbers");
    assert_eq!(from_csv, from_json);
    // The report's rate of the phase lies within the rates of its slices.
    let reported =
        report["trials"][0]["phases"][0]["figures"]["connections_per_second"].as_f64().expect("a rate");
    assert!(
        from_json.iter().any(|rate| *rate <= reported * 1.001)
            && from_json.iter().any(|rate| *rate >= reported * 0.999)
    );
    let metrics = export(&["--format", "openmetrics", "--metric", "connections_per_second"]);
    let parse = "import sys
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse
print([sample.value for family in parse(open(sys.argv[1]).read()) for sample in family.samples])";
    let from_metrics: Vec<f64> = serde_json::from_str(&python(parse, &metrics)).expect("a list of numbers");
    assert_eq!(from_metrics, from_json);
    let whole = export(&["--format", "openmetrics"]);
    assert!(!python(parse, &whole).is_empty());
    // Bytes, which no text holds.
    let table = lab.path("table.parquet");
    let write = "$PLIMSOLL export latest --format parquet --metric connections_per_second";
    lab.script(&format!("{write} > {}", table.display())).exits(0);
    let select = "import duckdb, sys; print([row[0] for row in duckdb.sql(
\"select value from 'table.parquet' where phase is not null\").fetchall()])";
    let mut from_table: Vec<f64> = serde_json::from_str(&python(select, "")).expect("a list of numbers");
    let mut sorted = from_json.clone();
    from_table.sort_by(f64::total_cmp);
    sorted.sort_by(f64::total_cmp);
    assert_eq!(from_table, sorted);
    let counters =
        export(&["--rows", "counters", "--format", "openmetrics", "--metric", "machine.stat.ctxt"]);
    assert!(counters.ends_with("# EOF\n"));
    let hdr = export(&["--format", "hdr"]);
    assert!(hdr.contains("1/(1-Percentile)") && hdr.contains("Total count"), "{hdr}");
    assert!(export(&["--rows", "intervals"]).contains(",requests,"));
    // The mail is narrow and complete.
    let mail = lab.plimsoll(&["show", "latest", "--format", "mail"]).exits(0).stdout;
    assert!(mail.lines().all(|line| line.chars().count() <= 72), "{mail}");
    for part in ["Question: How fast is it?", "Measured on", "To do it again", "[loads.few]"] {
        assert!(mail.contains(part), "no `{part}` in {mail}");
    }
}
