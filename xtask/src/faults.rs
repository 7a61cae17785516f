//! The fault bench: faults are injected over workloads, and the named causes are compared with the truth.
//!
//! `faults/workloads` and `faults/injected` are two halves of experiment files. The truth stands in `faults/truth.txt`, which no experiment sees.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

const TRUTH: &str = "faults/truth.txt";
const REPORT: &str = "docs/causes.md";
/// Lessons from runs of the bench, for the head of the report.
const NOTES: &str = "faults/notes.md";
/// Prefix of the names of the faults' control groups.
const GROUPS: &str = "plimsoll-fault-";
/// Empty entry of the truth file.
const NONE: &str = "-";

/// Ranges of the confidence in a cause, from and below.
const SURE: [(f64, f64); 4] = [(0.0, 0.6), (0.6, 0.8), (0.8, 0.9), (0.9, 1.01)];

/// The truth about an injected fault.
struct Fault<'t> {
    name: &'t str,
    /// Public ids of its causes; empty without a fault.
    causes: Vec<&'t str>,
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
    /// Ids of the named causes, in their order.
    named: Vec<String>,
    /// Confidence in the first of them.
    confidence: Option<f64>,
    outcome: String,
}

impl Case<'_> {
    /// Whether the run was sure of a difference: without one there is nothing to explain.
    fn made_a_difference(&self) -> bool {
        matches!(self.outcome.as_str(), "slower" | "faster")
    }

    /// Whether the first named cause is right: one of the causes, or none without a fault.
    fn is_first(&self) -> bool {
        match self.named.first() {
            Some(first) => self.fault.causes.contains(&first.as_str()),
            None => self.fault.causes.is_empty(),
        }
    }

    /// Whether all causes are among the first three.
    fn is_among_three(&self) -> bool {
        let among = |cause: &&str| self.named.iter().take(3).any(|named| named == cause);
        if self.fault.causes.is_empty() { self.named.is_empty() } else { self.fault.causes.iter().all(among) }
    }
}

/// Runs all cases, or those whose fault or workload has this name, with the tree's own program or another build of it, and writes the tables. They are
/// written after each case, so that an interrupt loses no measured case.
pub(crate) fn run(only: Option<&str>, program: Option<&str>) -> Result<(), String> {
    let program = program.map_or_else(build, |program| Ok(program.to_owned()))?;
    let text = read(Path::new(TRUTH))?;
    let faults: Vec<Fault<'_>> = text.lines().filter_map(fault).collect();
    let mut cases = Vec::new();
    for fault in &faults {
        let tuned = fault.tuned.iter().map(|workload| (*workload, true));
        let held_back = fault.held_back.iter().map(|workload| (*workload, false));
        for (workload, is_tuned) in tuned.chain(held_back) {
            let case = format!("{}/{workload}", fault.name);
            if only.is_none_or(|only| only == fault.name || only == workload || only == case) {
                let measured = measure(&program, fault, workload);
                forget_groups();
                let (outcome, named, confidence) = measured?;
                println!("{} over {workload}: {outcome}; {}", fault.name, list(&named));
                cases.push(Case { fault, workload, is_tuned, named, confidence, outcome });
                if only.is_none() {
                    let report = report(&cases)?;
                    fs::write(REPORT, report).map_err(|error| format!("{REPORT}: {error}"))?;
                }
            }
        }
    }
    if only.is_some() {
        print!("{}", report(&cases)?);
    }
    Ok(())
}

