//! Loop devices (loop(4)).

use std::fs::File;
use std::io;
use std::mem::zeroed;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::{Duration, Instant};

use nix::libc;

use crate::error::HostError;
use crate::interrupt::go_on;
use crate::undo::UndoProcess;

/// linux/loop.h
const LOOP_CONFIGURE: libc::Ioctl = 0x4C0A;
const LOOP_CTL_GET_FREE: libc::Ioctl = 0x4C82;
const LO_FLAGS_AUTOCLEAR: u32 = 4;
const LO_FLAGS_DIRECT_IO: u32 = 16;
/// Deadline for a free device: other processes may take the one that the kernel offers, and the last user may close it late.
const PATIENCE: Duration = Duration::from_secs(5);
/// Interval between two tries to find a free device.
const AGAIN: Duration = Duration::from_millis(5);

/// `struct loop_info64` of linux/loop.h
#[repr(C)]
struct Info {
    device: u64,
    inode: u64,
    rdevice: u64,
    offset: u64,
    size_limit: u64,
    number: u32,
    encrypt_type: u32,
    encrypt_key_size: u32,
    flags: u32,
    file_name: [u8; 64],
    crypt_name: [u8; 64],
    encrypt_key: [u8; 32],
    init: [u64; 2],
}

/// `struct loop_config`
#[repr(C)]
struct Config {
    fd: u32,
    block_size: u32,
    info: Info,
    reserved: [u64; 8],
}

/// A loop device that detaches itself when no process has it open.
#[derive(Debug)]
pub(super) struct LoopDevice {
    volume: String,
    path: PathBuf,
    /// Open, so that it stays attached.
    file: File,
}

impl LoopDevice {
    /// Attaches a file to a free device. The kernel changes the read-ahead of an attached device for good, so the undo process restores it.
    pub(super) fn attach(
        volume: &str,
        file: &File,
        direct: bool,
        undo: &mut UndoProcess,
        interrupt: &AtomicBool,
    ) -> Result<Self, HostError> {
        let failed = |operation: &str| {
            let (volume, operation) = (volume.to_owned(), operation.to_owned());
            move |source| HostError::Volume { volume, operation, source }
        };
        let control = File::options().read(true).write(true).open("/dev/loop-control");
        let control = control.map_err(failed("opening /dev/loop-control"))?;
        let give_up = Instant::now() + PATIENCE;
        while Instant::now() < give_up {
            go_on(interrupt)?;
            let number =
                ioctl(&control, LOOP_CTL_GET_FREE, 0).map_err(failed("finding a free loop device"))?;
            let path = PathBuf::from(format!("/dev/loop{number}"));
            let device = File::options().read(true).write(true).open(&path);
            let device = device.map_err(failed(&format!("opening {}", path.display())))?;
            let ahead = PathBuf::from(format!("/sys/block/loop{number}/queue/read_ahead_kb"));
            if !undo.keep_unless_held(&ahead)? {
                // Another run is about to attach it, or has just detached it.
                thread::sleep(AGAIN);
                continue;
            }
            match configure(&device, file, direct) {
                Ok(()) => return Ok(Self { volume: volume.to_owned(), path, file: device }),
                Err(error) if error.raw_os_error() == Some(libc::EBUSY) => undo.forget(&ahead)?,
                Err(error) => return Err(failed(&format!("attaching {}", path.display()))(error)),
            }
        }
        Err(failed("finding a free loop device")(io::ErrorKind::ResourceBusy.into()))
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Closes it, and waits until it is detached: its last mount may end a little after its namespace.
    pub(super) fn close(self) -> Result<(), HostError> {
        let Self { volume, path, file } = self;
        drop(file);
        let name = path.file_name().unwrap_or_default();
        let attached = Path::new("/sys/block").join(name).join("loop");
        let give_up = Instant::now() + PATIENCE;
        while attached.exists() {
            if Instant::now() > give_up {
                let operation = format!("detaching {}", path.display());
                let source = io::Error::new(io::ErrorKind::TimedOut, "a process still has it open");
                return Err(HostError::Volume { volume, operation, source });
            }
            thread::sleep(Duration::from_millis(2));
        }
        Ok(())
    }
}

/// Attaches a file to a free device of this kernel, for as long as the device is open or mounted.
pub(super) fn attach_here(file: &File) -> io::Result<(PathBuf, File)> {
    let control = File::options().read(true).write(true).open("/dev/loop-control")?;
    let number = ioctl(&control, LOOP_CTL_GET_FREE, 0)?;
    let path = PathBuf::from(format!("/dev/loop{number}"));
    let device = File::options().read(true).write(true).open(&path)?;
    configure(&device, file, false)?;
    Ok((path, device))
}

fn configure(device: &File, file: &File, direct: bool) -> io::Result<()> {
    #[expect(unsafe_code, reason = "a C structure of numbers")]
    // SAFETY: all bytes zero is a value of every field.
    let mut config: Config = unsafe { zeroed() };
    config.fd = file.as_raw_fd().unsigned_abs();
    config.info.flags = LO_FLAGS_AUTOCLEAR | if direct { LO_FLAGS_DIRECT_IO } else { 0 };
    ioctl(device, LOOP_CONFIGURE, &raw const config as usize).map(drop)
}

fn ioctl(file: &File, request: libc::Ioctl, argument: usize) -> io::Result<i32> {
    #[expect(unsafe_code, reason = "loop devices are made by ioctl(2) alone")]
    // SAFETY: the argument is a number, or the address of a structure of the layout that the request expects and that lives across the
    // call.
    let answer = unsafe { libc::ioctl(file.as_raw_fd(), request, argument) };
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(answer) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_structures_have_the_size_that_the_kernel_expects() {
        assert_eq!(size_of::<Info>(), 232);
        assert_eq!(size_of::<Config>(), 304);
    }
}
