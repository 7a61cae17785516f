//! Starting a guest, by the init of its host: until the agent runs in it, and what is kept of it from then on.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ExitCode, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::unistd::Pid;
use rustix::fs::{MemfdFlags, memfd_create};

use super::archive::{Archive, are_one_file};
use super::console::Console;
use super::exact::outside::Outside;
use super::machine::{Accelerator, Descriptors, INIT, PROGRAM};
use super::modules::Modules;
use super::share::{self, MachineFiles};
use super::{Orders, init, pump};
use crate::clock;
use crate::codec;
use crate::control::{HostEnd, Word};
use crate::guest_error::BootFailure;
use crate::reexec::{FAILED, THIS_EXECUTABLE};
use crate::tend::thread_beside;
use crate::volume::in_guest;

/// The modules that every guest needs where they are not built in: the bus, and the ports of its agent.
const ALWAYS: [&str; 2] = ["virtio_pci", "virtio_console"];
/// Those of a guest that has links.
const LINKS: [&str; 1] = ["virtio_net"];
/// Those of a guest that translates addresses; a kernel has the ones of its time.
const NAT: [&str; 5] = ["nf_tables", "nf_nat", "nft_nat", "nft_masq", "nft_chain_nat"];
/// How many datagrams wait for a guest: a burst on a link is longer than the kernel's default of 10.
const QUEUE: (&str, &str) = ("/proc/sys/net/unix/max_dgram_qlen", "1024");
/// How QEMU's last words begin where KVM could not go on.
const KVM_GAVE_UP: [&str; 3] = ["KVM internal error", "KVM: entry failed", "error: kvm run failed"];
/// How long QEMU has to end after the guest's last word.
const ENDING: Duration = Duration::from_secs(2);

/// A guest that runs.
pub(crate) struct Guest {
    qemu: Child,
    console: Arc<Mutex<Console>>,
    /// Closing it would tell the guest's init to end.
    _status: UnixStream,
}

impl Guest {
    /// QEMU's process.
    pub(crate) fn pid(&self) -> Pid {
        Pid::from_raw(self.qemu.id().cast_signed())
    }

    /// The last that its kernel said.
    pub(crate) fn last_lines(&self) -> String {
        self.console.lock().unwrap_or_else(PoisonError::into_inner).last_lines()
    }
}

/// Why there is no guest.
#[derive(Debug)]
pub(crate) enum BootError {
    /// The controller is gone, so nobody wants it any more.
    Unwanted,
    /// The guest did not come up.
    Failed { why: BootFailure, console: String },
}

/// What failed on this side of the console.
fn here(operation: &str) -> impl FnOnce(io::Error) -> BootError {
    let operation = operation.to_owned();
    move |error| {
        let why = BootFailure::Machine { operation, error: error.to_string() };
        BootError::Failed { why, console: String::new() }
    }
}

/// Boots the guest and waits until its agent runs. Emulation replaces a KVM that runs the probe but not this kernel: where
/// hypervisors nest, KVM cannot emulate every instruction.
pub(crate) fn boot(
    orders: &Orders,
    agent: &Path,
    args: &[String],
    control: &HostEnd,
) -> Result<Guest, BootError> {
    match attempt(orders, agent, args, control) {
        Err(BootError::Failed { why: BootFailure::Kvm(why), .. }) => {
            let note = format!("KVM failed within its guest ({why}), so QEMU emulates the processor instead");
            control.say(&Word::Note(note));
            let mut emulated = orders.clone();
            emulated.prepared.machine.accelerator = Accelerator::Emulation { why };
            attempt(&emulated, agent, args, control)
        }
        booted => booted,
    }
}

