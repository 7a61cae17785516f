//! Making file systems, with the programs that come with them.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::process::{self, Child, Command, Output, Stdio};
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::Duration;

use plimsoll_model::experiment::Filesystem;

use crate::error::HostError;
use crate::interrupt::go_on;

/// Time between two checks for the program's end. Most take some tens of milliseconds.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// The program, its arguments, and its Debian package. The kernel has nothing to finish in the background, which would disturb measurements.
fn program(filesystem: Filesystem) -> (&'static str, &'static [&'static str], &'static str) {
    match filesystem {
        Filesystem::Ext4 => (
            "mkfs.ext4",
            &["-q", "-F", "-m", "0", "-E", "lazy_itable_init=0,lazy_journal_init=0"],
            "e2fsprogs",
        ),
        Filesystem::Xfs => ("mkfs.xfs", &["-q", "-f"], "xfsprogs"),
    }
}

/// Command of such a program, without questions, and with its standard error kept.
pub(super) fn command(program: &str) -> Command {
    let path = std::env::var("PATH").unwrap_or_default();
    let mut command = Command::new(program);
    command
        // Folders of such programs, which an ordinary user's path lacks.
        .env("PATH", format!("{path}:/usr/sbin:/sbin"))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    command
}

/// Fails with the last line of its standard error, if it did not succeed.
pub(super) fn succeeded(output: &Output) -> io::Result<()> {
    if output.status.success() {
        return Ok(());
    }
    let stderr = String::from_utf8_lossy(&output.stderr);
    let stderr = stderr.trim().lines().last().unwrap_or_default();
    Err(io::Error::other(format!("{}: {stderr}", output.status)))
}

/// Waits for the end of a program that prints little; `None` if an interrupt ended it.
fn ended(mut child: Child, interrupt: &AtomicBool) -> io::Result<Option<Output>> {
    while child.try_wait()?.is_none() {
        if go_on(interrupt).is_err() {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        thread::sleep(LOOK_EVERY);
    }
    child.wait_with_output().map(Some)
}

/// Makes a file system in a file.
pub(super) fn make(
    volume: &str,
    filesystem: Filesystem,
    file: &File,
    interrupt: &AtomicBool,
) -> Result<(), HostError> {
    let (program, args, package) = program(filesystem);
    let failed =
        |source| HostError::Volume { volume: volume.into(), operation: format!("running {program}"), source };
    // The file has no name but this.
    let name = format!("/proc/{}/fd/{}", process::id(), file.as_raw_fd());
    let child = command(program)
        .args(args)
        .arg(name)
        // Ctrl-C on the terminal is for the controller, which then ends it.
        .process_group(0)
        .spawn();
    let child = match child {
        Ok(child) => child,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(HostError::NoMkfs { volume: volume.into(), program: program.into(), package });
        }
        Err(error) => return Err(failed(error)),
    };
    let output = ended(child, interrupt).map_err(failed)?.ok_or(HostError::Interrupted)?;
    succeeded(&output).map_err(failed)?;
    // Dirty pages in the page cache would hide from a device that bypasses it.
    file.sync_all().map_err(failed)
}
