//! A load that is a program of the user's own: run, timed, and ended when it is time.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::net::SocketAddr;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use nix::sys::wait::{Id, WaitPidFlag, waitid};
use nix::time::{ClockId, clock_gettime};
use plimsoll_load::Control;
use plimsoll_model::experiment::load::exec::{ExecFacts, ExecRun};
use plimsoll_model::frame::{Failure, LoadSpec};
use plimsoll_model::observation::{ErrorKind, Histogram, Interval, Latencies, LoadResult, Progress};
use wait4::{ResourceUsage, Wait4};

use crate::folder::give_to_nobody;
use crate::{child, exec, other, program};

/// Time between two checks for an abort.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// How long a program may take to exit after it was asked to.
const GRACE: Duration = Duration::from_secs(2);
/// Bytes of a program's standard output that are kept, from its beginning. A longer output is not read.
const STDOUT_KEPT: usize = 1 << 20;
/// Bytes of its standard error that are kept, from its end.
const STDERR_KEPT: usize = 4000;
/// Characters that an error quotes.
const QUOTED: usize = 300;
/// Most failed runs in a row. Further ones would only fail faster.
const MOST_FAILURES: u32 = 10;

/// Runs the program once, or again and again for as long as the load lasts.
pub(super) fn run(spec: &LoadSpec, control: &Control<'_>) -> Result<LoadResult, Failure> {
    let load = spec.kind.exec().ok_or_else(|| other("run a program", "the load is none"))?;
    let scratch = program::make_folder()?;
    give_to_nobody(scratch.path())?;
    let words = load.words(|word| filled(word, &spec.targets, scratch.path()));
    let name = words.first().cloned().unwrap_or_default();
    let until = load.again_for().map(|span| Instant::now() + span.0);
    let mut found = RunTotals {
        reading: ExecFacts { reading: load.reading.clone(), runs: Vec::new() },
        name,
        ..RunTotals::new()
    };
    let mut in_a_row = 0;
    loop {
        let entry = exec::own(&words, false, &[], scratch.path())?.environment(&load.env);
        let ran = StartedProgram::start(entry.command()?).and_then(|running| running.wait(control, until));
        let ran = ran.map_err(|error| other(format!("run {}", found.name), error))?;
        let ended_early = ran.ended_by_us;
        if ran.aborted {
            break;
        }
        in_a_row = if found.add(ran) { 0 } else { in_a_row + 1 };
        (control.progress)(Progress { done: found.requests, errors: found.failed(), ..Progress::default() });
        let over = until.is_none_or(|until| Instant::now() >= until);
        if over || ended_early || in_a_row > MOST_FAILURES || control.abort.load(Ordering::Acquire) {
            break;
        }
    }
    Ok(found.into_result())
}

/// Replaces the placeholders of service and folder in a word. Of several targets the first gives address and port.
fn filled(word: &str, targets: &[SocketAddr], scratch: &Path) -> String {
    let all = targets.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
    let first = targets.first();
    let part = |of: fn(&SocketAddr) -> String| first.map(of).unwrap_or_default();
    word.replace("{to.address}", &part(|to| to.ip().to_string()))
        .replace("{to.port}", &part(|to| to.port().to_string()))
        .replace("{to}", &all)
        .replace("{scratch}", &scratch.to_string_lossy())
}

fn now_ns() -> io::Result<u64> {
    let time = clock_gettime(ClockId::CLOCK_MONOTONIC_RAW)?;
    Ok(time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64)
}

/// A running program.
struct StartedProgram {
    group: nix::unistd::Pid,
    start_ns: u64,
    stdout: JoinHandle<(Vec<u8>, bool)>,
    stderr: JoinHandle<Vec<u8>>,
    ended: Receiver<io::Result<(u64, ExitStatus, ResourceUsage)>>,
}

/// A program that has run.
struct FinishedRun {
    start_ns: u64,
    end_ns: u64,
    status: ExitStatus,
    usage: ResourceUsage,
    stdout: String,
    /// Whether the program wrote more than is kept.
    too_much: bool,
    stderr: String,
    /// Whether the agent asked the program to exit because the load's duration was over.
    ended_by_us: bool,
    /// Whether the agent killed the program because the load was aborted.
    aborted: bool,
}

