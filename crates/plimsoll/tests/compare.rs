//! `plimsoll compare` and `plimsoll bisect` from outside.
//!
//! Figures that the commands print follow from a counter in a file, so that they are noisy and the same every time;
//! only one test depends on time, with a sleep that is several times as long as another.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use assert_cmd::Command;
use serde_json::Value;
use tempfile::TempDir;

/// A folder in which commands run, with their files.
struct Bench {
    folder: TempDir,
}

/// Output of the program, and its exit status.
struct Printed {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

impl Bench {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().expect("there is room for a folder") }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path().join(name), text).expect("the folder can be written to");
    }

    fn plimsoll(&self, args: &[&str]) -> Printed {
        let mut command = Command::cargo_bin("plimsoll").expect("the program was built");
        // The user's own store may be of another version.
        command.current_dir(self.path()).args(args).env("XDG_STATE_HOME", self.path().join("state"));
        let output = command.output().expect("the program can be run");
        Printed {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).expect("results are UTF-8"),
            stderr: String::from_utf8(output.stderr).expect("notes are UTF-8"),
        }
    }

    /// A script that prints `figure=N`: its level, and noise of up to 3 % from a counter that each call moves on.
    fn write_noisy_script(&self) {
        self.write(
            "noisy",
            "n=$(cat count 2>/dev/null || echo 0); n=$((n + 1)); echo $n > count\n\
             echo \"figure=$(($1 * (1000 + (n * 7919 + n * n * 104729) % 61 - 30) / 1000))\"\n",
        );
    }

    fn measured(&self) -> usize {
        let count = std::fs::read_to_string(self.path().join("count")).expect("something was measured");
        count.trim().parse().expect("it is a number")
    }
}

impl Printed {
    fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("{error}: {}{}", self.stdout, self.stderr))
    }

    #[track_caller]
    fn ends_with(&self, code: i32) -> &Self {
        assert_eq!(self.code, Some(code), "{}{}", self.stdout, self.stderr);
        self
    }

    #[track_caller]
    fn complains(&self, text: &str) -> &Self {
        assert!(self.stderr.contains(text), "expected `{text}` in: {}", self.stderr);
        self
    }
}

const FIGURE: [&str; 2] = ["--figure", "figure=([0-9]+)"];

fn with_figure<'a>(args: &[&'a str]) -> Vec<&'a str> {
    [&["compare"], FIGURE.as_slice(), args].concat()
}

#[test]
fn a_command_is_the_same_as_itself() {
    let bench = Bench::new();
    bench.write_noisy_script();
    let same = "sh noisy 100000";
    let output = bench.plimsoll(&with_figure(&[
        "--a", same, "--b", same, "--seed", "1", "--margin", "2%", "--format", "json",
    ]));
    let verdict = output.ends_with(0).json();
    assert_eq!(verdict["outcome"], "same");
    assert_eq!(verdict["schema"], "plimsoll.verdict/1");
    assert_eq!(verdict["claim"], "difference");
    let pairs = verdict["pairs"].as_array().unwrap();
    assert_eq!(pairs.len(), verdict["n"].as_u64().unwrap() as usize);
    assert!(pairs.len() < 500, "it stops when the answer is known");
    let firsts: Vec<&Value> = pairs.iter().map(|pair| &pair["first"]).collect();
    assert!(firsts.contains(&&Value::from("a")) && firsts.contains(&&Value::from("b")), "{firsts:?}");
}

#[test]
fn five_percent_are_found_through_three_percent_of_noise_and_the_answer_comes_first() {
    let bench = Bench::new();
    bench.write_noisy_script();
    let output =
        bench.plimsoll(&with_figure(&["--a", "sh noisy 100000", "--b", "sh noisy 105000", "--seed", "1"]));
    output.ends_with(1);
    let first = output.stdout.lines().next().unwrap();
    assert!(
        first.starts_with("B is ") && first.contains(" % higher, which is worse (95 % interval +"),
        "{first}"
    );
    assert!(first.contains(" pairs."), "{first}");
    assert_eq!(output.stderr, "", "there is no terminal for progress");
}

#[test]
fn a_higher_figure_is_better_with_the_option() {
    let bench = Bench::new();
    bench.write_noisy_script();
    let output = bench.plimsoll(&with_figure(&[
        "--a",
        "sh noisy 100000",
        "--b",
        "sh noisy 120000",
        "--higher-is-better",
        "--format",
        "json",
    ]));
    let verdict = output.ends_with(0).json();
    assert_eq!(verdict["outcome"], "faster");
    assert!(verdict["estimate"].as_f64().unwrap() > 1.1);
}

