//! How often control groups came to their limit of memory: what such a group takes back, the machine's own counters leave out (mm/vmscan.c).

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::table::Table;

/// Where the memory controller is mounted: that of version 1, else the only hierarchy.
const MOUNTED: [&str; 2] = ["/sys/fs/cgroup/memory", "/sys/fs/cgroup"];
/// The most groups that are asked whether they have a limit, and the most that are watched.
const MOST_ASKED: usize = 400;
const MOST: usize = 32;
/// How deep groups are looked for.
const DEEPEST: usize = 6;
/// Version 1 has this or more where there is no limit (PAGE_COUNTER_MAX pages).
const NO_LIMIT: u64 = 1 << 60;

/// The watched groups: the name of the counter, and the file that it is in.
#[derive(Debug, Default)]
pub(super) struct MemoryGroups(BTreeMap<String, PathBuf>);

impl MemoryGroups {
    /// Finds groups with a limit.
    pub(super) fn find(&mut self) {
        self.0.clear();
        let has_groups = |root: &&&str| {
            let root = Path::new(root);
            root.join("memory.limit_in_bytes").exists() || root.join("cgroup.controllers").exists()
        };
        if let Some(root) = MOUNTED.iter().find(has_groups) {
            self.walk(Path::new(root), Path::new(root), 0, &mut 0);
        }
    }

    fn walk(&mut self, root: &Path, folder: &Path, depth: usize, asked: &mut usize) {
        let Ok(entries) = fs::read_dir(folder) else { return };
        let folders = entries.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        for group in folders.map(|entry| entry.path()) {
            *asked += 1;
            if *asked > MOST_ASKED || self.0.len() >= MOST {
                return;
            }
            if let (Some(file), Ok(inside)) = (limited(&group), group.strip_prefix(root)) {
                self.0.insert(format!("machine.group./{}.at_limit", inside.display()), group.join(file));
            }
            if depth < DEEPEST {
                self.walk(root, &group, depth + 1, asked);
            }
        }
    }

    pub(super) fn read(&self, table: &mut Table) {
        for (name, file) in &self.0 {
            let times = fs::read_to_string(file).ok().and_then(|text| times(&text));
            if let Some(times) = times {
                table.set_named(name, times as f64);
            }
        }
    }
}

/// The file of a group with a limit that counts how often it came to it.
fn limited(group: &Path) -> Option<&'static str> {
    let limit = |file: &str| -> Option<u64> {
        fs::read_to_string(group.join(file)).ok()?.trim().parse().ok().filter(|limit| *limit < NO_LIMIT)
    };
    // No limit is `max` in version 2.
    limit("memory.limit_in_bytes")
        .map(|_| "memory.failcnt")
        .or_else(|| limit("memory.max").or_else(|| limit("memory.high")).map(|_| "memory.events"))
}

/// The number of `memory.failcnt`; of `memory.events` the lines `high` and `max` (cgroup-v2.rst).
fn times(text: &str) -> Option<u64> {
    let of = |line: &str| -> Option<u64> {
        let (name, value) = line.split_once(' ')?;
        if matches!(name, "high" | "max") { value.trim().parse().ok() } else { None }
    };
    let sum = || text.lines().filter_map(of).reduce(|sum, times| sum + times);
    text.trim().parse().ok().or_else(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_with_a_limit_of_either_version_are_found_with_how_often_they_came_to_it() {
        let root = tempfile::tempdir().unwrap();
        let group = |path: &str, files: &[(&str, &str)]| {
            let folder = root.path().join(path);
            fs::create_dir_all(&folder).unwrap();
            for (file, text) in files {
                fs::write(folder.join(file), text).unwrap();
            }
        };
        group("old/app", &[("memory.limit_in_bytes", "62914560\n"), ("memory.failcnt", "812\n")]);
        group("free", &[("memory.limit_in_bytes", "9223372036854771712\n"), ("memory.failcnt", "0\n")]);
        group("new", &[("memory.max", "1000000\n"), ("memory.events", "low 0\nhigh 3\nmax 4\noom 0\n")]);
        group("any", &[("memory.max", "max\n"), ("memory.events", "high 0\nmax 0\n")]);
        let mut groups = MemoryGroups::default();
        groups.walk(root.path(), root.path(), 0, &mut 0);
        let mut table = Table::default();
        table.begin();
        groups.read(&mut table);
        let expected = [("machine.group./new.at_limit", 7.0), ("machine.group./old/app.at_limit", 812.0)];
        assert_eq!(table.all(), expected.map(|(name, times)| (name.to_owned(), times)).into());
    }
}
