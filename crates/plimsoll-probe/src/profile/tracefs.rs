//! The numbers of the kernel's tracepoints.

use std::fs;
use std::io::Read;
use std::os::fd::OwnedFd;

use rustix::fs::{Mode, OFlags, openat};
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsmount, fsopen};

/// Where tracefs is mounted, mostly.
const MOUNTED: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];

/// The kernel's tracing files. Where nobody has mounted them they are mounted without a place, which nobody else sees, and which is gone with
/// this.
pub(crate) struct TraceFs(Option<OwnedFd>);

impl TraceFs {
    pub(crate) fn open() -> Self {
        let mount = || {
            let context = fsopen("tracefs", FsOpenFlags::FSOPEN_CLOEXEC)?;
            fsconfig_create(&context)?;
            fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, MountAttrFlags::MOUNT_ATTR_RDONLY)
        };
        Self(mount().ok())
    }

    /// The number of a tracepoint such as `oom/mark_victim`; `None` if the kernel has none of that name, or does not show it.
    pub(crate) fn id(&self, tracepoint: &str) -> Option<u64> {
        self.read(tracepoint, "id")?.trim().parse().ok()
    }

    /// What a tracepoint writes, in the kernel's words.
    pub(crate) fn format(&self, tracepoint: &str) -> Option<String> {
        self.read(tracepoint, "format")
    }

    fn read(&self, tracepoint: &str, file: &str) -> Option<String> {
        let path = format!("events/{tracepoint}/{file}");
        let of_mount = || {
            let file =
                openat(self.0.as_ref()?, path.as_str(), OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
                    .ok()?;
            let mut text = String::new();
            fs::File::from(file).read_to_string(&mut text).ok()?;
            Some(text)
        };
        MOUNTED.iter().find_map(|root| fs::read_to_string(format!("{root}/{path}")).ok()).or_else(of_mount)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tracepoints_have_numbers_and_made_up_ones_have_none() {
        let files = TraceFs::open();
        assert!(files.id("oom/mark_victim").is_some_and(|id| id > 0));
        assert_eq!(files.id("oom/no_such_tracepoint"), None);
    }
}
