//! Control groups (cgroups(7)): limits of a host's processes, and of devices.
//!
//! Versions 1 and 2 are distinguished for each controller, since a machine may have some in either. Groups, and limits
//! that stand outside of any group of ours, are the [`UndoProcess`]'s to remove.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process;

use nix::unistd::{AccessFlags, access};
use plimsoll_model::experiment::DeviceLimit;

use crate::error::{HostError, is_permission};
use crate::undo::UndoProcess;

/// Place of a controller's groups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Hierarchy {
    /// Version 1: the root group, and the group that this process is in. New groups are made in that, so that its limits hold for them, too.
    One { root: PathBuf, own: PathBuf },
    /// Version 2: the group in which new ones are made, which is above that of this process, because a group with processes has no groups
    /// that are controlled.
    Two { parent: PathBuf },
}

impl Hierarchy {
    /// Hierarchy of a controller below `root`; `None` if this process may not make groups in it.
    pub(crate) fn of(root: &Path, controller: &str) -> Option<Self> {
        let mounts = fs::read_to_string(root.join("proc/self/mountinfo")).ok()?;
        let groups = fs::read_to_string(root.join("proc/self/cgroup")).ok()?;
        let name = if controller == "io" { "blkio" } else { controller };
        version_one(root, &mounts, &groups, name).or_else(|| version_two(root, &mounts, &groups, controller))
    }

    /// Whether this process may make a group in it.
    fn is_writable(&self) -> bool {
        let (Self::One { own: folder, .. } | Self::Two { parent: folder }) = self;
        access(folder, AccessFlags::W_OK).is_ok()
    }
}

/// Whether this process may make control groups with limits of a controller: `memory`, or `io`.
pub fn has_controller(controller: &str) -> bool {
    Hierarchy::of(Path::new("/"), controller).is_some_and(|hierarchy| hierarchy.is_writable())
}

/// A mount of control groups: the path that stands at its root, where it is, its type, and its options (proc_pid_mountinfo(5)).
fn mount(line: &str) -> Option<(&str, &str, &str, &str)> {
    let (place, kind) = line.split_once(" - ")?;
    let mut place = place.split(' ').skip(3);
    let mut kind = kind.split(' ');
    Some((place.next()?, place.next()?, kind.next()?, kind.nth(1)?))
}

fn version_one(root: &Path, mounts: &str, groups: &str, controller: &str) -> Option<Hierarchy> {
    let named = |list: &str| list.split(',').any(|name| name == controller);
    let mut mounts = mounts.lines().filter_map(mount);
    let (top, at, ..) = mounts.find(|(_, _, kind, options)| *kind == "cgroup" && named(options))?;
    let group = group_of(groups, named)?;
    let at = root.join(at.trim_start_matches('/'));
    Some(Hierarchy::One { own: at.join(below(&group, top)), root: at })
}

fn version_two(root: &Path, mounts: &str, groups: &str, controller: &str) -> Option<Hierarchy> {
    let mut mounts = mounts.lines().filter_map(mount);
    let (top, at, ..) = mounts.find(|(_, _, kind, _)| *kind == "cgroup2")?;
    let group = group_of(groups, str::is_empty)?;
    let at = root.join(at.trim_start_matches('/'));
    let own = at.join(below(&group, top));
    let parent = if own == at { at } else { own.parent()?.to_owned() };
    let handed_on = fs::read_to_string(parent.join("cgroup.subtree_control")).ok()?;
    handed_on.split_whitespace().any(|name| name == controller).then_some(Hierarchy::Two { parent })
}

/// The group of this process: ID:CONTROLLERS:PATH, version 2 without controllers.
fn group_of(groups: &str, wanted: impl Fn(&str) -> bool) -> Option<String> {
    groups.lines().find_map(|line| {
        let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
        wanted(controllers).then(|| path.to_owned())
    })
}

/// A group's path below the one that is mounted.
fn below(group: &str, top: &str) -> PathBuf {
    group.strip_prefix(top).unwrap_or(group).trim_start_matches('/').into()
}

/// The lines that limit a device by its number, each with its file, for the root group of version 1.
pub(crate) fn throttles(root: &Path, number: (u64, u64), limit: DeviceLimit) -> Vec<(PathBuf, String)> {
    let (iops, bytes) = (limit.iops.map(u64::from), limit.bandwidth.map(|bytes| bytes.0));
    let files = [("read_iops", iops), ("write_iops", iops), ("read_bps", bytes), ("write_bps", bytes)];
    let line = |(file, most): (&str, Option<u64>)| {
        let path = root.join(format!("blkio.throttle.{file}_device"));
        Some((path, format!("{}:{} {}", number.0, number.1, most?)))
    };
    files.into_iter().filter_map(line).collect()
}

/// The line of `io.max` that limits a device by its number.
fn io_max(number: (u64, u64), limit: DeviceLimit) -> String {
    let mut line = format!("{}:{}", number.0, number.1);
    if let Some(iops) = limit.iops {
        line += &format!(" riops={iops} wiops={iops}");
    }
    if let Some(bytes) = limit.bandwidth {
        line += &format!(" rbps={0} wbps={0}", bytes.0);
    }
    line
}

/// Limits of a host's processes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Allowance {
    /// Memory in bytes.
    pub(crate) memory: Option<u64>,
    /// Devices, by their numbers, that only the host's own group can limit.
    pub(crate) devices: Vec<((u64, u64), DeviceLimit)>,
}

