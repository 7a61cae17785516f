//! The fault bench: faults are injected over workloads, and what is named as the cause is compared with the truth.
//!
//! `faults/workloads` and `faults/injected` are two halves of experiment files. What the truth is stands in `faults/truth.txt`, which no experiment sees.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

const TRUTH: &str = "faults/truth.txt";
const REPORT: &str = "docs/causes.md";
/// What stands in the truth file for nothing.
const NONE: &str = "-";

/// What is known of an injected fault.
struct Fault<'t> {
    name: &'t str,
    /// The public id of its cause; nothing where nothing is wrong.
    cause: Option<&'t str>,
    /// Further settings of the experiment.
    settings: Vec<&'t str>,
    tuned: Vec<&'t str>,
    held_back: Vec<&'t str>,
}

/// One fault over one workload.
struct Case<'t> {
    fault: &'t Fault<'t>,
    workload: &'t str,
    is_tuned: bool,
    /// The ids of the causes that were named, in their order.
    named: Vec<String>,
    outcome: String,
}

impl Case<'_> {
    /// Whether the run was sure of a difference: without one there is nothing to explain.
    fn made_a_difference(&self) -> bool {
        matches!(self.outcome.as_str(), "slower" | "faster")
    }

    fn is_first(&self) -> bool {
        self.named.first().map(String::as_str) == self.fault.cause
    }

    fn is_among_three(&self) -> bool {
        match self.fault.cause {
            Some(cause) => self.named.iter().take(3).any(|named| named == cause),
            None => self.named.is_empty(),
        }
    }
}

/// Runs all cases, or those whose fault or workload has this name, and writes the table.
pub(crate) fn run(only: Option<&str>) -> Result<(), String> {
    let program = build()?;
    let text = read(Path::new(TRUTH))?;
    let faults: Vec<Fault<'_>> = text.lines().filter_map(fault).collect();
    let mut cases = Vec::new();
    for fault in &faults {
        let tuned = fault.tuned.iter().map(|workload| (*workload, true));
        let held_back = fault.held_back.iter().map(|workload| (*workload, false));
        for (workload, is_tuned) in tuned.chain(held_back) {
            if only.is_none_or(|only| only == fault.name || only == workload) {
                let (outcome, named) = measure(&program, fault, workload)?;
                println!("{} over {workload}: {outcome}; {}", fault.name, list(&named));
                cases.push(Case { fault, workload, is_tuned, named, outcome });
            }
        }
    }
    let report = report(&cases)?;
    match only {
        Some(_) => print!("{report}"),
        None => fs::write(REPORT, report).map_err(|error| format!("{REPORT}: {error}"))?,
    }
    Ok(())
}

fn fault(line: &str) -> Option<Fault<'_>> {
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    let [name, cause, settings, tuned, held_back] = *words.as_slice() else { return None };
    let is_comment = name.starts_with('#');
    (!is_comment).then(|| Fault {
        name,
        cause: Some(cause).filter(|cause| *cause != NONE),
        settings: listed(settings),
        tuned: listed(tuned),
        held_back: listed(held_back),
    })
}

/// Names with commas between.
fn listed(word: &str) -> Vec<&str> {
    word.split(',').filter(|word| *word != NONE).collect()
}

fn build() -> Result<String, String> {
    crate::shell::cargo(&["build", "--package", "plimsoll"])?;
    Ok("target/debug/plimsoll".to_owned())
}

/// The outcome of a case, and the causes that were named.
fn measure(program: &str, fault: &Fault<'_>, workload: &str) -> Result<(String, Vec<String>), String> {
    let folder = Path::new("target/faults");
    fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let file = folder.join(format!("{}-{workload}.toml", fault.name));
    let experiment = experiment(
        &read(&Path::new("faults/workloads").join(format!("{workload}.toml")))?,
        &read(&Path::new("faults/injected").join(format!("{}.toml", fault.name)))?,
    )?;
    fs::write(&file, experiment).map_err(|error| format!("{}: {error}", file.display()))?;
    let mut command = Command::new(program);
    command.arg("run").arg(&file).args(["--yes", "--format", "json", "--store", "target/faults/runs.sqlite"]);
    command.args(fault.settings.iter().flat_map(|setting| ["--set", setting]));
    let output = command.output().map_err(|error| format!("{program}: {error}"))?;
    let report: Value = serde_json::from_slice(&output.stdout).map_err(|_| {
        format!("{} over {workload}: {}", fault.name, String::from_utf8_lossy(&output.stderr))
    })?;
    let outcome = report["verdicts"][0]["outcome"].as_str().unwrap_or("none").to_owned();
    let causes = report["causes"].as_array().map_or(&[][..], Vec::as_slice);
    let named = causes.iter().filter_map(|cause| Some(cause["id"].as_str()?.to_owned())).collect();
    Ok((outcome, named))
}

