//! Errors of hosts, with place, operation and advice.

use std::borrow::Cow;
use std::io;
use std::path::{Path, PathBuf};

use nix::errno::Errno;

use crate::forbidden::{Forbidden, root_lacks};
use crate::guest_error::{BootFailure, KernelError};
use crate::spec::SpecError;

/// See `Documentation/admin-guide/sysctl/vm.rst`.
pub(crate) const DROP_CACHES: &str = "/proc/sys/vm/drop_caches";

/// Error at making, using or removing hosts.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// The user interrupted it.
    #[error("interrupted")]
    Interrupted,
    /// The description of the rig makes no sense.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// Neither root nor user namespaces.
    #[error("user namespaces are forbidden here {0}; hosts of kind `local` still work")]
    Forbidden(Forbidden),
    /// [`enter`](crate::enter) was not called.
    #[error("this process has not entered a user namespace: main has to call plimsoll_host::enter first")]
    NotEntered,
    /// Entering the user namespace failed although a child had managed it.
    #[error("entering a user namespace: {operation}: {}", errno.desc())]
    Enter {
        /// The operation that failed.
        operation: &'static str,
        /// The kernel's error; EINVAL when this process has threads already.
        errno: Errno,
    },
    /// A file of the kernel could not be read.
    #[error("reading {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A process or thread of the controller could not be started.
    #[error("{operation}: {source}")]
    Process {
        /// The operation that failed.
        operation: &'static str,
        /// The system's error.
        source: io::Error,
    },
    /// Making or removing a host failed.
    #[error("host {host}: {operation}: {source}")]
    Host {
        /// The host.
        host: String,
        /// The operation that failed.
        operation: String,
        /// The system's error.
        source: io::Error,
    },
    /// Making or removing a link failed.
    #[error("link {link}: {operation}: {source}")]
    Link {
        /// The hosts that it joins.
        link: String,
        /// The operation that failed.
        operation: String,
        /// The system's error.
        source: io::Error,
    },
    /// The kernel cannot shape a link whose description asks for that.
    #[error("link {link}: the experiment asks for netem, but {why}")]
    NoNetem {
        /// The hosts that it joins.
        link: String,
        /// Why the kernel cannot.
        why: String,
    },
    /// The host ended by itself before it was closed, for example with its agent.
    #[error("host {host}: it ended while {doing} ({how})")]
    Ended {
        /// The host.
        host: String,
        /// The operation during which it ended.
        doing: &'static str,
        /// How it ended, in words.
        how: String,
    },
    /// There is no such kernel for a guest.
    #[error("host {host}: {source}")]
    Kernel {
        /// The host.
        host: String,
        /// Why not.
        source: Box<KernelError>,
    },
    /// The program that runs guests is missing.
    #[error("host {0} is a virtual machine, but there is no program `qemu-system-x86_64`")]
    NoQemu(String),
    /// Files of others cannot be shown to a guest.
    #[error(
        "host {0} is a virtual machine that runs programs of this machine, but only root can show it the machine's files"
    )]
    ShareNeedsRoot(String),
    /// The program that shows a guest the machine's files is missing.
    #[error(
        "host {0} is a virtual machine that runs programs of this machine, but there is no program `virtiofsd`"
    )]
    NoVirtiofsd(String),
    /// A guest did not come up.
    #[error("host {host}: its guest did not start: {why}{}", quoted_console(console))]
    Boot {
        /// The host.
        host: String,
        /// Why not.
        why: BootFailure,
        /// The last lines of its console.
        console: String,
    },
    /// The rig has no such host.
    #[error("there is no host `{0}`")]
    NoSuchHost(String),
    /// No link or chain of forwarding hosts leads there.
    #[error("`{from}` cannot reach `{to}`: no chain of links and forwarding hosts joins them")]
    Unreachable {
        /// Start of the path.
        from: String,
        /// End of the path.
        to: String,
    },
    /// The pipes were handed out before, or the host was closed.
    #[error("host {0}: its pipes were taken before, or it was closed")]
    NoPipes(String),
    /// The host has no processes any more.
    #[error("host {0} is closed")]
    Closed(String),
    /// A local host shares the machine's kernel, so nothing can be rebuilt.
    #[error("host {0} is a `local` host: it has no kernel state of its own to rebuild")]
    NotRebuildable(String),
    /// The link's description declares no change.
    #[error("link {0} cannot be changed: its description declares no change")]
    NotReshapeable(usize),
    /// More rigs with local hosts at once than there are addresses for.
    #[error("no loopback addresses are left: {0} rigs with `local` hosts exist at once")]
    NoLocalAddresses(usize),
    /// A setting of the machine could not be changed, or a folder not be made.
    #[error("{}: {why}", setting(path, value))]
    Setting {
        /// The setting or folder.
        path: PathBuf,
        /// The requested value.
        value: String,
        /// Why not.
        why: String,
        /// Whether this user lacks the rights for it.
        forbidden: bool,
    },
    /// A volume could not be made, used or removed.
    #[error("volume {volume}: {operation}: {source}")]
    Volume {
        /// The volume.
        volume: String,
        /// The operation that failed.
        operation: String,
        /// The system's error.
        source: io::Error,
    },
    /// A volume needs rights that this user lacks.
    #[error("volume {volume}: {what} needs root of the machine (CAP_SYS_ADMIN)")]
    VolumeNeedsRoot {
        /// The volume.
        volume: String,
        /// The part that needs them.
        what: &'static str,
    },
    /// A host's limits need rights that this user lacks.
    #[error(
        "host {0}: limiting what it may use needs root of the machine (write access to its control groups)"
    )]
    HostNeedsRoot(String),
    /// Control groups cannot apply a limit.
    #[error(
        "host {host}: no control groups of this machine hand on the `{controller}` controller, by which it would be limited"
    )]
    NoController {
        /// The host.
        host: String,
        /// The controller.
        controller: &'static str,
    },
    /// The program that makes a file system is missing.
    #[error("volume {volume}: there is no program `{program}`; it comes with the Debian package `{package}`")]
    NoMkfs {
        /// The volume.
        volume: String,
        /// The program.
        program: String,
        /// The Debian package that has it.
        package: &'static str,
    },
    /// A block device to write to is in use.
    #[error("volume {volume}: {device} must not be written to: {why}")]
    DeviceInUse {
        /// The volume.
        volume: String,
        /// The device.
        device: PathBuf,
        /// Its user.
        why: String,
    },
    /// The rig has no such volume.
    #[error("there is no volume `{0}`")]
    NoSuchVolume(String),
    /// Only root of the machine may drop its caches.
    #[error("dropping the kernel's caches ({}): {source}", DROP_CACHES)]
    DropCaches {
        /// The system's error.
        source: io::Error,
    },
    /// A leftover process of a killed run could not be ended.
    #[error("ending process {pid}, left by a run that was killed: {source}")]
    Leftover {
        /// The process.
        pid: u32,
        /// The system's error.
        source: io::Error,
    },
}

