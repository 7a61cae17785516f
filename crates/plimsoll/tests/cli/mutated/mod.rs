//! Commands end with a message for any contents of a file: no panic, no abort, within limits of memory and of time.
//!
//! A number makes an input: a sample of the tests, changed in one to three ways (`change`). Each command is the real program, which may have 256 MB of
//! memory of its own (RLIMIT_DATA, setrlimit(2)). RLIMIT_AS would count the program's text, too, and addresses that threads reserve and never use.
//!
//! CI tries a few hundred. All of them, and one again:
//!
//! ```text
//! PLIMSOLL_MUTATED=0..10000 cargo test -p plimsoll --test cli mutated -- --nocapture
//! PLIMSOLL_MUTATED=4711..4712 cargo test -p plimsoll --test cli mutated
//! ```

mod change;
mod samples;

use std::collections::BTreeMap;
use std::fs;
use std::ops::Range;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use crate::lab::Lab;
use samples::Sample;

/// Memory of its own that a command may have, in bytes.
const MEMORY: u64 = 256 << 20;
/// Memory that `check` may take altogether, with the pages of the program's file, in bytes.
const MEMORY_OF_CHECK: u64 = 64 << 20;
/// Limit of a command's CPU time. Waits for a CPU do not count.
const TIME: Duration = Duration::from_secs(10);
/// Limit of the elapsed time in seconds.
const HANGS_AFTER: &str = "120";
/// Inputs that are tried by default.
const FEW: Range<u64> = 0..400;
/// The inputs to try, as `FROM..TO`.
const WHICH: &str = "PLIMSOLL_MUTATED";

/// Runs a command with a limit of memory. A process of little memory starts it: the kernel counts the parent's as the child's until `execve`.
const LAUNCHER: &str = include_str!("launch.py");

/// Greatest needs of a command over all inputs, each with the number of its input.
#[derive(Clone, Copy, Default)]
struct Needs {
    inputs: u64,
    memory: (u64, u64),
    time: (Duration, u64),
}

impl Needs {
    fn with(self, other: Self) -> Self {
        Self {
            inputs: self.inputs + other.inputs,
            memory: self.memory.max(other.memory),
            time: self.time.max(other.time),
        }
    }
}

type ByCommand = BTreeMap<String, Needs>;

fn which() -> Range<u64> {
    let Ok(named) = std::env::var(WHICH) else { return FEW };
    let ends = named.split_once("..").and_then(|(from, to)| Some(from.parse().ok()?..to.parse().ok()?));
    ends.unwrap_or_else(|| panic!("{WHICH}={named}: expected FROM..TO"))
}

#[test]
fn whatever_a_file_contains_the_command_that_reads_it_ends_with_a_message() {
    let (samples, which) = (samples::all(), which());
    let next = AtomicU64::new(which.start);
    let work = || {
        let folder = tempfile::tempdir().expect("a folder for the test");
        let (mut needs, mut wrong) = (ByCommand::new(), Vec::new());
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= which.end {
                return (needs, wrong);
            }
            match attempt(folder.path(), &samples, number) {
                Ok((command, of)) => {
                    let known = needs.entry(command).or_default();
                    *known = known.with(of);
                }
                Err(why) => wrong.push(why),
            }
        }
    };
    let workers = thread::available_parallelism().map_or(1, usize::from);
    let results: Vec<_> = thread::scope(|scope| {
        let workers: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        workers.into_iter().map(|worker| worker.join().expect("no panic")).collect()
    });
    let mut all = ByCommand::new();
    let mut wrong = Vec::new();
    for (needs, found) in results {
        needs.into_iter().for_each(|(command, of)| {
            let known = all.entry(command).or_default();
            *known = known.with(of);
        });
        wrong.extend(found);
    }
    for (command, Needs { inputs, memory, time }) in &all {
        let (megabytes, milliseconds) = (memory.0 as f64 / 1e6, time.0.as_millis());
        println!(
            "{command}: {inputs} inputs, at most {megabytes:.1} MB (input {}) and {milliseconds} ms (input {})",
            memory.1, time.1
        );
    }
    assert!(wrong.is_empty(), "{} inputs:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn what_never_ends_is_refused_by_number() {
    let lab = Lab::new();
    let refused = |script: &str, code: i32, number: &str| {
        let output = lab.script(&format!("ulimit -d 262144; {script}")).exits(code);
        let all = output.stdout + &output.stderr;
        assert!(all.contains(number), "{script}: {all}");
    };
    refused("$PLIMSOLL inventory --from /dev/zero", 2, "16777216 bytes");
    refused("$PLIMSOLL model --rate 1 --times /dev/zero", 3, "16777216 bytes");
    refused("$PLIMSOLL bisect --versions /dev/zero -- true", 2, "16777216 bytes");
    refused("$PLIMSOLL judge modes /dev/zero", 2, "1048576 bytes");
    // A line of 300 MB; and 6 million numbers, whose places in the text take more memory than a quarter of the limit.
    refused("tr '\\0' 1 </dev/zero | head -c 300000000 | $PLIMSOLL import --no-store -", 2, "8388608 bytes");
    refused("ulimit -d 65536; yes 1 | head -c 12000000 | $PLIMSOLL judge modes", 3, "the system refuses");
}