/// The two halves as one experiment file. A workload says in comments what its metric is, and by which path its backlog is set.
fn experiment(workload: &str, injected: &str) -> Result<String, String> {
    let said = |what: &str| {
        workload.lines().find_map(|line| line.strip_prefix("# ")?.strip_prefix(what)?.strip_prefix(": "))
    };
    let metric = said("metric").ok_or("a workload does not say its metric")?;
    let injected = match said("backlog") {
        Some(path) => injected.replace("BACKLOG", path),
        None if injected.contains("BACKLOG") => return Err("this workload has no backlog".into()),
        None => injected.to_owned(),
    };
    Ok(format!(
        "{workload}{injected}[[claims]]\ndifference = {{ phase = \"work\", factor = \"release\", metric = \"{metric}\", expect = \"any\" }}\n"
    ))
}

fn report(cases: &[Case<'_>]) -> Result<String, String> {
    let mut out = String::from(
        "# Which causes are named\n\nFaults that are injected over workloads, and what `plimsoll run` says is the cause. The truth stands in `faults/truth.txt`, which no experiment\n\
         sees. Where a fault makes no difference that the run is sure of, there is nothing to explain; `invalid` is a\n\
         machine too busy to tell. The explainer was written while those\n\
         over workloads marked *tuned* were looked at. Made by (as root; some 15 minutes on two CPUs):\n\n    cargo xtask faults\n\n",
    );
    let mut write = |line: String| writeln!(out, "{line}").map_err(|error| error.to_string());
    write("| fault | cause | workload | | outcome | named |".to_owned())?;
    write("| --- | --- | --- | --- | --- | --- |".to_owned())?;
    for case in cases {
        let right = match (case.is_first(), case.is_among_three()) {
            (true, _) => "right",
            (false, true) => "among three",
            (false, false) if !case.made_a_difference() => "no difference",
            (false, false) => "**missed**",
        };
        write(format!(
            "| {} | {} | {}{} | {right} | {} | {} |",
            case.fault.name,
            case.fault.cause.unwrap_or("none"),
            case.workload,
            if case.is_tuned { " (tuned)" } else { "" },
            case.outcome,
            list(&case.named),
        ))?;
    }
    write(String::new())?;
    write(
        "| workloads | faults | made a difference | right first | among three | unchanged | silent |"
            .to_owned(),
    )?;
    write("| --- | --- | --- | --- | --- | --- | --- |".to_owned())?;
    for (title, is_tuned) in [("held back", false), ("tuned on", true)] {
        let (faults, unchanged): (Vec<&Case<'_>>, Vec<&Case<'_>>) = cases
            .iter()
            .filter(|case| case.is_tuned == is_tuned)
            .partition(|case| case.fault.cause.is_some());
        let differ = faults.iter().filter(|case| case.made_a_difference()).count();
        let first = faults.iter().filter(|case| case.is_first()).count();
        let three = faults.iter().filter(|case| case.is_among_three()).count();
        let silent = unchanged.iter().filter(|case| case.named.is_empty()).count();
        write(format!(
            "| {title} | {} | {differ} | {first} | {three} | {} | {silent} |",
            faults.len(),
            unchanged.len()
        ))?;
    }
    write("\nBy fault, which cause was named first:\n".to_owned())?;
    let mut confusion: BTreeMap<(&str, &str), u32> = BTreeMap::new();
    for case in cases {
        let first = case.named.first().map_or("none", String::as_str);
        *confusion.entry((case.fault.name, first)).or_default() += 1;
    }
    write("| fault | named first | cases |".to_owned())?;
    write("| --- | --- | --- |".to_owned())?;
    confusion
        .iter()
        .try_for_each(|((fault, named), count)| write(format!("| {fault} | {named} | {count} |")))?;
    Ok(out)
}

fn list(named: &[String]) -> String {
    if named.is_empty() { "nothing".to_owned() } else { named.join(", ") }
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_truth_is_read_and_comments_are_not() {
        let fault = fault("oom  memory.oom  a=1,b=2  -  prefork,nginx").unwrap();
        assert_eq!((fault.name, fault.cause), ("oom", Some("memory.oom")));
        assert_eq!((fault.settings.len(), fault.tuned.len(), fault.held_back.len()), (2, 0, 2));
        assert!(super::fault("# fault cause settings tuned held").is_none());
    }

    #[test]
    fn silence_is_right_only_where_nothing_is_wrong() {
        let of = |cause: Option<&'static str>, named: &[&str]| {
            let fault = Fault { name: "f", cause, settings: vec![], tuned: vec![], held_back: vec![] };
            let named = named.iter().map(|name| (*name).to_owned()).collect();
            let case = Case { fault: &fault, workload: "w", is_tuned: false, named, outcome: String::new() };
            (case.is_first(), case.is_among_three())
        };
        assert_eq!(of(None, &[]), (true, true));
        assert_eq!(of(None, &["net.rto"]), (false, false));
        assert_eq!(of(Some("net.rto"), &[]), (false, false));
        assert_eq!(of(Some("net.rto"), &["memory.oom", "net.rto"]), (false, true));
    }
}
