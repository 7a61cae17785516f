//! User, capabilities and environment.

use std::fs;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use nix::sched::{CloneFlags, unshare};
use nix::unistd::{Gid, Uid, fchown, getegid, geteuid, setgroups, setresgid, setresuid};
use rustix::thread::{CapabilitySet, CapabilitySets};

use super::{Need, Wrong, at};

/// User and group number of programs: nobody's, by long custom.
pub(crate) const NOBODY: u32 = 65534;

fn has(wanted: CapabilitySet) -> bool {
    rustix::thread::capabilities(None).is_ok_and(|sets| sets.effective.contains(wanted))
}

/// Whether this process may make mounts, and with them namespaces for what it starts.
pub(crate) fn may_mount() -> bool {
    has(CapabilitySet::SYS_ADMIN)
}

/// Whether this process can become another user.
pub(crate) fn can_become_nobody() -> bool {
    has(CapabilitySet::SETUID.union(CapabilitySet::SETGID)) && !is_single_user()
}

/// Whether a program has root's number, though none of root's rights: its user namespace maps one user, and no other can be made.
pub(crate) fn remains_root() -> bool {
    geteuid().is_root() && !can_become_nobody() && !may_mount()
}

/// Whether the user namespace maps a single user (user_namespaces(7)).
pub(crate) fn is_single_user() -> bool {
    users() == Some(1)
}

/// Whether it maps all users, as the first of all user namespaces does.
pub(super) fn maps_all_users() -> bool {
    users() == Some(u64::from(u32::MAX))
}

fn users() -> Option<u64> {
    mapped_users(&fs::read_to_string("/proc/self/uid_map").ok()?)
}

/// Number of users in a uid_map: the sum of its third column.
fn mapped_users(map: &str) -> Option<u64> {
    map.lines().map(|line| line.split_whitespace().nth(2)?.parse::<u64>().ok()).sum()
}

/// Takes the user and the capabilities of a kind, irrevocably. `proc` is a writable `/proc` where mounts can be made.
pub(super) fn take(need: &Need, proc: Option<&OwnedFd>) -> Result<(), Wrong> {
    let kept = need.set();
    if has(CapabilitySet::SETPCAP) {
        drop_bounding(kept)?;
    }
    if need.becomes_nobody && can_become_nobody() {
        let (user, group) = (Uid::from_raw(NOBODY), Gid::from_raw(NOBODY));
        setgroups(&[]).map_err(at("leave all groups"))?;
        // Some programs open it again by its name in /dev, which only its owner may.
        fchown(io::stderr(), Some(user), Some(group)).map_err(at("own its standard error"))?;
        setresgid(group, group, group).map_err(at("become nobody"))?;
        rustix::thread::set_keep_capabilities(true).map_err(at("keep capabilities"))?;
        setresuid(user, user, user).map_err(at("become nobody"))?;
        rustix::thread::set_keep_capabilities(false).map_err(at("keep capabilities no longer"))?;
    } else if need.is_foreign
        && need.becomes_nobody
        && let Some(proc) = proc
    {
        become_nobody_alone(proc).map_err(at("become nobody in a user namespace"))?;
        // A new user namespace fills the bounding set again.
        drop_bounding(kept)?;
    }
    keep_only(kept)?;
    rustix::thread::set_no_new_privs(true).map_err(at("promise to take no new privileges"))
}

/// Moves into a user namespace in which this user is nobody. Forbidding setgroups comes first, without which the kernel lets no user map
/// a group (user_namespaces(7)); where the namespace around forbids it already, the file cannot be written and need not be.
fn become_nobody_alone(proc: &OwnedFd) -> io::Result<()> {
    let (uid, gid) = (geteuid(), getegid());
    unshare(CloneFlags::CLONE_NEWUSER)?;
    let own = |name: &str| format!("/proc/self/fd/{}/self/{name}", proc.as_raw_fd());
    fs::write(own("setgroups"), "deny").ok();
    fs::write(own("gid_map"), format!("{NOBODY} {gid} 1"))?;
    fs::write(own("uid_map"), format!("{NOBODY} {uid} 1"))
}

/// Gives up all capabilities but `kept`.
fn keep_only(kept: CapabilitySet) -> Result<(), Wrong> {
    let has = rustix::thread::capabilities(None).map_err(at("ask for its capabilities"))?;
    // A kernel that knows no ambient capabilities has none to clear.
    rustix::thread::clear_ambient_capability_set().ok();
    let left = has.permitted.intersection(kept);
    let left = CapabilitySets { effective: left, permitted: left, inheritable: CapabilitySet::empty() };
    rustix::thread::set_capabilities(None, left).map_err(at("give up its capabilities"))
}

/// Gives up all capabilities but `kept` also for programs that would bring some along.
fn drop_bounding(kept: CapabilitySet) -> Result<(), Wrong> {
    for capability in CapabilitySet::all().difference(kept).iter() {
        match rustix::thread::remove_capability_from_bounding_set(capability) {
            // This kernel does not know it.
            Ok(()) | Err(rustix::io::Errno::INVAL) => {}
            Err(error) => return Err(at("give up capabilities for good")(error)),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_of_a_namespace_are_counted() {
        assert_eq!(mapped_users("         0          0 4294967295\n"), Some(4_294_967_295));
        assert_eq!(mapped_users("         0       1000          1\n"), Some(1));
        assert_eq!(mapped_users("0 1000 1\n1 100000 65536\n"), Some(65_537));
        assert_eq!(mapped_users("what?"), None);
    }
}
