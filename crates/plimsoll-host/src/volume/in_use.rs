//! Users of a block device. A device in use is not written to.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use nix::sys::stat::{major, minor};

/// A device by its major and minor number.
pub(super) type Number = (u64, u64);

/// Folder below `/sys` of the whole disk of a device or partition.
pub(super) fn disk(root: &Path, (major, minor): Number) -> io::Result<PathBuf> {
    let folder = fs::canonicalize(root.join(format!("sys/dev/block/{major}:{minor}")))?;
    if folder.join("partition").exists() {
        return Ok(folder.parent().unwrap_or(&folder).to_owned());
    }
    Ok(folder)
}

/// User of a device or one of its partitions, if any: a mount, swap, a device on top of it (LVM, md, dm), a loop device.
pub(super) fn by_whom(root: &Path, number: Number) -> io::Result<Option<String>> {
    let folder = fs::canonicalize(root.join(format!("sys/dev/block/{}:{}", number.0, number.1)))?;
    let mut folders = vec![folder.clone()];
    for entry in fs::read_dir(&folder)?.flatten() {
        if entry.path().join("partition").exists() {
            folders.push(entry.path());
        }
    }
    for folder in &folders {
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let Some(number) = number_in(&fs::read_to_string(folder.join("dev"))?) else { continue };
        if let Some(holder) = entries(&folder.join("holders"))?.first() {
            return Ok(Some(format!("{name} is part of {holder} (LVM, md or another mapping)")));
        }
        if let Some(place) = mounted(root, number)? {
            return Ok(Some(format!("{name} is mounted at {place}")));
        }
        if swap(root, number)? {
            return Ok(Some(format!("{name} is used for swap")));
        }
        if let Some(by) = backs_loop(root, &folder.join("loop"), number)? {
            return Ok(Some(format!("{name} is behind the loop device {by}")));
        }
    }
    Ok(None)
}

