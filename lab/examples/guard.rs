//! Repeats the rows of docs/benchmarks.md in short form, and compares them with the medians that a file keeps, or with an earlier build. As root:
//!
//! `guard record|check FILE [GROUP...]`
//! `guard before FOLDER [GROUP...]`
//!
//! `record` adds the medians of this run to FILE. `check` fails where a row, the mean of a group of rows, or the mean of all rows lies below
//! what the kept runs let expect: a one-sided prediction interval of Student's t for the logarithms (Hahn & Meeker, Statistical Intervals,
//! section 4.8), at 1 % each for the rows, the groups and the mean of all, shared between rows and between groups (Bonferroni). Means are
//! compared with the means of the kept runs, so rows that move together widen their interval. A group's variance is that of its own runs, and
//! at least the median of all groups', with the degrees of freedom of all: a few kept runs can agree by chance. In simulations 3 to 5 % of
//! unchanged builds fail a group with five kept runs, and 2 % with twelve. The file belongs to one kind of machine, which its first line names.
//!
//! `before` runs each row's program in turns with that of an earlier build, whose programs of the lab are in FOLDER, in many short pairs by CPU
//! time per unit of work. The first of a pair changes from pair to pair. Most run at real-time priority, and a load of HTTP and its server on one CPU:
//! each runs until it has nothing to do, so as many answers gather for each build. Beside builds single ratios of HTTP then scatter by 1 to 4 %. On two CPUs they
//! scatter by 20 to 80 %, or, at real-time priority, hide a loss: a slower loop waits less often, since more has come when it looks.
//!
//! A fall shows in Wilcoxon's signed ranks of a row, or in their sum over the rows of a group or over all rows (van Elteren's
//! strata), one-sided by the exact distribution, at 1 % each for the rows, the groups and all as above: an unchanged build fails in less than
//! 3 % of runs. Ranks hold where single ratios lie far off, as on a busy machine.
//!
//! With GROUP only these groups are measured. Rows whose peer or server is not installed are left out.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

use plimsoll_lab::load::programs;
use plimsoll_lab::pairs::Outcome;
use plimsoll_lab::rounds::{ROWS_FILE, median};
use statrs::distribution::{ContinuousCDF, StudentsT};

/// Kept runs that a check needs: with fewer, an interval of t is wider than any regression.
const LEAST: usize = 5;
/// Runs that a file keeps, the newest.
const MOST: usize = 12;
const FALSE_ALARMS: f64 = 0.01;
/// Rounds of each comparison with peers.
const ROUNDS: &str = "3";
/// Passes over all comparisons with an earlier build, so that a disturbance of a minute meets part of the pairs of a row, and pairs of each pass.
const PASSES: usize = 2;
const PAIRS: &str = "8";

/// Programs that comparisons with an earlier build start.
const PROGRAMS: [&str; 19] = [
    "against_before",
    "against_hackbench",
    "against_iperf3",
    "against_peers",
    "against_servers",
    "against_smtp",
    "against_storage_peers",
    "bulk",
    "change_series",
    "figures_speed",
    "gate_cost",
    "generate",
    "load",
    "mail",
    "plimsoll",
    "read_speed",
    "sampling_cost",
    "serve",
    "synthesize",
];

/// Rows whose ratio is a time, so that less is better.
const TIMES: [&str; 1] = ["hackbench"];
/// Rows that say more about the machine's other work than about a build: wrk with pipelining does twice the work per CPU second while
/// others use its CPU, since answers then gather.
const UNSTEADY: [&str; 1] = ["requests, kept alive, 16 at a time, wrk"];

/// End of the names of rows that have no CPU time.
const RATE: &str = ", rate";

/// A group of rows, and one of them.
type Row = (String, String);
/// Ratios of ours/theirs by row, the oldest first.
type Rows = BTreeMap<Row, Vec<f64>>;

