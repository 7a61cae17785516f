//! CPU time and memory of a process and its children.

use std::collections::BTreeSet;
use std::path::Path;

use crate::children;
use crate::cpu_time;
use crate::small_file;

/// A process and all that descend from it, at a moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProcessTree {
    /// Their numbers.
    pub pids: BTreeSet<u32>,
    /// CPU time, user and system, in microseconds, with that of children that have ended and were waited for: it only grows where the tree
    /// waits for its own.
    pub cpu_us: f64,
    /// Memory that they hold, in bytes; what they share counts for each of them.
    pub rss_bytes: f64,
}

impl ProcessTree {
    /// Looks at the processes below `root`, the directory that holds `proc`. Empty when the process is not there any more.
    #[must_use]
    pub fn take(root: &Path, pid: u32) -> Self {
        let proc = root.join("proc");
        let mut tree = Self::default();
        let mut next = vec![pid];
        while let Some(pid) = next.pop() {
            let folder = proc.join(pid.to_string());
            let Some([cpu_us, rss_bytes]) = used(&folder).filter(|_| tree.pids.insert(pid)) else { continue };
            (tree.cpu_us, tree.rss_bytes) = (tree.cpu_us + cpu_us, tree.rss_bytes + rss_bytes);
            next.extend(children::of(&folder));
        }
        tree
    }
}

/// CPU time in microseconds and memory in bytes, from `stat`.
fn used(folder: &Path) -> Option<[f64; 2]> {
    let text = small_file::read(&folder.join("stat")).ok()?;
    let text = String::from_utf8_lossy(&text);
    let fields: Vec<&str> = text.get(text.rfind(')')? + 1..)?.split_ascii_whitespace().collect();
    // Field numbers are those of proc_pid_stat(5); the state, number 3, comes first here. Times of children may be negative in old kernels.
    let field = |number: usize| fields.get(number - 3)?.parse::<f64>().ok();
    let ticks = field(14)? + field(15)? + field(16)? + field(17)?;
    Some([
        cpu_time::ticks(ticks),
        field(24)? * nix::unistd::sysconf(nix::unistd::SysconfVar::PAGE_SIZE).ok()?? as f64,
    ])
}

/// The parent of a process; `None` if it has ended, or only the first process is above it.
pub(crate) fn parent_of(pid: u32) -> Option<u32> {
    let stat = small_file::text(Path::new(&format!("/proc/{pid}/stat"))).ok()?;
    let parent = stat.get(stat.rfind(')')? + 1..)?.split_ascii_whitespace().nth(1)?.parse().ok()?;
    (parent > 1).then_some(parent)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn children_of_children_count_and_strangers_do_not() {
        let root = tempfile::tempdir().unwrap();
        let process = |pid: u32, children: &str, times: &str| {
            let folder = root.path().join(format!("proc/{pid}"));
            fs::create_dir_all(folder.join(format!("task/{pid}"))).unwrap();
            fs::write(folder.join(format!("task/{pid}/children")), children).unwrap();
            let stat = format!("{pid} (a ) b) S 1 1 1 0 -1 0 0 0 0 0 {times} 20 0 1 0 99 0 2 0");
            fs::write(folder.join("stat"), stat).unwrap();
        };
        process(10, "11 12 ", "1 2 3 4");
        process(11, "13", "10 0 0 0");
        process(13, "", "100 0 0 0");
        process(20, "", "999 0 0 0");
        let tree = ProcessTree::take(root.path(), 10);
        // Number 12 has just ended.
        assert_eq!(tree.pids, [10, 11, 13].into());
        assert_eq!(tree.cpu_us, cpu_time::ticks(120.0));
        assert!(tree.rss_bytes >= 6.0 * 4096.0, "{tree:?}");
        assert_eq!(ProcessTree::take(root.path(), 99), ProcessTree::default());
    }
}