fn fault(line: &str) -> Option<Fault<'_>> {
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    let [name, cause, settings, tuned, held_back] = *words.as_slice() else { return None };
    let is_comment = name.starts_with('#');
    (!is_comment).then(|| Fault {
        name,
        causes: cause.split('+').filter(|cause| *cause != NONE).collect(),
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

/// Outcome of a case, the named causes, and the confidence in the first.
type Measured = (String, Vec<String>, Option<f64>);

fn measure(program: &str, fault: &Fault<'_>, workload: &str) -> Result<Measured, String> {
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
    let confidence = causes.first().and_then(|cause| cause["confidence"].as_f64());
    Ok((outcome, named, confidence))
}

/// Removes the control groups that faults have made; a process that is killed cannot.
fn forget_groups() {
    for hierarchy in ["/sys/fs/cgroup/cpu", "/sys/fs/cgroup/blkio", "/sys/fs/cgroup"] {
        for group in fs::read_dir(hierarchy).into_iter().flatten().flatten() {
            if group.file_name().to_string_lossy().starts_with(GROUPS) {
                // Where a process of it still lives, the next case tries again.
                let _ = fs::remove_dir(group.path());
            }
        }
    }
}

/// The two halves as one experiment file. Comments of a workload name its metric, and the settings of its backlog, its descriptors and its crash after
/// a number of requests.
fn experiment(workload: &str, injected: &str) -> Result<String, String> {
    let said = |what: &str| {
        workload.lines().find_map(|line| line.strip_prefix("# ")?.strip_prefix(what)?.strip_prefix(": "))
    };
    let metric = said("metric").ok_or("a workload does not say its metric")?;
    let mut injected = injected.to_owned();
    for setting in ["backlog", "descriptors", "crash"] {
        let place = format!("set = \"{}\"", setting.to_uppercase());
        match said(setting) {
            Some(path) => injected = injected.replace(&place, &format!("set = \"{path}\"")),
            None if injected.contains(&place) => {
                return Err(format!("this workload has no setting of its {setting}"));
            }
            None => {}
        }
    }
    Ok(format!(
        "{workload}{injected}[[claims]]\ndifference = {{ phase = \"work\", factor = \"release\", metric = \"{metric}\", expect = \"any\" }}\n"
    ))
}

fn report(cases: &[Case<'_>]) -> Result<String, String> {
    let mut out = String::from(
        "# Which causes are named\n\nFaults that are injected over workloads, and what `plimsoll run` says is the cause. The truth stands in `faults/truth.txt`, which no experiment\n\
         sees. Where a fault makes no difference that the run is sure of, there is nothing to explain; `invalid` is a\n\
         machine too busy to tell. The explainer was written while those\n\
         over workloads marked *tuned* were looked at. Made by (as root; some 40 minutes on two CPUs):\n\n    cargo xtask faults\n\n",
    );
    out += &read(Path::new(NOTES))?;
    out.push('\n');
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
            if case.fault.causes.is_empty() { "none".to_owned() } else { case.fault.causes.join(", ") },
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
            .partition(|case| !case.fault.causes.is_empty());
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
    write("\nHow sure the first cause is said to be, and how often it is right:\n".to_owned())?;
    write("| said to be sure by | cases | right |".to_owned())?;
    write("| --- | --- | --- |".to_owned())?;
    for (low, high) in SURE {
        let within = |case: &&Case<'_>| case.confidence.is_some_and(|sure| (low..high).contains(&sure));
        let (right, all) = (
            cases.iter().filter(within).filter(|case| case.is_first()).count(),
            cases.iter().filter(within).count(),
        );
        write(format!("| {:.0} to {:.0} % | {all} | {right} |", 100.0 * low, 100.0 * high.min(1.0)))?;
    }
    let answered: Vec<(f64, bool)> =
        cases.iter().filter_map(|case| Some((case.confidence?, case.is_first()))).collect();
    if !answered.is_empty() {
        let all = answered.len() as f64;
        let sure = answered.iter().map(|(sure, _)| sure).sum::<f64>() / all;
        let right = answered.iter().filter(|(_, right)| *right).count() as f64 / all;
        // Brier, Monthly Weather Review 78, 1950: 0 for who is always sure and right, 0.25 for who always says 50 %.
        let score =
            answered.iter().map(|(sure, right)| (f64::from(u8::from(*right)) - sure).powi(2)).sum::<f64>()
                / all;
        write(format!(
            "\nOn average it is said to be sure by {:.0} %, and right in {:.0} %; the Brier score is {score:.3}.",
            100.0 * sure,
            100.0 * right
        ))?;
    }
    let pairs: Vec<&Case<'_>> =
        cases.iter().filter(|case| case.fault.causes.len() > 1 && case.made_a_difference()).collect();
    if !pairs.is_empty() {
        let both = pairs.iter().filter(|case| case.is_among_three()).count();
        write(format!(
            "\nOf {} pairs of faults that made a difference, both causes are among the first three in {both}.",
            pairs.len()
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
        assert_eq!((fault.name, fault.causes), ("oom", vec!["memory.oom"]));
        assert_eq!((fault.settings.len(), fault.tuned.len(), fault.held_back.len()), (2, 0, 2));
        assert!(super::fault("# fault cause settings tuned held").is_none());
    }

    #[test]
    fn silence_is_right_only_where_nothing_is_wrong() {
        let of = |causes: &[&'static str], named: &[&str]| {
            let causes = causes.to_vec();
            let fault = Fault { name: "f", causes, settings: vec![], tuned: vec![], held_back: vec![] };
            let named = named.iter().map(|name| (*name).to_owned()).collect();
            let outcome = String::new();
            let case =
                Case { fault: &fault, workload: "w", is_tuned: false, named, confidence: None, outcome };
            (case.is_first(), case.is_among_three())
        };
        assert_eq!(of(&[], &[]), (true, true));
        assert_eq!(of(&[], &["net.rto"]), (false, false));
        assert_eq!(of(&["net.rto"], &[]), (false, false));
        assert_eq!(of(&["net.rto"], &["memory.oom", "net.rto"]), (false, true));
        assert_eq!(of(&["net.rto", "memory.oom"], &["net.rto"]), (true, false), "one of two");
        assert_eq!(of(&["net.rto", "memory.oom"], &["net.rto", "disk.full", "memory.oom"]), (true, true));
    }
}
