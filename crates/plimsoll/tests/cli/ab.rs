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
    let outcomes = |told: &crate::lab::Printed| -> Vec<String> {
        let benchmarks = told.json()["benchmarks"].as_array().cloned().unwrap_or_default();
        benchmarks
            .iter()
            .map(|one| format!("{} {}", one["benchmark"], one["verdict"]["outcome"]).replace('"', ""))
            .collect()
    };
    let same = gated("start", "words").exits(0);
    assert_eq!(outcomes(&same), ["BenchmarkA-2 same", "BenchmarkB-2 same"]);
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
    let told = ab(&lab, "start", "slower", &["--format", "markdown"]).exits(1);
    let told =
        told.prints("**Plimsoll: slower").prints("- BenchmarkB-2 +").prints("| benchmark | base | head |");
    drop(told);
    let (a, b) = (lab.path("a").display().to_string(), lab.path("b").display().to_string());
    lab.script("mkdir a b && cp bench a && sed 's/BenchmarkA/Benchmark<b>|A/' bench >b/bench && chmod 755 b/bench && echo '1 2' | tee a/built >b/built").exits(0);
    let told = lab.plimsoll(&["ab", &a, &b, "--budget", "20s", "--", "./bench"]).exits(0);
    told.prints("Only").prints("has Benchmark<b>|A-2").prints("is the same as");
}

#[test]
fn the_commit_behind_a_change_is_found_by_the_same_command() {
    let lab = Lab::new();
    repository(&lab);
    let told = ab(&lab, "start", "faster", &["--figure", r"B-2\s+100\s+([0-9.]+)", "--bisect"]);
    told.exits(1).prints("10.").prints("slower");
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
    let told =
        lab.plimsoll(&["ab", &small, &large, "--metric", "size", "--format", "json", "--", "{}"]).exits(1);
    let told = told.json();
    assert_eq!(told["benchmarks"][0]["pairs"][0], serde_json::json!([15.0, 24.0]));
}
