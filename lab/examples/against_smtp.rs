//! Measures the source and the sink for mail against those of Postfix, in turns:
//!
//! `against_smtp [rounds=7] [messages=20000] [sessions=20] [size=4096] [per_session=1] [before=FOLDER]`
//!
//! What counts is how many messages each gets done in a second of its own CPU time (user and system, wait4(2)). Both sources send to
//! `smtp-sink`; both sinks take from our source, and ours keeps its list. The sink runs on CPU 0, the source on CPU 1. A round runs each
//! once, in an order that changes. The table has the median over rounds of `ours / theirs`, round by round, and the range. With `before`, theirs are
//! those of an earlier build in FOLDER, and all run where this program may.

use std::error::Error;
use std::io::{BufRead, BufReader, Read};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::Pid;
use plimsoll_lab::load::{cpu_seconds, programs};
use plimsoll_lab::rounds::{median, ratio};
use wait4::Wait4;

type Failed = Box<dyn Error>;

const SINK_CPU: usize = 0;
const SOURCE_CPU: usize = 1;

struct Settings {
    rounds: usize,
    messages: u64,
    sessions: u32,
    size: u64,
    per_session: u64,
    before: Option<PathBuf>,
}

fn settings() -> Result<Settings, Failed> {
    let mut settings =
        Settings { rounds: 7, messages: 20_000, sessions: 20, size: 4096, per_session: 1, before: None };
    for argument in std::env::args().skip(1) {
        match argument.split_once('=') {
            Some(("rounds", value)) => settings.rounds = value.parse()?,
            Some(("messages", value)) => settings.messages = value.parse()?,
            Some(("sessions", value)) => settings.sessions = value.parse()?,
            Some(("size", value)) => settings.size = value.parse()?,
            Some(("per_session", value)) => settings.per_session = value.parse()?,
            Some(("before", value)) => settings.before = Some(value.into()),
            _ => return Err(format!("there is no flag `{argument}`").into()),
        }
    }
    Ok(settings)
}

impl Settings {
    /// The command on this CPU; against an earlier build where this program may run.
    fn pinned(&self, mut command: Command, cpu: usize) -> Command {
        if self.before.is_some() {
            return command;
        }
        let body = move || {
            let mut set = CpuSet::new();
            set.set(cpu)?;
            Ok(sched_setaffinity(Pid::from_raw(0), &set)?)
        };
        #[expect(unsafe_code, reason = "there is no safe way to pin a child from its first instruction on")]
        // SAFETY: between fork and exec the body makes one system call and allocates nothing.
        unsafe {
            command.pre_exec(body);
        }
        command
    }
}

/// A sink; it is killed when this is dropped.
struct Sink {
    /// None once it has ended.
    process: Option<Child>,
    address: SocketAddr,
}

impl Sink {
    fn theirs(settings: &Settings) -> Result<Self, Failed> {
        let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
        let mut command = Command::new("smtp-sink");
        command.args(["-u", "nobody", &format!("inet:{address}"), "1000"]).stderr(Stdio::null());
        let sink = Self { process: Some(settings.pinned(command, SINK_CPU).spawn()?), address };
        let end = Instant::now() + Duration::from_secs(5);
        while TcpStream::connect(address).is_err() {
            if Instant::now() > end {
                return Err("smtp-sink does not listen".into());
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(sink)
    }

    /// The sink of a build, which keeps its list in `folder`.
    fn ours(programs: &Path, folder: &Path, settings: &Settings) -> Result<Self, Failed> {
        let mut command = Command::new(programs.join("serve"));
        let folder = folder.display();
        command.arg(format!(
            r#"{{"name":"sink","listen":["127.0.0.1:0"],"to":[],"kind":{{"smtp_sink":{{}}}},"folder":"{folder}","ready":{{}},"privileged":false}}"#
        ));
        let mut process = settings.pinned(command, SINK_CPU).stdout(Stdio::piped()).spawn()?;
        let lines = BufReader::new(process.stdout.take().ok_or("no output")?).lines();
        // The addresses end with an empty line.
        let addresses = lines.take_while(|line| line.as_ref().is_ok_and(|line| !line.is_empty()));
        let addresses: Vec<String> = addresses.collect::<Result<_, _>>()?;
        Ok(Self { process: Some(process), address: addresses.first().ok_or("it does not listen")?.parse()? })
    }

    /// Ends it, and returns its seconds of CPU time.
    fn cpu(mut self) -> Result<f64, Failed> {
        let mut process = self.process.take().ok_or("it has ended")?;
        process.kill()?;
        Ok(cpu_seconds(&process.wait4()?))
    }
}

impl Drop for Sink {
    fn drop(&mut self) {
        if let Some(process) = &mut self.process {
            // It may have ended already.
            drop(process.kill());
            drop(process.wait());
        }
    }
}

/// Seconds of CPU time that a source takes for all messages: that of these programs of ours, or Postfix's.
fn source(ours: Option<&Path>, to: SocketAddr, settings: &Settings) -> Result<f64, Failed> {
    let Settings { messages, sessions, size, per_session, .. } = settings;
    let mut command;
    if let Some(programs) = ours {
        command = Command::new(programs.join("mail"));
        command.arg(to.to_string()).arg(format!("messages={messages}")).arg(format!("sessions={sessions}"));
        command.arg(format!("size={size}")).arg(format!("per_session={per_session}"));
    } else {
        command = Command::new("smtp-source");
        // With -d it keeps its sessions, else each carries one message.
        command.args(if *per_session == 1 { &[][..] } else { &["-d"] });
        command.args(["-s", &sessions.to_string(), "-m", &messages.to_string(), "-l", &size.to_string()]);
        command.args(["-f", "a@x.example", "-t", "b@x.example"]).arg(format!("inet:{to}"));
    }
    let mut child = settings.pinned(command, SOURCE_CPU).stdout(Stdio::piped()).spawn()?;
    let mut printed = String::new();
    child.stdout.take().ok_or("no output")?.read_to_string(&mut printed)?;
    let ended = child.wait4()?;
    if !ended.status.success() || printed.contains("error ") {
        return Err(format!("a source failed:\n{printed}").into());
    }
    Ok(cpu_seconds(&ended))
}

/// Messages of a source or a sink per second of its own CPU time: those of these programs of ours, or Postfix's.
fn measure(what: &str, ours: Option<&Path>, settings: &Settings) -> Result<f64, Failed> {
    let folder = tempfile::tempdir()?;
    let seconds = if what == "sink" {
        let sink = match ours {
            Some(programs) => Sink::ours(programs, folder.path(), settings)?,
            None => Sink::theirs(settings)?,
        };
        source(Some(&programs()?), sink.address, settings)?;
        sink.cpu()?
    } else {
        source(ours, Sink::theirs(settings)?.address, settings)?
    };
    Ok(settings.messages as f64 / seconds)
}

fn main() -> Result<(), Failed> {
    let settings = settings()?;
    let sides = [settings.before.clone(), Some(programs()?)];
    println!("| what | theirs, per CPU second | ours, per CPU second | ours / theirs |");
    println!("| --- | --- | --- | --- |");
    for what in ["source", "sink"] {
        let mut found = [Vec::new(), Vec::new()];
        for round in 0..settings.rounds {
            for place in 0..2 {
                let side = (round + place) % 2;
                found[side].push(measure(what, sides[side].as_deref(), &settings)?);
            }
        }
        let [theirs, ours] = &found;
        let ratio = ratio(&format!("SMTP {what}, Postfix"), ours, theirs);
        println!("| {what} | {:.0} | {:.0} | {ratio} |", median(theirs), median(ours));
    }
    Ok(())
}
