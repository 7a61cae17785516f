//! What control groups let the processes of the run's hosts ask of block devices, whoever set it: `blkio.throttle.*` of version 1, `io.max` of version 2
//! (Documentation/admin-guide/cgroup-v1/blkio-controller.rst, cgroup-v2.rst). A group is held to the limits of those above it as well. In version 1 the root group
//! may have some too.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::quotas::{MOUNTED, group_of};

/// The files of version 1, by what version 2 calls the same.
const FILES: [(&str, &str); 4] = [
    ("rbps", "blkio.throttle.read_bps_device"),
    ("wbps", "blkio.throttle.write_bps_device"),
    ("riops", "blkio.throttle.read_iops_device"),
    ("wiops", "blkio.throttle.write_iops_device"),
];
/// The controller of version 1.
const CONTROLLER: &str = "blkio";
/// The file of version 2.
const IO_MAX: &str = "io.max";

/// Limits that were seen: by the host's network namespace, the group's path, the number of the device, and what is limited.
pub(super) type Limits = BTreeMap<(u64, String, String, &'static str), u64>;

/// Watches groups.
#[derive(Debug, Default)]
pub(super) struct IoLimits {
    watched: BTreeMap<(u64, String), PathBuf>,
}

impl IoLimits {
    /// A process of a host was seen in these groups: that with the controller of block devices is watched from now on.
    pub(super) fn watch(&mut self, namespace: u64, of_process: &str) {
        let has_limits = |folder: &Path| folder.join(IO_MAX).exists() || folder.join(FILES[0].1).exists();
        if let Some((group, folder)) = group_of(Path::new(MOUNTED), of_process, CONTROLLER, has_limits) {
            let groups = Path::new(&group).ancestors().zip(folder.ancestors());
            for (group, folder) in groups.take_while(|(group, _)| group.parent().is_some()) {
                self.watched.insert((namespace, group.to_string_lossy().into_owned()), folder.to_owned());
            }
        }
        let root = Path::new(MOUNTED).join(CONTROLLER);
        if root.join(FILES[0].1).exists() {
            self.watched.insert((namespace, "/".to_owned()), root);
        }
    }

    /// Adds what the groups of hosts that are looked at are held to now. Groups that are gone are forgotten.
    pub(super) fn look(&mut self, is_of_now: impl Fn(u64) -> bool, limits: &mut Limits) {
        self.watched.retain(|_, folder| folder.exists());
        for ((namespace, group), folder) in self.watched.iter().filter(|((host, _), _)| is_of_now(*host)) {
            for (device, what, most) in read(folder) {
                let known = limits.entry((*namespace, group.clone(), device, what)).or_insert(most);
                *known = most.min(*known);
            }
        }
    }
}

/// The limits of a group.
fn read(folder: &Path) -> Vec<(String, &'static str, u64)> {
    if let Ok(text) = fs::read_to_string(folder.join(IO_MAX)) {
        return of_io_max(&text);
    }
    let mut limits = Vec::new();
    for (what, file) in FILES {
        let text = fs::read_to_string(folder.join(file)).unwrap_or_default();
        limits.extend(text.lines().filter_map(|line| {
            let (device, most) = line.split_once(' ')?;
            Some((device.to_owned(), what, most.trim().parse().ok()?))
        }));
    }
    limits
}

/// `8:16 rbps=2097152 wbps=max riops=max wiops=120`: what has no limit is `max`.
fn of_io_max(text: &str) -> Vec<(String, &'static str, u64)> {
    let mut limits = Vec::new();
    for line in text.lines() {
        let mut words = line.split_ascii_whitespace();
        let Some(device) = words.next() else { continue };
        for (what, most) in words.filter_map(|word| word.split_once('=')) {
            let known = FILES.iter().find(|(known, _)| *known == what);
            if let (Some((what, _)), Ok(most)) = (known, most.parse()) {
                limits.push((device.to_owned(), *what, most));
            }
        }
    }
    limits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_of_both_versions_are_read_and_those_that_are_none_are_left_out() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join(FILES[3].1), "7:0 120\n").unwrap();
        fs::write(root.path().join(FILES[0].1), "").unwrap();
        assert_eq!(read(root.path()), [("7:0".to_owned(), "wiops", 120)]);
        fs::write(root.path().join(IO_MAX), "7:0 rbps=max wbps=1000 riops=max wiops=120\n").unwrap();
        assert_eq!(read(root.path()), [("7:0".to_owned(), "wbps", 1000), ("7:0".to_owned(), "wiops", 120)]);
    }

    #[test]
    fn the_lowest_limit_of_a_group_that_is_looked_at_is_kept() {
        let root = tempfile::tempdir().unwrap();
        let set = |most: u64| fs::write(root.path().join(FILES[3].1), format!("7:0 {most}\n")).unwrap();
        let mut watching = IoLimits::default();
        watching.watched.insert((1, "/held".into()), root.path().to_owned());
        let mut limits = Limits::new();
        for most in [200, 50, 100] {
            set(most);
            watching.look(|_| true, &mut limits);
        }
        assert_eq!(limits.into_values().collect::<Vec<_>>(), [50]);
        let mut of_others = Limits::new();
        watching.look(|_| false, &mut of_others);
        assert!(of_others.is_empty());
    }
}