fn attempt(orders: &Orders, agent: &Path, args: &[String], control: &HostEnd) -> Result<Guest, BootError> {
    let archive = archive(orders, agent, args).map_err(here("collecting the guest's files"))?;
    let memory = memfd_create("plimsoll-guest", MemfdFlags::empty())
        .map_err(|e| here("making the guest's archive")(e.into()))?;
    let mut memory = File::from(memory);
    memory.write_all(&archive).map_err(here("making the guest's archive"))?;
    let archive_size = archive.len() as u64;
    drop(archive);
    // A kernel without the setting keeps its own length.
    std::fs::write(QUEUE.0, QUEUE.1).ok();
    let mut links = Vec::new();
    for interface in &orders.inside.interfaces {
        let end =
            pump::start(&interface.name).map_err(here(&format!("opening the link at {}", interface.name)))?;
        links.push((end, interface));
    }
    let (heard, said) = io::pipe().map_err(here("making the guest's console"))?;
    let (status, theirs) = UnixStream::pair().map_err(here("making the guest's status port"))?;
    // What QEMU and its daemon have to say belongs to why a guest did not come up.
    let errors = || said.try_clone().map(Stdio::from).map_err(here("making the guest's console"));
    let share = match &orders.prepared.virtiofsd {
        None => None,
        Some(daemon) => {
            let socket = share::outside::start(daemon, errors()?)
                .map_err(here("starting virtiofsd, which shows the guest the machine's files"))?;
            fcntl(&socket, FcntlArg::F_SETFD(FdFlag::empty()))
                .map_err(|e| here("handing on a descriptor")(e.into()))?;
            Some(socket)
        }
    };
    for descriptor in links.iter().map(|(end, _)| end.as_fd()).chain([said.as_fd(), theirs.as_fd()]) {
        fcntl(descriptor, FcntlArg::F_SETFD(FdFlag::empty()))
            .map_err(|e| here("handing on a descriptor")(e.into()))?;
    }
    let exact = orders.prepared.machine.virtual_clock.then(Outside::new).transpose();
    let exact = exact.map_err(here("making the way of the guest's orders"))?;
    if let Some(exact) = &exact {
        for (_, descriptor) in exact.descriptors() {
            fcntl(descriptor, FcntlArg::F_SETFD(FdFlag::empty()))
                .map_err(|e| here("handing on a descriptor")(e.into()))?;
        }
    }
    let descriptors = Descriptors {
        archive: memory.as_raw_fd(),
        archive_size,
        console: said.as_raw_fd(),
        status: theirs.as_raw_fd(),
        exact: exact.as_ref().map(|exact| exact.descriptors().map(|(number, _)| number)),
        share: share.as_ref().map(AsRawFd::as_raw_fd),
        links: links.iter().map(|(end, interface)| (end.as_raw_fd(), *interface)).collect(),
    };
    let mut command = orders.prepared.machine.command(&descriptors);
    if let Some(exact) = &exact {
        command.stdin(exact.input().map_err(here("making the way of the guest's orders"))?);
    }
    let qemu = command.stderr(errors()?).spawn().map_err(here("starting qemu-system-x86_64"))?;
    drop((command, said, theirs, links, memory, share));
    if let Some(exact) = exact {
        exact.start().map_err(here("handing on the guest's orders"))?;
    }
    let by_kvm = orders.prepared.machine.accelerator == Accelerator::Kvm;
    let mut boot = Boot { qemu, heard, console: Console::default(), by_kvm, status, said: Vec::new() };
    match boot.wait(control, orders.prepared.boot_within) {
        Ok(()) => boot.end(),
        Err(error) => {
            // It may have ended by itself, and nobody needs it either way.
            let _ended = boot.qemu.kill().and_then(|()| boot.qemu.wait());
            Err(error)
        }
    }
}

/// A guest on its way.
struct Boot {
    qemu: Child,
    heard: io::PipeReader,
    console: Console,
    by_kvm: bool,
    status: UnixStream,
    /// What its init has said of a line that is not whole yet.
    said: Vec<u8>,
}

impl Boot {
    fn wait(&mut self, control: &HostEnd, within: Duration) -> Result<(), BootError> {
        let give_up = Instant::now() + within;
        loop {
            let left = give_up.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(self.failed(BootFailure::TooLong { within_s: within.as_secs() }));
            }
            let timeout = PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX);
            let mut wait = [
                PollFd::new(control.as_fd(), PollFlags::empty()),
                PollFd::new(self.heard.as_fd(), PollFlags::POLLIN),
                PollFd::new(self.status.as_fd(), PollFlags::POLLIN),
            ];
            match poll(&mut wait, timeout) {
                Ok(_) | Err(nix::Error::EINTR) => {}
                Err(errno) => return Err(here("waiting for the guest")(errno.into())),
            }
            let [gone, console, status] =
                wait.map(|fd| fd.revents().is_some_and(|events| !events.is_empty()));
            if gone {
                return Err(BootError::Unwanted);
            }
            if console && !self.take_console()? {
                return Err(self.ended());
            }
            if status && self.take_status(control)? {
                return Ok(());
            }
        }
    }

    /// What its console says now; false where nothing more can come, since QEMU has ended.
    fn take_console(&mut self) -> Result<bool, BootError> {
        let mut buffer = [0; 4096];
        let length = self.heard.read(&mut buffer).map_err(here("reading the guest's console"))?;
        self.console.write(&buffer[..length]);
        // QEMU stops the guest then, and does not end (accel/kvm/kvm-all.c).
        if let Some(line) = self.console.line_of(&KVM_GAVE_UP).filter(|_| self.by_kvm) {
            return Err(self.failed(BootFailure::Kvm(line)));
        }
        Ok(length > 0)
    }

    /// What its init says now; whether its agent runs.
    fn take_status(&mut self, control: &HostEnd) -> Result<bool, BootError> {
        let failed = |error| here("listening to the guest's init")(error);
        let mut buffer = [0; 4096];
        let length = self.status.read(&mut buffer).map_err(failed)?;
        if length == 0 {
            // QEMU has closed it: why, its console tells.
            return Ok(false);
        }
        self.said.extend(&buffer[..length]);
        while let Some(end) = self.said.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.said.drain(..=end).collect();
            match codec::from_line(&String::from_utf8_lossy(&line)).map_err(failed)? {
                Word::Started => return Ok(true),
                Word::Time => writeln!(self.status, "{}", clock::raw_ns()).map_err(failed)?,
                Word::Refused { why, .. } => return Err(self.failed(why)),
                note @ Word::Note(_) => control.say(&note),
                other => return Err(failed(io::Error::other(format!("unexpected: {other:?}")))),
            }
        }
        Ok(false)
    }

    fn failed(&self, why: BootFailure) -> BootError {
        BootError::Failed { why, console: self.console.last_lines() }
    }

    fn ended(&mut self) -> BootError {
        let give_up = Instant::now() + ENDING;
        let mut status = None;
        while status.is_none() && Instant::now() < give_up {
            status = self.qemu.try_wait().ok().flatten();
            thread::sleep(Duration::from_millis(10));
        }
        self.failed(how_it_ended(status))
    }

    /// The guest is up: its console is read on by a thread.
    fn end(self) -> Result<Guest, BootError> {
        let Self { qemu, mut heard, console, status, .. } = self;
        let console = Arc::new(Mutex::new(console));
        let kept = Arc::clone(&console);
        let listen = move || {
            let mut buffer = [0; 4096];
            while let Ok(length @ 1..) = heard.read(&mut buffer) {
                kept.lock().unwrap_or_else(PoisonError::into_inner).write(&buffer[..length]);
            }
        };
        thread_beside("guest-console", listen).map_err(here("listening to the guest's console"))?;
        Ok(Guest { qemu, console, _status: status })
    }
}

