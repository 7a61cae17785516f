//! The fault bench: cases whose truth is known are run, and the named causes are compared with it.
//!
//! Faults are injected over workloads: `faults/workloads` and `faults/injected` are two halves of experiment files. Other authors' cases are folders in
//! `faults/outside`, each with a script. The truth stands in `faults/truth.txt` and `faults/outside.tsv`, which no experiment sees.

mod cases;
mod tables;

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use self::cases::{Case, Measured, Source};

/// Rows of what was said last of each case. What was measured before an interrupt stays.
const MEASURED: &str = "faults/measured.jsonl";
const REPORT: &str = "docs/causes.md";
/// Other measurements, for the end of the report.
const NOTES: &str = "faults/notes.md";
/// Folder of the cases by outside authors.
const OUTSIDE: &str = "faults/outside";
/// Folder of what the cases make.
const MADE: &str = "target/faults";
/// Prefix of the names of the faults' control groups.
const GROUPS: &str = "plimsoll-fault-";
/// Variable that marks the processes of a case.
const MARK: &str = "FAULTS_CASE";
/// How long a case may take, in seconds, and its end after that.
const LIMIT: [&str; 2] = ["240", "20"];
/// Status of `timeout` where the limit has ended a program.
const TOO_LONG: i32 = 124;

/// Measured cases, in the order of the truth files.
type Rows<'c> = Vec<(&'c Case, Measured)>;

/// Cases to measure.
pub(crate) enum Selection<'w> {
    /// All but those whose only look is done.
    All,
    /// Those without a row.
    Rest,
    /// Those of this group, fault, workload or name, for the screen alone.
    Named(&'w str),
    /// None: the report is written from the rows.
    None,
}

/// Runs cases with the tree's own program or another build of it, and writes the tables. Rows are written after each case.
pub(crate) fn run(wanted: &Selection<'_>, program: Option<&str>) -> Result<(), String> {
    let cases = cases::all()?;
    let mut rows = known_rows(&cases)?;
    let is_done = |rows: &Rows<'_>, case: &Case| {
        rows.iter().any(|(known, it)| known.name == case.name && *it != Measured::failed())
    };
    let is_wanted = |case: &&Case| match wanted {
        Selection::All => case.is_tuned || !case.is_outside() || !is_done(&rows, case),
        Selection::Rest => !is_done(&rows, case),
        Selection::Named(word) => case.is_meant_by(word),
        Selection::None => false,
    };
    let chosen: Vec<&Case> = cases.iter().filter(is_wanted).collect();
    report_unmapped(&cases)?;
    let is_kept = !matches!(wanted, Selection::Named(_));
    rows.retain(|(case, _)| is_kept && !chosen.iter().any(|it| it.name == case.name));
    if !chosen.is_empty() {
        let program = program.map_or_else(build, |program| Ok(program.to_owned()))?;
        link(&program)?;
    }
    for case in chosen {
        if let Some(missing) = missing(case) {
            println!("{}: skipped, since `{missing}` is not installed", case.name);
            continue;
        }
        let measured = measure(case)?;
        println!("{}: {}; {}", case.name, measured.outcome, tables::list(&measured));
        rows.push((case, measured));
        if is_kept {
            write_rows(&rows)?;
        }
    }
    rows.sort_by_key(|(case, _)| cases.iter().position(|it| it.name == case.name));
    let tables = tables::tables(&rows)?;
    if is_kept {
        write_rows(&rows)?;
        let notes = read(Path::new(NOTES))?;
        fs::write(REPORT, tables::report(&tables, &notes)).map_err(|error| format!("{REPORT}: {error}"))
    } else {
        print!("{tables}");
        Ok(())
    }
}

/// Says which folders have no row with what must be named.
fn report_unmapped(cases: &[Case]) -> Result<(), String> {
    let mut folders = crate::sources::entries(Path::new(OUTSIDE))?;
    folders.retain(|folder| !cases.iter().any(|case| folder.ends_with(&case.name)));
    let names: Vec<_> =
        folders.iter().filter_map(|it| it.file_name()).map(|it| it.to_string_lossy()).collect();
    if !names.is_empty() {
        println!("skipped, since {} does not say what must be named: {}", cases::OUTSIDE, names.join(", "));
    }
    Ok(())
}

/// Rows of cases that still exist.
fn known_rows(cases: &[Case]) -> Result<Rows<'_>, String> {
    let rows = cases::rows(MEASURED)?.into_iter();
    Ok(rows.filter_map(|(name, it)| Some((cases.iter().find(|case| case.name == name)?, it))).collect())
}

fn write_rows(rows: &Rows<'_>) -> Result<(), String> {
    let mut text = String::new();
    for (case, measured) in rows {
        let more = [("kind", tables::kind(case)), ("grade", case.grade(measured).name())];
        writeln!(text, "{}", measured.row(&case.name, &more)).map_err(|error| error.to_string())?;
    }
    // A row that is half written would be lost.
    let next = format!("{MEASURED}.next");
    fs::write(&next, text)
        .and_then(|()| fs::rename(&next, MEASURED))
        .map_err(|error| format!("{next}: {error}"))
}

fn build() -> Result<String, String> {
    crate::shell::cargo(&["build", "--package", "plimsoll"])?;
    Ok("target/debug/plimsoll".to_owned())
}

