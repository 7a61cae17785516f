//! Repeats the rows of docs/benchmarks.md in short form, and compares them with the medians that a file keeps. As root:
//!
//! `guard PROGRAM FILE record|check [ROUNDS] [GROUP...]`
//! `guard before GENERATE [TIMES]`
//!
//! `record` adds the medians of this run to FILE. `check` fails where a row, the mean of a group of rows, or the mean of all rows lies below
//! what the kept runs let expect: a one-sided prediction interval of Student's t for the logarithms (Hahn & Meeker, Statistical Intervals,
//! section 4.8), at 1 % each for the rows, the groups and the mean of all, shared between rows and between groups (Bonferroni). Means are
//! compared with the means of the kept runs, so rows that move together widen their interval. A group's variance is that of its own runs, and
//! at least the median of all groups', with the degrees of freedom of all: a few kept runs can agree by chance. In simulations 3 to 5 % of
//! unchanged builds fail a group with five kept runs, and 2 % with twelve. With GROUP only these groups are measured. The file belongs to one
//! kind of machine, which its first line names.
//!
//! `before` runs HTTP in turns with the `generate` of an earlier build. What else the machine does slows both, so a smaller loss shows than in
//! ratios to peers. It fails by Wilcoxon's signed ranks of all ratios, one-sided at 1 %: single ratios lie far off on a busy machine.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

use plimsoll_lab::pairs::Outcome;
use plimsoll_lab::rounds::{ROWS_FILE, median};
use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

/// Kept runs that a check needs: with fewer, an interval of t is wider than any regression.
const LEAST: usize = 5;
/// Runs that a file keeps, the newest.
const MOST: usize = 12;
const FALSE_ALARMS: f64 = 0.01;

/// Rows whose ratio is a time, so that less is better.
const TIMES: [&str; 1] = ["hackbench"];
/// Rows that say more about the machine's other work than about a build: wrk with pipelining does twice the work per CPU second while
/// others use its CPU, since answers then gather.
const UNSTEADY: [&str; 1] = ["requests, kept alive, 16 at a time, wrk"];

/// A group of rows, and one of them.
type Row = (String, String);
/// Medians of ours/theirs by row, the oldest first.
type Rows = BTreeMap<Row, Vec<f64>>;

fn main() -> Outcome<ExitCode> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (program, file, what, rest) = match arguments.as_slice() {
        [what, before] if what == "before" => return in_turns(before, 10),
        [what, before, times] if what == "before" => return in_turns(before, times.parse()?),
        [program, file, what, rest @ ..] => (program, file, what, rest),
        _ => return Err("expected: guard PROGRAM FILE record|check [ROUNDS] [GROUP...]".into()),
    };
    let file = Path::new(file);
    let (rounds, groups) = rest.split_first().map_or(("3", rest), |(rounds, groups)| (rounds, groups));
    let mut kept = match file.exists() {
        true => read(file)?,
        false => Rows::new(),
    };
    let begin = Instant::now();
    let (new, failures) = measure(program, rounds, groups)?;
    println!("{} rows in {:.0} s", new.len(), begin.elapsed().as_secs_f64());
    let passed = match what.as_str() {
        "record" => {
            for (row, medians) in new {
                let all = kept.entry(row).or_default();
                all.extend(medians);
                all.drain(..all.len().saturating_sub(MOST));
            }
            write(file, &kept)?;
            true
        }
        "check" => check(&kept, &new)?,
        other => return Err(format!("`{other}` is neither record nor check").into()),
    };
    for failure in &failures {
        println!("not measured: {failure}");
    }
    Ok(if passed && failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Runs the comparisons of these groups, or all of them, each in a process of its own. One that fails, as where its peer is not installed, costs
/// only its own rows.
fn measure(program: &str, rounds: &str, groups: &[String]) -> Outcome<(Rows, Vec<String>)> {
    let folder = tempfile::tempdir()?;
    let files = folder.path().join("files");
    std::fs::create_dir(&files)?;
    let files = files.to_str().ok_or("a path is no text")?;
    let rounds_flag = format!("rounds={rounds}");
    let comparisons: [(&str, &[&str]); 10] = [
        ("HTTP", &["against_peers", &rounds_flag, "seconds=1", "wrk", "ab"]),
        ("TLS", &["against_peers", &rounds_flag, "seconds=1", "secure", "h2load"]),
        ("DNS", &["against_servers", &rounds_flag, "seconds=1", "dns"]),
        ("PostgreSQL", &["against_servers", &rounds_flag, "seconds=1", "scale=1", "postgres"]),
        ("SMTP", &["against_smtp", &rounds_flag, "messages=3000"]),
        ("bulk", &["against_iperf3", &rounds_flag, "seconds=1", "by=write", "take=copy", "chunk=128k"]),
        ("bulk", &["against_iperf3", &rounds_flag, "seconds=1", "by=write", "take=discard"]),
        ("messaging", &["against_hackbench", rounds, "pipes"]),
        ("storage", &["against_storage_peers", "memory", files, rounds]),
        ("tools", &["against_tools", program, "3"]),
    ];
    if let Some(unknown) = groups.iter().find(|group| comparisons.iter().all(|(name, _)| name != group)) {
        return Err(format!("there is no group `{unknown}`").into());
    }
    let (mut all, mut failures) = (Rows::new(), Vec::new());
    for (nth, (group, comparison)) in comparisons.into_iter().enumerate() {
        if !groups.is_empty() && !groups.iter().any(|wanted| wanted == group) {
            continue;
        }
        match run(comparison, &folder.path().join(nth.to_string())) {
            Ok(rows) => {
                let steady = rows.into_iter().filter(|(row, _)| !UNSTEADY.contains(&row.as_str()));
                all.extend(steady.map(|(row, median)| ((group.to_owned(), row), vec![median])));
            }
            Err(error) => failures.push(error.to_string()),
        }
    }
    Ok((all, failures))
}

/// Runs a comparison, whose rows go to a new file.
fn run(comparison: &[&str], file: &Path) -> Outcome<Vec<(String, f64)>> {
    let mut command = Command::new(std::env::current_exe()?.with_file_name(comparison[0]));
    let output = command.args(&comparison[1..]).env(ROWS_FILE, file).stdin(Stdio::null()).output()?;
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr);
        return Err(format!("`{}`: {}: {}", comparison.join(" "), output.status, text.trim()).into());
    }
    let text = std::fs::read_to_string(file)?;
    let rows = text.lines().map(|line| {
        let (row, median) = line.split_once('\t').ok_or("a row has no ratio")?;
        Ok((row.to_owned(), median.parse()?))
    });
    rows.collect()
}