impl StartedProgram {
    /// Starts the program. It dies with the thread that starts it, so the thread that waits must call this.
    fn start(mut command: Command) -> io::Result<Self> {
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        let start_ns = now_ns()?;
        let mut child = command.spawn()?;
        let group = child::group_of(&child);
        let (out, err) = (child.stdout.take(), child.stderr.take());
        let named = |name: &str| thread::Builder::new().name(name.into());
        let (sender, ended) = channel();
        let started = (|| {
            let stdout = named("stdout").spawn(move || beginning(out))?;
            let stderr = named("stderr").spawn(move || end(err))?;
            named("waiter").spawn(move || {
                // Without a receiver, the load was given up.
                drop(sender.send(wait(child)));
            })?;
            Ok((stdout, stderr))
        })();
        match started {
            Ok((stdout, stderr)) => Ok(Self { group, start_ns, stdout, stderr, ended }),
            Err(error) => {
                child::kill(group, Signal::SIGKILL);
                Err(error)
            }
        }
    }

    fn wait(self, control: &Control<'_>, until: Option<Instant>) -> io::Result<FinishedRun> {
        let (mut ended_by_us, mut aborted) = (false, false);
        let mut kill_at = None;
        let (end_ns, status, usage) = loop {
            match self.ended.recv_timeout(LOOK_EVERY) {
                Ok(ended) => break ended?,
                Err(RecvTimeoutError::Disconnected) => return Err(io::Error::other("nobody waits for it")),
                Err(RecvTimeoutError::Timeout) => {}
            }
            let now = Instant::now();
            if control.abort.load(Ordering::Acquire) {
                aborted = true;
                child::kill(self.group, Signal::SIGKILL);
            } else if kill_at.is_none() && until.is_some_and(|until| now >= until) {
                ended_by_us = true;
                kill_at = Some(now + GRACE);
                child::kill(self.group, Signal::SIGTERM);
            } else if kill_at.is_some_and(|at| now >= at) {
                child::kill(self.group, Signal::SIGKILL);
            }
        };
        let (stdout, too_much) = self.stdout.join().unwrap_or_default();
        let stderr = self.stderr.join().unwrap_or_default();
        Ok(FinishedRun {
            start_ns: self.start_ns,
            end_ns,
            status,
            usage,
            stdout: String::from_utf8_lossy(&stdout).into_owned(),
            too_much,
            stderr: String::from_utf8_lossy(&stderr).trim().to_owned(),
            ended_by_us,
            aborted,
        })
    }
}

/// Waits for the program's end; whatever it left behind ends with it, so that nobody holds its output open.
fn wait(child: Child) -> io::Result<(u64, ExitStatus, ResourceUsage)> {
    let group = child::group_of(&child);
    // A zombie keeps its number, so the kill hits no other group.
    while let Err(error) = waitid(Id::Pid(group), WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT) {
        if error != nix::errno::Errno::EINTR {
            return Err(error.into());
        }
    }
    let end_ns = now_ns()?;
    child::kill(group, Signal::SIGKILL);
    let ended = child.wait4()?;
    Ok((end_ns, ended.status, ended.rusage))
}

/// The beginning of what is read, and whether there was more.
fn beginning(from: Option<impl Read>) -> (Vec<u8>, bool) {
    let (mut kept, mut more) = (Vec::new(), false);
    each(from, |chunk| {
        let room = STDOUT_KEPT - kept.len();
        more |= chunk.len() > room;
        kept.extend_from_slice(&chunk[..chunk.len().min(room)]);
    });
    (kept, more)
}

/// The end of what is read.
fn end(from: Option<impl Read>) -> Vec<u8> {
    let mut kept = Vec::new();
    each(from, |chunk| {
        kept.extend_from_slice(chunk);
        kept.drain(..kept.len().saturating_sub(STDERR_KEPT));
    });
    kept
}