fn entries(folder: &Path) -> io::Result<Vec<String>> {
    match fs::read_dir(folder) {
        Ok(entries) => Ok(entries.flatten().map(|e| e.file_name().to_string_lossy().into_owned()).collect()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

fn number_in(text: &str) -> Option<Number> {
    let (major, minor) = text.trim().split_once(':')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// Mount point of the device: the third field of mountinfo is its number, the fifth the mount point (proc_pid_mountinfo(5)). Claiming the device
/// finds mounts of other namespaces.
fn mounted(root: &Path, number: Number) -> io::Result<Option<String>> {
    let text = fs::read_to_string(root.join("proc/self/mountinfo"))?;
    let place = text.lines().find_map(|line| {
        let mut fields = line.split_whitespace().skip(2);
        let is_it = number_in(fields.next()?) == Some(number);
        is_it.then(|| fields.nth(1).unwrap_or("?").to_owned())
    });
    Ok(place)
}

fn swap(root: &Path, number: Number) -> io::Result<bool> {
    let text = match fs::read_to_string(root.join("proc/swaps")) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
        other => other?,
    };
    let paths = text.lines().skip(1).filter_map(|line| line.split_whitespace().next());
    Ok(paths
        .filter_map(|path| number_of(&root.join(path.trim_start_matches('/'))))
        .any(|swap| swap == number))
}

/// The number of the block device that a path leads to.
fn number_of(path: &Path) -> Option<Number> {
    let about = fs::metadata(path).ok()?;
    // A folder or a file has the number 0.
    (about.rdev() != 0).then(|| (major(about.rdev()), minor(about.rdev())))
}

/// Loop device whose backing file is this one, if any.
fn backs_loop(root: &Path, own: &Path, number: Number) -> io::Result<Option<String>> {
    for name in entries(&root.join("sys/block"))? {
        let folder = root.join("sys/block").join(&name).join("loop");
        if folder == own {
            continue;
        }
        let Ok(backing) = fs::read_to_string(folder.join("backing_file")) else { continue };
        if number_of(&root.join(backing.trim().trim_start_matches('/'))) == Some(number) {
            return Ok(Some(name));
        }
    }
    Ok(None)
}

/// Reservation of a device that nothing has open: LVM's label in one of the first four sectors, or the superblock of an md array (md(4)) at one of
/// its places.
pub(super) fn label(device: &Path) -> io::Result<Option<String>> {
    let mut file = File::open(device)?;
    let size = io::Seek::seek(&mut file, io::SeekFrom::End(0))?;
    labelled(&file, size)
}

fn labelled(file: &File, size: u64) -> io::Result<Option<String>> {
    /// Magic of an md superblock, as it stands on the disk.
    const MD: [u8; 4] = 0xa92b_4efc_u32.to_le_bytes();
    let mut sectors = [0; 2048];
    if size < 128 << 10 {
        return Ok(None);
    }
    file.read_exact_at(&mut sectors, 0)?;
    if sectors.chunks(512).any(|sector| sector.starts_with(b"LABELONE")) {
        return Ok(Some("it is a physical volume of LVM".into()));
    }
    // Versions 1.1, 1.2, 0.90 and 1.0.
    let places = [0, 4096, (size & !0xffff) - 0x10000, (size & !0xfff) - 0x2000];
    for place in places {
        let mut magic = [0; 4];
        file.read_exact_at(&mut magic, place)?;
        if magic == MD {
            return Ok(Some("it is a member of an md array".into()));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// A machine with one disk `sdb` (8:16) that has a partition `sdb1` (8:17).
    fn machine() -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("sys/devices/sdb/dev", "8:16\n");
        write("sys/devices/sdb/sdb1/dev", "8:17\n");
        write("sys/devices/sdb/sdb1/partition", "1\n");
        write("proc/self/mountinfo", "22 1 253:0 / / rw - ext4 /dev/root rw\n");
        write("proc/swaps", "Filename Type Size Used Priority\n");
        fs::create_dir_all(root.path().join("sys/dev/block")).unwrap();
        fs::create_dir_all(root.path().join("sys/devices/sdb/sdb1/holders")).unwrap();
        for (number, to) in [("8:16", "../../devices/sdb"), ("8:17", "../../devices/sdb/sdb1")] {
            symlink(to, root.path().join("sys/dev/block").join(number)).unwrap();
        }
        root
    }

    fn uses(root: &tempfile::TempDir) -> String {
        by_whom(root.path(), (8, 16)).unwrap().unwrap_or_default()
    }

    #[test]
    fn a_disk_that_nobody_uses_is_free() {
        let root = machine();
        assert_eq!(uses(&root), "");
        let disk = |number| disk(root.path(), number).unwrap();
        assert!(disk((8, 16)).ends_with("sdb") && disk((8, 17)) == disk((8, 16)));
    }

    #[test]
    fn a_disk_is_in_use_when_one_of_its_partitions_is() {
        let root = machine();
        let holders = root.path().join("sys/devices/sdb/sdb1/holders");
        fs::write(holders.join("dm-0"), "").unwrap();
        assert!(uses(&root).contains("sdb1 is part of dm-0"), "{}", uses(&root));
        fs::remove_file(holders.join("dm-0")).unwrap();
        fs::write(root.path().join("proc/self/mountinfo"), "40 22 8:17 / /data rw - ext4 /dev/sdb1 rw\n")
            .unwrap();
        assert_eq!(uses(&root), "sdb1 is mounted at /data");
    }

    #[test]
    fn what_is_set_aside_for_lvm_or_md_is_known_by_its_label() {
        let file = tempfile::tempfile().unwrap();
        let size = 1 << 20;
        file.set_len(size).unwrap();
        assert_eq!(labelled(&file, size).unwrap(), None);
        file.write_all_at(b"LABELONE", 512).unwrap();
        assert!(labelled(&file, size).unwrap().unwrap().contains("LVM"));
        file.write_all_at(&[0; 8], 512).unwrap();
        file.write_all_at(&0xa92b_4efc_u32.to_le_bytes(), 4096).unwrap();
        assert!(labelled(&file, size).unwrap().unwrap().contains("md array"));
    }
}
