//! `plimsoll ab`: a repository whose commits say themselves how slow they are.

use crate::lab::Lab;

/// A benchmark in the words of `go test -bench`: two figures, from a file of the commit, in noise of 1 %.
const BENCH: &str = r#"#!/bin/sh
exec awk -v seed="$(od -An -N3 -tu4 /dev/urandom)" -v a="$(cut -d' ' -f1 built)" -v b="$(cut -d' ' -f2 built)" '
    function noise() { return 1 + 0.01 * (rand() + rand() - 1) }
    BEGIN { srand(seed)
        printf "BenchmarkA-2 \t 100 \t %.3f ns/op\n", a * noise()
        printf "BenchmarkB-2 \t 100 \t %.3f ns/op\n", b * noise() }'
"#;

/// Commits: a change of no speed, one that makes B slower, one that makes A faster, and the way back.
const HISTORY: &str = r#"
set -e
export GIT_CONFIG_GLOBAL=/dev/null
git init -q -b main . && git config user.name t && git config user.email t@example.org
chmod 755 bench && git add bench
commit() { echo "$2" >speeds; echo "$1" >readme; git add speeds readme; git commit -q -m "$1"; git tag "$1"; }
commit start '100 200'
commit words '100 200'
commit slower '100 220'
commit faster '90 220'
commit revert '90 200'
"#;

const BUILD: &str = "test ! -e built && cp speeds built";

fn repository(lab: &Lab) {
    lab.file("bench", BENCH);
    lab.script(HISTORY).exits(0);
}

fn ab(lab: &Lab, base: &str, head: &str, options: &[&str]) -> crate::lab::Printed {
    let (git, builds) = (lab.folder().display().to_string(), lab.path("builds").display().to_string());
    let words = [
        "ab", base, head, "--git", &git, "--builds", &builds, "--build", BUILD, "--seed", "1", "--budget",
        "20s",
    ];
    lab.plimsoll(&[&words[..], options, &["--", "./bench"]].concat())
}

#[test]
fn every_commit_gets_its_verdict_and_is_built_once() {
    let lab = Lab::new();
    repository(&lab);
    let gated = |base: &str, head: &str| ab(&lab, base, head, &["--format", "json"]);
    let outcomes = |output: &crate::lab::Printed| -> Vec<String> {
        let benchmarks = output.json()["benchmarks"].as_array().cloned().unwrap_or_default();
        benchmarks
            .iter()
            .map(|one| format!("{} {}", one["benchmark"], one["verdict"]["outcome"]).replace('"', ""))
            .collect()
    };
    let same = gated("start", "words").exits(0);
    assert_eq!(outcomes(&same), ["BenchmarkA-2 same", "BenchmarkB-2 same"]);
    assert_eq!(same.json()["blocks"], 0, "only the readme differs, which the benchmark does not read");
    ab(&lab, "start", "words", &["--format", "markdown"]).exits(0).prints("identical programs");
    // A second build of `words` would fail: there is a `built` in its folder.
    let slower = gated("words", "slower").exits(1);
    assert_eq!(outcomes(&slower), ["BenchmarkA-2 same", "BenchmarkB-2 slower"]);
    let ratio = slower.json()["benchmarks"][1]["verdict"]["estimate"].as_f64().unwrap_or_default();
    assert!((ratio - 1.1).abs() < 0.01, "{ratio}");
    assert_eq!(outcomes(&gated("slower", "faster").exits(0)), ["BenchmarkA-2 faster", "BenchmarkB-2 same"]);
    assert_eq!(outcomes(&gated("faster", "revert").exits(0)), ["BenchmarkA-2 same", "BenchmarkB-2 faster"]);
}

#[test]
fn a_comment_has_five_lines_at_most_and_shows_no_markup_of_a_benchmark() {
    let lab = Lab::new();
    repository(&lab);
    let output = ab(&lab, "start", "slower", &["--format", "markdown"]).exits(1);
    let output =
        output.prints("**Plimsoll: slower").prints("- BenchmarkB-2 +").prints("| benchmark | base | head |");
    drop(output);
    let (a, b) = (lab.path("a").display().to_string(), lab.path("b").display().to_string());
    lab.script("mkdir a b && cp bench a && sed 's/BenchmarkA/Benchmark<b>|A/' bench >b/bench && chmod 755 b/bench && echo '1 2' | tee a/built >b/built").exits(0);
    let output = lab.plimsoll(&["ab", &a, &b, "--budget", "20s", "--", "./bench"]).exits(0);
    output.prints("Only").prints("has Benchmark<b>|A-2").prints("is the same as");
}

