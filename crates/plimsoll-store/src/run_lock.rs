//! Claims of processes that carry a run out.
//!
//! A claim is a lock of one byte in a file beside the file of runs (fcntl(2), F_SETLK). The kernel takes it back when the process ends, by
//! whatever signal, so that nothing is left of it; and it names the holder. On a server it is an advisory lock of the session
//! (<https://www.postgresql.org/docs/current/explicit-locking.html#ADVISORY-LOCKS>), which the server takes back when the session ends.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::libc;
use nix::unistd::gethostname;

use super::beside::split;
use super::opening::{beside, of_server};
use super::{Location, Store, StoreError, schema};
use crate::database::{Database, Server, values};

/// A run that no other process carries out as long as this is there.
///
/// No other file of this name may be opened and closed by this process meanwhile: the kernel would take that for the end of the claim.
#[derive(Debug)]
pub struct RunLock(#[expect(dead_code, reason = "it holds the lock for as long as it is there")] Lock);

#[derive(Debug)]
enum Lock {
    #[expect(dead_code, reason = "its being open is the lock")]
    File(File),
    #[expect(dead_code, reason = "it gives the lock back when it goes")]
    Session(OfSession),
}

/// The claim of a session. It is gone with this, or with the session.
#[derive(Debug)]
struct OfSession {
    server: Arc<Server>,
    run: String,
}

impl Drop for OfSession {
    fn drop(&mut self) {
        self.server.give_back(&self.run, schema::FORGET_HOLDER);
    }
}

impl Store {
    /// Claims a run, so that no other process carries it out at the same time. The claim ends with what this returns, or with the process,
    /// however that ends.
    ///
    /// # Errors
    /// [`StoreError::Going`] when another process has claimed it.
    pub fn claim(&self, run: &str) -> Result<RunLock, StoreError> {
        self.clear_under_way();
        match (&self.database, &self.place) {
            (Database::Server(server), place) => on_server(server, place, run),
            (Database::File(_), Location::File(path)) => in_file(&claims(path), run),
            (Database::File(_), Location::Server { .. }) => unreachable!("a server is no file"),
        }
    }

    /// Whether another process carries this run out. A process that does so itself must not ask, because that would end its own claim.
    pub fn is_going_on(&self, run: &str) -> bool {
        match (&self.database, &self.place) {
            // The next query reports a server that does not answer.
            (Database::Server(server), _) => server.is_claimed(number(run).cast_signed()).unwrap_or(false),
            (_, Location::File(path)) => is_held(&claims(path), run),
            (_, Location::Server { .. }) => false,
        }
    }
}

fn claims(path: &Path) -> PathBuf {
    beside(path, "-claims")
}

fn in_file(path: &Path, run: &str) -> Result<RunLock, StoreError> {
    let failed = |source| StoreError::Claim { path: path.to_owned(), source };
    let opened =
        split(path).and_then(|(folder, name)| folder.file(Path::new(name), OFlag::O_RDWR | OFlag::O_CREAT));
    let file = opened.map_err(|error| failed(error.into()))?;
    match fcntl(&file, FcntlArg::F_SETLK(&lock(run))) {
        Ok(_) => Ok(RunLock(Lock::File(file))),
        Err(Errno::EACCES | Errno::EAGAIN) => {
            Err(StoreError::Going { run: run.to_owned(), holder: holder(&file, run).map_err(failed)? })
        }
        Err(errno) => Err(failed(errno.into())),
    }
}

fn on_server(server: &Arc<Server>, place: &Location, run: &str) -> Result<RunLock, StoreError> {
    let failed = |error| of_server(place, "claim the run", error);
    if !server.claim(run, number(run).cast_signed()).map_err(failed)? {
        let said = server.query(schema::HOLDER_OF, values![run]).map_err(failed)?;
        let holder = said.first().and_then(|row| row.get(0).ok());
        return Err(StoreError::Going {
            run: run.to_owned(),
            holder: holder.unwrap_or_else(|| "another process".to_owned()),
        });
    }
    let claim = RunLock(Lock::Session(OfSession { server: Arc::clone(server), run: run.to_owned() }));
    let machine = gethostname().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let holder = format!("process {} on {machine}", std::process::id());
    server.execute(schema::PUT_HOLDER, values![run, holder]).map_err(failed)?;
    Ok(claim)
}

/// Whether another process has claimed a run. A file that cannot be read holds no claim.
fn is_held(path: &Path, run: &str) -> bool {
    let mut held = lock(run);
    let flags = OFlag::O_RDONLY | OFlag::O_NONBLOCK;
    let opened = split(path).and_then(|(folder, name)| folder.file(Path::new(name), flags));
    let asked = opened.map(|file| fcntl(&file, FcntlArg::F_GETLK(&mut held)).is_ok());
    asked.unwrap_or(false) && held.l_type != libc::F_UNLCK as libc::c_short
}

/// The number of a run's lock, which all versions of Plimsoll have to find alike: by the hash FNV-1a
/// (<https://datatracker.ietf.org/doc/html/draft-eastlake-fnv>).
fn number(run: &str) -> u64 {
    let hash = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    run.bytes().fold(0xcbf2_9ce4_8422_2325, hash)
}

/// The lock of a run: a byte of its own, which need not be there. The number is halved to fit a place in a file.
fn lock(run: &str) -> libc::flock {
    let place = number(run) >> 2;
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
        // A process with other numbers, as in a container, or on another machine.
        ..=0 => "a process that is not seen from here".to_owned(),
        pid => format!("process {pid}"),
    })
}
