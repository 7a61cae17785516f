//! Replays the recorded messages of a real agent, so that tests can run a controller with more agents than fit on one
//! machine:
//!
//! ```text
//! recorded_agent record FILE COMMAND...    runs an agent, and writes down what it and its controller say
//! recorded_agent replay FILE               answers as that agent did, after as long, with the times and the numbers of now
//! recorded_agent replay FILE MS AHEAD      the same, and after MS milliseconds its clock is AHEAD seconds ahead
//! ```
//!
//! Pings are answered by the clock of this machine. The replay ends at a request that was not recorded.

use std::collections::{BTreeMap, VecDeque};
use std::error::Error;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use nix::time::{ClockId, clock_gettime};
use plimsoll_model::frame::{self, FromAgent, ToAgent};
use serde::{Deserialize, Serialize};
use serde_json::Value;

type Failed = Box<dyn Error + Send + Sync>;

/// Message of one side, with its time by CLOCK_MONOTONIC_RAW in nanoseconds.
#[derive(Clone, Deserialize, Serialize)]
struct Message {
    ns: u64,
    #[serde(flatten)]
    frame: Frame,
}

#[derive(Clone, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
enum Frame {
    Exchange(Value),
    Answered(Value),
}

fn main() -> Result<(), Failed> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["record", file, program, args @ ..] => record(file, Command::new(program).args(args)),
        ["replay", file] => replay(Recording::read(file)?, Jump::default()),
        ["replay", file, after, ahead] => {
            let at_ns = now_ns() + after.parse::<u64>()? * 1_000_000;
            replay(Recording::read(file)?, Jump { at_ns, ahead_ns: ahead.parse::<u64>()? * 1_000_000_000 })
        }
        _ => Err("usage: recorded_agent record FILE COMMAND... | replay FILE [MS AHEAD]".into()),
    }
}

fn now_ns() -> u64 {
    clock_gettime(ClockId::CLOCK_MONOTONIC_RAW)
        .map_or(0, |now| now.tv_sec() as u64 * 1_000_000_000 + now.tv_nsec() as u64)
}

/// When the clock of the agent that is stood in for jumps, and how far.
#[derive(Clone, Copy, Default)]
struct Jump {
    at_ns: u64,
    ahead_ns: u64,
}

impl Jump {
    /// What that clock shows.
    fn now_ns(self) -> u64 {
        let now = now_ns();
        if now < self.at_ns { now } else { now + self.ahead_ns }
    }
}

/// Passes on what both sides say, and writes it down.
fn record(file: &str, command: &mut Command) -> Result<(), Failed> {
    let mut agent = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let (to, from) = (agent.stdin.take().ok_or("no stdin")?, agent.stdout.take().ok_or("no stdout")?);
    let written = Arc::new(Mutex::new(File::create(file)?));
    let asks = Arc::clone(&written);
    thread::spawn(move || pass_on(io::stdin(), to, |frame| note(&asks, Frame::Exchange(frame.clone()))));
    pass_on(from, io::stdout(), |frame| note(&written, Frame::Answered(frame.clone())))?;
    agent.wait()?;
    Ok(())
}

fn pass_on(
    mut from: impl Read,
    mut to: impl Write,
    mut note: impl FnMut(&Value) -> Result<(), Failed>,
) -> Result<(), Failed> {
    while let Some(said) = frame::read::<Value>(&mut from)? {
        // Written down first: an answer must not precede its request in the file.
        note(&said)?;
        frame::write(&mut to, &said)?;
    }
    Ok(())
}

fn note(file: &Mutex<File>, frame: Frame) -> Result<(), Failed> {
    let mut line = serde_json::to_vec(&Message { ns: now_ns(), frame })?;
    line.push(b'\n');
    file.lock().unwrap_or_else(PoisonError::into_inner).write_all(&line)?;
    Ok(())
}

/// The name of a frame.
fn name(frame: &Value) -> &str {
    frame.as_object().and_then(|frame| frame.keys().next()).map_or("", String::as_str)
}

/// What names the request that a frame is, or answers.
fn id(frame: &Value) -> Option<&Value> {
    let body = &frame[name(frame)];
    match body {
        Value::Array(parts) => parts.first(),
        Value::Number(_) => Some(body),
        _ => body.get("id"),
    }
}

/// A request, and what was answered to it.
struct Exchange {
    /// When its answers count from: when it came, or was to begin.
    from_ns: u64,
    request: Value,
    answers: Vec<(u64, Value)>,
}

/// Requests of each name in the order in which they came.
struct Recording(BTreeMap<String, VecDeque<Exchange>>);

fn begins(request: &Value, came_ns: u64) -> u64 {
    request[name(request)]["at_ns"].as_u64().unwrap_or(came_ns)
}

