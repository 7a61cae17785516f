//! The action for CI: its script, with files in place of GitHub's, and a program in place of `gh`.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use regex::Regex;

use crate::kept::experiment;
use crate::lab::Lab;

/// The environment that GitHub gives a step of a composite action, and a `gh` that records its arguments. `$PROGRAM` is
/// downloaded; the path has no plimsoll.
const JOB: &str = r#"
mkdir -p temp tools
printf '#!/bin/sh\necho "$@" >>gh.txt\ncat "$5" >>gh.txt\n' >tools/gh
chmod 755 tools/gh
export PATH=$PWD/tools:$PATH RUNNER_TEMP=$PWD/temp
export GITHUB_STEP_SUMMARY=$PWD/summary GITHUB_OUTPUT=$PWD/output GITHUB_PATH=$PWD/path
export BASE BENCH BUILD EXPERIMENT OPTIONS URL SHA256 COMMENT PULL_REQUEST
SHA256=${SHA256-$(sha256sum $PLIMSOLL | cut -d' ' -f1)}
URL=${URL-file://$PLIMSOLL}
exec SCRIPT
"#;

fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The script of a job with these variables.
fn job(variables: &str) -> String {
    let script = project().join("packaging/action.sh").display().to_string();
    format!(
        "BASE= BENCH= BUILD= EXPERIMENT= OPTIONS= COMMENT=false PULL_REQUEST=\n{variables}\n{}",
        JOB.replace("SCRIPT", &script)
    )
}

#[test]
fn a_job_gets_verdict_summary_page_and_comment() {
    let lab = Lab::new();
    let file = |name: &str| fs::read_to_string(lab.path(name)).unwrap_or_default();
    experiment(&lab);
    let variables = "EXPERIMENT=short.toml COMMENT=true PULL_REQUEST=7\nOPTIONS=$(printf '%s\\n' --seed=3 '--note=two words; $(id)' '')";
    lab.script(&job(variables)).exits(0).prints("plimsoll ");
    let summary = file("summary");
    assert!(summary.contains("error_share") || summary.contains("error share"), "{summary}");
    assert!(file("output").starts_with("status=0\nsummary="), "{}", file("output"));
    let output = file("output");
    let page = output.lines().find_map(|line| line.strip_prefix("page=")).expect("a page");
    assert!(fs::read_to_string(page).expect("it is there").contains("<html"));
    let comment = file("gh.txt");
    assert!(comment.starts_with("pr comment 7 --body-file "), "{comment}");
    assert!(comment.ends_with(&summary), "{comment}");
    let runs = lab.plimsoll(&["history", "--format", "json"]).exits(0).json();
    assert_eq!(runs[0]["note"], "two words; $(id)", "options are words, and nothing that a shell reads");
    // A later step finds the program in its PATH.
    assert!(Path::new(file("path").trim()).join("plimsoll").exists());
}

#[test]
fn a_change_is_compared_with_its_base_and_no_name_of_a_commit_reaches_a_shell() {
    let lab = Lab::new();
    let file = |name: &str| fs::read_to_string(lab.path(name)).unwrap_or_default();
    let commit = r#"git add bench && git commit -q -m '$(touch pwned) `touch pwned` </b>'"#;
    let base = "a;touch${IFS}pwned;$(touch${IFS}pwned)";
    let history = format!(
        "set -e; export GIT_CONFIG_GLOBAL=/dev/null; git init -q . && git config user.name t && git config user.email t@example.org
        echo 'echo BenchmarkA 100 100.$(date +%N) ns/op' >bench; {commit}; git branch '{base}'
        echo 'echo BenchmarkA 100 120.$(date +%N) ns/op' >bench; {commit}"
    );
    lab.script(&history).exits(0);
    let variables = format!(
        "BASE='{base}' BENCH='sh bench' BUILD=true COMMENT=true PULL_REQUEST=7 OPTIONS=--builds=$PWD/builds"
    );
    lab.script(&job(&variables)).exits(0);
    assert!(file("output").starts_with("status=1\n"), "{}", file("output"));
    let comment = file("gh.txt");
    let lines: Vec<&str> = comment.lines().skip(1).collect();
    assert!(lines[0].starts_with("**Plimsoll: HEAD ") && lines[0].contains("higher"), "{comment}");
    assert!(lines.len() <= 5 && lines[1].contains("BenchmarkA"), "{comment}");
    assert!(file("summary").contains("| benchmark | base | head |"), "{}", file("summary"));
    assert!(!lab.path("pwned").exists());
    let output = file("output");
    let page = output.lines().find_map(|line| line.strip_prefix("page=")).expect("a page");
    assert!(fs::read_to_string(page).expect("it is there").contains("BenchmarkA"));
    lab.script(&job("BENCH=true BASE=--build=touch${IFS}pwned")).exits(2).prints("needs the input base");
}

#[test]
fn a_base_that_a_shallow_checkout_lacks_is_fetched_whatever_names_it() {
    let lab = Lab::new();
    let history = r#"set -e; export GIT_CONFIG_GLOBAL=/dev/null; git init -q -b main origin; cd origin
        git config user.name t; git config user.email t@example.org
        for n in 1 2 3 4; do
            echo '#!/bin/sh' >bench; seq -f '# %g' $n >>bench; chmod 755 bench
            git add bench; git commit -q -m $n; git tag v$n
        done
        git checkout -q -b topic v2; echo '# of the topic' >>bench; git commit -q -a -m topic"#;
    lab.script(history).exits(0);
    lab.script("mkdir tools && ln -s $PLIMSOLL tools/plimsoll").exits(0);
    let output = lab.script("cd origin; git rev-parse v1; git rev-parse --short v1").exits(0);
    let hashes: Vec<&str> = output.stdout.split_whitespace().collect();
    let bases = [
        "main",
        "origin/main",
        "refs/heads/main",
        "v1",
        "v4",
        "HEAD~1",
        "HEAD~2",
        "main~2",
        hashes[0],
        hashes[1],
    ];
    let job = job("URL= SHA256= BENCH=./bench OPTIONS=$(printf '%s\\n' --metric=size --builds=$HOME/builds) BASE=$GIVEN")
        .replace("exec ", "cd checkout\nexec ");
    for depth in ["--depth=1", "--depth=2", ""] {
        for base in bases {
            let clone = format!(
                "rm -rf checkout output summary; git clone -q {depth} --single-branch -b topic file://$PWD/origin checkout\nexport HOME=$PWD GIVEN='{base}'\n{job}"
            );
            lab.script(&clone).exits(0);
            let output = fs::read_to_string(lab.path("output")).unwrap_or_default();
            let summary = fs::read_to_string(lab.path("summary")).unwrap_or_default();
            assert!(output.starts_with("status=1\n"), "{depth} {base}: {output}{summary}");
            assert!(summary.contains("**Plimsoll: HEAD "), "{depth} {base}: {summary}");
        }
    }
    let missing = format!("cd checkout; export GIVEN=nothing; cd ..\n{job}");
    lab.script(&missing).exits(2).prints("nothing is no revision of this checkout").prints("fetch-depth: 0");
}

#[test]
fn a_job_learns_that_a_claim_fails_and_that_nothing_could_be_run() {
    let lab = Lab::new();
    let file = |name: &str| fs::read_to_string(lab.path(name)).unwrap_or_default();
    let holds = fs::read_to_string(experiment(&lab)).expect("it was just written");
    lab.file("short.toml", &holds.replace("below", "above"));
    lab.script(&job("EXPERIMENT=short.toml")).exits(0);
    assert!(file("output").starts_with("status=1\n"), "{}", file("output"));
    assert!(!lab.path("gh.txt").exists(), "no comment was asked for");
    fs::remove_file(lab.path("output")).expect("it is there");
    lab.script(&job("EXPERIMENT=--seed=1 COMMENT=true")).exits(0).prints("no pull request").says("--seed=1");
    assert!(file("output").starts_with("status=2\n"), "{}", file("output"));
    assert!(!file("output").contains("page="), "the page of the run before is no page of this one");
    assert!(
        file("summary").contains("came to no verdict on `--seed=1` (exit status 2)"),
        "{}",
        file("summary")
    );
}

#[test]
fn what_is_not_what_was_promised_is_not_started() {
    let lab = Lab::new();
    let sum = "0".repeat(64);
    lab.script(&job(&format!("EXPERIMENT=short.toml SHA256={sum}"))).exits(2).prints("::error::what file:");
    lab.script(&job("EXPERIMENT=short.toml SHA256=")).exits(2).prints("needs the input sha256");
    lab.script(&job("EXPERIMENT=short.toml URL=")).exits(2).prints("::error::there is no plimsoll");
    assert!(!lab.path("output").exists());
}

#[test]
fn the_scripts_are_in_order_and_the_action_has_the_inputs_that_it_reads() {
    let lab = Lab::new();
    let packaging = project().join("packaging").display().to_string();
    lab.script(&format!("shellcheck {packaging}/*.sh")).exits(0).prints_nothing();
    let action = fs::read_to_string(project().join("action.yml")).expect("it is there");
    let (head, steps) = action.split_once("\nruns:\n").expect("it has steps");
    let inputs = head.split("\noutputs:\n").next().expect("a first part");
    let found = |pattern: &str, text: &str| -> BTreeSet<String> {
        let pattern = Regex::new(pattern).expect("a pattern");
        pattern.captures_iter(text).map(|found| found[1].to_owned()).collect()
    };
    assert_eq!(found(r"(?m)^  (\w+):$", inputs), found(r"inputs\.(\w+)", steps));
    // Each variable that the script reads is set by its step, or by GitHub.
    let script = fs::read_to_string(project().join("packaging/action.sh")).expect("it is there");
    let read = found(r"\$\{?([A-Z][A-Z0-9_]+)", &script);
    let set = found(r"(?m)^        ([A-Z0-9_]+):", steps);
    let missing: Vec<_> =
        read.difference(&set).filter(|name| !name.starts_with("GITHUB_") && *name != "RUNNER_TEMP").collect();
    assert_eq!(missing, ["PATH"]);
}
