//! Free space on the file systems that are mounted from a device.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use nix::sys::statvfs::statvfs;

/// Free bytes and inodes, by where the file system is mounted. File systems over a network may not answer, and are left out.
pub(super) fn read(proc: &Path, live: bool) -> BTreeMap<String, f64> {
    let mut values = BTreeMap::new();
    if !live {
        return values;
    }
    let Ok(mounts) = fs::read_to_string(proc.join("self/mounts")) else { return values };
    for mounted in on_devices(&mounts) {
        let Ok(found) = statvfs(mounted) else { continue };
        // Blocks that a program without privileges may use.
        values.insert(
            format!("filesystem.{mounted}.free.bytes"),
            found.blocks_available() as f64 * found.fragment_size() as f64,
        );
        values.insert(format!("filesystem.{mounted}.free.inodes"), found.files_available() as f64);
    }
    values
}

/// Where devices are mounted, each once (proc_pid_mounts(5)). Places with blanks in their names are left out.
fn on_devices(mounts: &str) -> Vec<&str> {
    let mut seen = BTreeSet::new();
    let places = mounts.lines().filter_map(|line| {
        let mut words = line.split(' ');
        let (device, place) = (words.next()?, words.next()?);
        (device.starts_with("/dev/") && !place.contains('\\') && seen.insert(device)).then_some(place)
    });
    places.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_device_is_listed_once_and_what_is_on_none_is_not() {
        let mounts = "/dev/vda / ext4 rw 0 0\nproc /proc proc rw 0 0\n/dev/vda /again ext4 rw 0 0\n\
                      /dev/loop3 /srv/mail ext4 rw 0 0\n/dev/vdb /with\\040blank ext4 rw 0 0\ntmpfs /tmp tmpfs rw 0 0\n";
        assert_eq!(on_devices(mounts), ["/", "/srv/mail"]);
    }
}
