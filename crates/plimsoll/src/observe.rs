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
    let hierarchies = ["", "unified", "cpu", "memory", "systemd"];
    let of_hierarchies = hierarchies.iter().map(|name| Path::new(GROUPS).join(name).join(inside));
    let mut known = std::iter::once(which.to_owned()).chain(of_hierarchies);
    known.find(|folder| folder.join("cgroup.procs").is_file())
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
