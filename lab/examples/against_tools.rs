//! Measures the program itself against the tools that people use for the same, in turns, by CPU time (wait4(2)):
//!
//! `against_tools PROGRAM [ROUNDS]`
//!
//! - `plimsoll trace` against `tcptrace -n -q`, on 100 MB of short packets that `synthesize` writes;
//! - `plimsoll record --for 10s` against `sadc -S XALL 1 11` and `perf record -a -g -F 99`, which together write about the same.
//!
//! The ratio is theirs over ours: above 1, ours takes less.

use std::path::Path;
use std::process::{Command, Stdio};

use plimsoll_lab::pairs::{Outcome, report};
use wait4::Wait4;

/// Megabytes of packets.
const CAPTURE: &str = "100";

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (program, rounds) = match arguments.as_slice() {
        [program] => (program.as_str(), 5),
        [program, rounds] => (program.as_str(), rounds.parse()?),
        _ => return Err("expected: against_tools PROGRAM [ROUNDS]".into()),
    };
    let folder = tempfile::tempdir()?;
    let packets = path(&folder.path().join("short.pcap"))?;
    let recording = path(&folder.path().join("recording"))?;
    let perf = path(&folder.path().join("perf.data"))?;
    let peers = format!(
        "/usr/lib/sysstat/sadc -S XALL 1 11 {recording}.sa & perf record -a -g -F 99 -o {perf} sleep 10; wait"
    );
    let synthesize = path(&std::env::current_exe()?.with_file_name("synthesize"))?;
    cpu_seconds(&[&synthesize, &packets, CAPTURE, "66", "100"])?;
    let rows: [(&str, &[&str], &[&str]); 2] = [
        ("trace, tcptrace", &[program, "trace", &packets], &["tcptrace", "-n", "-q", &packets]),
        (
            "record of 10 s, sadc and perf record",
            &[program, "record", "--for", "10s", "-o", &recording],
            &["sh", "-c", &peers],
        ),
    ];
    for (name, ours, theirs) in rows {
        let per_second = |command: &[&str]| Ok(1.0 / cpu_seconds(command)?);
        report(name, "per CPU second", 2, rounds, || per_second(ours), || per_second(theirs))?;
    }
    Ok(())
}

fn path(path: &Path) -> Outcome<String> {
    Ok(path.to_str().ok_or("a path is no text")?.to_owned())
}

/// User and system time of a command and of its children.
fn cpu_seconds(command: &[&str]) -> Outcome<f64> {
    let mut process = Command::new(command[0]);
    process
        .args(&command[1..])
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let ended = process.spawn().map_err(|error| format!("{}: {error}", command[0]))?.wait4()?;
    if !ended.status.success() {
        return Err(format!("`{}`: {}", command.join(" "), ended.status).into());
    }
    Ok((ended.rusage.utime + ended.rusage.stime).as_secs_f64())
}
