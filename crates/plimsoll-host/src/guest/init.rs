//! Process 1 inside of a guest: makes of an archive and a kernel what an agent expects to find, starts it, and ends the guest with it.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use nix::libc;
use nix::mount::{MsFlags, mount};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sched::{CloneFlags, setns, unshare};
use nix::unistd::{Pid, getpid, sethostname};
use rustix::system::{RebootCommand, init_module, reboot};
use serde::{Deserialize, Serialize};
use std::os::fd::AsFd;

use super::machine::{FRAMES, STATUS};
use super::share::{self, MachineFiles};
use super::{Inside, exact, network};
use crate::clock;
use crate::control::Word;
use crate::guest_error::BootFailure;
use crate::nat;
use crate::own::{SCRATCH, settings};
use crate::tend::tend;
use crate::volume::in_guest::GuestVolume;

/// The file of the archive with the description of the guest.
pub(super) const DESCRIPTION: &str = "/guest.json";
/// Where the agent is that is another program than the guest's init.
pub(super) const OTHER_AGENT: &str = "/agent";
/// Places for file systems.
pub(super) const FOLDERS: [&str; 5] = ["/proc", "/sys", "/dev/shm", "/tmp", "/root"];
/// What programs look up.
pub(super) const FILES: [(&str, &str); 3] = [
    (
        "/etc/passwd",
        "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n",
    ),
    ("/etc/group", "root:x:0:\nnogroup:x:65534:\n"),
    ("/etc/hosts", "127.0.0.1 localhost\n"),
];
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// How long the kernel may take to find its devices once their modules are there.
const PATIENCE: Duration = Duration::from_secs(5);
/// Queries for the time of the machine; the reply that took least counts.
const QUESTIONS: usize = 8;

/// The description of a guest, in a file of its archive.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct GuestDescription {
    pub(super) inside: Inside,
    /// In the order in which they are loaded.
    pub(super) modules: Vec<PathBuf>,
    pub(super) agent: PathBuf,
    /// How its kernel was built.
    pub(super) config: Option<PathBuf>,
    pub(super) args: Vec<String>,
    /// What of the machine it is to see; none for a guest that has nothing but its archive.
    pub(super) machine: Option<MachineFiles>,
}

/// The stage. It is of use only to a kernel that has just been booted: anywhere else it does nothing.
pub(crate) fn stage() -> ExitCode {
    let guest =
        fs::read(DESCRIPTION).ok().and_then(|text| serde_json::from_slice::<GuestDescription>(&text).ok());
    let Some(guest) = guest.filter(|_| getpid() == Pid::from_raw(1)) else { return ExitCode::FAILURE };
    if let Err(why) = run(&guest) {
        // The serial port, which the host's init reads.
        tracing::error!("plimsoll: {why}");
    }
    // QEMU takes it for the end. That of process 1 would be a panic of the kernel, which is an end of the guest, too.
    let refused = reboot(RebootCommand::Restart);
    tracing::error!("plimsoll: the guest does not end: {refused:?}");
    ExitCode::FAILURE
}

fn run(guest: &GuestDescription) -> Result<(), String> {
    mount_all()?;
    let inside = &guest.inside;
    // Before any interface is there, since they begin with what holds for all.
    settings(inside.forward).map_err(|(operation, errno)| format!("{operation}: {errno}"))?;
    sethostname(&inside.host).map_err(|errno| format!("setting the host name: {errno}"))?;
    for module in &guest.modules {
        let of_module = |error: String| format!("loading the module {}: {error}", module.display());
        let content = fs::read(module).map_err(|error| of_module(error.to_string()))?;
        init_module(&content, c"").map_err(|error| of_module(error.to_string()))?;
        fs::remove_file(module).ok();
    }
    let mut status = port(STATUS)?;
    match prepare(guest, &mut status) {
        Ok((agent, orders)) => {
            say(&mut status, &Word::Started);
            // Only now: a guest that stands still says nothing.
            if let Some(orders) = orders {
                orders.start().map_err(|error| format!("waiting for orders: {error}"))?;
            }
            // The agent's end, and QEMU's loss of the host's init, are that of the guest.
            tend(agent, &status).map(drop).map_err(|errno| format!("waiting for the agent: {errno}"))
        }
        Err(why) => {
            let refusal = BootFailure::Init(why.clone());
            say(&mut status, &Word::Refused { why: refusal, console: String::new() });
            Err(why)
        }
    }
}