#[test]
fn a_sleep_that_is_five_times_as_long_is_found_in_few_pairs() {
    let output =
        Bench::new().plimsoll(&["compare", "--a", "sleep 0.02", "--b", "sleep 0.1", "--format", "json"]);
    let verdict = output.ends_with(1).json();
    assert_eq!(verdict["metric"], "wall_time");
    assert_eq!(verdict["outcome"], "slower");
    assert!(verdict["n"].as_u64().unwrap() <= 20, "{verdict}");
    assert!(verdict["estimate"].as_f64().unwrap() > 2.0, "{verdict}");
}

#[test]
fn two_command_lines_are_enough_and_the_times_of_both_are_printed() {
    let output = Bench::new().plimsoll(&[
        "compare",
        "sleep 0.02",
        "sh -c 'i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done'",
    ]);
    output.ends_with(1);
    let times: Vec<&str> =
        output.stdout.lines().filter(|line| line.trim_start().starts_with("wall ")).collect();
    assert_eq!(times.len(), 2, "{}", output.stdout);
    assert!(times.iter().all(|line| line.contains(", user ") && line.contains(", system ")), "{times:?}");
    let report = Bench::new()
        .plimsoll(&[
            "compare",
            "sleep 0.02",
            "sh -c 'i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done'",
            "--format",
            "json",
        ])
        .json();
    let seconds = |cell: usize, name: &str| report["cells"][cell][name].as_f64().expect("a time");
    assert!(seconds(0, "wall_s") >= 0.02 && seconds(0, "user_s") < 0.01, "a sleeper uses no CPU: {report}");
    // The loop does nothing but count: its wall time is its own CPU time and what it waited for CPUs.
    assert!(
        seconds(1, "user_s") > seconds(1, "system_s") && seconds(1, "user_s") <= seconds(1, "wall_s"),
        "{report}"
    );
    Bench::new()
        .plimsoll(&["compare", "latest", "no-such-run"])
        .ends_with(2)
        .complains("no run and no baseline");
}

#[test]
fn what_stays_undecided_ends_with_the_command_that_decides_it() {
    let bench = Bench::new();
    bench.write_noisy_script();
    let output = bench.plimsoll(&with_figure(&[
        "--a",
        "sh noisy 100000",
        "--b",
        "sh noisy 101000",
        "--seed",
        "1",
        "--max-pairs",
        "8",
    ]));
    output.ends_with(4);
    // The figures scatter by 3 %: more than ten times the pairs would be needed for 1 %.
    let last = output.stdout.lines().last().unwrap_or_default();
    assert!(last.starts_with("To decide it: plimsoll compare ") && last.ends_with(" --margin 4%"), "{last}");
}

#[test]
fn memory_is_that_of_each_command_and_not_of_the_largest_so_far() {
    let hungry = |megabytes: usize| format!("dd if=/dev/zero of=/dev/null bs={megabytes}M count=1");
    let (much, more) = (hungry(128), hungry(64));
    let output = Bench::new()
        .plimsoll(&["compare", "--metric", "memory", "--a", &much, "--b", &more, "--format", "json"]);
    let verdict = output.ends_with(0).json();
    assert_eq!(verdict["outcome"], "faster");
    let ratio = verdict["estimate"].as_f64().unwrap();
    assert!((0.45..0.65).contains(&ratio), "{ratio}");
}

#[test]
fn memory_below_that_of_the_program_itself_is_not_made_up() {
    Bench::new()
        .plimsoll(&["compare", "--metric", "memory", "--a", "true", "--b", "true"])
        .ends_with(3)
        .complains("the peak memory of `true` cannot be seen");
}

#[test]
fn three_cells_are_each_judged_against_the_first_and_ranked() {
    let bench = Bench::new();
    bench.write_noisy_script();
    let cells = ["--cells", "old=sh noisy 100000", "new=sh noisy 90000", "bad=sh noisy 130000"];
    let args = [with_figure(&cells), vec!["--seed", "2"]].concat();
    let output = bench.plimsoll(&args);
    output.ends_with(1);
    assert!(output.stdout.contains("Best to worst, by estimate: new, old, bad"), "{}", output.stdout);
    let verdicts = bench.plimsoll(&[args, vec!["--format", "json"]].concat()).json();
    assert_eq!(verdicts["schema"], "plimsoll.compare/1");
    let outcomes: Vec<&str> = verdicts["verdicts"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|verdict| verdict["outcome"].as_str())
        .collect();
    assert_eq!(outcomes, ["faster", "slower"]);
    assert_eq!(verdicts["ranking"].as_array().unwrap().len(), 3);
    let block = &verdicts["blocks"][0];
    assert_eq!(block["order"].as_array().unwrap().len(), 3);
    assert!(block["values"]["bad"].as_f64().unwrap() > 100_000.0);
}

