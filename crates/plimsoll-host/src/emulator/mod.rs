//! An emulator of our own between two hosts, for kernels without netem and for shapes that netem lacks: rate, delay, jitter, loss, reordering, a
//! queue.
//!
//! ```text
//! host a: eth0 ── veth ── end0 [ emulator: a process in a network namespace of its own ] end1 ── veth ── eth0 :host b
//! ```
//!
//! Every frame passes through the process by packet sockets. The ends in the hosts have segmentation and checksum offload switched off, so
//! frames are as on a cable.
//!
//! The process is a hidden stage of the controller's executable, as a host's supervisor is, and dies with the controller as surely.

mod forward;
mod shaper;
mod slice;

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitCode, Stdio};

use nix::errno::Errno;
use nix::sched::{CloneFlags, unshare};
use nix::unistd::getpid;
use serde::{Deserialize, Serialize};

use crate::control::{self, ControllerEnd, HostEnd, Word, pair, read_orders};
use crate::counts::EmulatorCounts;
use crate::error::HostError;
use crate::leftovers;
use crate::packet::{PacketSocket, Sending};
use crate::reexec::{self, errno_of, spawn_with};
use crate::spec::{LinkShape, LinkSpec, RigSpec};
use forward::Emulator;
use shaper::Shaper;

/// The interfaces in the emulator's namespace: towards a link's first host, and towards its second.
pub(crate) const ENDS: [&str; 2] = ["end0", "end1"];
/// Their indices in the emulator's kernel.
pub(crate) const INDICES: [u32; 2] = [100, 101];

/// The orders of the stage.
#[derive(Serialize, Deserialize)]
struct Orders {
    seed: u64,
    shape: [LinkShape; 2],
}

/// The stage: makes its namespace, waits for the interfaces, and forwards until the controller is gone.
pub(crate) fn stage(control: &HostEnd, mut args: impl Iterator<Item = OsString>) -> ExitCode {
    let Some(Orders { seed, shape: [there, back] }) = args.next().and_then(|text| read_orders(&text)) else {
        return reexec::failed(control, "reading the emulator's orders", Errno::EINVAL);
    };
    if let Err(errno) = unshare(CloneFlags::CLONE_NEWNET) {
        return reexec::failed(control, "making its namespace", errno);
    }
    // The ends must send nothing of their own.
    match fs::write("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1") {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return reexec::failed(control, "switching IPv6 off", errno_of(&error));
        }
        _ => {}
    }
    control.say(&Word::Ready);
    if !control.wait_for_go() {
        return ExitCode::SUCCESS;
    }
    let open = || {
        Ok([
            PacketSocket::open(ENDS[0], Sending::PastQueue)?,
            PacketSocket::open(ENDS[1], Sending::PastQueue)?,
        ])
    };
    let ends = match open() {
        Ok(ends) => ends,
        Err(error) => return reexec::failed(control, "opening its ends", errno_of(&error)),
    };
    // Waking up late would delay every frame. The default is 50 µs (prctl(2), PR_SET_TIMERSLACK); a kernel that refuses keeps it.
    nix::sys::prctl::set_timerslack(1).ok();
    // A kernel before 6.12 knows no slices of a process's own; the emulator is then as late as others.
    slice::shorten().ok();
    control.say(&Word::Started);
    let shapers = [Shaper::new(&there, seed), Shaper::new(&back, !seed)];
    match Emulator::new(ends, shapers).forward(control) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => reexec::failed(control, "forwarding", errno_of(&error)),
    }
}

/// An emulator, seen from the controller. Dropping it ends the process, and with it both links.
#[derive(Debug)]
pub(crate) struct EmulatorProcess {
    link: LinkSpec,
    child: Child,
    control: ControllerEnd,
}

impl EmulatorProcess {
    /// Starts the process. When this returns its namespace is there.
    pub(crate) fn start(rig: &RigSpec, link: &LinkSpec) -> Result<Self, HostError> {
        let failed = |source| error(link, "starting the emulator", source);
        let (control, theirs) = pair().map_err(failed)?;
        let child = start_stage(rig, link, theirs).map_err(failed)?;
        let mut emulator = Self { link: link.clone(), child, control };
        emulator.hear(&Word::Ready)?;
        Ok(emulator)
    }

    /// Lets it open its ends, which must exist, and forward.
    pub(crate) fn go(&mut self) -> Result<(), HostError> {
        self.control.go().map_err(|source| error(&self.link, "starting the emulator", source))?;
        self.hear(&Word::Started).map(drop)
    }

    /// Its network namespace. It lives as long as this is open, so it must not be kept.
    pub(crate) fn network(&self) -> Result<OwnedFd, HostError> {
        let path = format!("/proc/{}/ns/net", self.child.id());
        File::open(&path)
            .map(OwnedFd::from)
            .map_err(|source| error(&self.link, &format!("opening {path}"), source))
    }

    /// Its counts so far.
    pub(crate) fn counts(&mut self) -> Result<EmulatorCounts, HostError> {
        let asking = "asking the emulator for its counters";
        self.control.go().map_err(|source| error(&self.link, asking, source))?;
        let heard = self.control.hear().map_err(|source| error(&self.link, asking, source))?;
        match heard {
            Some(Word::Counts(counts)) => Ok(counts),
            other => Err(error(&self.link, asking, io::Error::other(format!("it answered {other:?}")))),
        }
    }

    /// Changes the shapes for frames that arrive later.
    pub(crate) fn reshape(&mut self, shape: &[LinkShape; 2]) -> Result<(), HostError> {
        let changing = "changing the emulator's shape";
        self.link.shape = shape.clone();
        let sent = self.control.change(shape);
        sent.map_err(|source| error(&self.link, changing, source))?;
        self.hear(&Word::Ready)
    }

    pub(crate) fn link(&self) -> &LinkSpec {
        &self.link
    }

    fn hear(&mut self, expected: &Word) -> Result<(), HostError> {
        let heard = self.control.hear();
        match heard.map_err(|source| error(&self.link, "waiting for the emulator", source))? {
            Some(word) if word == *expected => Ok(()),
            Some(Word::Failed { operation, errno }) => {
                Err(error(&self.link, &format!("emulator: {operation}"), io::Error::from_raw_os_error(errno)))
            }
            other => {
                let source = io::Error::other(format!("it said {other:?}"));
                Err(error(&self.link, "waiting for the emulator", source))
            }
        }
    }
}

impl Drop for EmulatorProcess {
    fn drop(&mut self) {
        // It may be gone already.
        let _gone = self.child.kill().and_then(|()| self.child.wait());
    }
}

fn start_stage(rig: &RigSpec, link: &LinkSpec, control: OwnedFd) -> io::Result<Child> {
    let executable = rig.supervisor.clone().unwrap_or_else(|| PathBuf::from(reexec::THIS_EXECUTABLE));
    let orders = control::orders(&Orders { seed: link.seed, shape: link.shape.clone() });
    let mut command = Command::new(executable);
    command
        .args(reexec::Stage::Emulator.args())
        .args([control.as_raw_fd().to_string(), getpid().to_string()])
        .arg(orders)
        .env(leftovers::MARKER, leftovers::own_mark()?)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .process_group(0);
    spawn_with(command, control)
}

fn error(link: &LinkSpec, operation: &str, source: io::Error) -> HostError {
    HostError::Link { link: link.to_string(), operation: operation.into(), source }
}
