//! Out of memory: the kernel kills the process with the highest score (the OOM killer; mm/oom_kill.c,
//! Documentation/admin-guide/cgroup-v2.rst).

use std::fs;
use std::path::{Path, PathBuf};

/// How much worse services and loads are made to seem, in thousandths of all memory (proc_pid_oom_score_adj(5)): bad enough that the agent,
/// whose memory is small, comes after them even where it may not make itself seem better.
const WORSE: &str = "500";

/// In a child of the agent: asks the kernel to kill it, and all that it will start, before the agent. To seem worse takes no permission.
pub(crate) fn go_first() {
    // A kernel that refuses chooses as it always does.
    fs::write("/proc/self/oom_score_adj", WORSE).ok();
}

/// How many processes the kernel had killed for lack of memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Killed {
    /// Counter file of this process's control group, if its memory is limited, with the count.
    in_group: Option<(PathBuf, u64)>,
    /// Count of the whole machine, if the kernel has one (from Linux 4.13 on).
    in_all: Option<u64>,
}

impl Killed {
    /// The counts at this moment.
    pub(crate) fn until_now() -> Self {
        Self::below(Path::new("/"))
    }

    fn below(root: &Path) -> Self {
        let file = group_file(root);
        let in_group = file.and_then(|file| Some((file.clone(), count(&file)?)));
        Self { in_group, in_all: count(&root.join("proc/vmstat")) }
    }

    /// Reason for a kill since these counts; `None` if there was none.
    pub(crate) fn since(&self) -> Option<&'static str> {
        self.until(Path::new("/"))
    }

    fn until(&self, root: &Path) -> Option<&'static str> {
        if let Some((file, before)) = &self.in_group
            && count(file).is_some_and(|now| now > *before)
        {
            return Some("the memory that its host may use had run out (the kernel's OOM killer)");
        }
        let now = count(&root.join("proc/vmstat"));
        (now? > self.in_all?)
            .then_some("memory had run out, and the kernel killed a process (its OOM killer)")
    }
}

/// The line `oom_kill N` of a file.
fn count(file: &Path) -> Option<u64> {
    let text = fs::read_to_string(file).ok()?;
    text.lines().find_map(|line| line.strip_prefix("oom_kill ")?.trim().parse().ok())
}

/// The file in which the memory controller counts for this process's group, in version 1 or version 2, where it is mounted as usual.
fn group_file(root: &Path) -> Option<PathBuf> {
    let groups = fs::read_to_string(root.join("proc/self/cgroup")).ok()?;
    let of = |wanted: &dyn Fn(&str) -> bool| {
        groups.lines().find_map(|line| {
            let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
            wanted(controllers).then(|| path.trim_start_matches('/').to_owned())
        })
    };
    let mounts = root.join("sys/fs/cgroup");
    let first = of(&|list: &str| list.split(',').any(|name| name == "memory"))
        .map(|group| mounts.join("memory").join(group).join("memory.oom_control"));
    let second = || of(&str::is_empty).map(|group| mounts.join(group).join("memory.events"));
    first.or_else(second)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(groups: &str, file: &str) -> (tempfile::TempDir, PathBuf) {
        let root = tempfile::tempdir().unwrap();
        let file = root.path().join(file);
        fs::create_dir_all(root.path().join("proc/self")).unwrap();
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(root.path().join("proc/self/cgroup"), groups).unwrap();
        fs::write(root.path().join("proc/vmstat"), "nr_free_pages 7\noom_kill 3\n").unwrap();
        (root, file)
    }

    #[test]
    fn a_kill_in_the_hosts_own_group_is_distinguished_from_one_elsewhere() {
        let kinds = [
            ("9:memory:/plimsoll-1\n0::/\n", "sys/fs/cgroup/memory/plimsoll-1/memory.oom_control"),
            ("0::/user/plimsoll-1\n", "sys/fs/cgroup/user/plimsoll-1/memory.events"),
        ];
        for (groups, file) in kinds {
            let (root, file) = machine(groups, file);
            fs::write(&file, "oom_kill_disable 0\nunder_oom 0\noom_kill 0\n").unwrap();
            let before = Killed::below(root.path());
            assert_eq!(before.until(root.path()), None);
            fs::write(root.path().join("proc/vmstat"), "oom_kill 4\n").unwrap();
            assert!(before.until(root.path()).unwrap().starts_with("memory had run out"));
            fs::write(&file, "oom_kill 1\n").unwrap();
            assert!(before.until(root.path()).unwrap().starts_with("the memory that its host may use"));
        }
    }

    #[test]
    fn a_kernel_without_counters_gives_no_reason() {
        let (root, _) = machine("0::/\n", "sys/fs/cgroup/other");
        fs::write(root.path().join("proc/vmstat"), "nr_free_pages 7\n").unwrap();
        assert_eq!(Killed::below(root.path()).until(root.path()), None);
    }
}