/// Makes a folder with the program by the name that scripts know.
fn link(program: &str) -> Result<(), String> {
    let (folder, place) = (bin(), bin().join("plimsoll"));
    let failed = |error| format!("{}: {error}", place.display());
    fs::create_dir_all(&folder).map_err(failed)?;
    let _ = fs::remove_file(&place);
    let program = fs::canonicalize(program).map_err(|error| format!("{program}: {error}"))?;
    std::os::unix::fs::symlink(program, &place).map_err(failed)
}

fn bin() -> PathBuf {
    Path::new(MADE).join("bin")
}

/// A program that the case needs and that is not installed.
fn missing(case: &Case) -> Option<&str> {
    let Source::Outside { needs, .. } = &case.source else { return None };
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_there =
        |program: &String| std::env::split_paths(&path).any(|folder| folder.join(program).exists());
    needs.iter().find(|program| !is_there(program)).map(String::as_str)
}

fn measure(case: &Case) -> Result<Measured, String> {
    let (folder, words) = match &case.source {
        Source::Injected { fault, workload, settings } => {
            (PathBuf::from(MADE), injected(fault, workload, settings)?)
        }
        Source::Outside { .. } => (outside(&case.name)?, vec!["sh".to_owned(), "run.sh".to_owned()]),
    };
    let folder = fs::canonicalize(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let root = fs::canonicalize(MADE).map_err(|error| format!("{MADE}: {error}"))?;
    let path = std::env::var("PATH").unwrap_or_default();
    let mark = format!("{}-{}", case.name, std::process::id());
    // The limit ends the whole case, also where this process is ended.
    let output = Command::new("setpriv")
        .args(["--pdeathsig", "TERM", "timeout", "--kill-after", LIMIT[1], LIMIT[0]])
        .args(words)
        .current_dir(&folder)
        .env("PATH", format!("{}:{path}", root.join("bin").display()))
        .env("PLIMSOLL_STORE", root.join("runs.sqlite"))
        .env("PLIMSOLL_FORMAT", "json")
        .env(MARK, &mark)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("setpriv: {error}"))?;
    end_what_is_left(case, &mark);
    forget_groups();
    if case.is_outside() {
        fs::remove_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    }
    let text = String::from_utf8_lossy(&output.stdout).replace(&*folder.to_string_lossy(), ".");
    // A script may say something before. A run that the limit has ended reports what it has until then, and a comparison that it is undecided.
    let report = text.find("{\n").map_or("", |start| &text[start..]);
    match serde_json::from_str::<Value>(report) {
        Ok(report) if output.status.code() != Some(TOO_LONG) || case.is_outside() => {
            Ok(Measured::of_report(&report))
        }
        _ => {
            let said = String::from_utf8_lossy(&output.stderr);
            println!("{}: {}: {}", case.name, output.status, said.trim_end());
            Ok(Measured::failed())
        }
    }
}

/// Writes the experiment of a fault over a workload, and gives the command that runs it.
fn injected(fault: &str, workload: &str, settings: &[String]) -> Result<Vec<String>, String> {
    let name = format!("{fault}-{workload}.toml");
    let file = Path::new(MADE).join(&name);
    let half =
        |folder: &str, name: &str| read(&Path::new("faults").join(folder).join(format!("{name}.toml")));
    let experiment = experiment(&half("workloads", workload)?, &half("injected", fault)?)?;
    fs::write(&file, experiment).map_err(|error| format!("{}: {error}", file.display()))?;
    let mut words = ["plimsoll", "run", &name, "--yes"].map(str::to_owned).to_vec();
    words.extend(settings.iter().flat_map(|setting| ["--set".to_owned(), setting.clone()]));
    Ok(words)
}

/// A copy of a case's folder: what its script makes does not stay.
fn outside(name: &str) -> Result<PathBuf, String> {
    let copies = Path::new(MADE).join("outside");
    let copy = copies.join(name);
    fs::create_dir_all(&copies).map_err(|error| format!("{}: {error}", copies.display()))?;
    // What an interrupted run has left.
    let _ = fs::remove_dir_all(&copy);
    let original = Path::new(OUTSIDE).join(name);
    crate::shell::run("cp", &["-a", &original.display().to_string(), &copy.display().to_string()])?;
    Ok(copy)
}

/// Ends processes that a case has left, by its mark in their environment, and says so.
fn end_what_is_left(case: &Case, mark: &str) {
    let variable = format!("{MARK}={mark}");
    for process in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let environment = fs::read(process.path().join("environ")).unwrap_or_default();
        if environment.split(|byte| *byte == 0).any(|it| it == variable.as_bytes()) {
            let name = fs::read_to_string(process.path().join("comm")).unwrap_or_default();
            let id = process.file_name().to_string_lossy().into_owned();
            println!("{}: left process {id} ({}) behind", case.name, name.trim_end());
            // The process may end before the signal arrives.
            let _ = crate::shell::run("kill", &[&id]);
        }
    }
}

/// Removes the control groups that faults have made; a process that is killed cannot.
fn forget_groups() {
    for hierarchy in ["cpu", "blkio", "memory", ""] {
        let hierarchy = Path::new("/sys/fs/cgroup").join(hierarchy);
        for group in fs::read_dir(hierarchy).into_iter().flatten().flatten() {
            if group.file_name().to_string_lossy().starts_with(GROUPS) {
                // Where a process of it still lives, the next case tries again.
                let _ = fs::remove_dir(group.path());
            }
        }
    }
}

/// Joins a workload and a fault into one experiment file. Comments in the workload give the metric and the paths of three settings: backlog, descriptors,
/// and requests before a crash.
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

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}
