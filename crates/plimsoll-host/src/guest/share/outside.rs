//! The daemon on the machine: virtiofsd. It shows a guest the files that the user of this process may read, and writes to none.

use std::ffi::OsString;
use std::io;
use std::os::fd::AsRawFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nix::libc;
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use nix::sys::prctl;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::signal::Signal;

use crate::access::Access;
use crate::error::HostError;
use crate::own_process;
use crate::reexec::{FAILED, Stage, errno_of};

/// Where distributions have it: it is no program for users, so it is in no `PATH`.
const PLACES: [&str; 4] = [
    "/usr/libexec/virtiofsd",
    "/usr/lib/qemu/virtiofsd",
    "/usr/lib/virtiofsd",
    "/usr/libexec/qemu/virtiofsd",
];
/// The name of its socket, in the network namespace of the guest's host alone.
const SOCKET: &str = "plimsoll-share";

/// Where it is; an error where it is missing, or of no use.
pub(in super::super) fn daemon(host: &str) -> Result<PathBuf, HostError> {
    // The guest's overlay opens files with O_NOATIME, which is only for their owner and for CAP_FOWNER over him (open(2)).
    if Access::detect()? != Access::Root {
        return Err(HostError::ShareNeedsRoot(host.to_owned()));
    }
    let found = PLACES.into_iter().map(PathBuf::from).find(|place| place.is_file());
    found.ok_or_else(|| HostError::NoVirtiofsd(host.to_owned()))
}

/// Starts it.
///
/// # Returns
/// The socket by which QEMU speaks to it. It ends when that is closed, and with the process that started it.
pub(in super::super) fn start(daemon: &Path, errors: Stdio) -> io::Result<UnixStream> {
    // A daemon of a guest that did not come up may still have its name.
    static STARTED: AtomicU32 = AtomicU32::new(0);
    let name = format!("{SOCKET}-{}", STARTED.fetch_add(1, Ordering::Relaxed));
    let address = SocketAddr::from_abstract_name(name)?;
    let listener = UnixListener::bind_addr(&address)?;
    let socket = UnixStream::connect_addr(&address)?;
    fcntl(&listener, FcntlArg::F_SETFD(FdFlag::empty()))?;
    let mut command = Stage::Share.command();
    command.arg(listener.as_raw_fd().to_string()).arg(daemon);
    // Its end is that of its guest, and it is a child of the first process of its namespace, which collects all.
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(errors).spawn()?;
    Ok(socket)
}

/// The stage: shuts itself out from writing, and becomes the daemon on the socket of this number.
pub(crate) fn stage(mut args: impl Iterator<Item = OsString>) -> ExitCode {
    let (Some(socket), Some(daemon)) = (args.next(), args.next()) else { return ExitCode::from(FAILED) };
    if let Err((operation, errno)) = confine() {
        tracing::error!(
            "plimsoll: the machine's files cannot be shown to the guest: {operation}: {}",
            errno.desc()
        );
        return ExitCode::from(FAILED);
    }
    let Some(socket) = socket.to_str().and_then(|number| number.parse().ok()) else {
        return ExitCode::from(FAILED);
    };
    own_process::keep_at_exec(socket);
    let error = Command::new(&daemon)
        .arg("-f")
        .arg(format!("--fd={socket}"))
        .args(["-o", "source=/,sandbox=chroot,cache=always", "--rlimit-nofile=0"])
        .exec();
    tracing::error!("plimsoll: {}: {error}", daemon.display());
    ExitCode::from(FAILED)
}

fn confine() -> Result<(), (&'static str, Errno)> {
    let at = |operation| move |errno| (operation, errno);
    prctl::set_pdeathsig(Signal::SIGKILL).map_err(at("asking to die with its host"))?;
    unshare(CloneFlags::CLONE_NEWNS).map_err(at("making a mount namespace"))?;
    mount(None::<&str>, "/", None::<&str>, MsFlags::MS_REC | MsFlags::MS_PRIVATE, None::<&str>)
        .map_err(at("keeping its mounts to itself"))?;
    all_read_only().map_err(at("mounting the machine's files read-only (mount_setattr(2), Linux 5.12)"))?;
    // It keeps each file open that the guest knows.
    let (_, most) = getrlimit(Resource::RLIMIT_NOFILE).map_err(at("asking how many files it may open"))?;
    setrlimit(Resource::RLIMIT_NOFILE, most, most).map_err(at("opening more files"))
}

/// `struct mount_attr` (mount_setattr(2)).
#[repr(C)]
struct MountAttributes {
    set: u64,
    clear: u64,
    propagation: u64,
    user_namespace: u64,
}

/// Makes all mounts of this mount namespace read-only.
fn all_read_only() -> Result<(), Errno> {
    /// linux/mount.h
    const MOUNT_ATTR_RDONLY: u64 = 1;
    let attributes = MountAttributes { set: MOUNT_ATTR_RDONLY, clear: 0, propagation: 0, user_namespace: 0 };
    #[expect(unsafe_code, reason = "no library has mount_setattr(2) yet")]
    // SAFETY: the path is a string with its end, and the attributes are a structure of the given size; the kernel only reads both.
    let done = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            libc::AT_FDCWD,
            c"/".as_ptr(),
            libc::AT_RECURSIVE,
            &raw const attributes,
            size_of::<MountAttributes>(),
        )
    };
    if done == 0 { Ok(()) } else { Err(errno_of(&io::Error::last_os_error())) }
}
