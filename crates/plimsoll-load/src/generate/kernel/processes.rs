//! Processes that come and go, and such that sleep while two others talk.

use std::ffi::CStr;
use std::fs::File;
use std::io::Write;
use std::os::fd::{AsRawFd, OwnedFd};

use nix::errno::Errno;
use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{Pid, fexecve, pause, pipe, read, write};
use plimsoll_model::frame::Failure;

use super::Path;
use crate::failure::{other, refused};
use crate::process::Parent;

/// fork(2), `_exit`(2) and waitpid(2).
pub(super) struct Fork;

impl Path for Fork {
    fn take(&mut self, times: u64) -> nix::Result<()> {
        for _ in 0..times {
            ended_well(Parent::this().spawn(|| {})?)?;
        }
        Ok(())
    }
}

fn ended_well(child: Pid) -> nix::Result<()> {
    match waitpid(child, None)? {
        WaitStatus::Exited(_, 0) => Ok(()),
        WaitStatus::Exited(_, status) => Err(Errno::from_raw(status)),
        _ => Err(Errno::ECHILD),
    }
}

/// Fork with execve(2) of the smallest program that there is: no interpreter and no library, and its only instructions are those that
/// end it.
pub(super) struct Exec {
    program: File,
}

impl Exec {
    pub(super) fn prepare() -> Result<Self, Failure> {
        let wrong = |error: std::io::Error| other("make a program", &error);
        let memory =
            memfd_create(c"ends-at-once", MFdFlags::MFD_CLOEXEC).map_err(|error| wrong(error.into()))?;
        let mut file = File::from(memory);
        file.write_all(&program()).map_err(wrong)?;
        // A file that is open for writing is not executed (execve(2), ETXTBSY).
        let program = File::open(format!("/proc/self/fd/{}", file.as_raw_fd())).map_err(wrong)?;
        Ok(Self { program })
    }
}

impl Path for Exec {
    fn take(&mut self, times: u64) -> nix::Result<()> {
        let become_it = || {
            let nothing: [&CStr; 0] = [];
            let Err(errno) = fexecve(&self.program, &[c"ends-at-once"], &nothing);
            errno as i32
        };
        for _ in 0..times {
            ended_well(Parent::this().spawn_with_status(become_it)?)?;
        }
        Ok(())
    }
}

/// `exit(0)`, as instructions.
#[cfg(target_arch = "x86_64")]
const EXIT: &[u8] = &[0x31, 0xff, 0xb8, 60, 0, 0, 0, 0x0f, 0x05];
#[cfg(target_arch = "aarch64")]
const EXIT: &[u8] = &[0, 0, 0x80, 0xd2, 0xa8, 0x0b, 0x80, 0xd2, 1, 0, 0, 0xd4];
#[cfg(target_arch = "x86_64")]
const MACHINE: u16 = 62;
#[cfg(target_arch = "aarch64")]
const MACHINE: u16 = 183;

/// An ELF file of one segment (elf(5)): `Elf64_Ehdr`, `Elf64_Phdr`, and its instructions.
fn program() -> Vec<u8> {
    const HEADERS: u64 = 64 + 56;
    const AT: u64 = 0x40_0000;
    let length = HEADERS + EXIT.len() as u64;
    let mut file = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
    // ET_EXEC, the machine, EV_CURRENT; its entry point, its program headers, no sections, no flags.
    [2, MACHINE].iter().for_each(|half| file.extend(half.to_le_bytes()));
    file.extend(1_u32.to_le_bytes());
    [AT + HEADERS, 64, 0].iter().for_each(|long| file.extend(long.to_le_bytes()));
    file.extend(0_u32.to_le_bytes());
    [64_u16, 56, 1, 0, 0, 0].iter().for_each(|half| file.extend(half.to_le_bytes()));
    // PT_LOAD, readable and executable; from the start of the file to AT, twice; its length in the file and in memory, aligned to a page.
    [1_u32, 5].iter().for_each(|word| file.extend(word.to_le_bytes()));
    [0, AT, AT, length, length, 4096].iter().for_each(|long| file.extend(long.to_le_bytes()));
    file.extend(EXIT);
    file
}

/// A process that sends back what it is sent, while others sleep.
pub(super) struct Partner {
    to: OwnedFd,
    from: OwnedFd,
    all: Vec<Pid>,
}

impl Partner {
    pub(super) fn prepare(asleep: u32) -> Result<Self, Failure> {
        let pipes = || pipe().map_err(|error| other("make a pipe", &error.desc()));
        let ((theirs, to), (from, back)) = (pipes()?, pipes()?);
        let mut partner = Self { to, from, all: Vec::new() };
        let parent = Parent::this();
        let failed = |error| refused("make a process", error);
        for _ in 0..asleep {
            partner.all.push(
                parent
                    .spawn(|| {
                        loop {
                            pause();
                        }
                    })
                    .map_err(failed)?,
            );
        }
        let answer = || {
            let mut byte = [0];
            while read(&theirs, &mut byte) == Ok(1) && write(&back, &byte) == Ok(1) {}
        };
        partner.all.push(parent.spawn(answer).map_err(failed)?);
        Ok(partner)
    }
}

impl Path for Partner {
    fn take(&mut self, times: u64) -> nix::Result<()> {
        let mut byte = [b'.'];
        for _ in 0..times {
            write(&self.to, &byte)?;
            if read(&self.from, &mut byte)? == 0 {
                return Err(Errno::EPIPE);
            }
        }
        Ok(())
    }

    fn bytes(&self) -> u64 {
        1
    }
}

impl Drop for Partner {
    fn drop(&mut self) {
        // None of them was waited for, so that their numbers are still theirs.
        for process in &self.all {
            kill(*process, Signal::SIGKILL).ok();
        }
        for process in &self.all {
            waitpid(*process, None).ok();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::process::Command;

    use super::*;

    #[test]
    fn the_smallest_program_runs_and_ends() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("ends-at-once");
        std::fs::write(&file, program()).unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
        assert!(Command::new(&file).status().unwrap().success());
    }
}