fn main() -> Outcome<ExitCode> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [what, place, groups @ ..] = arguments.as_slice() else {
        return Err("expected: guard record|check FILE [GROUP...], or guard before FOLDER [GROUP...]".into());
    };
    let passed = match what.as_str() {
        "record" => record(Path::new(place), groups)?,
        "check" => check(&read(Path::new(place))?, groups)?,
        "before" => in_turns(place, groups)?,
        other => return Err(format!("`{other}` is none of record, check and before").into()),
    };
    Ok(if passed { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// A program of the lab that runs several rows of a group, with its arguments, and the programs that it needs.
struct Comparison {
    group: &'static str,
    needs: &'static [&'static str],
    command: Vec<String>,
}

/// Comparisons with peers, or with an earlier build in the folder `before`; `files` is a folder for files of storage loads.
fn comparisons(before: Option<&str>, files: &str) -> Vec<Comparison> {
    let (rounds, seconds, messages) = match before {
        Some(_) => (PAIRS, "0.3", "500"),
        None => (ROUNDS, "1", "3000"),
    };
    let flags = [format!("rounds={rounds}"), format!("seconds={seconds}")];
    let peer = before.map(|folder| format!("before={folder}"));
    let comparison = |group, needs, line: &str, flags: &[String]| Comparison {
        group,
        needs,
        command: line
            .split(' ')
            .map(ToOwned::to_owned)
            .chain(flags.iter().cloned())
            .chain(peer.clone())
            .collect(),
    };
    let mut all = vec![
        comparison("HTTP", &["nginx", "wrk", "ab"], "against_peers wrk ab", &flags),
        comparison("TLS", &["nginx", "h2load"], "against_peers secure h2load", &flags),
        comparison("DNS", &["unbound", "dnsperf"], "against_servers dns", &flags),
        comparison("PostgreSQL", &["pgbench", "setpriv"], "against_servers postgres scale=1", &flags),
        comparison("SMTP", &["smtp-source"], &format!("against_smtp messages={messages}"), &flags[..1]),
        comparison("bulk", &["iperf3"], "against_iperf3 by=write take=copy chunk=128k", &flags),
        comparison("bulk", &["iperf3"], "against_iperf3 by=write take=discard", &flags),
        comparison("UDP", &["iperf3"], "against_iperf3 udp", &flags),
        comparison("messaging", &["hackbench"], &format!("against_hackbench {rounds} pipes"), &[]),
        comparison("storage", &["fio"], &format!("against_storage_peers memory {files} {rounds}"), &[]),
    ];
    match before {
        None => all.push(comparison("tools", &["tcptrace", "perf"], &format!("against_tools {rounds}"), &[])),
        Some(folder) => all.extend(["reading", "judging", "probes", "starts"].map(|group| {
            let command = ["against_before", folder, rounds, group].map(ToOwned::to_owned).to_vec();
            Comparison { group, needs: &[], command }
        })),
    }
    all
}

/// Runs the comparisons of these groups, or all of them, each in a process of its own, and gives the ratios of each round. One that fails costs
/// only its own rows, and the second result is false.
fn measure(ours: &Path, before: Option<&Path>, groups: &[String]) -> Outcome<(Rows, bool)> {
    let begin = Instant::now();
    let folder = tempfile::tempdir()?;
    let files = folder.path().join("files");
    std::fs::create_dir(&files)?;
    let text = |path: &Path| path.to_str().map(ToOwned::to_owned).ok_or("a path is no text");
    let comparisons = comparisons(before.map(text).transpose()?.as_deref(), &text(&files)?);
    if let Some(unknown) = groups.iter().find(|group| comparisons.iter().all(|known| known.group != **group))
    {
        return Err(format!("there is no group `{unknown}`").into());
    }
    let (mut all, mut complete) = (Rows::new(), true);
    for (nth, Comparison { group, needs, command }) in comparisons.into_iter().enumerate() {
        if !groups.is_empty() && !groups.iter().any(|wanted| wanted == group) {
            continue;
        }
        if let Some(missing) = needs.iter().find(|program| !is_installed(program)) {
            println!("left out: {group}: {missing} is not installed");
            continue;
        }
        match run(ours, &command, before.is_some(), &folder.path().join(nth.to_string())) {
            Ok(rows) => {
                for (row, ratios) in rows {
                    all.entry((group.to_owned(), row)).or_default().extend(ratios);
                }
            }
            Err(error) => {
                println!("not measured: {error}");
                complete = false;
            }
        }
    }
    if all.is_empty() {
        return Err("no row was measured".into());
    }
    println!("{} rows in {:.0} s", all.len(), begin.elapsed().as_secs_f64());
    Ok((all, complete))
}

fn is_installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).exists())
}

