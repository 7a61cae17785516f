//! The cost of many agents for their controller. The recorded messages of a real agent stand in for the others, since
//! there is one machine only.

use std::path::Path;
use std::time::Duration;
use std::{fs, io, thread};

use serde_json::Value;

use crate::lab::Lab;

/// Number of replaced agents.
const AGENTS: usize = 40;

/// An experiment with `count` generators, each reached by this command, and a server.
fn group(count: usize, program: &Path, reached_by: &[&str]) -> String {
    format!(
        "question = \"What do many agents cost?\"\n[hosts.bots]\ncount = {count}\nreach = {{ command = {reached_by:?} }}\n\
         [hosts.server]\nreach = {{ command = [\"{}\", \"agent\"] }}\n\
         [services.site]\non = \"server\"\nweb = {{ model = \"event_loop\" }}\n\
         [loads.attack]\nfrom = \"bots\"\nto = \"site\"\nhttp = {{ open = {{ rate = 40 }}, duration = \"1s\" }}\n\
         [[phases]]\nname = \"all\"\nmeasure = \"attack\"\nat_most = \"1m\"\n[run]\nmax_trials = 1\n",
        program.display()
    )
}

/// The rate of a run, and that of each generator.
fn rates(report: &Value) -> (f64, Vec<f64>) {
    let phase = &report["trials"][0]["phases"][0];
    let rate = |of: &Value| {
        of["figures"]["requests_per_second"].as_f64().unwrap_or_else(|| panic!("no rate: {report}"))
    };
    (rate(phase), phase["generators"].as_array().into_iter().flatten().map(rate).collect())
}

/// Recorded messages of an agent, and the program that replays them.
struct Recorded {
    lab: Lab,
    stand_in: String,
    recording: String,
    /// Requests per second that it drove.
    rate: f64,
}

impl Recorded {
    fn new() -> Self {
        let lab = Lab::of_ordinary_user();
        let stand_in = Path::new(env!("CARGO_BIN_EXE_plimsoll")).with_file_name("examples/recorded_agent");
        let copy = lab.path("recorded_agent");
        // Nobody may not enter the folder where it was built.
        fs::copy(stand_in, &copy).expect("cargo builds the examples of a package with its tests");
        let (stand_in, recording) = (copy.display().to_string(), lab.path("recording").display().to_string());
        let program = lab.program().display().to_string();
        let record = group(1, lab.program(), &[&stand_in, "record", &recording, &program, "agent"]);
        let record = lab.file("record.toml", &record);
        let report = lab.plimsoll_until_decided(&["run", &record, "--yes", "--format", "json"]).json();
        Self { lab, stand_in, recording, rate: rates(&report).0 }
    }
}

/// A fake agent; the second one's clock jumps ahead by a minute in the middle.
const JUMPS: &str = r#"
if mkdir "$0-first" 2>/dev/null; then exec "$1" replay "$2"; fi
exec "$1" replay "$2" 700 60
"#;

#[test]
fn a_clock_that_jumps_spoils_its_trial_and_no_other() {
    let Recorded { lab, stand_in, recording, .. } = Recorded::new();
    let jumps = lab.file("jumps.sh", JUMPS);
    let text = group(1, lab.program(), &["sh", &jumps, &stand_in, &recording]);
    let experiment =
        lab.file("jumps.toml", &text.replace("max_trials = 1", "min_trials = 2\nmax_trials = 2"));
    let report = lab.plimsoll(&["run", &experiment, "--yes", "--format", "json"]).json();
    let trials = report["trials"].as_array().expect("trials");
    assert_eq!(trials.len(), 2, "{report}");
    let faults = |trial: &Value| trial["faults"].as_array().map_or(0, Vec::len);
    assert_eq!(faults(&trials[0]), 0, "{}", trials[0]["faults"]);
    let fault = &trials[1]["faults"][0];
    assert_eq!(fault["kind"], "clock_jumped", "{}", trials[1]["faults"]);
    assert!(fault.to_string().contains("bots"), "{fault}");
}

#[test]
fn many_agents_drive_as_one_and_their_controller_stays_small() {
    let Recorded { lab, stand_in, recording, rate: of_one } = Recorded::new();
    let many = lab.file("many.toml", &group(AGENTS, lab.program(), &[&stand_in, "replay", &recording]));
    let mut run = lab.start(&["run", &many, "--yes", "--format", "json"]);
    // A full pipe would stop the controller, so a thread reads it.
    let stdout = run.stdout();
    let reader = thread::spawn(move || io::read_to_string(stdout));
    let (mut peak_kib, status) = (0, format!("/proc/{}/status", run.id()));
    while !run.has_ended() {
        let text = fs::read_to_string(&status).unwrap_or_default();
        let peak = text
            .lines()
            .find_map(|line| line.strip_prefix("VmHWM:")?.strip_suffix("kB")?.trim().parse().ok());
        peak_kib = peak_kib.max(peak.unwrap_or(0u64));
        thread::sleep(Duration::from_millis(20));
    }
    let output = reader.join().expect("it only reads").expect("it speaks UTF-8");
    let report: Value =
        serde_json::from_str(&output).unwrap_or_else(|error| panic!("{error}: {:?}", run.ends()));
    let (rate, of_each) = rates(&report);
    assert_eq!(of_each.len(), AGENTS, "{report}");
    assert!((rate / of_one / AGENTS as f64 - 1.0).abs() < 0.2, "{rate}/s of {AGENTS} times {of_one}/s");
    assert!((1..200 << 10).contains(&peak_kib), "the controller took {peak_kib} KiB");
}
