//! What control groups hold processes to: how often a quota of CPU time stopped them, and which limits of memory and of disks they have.
//!
//! The groups are those of the processes of the run's hosts, whoever made them. The root group of a hierarchy is left
//! out: it has no limits.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Where hierarchies are mounted, mostly; those of version 2 at the top or beside those of version 1.
pub(super) const MOUNTED: &str = "/sys/fs/cgroup";

/// How often a group was stopped because its quota was used up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Throttled {
    /// Periods in which some of it wanted to run.
    pub(super) periods: u64,
    /// Periods in which it was stopped.
    pub(super) throttled: u64,
    /// For how long, over all CPUs.
    pub(super) us: u64,
}

/// The groups that were seen on a host: by the host's network namespace and the group's path.
pub(super) type Groups = BTreeMap<(u64, String), Throttled>;

/// Watches groups.
#[derive(Debug, Default)]
pub(super) struct Quotas {
    watched: BTreeMap<(u64, String), Group>,
}

#[derive(Debug)]
struct Group {
    stat: File,
    last: Throttled,
}

impl Quotas {
    /// A process of a host was seen in these groups: that with the controller of CPU time is watched from now on.
    pub(super) fn watch(&mut self, namespace: u64, of_process: &str) {
        let Some((name, folder)) = group_of_cpu(Path::new(MOUNTED), of_process) else { return };
        let key = (namespace, name);
        if self.watched.contains_key(&key) {
            return;
        }
        let Ok(stat) = File::open(folder.join("cpu.stat")) else { return };
        if let Some(last) = read(&stat) {
            self.watched.insert(key, Group { stat, last });
        }
    }

    /// Counts from now on. Groups that are gone are forgotten.
    pub(super) fn begin(&mut self) {
        self.watched.retain(|_, group| read(&group.stat).map(|now| group.last = now).is_some());
    }

    /// Adds what was counted since each group was looked at last.
    pub(super) fn look(&mut self, is_of_now: impl Fn(u64) -> bool, groups: &mut Groups) {
        for (key, group) in self.watched.iter_mut().filter(|((namespace, _), _)| is_of_now(*namespace)) {
            // A group that is gone was emptied before.
            let Some(now) = read(&group.stat) else { continue };
            let known = groups.entry(key.clone()).or_default();
            known.periods += now.periods.saturating_sub(group.last.periods);
            known.throttled += now.throttled.saturating_sub(group.last.throttled);
            known.us += now.us.saturating_sub(group.last.us);
            group.last = now;
        }
    }
}

/// The group that has the controller of CPU time, from `/proc/PID/cgroup` (cgroups(7)): its path, and its folder. None for a root group.
fn group_of_cpu(mounted: &Path, text: &str) -> Option<(String, PathBuf)> {
    group_of(mounted, text, "cpu", |folder| folder.join("cpu.stat").exists())
}

/// The group that has a controller of version 1, or of version 2 where its folder is one that is wanted.
pub(super) fn group_of(
    mounted: &Path,
    text: &str,
    controller: &str,
    is_wanted: impl Fn(&Path) -> bool,
) -> Option<(String, PathBuf)> {
    let groups = text.lines().filter_map(|line| {
        let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
        let inside = path.strip_prefix('/').filter(|inside| !inside.is_empty() && !inside.contains(".."))?;
        let is_own = controllers.split(',').any(|name| name == controller);
        let mounts = match controllers {
            "" => vec![mounted.to_owned(), mounted.join("unified")],
            _ if is_own => vec![mounted.join(controllers), mounted.join(controller)],
            _ => return None,
        };
        let folder = mounts.into_iter().map(|mount| mount.join(inside)).find(|it| is_wanted(it))?;
        Some((is_own, path.to_owned(), folder))
    });
    groups.max_by_key(|(is_own, ..)| *is_own).map(|(_, path, folder)| (path, folder))
}

fn read(stat: &File) -> Option<Throttled> {
    let mut buffer = [0; 1024];
    let length = stat.read_at(&mut buffer, 0).ok()?;
    parse(std::str::from_utf8(&buffer[..length]).ok()?)
}

/// `cpu.stat` of version 1, with times in nanoseconds, and of version 2, in microseconds (Documentation/scheduler/sched-bwc.rst,
/// Documentation/admin-guide/cgroup-v2.rst). `None` if there is no quota to speak of.
fn parse(text: &str) -> Option<Throttled> {
    let of = |wanted: &str| {
        text.lines().find_map(|line| line.strip_prefix(wanted)?.strip_prefix(' ')?.trim().parse::<u64>().ok())
    };
    let us = of("throttled_usec").or_else(|| Some(of("throttled_time")? / 1000))?;
    Some(Throttled { periods: of("nr_periods")?, throttled: of("nr_throttled")?, us })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn both_versions_of_the_file_are_read() {
        let old = "nr_periods 40\nnr_throttled 30\nthrottled_time 2500000\nwait_sum 9\n";
        let new = "usage_usec 100\nuser_usec 60\nnr_periods 40\nnr_throttled 30\nthrottled_usec 2500\n";
        let expected = Some(Throttled { periods: 40, throttled: 30, us: 2500 });
        assert_eq!((parse(old), parse(new)), (expected, expected));
        assert_eq!(parse("usage_usec 100\n"), None, "it has no quota");
    }

    #[test]
    fn the_group_is_found_in_either_version_and_a_root_group_is_none() {
        let root = tempfile::tempdir().unwrap();
        for folder in ["cpu/limited", "unified/limited"] {
            fs::create_dir_all(root.path().join(folder)).unwrap();
            fs::write(root.path().join(folder).join("cpu.stat"), "nr_periods 0\n").unwrap();
        }
        let of = |text: &str| group_of_cpu(root.path(), text);
        let found = of("4:memory:/other\n1:cpu:/limited\n0::/limited\n").unwrap();
        assert_eq!(found, ("/limited".to_owned(), root.path().join("cpu/limited")));
        assert_eq!(of("0::/limited\n").unwrap().1, root.path().join("unified/limited"));
        assert!(of("1:cpu:/\n0::/\n").is_none());
        assert!(of("1:cpu:/../outside\n").is_none());
    }
}