/// Runs a comparison, whose rows go to a new file, at the priority that a comparison with an earlier build has where it is `in_turns`.
fn run(programs: &Path, command: &[String], in_turns: bool, file: &Path) -> Outcome<Vec<(String, Vec<f64>)>> {
    let program = programs.join(&command[0]);
    let priority: &[&str] = match command[0].as_str() {
        // These wait in the kernel, or in spin locks, for threads that a real-time process keeps from the CPU.
        "against_servers" | "against_storage_peers" => &["env"],
        "against_peers" => &["taskset", "--cpu-list", "1", "chrt", "-f", "5"],
        _ => &["chrt", "-f", "5"],
    };
    let mut process = Command::new(if in_turns { priority[0].as_ref() } else { program.as_os_str() });
    if in_turns {
        process.args(&priority[1..]).arg(&program);
    }
    let output = process.args(&command[1..]).env(ROWS_FILE, file).stdin(Stdio::null()).output()?;
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr);
        return Err(format!("`{}`: {}: {}", command.join(" "), output.status, text.trim()).into());
    }
    let text = std::fs::read_to_string(file)?;
    let rows = text.lines().map(|line| {
        let (row, ratios) = line.split_once('\t').ok_or("a row has no ratio")?;
        Ok((row.to_owned(), ratios.split(' ').map(str::parse).collect::<Result<_, _>>()?))
    });
    rows.collect()
}

/// Medians of steady rows against peers.
fn against_peers(groups: &[String]) -> Outcome<(Rows, bool)> {
    let (mut rows, complete) = measure(&programs()?, None, groups)?;
    rows.retain(|(_, row), _| !UNSTEADY.contains(&row.as_str()));
    rows.values_mut().for_each(|ratios| *ratios = vec![median(ratios)]);
    Ok((rows, complete))
}

fn record(file: &Path, groups: &[String]) -> Outcome<bool> {
    let mut kept = if file.exists() { read(file)? } else { Rows::new() };
    let (new, complete) = against_peers(groups)?;
    for (row, medians) in new {
        let all = kept.entry(row).or_default();
        all.extend(medians);
        all.drain(..all.len().saturating_sub(MOST));
    }
    write(file, &kept)?;
    Ok(complete)
}

/// Whether no row does less in a CPU second than in an earlier build.
fn in_turns(before: &str, groups: &[String]) -> Outcome<bool> {
    let folder = tempfile::tempdir()?;
    let (ours, before) =
        (copy(&programs()?, folder.path().join("1"))?, copy(Path::new(before), folder.path().join("2"))?);
    let (mut gains, mut complete) = (Rows::new(), true);
    for _ in 0..PASSES {
        let (rows, all) = measure(&ours, Some(&before), groups)?;
        complete &= all;
        for (row, ratios) in rows.into_iter().filter(|((_, row), _)| !row.ends_with(RATE)) {
            gains.entry(row).or_default().extend(ratios.iter().map(|ratio| ratio.ln()));
        }
    }
    let mut of_groups: BTreeMap<&str, Vec<&[f64]>> = BTreeMap::new();
    for ((group, _), gains) in &gains {
        of_groups.entry(group).or_default().push(gains);
    }
    let all: Vec<&[f64]> = gains.values().map(Vec::as_slice).collect();
    let (of_rows, of_groups_limit) =
        (FALSE_ALARMS / gains.len() as f64, FALSE_ALARMS / of_groups.len() as f64);
    println!(
        "| against the earlier build | pairs | median | chance of such ranks | limit |\n| --- | --- | --- | --- | --- |"
    );
    let mut slower = Vec::new();
    let mut judge = |name: &str, rows: &[&[f64]], limit: f64| {
        let (pairs, chance) = (rows.concat(), chance_of_ranks(rows));
        let percent = 100.0 * median(&pairs).exp_m1();
        println!("| {name} | {} | {percent:+.1} % | {chance:.2e} | {limit:.2e} |", pairs.len());
        if chance < limit {
            slower.push(name.to_owned());
        }
    };
    for ((group, row), gains) in &gains {
        judge(&format!("{group}: {row}"), &[gains], of_rows);
    }
    for (group, rows) in &of_groups {
        judge(group, rows, of_groups_limit);
    }
    judge("all", &all, FALSE_ALARMS);
    Ok(report(&slower) && complete)
}

