//! Parts of a machine that the user names, to be looked at.

use std::path::{Path, PathBuf};

/// Where `ip netns` keeps namespaces by name.
const NAMED: &str = "/run/netns";
/// Where control groups are mounted, those of version 2 or the hierarchies of version 1.
pub(crate) const GROUPS: &str = "/sys/fs/cgroup";

/// The file of a network namespace: of a process by its number, of a name that `ip netns` gave, or by its path.
pub(crate) fn namespace(which: &str) -> PathBuf {
    if which.bytes().all(|byte| byte.is_ascii_digit()) {
        return PathBuf::from(format!("/proc/{which}/ns/net"));
    }
    if which.contains('/') { PathBuf::from(which) } else { Path::new(NAMED).join(which) }
}

/// The folder of a control group by its path, from the root of the file system or of the hierarchies.
pub(crate) fn control_group(which: &Path) -> Option<PathBuf> {
    let inside = which.strip_prefix("/").unwrap_or(which);
    let hierarchies = ["", "unified", "cpu", "cpuacct", "memory", "blkio", "systemd"];
    let of_hierarchies = hierarchies.iter().map(|name| Path::new(GROUPS).join(name).join(inside));
    let mut known = std::iter::once(which.to_owned()).chain(of_hierarchies);
    known.find(|folder| folder.join("cgroup.procs").is_file())
}

/// The path of a control group's folder from the root of its hierarchy, as the kernel gives it of a process; nothing for the root.
pub(crate) fn path_of_group(folder: &Path) -> Option<String> {
    let inside = folder.strip_prefix(GROUPS).ok()?;
    // Where version 2 has the whole place, there are no hierarchies below it.
    let skipped = usize::from(!Path::new(GROUPS).join("cgroup.procs").exists());
    let inside: PathBuf = inside.components().skip(skipped).collect();
    (!inside.as_os_str().is_empty()).then(|| format!("/{}", inside.display()))
}

/// The folders of a control group in all hierarchies of version 1, where it stands in one of them; else its own.
pub(crate) fn in_all_hierarchies(group: &Path) -> Vec<PathBuf> {
    let base = Path::new(GROUPS);
    let alone = || vec![group.to_owned()];
    // Where version 2 has the whole place, there is but one folder.
    let Some(inside) = group.strip_prefix(base).ok().filter(|_| !base.join("cgroup.procs").exists()) else {
        return alone();
    };
    let inside: PathBuf = inside.components().skip(1).collect();
    let hierarchies = std::fs::read_dir(base).into_iter().flatten().flatten();
    let folders = hierarchies.map(|entry| entry.path().join(&inside));
    // A hierarchy of several controllers is linked to by the name of each.
    let mut folders: Vec<PathBuf> = folders.filter_map(|folder| folder.canonicalize().ok()).collect();
    folders.retain(|folder| folder.join("cgroup.procs").is_file());
    folders.sort();
    folders.dedup();
    if folders.is_empty() { alone() } else { folders }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn namespaces_are_named_by_process_by_name_and_by_path() {
        assert_eq!(namespace("42"), Path::new("/proc/42/ns/net"));
        assert_eq!(namespace("blue"), Path::new("/run/netns/blue"));
        assert_eq!(namespace("/proc/7/ns/net"), Path::new("/proc/7/ns/net"));
    }
}