#[test]
fn the_commit_behind_a_change_is_found_by_the_same_command() {
    let lab = Lab::new();
    repository(&lab);
    let output = ab(&lab, "start", "faster", &["--figure", r"B-2\s+100\s+([0-9.]+)", "--bisect"]);
    output.exits(1).prints("10.").prints("slower");
    let refused = ab(&lab, "start", "faster", &["--bisect"]);
    refused.exits(2).says("--bisect follows one figure");
}

#[test]
fn ratios_that_are_recorded_have_a_history() {
    let lab = Lab::new();
    repository(&lab);
    for _ in 0..2 {
        ab(&lab, "start", "slower", &["--record", "main", "--format", "json"]).exits(1);
    }
    let history = lab.plimsoll(&["history", "main", "--changes", "--format", "json"]).exits(0).json();
    assert_eq!(history[1]["figure"], "BenchmarkB-2: time", "{history}");
    let ratio = history[1]["runs"][1]["value"].as_f64().unwrap_or_default();
    assert!((ratio - 1.1).abs() < 0.01, "{history}");
    lab.plimsoll(&["history", "main"]).exits(0).prints("slower, against start").prints("main: slower, same");
    lab.plimsoll(&["show", "latest"]).exits(0).prints("base");
}

#[test]
fn cpu_time_of_a_benchmark_is_read_beside_its_real_time_and_judged_on_request() {
    let lab = Lab::new();
    // The columns of Google Benchmark's console, in noise of 0.1 %. Only the CPU time of the second differs.
    for (name, cpu) in [("base", 50), ("head", 60)] {
        lab.file(
            name,
            &format!(
                r#"#!/bin/sh
exec awk -v seed="$(od -An -N3 -tu4 /dev/urandom)" 'function noise() {{ return 1 + 0.001 * (rand() + rand() - 1) }}
    BEGIN {{ srand(seed)
        print "Benchmark             Time             CPU   Iterations"
        printf "BM_A           %.3f ns     %.3f ns         1000\n", 100 * noise(), 90 * noise()
        printf "BM_B           %.3f ns     %.3f ns         1000\n", 100 * noise(), {cpu} * noise() }}'
"#
            ),
        );
    }
    lab.script("chmod 755 base head").exits(0);
    let [base, head] = ["base", "head"].map(|name| lab.path(name).display().to_string());
    let ab = |options: &[&str]| {
        lab.plimsoll(&[&["ab", &base, &head, "--budget", "20s"], options, &["--", "{}"]].concat())
    };
    ab(&[]).exits(0).prints("is the same in all 2 benchmarks").prints("Not judged: cpu time +");
    let output = ab(&["--metric", "cpu", "--format", "json"]).exits(1).json();
    let benchmarks = output["benchmarks"].as_array().cloned().unwrap_or_default();
    let outcomes: Vec<String> = benchmarks
        .iter()
        .map(|one| format!("{} {}", one["verdict"]["metric"], one["verdict"]["outcome"]).replace('"', ""))
        .collect();
    assert_eq!(outcomes, ["cpu_time same", "cpu_time slower"], "{output}");
}

#[test]
fn a_real_difference_below_the_margin_is_named_and_fails_no_gate() {
    let lab = Lab::new();
    let program = |name: &str, figure: &str| lab.file(name, &format!("#!/bin/sh\necho took {figure} ms\n"));
    let (base, head) = (program("base", "100.0"), program("head", "100.5"));
    // Eight pairs with equal signs show a difference at 2 %, and a size below the margin.
    let ab = |options: &[&str]| {
        let words = ["ab", &base, &head, "--figure", "took ([0-9.]+) ms", "--alpha", "2%", "--budget", "60s"];
        lab.plimsoll(&[&words[..], options, &["--", "{}"]].concat())
    };
    let same = ab(&[]).exits(0).prints("is the same as").prints("A difference below the margin of 1 %:");
    same.prints("+0.5 %");
    let same = ab(&["--format", "json"]).exits(0).json();
    assert_eq!(same["benchmarks"][0]["below_margin"], true, "{same}");
    ab(&["--format", "markdown"]).exits(0).prints("A difference below the margin of 1 %:");
    let slower = ab(&["--margin", "0.2%", "--format", "json"]).exits(1).json();
    assert_eq!(slower["benchmarks"][0]["below_margin"], false, "{slower}");
    ab(&["--detect", "1%"]).exits(2).says("--detect must be larger than --margin");
}

