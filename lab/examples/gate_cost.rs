//! Cost of the gate at the start of a program: `/bin/true` started directly and through `plimsoll agent exec`, in turns.
//!
//! ```text
//! gate_cost [PROGRAM] [rounds=200]
//! ```
//!
//! Root only: other users may not make all of the namespaces. PROGRAM is `plimsoll` beside this program by default. Prints medians and quartiles in milliseconds.

use std::ffi::OsString;
use std::fs::{self, File};
use std::process::Command;
use std::time::Instant;

use serde_json::json;

const PROGRAM: &str = "/bin/true";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (mut gate, mut rounds) = (std::env::current_exe()?.with_file_name("plimsoll"), 200_usize);
    for argument in std::env::args().skip(1) {
        match argument.strip_prefix("rounds=") {
            Some(number) => rounds = number.parse()?,
            None => gate = argument.into(),
        }
    }
    let handed = tempfile::NamedTempFile::new()?;
    let environment = [(OsString::from("PATH"), OsString::from("/usr/bin:/bin"))];
    let paths = json!({"writable": [], "visible": [], "opened": []});
    let entry = json!({"kind": "Program", "program": PROGRAM, "arguments": [], "environment": environment, "paths": paths});
    fs::write(handed.path(), entry.to_string())?;
    let mut times = [Vec::new(), Vec::new()];
    for nth in 0..2 * rounds {
        // Pairs whose first one changes: 0, 1, 1, 0.
        let gated = nth.div_ceil(2) % 2;
        let mut command = if gated == 1 { Command::new(&gate) } else { Command::new(PROGRAM) };
        if gated == 1 {
            command.args(["agent", "exec"]).stdin(File::open(handed.path())?);
        }
        let started = Instant::now();
        let status = command.status()?;
        times[gated].push(started.elapsed().as_secs_f64() * 1e3);
        if !status.success() {
            return Err(format!("{command:?}: {status}").into());
        }
    }
    for (name, times) in ["directly", "through the gate"].into_iter().zip(&mut times) {
        times.sort_by(f64::total_cmp);
        let at = |share: f64| times[(times.len() as f64 * share) as usize];
        println!("{name}: {:.2} ms [{:.2}, {:.2}], {} starts", at(0.5), at(0.25), at(0.75), times.len());
    }
    Ok(())
}
