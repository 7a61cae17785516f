//! Who carries a run out.
//!
//! A claim is a lock of one byte in a file beside the file of runs (fcntl(2), F_SETLK). The kernel takes it back when the process ends, by
//! whatever signal, so that nothing is left of it; and it tells who holds it.

use std::fs::File;
use std::io;
use std::path::Path;

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, fcntl};
use nix::libc;

use crate::StoreError;

/// A run that no other process carries out as long as this is there.
///
/// No other file of this name may be opened and closed by this process meanwhile: the kernel would take that for the end of the claim.
#[derive(Debug)]
pub struct Claim {
    _file: File,
}

impl Claim {
    pub(crate) fn of(path: &Path, run: &str) -> Result<Self, StoreError> {
        let failed = |source| StoreError::Claim { path: path.to_owned(), source };
        let file = File::options().read(true).write(true).create(true).truncate(false).open(path);
        let file = file.map_err(failed)?;
        match fcntl(&file, FcntlArg::F_SETLK(&lock(run))) {
            Ok(_) => Ok(Self { _file: file }),
            Err(Errno::EACCES | Errno::EAGAIN) => {
                Err(StoreError::Going { run: run.to_owned(), holder: holder(&file, run).map_err(failed)? })
            }
            Err(errno) => Err(failed(errno.into())),
        }
    }
}

/// Whether another process has claimed a run. What cannot be read was claimed by nobody.
pub(crate) fn is_held(path: &Path, run: &str) -> bool {
    let mut held = lock(run);
    let asked = File::open(path).map(|file| fcntl(&file, FcntlArg::F_GETLK(&mut held)).is_ok());
    asked.unwrap_or(false) && held.l_type != libc::F_UNLCK as libc::c_short
}

/// The lock of a run: a byte of its own, which need not be there. Where it is, all versions of Plimsoll have to find alike: by the hash FNV-1a
/// (<https://datatracker.ietf.org/doc/html/draft-eastlake-fnv>), halved to fit a place in a file.
fn lock(run: &str) -> libc::flock {
    let hash = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    let place = run.bytes().fold(0xcbf2_9ce4_8422_2325, hash) >> 2;
    libc::flock {
        l_type: libc::F_WRLCK as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: place.cast_signed(),
        l_len: 1,
        l_pid: 0,
    }
}

fn holder(file: &File, run: &str) -> io::Result<String> {
    let mut held = lock(run);
    fcntl(file, FcntlArg::F_GETLK(&mut held))?;
    Ok(match held.l_pid {
        // One that counts processes elsewhere, as in a container, or on another machine.
        ..=0 => "a process that is not seen from here".to_owned(),
        pid => format!("process {pid}"),
    })
}
