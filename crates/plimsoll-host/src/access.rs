//! Rights of this process: it makes namespaces as root, inside a user namespace, or not at all.

use std::fs;
use std::io;
use std::process::Stdio;

use nix::errno::Errno;
use nix::sched::{CloneFlags, unshare};
use nix::unistd::{Gid, Uid};

use crate::codec;
use crate::error::HostError;
use crate::forbidden::{Forbidden, note_what_root_lacks};
use crate::reexec::Stage;

/// Namespaces of a namespace host.
pub(crate) const HOST_NAMESPACES: CloneFlags = CloneFlags::CLONE_NEWNET
    .union(CloneFlags::CLONE_NEWPID)
    .union(CloneFlags::CLONE_NEWNS)
    .union(CloneFlags::CLONE_NEWUTS)
    .union(CloneFlags::CLONE_NEWIPC);

/// What it takes to make hosts: each capability with its bit in the masks of `/proc/self/status` (capabilities(7)).
const CAPABILITIES: [(&str, u64); 2] = [("CAP_NET_ADMIN", 1 << 12), ("CAP_SYS_ADMIN", 1 << 21)];
const NEEDED: u64 = CAPABILITIES[0].1 | CAPABILITIES[1].1;

/// How hosts can be made by this process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Access {
    /// With CAP_SYS_ADMIN and CAP_NET_ADMIN of the machine.
    Root,
    /// In a user namespace, either one that is still to be [`enter`]ed or one that the process is in already.
    UserNamespace,
    /// Only hosts of kind `local`.
    Local(Forbidden),
}

impl Access {
    /// Detects it without changing this process: if capabilities are missing, a child process tries.
    ///
    /// # Errors
    /// When `/proc` cannot be read or no child can be started.
    pub fn detect() -> Result<Self, HostError> {
        if has_capabilities()? {
            return Ok(if in_first_user_namespace()? { Self::Root } else { Self::UserNamespace });
        }
        if Uid::effective().is_root() {
            let has = effective_capabilities(&read("/proc/self/status")?);
            note_what_root_lacks(|| lacking(has));
        }
        Ok(match try_in_child()? {
            None => Self::UserNamespace,
            Some((operation, errno)) => Self::Local(diagnose(operation, errno)),
        })
    }
}

/// Readies this process for making hosts: where it has no privilege of its own and user namespaces are allowed, it moves into one in
/// which it is root. Files that it and its hosts write then still belong to the user. Only this one user and group exist in there, so
/// a service cannot change to another.
///
/// To be called by `main`, after [`stage`](crate::stage) and before any thread is started.
///
/// # Errors
/// When `/proc` cannot be read, no child can be started for trying, or a thread exists already. That namespaces are forbidden is no
/// error but an answer: [`Access::Local`].
pub fn enter() -> Result<Access, HostError> {
    let access = Access::detect()?;
    if access == Access::UserNamespace && !has_capabilities()? {
        enter_user_namespace().map_err(|(operation, errno)| HostError::Enter { operation, errno })?;
    }
    Ok(access)
}

/// Fails unless namespace hosts can be made by this process as it is now.
pub(crate) fn require_namespaces() -> Result<(), HostError> {
    if has_capabilities()? {
        return Ok(());
    }
    Err(match Access::detect()? {
        Access::Local(why) => HostError::Forbidden(why),
        Access::Root | Access::UserNamespace => HostError::NotEntered,
    })
}

/// Tries in a child all steps of a controller and of a host's start.
pub(crate) fn attempt() -> Result<(), (&'static str, Errno)> {
    enter_user_namespace()?;
    unshare(HOST_NAMESPACES).map_err(|errno| ("making namespaces inside a user namespace", errno))
}

fn enter_user_namespace() -> Result<(), (&'static str, Errno)> {
    let (uid, gid) = (Uid::effective(), Gid::effective());
    unshare(CloneFlags::CLONE_NEWUSER).map_err(|errno| ("making a user namespace", errno))?;
    // Without this the kernel does not let an ordinary user map a group (user_namespaces(7)).
    write_proc("/proc/self/setgroups", "deny")?;
    write_proc("/proc/self/gid_map", &format!("0 {gid} 1"))?;
    write_proc("/proc/self/uid_map", &format!("0 {uid} 1"))
}