fn prepare(
    guest: &GuestDescription,
    status: &mut File,
) -> Result<(Pid, Option<exact::inside::Inside>), String> {
    let inside = &guest.inside;
    network::make(inside).map_err(|error| format!("setting up its network: {error}"))?;
    if let Some(translation) = &inside.translation {
        nat::make(translation)
            .map_err(|e| format!("making rules of address translation (nf_tables): {e}"))?;
    }
    let of_volume = |volume: &GuestVolume| {
        let file = volume.file();
        move |error: io::Error| format!("mounting {}: {error}", file.display())
    };
    let images = inside.volumes.iter().map(|volume| volume.open().map_err(of_volume(volume)));
    let images: Vec<File> = images.collect::<Result<_, _>>()?;
    let agent = match &guest.machine {
        Some(_) => share::inside::enter(&guest.agent, guest.config.as_deref())?,
        None => guest.agent.clone(),
    };
    for (volume, image) in inside.volumes.iter().zip(&images) {
        volume.mount_here(image).map_err(of_volume(volume))?;
    }
    if inside.machine_time
        && let Err(error) = take_time(status)
    {
        say(
            status,
            &Word::Note(format!(
                "its clocks begin at its boot, since the kernel lets no process have another time: {error}"
            )),
        );
    }
    let frames = port(FRAMES)?;
    let again = frames.try_clone().map_err(|error| format!("opening its port: {error}"))?;
    let mut command = Command::new(&agent);
    command.args(&guest.args).env("PATH", PATH).stdout(Stdio::from(again));
    if let Some(machine) = &guest.machine {
        machine.surround(&mut command);
    }
    command.env(SCRATCH, "/dev/shm");
    let orders = if inside.machine_time {
        command.stdin(Stdio::from(frames));
        None
    } else {
        let (orders, input) = exact::inside::Inside::new(frames)?;
        command.stdin(Stdio::from(input)).env(exact::IDLE_VARIABLE, exact::IDLE);
        Some(orders)
    };
    let started = command.spawn();
    drop(command);
    let started = started.map_err(|error| format!("starting the agent {}: {error}", agent.display()))?;
    Ok((Pid::from_raw(started.id().cast_signed()), orders))
}

fn mount_all() -> Result<(), String> {
    let needed = [
        ("proc", "/proc"),
        ("sysfs", "/sys"),
        ("devtmpfs", "/dev"),
        ("tmpfs", "/dev/shm"),
        ("tmpfs", "/tmp"),
    ];
    for (kind, at) in needed {
        let made = fs::create_dir_all(at).map_err(|error| error.to_string()).and_then(|()| {
            mount(Some(kind), at, Some(kind), MsFlags::empty(), None::<&str>)
                .map_err(|errno| errno.to_string())
        });
        made.map_err(|why| format!("mounting {at}: {why}"))?;
    }
    // For who looks at the kernel's own workings; a kernel without them is a kernel all the same.
    for (kind, at) in [("tracefs", "/sys/kernel/tracing"), ("cgroup2", "/sys/fs/cgroup")] {
        mount(Some(kind), at, Some(kind), MsFlags::empty(), None::<&str>).ok();
    }
    Ok(())
}

/// A virtio port, by its name, once the host listens to it.
fn port(name: &str) -> Result<File, String> {
    let give_up = Instant::now() + PATIENCE;
    let device = loop {
        if let Some(device) = device(name) {
            break device;
        }
        if Instant::now() > give_up {
            return Err(format!(
                "there is no virtio port `{name}`: the kernel has to have virtio_pci and virtio_console, built in or as modules beside it"
            ));
        }
        thread::sleep(Duration::from_millis(5));
    };
    let of_port = |error: io::Error| format!("opening {}: {error}", device.display());
    let port = File::options().read(true).write(true).open(&device).map_err(of_port)?;
    // Until the host's side is known to be open, reading would seem to be at its end.
    loop {
        let mut wait = [PollFd::new(port.as_fd(), PollFlags::POLLIN)];
        poll(&mut wait, PollTimeout::ZERO).map_err(|errno| of_port(errno.into()))?;
        if wait[0].revents().is_none_or(|events| !events.contains(PollFlags::POLLHUP)) {
            return Ok(port);
        }
        if Instant::now() > give_up {
            return Err(format!("nobody listens at the virtio port `{name}`"));
        }
        thread::sleep(Duration::from_millis(1));
    }
}

fn device(name: &str) -> Option<PathBuf> {
    let ports = fs::read_dir("/sys/class/virtio-ports").ok()?;
    let found = ports
        .flatten()
        .find(|port| fs::read_to_string(port.path().join("name")).is_ok_and(|own| own.trim_end() == name))?;
    Some(Path::new("/dev").join(found.file_name())).filter(|device| device.exists())
}

/// Says something to the host's init. When that is gone the guest ends anyhow.
fn say(status: &mut File, word: &Word) {
    let _gone = status.write_all(word.to_line().as_bytes());
}

/// Lets the processes that are started from here on have the machine's CLOCK_MONOTONIC, CLOCK_MONOTONIC_RAW and CLOCK_BOOTTIME, by a time
/// namespace (time_namespaces(7); Linux 5.6), so that times of all hosts can be compared.
fn take_time(status: &mut File) -> io::Result<()> {
    let mut answers = BufReader::new(status.try_clone()?);
    let mut best: Option<(u64, i128)> = None;
    for _ in 0..QUESTIONS {
        let asked = clock::raw_ns();
        say(status, &Word::Time);
        let mut line = String::new();
        answers.read_line(&mut line)?;
        let answered = clock::raw_ns();
        let there: u64 =
            line.trim().parse().map_err(|_| io::Error::other(format!("the answer was {line:?}")))?;
        let took = answered.saturating_sub(asked);
        if best.is_none_or(|(least, _)| took < least) {
            best = Some((took, i128::from(there) - i128::from(asked + took / 2)));
        }
    }
    let offset = best.map_or(0, |(_, offset)| offset);
    let (seconds, rest) = (offset.div_euclid(1_000_000_000), offset.rem_euclid(1_000_000_000));
    let time = CloneFlags::from_bits_retain(libc::CLONE_NEWTIME);
    unshare(time)?;
    fs::write(
        "/proc/self/timens_offsets",
        format!("monotonic {seconds} {rest}\nboottime {seconds} {rest}\n"),
    )?;
    // Only what is forked would be in it, and not what is started in the parent's memory (vfork), as the standard library does.
    Ok(setns(File::open("/proc/self/ns/time_for_children")?, time)?)
}