#[test]
fn a_shallow_clone_says_what_it_lacks_and_takes_what_is_fetched_later() {
    let lab = Lab::new();
    repository(&lab);
    lab.script("git clone -q --depth=1 file://$PWD shallow").exits(0);
    let (git, builds) = (lab.path("shallow").display().to_string(), lab.path("builds").display().to_string());
    let ab = |base: &str| {
        let words =
            ["ab", base, "HEAD", "--git", &git, "--builds", &builds, "--build", BUILD, "--budget", "60s"];
        lab.plimsoll(
            &[&words[..], &["--figure", r"B-2\s+100\s+([0-9.]+)", "--bisect", "--", "./bench"]].concat(),
        )
    };
    ab("HEAD").exits(0).prints("identical programs");
    ab("HEAD~1")
        .exits(2)
        .says("HEAD~1 is not a revision")
        .says("git fetch --unshallow")
        .says("fetch-depth: 0");
    lab.script("cd shallow && git fetch -q --depth=1 origin tag start").exits(0);
    ab("start").exits(0).prints("HEAD").prints("is the same as start");
    lab.script("cd shallow && git fetch -q --depth=1 origin tag faster && git checkout -q faster").exits(0);
    ab("start").exits(2).prints("slower").says("start is no ancestor").says("git fetch --unshallow");
    lab.script("cd shallow && git fetch -q --unshallow").exits(0);
    ab("start").exits(1).prints("slower");
    lab.script("git -C shallow checkout -q -b work && git branch topic start && git -C shallow fetch -q origin '+refs/heads/*:refs/remotes/origin/*'")
        .exits(0);
    ab("topic").exits(2).says("origin/topic is a revision");
}

#[test]
fn what_fails_is_named_with_its_version_and_what_helps() {
    let lab = Lab::new();
    repository(&lab);
    let ab = |base: &str, options: &[&str], bench: &str| {
        let (git, builds) = (lab.folder().display().to_string(), lab.path("builds").display().to_string());
        let words = ["ab", base, "words", "--git", &git, "--builds", &builds, "--budget", "2s"];
        lab.plimsoll(&[&words[..], options, &["--", bench]].concat()).exits(3)
    };
    let fails_on_its_own = |output: crate::lab::Printed| {
        assert!(!output.stderr.contains("--ignore-failure"), "{}", output.stderr);
    };
    fails_on_its_own(ab("start", &["--build", "echo lost; exit 4"], "./bench").says("start (").says("lost"));
    fails_on_its_own(
        ab("start", &["--prepare", "exit 4"], "./bench").says("start (").says("`exit 4` failed"),
    );
    fails_on_its_own(ab("start", &[], "./built").says("try: --build COMMAND"));
    fails_on_its_own(ab("start", &[], "no-such-program 1 | cat >&2; exit 127").says("try: --build COMMAND"));
    ab("slower", &["--build", BUILD], "grep -q 220 built && exit 4; ./bench")
        .says("slower (")
        .says("--ignore-failure");
    ab("slower", &["--figure", "no ([0-9]+)"], "echo 1")
        .says("slower (")
        .says("printed nothing that matches");
    let program = lab.path("bench").display().to_string();
    let git = lab.folder().display().to_string();
    lab.plimsoll(&["ab", &program, "words", "--git", &git, "--", "{}"]).exits(2).says("write `{}/PROGRAM`");
    lab.script("echo changed >readme").exits(0);
    lab.plimsoll(&["ab", "HEAD", "HEAD", "--git", &git, "--builds", &git, "--", "true"])
        .exits(0)
        .says("without the changes that are not committed")
        .prints("identical programs");
}

#[test]
fn what_is_no_version_is_refused_by_name() {
    let lab = Lab::new();
    repository(&lab);
    ab(&lab, "v9", "start", &[]).exits(2).says("v9 is not a revision, a folder or a program");
    ab(&lab, "--", "start", &[]).exits(2);
    let program = lab.path("bench").display().to_string();
    lab.plimsoll(&["ab", &program, &program, "--", "ls"]).exits(2).says("the command has no `{}`");
    lab.plimsoll(&["ab", &program, &program, "--metric", "figure", "--", "ls", "{}"])
        .exits(2)
        .says("has no figure");
}

#[test]
fn what_a_program_uses_is_counted_without_noise() {
    let lab = Lab::new();
    let (small, large) =
        (lab.file("small", "#!/bin/sh\ntrue\n"), lab.file("large", "#!/bin/sh\ntrue # longer\n"));
    lab.script("chmod 755 small large").exits(0);
    let output =
        lab.plimsoll(&["ab", &small, &large, "--metric", "size", "--format", "json", "--", "{}"]).exits(1);
    let output = output.json();
    assert_eq!(output["benchmarks"][0]["pairs"][0], serde_json::json!([15.0, 24.0]));
}

