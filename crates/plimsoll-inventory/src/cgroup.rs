//! Where the control group of this process has its files.

use std::fs;
use std::path::{Path, PathBuf};

/// The directory of this process's control group for a controller: that of version 1 where the controller is mounted
/// so, else that of version 2. `None` if neither is visible.
pub fn directory(root: &Path, controller: &str) -> Option<PathBuf> {
    let own = fs::read_to_string(root.join("proc/self/cgroup")).ok()?;
    let base = root.join("sys/fs/cgroup");
    let candidates = own.lines().filter_map(|line| {
        // ID:CONTROLLERS:PATH, version 2 with ID 0 and no controllers (cgroups(7)).
        let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
        let path = path.strip_prefix('/')?;
        let named = controllers.split(',').any(|name| name == controller);
        let mounts = match controllers {
            "" => [base.clone(), base.join("unified")],
            _ if named => [base.join(controllers), base.join(controller)],
            _ => return None,
        };
        mounts.into_iter().map(|mount| mount.join(path)).find(|directory| directory.is_dir())
    });
    candidates.max_by_key(|directory| directory.join(format!("{controller}.stat")).exists())
}
