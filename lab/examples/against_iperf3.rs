//! Compares bulk TCP and UDP with iperf3, in alternation, over a veth pair between two network namespaces. As root:
//!
//! `against_iperf3 [rounds=7] [seconds=3] [by=write|sendfile|...] [take=discard|copy] [chunk=SIZE] [before=FOLDER] [udp]`
//!
//! Without `chunk` the blocks are those that Plimsoll chooses; iperf3's have 128 KB. With `before`, an earlier build in FOLDER takes iperf3's place.
//!
//! CPU time is that of both processes, server and client, as the kernel counts it (wait4(2)).

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use plimsoll_lab::load::{cpu_seconds, programs};
use plimsoll_lab::pairs::Outcome;
use plimsoll_lab::rounds::ratio;
use wait4::{ResUse, Wait4};

/// The address of the server's end of the pair.
const SERVER: &str = "10.203.7.1";
/// The length of a UDP datagram in bytes.
const DATAGRAM: u32 = 1448;
/// Time for a server to begin to listen.
const GRACE: Duration = Duration::from_millis(300);

/// Result of a tool: bits (or datagrams) per second, and per CPU second of both ends.
#[derive(Clone, Copy)]
struct Figure {
    rate: f64,
    per_cpu_second: f64,
}

struct Settings {
    rounds: u32,
    seconds: f64,
    by: String,
    take: String,
    chunk: Option<String>,
    before: Option<PathBuf>,
    udp: bool,
}

fn main() -> Outcome<()> {
    let settings = settings(std::env::args().skip(1))?;
    let (pair, programs) = (Pair::make()?, programs()?);
    let (mut rates, mut work) = ([Vec::new(), Vec::new()], [Vec::new(), Vec::new()]);
    for round in 1..=settings.rounds {
        let ours = || ours(&programs, &pair, &settings);
        let theirs = || match &settings.before {
            Some(before) => self::ours(before, &pair, &settings),
            None => iperf3(&pair, &settings),
        };
        let (theirs, ours) = if round % 2 == 0 {
            let ours = ours()?;
            (theirs()?, ours)
        } else {
            (theirs()?, ours()?)
        };
        println!(
            "{round}: theirs {:.3e}/s, {:.3e} per CPU second; ours {:.3e}/s, {:.3e} per CPU second",
            theirs.rate, theirs.per_cpu_second, ours.rate, ours.per_cpu_second
        );
        rates[0].push(ours.rate);
        rates[1].push(theirs.rate);
        work[0].push(ours.per_cpu_second);
        work[1].push(theirs.per_cpu_second);
    }
    let kind = if settings.udp {
        "UDP".into()
    } else {
        format!("{}, {}, {}", settings.by, settings.take, settings.chunk.as_deref().unwrap_or("default"))
    };
    for (figure, [ours, theirs]) in [("rate", &rates), ("per CPU second", &work)] {
        let row = format!("bulk {kind}, iperf3, {figure}");
        println!("median and range of ours/theirs: {figure} {}", ratio(&row, ours, theirs));
    }
    Ok(())
}

fn settings(arguments: impl Iterator<Item = String>) -> Outcome<Settings> {
    let mut settings = Settings {
        rounds: 7,
        seconds: 3.0,
        by: "sendfile".into(),
        take: "discard".into(),
        chunk: None,
        before: None,
        udp: false,
    };
    for argument in arguments {
        match argument.split_once('=') {
            None if argument == "udp" => settings.udp = true,
            Some(("rounds", value)) => settings.rounds = value.parse()?,
            Some(("seconds", value)) => settings.seconds = value.parse()?,
            Some(("by", value)) => settings.by = value.into(),
            Some(("take", value)) => settings.take = value.into(),
            Some(("chunk", value)) => settings.chunk = Some(value.into()),
            Some(("before", value)) => settings.before = Some(value.into()),
            _ => return Err(format!("there is no flag `{argument}`").into()),
        }
    }
    Ok(settings)
}

/// Two namespaces and the link between them; both go when this is dropped.
struct Pair {
    server: String,
    client: String,
}

impl Pair {
    fn make() -> Outcome<Self> {
        let id = std::process::id();
        let pair = Self { server: format!("bench-{id}-s"), client: format!("bench-{id}-c") };
        let (server, client) = (&pair.server, &pair.client);
        for line in [
            format!("netns add {server}"),
            format!("netns add {client}"),
            format!("-n {server} link add v0 type veth peer name v0 netns {client}"),
            format!("-n {server} addr add {SERVER}/24 dev v0"),
            format!("-n {client} addr add 10.203.7.2/24 dev v0"),
            format!("-n {server} link set v0 up"),
            format!("-n {client} link set v0 up"),
        ] {
            ip(&line)?;
        }
        Ok(pair)
    }
}

impl Drop for Pair {
    fn drop(&mut self) {
        for namespace in [&self.server, &self.client] {
            // The namespace may not exist.
            ip(&format!("netns del {namespace}")).ok();
        }
    }
}