#[test]
fn builds_that_were_used_longest_ago_make_room() {
    let lab = Lab::new();
    repository(&lab);
    ab(&lab, "start", "words", &["--metric", "size"]);
    ab(&lab, "slower", "words", &["--metric", "size", "--keep", "2"]);
    let kept =
        lab.script("cd builds/*; ls *.built | wc -l; ls -d *-*/ | wc -l; git -C repository tag >/dev/null");
    kept.exits(0).prints("2 2");
    let subjects = lab.script("cat builds/*/*-*/readme").exits(0);
    subjects.prints("slower").prints("words");
}

/// A program that calls `once`, and `extra` if it is the head.
const WORK: &str = "#include <stdlib.h>
static volatile unsigned x;
__attribute__((noinline)) void once(void) { for (int i = 0; i < 3000000; i++) x = x * 3 + 1; }
__attribute__((noinline)) void extra(void) {
    for (int i = 0; i < 1500000; i++)
        x = x * 5 + 1;
}
int main(void) { for (int i = 0; i < AMOUNT; i++) free(malloc(100)); once(); if (AMOUNT > 100) extra(); return 0; }
";

/// Two builds of it.
fn builds(lab: &Lab) -> [String; 2] {
    lab.file("work.c", WORK);
    lab.script("cc -g -O0 -DAMOUNT=100 -o base work.c && cc -g -O0 -DAMOUNT=130 -o head work.c").exits(0);
    ["base", "head"].map(|name| lab.path(name).display().to_string())
}

#[test]
fn a_slower_program_is_reported_with_the_function_and_the_line() {
    let lab = Lab::new();
    let [base, head] = builds(&lab);
    let page = lab.path("page.html").display().to_string();
    let words = ["ab", &base, &head, "--budget", "30s", "--html", &page, "--format", "json", "--", "{}"];
    let output = lab.plimsoll(&words).exits(1).json();
    let function = &output["why"]["functions"][0];
    assert_eq!(function["function"], "extra", "{output}");
    let callers = function["called_by"].as_array().cloned().unwrap_or_default();
    assert_eq!(callers.last(), Some(&"main".into()), "{output}");
    let (file, line) = (&function["lines"][0]["file"], function["lines"][0]["line"].as_u64());
    assert!(file.as_str().is_some_and(|file| file.ends_with("work.c")), "{output}");
    assert!(matches!(line, Some(5 | 6)), "{output}");
    let share = function["after_us"].as_f64().unwrap_or_default()
        / output["why"]["narrowest"]["after_us"].as_f64().unwrap_or(1.0);
    assert!(share > 0.9, "the narrowest function is the one that is new: {output}");
    let page = std::fs::read_to_string(page).expect("the page");
    for part in ["<h2>Verdicts</h2>", "extra", "work.c:", "plimsoll ab"] {
        assert!(page.contains(part), "{part}");
    }
    let output = lab.plimsoll(&["ab", &base, &head, "--budget", "30s", "--", "{}"]).exits(1);
    output.prints("of the added CPU time is in extra").prints("work.c:");
    let output = lab.plimsoll(&["ab", &base, &head, "--budget", "30s", "--no-why", "--", "{}"]).exits(1);
    assert!(!output.stdout.contains("Why"));
}

#[test]
fn allocations_are_counted_exactly() {
    let lab = Lab::new();
    let [base, head] = builds(&lab);
    let words =
        ["ab", &base, &head, "--metric", "allocations", "--budget", "2s", "--format", "json", "--", "{}"];
    // Under Valgrind a few pairs take seconds, and all of them are equal.
    let output = lab.plimsoll(&words).json();
    assert_eq!(output["benchmarks"][0]["pairs"][0], serde_json::json!([100.0, 130.0]));
    assert!(output["why"].is_null(), "allocations are no CPU time");
}

#[test]
fn an_image_is_a_name_in_the_command() {
    let lab = Lab::new();
    let runtime = lab
        .file("runtime", "#!/bin/sh\ncase $3 in app:1) echo took 100 ms;; app:2) echo took 120 ms;; esac\n");
    lab.script("chmod 755 runtime").exits(0);
    let words = [
        "ab",
        "image:app:1",
        "image:app:2",
        "--figure",
        "took ([0-9]+) ms",
        "--",
        &runtime,
        "run",
        "--rm",
        "{}",
    ];
    lab.plimsoll(&words).exits(1).prints("image:app:2 is 20.0 % higher");
    lab.plimsoll(&["ab", "image:a", "image:b", "--", "ls"]).exits(2).says("has no `{}`");
}
