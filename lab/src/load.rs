//! Loads in a process of their own, of this build or of an earlier one.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use plimsoll_model::frame::LoadSpec;
use serde::Deserialize;
use wait4::{ResUse, Wait4};

use crate::pairs::Outcome;

/// What the comparisons use of a load's result. An earlier build may lack other fields.
#[derive(Deserialize)]
pub struct Done {
    pub requests: u64,
    pub bytes: u64,
    elapsed_ns: u64,
    user_us: u64,
    system_us: u64,
    /// CPU time of the whole process and of those that it started, in seconds.
    #[serde(skip)]
    pub process_cpu: f64,
}

impl Done {
    pub fn seconds(&self) -> f64 {
        self.elapsed_ns as f64 / 1e9
    }

    /// CPU time of the load's own threads, in seconds.
    pub fn cpu(&self) -> f64 {
        (self.user_us + self.system_us) as f64 / 1e6
    }
}

/// The folder with the programs of this build.
pub fn programs() -> Outcome<PathBuf> {
    Ok(std::env::current_exe()?.parent().ok_or("a program without a folder")?.into())
}

/// Carries a load out by the program `load` of a build.
pub fn run(programs: &Path, spec: &LoadSpec) -> Outcome<Done> {
    let program = programs.join("load");
    let mut child = Command::new(&program)
        .arg(serde_json::to_string(spec)?)
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| format!("{}: {error}", program.display()))?;
    let mut printed = String::new();
    child.stdout.take().ok_or("no output")?.read_to_string(&mut printed)?;
    let ended = child.wait4()?;
    if !ended.status.success() {
        return Err(format!("{}: {}", program.display(), ended.status).into());
    }
    Ok(Done { process_cpu: cpu_seconds(&ended), ..serde_json::from_str(&printed)? })
}

/// User and system time of a process and of its children.
pub fn cpu_seconds(ended: &ResUse) -> f64 {
    (ended.rusage.utime + ended.rusage.stime).as_secs_f64()
}
