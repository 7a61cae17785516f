//! The machine's files in a guest, so that programs of the machine run in it.
//!
//! ```text
//! agent ── root: what the guest has written ── over ── the machine's files (virtiofs)
//!          (overlay; gone with the guest)                    │
//! qemu ── memory of the guest, shared ── virtiofsd ── the machine's files, mounted read-only
//! ```
//!
//! QEMU's own share (9p) would need no daemon, but Debian's kernels for virtual machines are built without it.

pub(super) mod inside;
pub(super) mod outside;

use std::env;
use std::path::PathBuf;
use std::process::Command;

use serde::{Deserialize, Serialize};

/// What the share is called in the guest.
pub(super) const TAG: &str = "machine";
/// The modules that it takes, where they are not built in.
pub(super) const MODULES: [&str; 2] = ["virtiofs", "overlay"];

/// What an agent has from where it was started, beside files.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct MachineFiles {
    /// Where it was.
    folder: PathBuf,
    environment: Vec<(String, String)>,
}

impl MachineFiles {
    /// That of this process. Variables that are no text are left out.
    pub(super) fn of_here() -> std::io::Result<Self> {
        let text = env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
        Ok(Self { folder: env::current_dir()?, environment: text.collect() })
    }

    /// Gives a process that starts in the guest access to the share.
    pub(super) fn surround(&self, command: &mut Command) {
        command.env_clear().envs(self.environment.iter().map(|(name, value)| (name, value)));
        if self.folder.is_dir() {
            command.current_dir(&self.folder);
        }
    }
}
