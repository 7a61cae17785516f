//! Messaging against hackbench (Debian package rt-tests) with the same parameters, in turns.
//!
//! ```text
//! against_hackbench [PAIRS] [groups=10] [loops=100] [pipes] [threads] [before=FOLDER]
//! ```
//!
//! A pair is both programs one right after the other, in an order that changes with each pair. The ratio of each pair is ours over theirs.
//! With `before` it is that of rounds per second of CPU time, and an earlier build in FOLDER takes hackbench's place.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use plimsoll_model::experiment::MessagingLoad;
use plimsoll_model::experiment::load::messaging::{Channel, Workers};
use plimsoll_model::frame::{LoadKind, LoadSpec};

use plimsoll_lab::load::{Done, programs, run};
use plimsoll_lab::pairs::{Outcome, report};

fn main() -> ExitCode {
    match compare() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}

fn compare() -> Outcome<()> {
    let mut load = MessagingLoad { rounds: Some(1), ..MessagingLoad::default() };
    let (mut pairs, mut before) = (15, None);
    for argument in std::env::args().skip(1) {
        match argument.split_once('=') {
            Some(("groups", value)) => load.groups = value.parse()?,
            Some(("loops", value)) => load.messages = value.parse()?,
            Some(("before", value)) => before = Some(PathBuf::from(value)),
            Some((name, _)) => return Err(format!("there is no option `{name}`").into()),
            None if argument == "pipes" => load.over = Channel::Pipes,
            None if argument == "threads" => load.workers = Workers::Threads,
            None => pairs = argument.parse()?,
        }
    }
    println!("{} workers, {} messages each to each", load.workers(), load.messages);
    let programs = programs()?;
    let Some(before) = before else {
        let time = || Ok(ours(&programs, &load)?.seconds());
        return report("hackbench", "s", 3, pairs, time, || their_time(&load));
    };
    let per_cpu_second = |programs: &Path| Ok(1.0 / ours(programs, &load)?.process_cpu);
    report("before", "rounds/s", 2, pairs, || per_cpu_second(&programs), || per_cpu_second(&before))
}

fn ours(programs: &Path, load: &MessagingLoad) -> Outcome<Done> {
    let spec = LoadSpec {
        name: "load".into(),
        targets: Vec::new(),
        sources: Vec::new(),
        trust: None,
        volume: None,
        kind: LoadKind::Messaging(load.clone()),
    };
    run(programs, &spec)
}

fn their_time(load: &MessagingLoad) -> Outcome<f64> {
    let mut command = Command::new("hackbench");
    command.arg("-g").arg(load.groups.to_string()).arg("-l").arg(load.messages.to_string());
    command.arg("-f").arg(load.pairs.to_string()).arg("-s").arg(load.size.0.to_string());
    if load.over == Channel::Pipes {
        command.arg("-p");
    }
    if load.workers == Workers::Threads {
        command.arg("-T");
    }
    let output = command.output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let time = text.lines().find_map(|line| line.strip_prefix("Time: ")?.trim().parse().ok());
    time.ok_or_else(|| format!("hackbench said {text}{}", String::from_utf8_lossy(&output.stderr)).into())
}
