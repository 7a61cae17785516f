//! Output of other tools, kept as runs of their own: shown, listed, exported, compared with each other, with files and with measured runs; and
//! judged pages of numbers.

use serde_json::{Value, json};

use crate::lab::{Lab, Printed};
use crate::stores::SHORT;

/// A page as people post it; those of plimsoll-import's own tests.
fn page(name: &str) -> String {
    format!("{}/../plimsoll-import/tests/pages/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// The output of `ab` for `of` runs near a rate.
fn rates(rate: f64, of: u32) -> String {
    let line = |i: u32| format!("Requests per second:    {:.2} [#/sec] (mean)\n", rate + f64::from(i % 3));
    (0..of).map(line).collect()
}

/// The id that a run was stored under.
fn id(output: &Printed) -> String {
    let (_, rest) = output.stderr.split_once("stored as ").expect("it says what it is stored as");
    rest.split(';').next().expect("an id").to_owned()
}

#[test]
fn an_import_is_a_run_of_its_own_that_is_read_again_from_its_text() {
    let lab = Lab::new();
    let judge = ["--metric", "sy", "--judge", "recovery", "--better", "lower"];
    let mail = page("floods-2001.txt");
    let words = [&["import", &mail][..], &judge, &["--tag", "old"]].concat();
    let first = lab.plimsoll(&words).exits(1).prints("Not recovered");
    let run = id(&first);
    // The text is stored, not its place.
    let shown = lab.plimsoll(&["show", &run]).exits(0).prints("imported").prints("Not recovered");
    assert!(shown.stdout.contains(first.stdout.trim()), "{} in {}", first.stdout, shown.stdout);
    let found = lab.plimsoll(&["show", &run, "--format", "json"]).exits(0).json();
    assert_eq!((&found["schema"], &found["run"]), (&json!("plimsoll.import/1"), &json!(run)));
    let stretches = found["files"][0]["coverage"]["stretches"].as_array().expect("which lines were read");
    let lines = |part: &str| stretches.iter().filter(|stretch| stretch["part"] == part).count();
    assert!(lines("read") >= 4 && lines("skipped") >= 3, "{stretches:?}");
    let listed = lab.plimsoll(&["history", "--tag", "old", "--format", "json"]).exits(0).json();
    assert_eq!(listed[0]["run"], json!(run));
    assert_eq!(listed[0]["outcomes"][0]["outcome"], "not_recovered");
    assert!(listed[0]["bytes"].as_u64().expect("bytes") > 300);
    lab.plimsoll(&["gate", &run]).exits(1).prints("Not recovered");
    lab.plimsoll(&["explain", &run]).exits(2).says("was imported from");
    lab.plimsoll(&["show", &run, "--format", "junit"]).exits(2).says("text, json, html or mail");
    let mailed = lab.plimsoll(&["show", &run, "--format", "mail"]).exits(0).prints("Not recovered");
    assert!(mailed.stdout.lines().all(|line| line.chars().count() <= 72), "{}", mailed.stdout);
    mailed.prints("requests_per_second").prints("read as vmstat, call 2").prints("--judge recovery");
    lab.plimsoll(&["rm", &run]).exits(0);
    assert_eq!(lab.plimsoll(&["history", "--format", "json"]).json(), json!([]));
}

#[test]
fn a_json_document_has_the_points_that_the_rows_have_whatever_its_file_is_called() {
    let lab = Lab::new();
    let text = std::fs::read_to_string(page("floods-2001.txt")).expect("a page");
    let file = lab.file("\"points\": [], ", &text);
    let document = lab.plimsoll(&["import", &file, "--format", "json"]).exits(0).json();
    assert_eq!(document["files"][0]["file"], json!(file));
    let series = document["files"][0]["series"].as_array().expect("series");
    let points = series.iter().flat_map(|series| {
        let points = series["points"].as_array().expect("points");
        points
            .iter()
            .map(|point| [&series["metric"], &point["line"], &point["run"], &point["at_s"], &point["value"]])
    });
    let run = id(&lab.plimsoll(&["import", &file]).exits(0));
    let rows = lab.plimsoll(&["export", &run, "--format", "jsonl"]).exits(0);
    let rows: Vec<Value> = rows.stdout.lines().map(|row| serde_json::from_str(row).expect("JSON")).collect();
    let rows =
        rows.iter().map(|row| [&row["metric"], &row["line"], &row["call"], &row["at_s"], &row["value"]]);
    assert!(rows.len() > 50, "{rows:?}");
    assert_eq!(points.collect::<Vec<_>>(), rows.collect::<Vec<_>>());
}

#[test]
fn json_and_no_store_keep_nothing_and_nothing_read_is_not_stored() {
    let lab = Lab::new();
    let file = lab.file("ab.txt", &rates(219.0, 3));
    lab.plimsoll(&["import", &file, "--format", "json"]).exits(0).says_nothing();
    lab.plimsoll(&["import", &file, "--no-store"]).exits(0).says_nothing();
    let nothing = lab.file("nothing.txt", "Hello.\n");
    lab.plimsoll(&["import", &nothing]).exits(2).says("no figure was found");
    assert_eq!(lab.plimsoll(&["history", "--format", "json"]).json(), json!([]));
}

#[test]
fn an_imported_run_is_exported_with_a_column_for_each_label() {
    let lab = Lab::new();
    let mail = lab.file("mail.txt", &format!("Hi,\n\n> {}", rates(219.0, 2).replace('\n', "\n> ")));
    let run = id(&lab
        .plimsoll_reading(
            &["import", &mail, "-"],
            "> /dev/hda:\n>  Timing buffered disk reads:  84 MB in  3.02 seconds =  27.81 MB/sec\n",
        )
        .exits(0));
    let csv = lab.plimsoll(&["export", &run]).exits(0).stdout;
    let mut lines = csv.lines();
    assert_eq!(lines.next(), Some("run,file,format,call,device,line,at_s,metric,unit,value"));
    assert_eq!(lines.next(), Some(format!("{run},{mail},ab,1,,3,,requests_per_second,1/s,219").as_str()));
    assert!(csv.contains("standard input,hdparm,1,/dev/hda,2,,buffered_read,MiB/s,27.81"), "{csv}");
    let line = lab.plimsoll(&["export", &run, "--format", "jsonl", "--metric", "buffered_read"]).exits(0);
    let row: Value = serde_json::from_str(&line.stdout).expect("one line of JSON");
    assert_eq!((&row["value"], &row["device"], &row["line"]), (&json!(27.81), &json!("/dev/hda"), &json!(2)));
    let metrics = lab.plimsoll(&["export", &run, "--format", "openmetrics"]).exits(0).stdout;
    assert!(metrics.contains("# TYPE plimsoll_requests_per_second gauge") && metrics.ends_with("# EOF\n"));
    lab.plimsoll(&["export", &run, "--format", "hdr"]).exits(2).says("has figures only");
}

#[test]
fn imported_runs_files_and_measured_runs_are_compared() {
    let lab = Lab::of_ordinary_user();
    let (before, after) = (lab.file("before.txt", &rates(219.0, 9)), lab.file("after.txt", &rates(48.0, 9)));
    let run = id(&lab.plimsoll(&["import", &before]).exits(0));
    let slower = lab.plimsoll(&["compare", &run, &after, "--format", "json"]).exits(1).json();
    assert_eq!(slower["verdict"]["outcome"], "slower", "{slower}");
    assert_eq!(slower["medians"][0]["medians"], json!([220.0, 49.0]));
    let same = lab.plimsoll(&["compare", &run, &before, "--format", "json"]).json();
    assert_ne!(same["verdict"]["outcome"], "slower", "{same}");
    lab.plimsoll(&["compare", &run, &after]).exits(1).prints("not measured in turns");
    lab.plimsoll(&["compare", &run, "nowhere"]).exits(2).says("there is no run");
    // Measurements of other tools beside one of this machine.
    let experiment = lab.file("short.toml", SHORT);
    lab.plimsoll(&["run", &experiment, "--reps", "3"]).exits(0);
    let own = ["compare", "latest", &after, "--of", "connections_per_second", "--of", "requests_per_second"];
    let mixed = lab.plimsoll(&[&own[..], &["--format", "json"]].concat()).json();
    assert!(mixed["verdict"]["n"].as_u64().expect("how many") > 0, "{mixed}");
    assert_eq!(mixed["b"], json!(after));
}

#[test]
fn recovery_is_judged_from_figures_and_pages_of_vmstat_before_and_after() {
    let lab = Lab::new();
    let vmstat = |kernel: u32| {
        let rows: String = (0..8)
            .map(|i| {
                format!(
                    " 2  0  0    512  14100  65264 131224   0   0     0     0 4101   710  12  {}  27\n",
                    kernel + i % 3
                )
            })
            .collect();
        format!(
            "   procs                      memory    swap          io     system         cpu\n r  b  w   swpd   free   buff  cache  si  so    bi    bo   in    cs  us  sy  id\n{rows}"
        )
    };
    let side = |name: &str, rate, kernel| lab.file(name, &format!("{}\n{}", rates(rate, 9), vmstat(kernel)));
    let (before, after) = (side("before.txt", 219.0, 9), side("after.txt", 48.0, 61));
    let words = ["import", &before, &after, "--judge", "recovery", "--metric", "requests_per_second"];
    let output = lab.plimsoll(&words).exits(1).prints("Not recovered").prints("sy 10 -> 62 %");
    let page = lab.plimsoll(&["show", &id(&output), "--format", "html"]).exits(0).stdout;
    assert!(page.contains("sides-1") && page.contains("before.txt") && page.contains("what became of them"));
}

#[test]
fn a_table_in_a_mail_is_judged_as_it_stands_there() {
    let lab = Lab::new();
    let mail = page("two-by-two.txt");
    let found = lab.plimsoll(&["judge", "factors", &mail, "--format", "json"]).exits(0).json();
    assert_eq!(found["outcome"], "interaction", "{found}");
    let quoted: String = std::fs::read_to_string(&mail)
        .expect("it is there")
        .lines()
        .map(|line| format!("> {line}\n"))
        .collect();
    let again = lab.plimsoll_reading(&["judge", "factors", "--format", "json"], &quoted).exits(0).json();
    assert_eq!(again["estimate"], found["estimate"]);
    // Other text keeps the error of the expected table.
    lab.plimsoll_reading(&["judge", "factors"], "Hello,\nthere.\n").exits(2);
}

#[test]
fn every_test_has_a_page_with_its_chart() {
    let lab = Lab::new();
    let list = |n: u32, of: &dyn Fn(u32) -> f64| (0..n).map(|i| format!("{}\n", of(i))).collect::<String>();
    let two =
        list(40, &|i| if i % 2 == 0 { 28.0 + f64::from(i) / 100.0 } else { 17.0 + f64::from(i) / 100.0 });
    let step = list(40, &|i| f64::from(i % 3) + if i < 20 { 10.0 } else { 30.0 });
    let growth: String = (1..9).map(|n| format!("{n},{}\n", 3 * n * n)).collect();
    let scaling: String =
        (1..9).map(|n| format!("{n},{}\n", 100.0 * f64::from(n) / (1.0 + 0.1 * f64::from(n - 1)))).collect();
    let load: String = (1..10)
        .map(|n| f64::from(n) / 10.0)
        .map(|used| format!("{used},{}\n", used / (1.0 - used)))
        .collect();
    let pairs =
        list(20, &|i| f64::from(i % 5)).lines().map(|line| format!("2{line},1{line}\n")).collect::<String>();
    for (test, text, chart, code) in [
        ("modes", two, "modes-histogram-1", 0),
        ("changes", step, "series-1", 0),
        ("growth", format!("n,time\n{growth}"), "curve-1", 0),
        ("scaling", format!("n,throughput\n{scaling}"), "curve-1", 0),
        ("load-curve", format!("utilisation,load\n{load}"), "curve-1", 0),
        ("loss", r#"{"target": {"rate": 4e6, "rtt": 0.07}}"#.to_owned(), "curve-1", 0),
        ("compare", format!("a,b\n{pairs}"), "sides-1", 0),
        ("recovery", format!("baseline,after\n{pairs}"), "sides-1", 1),
        ("factors", std::fs::read_to_string(page("two-by-two.txt")).expect("there"), "interaction-1", 0),
    ] {
        let output = lab.plimsoll_reading(&["judge", test, "--format", "html"], &text).exits(code);
        assert!(output.stdout.contains(&format!("<figure id=\"{chart}\"")), "{test} has no {chart}");
        assert!(output.stdout.contains("class=\"verdict"), "{test} has no verdict");
        assert!(output.stdout.ends_with("</html>\n"), "{test}");
        let mail = lab.plimsoll_reading(&["judge", test, "--format", "mail"], &text).stdout;
        let wide: Vec<&str> = mail.lines().filter(|line| line.chars().count() > 72).collect();
        assert!(wide.is_empty() && mail.contains("To do it again"), "{test}: {wide:?} of {mail}");
    }
}