#[test]
fn the_same_seed_gives_the_same_order() {
    let order = |seed: &str| {
        let bench = Bench::new();
        bench.write_noisy_script();
        let same = [
            "--a",
            "sh noisy 100",
            "--b",
            "sh noisy 200",
            "--min-pairs",
            "20",
            "--seed",
            seed,
            "--format",
            "json",
        ];
        bench.plimsoll(&with_figure(&same)).json()["pairs"].clone()
    };
    assert_eq!(order("5"), order("5"));
    assert_ne!(order("5"), order("6"));
}

#[test]
fn what_sets_up_runs_once_and_what_prepares_runs_before_every_command() {
    let bench = Bench::new();
    let output = bench.plimsoll(&[
        "compare",
        FIGURE[0],
        FIGURE[1],
        "--a",
        "echo figure=5",
        "--b",
        "echo figure=5",
        "--max-pairs",
        "8",
        "--warm-up",
        "2",
        "--setup",
        "echo s >> setup",
        "--prepare",
        "echo p >> prepare",
    ]);
    output.ends_with(0);
    let lines = |name: &str| std::fs::read_to_string(bench.path().join(name)).unwrap().lines().count();
    assert_eq!(lines("setup"), 1);
    assert_eq!(lines("prepare"), 2 * (2 + 8));
}

#[test]
fn a_command_that_fails_stops_it_with_its_last_words() {
    let bench = Bench::new();
    let args = ["compare", "--a", "true", "--b", "echo no more room >&2; exit 3"];
    bench
        .plimsoll(&args)
        .ends_with(3)
        .complains("`echo no more room >&2; exit 3` failed: exit status: 3")
        .complains("\n    no more room")
        .complains("--ignore-failure");
    let args = with_figure(&["--a", "echo figure=5", "--b", "echo figure=5; exit 3", "--max-pairs", "8"]);
    bench.plimsoll(&args).ends_with(3).complains("failed: exit status: 3");
    bench.plimsoll(&[args.as_slice(), &["--ignore-failure"]].concat()).ends_with(0);
}

#[test]
fn a_missing_figure_is_reported_with_what_was_printed() {
    let output = Bench::new().plimsoll(&with_figure(&["--a", "echo speed: 5", "--b", "echo speed: 5"]));
    output.ends_with(3).complains("printed nothing that matches `figure=([0-9]+)`").complains("    speed: 5");
}

#[test]
fn bad_usage_has_another_exit_status_than_a_failed_command() {
    let bench = Bench::new();
    let usage = |args: &[&str], text: &str| {
        bench.plimsoll(&[&["compare"], args].concat()).ends_with(2).complains(text);
    };
    usage(&[], "required arguments were not provided");
    usage(&["--a", "true"], "--b <COMMAND>");
    usage(&["--a", "true", "--b", " "], "the command of B is empty");
    usage(&["--cells", "one=true"], "expected two commands or more");
    usage(&["--cells", "x=true", "x=false"], "two commands are called `x`");
    usage(&["--cells", "true", "false"], "expected NAME=COMMAND");
    usage(&["--a", "true", "--b", "true", "--figure", "("], "unclosed group");
    usage(&["--a", "true", "--b", "true", "--figure", "[0-9]+"], "a group around the number");
    usage(
        &["--a", "true", "--b", "true", "--min-pairs", "50", "--max-pairs", "20"],
        "no less than --min-pairs",
    );
    usage(&["--a", "true", "--b", "true", "--margin", "much"], "a share from 0 to 1");
}

/// Sixteen versions, of which the eleventh brought 10 %.
fn sixteen_versions() -> Bench {
    let bench = Bench::new();
    bench.write_noisy_script();
    bench.write("versions", &(1..=16).map(|n| format!("v{n}\n")).collect::<String>());
    bench.write(
        "measure",
        "version=${1#v}; if [ \"$version\" -ge 11 ]; then exec sh noisy 110000; else exec sh noisy 100000; fi\n",
    );
    bench
}

const BISECT: [&str; 9] =
    ["bisect", "--versions", "versions", "--seed", "4", "--warm-up", "0", "--figure", "figure=([0-9]+)"];
const MEASURE: [&str; 4] = ["--", "sh", "measure", "{}"];

