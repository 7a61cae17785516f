//! Settings of the file systems and block devices that a process uses.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use crate::small_file;

/// Files of a block device's queue (Documentation/ABI/stable/sysfs-block).
const QUEUE: [&str; 6] =
    ["scheduler", "read_ahead_kb", "nr_requests", "max_sectors_kb", "write_cache", "nomerges"];

/// Where files of devices are. The file system there holds no data.
const DEVICES: &str = "/dev/";

/// File systems in which the kernel shows itself.
const OF_KERNEL: [&str; 9] =
    ["proc", "sysfs", "cgroup", "cgroup2", "devpts", "tracefs", "debugfs", "securityfs", "bpf"];

/// A mounted file system, from `/proc/PID/mountinfo` (proc_pid_mountinfo(5)).
struct Mount<'m> {
    device: &'m str,
    place: &'m str,
    kind: &'m str,
    options: BTreeSet<&'m str>,
}

/// Mount options of the file systems that hold these files, as a process sees them, and queue settings of their devices and of opened block devices.
#[must_use]
pub fn of_files(root: &Path, pid: u32, files: &BTreeSet<String>) -> BTreeSet<String> {
    let text = fs::read_to_string(root.join(format!("proc/{pid}/mountinfo"))).unwrap_or_default();
    let mounts: Vec<Mount<'_>> = text.lines().filter_map(mount).collect();
    // A later mount on the same folder hides the earlier one.
    let holder = |file: &String| {
        let holds = |it: &&Mount<'_>| Path::new(file).starts_with(it.place);
        mounts.iter().filter(holds).max_by_key(|it| it.place.len())
    };
    let mut found = BTreeSet::new();
    let (devices, files): (Vec<_>, Vec<_>) = files.iter().partition(|file| file.starts_with(DEVICES));
    for device in devices.into_iter().filter_map(|file| block_device(root, pid, file)) {
        found.extend(of_queue(root, &device));
    }
    for mount in files.into_iter().filter_map(holder).filter(|it| !OF_KERNEL.contains(&it.kind)) {
        found.insert(format!("file system {}", mount.kind));
        found.extend(mount.options.iter().map(|option| format!("mount option {option}")));
        found.extend(of_queue(root, mount.device));
    }
    found
}

/// Where file systems are mounted that hold files of programs, as this process sees it.
pub(crate) fn mount_points() -> Vec<PathBuf> {
    let text = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let mounts = text.lines().filter_map(mount).filter(|it| !OF_KERNEL.contains(&it.kind));
    mounts.map(|it| it.place.into()).collect()
}

/// The number of a block device, as a process sees it.
fn block_device(root: &Path, pid: u32, file: &str) -> Option<String> {
    let device = fs::metadata(root.join(format!("proc/{pid}/root{file}"))).ok()?;
    let number = device.rdev();
    device.file_type().is_block_device().then(|| format!("{}:{}", libc::major(number), libc::minor(number)))
}

fn mount(line: &str) -> Option<Mount<'_>> {
    let (own, shared) = line.split_once(" - ")?;
    let own: Vec<&str> = own.split(' ').collect();
    let shared: Vec<&str> = shared.split(' ').collect();
    let (device, place, options) = (*own.get(2)?, *own.get(4)?, *own.get(5)?);
    let (kind, of_all) = (*shared.first()?, shared.get(2).copied().unwrap_or_default());
    let options = options.split(',').chain(of_all.split(','));
    Some(Mount { device, place, kind, options: options.collect() })
}

/// The settings of the queue of a device, `259:1`; of the whole disk, where that is a partition.
fn of_queue(root: &Path, device: &str) -> BTreeSet<String> {
    let folder = root.join("sys/dev/block").join(device);
    let queues: [PathBuf; 2] = [folder.join("queue"), folder.join("../queue")];
    let Some(queue) = queues.into_iter().find(|it| it.is_dir()) else { return BTreeSet::new() };
    let found = QUEUE.iter().filter_map(|name| {
        let value = small_file::text(&queue.join(name)).ok()?;
        Some(format!("{name} {}", value.trim()))
    });
    found.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_those_of_the_innermost_mount_and_the_queue_is_that_of_its_device() {
        let root = tempfile::tempdir().unwrap();
        let put = |file: &str, text: &str| {
            let path = root.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        put(
            "proc/7/mountinfo",
            "21 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n\
             40 21 7:3 / /srv/data rw,noatime shared:5 - ext4 /dev/loop3 rw,sync\n",
        );
        put("sys/dev/block/7:3/queue/read_ahead_kb", "0\n");
        let of = |file: &str| -> Vec<String> {
            of_files(root.path(), 7, &BTreeSet::from([file.to_owned()])).into_iter().collect()
        };
        assert_eq!(
            of("/srv/data/log"),
            [
                "file system ext4",
                "mount option noatime",
                "mount option rw",
                "mount option sync",
                "read_ahead_kb 0"
            ]
        );
        assert_eq!(of("/srv/database"), ["file system ext4", "mount option relatime", "mount option rw"]);
    }
}