fn each(from: Option<impl Read>, mut chunk: impl FnMut(&[u8])) {
    let Some(mut from) = from else { return };
    let mut buffer = vec![0; 1 << 16];
    loop {
        match from.read(&mut buffer) {
            Ok(0) => return,
            Ok(read) => chunk(&buffer[..read]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return,
        }
    }
}

/// Sums over the runs.
struct RunTotals {
    name: String,
    reading: ExecFacts,
    /// Start of the first run and end of the last.
    span: Option<(u64, u64)>,
    requests: u64,
    errors: BTreeMap<ErrorKind, u64>,
    first_error: Option<String>,
    times: Vec<(u64, u64)>,
    intervals: Vec<Interval>,
    user: Duration,
    system: Duration,
}

impl RunTotals {
    fn new() -> Self {
        Self {
            name: String::new(),
            reading: ExecFacts::default(),
            span: None,
            requests: 0,
            errors: BTreeMap::new(),
            first_error: None,
            times: Vec::new(),
            intervals: Vec::new(),
            user: Duration::ZERO,
            system: Duration::ZERO,
        }
    }

    fn failed(&self) -> u64 {
        self.errors.values().sum()
    }

    /// Adds a run; says whether it went well.
    fn add(&mut self, ran: FinishedRun) -> bool {
        let read = self.reading.reading.read(&ran.stdout, &ran.stderr);
        if ran.ended_by_us && !self.reading.runs.is_empty() && read.is_err() {
            // A run that was cut short adds nothing to whole ones.
            return true;
        }
        self.user += ran.usage.utime;
        self.system += ran.usage.stime;
        let start = self.span.map_or(ran.start_ns, |(start, _)| start);
        self.span = Some((start, ran.end_ns));
        let wrong = if !ran.status.success() && !ran.ended_by_us {
            Some((ErrorKind::ExitStatus, format!("{}: {}{}", self.name, ran.status, quoted(&ran.stderr))))
        } else if ran.too_much {
            Some((ErrorKind::Unreadable, format!("{}: it printed more than {STDOUT_KEPT} bytes", self.name)))
        } else {
            let text = if ran.stderr.is_empty() { &ran.stdout } else { &ran.stderr };
            read.err().map(|why| (ErrorKind::Unreadable, format!("{}: {why}{}", self.name, quoted(text))))
        };
        let elapsed_ns = ran.end_ns.saturating_sub(ran.start_ns);
        let (requests, errors) = (u64::from(wrong.is_none()), u64::from(wrong.is_some()));
        let end_ns = ran.end_ns.saturating_sub(start);
        self.intervals.push(Interval { end_ns, requests, errors, ..Interval::default() });
        let mut ended = String::new();
        if let Some((kind, error)) = wrong {
            *self.errors.entry(kind).or_default() += 1;
            ended.clone_from(&error);
            self.first_error.get_or_insert(error);
        } else {
            self.requests += 1;
            self.times.push((elapsed_ns / 1000, 1));
        }
        let well = ended.is_empty();
        self.reading.runs.push(ExecRun { ended, stdout: ran.stdout, stderr: ran.stderr, elapsed_ns });
        well
    }

    fn into_result(self) -> LoadResult {
        let total = Histogram::of(self.times);
        let micros = |time: Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        let (start, end) = self.span.unwrap_or_default();
        LoadResult {
            started_ns: start,
            elapsed_ns: end.saturating_sub(start),
            requests: self.requests,
            errors: self.errors,
            first_error: self.first_error,
            latency: Latencies {
                percentiles: total.percentiles(),
                mean_us: (!total.is_empty()).then(|| total.mean()),
                total,
                ..Latencies::default()
            },
            intervals: self.intervals,
            user_us: micros(self.user),
            system_us: micros(self.system),
            threads: 1,
            facts: Some(self.reading.into()),
            ..LoadResult::default()
        }
    }
}

/// The end of what a program said.
fn quoted(text: &str) -> String {
    let text = text.trim();
    let start = text.char_indices().rev().nth(QUOTED).map_or(0, |(at, _)| at);
    if text.is_empty() { String::new() } else { format!("; its last words: {}", text[start..].trim()) }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use plimsoll_model::experiment::Metric;
    use plimsoll_model::reader::Reading;

    use super::*;

    fn sh(script: &str, until: Option<Duration>) -> FinishedRun {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        let control = Control { abort: &AtomicBool::new(false), progress: &|_| {}, every: LOOK_EVERY };
        StartedProgram::start(command)
            .and_then(|it| it.wait(&control, until.map(|time| Instant::now() + time)))
            .unwrap()
    }

    fn found(pattern: &str, runs: Vec<FinishedRun>) -> LoadResult {
        let metrics = serde_json::from_value(serde_json::json!({ "rate": { "regex": pattern } })).unwrap();
        let reading = ExecFacts { reading: Reading { reads: None, metrics }, runs: Vec::new() };
        let mut found = RunTotals { name: "sh".into(), reading, ..RunTotals::new() };
        for ran in runs {
            found.add(ran);
        }
        found.into_result()
    }

    #[test]
    fn what_a_program_prints_is_kept_and_its_cpu_time_is_counted_with_that_of_its_children() {
        let busy = "i=0; while [ $i -lt 40000 ]; do i=$((i+1)); done";
        let ran = sh(&format!("({busy}) & wait; echo rate 12; echo warned >&2"), None);
        let result = found("rate ([0-9]+)", vec![ran]);
        let facts = result.found::<ExecFacts>().unwrap();
        assert_eq!((facts.runs[0].stdout.as_str(), facts.runs[0].stderr.as_str()), ("rate 12\n", "warned"));
        assert_eq!((result.requests, result.failed()), (1, 0));
        assert_eq!(facts_rate(&result), Some(12.0));
        let cpu_ns = (result.user_us + result.system_us) * 1000;
        assert!(cpu_ns > 0 && cpu_ns < 2 * result.elapsed_ns, "{cpu_ns} of {}", result.elapsed_ns);
    }

    fn facts_rate(result: &LoadResult) -> Option<f64> {
        let rate = result.facts.as_ref().and_then(|facts| facts.rate());
        rate.and_then(|metric: Metric| metric.of(result))
    }

    #[test]
    fn a_run_that_fails_or_cannot_be_read_is_a_failure_in_words() {
        let result =
            found("rate ([0-9]+)", vec![sh("echo no such table >&2; exit 3", None), sh("echo fine", None)]);
        assert_eq!(result.errors, [(ErrorKind::ExitStatus, 1), (ErrorKind::Unreadable, 1)].into());
        let first = result.first_error.unwrap();
        assert!(first.contains('3') && first.ends_with("its last words: no such table"), "{first}");
        assert_eq!(result.requests, 0);
    }

    #[test]
    fn a_program_that_goes_on_gets_a_signal_and_its_output_until_then_counts() {
        let goes_on = "trap 'echo rate 7; exit 1' TERM; while :; do sleep 0.02; done";
        let ran = sh(goes_on, Some(Duration::from_millis(200)));
        assert!(ran.ended_by_us && !ran.aborted);
        assert_eq!(facts_rate(&found("rate ([0-9]+)", vec![ran])), Some(7.0));
        let leaves = sh("sleep 100 & echo rate 1", None);
        assert!(leaves.end_ns - leaves.start_ns < 50_000_000_000, "what it left behind is not waited for");
    }

    #[test]
    fn words_are_filled_with_what_is_aimed_at() {
        let targets = ["10.0.0.6:80", "10.0.0.7:81"].map(|to| to.parse().unwrap());
        let filled = |word| filled(word, &targets, Path::new("/s"));
        assert_eq!(filled("http://{to.address}:{to.port}/"), "http://10.0.0.6:80/");
        assert_eq!(
            (filled("{to}"), filled("{scratch}/x")),
            ("10.0.0.6:80,10.0.0.7:81".into(), "/s/x".into())
        );
    }
}