#[test]
fn the_version_that_brought_a_tenth_is_found_through_noise_and_confirmed() {
    let bench = sixteen_versions();
    let output = bench.plimsoll(&[BISECT.as_slice(), &["--format", "json"], &MEASURE].concat());
    let found = output.ends_with(0).json();
    assert_eq!(found["schema"], "plimsoll.bisect/1");
    assert_eq!(found["outcome"], "changed");
    assert_eq!(found["culprit"]["version"], "v11");
    assert_eq!(found["culprit"]["before"], "v10");
    assert_eq!(found["confirmation"]["outcome"], "slower");
    let step = found["estimate"].as_f64().unwrap();
    assert!((7_000.0..13_000.0).contains(&step), "{step}");
    let measurements = found["measurements"].as_array().unwrap().len();
    assert_eq!(bench.measured(), measurements + 2 * found["pairs"].as_array().unwrap().len());
    let lines = output.stderr.lines().filter(|line| line.contains("90 % in"));
    let numbers: Vec<usize> =
        lines.map(|line| line.split_whitespace().next().unwrap().parse().unwrap()).collect();
    assert!(numbers.starts_with(&[1, 2, 3, 4]), "the first measurements have a line each: {}", output.stderr);
    assert!(numbers.is_sorted() && numbers.last() <= Some(&measurements), "{}", output.stderr);
}

#[test]
fn a_bisection_goes_on_from_its_state_without_measuring_again() {
    let bench = sixteen_versions();
    let kept = |most: &str| {
        let args = [
            BISECT.as_slice(),
            &["--format", "json", "--state", "state.json", "--max-measurements", most],
            &MEASURE,
        ];
        bench.plimsoll(&args.concat())
    };
    let cut_short = kept("7");
    cut_short.ends_with(4);
    assert_eq!(cut_short.json()["outcome"], "undecided");
    assert_eq!(bench.measured(), 7);
    let found = kept("500");
    found.ends_with(0).complains("continuing after 7 measurements");
    assert_eq!(found.json()["culprit"]["version"], "v11");
    let before = bench.measured();
    assert_eq!(kept("500").ends_with(0).json()["culprit"], found.json()["culprit"]);
    assert_eq!(bench.measured(), before, "everything was known already");
    bench
        .plimsoll(&["bisect", "--versions", "versions", "--state", "state.json", "--", "sh", "other", "{}"])
        .ends_with(2)
        .complains("another command (`sh measure {}`)");
}

#[test]
fn a_version_that_cannot_be_measured_stops_the_search_and_keeps_what_was_measured() {
    let bench = sixteen_versions();
    bench
        .write("measure", "[ \"$1\" = v16 ] && { echo does not build >&2; exit 9; }\nexec sh noisy 100000\n");
    let output = bench.plimsoll(&[BISECT.as_slice(), &["--state", "state.json"], &MEASURE].concat());
    output.ends_with(3).complains("does not build").complains("--state state.json");
    assert!(std::fs::read_to_string(bench.path().join("state.json")).unwrap().contains("\"value\""));
}

#[test]
fn versions_that_end_with_status_125_are_left_out_and_the_answer_spans_them() {
    let bench = sixteen_versions();
    // The change came with v9; v8 and v10 do not run.
    bench.write(
        "measure",
        "n=${1#v}; case $n in 8|10) exit 125;; esac\n[ $n -ge 9 ] && exec sh noisy 130000\nexec sh noisy 100000\n",
    );
    let args = [BISECT.as_slice(), &["--format", "json"], &MEASURE].concat();
    let output = bench.plimsoll(&args);
    let found = output.ends_with(0).json();
    assert_eq!(found["culprit"]["version"], "v9", "{}", output.stdout);
    assert_eq!(found["culprit"]["before"], "v7");
    assert_eq!(found["culprit"]["not_measured"], serde_json::json!(["v8"]));
    output.complains("v8 cannot be measured");
    bench.write("measure", "exit 125\n");
    bench.plimsoll(&args).ends_with(3).complains("exit status: 125");
}