fn write_proc(path: &'static str, text: &str) -> Result<(), (&'static str, Errno)> {
    fs::write(path, text).map_err(|e| (path, Errno::from_raw(e.raw_os_error().unwrap_or_default())))
}

fn has_capabilities() -> Result<bool, HostError> {
    Ok(effective_capabilities(&read("/proc/self/status")?) & NEEDED == NEEDED)
}

/// The CapEff mask of `/proc/PID/status`; 0 without that line.
fn effective_capabilities(status: &str) -> u64 {
    let mask = status.lines().find_map(|l| l.strip_prefix("CapEff:"));
    mask.and_then(|m| u64::from_str_radix(m.trim(), 16).ok()).unwrap_or(0)
}

/// Names of the capabilities that a mask lacks.
fn lacking(mask: u64) -> String {
    let names = CAPABILITIES.iter().filter(|(_, bit)| mask & bit == 0).map(|(name, _)| *name);
    names.collect::<Vec<_>>().join(" and ")
}

fn in_first_user_namespace() -> Result<bool, HostError> {
    match fs::read_to_string("/proc/self/uid_map") {
        Ok(map) => Ok(maps_everybody(&map)),
        // A kernel without user namespaces has no such file.
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(true),
        Err(source) => Err(HostError::Read { path: "/proc/self/uid_map".into(), source }),
    }
}

/// Whether a uid_map is the first user namespace's: it maps every id to itself, except the last, which means "none".
fn maps_everybody(map: &str) -> bool {
    map.split_whitespace().eq(["0", "0", "4294967295"])
}

fn try_in_child() -> Result<Option<(String, i32)>, HostError> {
    let start = |source| HostError::Process { operation: "starting a child to try user namespaces", source };
    let mut child = Stage::Try.command();
    child.stdin(Stdio::null()).stderr(Stdio::inherit());
    let output = child.output().map_err(start)?;
    match codec::from_line::<Result<(), (String, i32)>>(&String::from_utf8_lossy(&output.stdout)) {
        Ok(tried) => Ok(tried.err()),
        Err(_) => {
            Err(start(io::Error::other("it gave no answer; does main call plimsoll_host::stage first?")))
        }
    }
}

fn diagnose(operation: String, errno: i32) -> Forbidden {
    let is = |path: &str, value: &str| fs::read_to_string(path).is_ok_and(|t| t.trim() == value);
    if is("/proc/sys/kernel/unprivileged_userns_clone", "0") {
        Forbidden::UnprivilegedUsernsClone
    } else if is("/proc/sys/user/max_user_namespaces", "0") {
        Forbidden::MaxUserNamespaces
    } else if is("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1") {
        Forbidden::AppArmor
    } else {
        Forbidden::Refused { operation, errno }
    }
}

fn read(path: &str) -> Result<String, HostError> {
    fs::read_to_string(path).map_err(|source| HostError::Read { path: path.into(), source })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capabilities_are_read_from_the_effective_mask() {
        let status =
            "Name:\tx\nCapInh:\t0000000000000000\nCapPrm:\t000001ffffffffff\nCapEff:\t0000000000201000\n";
        assert_eq!(effective_capabilities(status) & NEEDED, NEEDED);
        assert_eq!(
            effective_capabilities("CapPrm:\t000001ffffffffff\nCapEff:\t0000000000200000\n") & NEEDED,
            1 << 21
        );
        assert_eq!(effective_capabilities("Name:\tx\n"), 0);
    }

    #[test]
    fn what_root_lacks_is_named() {
        assert_eq!(lacking(0), "CAP_NET_ADMIN and CAP_SYS_ADMIN");
        assert_eq!(lacking(1 << 12), "CAP_SYS_ADMIN");
    }

    #[test]
    fn only_the_first_user_namespace_maps_everybody_to_himself() {
        assert!(maps_everybody("         0          0 4294967295\n"));
        assert!(!maps_everybody("         0       1000          1\n"));
        assert!(!maps_everybody("         0     100000 4294967295\n"));
        assert!(!maps_everybody(""));
    }
}
