//! What `record` writes, and what `explain` reads from it.

use std::fs;
use std::io::Read;
use std::net::{TcpListener, TcpStream};

use flate2::read::GzDecoder;

use crate::lab::Lab;
use crate::watched::Busy;

#[test]
fn who_keeps_a_machine_busy_is_told_from_one_recording_and_from_two() {
    let lab = Lab::new();
    let [good, bad] = ["good.jsonl.gz", "bad.jsonl.gz"].map(|name| lab.path(name).display().to_string());
    // A queue that nobody serves.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let here = listener.local_addr().unwrap();
    let waiting = TcpStream::connect(here).unwrap();
    lab.plimsoll(&["record", "--for", "5s", "--redact", "-o", &good]).exits(0);
    let text = unpacked(&good);
    assert!(!text.contains("127.0.0.1"), "no address is left");
    let lines: Vec<serde_json::Value> = text.lines().map(|it| serde_json::from_str(it).unwrap()).collect();
    assert_eq!((&lines[0]["schema"], &lines[0]["redacted"]), (&"plimsoll.recording/1".into(), &true.into()));
    let has = |part: &str| lines.iter().any(|line| !line[part].is_null());
    assert!(["inventory", "profile", "sockets", "end", "counters"].iter().all(|part| has(part)), "{text}");
    let looks = lines.iter().filter_map(|line| line["sockets"]["listeners"].as_array()).flatten();
    let port = format!(":{}", here.port());
    let mut of_here = looks.filter(|it| it["local"].as_str().unwrap().ends_with(&port));
    assert!(of_here.any(|it| it["waiting"] == 1), "the connection that waits is seen: {text}");

    let busy = Busy::start();
    let told = lab.plimsoll(&["record", "--for", "6s", "-o", &bad]).exits(0);
    drop((busy, waiting));
    assert!(told.stderr.contains("% of a CPU"), "{}", told.stderr);
    let json = |words: &[&str]| -> serde_json::Value {
        let words = [words, &["--format", "json"]].concat();
        serde_json::from_str(&lab.plimsoll(&words).exits(0).stdout).unwrap()
    };
    let alone = json(&["explain", &bad]);
    let processes = alone["state"]["processes"].as_array().unwrap();
    let shell = processes.iter().find(|it| it["name"] == "sh").unwrap();
    assert!(shell["cpus"].as_f64() > Some(0.05), "{alone}");
    let text = lab.plimsoll(&["explain", &bad]).exits(0).stdout;
    assert!(text.contains("CPU  ") && text.contains("What limits it"), "{text}");
    assert!(text.contains(&format!("plimsoll explain good.jsonl.gz {bad}")), "{text}");
    let notes = json(&["explain", &good, &bad])["notes"].to_string();
    assert!(notes.contains("pseudonyms") && notes.contains("not measured in turns"), "{notes}");
    // `watch` shows it, too.
    let shown = lab.plimsoll(&["watch", "--replay", &bad]).exits(0);
    assert!(shown.stdout.lines().filter(|line| line.contains("  CPU ")).count() >= 4, "{}", shown.stdout);
}

fn unpacked(path: &str) -> String {
    let mut text = String::new();
    GzDecoder::new(fs::File::open(path).unwrap()).read_to_string(&mut text).unwrap();
    text
}

#[test]
fn what_gets_worse_ends_a_recording_that_waits_for_it() {
    let lab = Lab::new();
    let wrong = lab.plimsoll(&["record", "--until-worse", "latency", "-o", "x.gz"]).exits(2);
    assert!(wrong.stderr.contains("listen-queue"), "{}", wrong.stderr);
    let short = lab.plimsoll(&["record", "--for", "1s"]).exits(2);
    assert!(short.stderr.contains("expected 5s or more"), "{}", short.stderr);
}