#[test]
fn a_commit_is_found_in_working_trees_that_leave_the_repository_alone() {
    let bench = Bench::new();
    bench.write_noisy_script();
    let script = "set -e; export GIT_CONFIG_GLOBAL=/dev/null; git init -q -b main repo; cd repo; git config user.name t\n\
                  git config user.email t@example.org\n\
                  for n in 1 2 3 4 5 6 7 8 9; do if [ $n -ge 6 ]; then echo 80000 > level; else echo 100000 > level; fi\n\
                  echo $n > n; git add -A; git commit -q -m \"number $n\"; git tag v$n; done\n";
    assert!(
        std::process::Command::new("sh")
            .args(["-c", script])
            .current_dir(bench.path())
            .status()
            .unwrap()
            .success()
    );
    let noisy = format!("cd {}; sh noisy $(cat $OLDPWD/level)", bench.path().display());
    let output = bench.plimsoll(&[
        "bisect",
        "--git",
        "repo",
        "--good",
        "v1",
        "--seed",
        "4",
        "--figure",
        "figure=([0-9]+)",
        "--setup",
        "cp n built",
        "--prepare",
        "test -e built",
        "--",
        &noisy,
    ]);
    output.ends_with(0);
    assert!(output.stdout.contains("number 6") && output.stdout.contains("number 5"), "{}", output.stdout);
    assert!(output.stdout.contains(" % lower than "), "{}", output.stdout);
    let worktrees = std::process::Command::new("git")
        .args(["-C", "repo", "worktree", "list"])
        .current_dir(bench.path())
        .output()
        .expect("git can be run");
    assert_eq!(String::from_utf8_lossy(&worktrees.stdout).lines().count(), 1);
}

#[test]
fn bad_usage_of_bisect_is_refused() {
    let bench = sixteen_versions();
    let usage = |args: &[&str], text: &str| {
        bench.plimsoll(&[&["bisect"], args].concat()).ends_with(2).complains(text);
    };
    usage(&["--good", "v1", "--", "true"], "--versions <FILE>|--git <REPO>");
    usage(&["--versions", "versions"], "COMMAND");
    usage(&["--versions", "versions", "--", "true"], "neither the command nor --prepare has `{}`");
    usage(
        &["--versions", "versions", "--bad", "v99", "--", "true", "{}"],
        "--bad v99: there is no such line",
    );
    usage(&["--versions", "nowhere", "--", "true", "{}"], "cannot read nowhere");
    usage(&["--git", ".", "--good", "v1", "--", "true"], "not a git repository");
    usage(
        &["--versions", "versions", "--confidence", "20%", "--", "true", "{}"],
        "a share between 0.5 and 1",
    );
}

/// Starts the program, waits until `sign` holds, interrupts it as Ctrl-C does, and returns its exit status and output.
fn interrupted(bench: &Bench, args: &[&str], sign: impl Fn() -> bool) -> Printed {
    let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_plimsoll"))
        .current_dir(bench.path())
        .args(args)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program can be run");
    while !sign() {
        assert!(
            child.try_wait().expect("it can be waited for").is_none(),
            "it ended before it was interrupted"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
    let kill = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(kill.expect("kill can be run").success());
    let output = child.wait_with_output().expect("it ends");
    Printed {
        code: output.status.code(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

#[test]
fn an_interrupted_comparison_ends_its_command_and_prints_what_is_known() {
    let bench = Bench::new();
    bench.write(
        "slow",
        "echo x >> ran; n=$(wc -l < ran); [ $n -le 6 ] || { echo $$ > pid; exec sleep 600; }\n",
    );
    let pid = bench.path().join("pid");
    let same = "sh slow";
    let output = interrupted(&bench, &["compare", "--warm-up", "0", "--a", same, "--b", same], || {
        std::fs::read_to_string(&pid).is_ok_and(|pid| pid.ends_with('\n'))
    });
    output.ends_with(130);
    assert!(output.stdout.starts_with("Interrupted. What is known so far:"), "{}", output.stdout);
    assert!(output.stdout.contains(" 3 pairs"), "{}", output.stdout);
    let sleeper = std::fs::read_to_string(&pid).expect("it was written");
    assert!(!Path::new("/proc").join(sleeper.trim()).exists(), "the command was left behind");
}

#[test]
fn an_interrupted_bisection_keeps_what_was_measured_though_no_file_was_named() {
    let bench = sixteen_versions();
    bench.write("measure", "[ -e count ] && [ \"$(cat count)\" -ge 4 ] && { echo > stuck; exec sleep 600; }\nexec sh noisy 100000\n");
    let stuck = bench.path().join("stuck");
    let output = interrupted(&bench, &[BISECT.as_slice(), &MEASURE].concat(), || stuck.exists());
    output.ends_with(130);
    let state =
        output.stderr.lines().find_map(|line| line.split_once("--state ")).expect("it names a file").1;
    let kept: Value = serde_json::from_str(&std::fs::read_to_string(state).expect("the file is there"))
        .expect("it is JSON");
    std::fs::remove_file(state).expect("it can be removed");
    assert_eq!(kept["measurements"].as_array().map(Vec::len), Some(4));
}
