//! The terminal view of a running run, as tmux sees it.

use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::lab::{Lab, wait_until};

/// An experiment with a control that goes on for some seconds.
pub(crate) const SECONDS: &str = r#"
question = "What does a terminal show?"
[hosts.client]
[hosts.server]
[[links]]
between = ["client", "server"]
[control]
idle_in = []
[services.web]
on = "server"
web = {}
[loads.some]
from = "client"
to = "web"
http = { duration = "4s", concurrency = 2 }
[[phases]]
name = "baseline"
measure = "some"
slices = 4
[[phases]]
name = "after"
measure = "some"
slices = 40
[[claims]]
recovery = { baseline = "baseline", after = "after" }
[run]
min_trials = 2
max_trials = 2
"#;

static STARTED: AtomicU32 = AtomicU32::new(0);

/// A terminal of its own, on a server of tmux that nobody else uses.
pub(crate) struct Terminal<'l> {
    lab: &'l Lab,
    socket: String,
}

impl<'l> Terminal<'l> {
    pub(crate) fn start(lab: &'l Lab, columns: u32, command: &str) -> Self {
        // A server that has just received its signal may still have its socket.
        let socket = format!("tmux-{}", STARTED.fetch_add(1, Ordering::Relaxed));
        let terminal = Self { lab, socket };
        let command = format!("{command}; echo exit status $?; exec sleep 1000");
        let size = columns.to_string();
        let output =
            terminal.tmux(&["-f", "/dev/null", "new-session", "-d", "-x", &size, "-y", "30", &command]);
        assert!(output.status.success(), "{output:?}");
        terminal
    }

    fn tmux(&self, args: &[&str]) -> Output {
        let mut command = Command::new("tmux");
        command.arg("-S").arg(self.lab.path(&self.socket)).args(args);
        // Bars and marks are UTF-8, whatever the tests are started with.
        command
            .env("LC_ALL", "C.UTF-8")
            .env("TERM", "xterm-256color")
            .env_remove("TMUX")
            .env_remove("NO_COLOR");
        command.output().expect("tmux starts")
    }

    fn screen(&self) -> String {
        String::from_utf8_lossy(&self.tmux(&["capture-pane", "-p"]).stdout).into_owned()
    }

    pub(crate) fn press(&self, key: &str) {
        assert!(self.tmux(&["send-keys", key]).status.success());
    }

    /// The screen, once this is on it.
    pub(crate) fn wait_for(&self, text: &str) -> String {
        let mut screen = String::new();
        wait_until(&format!("`{text}` is on the screen"), || {
            screen = self.screen();
            screen.contains(text)
        });
        screen
    }

    /// Whether the terminal is restored: the main screen, a cursor, and echoed keys.
    pub(crate) fn is_given_back(&self) -> bool {
        let output = self.tmux(&["display-message", "-p", "#{alternate_on} #{cursor_flag}"]);
        String::from_utf8_lossy(&output.stdout).trim() == "0 1"
    }
}

impl Drop for Terminal<'_> {
    fn drop(&mut self) {
        self.tmux(&["kill-server"]);
    }
}

fn run(lab: &Lab, more: &str) -> String {
    let file = lab.file("seconds.toml", SECONDS);
    format!(
        "{} run {file} --store {} {more}",
        env!("CARGO_BIN_EXE_plimsoll"),
        lab.path("runs.sqlite").display()
    )
}

#[test]
fn a_terminal_of_any_width_shows_phases_rates_and_cpus_while_they_come() {
    for columns in [60, 80, 120, 200] {
        let lab = Lab::new();
        let terminal = Terminal::start(&lab, columns, &run(&lab, "--reps 1"));
        let screen = terminal.wait_for("▶ after");
        for text in ["seconds", "Trial 1 of at most 1", "✓ baseline", "treatment", "control", "What happened"]
        {
            assert!(screen.contains(text), "`{text}` at {columns} columns:\n{screen}");
        }
        for key in ["q end", "e end after", "s skip", "o ", "? help"] {
            assert!(screen.contains(key), "no key `{key}` at {columns} columns:\n{screen}");
        }
        let screen = terminal.wait_for("% CPU");
        assert!(screen.lines().all(|line| line.chars().count() <= columns as usize), "{screen}");
        terminal.press("?");
        terminal.wait_for("continues it");
        terminal.press("q");
        let screen = terminal.wait_for("exit status 130");
        assert!(terminal.is_given_back(), "{screen}");
        assert!(screen.contains("plimsoll run --resume"), "{screen}");
    }
}

#[test]
fn the_key_e_ends_a_run_after_its_trial_which_is_stored_whole() {
    let lab = Lab::new();
    let terminal = Terminal::start(&lab, 100, &run(&lab, ""));
    terminal.wait_for("▶ baseline");
    terminal.press("e");
    terminal.wait_for("ends after this trial (e takes it back)");
    terminal.wait_for("exit status 130");
    let store = lab.path("runs.sqlite").display().to_string();
    let report = lab.plimsoll(&["show", "--store", &store, "--format", "json"]).json();
    assert_eq!(report["trials"].as_array().map(Vec::len), Some(1), "{report}");
}

