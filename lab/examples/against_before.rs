//! Programs that read, judge, sample and start, of this build and of an earlier one, in turns, by CPU time (wait4(2)):
//!
//! `against_before FOLDER ROUNDS reading|judging|probes|starts`
//!
//! FOLDER has the lab's programs of the earlier build. A row has a fixed amount of work, and the ratio is that of work per CPU second.

use std::path::Path;

use plimsoll_lab::load::programs;
use plimsoll_lab::pairs::{Outcome, cost, report};

/// Megabytes of packets.
const CAPTURE: &str = "30";
/// Output of `vmstat 1` for figures to be read from, and how often it stands in the file.
const VMSTAT: &str = include_str!("../../crates/plimsoll-import/tests/samples/vmstat.txt");
const AGAIN: usize = 12_000;

/// A row, how often it starts a program, and which with its arguments.
type Row<'a> = (&'a str, usize, &'a str, Vec<&'a str>);

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [before, rounds, what] = arguments.as_slice() else {
        return Err("expected: against_before FOLDER ROUNDS reading|judging|probes|starts".into());
    };
    let (ours, before, rounds) = (programs()?, Path::new(before), rounds.parse()?);
    let folder = tempfile::tempdir()?;
    let file = |name: &str| path(&folder.path().join(name));
    let (packets, text) = (file("short.pcap")?, file("vmstat.txt")?);
    let rows: Vec<Row> = match what.as_str() {
        "reading" => {
            cost(&[&path(&ours.join("synthesize"))?, &packets, CAPTURE, "66", "100"])?;
            std::fs::write(&text, VMSTAT.repeat(AGAIN))?;
            vec![
                ("packets", 4, "read_speed", vec![&packets]),
                ("trace", 1, "plimsoll", vec!["trace", &packets]),
                ("figures", 1, "figures_speed", vec![&text]),
            ]
        }
        "judging" => vec![("change points", 1, "change_series", vec!["400"])],
        "probes" => vec![("samples", 1, "sampling_cost", vec!["light"])],
        "starts" => vec![("list", 15, "plimsoll", vec!["list"]), ("gate", 1, "gate_cost", vec!["rounds=30"])],
        other => return Err(format!("there are no rows of `{other}`").into()),
    };
    for (name, times, program, arguments) in rows {
        let per_second = |programs: &Path| {
            let program = path(&programs.join(program))?;
            let command = [&[program.as_str()], arguments.as_slice()].concat();
            Ok(1.0 / (0..times).map(|_| cost(&command)).sum::<Outcome<f64>>()?)
        };
        report(name, "per CPU second", 2, rounds, || per_second(&ours), || per_second(before))?;
    }
    Ok(())
}

fn path(path: &Path) -> Outcome<String> {
    Ok(path.to_str().ok_or("a path is no text")?.to_owned())
}