impl HostError {
    /// Advice for the user, if there is any. Root is advised of the missing right.
    pub fn advice(&self) -> Option<Cow<'static, str>> {
        let usual = self.usual_advice()?;
        Some(match root_lacks() {
            Some(lacks) if self.needs_root() => {
                format!("a root that has {lacks}, as outside of this container (--cap-add, or --privileged); usually: {usual}").into()
            }
            _ => usual.into(),
        })
    }

    /// Whether root would succeed.
    fn needs_root(&self) -> bool {
        match self {
            Self::Forbidden(_) | Self::VolumeNeedsRoot { .. } | Self::Setting { forbidden: true, .. } => true,
            Self::DropCaches { source } => is_permission(source),
            _ => false,
        }
    }

    fn usual_advice(&self) -> Option<&'static str> {
        match self {
            Self::Forbidden(Forbidden::UnprivilegedUsernsClone) => {
                Some("run as root, or `sysctl kernel.unprivileged_userns_clone=1`, or use `kind = \"local\"`")
            }
            Self::Forbidden(Forbidden::MaxUserNamespaces) => {
                Some("run as root, or `sysctl user.max_user_namespaces=10000`, or use `kind = \"local\"`")
            }
            Self::Forbidden(Forbidden::AppArmor) => Some(
                "run as root, or give the program an AppArmor profile with `userns`, or `sysctl \
                 kernel.apparmor_restrict_unprivileged_userns=0`, or use `kind = \"local\"`",
            ),
            Self::Forbidden(Forbidden::Refused { .. }) => Some(
                "run as root, or allow user namespaces in the container or sandbox, or use `kind = \"local\"`",
            ),
            Self::NoQemu(_) => Some(
                "it comes with the Debian package `qemu-system-x86`; or use `kind = \"namespace\"`, with this machine's kernel",
            ),
            Self::ShareNeedsRoot(_) => {
                Some("run as root, or use `kind = \"namespace\"`, or built-in services and loads alone")
            }
            Self::NoVirtiofsd(_) => Some(
                "it comes with the Debian package `virtiofsd` (up to Debian 12: `qemu-system-common`); or use `kind = \"namespace\"`, or built-in services and loads alone",
            ),
            Self::Kernel { source, .. } => source.advice(),
            Self::Boot { why: BootFailure::TooLong { .. }, .. } => {
                Some("a longer `boot_within`, where the machine is busy")
            }
            Self::NoNetem { .. } => Some(
                "leave `shaper` out, and a link emulator of Plimsoll's own does it; netem comes with the module sch_netem (CONFIG_NET_SCH_NETEM)",
            ),
            Self::VolumeNeedsRoot { .. } => Some("run as root, or use a `folder` in place of it"),
            Self::DropCaches { source } if is_permission(source) => Some(
                "only root of the machine can drop its caches: run as root, or leave `drop_caches` out of the ladder",
            ),
            Self::Setting { forbidden: true, .. } => {
                Some("only root of the machine can change its settings: run as root, or leave them out")
            }
            Self::Host { source, .. } | Self::Link { source, .. } | Self::Process { source, .. } => {
                advice_on(source)
            }
            Self::Enter { errno: Errno::EINVAL, .. } => {
                Some("a thread was started before plimsoll_host::enter was called")
            }
            _ => None,
        }
    }
}

