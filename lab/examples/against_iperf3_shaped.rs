//! Compares the rates of TCP and of UDP with those of iperf3, in alternation, over the same shaped links:
//!
//! `against_iperf3_shaped PROGRAMS [ROUNDS] [SECONDS]`, where PROGRAMS is the folder with `serve` and `bulk` of the lab.
//!
//! Each link is an emulator between two hosts. Both tools send over it from the same host to the same host; rates are of what arrived, without
//! headers. Ratios are medians over rounds, with their range.

use std::io::{self, BufRead, BufReader, Write};
use std::process::{ChildStdin, ChildStdout, ExitCode};
use std::thread::sleep;
use std::time::Duration;

use plimsoll_host::{AgentStderr, HostSpec, LinkShape, LinkSpec, Pipes, Rig, RigSpec};
use plimsoll_lab::rounds::{median, ratio};
use plimsoll_model::experiment::HostKind;
use plimsoll_model::units::QueueLength;

type Outcome<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// The length of a datagram in bytes.
const DATAGRAM: u64 = 1448;
/// Last line of a command's output.
const END: &str = "end of output";
/// Time for servers to begin to listen.
const GRACE: Duration = Duration::from_secs(1);

fn main() -> ExitCode {
    if let Some(code) = plimsoll_host::stage(std::env::args_os()) {
        return code;
    }
    match compare() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn compare() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let programs = arguments.first().ok_or("the folder of the programs is missing")?;
    let number = |place: usize, usual: u32| arguments.get(place).map_or(Ok(usual), |word| word.parse());
    let (rounds, seconds) = (number(1, 5)?, number(2, 3)?);
    plimsoll_host::enter()?;
    println!("| Mbit/s | round trip, ms | loss, % | protocol | ours/iperf3 | iperf3, Mbit/s |");
    println!("| --- | --- | --- | --- | --- | --- |");
    for (megabits, delay_ms, loss) in [(10, 5, 0.0), (50, 10, 0.0), (100, 1, 0.0), (50, 10, 0.001)] {
        let mut pair = Pair::new(megabits, delay_ms, loss, programs)?;
        for udp in [false, true] {
            let mut rates = [const { Vec::new() }; 2];
            for round in 0..rounds {
                for place in if round % 2 == 0 { [0, 1] } else { [1, 0] } {
                    // Twice the link's capacity, so that arrivals show the capacity.
                    let offered = udp.then_some(2_000_000 * megabits);
                    rates[place].push(if place == 0 {
                        pair.ours(seconds, offered)?
                    } else {
                        pair.iperf3(seconds, offered)?
                    });
                }
            }
            let [ours, theirs] = &rates;
            println!(
                "| {megabits} | {} | {} | {} | {} | {:.2} |",
                2 * delay_ms,
                100.0 * loss,
                if udp { "UDP" } else { "TCP" },
                ratio(&format!("{megabits} Mbit/s, loss {loss}, udp {udp}, iperf3"), ours, theirs),
                median(theirs) / 1e6
            );
        }
    }
    Ok(())
}

/// Two hosts with a shell in each, the servers of both tools on the second.
struct Pair {
    to: String,
    programs: String,
    shell: (ChildStdin, BufReader<ChildStdout>),
    /// Their shell ends with these.
    _servers: ChildStdin,
    _rig: Rig,
}

impl Pair {
    fn new(megabits: u64, delay_ms: u64, loss: f64, programs: &str) -> Outcome<Self> {
        let shape = LinkShape {
            rate_bits: Some(1_000_000 * megabits),
            delay_ns: 1_000_000 * delay_ms,
            queue: QueueLength::Packets(200),
            ..LinkShape::default()
        };
        let there = LinkShape { loss, ..shape.clone() };
        let mut rig = Rig::build(&RigSpec {
            hosts: ["client", "server"].map(|name| HostSpec::new(name, HostKind::Namespace)).into(),
            links: vec![LinkSpec { shape: [there, shape], ..LinkSpec::new("client", "server") }],
            volumes: Vec::new(),
            program: "sh".into(),
            args: Vec::new(),
            stderr: AgentStderr::Inherit,
            supervisor: None,
        })?;
        let to = rig.address_towards("client", "server")?.to_string();
        let Pipes { stdin: mut servers, .. } = rig.pipes("server")?;
        let bulk = r#"{"name":"bulk","listen":["0.0.0.0:5300"],"to":[],"kind":{"bulk":{}},"ready":{},"privileged":false}"#;
        writeln!(servers, "iperf3 -s >/dev/null 2>&1 </dev/null &")?;
        writeln!(servers, "{programs}/serve '{bulk}' >/dev/null </dev/null &")?;
        sleep(GRACE);
        let Pipes { stdin, stdout, .. } = rig.pipes("client")?;
        let shell = (stdin, BufReader::new(stdout));
        Ok(Self { to, programs: programs.to_owned(), shell, _servers: servers, _rig: rig })
    }

    /// Output of a command on the client.
    fn output(&mut self, command: &str) -> io::Result<String> {
        writeln!(self.shell.0, "{command} </dev/null; echo; echo '{END}'")?;
        let mut text = String::new();
        loop {
            let before = text.len();
            if self.shell.1.read_line(&mut text)? == 0 || text[before..].trim() == END {
                return Ok(text);
            }
        }
    }

    /// Bits of data per second that arrived; `offered` bits per second are sent over UDP.
    fn ours(&mut self, seconds: u32, offered: Option<u64>) -> Outcome<f64> {
        let udp = offered
            .map_or_else(String::new, |rate| format!("udp size={DATAGRAM} rate={}", rate / (8 * DATAGRAM)));
        let command = format!("{}/bulk {}:5300 seconds={seconds} {udp}", self.programs, self.to);
        let text = self.output(&command)?;
        Ok(before(&text, " Gbit/s")? * 1e9)
    }

    fn iperf3(&mut self, seconds: u32, offered: Option<u64>) -> Outcome<f64> {
        let udp = offered.map_or_else(String::new, |rate| format!("-u -b {rate} -l {DATAGRAM}"));
        let text = self.output(&format!("iperf3 -c {} -t {seconds} -J {udp}", self.to))?;
        if offered.is_none() {
            return after(&text, "\"sum_received\"", "\"bits_per_second\":");
        }
        let of = |name| after(&text, "\"sum\":", name);
        let arrived = of("\"packets\":")? - of("\"lost_packets\":")?;
        Ok(8.0 * DATAGRAM as f64 * arrived / of("\"seconds\":")?)
    }
}

/// The number that follows the last `place` and then `name`.
fn after(text: &str, place: &str, name: &str) -> Outcome<f64> {
    let missing = || format!("no {name} behind {place} in {text}");
    let rest = &text[text.rfind(place).ok_or_else(missing)?..];
    let rest = rest[rest.find(name).ok_or_else(missing)? + name.len()..].trim_start();
    let end = rest.find(|c: char| !"+-.eE0123456789".contains(c)).unwrap_or(rest.len());
    Ok(rest[..end].parse()?)
}

/// The number before a unit.
fn before(text: &str, unit: &str) -> Outcome<f64> {
    let rest = &text[..text.find(unit).ok_or_else(|| format!("no{unit} in {text}"))?];
    let word = rest.split_whitespace().next_back().ok_or("no number")?;
    Ok(word.parse()?)
}
