//! A running run in a browser: in the list, on a page of its own, and as events up to its end; and its page afterwards, among very many.

use std::fs;
use std::process::Command;
use std::time::Instant;

use nix::sys::signal::Signal;

use crate::lab::{Lab, wait_until};
use crate::live::SECONDS;
use crate::served::{Server, seen_in_chromium};
use crate::stores::SHORT;

/// Waits until the list shows a running run, and returns its id.
fn under_way(server: &Server) -> String {
    let mut list = String::new();
    wait_until("a run is listed as under way", || {
        list = server.get("/").text;
        list.contains("Under way")
    });
    let (_, rest) = list.split_once("href=\"/runs/").expect("it leads there");
    rest.split_once("/live\"").expect("to the page of a run under way").0.to_owned()
}

#[test]
fn a_run_under_way_is_listed_and_followed_to_its_page_and_a_killed_one_is_not() {
    let lab = Lab::of_ordinary_user();
    let file = lab.file("seconds.toml", SECONDS);
    let server = Server::of(lab, "");
    assert!(!server.get("/").text.contains("Under way"));
    let words = ["run", &file, "--reps", "1", "--set", "loads.some.http.duration=2s"];
    let run = server.lab.start(&words);
    let id = under_way(&server);
    let folder = server.lab.path("state/plimsoll/runs.sqlite-under-way");
    assert!(folder.join(format!("{id}.json")).is_file());

    let page = server.get(&format!("/runs/{id}/live"));
    assert_eq!(page.status, 200, "{}", page.text);
    for part in ["What does a terminal show?", "Rate and latency", "Phases", "baseline", "/assets/live.js"] {
        assert!(page.text.contains(part), "{part}: {}", page.text);
    }
    assert!(page.text.contains(&format!("data-events=\"/runs/{id}/events\"")), "{}", page.text);
    assert!(!page.text.contains("<script>"), "no script stands in a page");

    // It comes until the run has ended.
    let events = server.get(&format!("/runs/{id}/events")).text;
    assert!(events.contains("content-type: text/event-stream"), "{events}");
    let states: Vec<&str> = events.split("event: state\ndata: ").skip(1).collect();
    assert!(states.len() >= 4, "{} states: {events}", states.len());
    let measured =
        |state: &&str| state.contains("operations per second") && state.contains("treatment <strong>");
    assert!(states.iter().any(|state| measured(state) && state.contains("control <strong>")), "{events}");
    assert!(states.iter().any(|state| state.contains("aria-current=\"step\">after: now")), "{events}");
    assert!(states.windows(2).all(|pair| pair[0] != pair[1]), "what has not changed is not sent again");
    assert!(events.trim_end().contains(&format!("event: ended\ndata: /runs/{id}")), "{events}");

    let own = server.get(&format!("/runs/{id}"));
    assert!(own.status == 200 && own.text.contains("What does a terminal show?"), "{}", own.text);
    assert!(!own.text.contains("see it live"));
    run.ends();
    let left = || fs::read_dir(&folder).map_or(0, Iterator::count);
    assert_eq!(left(), 0);
    assert!(!server.get("/").text.contains("Under way"));
    let moved = server.get(&format!("/runs/{id}/live"));
    assert!(moved.status == 302 && moved.text.contains(&format!("location: /runs/{id}")), "{}", moved.text);

    let killed = server.lab.start(&words);
    let id = under_way(&server);
    killed.signal(Signal::SIGKILL);
    drop(killed);
    wait_until("nothing is under way", || !server.get("/").text.contains("Under way"));
    assert_eq!(left(), 1, "nobody has removed what it left");
    assert_eq!(server.get(&format!("/runs/{id}/live")).status, 302);
    server.lab.plimsoll(&words);
    assert_eq!(left(), 0, "the next run has");
    assert_eq!(
        server.get("/runs/..%2F..%2Fetc/live").status,
        302,
        "no name of a run, and no file of it is read"
    );
}

/// Adds runs with 100,000 trials. Their measurements are left out, as no page reads them.
const MANY: &str = r#"
import json, sqlite3, sys, zlib
store = sqlite3.connect(sys.argv[1])
(run, *rest), = store.execute("select * from runs limit 1").fetchall()
*trial, packed = store.execute("select block, cell, faults, around_us, record from trials limit 1").fetchone()
record = json.loads(zlib.decompress(packed, -15))
record["deep"] = []
packer = zlib.compressobj(wbits=-15)
trial.append(packer.compress(json.dumps(record).encode()) + packer.flush())
with store:
    for n in range(5000):
        copy = f"copy{n:05}"
        store.execute(f"insert into runs values (?{', ?' * len(rest)})", (copy, *rest))
        store.execute("insert into outcomes select ?, outcomes from outcomes where run = ?", (copy, run))
        rows = ((copy, number, *trial) for number in range(1, 21))
        store.executemany("insert into trials values (?, ?, ?, ?, ?, ?, ?)", rows)
"#;

#[test]
#[ignore = "needs python3, which cargo xtask test installs"]
fn among_a_hundred_thousand_trials_the_page_of_a_run_is_there_at_once() {
    let lab = Lab::new();
    let experiment = lab.file("short.toml", SHORT);
    lab.plimsoll(&["run", &experiment, "--reps", "5", "--set", "loads.few.http.connections=200"]).exits(0);
    let store = lab.path("state/plimsoll/runs.sqlite");
    let id = lab.plimsoll(&["show", "latest", "--format", "json"]).json()["run"]
        .as_str()
        .expect("an id")
        .to_owned();
    let copied =
        Command::new("/usr/bin/python3").args(["-c", MANY]).arg(&store).status().expect("python3 starts");
    assert!(copied.success());
    let quickest = |server: &Server, path: &str| {
        let took = |_| {
            let began = Instant::now();
            let answer = server.get(path);
            assert_eq!(answer.status, 200, "{}", answer.text);
            began.elapsed()
        };
        (0..5).map(took).min().expect("five")
    };
    let server = Server::of(lab, "");
    let (list, page) = (quickest(&server, "/"), quickest(&server, &format!("/runs/{id}")));
    let by_hand = server.get(&format!("/runs/{id}"));
    fs::remove_file(server.lab.path(&format!("state/plimsoll/reports/{id}.html"))).expect("the run wrote it");
    let began = Instant::now();
    let again = server.get(&format!("/runs/{id}"));
    assert_eq!(again.status, 200, "{}", again.text);
    let judged = began.elapsed();
    println!("list {list:?}, page {page:?}, judged again {judged:?}");
    // The head has the time of the answer.
    let (again, by_hand) = (again.body(), by_hand.body());
    let other = again.lines().zip(by_hand.lines()).find(|(again, before)| again != before);
    assert!(!again.is_empty() && again == by_hand, "judged again, the page says something else: {other:?}");
    assert!(list.max(page) < judged, "list {list:?}, page {page:?} where judging takes {judged:?}");
}

#[test]
#[ignore = "needs chromium, node and packages of npm; cargo xtask test has them"]
fn the_page_of_a_run_under_way_is_sound_in_a_browser() {
    let lab = Lab::of_ordinary_user();
    let file = lab.file("seconds.toml", SECONDS);
    let server = Server::of(lab, "");
    let run = server.lab.start(&["run", &file, "--reps", "40"]);
    let id = under_way(&server);
    let address = |path: &str| format!("http://{}{path}", server.host);
    let page = format!("/runs/{id}/live");
    wait_until("something was measured", || server.get(&page).text.contains("operations per second"));
    assert_eq!(seen_in_chromium(&[address("/"), address(&page)]), "{}");
    drop(run);
}