/// Last lines of a console, with an introduction.
fn quoted_console(console: &str) -> String {
    match console {
        "" => "; its console says nothing".into(),
        lines => format!("; the last lines of its console:\n{lines}"),
    }
}

/// A setting and its value, or a folder: `setting vm.swappiness = 10`. What is below `/proc/sys` has the name that sysctl(8) gives it.
fn setting(path: &Path, value: &str) -> String {
    let name = setting_name(path);
    if value.is_empty() { name } else { format!("setting {name} = {value}") }
}

/// Name of a setting for people: its dotted name below `/proc/sys`, else its path.
pub(crate) fn setting_name(path: &Path) -> String {
    let dotted =
        path.strip_prefix("/proc/sys").ok().and_then(Path::to_str).filter(|name| !name.contains('.'));
    dotted.map_or_else(|| path.display().to_string(), |name| name.replace('/', "."))
}

/// Whether the error is a missing right.
pub(crate) fn is_permission(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem)
}

fn advice_on(error: &io::Error) -> Option<&'static str> {
    match Errno::from_raw(error.raw_os_error()?) {
        Errno::ENOSPC => {
            Some("a limit on namespaces is reached: see user.max_net_namespaces and its neighbours")
        }
        Errno::EAGAIN => Some("a limit on processes is reached: see `ulimit -u` and kernel.pid_max"),
        Errno::EMFILE | Errno::ENFILE => {
            Some("a limit on open files is reached: see `ulimit -n` and fs.file-max")
        }
        Errno::EOPNOTSUPP => Some("the kernel lacks virtual Ethernet links: `modprobe veth`, or CONFIG_VETH"),
        Errno::EPERM => Some("a container or security module forbids it; hosts of kind `local` still work"),
        _ => None,
    }
}