/// Makes an input, and runs a command on it. Returns the command's needs, or the error of its end.
fn attempt(folder: &Path, samples: &[Sample], number: u64) -> Result<(String, Needs), String> {
    let mut random = StdRng::seed_from_u64(number);
    // Each kind of sample has the same share, however many samples it has.
    let kinds: Vec<&[Sample]> = samples.chunk_by(|a, b| a.kind.name == b.kind.name).collect();
    let of_kind = kinds[number as usize % kinds.len()];
    let sample = &of_kind[random.random_range(0..of_kind.len())];
    let other = &of_kind[random.random_range(0..of_kind.len())];
    let file = folder.join(sample.kind.file);
    let bytes = change::some(sample.read(), &other.read(), &mut random);
    fs::write(&file, change::packed(bytes, sample.kind.is_packed, folder, &mut random)).expect("writable");
    let commands = sample.commands();
    let command = &commands[random.random_range(0..commands.len())];
    let words = command.iter().map(|word| word.replace("FILE", &file.display().to_string()));
    let name =
        command.iter().filter(|word| !word.starts_with('-')).take(2).cloned().collect::<Vec<_>>().join(" ");
    let (ended, memory, time) = run(folder, words);
    let about = || {
        let stderr = fs::read(folder.join("stderr")).unwrap_or_default();
        let said: String = String::from_utf8_lossy(&stderr).chars().take(600).collect();
        format!("input {number}, {} ({}): {said}", command.join(" "), sample.name())
    };
    let (said, printed) = (folder.join("stderr"), folder.join("stdout"));
    let is_empty = |path: &Path| path.metadata().is_ok_and(|meta| meta.len() == 0);
    let panicked = fs::read(&said).is_ok_and(|text| String::from_utf8_lossy(&text).contains("panicked at"));
    let wrong = match ended {
        0..=4 if panicked => "it panicked".to_owned(),
        0 if is_empty(&printed) && is_empty(&said) => "it said nothing".to_owned(),
        1..=4 if is_empty(&said) && is_empty(&printed) => "it failed without a message".to_owned(),
        0..=4 if time > TIME => format!("it took {time:?}"),
        0..=4 if command[0] == "check" && memory > MEMORY_OF_CHECK => format!("it took {memory} bytes"),
        0..=4 => {
            return Ok((name, Needs { inputs: 1, memory: (memory, number), time: (time, number) }));
        }
        ended => format!("it ended with {ended} after {time:?} with {memory} bytes"),
    };
    Err(format!("{wrong}: {}", about()))
}

/// Runs the program within the limits. Returns its exit status (below 0 the signal that ended it), its peak memory, and its CPU time.
fn run(folder: &Path, words: impl Iterator<Item = String>) -> (i32, u64, Duration) {
    let output = Command::new("/usr/bin/python3")
        .args(["-I", "-S", "-c", LAUNCHER, &MEMORY.to_string(), HANGS_AFTER, env!("CARGO_BIN_EXE_plimsoll")])
        .args(words)
        .current_dir(folder)
        .env_clear()
        .env("HOME", folder)
        .output()
        .expect("python3 starts");
    let text = String::from_utf8_lossy(&output.stdout);
    let numbers: Vec<f64> = text.split_whitespace().filter_map(|number| number.parse().ok()).collect();
    let [ended, kilobytes, seconds] = numbers[..] else { panic!("no result of the launcher: {output:?}") };
    (ended as i32, kilobytes as u64 * 1024, Duration::from_secs_f64(seconds))
}
