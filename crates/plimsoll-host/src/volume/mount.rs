//! Mounting a volume, by the first process of the host that has it.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::mount::{MsFlags, mount};
use plimsoll_model::experiment::{Filesystem, LoopVolume};
use plimsoll_path::Folder;
use serde::{Deserialize, Serialize};

use crate::reexec::errno_of;

/// Mount point of volumes without one: in the host's own file system.
const OWN: &str = "/dev/shm";

/// Mount options that are flags of mount(2); all others are the file system's own.
const FLAGS: [(&str, MsFlags); 11] = [
    ("noatime", MsFlags::MS_NOATIME),
    ("nodiratime", MsFlags::MS_NODIRATIME),
    ("relatime", MsFlags::MS_RELATIME),
    ("strictatime", MsFlags::MS_STRICTATIME),
    ("lazytime", MsFlags::MS_LAZYTIME),
    ("sync", MsFlags::MS_SYNCHRONOUS),
    ("dirsync", MsFlags::MS_DIRSYNC),
    ("nodev", MsFlags::MS_NODEV),
    ("nosuid", MsFlags::MS_NOSUID),
    ("noexec", MsFlags::MS_NOEXEC),
    ("ro", MsFlags::MS_RDONLY),
];

/// A mount for a host to make.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Mount {
    device: PathBuf,
    filesystem: String,
    options: String,
    pub(crate) at: PathBuf,
}

impl Mount {
    pub(super) fn new(name: &str, device: &Path, filesystem: Filesystem, image: &LoopVolume) -> Self {
        let own = || format!("{OWN}/volume-{name}");
        Self {
            device: device.into(),
            filesystem: filesystem.name().into(),
            options: image.options.clone(),
            at: image.at.clone().unwrap_or_else(own).into(),
        }
    }

    /// Copy of the mount with another device.
    pub(super) fn with_device(&self, device: PathBuf) -> Self {
        Self { device, ..self.clone() }
    }

    /// Mounts it, in the mount namespace of the calling process. Every user may make files in it, since services may run as any.
    pub(crate) fn make(&self) -> Result<(), Errno> {
        let failed = |error: io::Error| errno_of(&error);
        if self.at.starts_with(OWN) {
            fs::create_dir_all(&self.at).map_err(failed)?;
        }
        let open = || Folder::open(&self.at).map_err(|error| error.errno());
        let (flags, data) = parse(&self.options);
        mount(Some(&self.device), &open()?.handle(), Some(self.filesystem.as_str()), flags, data.as_deref())?;
        match fs::set_permissions(open()?.handle(), fs::Permissions::from_mode(0o1777)) {
            Err(error) if error.kind() == io::ErrorKind::ReadOnlyFilesystem => Ok(()),
            other => other.map_err(failed),
        }
    }
}

/// Options as mount(2) takes them.
fn parse(options: &str) -> (MsFlags, Option<String>) {
    let words = options.split(',').map(str::trim).filter(|word| !word.is_empty());
    let mut flags = MsFlags::empty();
    let mut rest = Vec::new();
    for word in words {
        match FLAGS.iter().find(|(name, _)| *name == word) {
            Some((_, flag)) => flags |= *flag,
            None if matches!(word, "defaults" | "rw") => {}
            None => rest.push(word),
        }
    }
    (flags, (!rest.is_empty()).then(|| rest.join(",")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_the_kernel_are_separated_from_those_of_the_file_system() {
        let (flags, data) = parse("noatime,data=journal, commit=30,rw");
        assert_eq!(flags, MsFlags::MS_NOATIME);
        assert_eq!(data.as_deref(), Some("data=journal,commit=30"));
        assert_eq!(parse(""), (MsFlags::empty(), None));
    }

    #[test]
    fn a_volume_that_names_no_place_is_mounted_where_only_its_host_sees_it() {
        let image = |at: Option<&str>| LoopVolume {
            size: plimsoll_model::units::ByteSize(1 << 20),
            parent: None,
            filesystem: Some(Filesystem::Ext4),
            options: "noatime".into(),
            at: at.map(Into::into),
            direct: true,
        };
        let made = |at| Mount::new("disk", Path::new("/dev/loop0"), Filesystem::Ext4, &image(at));
        assert_eq!(made(None).at, Path::new("/dev/shm/volume-disk"));
        assert_eq!(made(Some("/srv")).at, Path::new("/srv"));
    }
}