/// The control group of a host.
#[derive(Debug)]
pub(crate) struct Group {
    folder: PathBuf,
    /// Removes the group, once it is empty.
    _undo: UndoProcess,
}

impl Group {
    /// Makes a group with limits; `None` without any.
    pub(crate) fn make(host: &str, allowance: &Allowance) -> Result<Option<Self>, HostError> {
        if *allowance == Allowance::default() {
            return Ok(None);
        }
        let controller = if allowance.memory.is_some() { "memory" } else { "io" };
        let missing = || HostError::NoController { host: host.into(), controller };
        let hierarchy = Hierarchy::of(Path::new("/"), controller).ok_or_else(missing)?;
        let name = format!("plimsoll-{}-{host}-{:08x}", process::id(), rand::random::<u32>());
        let (folder, settings) = settings(&hierarchy, &name, allowance);
        let mut undo = UndoProcess::start()?;
        undo.make_group(&folder)?;
        let group = Self { folder, _undo: undo };
        for (file, value, needed) in settings {
            let path = group.folder.join(file);
            match fs::write(&path, &value) {
                // A kernel without swap accounting has no such file, and one without the io controller none either.
                Err(error) if error.kind() == io::ErrorKind::NotFound && !needed => {}
                Err(error) => {
                    let forbidden = is_permission(&error);
                    return Err(HostError::Setting { path, value, why: error.to_string(), forbidden });
                }
                Ok(()) => {}
            }
        }
        Ok(Some(group))
    }

    /// The file to which a process writes `0` in order to join.
    pub(crate) fn door(&self) -> io::Result<File> {
        File::options().write(true).open(self.folder.join("cgroup.procs"))
    }
}

type Settings = Vec<(&'static str, String, bool)>;

/// Path of the group, and the values of its files, each with whether it is indispensable.
fn settings(hierarchy: &Hierarchy, name: &str, allowance: &Allowance) -> (PathBuf, Settings) {
    let memory = allowance.memory.map(|bytes| bytes.to_string());
    match hierarchy {
        Hierarchy::One { own, .. } => {
            let memory = memory.unwrap_or_default();
            // In this order: the sum with swap must not be less than the memory.
            let files = vec![
                ("memory.limit_in_bytes", memory.clone(), true),
                ("memory.memsw.limit_in_bytes", memory, false),
            ];
            (own.join(name), files)
        }
        Hierarchy::Two { parent } => {
            let mut files: Settings = Vec::new();
            if let Some(memory) = memory {
                files.extend([("memory.max", memory, true), ("memory.swap.max", "0".to_owned(), false)]);
            }
            files.extend(
                allowance.devices.iter().map(|(number, limit)| ("io.max", io_max(*number, *limit), true)),
            );
            (parent.join(name), files)
        }
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_model::units::ByteSize;

    use super::*;

    fn machine(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        root
    }

    const LIMIT: DeviceLimit = DeviceLimit { iops: Some(200), bandwidth: None };

    #[test]
    fn in_version_1_groups_are_made_in_the_own_one_and_devices_limited_at_the_root() {
        let root = machine(&[
            (
                "proc/self/mountinfo",
                "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
                 38 31 0:35 / /sys/fs/cgroup/blkio rw,relatime shared:9 - cgroup cgroup rw,blkio\n",
            ),
            ("proc/self/cgroup", "7:blkio:/\n4:memory:/some/place\n0::/\n"),
        ]);
        let at = root.path().join("sys/fs/cgroup");
        let memory = Hierarchy::of(root.path(), "memory").unwrap();
        let allowance = Allowance { memory: Some(1 << 25), devices: Vec::new() };
        let (folder, files) = settings(&memory, "x", &allowance);
        assert_eq!(folder, at.join("memory/some/place/x"));
        assert_eq!(files[0], ("memory.limit_in_bytes", "33554432".to_owned(), true));
        let blkio = at.join("blkio");
        assert_eq!(
            Hierarchy::of(root.path(), "io"),
            Some(Hierarchy::One { root: blkio.clone(), own: blkio.clone() })
        );
        let lines = throttles(&blkio, (7, 1), LIMIT);
        assert_eq!(lines[1], (blkio.join("blkio.throttle.write_iops_device"), "7:1 200".to_owned()));
        assert_eq!(lines.len(), 2);
    }

    #[test]
    fn in_version_2_groups_are_made_beside_the_own_one_where_the_controller_is_handed_on() {
        let mounts = "31 23 0:27 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n";
        let control = "sys/fs/cgroup/user.slice/cgroup.subtree_control";
        let groups = "0::/user.slice/session-1.scope\n";
        let root = machine(&[
            ("proc/self/mountinfo", mounts),
            ("proc/self/cgroup", groups),
            (control, "memory pids\n"),
        ]);
        assert_eq!(Hierarchy::of(root.path(), "io"), None);
        let memory = Hierarchy::of(root.path(), "memory").unwrap();
        let allowance = Allowance { memory: Some(1 << 25), devices: vec![((7, 1), LIMIT)] };
        let (folder, files) = settings(&memory, "x", &allowance);
        assert_eq!(folder, root.path().join("sys/fs/cgroup/user.slice/x"));
        assert_eq!(files[0].0, "memory.max");
        assert_eq!(files[2], ("io.max", "7:1 riops=200 wiops=200".to_owned(), true));
        let both = DeviceLimit { bandwidth: Some(ByteSize(1 << 20)), ..LIMIT };
        assert_eq!(io_max((7, 1), both), "7:1 riops=200 wiops=200 rbps=1048576 wbps=1048576");
    }
}