#[test]
fn the_key_s_skips_a_phase_whose_trial_is_not_counted_and_o_opens_the_report_after_it() {
    let lab = Lab::new();
    let opened = lab.path("opened.html");
    let browser = format!("env -u SUDO_UID BROWSER='cp %s {}' ", opened.display());
    let terminal = Terminal::start(&lab, 100, &(browser + &run(&lab, "")));
    terminal.wait_for("▶ baseline");
    terminal.press("s");
    terminal.wait_for("s again skips baseline: this trial will not be counted");
    terminal.press("s");
    terminal.wait_for("▶ after");
    terminal.press("o");
    terminal.wait_for("report after this trial");
    assert!(!opened.exists(), "nothing is measured by then");
    let screen = terminal.wait_for("the report so far was given to cp");
    assert!(screen.contains("it was skipped by hand after"), "{screen}");
    let page = std::fs::read_to_string(&opened).expect("a page");
    assert!(page.contains("is not counted"), "{page}");
    let screen = terminal.wait_for("exit status");
    assert!(terminal.is_given_back(), "{screen}");
    let store = lab.path("runs.sqlite").display().to_string();
    let report = lab.plimsoll(&["show", "--store", &store, "--format", "json"]).json();
    let fault = &report["trials"][0]["faults"][0];
    assert_eq!((&fault["kind"], &fault["phase"]), (&"skipped".into(), &"baseline".into()), "{report}");
    assert_eq!(report["trials"][1]["faults"], serde_json::json!([]));
    assert_eq!(report["verdicts"][0]["n"], 1, "{report}");
    lab.plimsoll(&["show", "--store", &store]).prints("Trial 1 is not counted: of its phase baseline");
}

#[test]
fn a_signal_gives_the_terminal_back_also_where_it_comes_twice() {
    for times in [1, 2] {
        let lab = Lab::new();
        let terminal = Terminal::start(&lab, 80, &run(&lab, ""));
        terminal.wait_for("▶ ");
        let output = terminal.tmux(&["display-message", "-p", "#{pane_pid}"]);
        let shell = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        for _ in 0..times {
            let killed = Command::new("pkill")
                .args(["-TERM", "-P", &shell, "plimsoll"])
                .status()
                .expect("pkill starts");
            assert!(times == 2 || killed.success());
        }
        terminal.wait_for("exit status 130");
        assert!(terminal.is_given_back(), "after {times}");
    }
}

#[test]
fn a_small_terminal_and_one_that_asks_for_it_get_a_line() {
    let lab = Lab::new();
    let terminal = Terminal::start(&lab, 50, &run(&lab, "--reps 1"));
    let screen = terminal.wait_for("trial 1 of at most 1  ");
    assert!(!screen.contains("What happened") && terminal.is_given_back(), "{screen}");
    drop(terminal);
    let terminal = Terminal::start(&lab, 120, &run(&lab, "--reps 1 --no-live"));
    let screen = terminal.wait_for("trial 1 of at most 1  ");
    assert!(screen.contains("a trial takes about") && !screen.contains("What happened"), "{screen}");
}

#[test]
fn a_log_gets_a_line_now_and_then_and_none_where_none_is_wanted() {
    let lab = Lab::new();
    let file = lab.file("seconds.toml", SECONDS);
    let output = lab.plimsoll(&["run", &file, "--reps", "1", "--heartbeat", "2s"]);
    assert!(output.stderr.matches("trial 1 of at most 1").count() >= 2, "{}", output.stderr);
    assert!(!output.stderr.contains('\u{1b}'), "{}", output.stderr);
    let described = lab.plimsoll(&["describe", &file]).exits(0);
    described.prints("a trial takes about").prints("as in the run");
    let output = lab.plimsoll(&[
        "run",
        &file,
        "--reps",
        "1",
        "--heartbeat",
        "0s",
        "--set",
        "loads.some.http.duration=1s",
    ]);
    assert!(!output.stderr.contains("trial 1 of at most"), "{}", output.stderr);
}

/// Reads each line as soon as it is there: the first ones come long before the run is over.
#[test]
fn events_are_printed_as_they_happen() {
    use std::io::BufRead;
    let lab = Lab::of_ordinary_user();
    let longer = crate::stores::SHORT.replace("connections = 20", "duration = \"1500ms\", concurrency = 2");
    let experiment = lab.file("longer.toml", &longer);
    let mut run = lab.start(&["run", &experiment, "--reps", "2", "--format", "jsonl"]);
    let mut lines = std::io::BufReader::new(run.stdout()).lines();
    let mut next = || -> Option<serde_json::Value> {
        lines.next().map(|line| serde_json::from_str(&line.expect("text")).expect("an object on each line"))
    };
    let first = next().expect("a line");
    assert_eq!((&first["schema"], &first["event"]), (&"plimsoll.event/1".into(), &"run_started".into()));
    let mut seen = vec![first];
    while seen.last().is_some_and(|event| event["event"] != "trial_ended") {
        seen.push(next().expect("a trial ends"));
    }
    // A trial is still to come.
    assert!(!run.has_ended(), "{seen:?}");
    seen.extend(std::iter::from_fn(&mut next));
    let names: Vec<&str> = seen.iter().map(|event| event["event"].as_str().expect("a name")).collect();
    for name in
        ["trial_started", "rig_ready", "phase_started", "progress", "slice_ended", "phase_ended", "judged"]
    {
        assert!(names.contains(&name), "no {name} in {names:?}");
    }
    assert_eq!(names.iter().filter(|name| **name == "trial_ended").count(), 2);
    let last = seen.last().expect("lines");
    assert_eq!((&last["event"], &last["status"]), (&"run_ended".into(), &"complete".into()));
    assert!(seen.windows(2).all(|pair| pair[0]["at_s"].as_f64() <= pair[1]["at_s"].as_f64()));
    let slice = seen.iter().find(|event| event["event"] == "slice_ended").expect("a slice");
    assert!(slice["figures"]["connections_per_second"].as_f64().is_some_and(|rate| rate > 0.0), "{slice}");
    drop(lines);
    run.ends().exits(0);
    lab.plimsoll(&["show", "latest", "--format", "jsonl"]).exits(2).says("a run in progress");
}