/// Compares with an earlier build, several times.
fn in_turns(before: &str, times: usize) -> Outcome<ExitCode> {
    if times < 4 {
        return Err("a comparison with an earlier build takes 4 times or more".into());
    }
    let folder = tempfile::tempdir()?;
    // h2load cannot do these scenarios, so that only the builds run.
    let comparison = ["against_peers", "rounds=3", "seconds=1", &format!("before={before}"), "h2load"];
    let mut gains = Vec::new();
    for nth in 0..times {
        let rows = run(&comparison, &folder.path().join(nth.to_string()))?;
        gains.extend(rows.iter().map(|(_, ratio)| ratio.ln()));
    }
    let percent: Vec<String> = gains.iter().map(|gain| format!("{:+.1}", 100.0 * gain.exp_m1())).collect();
    println!("against the earlier build, in per cent: {}", percent.join(" "));
    let (z, limit) = (signed_ranks(&gains), Normal::standard().inverse_cdf(FALSE_ALARMS));
    println!("median {:+.1} %, z {z:.2}, limit {limit:.2}", 100.0 * median(&gains).exp_m1());
    Ok(if z < limit { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Wilcoxon's sum of the ranks of gains, standardised.
fn signed_ranks(gains: &[f64]) -> f64 {
    let mut ordered = gains.to_vec();
    ordered.sort_by(|one, other| one.abs().total_cmp(&other.abs()));
    let gained = (1..).zip(&ordered).filter(|(_, gain)| **gain > 0.0).map(|(rank, _)| f64::from(rank));
    let n = gains.len() as f64;
    (gained.sum::<f64>() - n * (n + 1.0) / 4.0) / (n * (n + 1.0) * (2.0 * n + 1.0) / 24.0).sqrt()
}

/// Lines of a group, a row and its medians between tabs. What begins with `#` is for readers.
fn read(file: &Path) -> Outcome<Rows> {
    let text = std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    let mut rows = Rows::new();
    for (nth, line) in (1..).zip(text.lines()).filter(|(_, line)| !line.starts_with('#')) {
        let mut columns = line.splitn(3, '\t');
        let mut column = || columns.next();
        let parsed = column().zip(column()).zip(column()).and_then(|((group, row), medians)| {
            let medians: Result<Vec<f64>, _> = medians.split(' ').map(str::parse).collect();
            Some(((group.to_owned(), row.to_owned()), medians.ok()?))
        });
        let (row, medians) =
            parsed.ok_or_else(|| format!("{}:{nth}: expected a group, a row and ratios", file.display()))?;
        rows.insert(row, medians);
    }
    Ok(rows)
}

fn write(file: &Path, rows: &Rows) -> Outcome<()> {
    let mut text = format!("# {}\n", machine()?);
    for ((group, row), medians) in rows {
        let medians: Vec<String> = medians.iter().map(|median| format!("{median:.4}")).collect();
        text.push_str(&format!("{group}\t{row}\t{}\n", medians.join(" ")));
    }
    Ok(std::fs::write(file, text)?)
}

/// The machine and the day.
fn machine() -> Outcome<String> {
    let cpus = std::fs::read_to_string("/proc/cpuinfo")?;
    let models = || cpus.lines().filter_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let model = models().next().map_or("unknown", |(_, model)| model);
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease")?;
    let day = Command::new("date").arg("+%F").output()?.stdout;
    let (day, kernel) = (String::from_utf8(day)?, kernel.trim());
    Ok(format!("{} x {model}, Linux {kernel}, last recorded on {}", models().count(), day.trim()))
}

/// Logarithm of a ratio, larger where ours does better.
fn gain(row: &str, ratio: f64) -> f64 {
    if TIMES.contains(&row) { -ratio.ln() } else { ratio.ln() }
}

/// Whether no row is slower than the kept runs let expect.
fn check(kept: &Rows, new: &Rows) -> Outcome<bool> {
    let runs = new.keys().map(|row| kept.get(row).map_or(0, Vec::len)).min().unwrap_or(0);
    if runs < LEAST {
        return Err(
            format!("{runs} runs are kept of some row, and a check needs {LEAST}: record more").into()
        );
    }
    let mut slower = Vec::new();
    let mut groups: BTreeMap<&str, Vec<Gains>> = BTreeMap::new();
    println!("| row | kept | now | limit |\n| --- | --- | --- | --- |");
    for ((group, row), medians) in new {
        let (all, ratio) = (&kept[&(group.clone(), row.clone())], medians[0]);
        let before = all[all.len() - runs..].iter().map(|ratio| gain(row, *ratio)).collect();
        let gains = Gains { before, now: gain(row, ratio) };
        let limit = gains.limit(gains.variance(), runs - 1, FALSE_ALARMS / new.len() as f64)?;
        let sign = if TIMES.contains(&row.as_str()) { -1.0 } else { 1.0 };
        let typical = (sign * mean(&gains.before)).exp();
        println!("| {row} | {typical:.3} | {ratio:.3} | {:.3} |", (sign * limit).exp());
        if gains.now < limit {
            slower.push(row.as_str());
        }
        groups.entry(group).or_default().push(gains);
    }
    let all = Gains::mean_of(groups.values().flatten());
    let groups: Vec<(&str, Gains)> =
        groups.iter().map(|(group, rows)| (*group, Gains::mean_of(rows.iter()))).collect();
    let usual = median(&groups.iter().map(|(_, gains)| gains.variance()).collect::<Vec<_>>());
    println!("\n| group | now, against the kept runs | limit |\n| --- | --- | --- |");
    for (group, gains) in &groups {
        let freedom = groups.len() * (runs - 1);
        let limit = gains.limit(gains.variance().max(usual), freedom, FALSE_ALARMS / groups.len() as f64)?;
        println!("| {group} | {:+.1} % | {:+.1} % |", gains.change(gains.now), gains.change(limit));
        if gains.now < limit {
            slower.push(group);
        }
    }
    let limit = all.limit(all.variance(), runs - 1, FALSE_ALARMS)?;
    println!("| all | {:+.1} % | {:+.1} % |\n{runs} runs are kept", all.change(all.now), all.change(limit));
    if all.now < limit {
        slower.push("all rows together");
    }
    if !slower.is_empty() {
        println!("slower than before: {}", slower.join("; "));
    }
    Ok(slower.is_empty())
}

/// Gains of the kept runs, the oldest first, and of this one.
struct Gains {
    before: Vec<f64>,
    now: f64,
}

impl Gains {
    /// Run by run the mean of several rows.
    fn mean_of<'g>(rows: impl Iterator<Item = &'g Self> + Clone) -> Self {
        let runs = rows.clone().next().map_or(0, |row| row.before.len());
        let of = |value: &dyn Fn(&Self) -> f64| mean(&rows.clone().map(value).collect::<Vec<_>>());
        Self { before: (0..runs).map(|run| of(&|row| row.before[run])).collect(), now: of(&|row| row.now) }
    }

    fn variance(&self) -> f64 {
        let center = mean(&self.before);
        let squares = self.before.iter().map(|value| (value - center).powi(2));
        squares.sum::<f64>() / (self.before.len() - 1) as f64
    }

    /// Below this lies a further value of the same kind with at most this probability; `freedom` are the degrees of the variance.
    fn limit(&self, variance: f64, freedom: usize, probability: f64) -> Outcome<f64> {
        let quantile = StudentsT::new(0.0, 1.0, freedom as f64)?.inverse_cdf(probability);
        Ok(mean(&self.before) + quantile * (variance * (1.0 + 1.0 / self.before.len() as f64)).sqrt())
    }

    /// A gain against the kept ones, in per cent.
    fn change(&self, gain: f64) -> f64 {
        100.0 * ((gain - mean(&self.before)).exp() - 1.0)
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}
