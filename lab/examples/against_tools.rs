//! Measures the program itself against the tools that people use for the same, in turns, by CPU time (wait4(2)):
//!
//! `against_tools [ROUNDS]`
//!
//! - `plimsoll trace` against `tcptrace -n -q`, on 100 MB of short packets that `synthesize` writes;
//! - `plimsoll record --for 10s` against `sadc -S XALL 1 11` and `perf record -a -g -F 99`, which together write about the same.
//!
//! The ratio is theirs over ours: above 1, ours takes less.

use std::path::Path;

use plimsoll_lab::load::programs;
use plimsoll_lab::pairs::{Outcome, cost, report};

/// Megabytes of packets.
const CAPTURE: &str = "100";

fn main() -> Outcome<()> {
    let rounds = std::env::args().nth(1).map_or(Ok(5), |rounds| rounds.parse())?;
    let programs = programs()?;
    let (program, synthesize) = (path(&programs.join("plimsoll"))?, path(&programs.join("synthesize"))?);
    let folder = tempfile::tempdir()?;
    let packets = path(&folder.path().join("short.pcap"))?;
    let recording = path(&folder.path().join("recording"))?;
    let perf = path(&folder.path().join("perf.data"))?;
    let peers = format!(
        "/usr/lib/sysstat/sadc -S XALL 1 11 {recording}.sa & perf record -a -g -F 99 -o {perf} sleep 10; wait"
    );
    cost(&[&synthesize, &packets, CAPTURE, "66", "100"])?;
    let rows: [(&str, &[&str], &[&str]); 2] = [
        ("trace, tcptrace", &[&program, "trace", &packets], &["tcptrace", "-n", "-q", &packets]),
        (
            "record of 10 s, sadc and perf record",
            &[&program, "record", "--for", "10s", "-o", &recording],
            &["sh", "-c", &peers],
        ),
    ];
    for (name, ours, theirs) in rows {
        let per_second = |command: &[&str]| Ok(1.0 / cost(command)?);
        report(name, "per CPU second", 2, rounds, || per_second(ours), || per_second(theirs))?;
    }
    Ok(())
}

fn path(path: &Path) -> Outcome<String> {
    Ok(path.to_str().ok_or("a path is no text")?.to_owned())
}
