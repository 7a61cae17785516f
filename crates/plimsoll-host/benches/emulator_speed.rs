//! Capacity of an emulator, and accuracy of its delays: `cargo bench -p plimsoll-host --bench emulator_speed [-- SECONDS]`.
//!
//! Two hosts, and an emulator between them. For the rate, one host sends datagrams as fast as it can, of a small and of a large size, and the other
//! counts arrivals. For the delay, datagrams go to and fro one at a time; the time over a link without delay is subtracted.

use std::io::{self, BufRead, BufReader, Write};
use std::net::{SocketAddr, UdpSocket};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use plimsoll_host::{AgentStderr, HostError, HostSpec, LinkShape, LinkSpec, Pipes, Rig, RigSpec};
use plimsoll_model::experiment::{HostKind, LinkShaper};

/// The argument that makes this program an agent.
const AGENT: &str = "bench-agent";
const PORT: u16 = 9;
/// Number of datagrams that go to and fro for one delay.
const PINGS: u32 = 1000;

fn main() -> ExitCode {
    if let Some(code) = plimsoll_host::stage(std::env::args_os()) {
        return code;
    }
    let done = if std::env::args().nth(1).as_deref() == Some(AGENT) {
        agent()
    } else {
        let seconds = std::env::args().skip(1).find_map(|a| a.parse().ok()).unwrap_or(2);
        measure(seconds).map_err(io::Error::other)
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Answers one line for each line, until there are no more.
fn agent() -> io::Result<()> {
    let mut out = io::stdout();
    for line in io::stdin().lines() {
        let line = line?;
        let words: Vec<&str> = line.split(' ').collect();
        let answer = match words[..] {
            ["count", seconds] => count(number(seconds)?)?,
            ["echo", seconds] => echo(number(seconds)?)?,
            ["pour", to, size, seconds] => pour(address(to)?, number(size)? as usize, number(seconds)?)?,
            ["ping", to, times] => ping(address(to)?, number(times)?)?,
            _ => format!("what is {line}?"),
        };
        writeln!(out, "{answer}")?;
        out.flush()?;
    }
    Ok(())
}

fn number(word: &str) -> io::Result<u64> {
    word.parse().map_err(io::Error::other)
}

fn address(word: &str) -> io::Result<SocketAddr> {
    word.parse().map_err(io::Error::other)
}

/// Counts datagrams for `seconds` seconds from the first one on, and a little longer for those in flight.
fn count(seconds: u64) -> io::Result<String> {
    let socket = UdpSocket::bind(("0.0.0.0", PORT))?;
    let mut buffer = [0; 2048];
    socket.recv(&mut buffer)?;
    let (began, mut number) = (Instant::now(), 1_u64);
    while began.elapsed() < Duration::from_secs(seconds) {
        socket.recv(&mut buffer)?;
        number += 1;
    }
    Ok(format!("{:.0}", number as f64 / began.elapsed().as_secs_f64()))
}

/// Echoes datagrams until none came for `seconds` seconds.
fn echo(seconds: u64) -> io::Result<String> {
    let socket = UdpSocket::bind(("0.0.0.0", PORT))?;
    socket.set_read_timeout(Some(Duration::from_secs(seconds)))?;
    let mut buffer = [0; 2048];
    while let Ok((length, from)) = socket.recv_from(&mut buffer) {
        socket.send_to(&buffer[..length], from)?;
    }
    Ok("quiet".into())
}

/// Sends datagrams of a size as fast as possible, for `seconds` seconds and one more.
fn pour(to: SocketAddr, size: usize, seconds: u64) -> io::Result<String> {
    let socket = UdpSocket::bind("0.0.0.0:0")?;
    let (datagram, began, mut sent) = (vec![0; size], Instant::now(), 0_u64);
    while began.elapsed() < Duration::from_secs(seconds + 1) {
        // A full queue, or a neighbour that is not there yet, drops it.
        sent += u64::from(socket.send_to(&datagram, to).is_ok());
    }
    Ok(format!("{:.0}", sent as f64 / began.elapsed().as_secs_f64()))
}

/// The round-trip times of `times` datagrams in nanoseconds, sorted.
fn ping(to: SocketAddr, times: u64) -> io::Result<String> {
    let socket = UdpSocket::bind("0.0.0.0:0")?;
    socket.set_read_timeout(Some(Duration::from_millis(500)))?;
    let mut took = Vec::new();
    let mut buffer = [0; 64];
    for _ in 0..times {
        let began = Instant::now();
        socket.send_to(&[0; 64], to)?;
        if socket.recv(&mut buffer).is_ok() {
            took.push(began.elapsed().as_nanos());
        }
    }
    took.sort_unstable();
    let words: Vec<String> = took.iter().map(ToString::to_string).collect();
    Ok(words.join(" "))
}

/// A rig of two hosts, with the pipes of their agents.
struct Pair {
    rig: Rig,
    ends: [(std::process::ChildStdin, BufReader<std::process::ChildStdout>); 2],
    to: SocketAddr,
}

impl Pair {
    fn new(delay: Duration) -> Result<Self, HostError> {
        let shape = LinkShape { delay_ns: delay.as_nanos() as u64, ..LinkShape::default() };
        let shaper = Some(LinkShaper::Emulator);
        let link = LinkSpec { shape: [shape.clone(), shape], shaper, ..LinkSpec::new("a", "b") };
        let program = std::env::current_exe()
            .map_err(|source| HostError::Process { operation: "finding this program", source })?;
        let mut rig = Rig::build(&RigSpec {
            hosts: ["a", "b"].map(|name| HostSpec::new(name, HostKind::Namespace)).into(),
            links: vec![link],
            volumes: Vec::new(),
            program,
            args: vec![AGENT.into()],
            stderr: AgentStderr::Inherit,
            supervisor: None,
        })?;
        let to = SocketAddr::new(rig.address_towards("a", "b")?, PORT);
        let mut end =
            |host| rig.pipes(host).map(|Pipes { stdin, stdout, .. }| (stdin, BufReader::new(stdout)));
        let ends = [end("a")?, end("b")?];
        Ok(Self { rig, ends, to })
    }

    /// Sends a line to each, to the second host first, and returns their replies.
    fn both(&mut self, first: &str, second: &str) -> io::Result<[String; 2]> {
        writeln!(self.ends[1].0, "{second}")?;
        std::thread::sleep(Duration::from_millis(200));
        writeln!(self.ends[0].0, "{first}")?;
        let mut answers = [String::new(), String::new()];
        for (answer, (_, from)) in answers.iter_mut().zip(&mut self.ends) {
            from.read_line(answer)?;
        }
        Ok(answers.map(|answer| answer.trim().to_owned()))
    }
}

fn measure(seconds: u64) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    println!("{:?}", plimsoll_host::enter()?);
    println!(
        "| datagrams of | sent/s | carried/s by an emulator | by its own account at most | too late or lost |"
    );
    println!("| --- | --- | --- | --- | --- |");
    for size in [64, 1000] {
        let mut pair = Pair::new(Duration::from_millis(1))?;
        let to = pair.to;
        let [sent, carried] =
            pair.both(&format!("pour {to} {size} {seconds}"), &format!("count {seconds}"))?;
        let (_, counts) = pair.rig.emulators()?.remove(0);
        let most = counts.frames_per_second_at_most().unwrap_or_default();
        println!(
            "| {size} bytes | {sent} | {carried} | {most} | {} of {} |",
            counts.late + counts.overruns,
            counts.frames + counts.overruns
        );
    }
    println!("\n| delay each way | added, median | 99 % | most |\n| --- | --- | --- | --- |");
    let plain = there_and_back(Duration::ZERO)?;
    let none = plain[plain.len() / 2];
    for micros in [100, 500, 1000, 5000, 20_000] {
        let delay = Duration::from_micros(micros);
        let took = there_and_back(delay)?;
        let added = |n: usize| (took[n] - none) / 2.0 - micros as f64;
        let last = took.len() - 1;
        println!(
            "| {delay:?} | {:+.1} µs | {:+.1} µs | {:+.1} µs |",
            added(last / 2),
            added(last * 99 / 100),
            added(last)
        );
    }
    println!("round trip over a link without an emulator: {none:.1} µs, median");
    Ok(())
}

/// The round-trip times over a link with this delay, in microseconds, sorted.
fn there_and_back(delay: Duration) -> Result<Vec<f64>, Box<dyn std::error::Error + Send + Sync>> {
    let mut pair = Pair::new(delay)?;
    let times = PINGS.min(5_000_000 / (delay.as_micros() as u32).max(5000));
    let to = pair.to;
    let [reply, _] = pair.both(&format!("ping {to} {times}"), "echo 1")?;
    let took: Vec<f64> =
        reply.split_whitespace().filter_map(|word| word.parse::<f64>().ok()).map(|ns| ns / 1e3).collect();
    if took.len() < 2 { Err("no datagram came back".into()) } else { Ok(took) }
}