fn ip(line: &str) -> Outcome<()> {
    let status = Command::new("ip").args(line.split(' ')).status()?;
    if status.success() { Ok(()) } else { Err(format!("`ip {line}` failed").into()) }
}

/// A command in a namespace. `ip` becomes the program, so its process id and its CPU time are the program's.
fn within(namespace: &str, program: &str, arguments: &[String]) -> Command {
    let mut command = Command::new("ip");
    command.args(["netns", "exec", namespace, program]).args(arguments).stdin(Stdio::null());
    command
}

fn iperf3(pair: &Pair, settings: &Settings) -> Outcome<Figure> {
    let words = |line: &str| line.split(' ').map(ToOwned::to_owned).collect::<Vec<_>>();
    let server = within(&pair.server, "iperf3", &words("-s -1")).stdout(Stdio::null()).spawn()?;
    sleep(GRACE);
    let mut line = format!("-c {SERVER} -t {} -J", settings.seconds);
    if settings.udp {
        line.push_str(&format!(" -u -b 0 -l {DATAGRAM}"));
    }
    let mut client = within(&pair.client, "iperf3", &words(&line)).stdout(Stdio::piped()).spawn()?;
    let text = std::io::read_to_string(client.stdout.take().ok_or("no output")?)?;
    let cpu = cpu_seconds(&client.wait4()?) + cpu_seconds(&server.wait4()?);
    let report: serde_json::Value = serde_json::from_str(&text)?;
    let number = |path: &str| report.pointer(path).and_then(serde_json::Value::as_f64).ok_or(path.to_owned());
    let (amount, seconds) = if settings.udp {
        let (sent, lost) = (number("/end/sum/packets")?, number("/end/sum/lost_packets")?);
        (sent - lost, number("/end/sum/seconds")?)
    } else {
        (8.0 * number("/end/sum_received/bytes")?, number("/end/sum_received/seconds")?)
    };
    Ok(Figure { rate: amount / seconds, per_cpu_second: amount / cpu })
}

fn ours(programs: &Path, pair: &Pair, settings: &Settings) -> Outcome<Figure> {
    let bulk = serde_json::json!({ "take": settings.take, "chunk": settings.chunk });
    let spec = serde_json::json!({
        "name": "bulk", "listen": ["0.0.0.0:5300"], "to": [], "kind": { "bulk": bulk }, "ready": {}, "privileged": false
    });
    let mut process = within(&pair.server, &program(programs, "serve")?, &[spec.to_string()])
        .stdout(Stdio::piped())
        .spawn()?;
    let stdout = process.stdout.take().ok_or("no output")?;
    let mut server = Process(Some(process));
    // It prints its addresses and an empty line when it listens.
    for line in BufReader::new(stdout).lines() {
        if line?.is_empty() {
            break;
        }
    }
    let mut arguments = vec![format!("{SERVER}:5300"), format!("seconds={}", settings.seconds)];
    if settings.udp {
        arguments.extend(["udp".to_owned(), format!("size={DATAGRAM}")]);
    } else {
        arguments.push(format!("by={}", settings.by));
        arguments.extend(settings.chunk.as_ref().map(|chunk| format!("chunk={chunk}")));
    }
    let mut client =
        within(&pair.client, &program(programs, "bulk")?, &arguments).stdout(Stdio::piped()).spawn()?;
    let text = std::io::read_to_string(client.stdout.take().ok_or("no output")?)?;
    let client_cpu = cpu_seconds(&client.wait4()?);
    let cpu = client_cpu + cpu_seconds(&server.end()?);
    let field = |name: &str, unit: &str| -> Outcome<f64> {
        let line = text.lines().find(|line| line.starts_with(name)).ok_or(format!("no {name} in {text}"))?;
        let words: Vec<&str> = line.split_whitespace().collect();
        let at = words.iter().position(|word| *word == unit).ok_or(format!("no {unit} in {line}"))?;
        Ok(words[at - 1].parse()?)
    };
    let seconds = field("elapsed", "s")?;
    let rate = match settings.udp {
        true => field("datagrams", "received/s")?,
        false => field("rate", "Gbit/s")? * 1e9,
    };
    Ok(Figure { rate, per_cpu_second: rate * seconds / cpu })
}

/// A process that is ended on drop.
struct Process(Option<Child>);

impl Process {
    /// Ends it, and returns its resource usage.
    fn end(&mut self) -> Outcome<ResUse> {
        let mut process = self.0.take().ok_or("it has ended already")?;
        process.kill()?;
        Ok(process.wait4()?)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // After an error the usage does not matter, and the process may have ended already.
        drop(self.end());
    }
}

/// A program of a build of the lab.
fn program(programs: &Path, name: &str) -> Outcome<String> {
    let path = programs.join(name);
    match path.exists() {
        true => Ok(path.display().to_string()),
        false => Err(format!("{} is missing: build the whole lab", path.display()).into()),
    }
}
