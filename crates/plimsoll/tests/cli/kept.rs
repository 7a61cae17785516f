//! Management of stored runs: tags, notes, baselines, and removal.

use crate::lab::{Lab, Printed};
use crate::stores::SHORT;

/// A short experiment with a claim that holds.
pub(crate) fn experiment(lab: &Lab) -> String {
    let claim = "[[claims]]\nlimit = { metric = \"error_share\", below = \"90 %\" }\n";
    let sliced =
        SHORT.replace("connections = 20", "connections = 300").replace("\nmeasure", "\nslices = 10\nmeasure");
    lab.file("short.toml", &sliced.replace("[run]", &format!("{claim}[run]")))
}

fn id_of(output: &Printed) -> String {
    output.json()["run"].as_str().expect("an id").to_owned()
}

#[test]
fn a_run_is_found_by_what_is_said_of_it() {
    let lab = Lab::new();
    let file = experiment(&lab);
    let labelled = ["run", &file, "--tag", "first", "--note", "before the new disk", "--format", "json"];
    let id = id_of(&lab.plimsoll(&labelled).exits(0));
    lab.plimsoll(&["run", &file, "--quiet"]).exits(0).says_nothing();
    let verbose = lab
        .plimsoll(&["run", &file, "-v"])
        .exits(0)
        .says("host server is up after ")
        .says("all hosts are gone after ");
    assert!(!verbose.stderr.contains('\u{1b}'), "{}", verbose.stderr);
    let listed = lab.plimsoll(&["history", "--tag", "first"]).exits(0);
    listed.prints(&id).prints("short: held #first").prints("before the new disk").says("1 run with");
    lab.plimsoll(&["history", "--last", "1"]).exits(0).prints("held").says("of 3 with");
    lab.plimsoll(&["tag", &id, "second", "--remove", "first", "--note", "after it"]).exits(0);
    lab.plimsoll(&["history", "--tag", "first"]).exits(0).prints_nothing();
    let listed = lab.plimsoll(&["history", "--tag", "second", "--format", "json"]).exits(0).json();
    assert_eq!((&listed[0]["note"], &listed[0]["tags"][0]), (&"after it".into(), &"second".into()));
    assert_eq!(
        (&listed[0]["outcomes"][0]["claim"], &listed[0]["outcomes"][0]["holds"]),
        (&"limit".into(), &true.into())
    );
    lab.plimsoll(&["tag", &id, "two words"]).exits(2).says("letters, digits");
}

#[test]
fn what_a_process_of_the_programs_own_cannot_do_is_a_plain_line_on_stderr() {
    let output = Lab::new().plimsoll_reading(&["agent", "load"], "{").exits(2);
    output.prints_nothing().says("the load's specification cannot be read: EOF");
    let output = Lab::new().plimsoll_reading(&["agent", "exec"], "{").exits(2);
    output.prints_nothing().says("the program's specification cannot be read: EOF");
}

#[test]
fn a_baseline_stands_for_its_run_until_it_is_forgotten() {
    let lab = Lab::new();
    let file = experiment(&lab);
    lab.plimsoll(&["run", &file, "--against", "release"]).exits(2).says("no run and no baseline `release`");
    let id = id_of(&lab.plimsoll(&["run", &file, "--format", "json"]).exits(0));
    lab.plimsoll(&["baseline", "set", "latest", "release"]).exits(0).says(&id);
    lab.plimsoll(&["baseline", "set", "latest", &id]).exits(2).says("is the id of a run");
    lab.plimsoll(&["baseline", "list"]).exits(0).prints(&format!("release {id} short"));
    lab.plimsoll(&["history"]).exits(0).prints("[baseline release]");
    let json = id_of(&lab.plimsoll(&["show", "release", "--format", "json"]).exits(0));
    assert_eq!(json, id);
    let output = lab.plimsoll(&["run", &file, "--against", "release"]);
    let compared = lab.plimsoll(&["compare", "release", "latest"]);
    assert_eq!(output.code, compared.code, "the claim holds, so the comparison decides");
    output.prints("How fast is it?").prints(&id).prints("were not interleaved");
    lab.plimsoll(&["run", &file, "--against", "release", "--format", "json"])
        .exits(2)
        .says("adds a comparison in text");
    lab.plimsoll(&["rm", "release"]).exits(2).says("is the baseline `release`");
    lab.plimsoll(&["baseline", "rm", "release"]).exits(0);
    lab.plimsoll(&["baseline", "rm", "release"]).exits(2).says("no baseline `release`");
    lab.plimsoll(&["show", "release"]).exits(2);
}