/// Copies the lab's programs. A program that a linker wrote costs up to a tenth more to start than its copy, whose pages lie in larger folios.
fn copy(programs: &Path, folder: PathBuf) -> Outcome<PathBuf> {
    std::fs::create_dir(&folder)?;
    for name in PROGRAMS {
        let program = programs.join(name);
        std::fs::copy(&program, folder.join(name))
            .map_err(|error| format!("{}: {error}", program.display()))?;
    }
    Ok(folder)
}

/// The probability that ranks of gains sum up to at most as much as these, row by row, where signs fall by chance.
fn chance_of_ranks(rows: &[&[f64]]) -> f64 {
    let (mut sums, mut gained) = (vec![1.0], 0);
    for gains in rows {
        let mut ordered = gains.to_vec();
        ordered.sort_by(|one, other| one.abs().total_cmp(&other.abs()));
        for (rank, gain) in (1..).zip(ordered) {
            gained += if gain > 0.0 { rank } else { 0 };
            let without = sums.clone();
            sums.resize(sums.len() + rank, 0.0);
            for sum in (0..sums.len()).rev() {
                let with = sum.checked_sub(rank).map_or(0.0, |rest| without[rest]);
                sums[sum] = (without.get(sum).unwrap_or(&0.0) + with) / 2.0;
            }
        }
    }
    sums[..=gained].iter().sum()
}

/// Whether nothing is slower; prints what is.
fn report(slower: &[String]) -> bool {
    if !slower.is_empty() {
        println!("slower than before: {}", slower.join("; "));
    }
    slower.is_empty()
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
fn check(kept: &Rows, groups: &[String]) -> Outcome<bool> {
    let (mut new, complete) = against_peers(groups)?;
    let number = |row: &Row| kept.get(row).map_or(0, Vec::len);
    new.retain(|row, _| {
        let enough = number(row) >= LEAST;
        if !enough {
            println!("not judged: {}: {} runs are kept, and a check needs {LEAST}", row.1, number(row));
        }
        enough
    });
    let runs = new.keys().map(number).min().ok_or("too few runs are kept of all rows: record more")?;
    let mut slower = Vec::new();
    let mut groups: BTreeMap<&str, Vec<Gains>> = BTreeMap::new();
    println!("| row | kept | now | limit |\n| --- | --- | --- | --- |");
    for ((group, row), medians) in &new {
        let (all, ratio) = (&kept[&(group.clone(), row.clone())], medians[0]);
        let before = all[all.len() - runs..].iter().map(|ratio| gain(row, *ratio)).collect();
        let gains = Gains { before, now: gain(row, ratio) };
        let limit = gains.limit(gains.variance(), runs - 1, FALSE_ALARMS / new.len() as f64)?;
        let sign = if TIMES.contains(&row.as_str()) { -1.0 } else { 1.0 };
        let typical = (sign * mean(&gains.before)).exp();
        println!("| {row} | {typical:.3} | {ratio:.3} | {:.3} |", (sign * limit).exp());
        if gains.now < limit {
            slower.push(row.clone());
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
            slower.push((*group).to_owned());
        }
    }
    let limit = all.limit(all.variance(), runs - 1, FALSE_ALARMS)?;
    println!("| all | {:+.1} % | {:+.1} % |\n{runs} runs are kept", all.change(all.now), all.change(limit));
    if all.now < limit {
        slower.push("all rows together".into());
    }
    Ok(report(&slower) && complete)
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