fn how_it_ended(status: Option<ExitStatus>) -> BootFailure {
    match status {
        // With -no-reboot a panic, and a triple fault of the processor, are an end like any other.
        Some(status) if status.success() => BootFailure::KernelEnded,
        Some(status) => BootFailure::QemuEnded(status.to_string()),
        None => BootFailure::QemuEnded("it still runs, but has closed the console".into()),
    }
}

/// Everything that the guest starts with.
fn archive(orders: &Orders, agent: &Path, args: &[String]) -> io::Result<Vec<u8>> {
    let mut archive = Archive::new();
    let own = std::fs::read_link(THIS_EXECUTABLE)?;
    // A file that was replaced since this process started is still there under the name by which it is open.
    let own = if own.exists() { own } else { THIS_EXECUTABLE.into() };
    archive.program(Path::new(PROGRAM), &own)?;
    archive.link(Path::new(INIT), Path::new(PROGRAM));
    let inside_agent = if are_one_file(&own, agent) {
        PROGRAM
    } else {
        archive.program(Path::new(init::OTHER_AGENT), agent)?;
        init::OTHER_AGENT
    };
    let mut modules = Vec::new();
    if let Some(folder) = &orders.prepared.modules {
        let known = Modules::below(folder)?;
        let links = LINKS.iter().filter(|_| !orders.inside.interfaces.is_empty());
        let nat = NAT.iter().filter(|_| orders.inside.translation.is_some());
        let disks = in_guest::MODULES.iter().filter(|_| !orders.inside.volumes.is_empty());
        let share = share::MODULES.iter().filter(|_| orders.prepared.virtiofsd.is_some());
        let more = orders.prepared.more_modules.iter().map(String::as_str);
        for name in ALWAYS.iter().chain(links).chain(nat).chain(disks).chain(share).copied().chain(more) {
            known.load(name, &mut modules)?;
        }
    }
    let mut paths = Vec::new();
    for (name, content) in modules {
        let path = Path::new("/modules").join(name);
        archive.file(&path, &content);
        paths.push(path);
    }
    // Where who describes a machine looks for it.
    let config = orders.prepared.config.as_ref().map(|file| -> io::Result<PathBuf> {
        let path = PathBuf::from(format!("/boot/config-{}", orders.prepared.release));
        archive.file(&path, &std::fs::read(file)?);
        Ok(path)
    });
    for volume in &orders.inside.volumes {
        archive.file(&volume.file(), &volume.image()?);
    }
    for folder in init::FOLDERS {
        archive.folder(Path::new(folder));
    }
    for (path, text) in init::FILES {
        archive.file(Path::new(path), text.as_bytes());
    }
    let guest = init::GuestDescription {
        inside: orders.inside.clone(),
        modules: paths,
        agent: inside_agent.into(),
        config: config.transpose()?,
        args: args.to_vec(),
        machine: orders.prepared.virtiofsd.as_ref().map(|_| MachineFiles::of_here()).transpose()?,
    };
    archive.file(Path::new(init::DESCRIPTION), &serde_json::to_vec(&guest)?);
    Ok(archive.end())
}

/// What init says when the guest could not be had.
pub(crate) fn tell(control: &HostEnd, error: BootError) -> ExitCode {
    match error {
        BootError::Unwanted => {}
        BootError::Failed { why, console } => control.say(&Word::Refused { why, console }),
    }
    ExitCode::from(FAILED)
}