#[test]
fn a_run_that_goes_takes_its_page_along_and_leaves_the_others() {
    let lab = Lab::new();
    let file = experiment(&lab);
    let ids: Vec<String> =
        (0..4).map(|_| id_of(&lab.plimsoll(&["run", &file, "--format", "json"]).exits(0))).collect();
    let page = |id: &str| lab.path(&format!("state/plimsoll/reports/{id}.html"));
    assert!(page(&ids[0]).exists());
    lab.plimsoll(&["rm", &ids[0], "--dry-run"]).exits(0).says("would remove");
    lab.plimsoll(&["show", &ids[0]]).exits(0);
    lab.plimsoll(&["rm", &ids[0]]).exits(0).says("removed").says("1 run, ");
    lab.plimsoll(&["show", &ids[0]]).exits(2);
    assert!(!page(&ids[0]).exists() && page(&ids[1]).exists());
    lab.plimsoll(&["rm", "nothing-like-it"]).exits(2);
    lab.plimsoll(&["tag", &ids[1], "kept"]).exits(0);
    lab.plimsoll(&["prune", "--keep", "1"]).exits(0).says(&ids[2]).says("1 run, ");
    let left = lab.plimsoll(&["history", "--format", "json"]).exits(0).json();
    let left: Vec<&str> =
        left.as_array().expect("runs").iter().filter_map(|run| run["run"].as_str()).collect();
    assert_eq!(left, [&ids[3], &ids[1]]);
    lab.plimsoll(&["prune", "--keep", "0", "--older-than", "1h"]).exits(0).says("0 runs");
    lab.plimsoll(&["prune"]).exits(2).says("--keep");
}

#[test]
fn shells_and_manuals_get_what_they_read() {
    let lab = Lab::new();
    for shell in ["bash", "zsh", "fish"] {
        lab.plimsoll(&["completions", shell]).exits(0).prints("COMPLETE=").says_nothing();
    }
    let file = experiment(&lab);
    let id = id_of(&lab.plimsoll(&["run", &file, "--format", "json"]).exits(0));
    lab.plimsoll(&["baseline", "set", &id, "release"]).exits(0);
    let completions = lab.file("completions", &lab.plimsoll(&["completions", "bash"]).stdout);
    // As bash does at a tab: the last word is incomplete.
    let offered = |words: &[&str]| {
        let script = format!(
            "PATH=\"$(dirname \"$PLIMSOLL\"):$PATH\"; source {completions}; COMP_WORDS=(plimsoll {}); COMP_CWORD={}; COMP_TYPE=9; \
             COMP_LINE=\"${{COMP_WORDS[*]}}\"; COMP_POINT=${{#COMP_LINE}}; \
             $(complete -p plimsoll | sed 's/.*-F \\([^ ]*\\).*/\\1/') plimsoll \"${{COMP_WORDS[COMP_CWORD]}}\" ''; printf '%s\\n' \"${{COMPREPLY[@]}}\"",
            words.join(" "),
            words.len()
        );
        let file = lab.file("complete.sh", &script);
        lab.script(&format!("bash {file}")).exits(0).stdout
    };
    assert!(offered(&["run", "--audit"]).contains("--audit-probes"));
    let runs = offered(&["show", "''"]);
    assert!(runs.lines().any(|line| line == id), "{runs}");
    assert!(runs.contains("latest") && runs.contains("release"), "{runs}");
    assert_eq!(offered(&["gate", &id[..5]]).trim(), id);
    assert_eq!(offered(&["run", "--against", "rel"]).trim(), "release");
    lab.plimsoll(&["man"]).exits(0).prints(".TH plimsoll 1").prints(".SH RUN").says_nothing();
}

#[test]
fn colours_come_and_go_as_the_options_say() {
    let lab = Lab::new();
    let file = experiment(&lab);
    lab.plimsoll(&["run", &file]).exits(0);
    let coloured = |args: &[&str]| lab.plimsoll(args).exits(0).stdout.contains('\u{1b}');
    assert!(!coloured(&["show"]), "standard output is no terminal");
    assert!(coloured(&["show", "--color", "always"]));
    assert!(coloured(&["--color", "always", "show"]), "wherever the option stands");
    assert!(!coloured(&["show", "--color", "never"]));
}
