//! What `record` writes, and what `explain` reads from it.

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use flate2::read::GzDecoder;

use crate::lab::{Lab, wait_until};
use crate::served::Server;
use crate::watched::Busy;

#[test]
fn one_recording_or_two_name_who_keeps_a_machine_busy() {
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
    let output = lab.plimsoll(&["record", "--for", "6s", "-o", &bad]).exits(0);
    drop((busy, waiting));
    assert!(output.stderr.contains("% of a CPU"), "{}", output.stderr);
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
fn a_recording_that_ended_at_once_is_no_idle_machine_and_a_foreign_file_alone_says_nothing() {
    let lab = Lab::new();
    let [ended, whole] = ["ended.jsonl", "whole.jsonl"].map(|name| lab.path(name));
    let header = r#"{"schema":"plimsoll.recording/1","host":"blue"}"#;
    let moment = |second: u64| {
        format!(
            r#"{{"at_unix_ms":{second}000,"counters":{{"at_ns":{second}000000000,"values":{{"a":{second}}}}}}}"#
        )
    };
    fs::write(&ended, format!("{header}\n{}\n", moment(1))).unwrap();
    fs::write(&whole, format!("{header}\n{}\n{}\n", moment(1), moment(2))).unwrap();
    let [ended, whole] = [ended, whole].map(|path| path.display().to_string());
    let refused = "the recording of before: two moments or more are needed, and it has 1";
    lab.plimsoll(&["explain", &ended, &whole]).exits(2).says(refused);
    let foreign = lab.path("vmstat-monday.txt");
    fs::write(&foreign, "procs memory\n").unwrap();
    let foreign = foreign.display().to_string();
    lab.plimsoll(&["explain", &foreign]).exits(2).says(&format!("plimsoll explain BEFORE {foreign}"));
}

#[test]
fn what_gets_worse_ends_a_recording_that_waits_for_it() {
    let lab = Lab::new();
    let wrong = lab.plimsoll(&["record", "--until-worse", "latency", "-o", "x.gz"]).exits(2);
    assert!(wrong.stderr.contains("listen-queue"), "{}", wrong.stderr);
    let short = lab.plimsoll(&["record", "--for", "1s"]).exits(2);
    assert!(short.stderr.contains("expected 5s or more"), "{}", short.stderr);
}

/// One load on one host, for two seconds.
const SHORT: &str = r#"
question = "How fast?"
[hosts.client]
[hosts.server]
[[links]]
between = ["client", "server"]
[services.web]
on = "server"
web = { model = "prefork", clients = 4 }
[loads.visitors]
from = "client"
to = "web"
http = { duration = "300ms", concurrency = 4 }
[[phases]]
name = "visits"
measure = "visitors"
[run]
min_trials = 1
max_trials = 1
"#;

#[test]
fn a_recording_a_folder_a_table_and_a_run_stand_beside_each_other() {
    let lab = Lab::new();
    let recording = lab.path("it.jsonl.gz").display().to_string();
    lab.plimsoll(&["record", "--for", "5s", "-o", &recording]).exits(0);
    let watched = lab.path("watched.jsonl").display().to_string();
    lab.script(&format!("timeout -s INT 5 {} watch --record {watched}; true", lab.program().display()));
    let folder = lab.path("posted").join("proc");
    fs::create_dir_all(folder.join("net")).unwrap();
    for file in ["stat", "vmstat", "uptime", "net/snmp", "net/netstat"] {
        fs::write(folder.join(file), fs::read(format!("/proc/{file}")).unwrap()).unwrap();
    }
    let folder = lab.path("posted").display().to_string();
    let header = " r b swpd free buff cache si so bi bo in cs us sy id wa st\n";
    let table = format!("{header}{}", " 9 0 0 100 100 100 0 0 0 0 100 900000 50 49 1 0 0\n".repeat(5));
    let table = lab.file("vmstat.txt", &table);
    let short = lab.file("short.toml", SHORT);
    lab.plimsoll(&["run", &short]).exits(0);
    let json = |words: &[&str]| -> serde_json::Value {
        let words = [words, &["--format", "json"]].concat();
        serde_json::from_str(&lab.plimsoll(&words).exits(0).stdout).unwrap()
    };
    for other in [recording.as_str(), &watched] {
        let beside = json(&["explain", &folder, other]);
        let notes = beside["notes"].to_string();
        assert!(
            notes.contains("Not compared: only after has") && notes.contains("machine.meminfo"),
            "{notes}"
        );
    }
    let busier = json(&["explain", &recording, &table])["evidence"].to_string();
    assert!(busier.contains("cs (per second)"), "{busier}");
    let with_run = json(&["explain", "latest", &recording]);
    let notes = with_run["notes"].to_string();
    assert!(notes.contains("phase visits, host server"), "{notes}");
    let evidence = with_run["evidence"].to_string();
    assert!(evidence.contains("snmp.Tcp.") || evidence.contains("netstat."), "{with_run}");
    let with_both = json(&["explain", "--before", &recording, "--before", &folder, "--after", "latest"]);
    assert!(with_both["notes"].to_string().contains("phase visits"), "{with_both}");
    let made = lab.path("made.toml").display().to_string();
    lab.plimsoll(&["new", "--from", &recording, &made, "--kind", "capacity"]).exits(2).says("promise");
    lab.plimsoll(&["new", "--from", &recording, &made]).exits(0).prints("plimsoll check");
    let text = fs::read_to_string(&made).unwrap();
    assert!(text.contains("# Recorded: ") && text.contains("[hosts.server.sysctls]"), "{text}");
    lab.plimsoll(&["check", &made]).exits(0);
    lab.plimsoll(&["run", &made, "--quick", "--allow", "privileged", "--format", "json"])
        .exits_as_it_judges();
    lab.plimsoll(&["explain", &recording, "nonesuch"]).exits(2).says("`nonesuch` is none");
    let log = lab.file("perf.txt", "top 1 1.000: 1 cpu-clock:\n\tffff a+0x1 ([kernel.kallsyms])\n\ntop 1 1.010: 1 cpu-clock:\n\tffff a+0x1 ([kernel.kallsyms])\n");
    lab.plimsoll(&["explain", &log, &watched]).exits(2).says("have nothing in common");
}

/// A server that thinks for a quarter of a second before each answer, and a client that asks it for some seconds.
fn slow_answers(seconds: u64) -> thread::JoinHandle<()> {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (mut server, _) = listener.accept().unwrap();
    thread::spawn(move || {
        let mut request = [0; 6];
        while server.read_exact(&mut request).is_ok() {
            thread::sleep(Duration::from_millis(250));
            server.write_all(&request).unwrap();
        }
    });
    thread::spawn(move || {
        let began = Instant::now();
        let mut answer = [0; 6];
        while began.elapsed() < Duration::from_secs(seconds) {
            client.write_all(b"secret").unwrap();
            client.read_exact(&mut answer).unwrap();
        }
    })
}

#[test]
fn packets_name_what_connections_wait_for_and_another_namespace_counts_by_its_name() {
    let lab = Lab::of_root();
    let mut other = Command::new("unshare")
        .args(["-n", "sh", "-c", "ip link set lo up; exec python3 -m http.server 8099"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let listens = format!("/proc/{}/net/tcp", other.id());
    // Port 8099, in the state of a listening socket.
    wait_until("it listens", || {
        fs::read_to_string(&listens).is_ok_and(|it| it.contains(":1FA3 00000000:0000 0A"))
    });
    let asked = slow_answers(6);
    let file = lab.path("it.jsonl.gz").display().to_string();
    lab.plimsoll(&["record", "--for", "5s", "--packets", "1m", "-o", &file]).exits(2).says("1s to 30s");
    lab.plimsoll(&["record", "--for", "5s", "--redact", "--packets", "3s", "-o", &file]).exits(0);
    asked.join().unwrap();
    other.kill().unwrap();
    other.wait().unwrap();
    let text = unpacked(&file);
    assert!(
        text.contains("\"netns.namespace-") && text.contains(".netstat.TcpExt.ListenOverflows"),
        "{text}"
    );
    let is_of_other = |it: &&str| it.contains("\"namespace\":\"namespace-") && it.contains(":8099\"");
    assert!(text.lines().any(|it| is_of_other(&it)), "{text}");
    let lines = text.lines().map(|it| serde_json::from_str::<serde_json::Value>(it).unwrap());
    let of_loopback: Vec<_> = lines.filter(|it| it["packets"]["interface"] == "lo").collect();
    let packets = STANDARD.decode(of_loopback[0]["packets"]["pcapng"].as_str().unwrap()).unwrap();
    let holds = |part: &[u8]| packets.windows(part.len()).any(|window| window == part);
    assert!(!holds(b"secret") && !holds(&[127, 0, 0, 1]), "neither payload nor addresses");
    let output = lab.plimsoll(&["explain", &file]).exits(0);
    // The recording began after the handshake, and both ports are of the same kind: either end may be taken for the server.
    let is_named = ["server_think", "client_idle"].iter().any(|class| output.stdout.contains(class));
    assert!(output.stdout.contains("Packets of lo, ") && is_named, "{}", output.stdout);
    let served = serve(lab, &[&file]);
    let page = served.get("/recording");
    for part in ["series-1-data", "stacks-data", "CPUs used", "Packets seen"] {
        assert!(page.status == 200 && page.text.contains(part), "{part}: {}", page.text);
    }
}

/// A server that shows these recordings.
fn serve(lab: Lab, files: &[&str]) -> Server {
    let words: Vec<String> = files.iter().map(|file| format!("--recording {file}")).collect();
    let store = lab.path("runs.sqlite").display().to_string();
    let short = lab.file("short.toml", SHORT);
    lab.plimsoll(&["run", &short, "--store", &store]).exits(0);
    Server::of(lab, &format!("--store {store} {}", words.join(" ")))
}