impl Recording {
    fn read(file: &str) -> Result<Self, Failed> {
        let mut asked: Vec<Exchange> = Vec::new();
        for line in BufReader::new(File::open(file)?).lines() {
            let Message { ns, frame } = serde_json::from_str(&line?)?;
            match frame {
                Frame::Exchange(request) => {
                    let from_ns = begins(&request, ns);
                    asked.push(Exchange { from_ns, request, answers: Vec::new() });
                }
                Frame::Answered(answer) => {
                    let to = answers(&answer);
                    let asks = |asked: &&mut Exchange| {
                        to.contains(&name(&asked.request))
                            || to.is_empty() && id(&asked.request) == id(&answer)
                    };
                    if let Some(asked) = asked.iter_mut().rev().find(asks) {
                        asked.answers.push((ns, answer));
                    }
                }
            }
        }
        let mut by_name: BTreeMap<String, VecDeque<Exchange>> = BTreeMap::new();
        for asked in asked {
            by_name.entry(name(&asked.request).to_owned()).or_default().push_back(asked);
        }
        Ok(Self(by_name))
    }

    /// The next request of this name, which comes round again after the last.
    fn next(&mut self, request: &Value) -> Option<&Exchange> {
        let same = self.0.get_mut(name(request))?;
        let asks_for_samples = |request: &Value| request["sample"]["hz"] != 0;
        for _ in 0..same.len() {
            same.rotate_left(1);
            let is_alike =
                same.back().is_some_and(|it| asks_for_samples(&it.request) == asks_for_samples(request));
            if is_alike {
                break;
            }
        }
        same.back()
    }
}

/// Which request an answer belongs to that has no number; empty if it has one.
fn answers(answer: &Value) -> &'static [&'static str] {
    match name(answer) {
        "here" => &["greet"],
        "pong" => &["ping"],
        "welcome" => &["hello"],
        "samples" | "sampled" => &["sample"],
        _ => &[],
    }
}

/// Puts the numbers and times of now in place of those of then.
fn renew(value: &mut Value, ahead_ns: i64) {
    match value {
        Value::Object(fields) => {
            for (key, field) in fields {
                match (matches!(key.as_str(), "at_ns" | "started_ns"), field.as_i64()) {
                    (true, Some(then)) => *field = Value::from(then + ahead_ns),
                    _ => renew(field, ahead_ns),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| renew(item, ahead_ns)),
        _ => {}
    }
}

fn answer(recorded: &Exchange, request: &Value, came_ns: u64) -> Vec<(u64, Value)> {
    let from_ns = begins(request, came_ns);
    let ahead_ns = from_ns as i64 - recorded.from_ns as i64;
    let answered = recorded.answers.iter().map(|(then, answer)| {
        let mut answer = answer.clone();
        renew(&mut answer, ahead_ns);
        let name = name(&answer).to_owned();
        if let Some(id) = id(request) {
            match &mut answer[&name] {
                Value::Array(parts) => parts[0] = id.clone(),
                Value::Object(fields) if fields.contains_key("id") => {
                    fields.insert("id".into(), id.clone());
                }
                _ => {}
            }
        }
        ((*then as i64 + ahead_ns).max(0) as u64, answer)
    });
    answered.collect()
}

/// Says what is due when it is.
fn say_in_time(say: &Mutex<impl Write>, inbox: &mpsc::Receiver<(u64, Value)>) -> io::Result<()> {
    let mut due: Vec<(u64, Value)> = Vec::new();
    loop {
        let next = due.first().map_or(u64::MAX, |(at, _)| at.saturating_sub(now_ns()));
        match inbox.recv_timeout(Duration::from_nanos(next.min(3_600_000_000_000))) {
            Ok(more) => {
                due.push(more);
                due.sort_by_key(|(at, _)| *at);
            }
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
            Err(RecvTimeoutError::Timeout) => {}
        }
        while due.first().is_some_and(|(at, _)| *at <= now_ns()) {
            frame::write(&mut *say.lock().unwrap_or_else(PoisonError::into_inner), &due.remove(0).1)?;
        }
    }
}

fn replay(mut recording: Recording, jump: Jump) -> Result<(), Failed> {
    let say = Arc::new(Mutex::new(io::stdout()));
    let (later, inbox) = mpsc::channel();
    let says = Arc::clone(&say);
    thread::spawn(move || say_in_time(&says, &inbox));
    let mut asks = io::stdin();
    while let Some(request) = frame::read::<Value>(&mut asks)? {
        let came = now_ns();
        if let Ok(ToAgent::Ping { number }) = serde_json::from_value(request.clone()) {
            let received_ns = jump.now_ns();
            let pong = FromAgent::Pong { number, received_ns, answered_ns: jump.now_ns() };
            frame::write(&mut *say.lock().unwrap_or_else(PoisonError::into_inner), &pong)?;
            continue;
        }
        let recorded =
            recording.next(&request).ok_or_else(|| format!("no `{}` was recorded", name(&request)))?;
        for due in answer(recorded, &request, came) {
            later.send(due)?;
        }
    }
    Ok(())
}
