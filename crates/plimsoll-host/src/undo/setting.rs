//! Settings that may be changed, with their values: those that Plimsoll itself changes.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::{Component, Path, PathBuf};

use nix::fcntl::OFlag;
use nix::sys::statfs::{CGROUP_SUPER_MAGIC, FsType, PROC_SUPER_MAGIC, SYSFS_MAGIC};
use plimsoll_model::experiment::sysctl;

use super::place;

/// The longest value, in bytes: a page, the kernel's limit.
const LONGEST: usize = 4096;

/// Kind of a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Below `/proc/sys`.
    Sysctl,
    /// A number of a block device's queue.
    QueueNumber,
    /// The scheduler of a block device's queue.
    Scheduler,
    /// A limit of a block device, by its number.
    Throttle,
}

const THROTTLES: [&str; 4] = [
    "blkio.throttle.read_iops_device",
    "blkio.throttle.write_iops_device",
    "blkio.throttle.read_bps_device",
    "blkio.throttle.write_bps_device",
];

/// Stored path of a setting, without the symbolic links of `/sys`.
pub(super) fn real_path(path: &Path) -> io::Result<PathBuf> {
    if path.starts_with("/sys") { fs::canonicalize(path) } else { Ok(path.to_owned()) }
}

/// Refuses settings that Plimsoll does not change, and impossible values.
pub(super) fn allowed(path: &Path, value: &str) -> Result<(), String> {
    let kind = kind(path)?;
    if value.len() > LONGEST || value.chars().any(|c| c.is_control() && c != '\t') {
        return Err("its value is longer than a page, or has several lines".into());
    }
    let numbers = |text: &str, between: char| {
        text.split(between).all(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
    };
    let sound = match kind {
        Kind::Sysctl => true,
        Kind::QueueNumber => numbers(value, ' '),
        Kind::Scheduler => {
            !value.is_empty()
                && value.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
        }
        Kind::Throttle => value.split_once(' ').is_some_and(|(device, limit)| {
            numbers(device, ':') && device.matches(':').count() == 1 && numbers(limit, ' ')
        }),
    };
    if sound { Ok(()) } else { Err(format!("`{}` is no value for it", value.escape_debug())) }
}

fn kind(path: &Path) -> Result<Kind, String> {
    let plain = path.components().skip(1).all(|part| matches!(part, Component::Normal(_)));
    let text = path.to_str().filter(|text| plain && !text.chars().any(char::is_control));
    let Some(text) = text else {
        return Err("this is no setting of the kernel: its path is not a plain one".into());
    };
    if let Some(name) = text.strip_prefix("/proc/sys/") {
        return match sysctl::refusal(&sysctl::dotted(name)) {
            Some(why) => Err(why.into()),
            None => Ok(Kind::Sysctl),
        };
    }
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let in_queue = path.parent().is_some_and(|parent| parent.ends_with("queue"));
    match name {
        "queue_depth" if path.starts_with("/sys/devices") => Ok(Kind::QueueNumber),
        "nr_requests" | "read_ahead_kb" if in_queue && path.starts_with("/sys/devices") => {
            Ok(Kind::QueueNumber)
        }
        "scheduler" if in_queue && path.starts_with("/sys/devices") => Ok(Kind::Scheduler),
        _ if THROTTLES.contains(&name) && path.starts_with("/sys/fs/cgroup") => Ok(Kind::Throttle),
        _ if path.starts_with("/sys") => Err("this is no setting that Plimsoll changes".into()),
        _ => Err("this is no setting of the kernel: it is not below /proc/sys or /sys".into()),
    }
}

/// Whether the file has a line for each device.
pub(super) fn is_per_device(path: &Path) -> bool {
    kind(path) == Ok(Kind::Throttle)
}

impl Kind {
    /// The file system that its settings are on.
    fn file_system(self) -> FsType {
        match self {
            Self::Sysctl => PROC_SUPER_MAGIC,
            Self::QueueNumber | Self::Scheduler => SYSFS_MAGIC,
            Self::Throttle => CGROUP_SUPER_MAGIC,
        }
    }
}

/// Opens a setting, and checks that no other file system covers it.
fn open(path: &Path, how: OFlag) -> io::Result<File> {
    let kind = kind(path).map_err(io::Error::other)?;
    let (folder, name) = place::parent_and_name(path)?;
    let file = place::file_in(&folder, name, how)?;
    if place::file_system(&file)? != kind.file_system() || !place::is_regular(&file)? {
        return Err(io::Error::other("this is no file of the kernel"));
    }
    Ok(file)
}

/// Reads a setting.
pub(super) fn read(path: &Path) -> io::Result<String> {
    io::read_to_string(open(path, OFlag::O_RDONLY)?)
}

/// Writes a setting.
pub(super) fn write(path: &Path, value: &str) -> io::Result<()> {
    allowed(path, value).map_err(io::Error::other)?;
    open(path, OFlag::O_WRONLY)?.write_all(value.as_bytes())
}

/// Whether a setting is missing, which is no error if its device has gone.
pub(super) fn is_gone(error: &io::Error) -> bool {
    error.kind() == ErrorKind::NotFound || error.raw_os_error() == Some(nix::libc::ENODEV)
}

/// Whether the kernel refuses the value itself: a depth of the queue, for example, that only another scheduler allows.
pub(super) fn is_unsuitable(error: &io::Error) -> bool {
    error.raw_os_error() == Some(nix::libc::EINVAL)
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUEUE: &str = "/sys/devices/virtual/block/loop0/queue";

    fn refusal(path: &str, value: &str) -> Option<String> {
        allowed(Path::new(path), value).err()
    }

    #[test]
    fn only_settings_that_plimsoll_changes_are_allowed() {
        let fine = [
            ("/proc/sys/vm/swappiness".to_owned(), "10"),
            ("/proc/sys/net/ipv4/tcp_rmem".to_owned(), "4096\t87380\t6291456"),
            (format!("{QUEUE}/scheduler"), "mq-deadline"),
            (format!("{QUEUE}/read_ahead_kb"), "128"),
            ("/sys/fs/cgroup/blkio/blkio.throttle.read_bps_device".to_owned(), "7:0 0"),
        ];
        for (path, value) in fine {
            assert_eq!(refusal(&path, value), None, "{path}");
        }
        let others = [
            "/etc/passwd",
            "/sys/../etc/passwd",
            "/proc/sys/../1/oom_score_adj",
            "/proc/sys",
            "/proc/sysrq-trigger",
            "/sys/kernel/uevent_helper",
            "/sys/devices/virtual/block/loop0/uevent",
            "/sys/fs/cgroup/memory/release_agent",
            "/proc/sys/kernel/core_pattern",
            "/proc/sys/kernel/modprobe",
            "proc/sys/vm/swappiness",
        ];
        for path in others {
            assert!(refusal(path, "1").is_some(), "{path}");
        }
    }

    #[test]
    fn only_values_of_its_kind_are_written_to_a_setting() {
        for (file, value) in [
            ("scheduler", "a b"),
            ("scheduler", ""),
            ("nr_requests", "-1"),
            ("nr_requests", "1\n2"),
            ("read_ahead_kb", "1 "),
        ] {
            assert!(refusal(&format!("{QUEUE}/{file}"), value).is_some(), "{file} = {value:?}");
        }
        for value in ["7:0", "7 1", "7:0:1 2", "x:0 1"] {
            let path = "/sys/fs/cgroup/blkio/blkio.throttle.read_bps_device";
            assert!(refusal(path, value).is_some(), "{value}");
        }
        assert!(refusal("/proc/sys/vm/swappiness", &"1".repeat(5000)).is_some());
        assert!(refusal("/proc/sys/vm/swappiness", "1\x1b[2J").is_some());
    }

    #[test]
    fn a_file_that_is_not_the_kernels_is_not_written_to() {
        // The path of a setting that this kernel does not have leads nowhere else.
        assert!(is_gone(&read(Path::new("/proc/sys/vm/no_such_thing")).unwrap_err()));
        assert!(read(Path::new("/proc/sys/vm/swappiness")).is_ok());
    }
}
