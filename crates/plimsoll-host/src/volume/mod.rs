//! Volumes: storage of hosts, made for a rig and gone with it.
//!
//! A loop device stands on a nameless file, and detaches itself when neither the controller nor the mount in its host's mount namespace has it open.
//! So nothing needs undoing when both die. The [`UndoProcess`] undoes folders and settings of queues.

pub(crate) mod in_guest;
mod in_use;
mod loop_device;
mod mkfs;
mod mount;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use nix::sys::stat::{major, minor};
use nix::unistd::getpid;
use plimsoll_model::experiment::{DeviceLimit, FolderVolume, LoopVolume, Queueing};
use plimsoll_model::frame::VolumePlace;
use plimsoll_path::Folder;

use crate::access::Access;
use crate::error::HostError;
use crate::group::{self, Hierarchy};
use crate::interrupt::go_on;
use crate::spec::VolumeSpec;
use crate::undo::{Patience, UndoProcess};
use in_guest::GuestVolume;
use loop_device::LoopDevice;
pub(crate) use mount::Mount;

/// The volumes of a rig.
#[derive(Debug, Default)]
pub(crate) struct Volumes {
    places: BTreeMap<String, VolumePlace>,
    /// Mounts of hosts, each with the host.
    mounts: Vec<(String, Mount)>,
    /// Volumes in guests' memory, each with the guest.
    in_guests: Vec<(String, GuestVolume)>,
    /// Devices of the machine that are written to, claimed against other mounts.
    claims: Vec<File>,
    loops: Vec<LoopDevice>,
    /// Limits of devices that only the group of a host can hold, each with the host.
    host_limits: Vec<(String, (u64, u64), DeviceLimit)>,
    /// Undo process that lifts the limits of devices before processes end, so that they do not wait for slow writes.
    limits: Option<UndoProcess>,
    /// Undoes its work last, and so comes last.
    undo: Option<UndoProcess>,
}

impl Volumes {
    /// Makes all of them, except for the mounts, which the hosts make.
    ///
    /// # Errors
    /// When one cannot be made; nothing is left then.
    pub(crate) fn make(
        specs: &[VolumeSpec],
        is_guest: impl Fn(&str) -> bool,
        interrupt: &AtomicBool,
    ) -> Result<Self, HostError> {
        let mut made = Self::default();
        // All runs take devices in one order, so no two wait for each other's.
        let mut specs: Vec<&VolumeSpec> = specs.iter().collect();
        specs.sort_by_key(|spec| &spec.volume.device);
        for spec in specs {
            go_on(interrupt)?;
            match &spec.volume.image {
                Some(image) if is_guest(&spec.volume.on) => made.add_in_guest(spec, image),
                _ => made.add(spec, interrupt)?,
            }
        }
        Ok(made)
    }

    /// Mounts of a host.
    pub(crate) fn mounts(&self, host: &str) -> Vec<Mount> {
        self.mounts.iter().filter(|(of, _)| of == host).map(|(_, mount)| mount.clone()).collect()
    }

    /// Volumes in a guest's memory.
    pub(crate) fn of_guest(&self, host: &str) -> Vec<GuestVolume> {
        self.in_guests.iter().filter(|(of, _)| of == host).map(|(_, volume)| volume.clone()).collect()
    }

    /// Path of a volume on its host.
    pub(crate) fn place(&self, name: &str) -> Option<VolumePlace> {
        self.places.get(name).cloned()
    }

    /// Limits for a host's own group.
    pub(crate) fn limits(&self, host: &str) -> Vec<((u64, u64), DeviceLimit)> {
        let of_host = self.host_limits.iter().filter(|(of, ..)| of == host);
        of_host.map(|(_, number, limit)| (*number, *limit)).collect()
    }

    /// Lifts the limits of devices.
    pub(crate) fn lift_limits(&mut self) {
        self.limits = None;
    }

    /// Waits until the loop devices are free again, then undoes all else.
    pub(crate) fn close(&mut self) -> Result<(), HostError> {
        let closed: Vec<_> = self.loops.drain(..).map(LoopDevice::close).collect();
        self.undo = None;
        closed.into_iter().collect()
    }

    fn add_in_guest(&mut self, spec: &VolumeSpec, image: &LoopVolume) {
        let volume = GuestVolume::new(&spec.name, image);
        let place = VolumePlace { name: spec.name.clone(), path: volume.at(), writable: true };
        self.places.insert(spec.name.clone(), place);
        self.in_guests.push((spec.volume.on.clone(), volume));
    }

    fn add(&mut self, spec: &VolumeSpec, interrupt: &AtomicBool) -> Result<(), HostError> {
        let volume = &spec.volume;
        let (path, writable, device) = if let Some(folder) = &volume.folder {
            (self.folder(spec, folder)?, true, None)
        } else if let Some(image) = &volume.image {
            let (path, device) = self.image(spec, image, interrupt)?;
            (path, true, Some(device))
        } else {
            let device = PathBuf::from(volume.device.as_deref().unwrap_or_default());
            self.device(spec, &device)?;
            (device.clone(), spec.destroy, Some(device))
        };
        let patience = Patience::usual(interrupt);
        if let Some(device) = &device {
            if !volume.queue.is_default() {
                self.queue(spec, device, &volume.queue, patience)?;
            }
            if !volume.limit.is_none() {
                self.limit(spec, device, volume.limit, patience)?;
            }
        }
        self.places.insert(spec.name.clone(), VolumePlace { name: spec.name.clone(), path, writable });
        Ok(())
    }

    fn folder(&mut self, spec: &VolumeSpec, folder: &FolderVolume) -> Result<PathBuf, HostError> {
        let number: u32 = rand::random();
        let name = format!("plimsoll-{}-{}-{number:08x}", spec.name, getpid());
        let path = parent(spec, folder.parent.as_deref())?.path().join(name);
        self.undo()?.make_folder(&path)?;
        Ok(path)
    }

    /// Makes a volume on a loop device. Returns its path on the host, and its device.
    fn image(
        &mut self,
        spec: &VolumeSpec,
        image: &LoopVolume,
        interrupt: &AtomicBool,
    ) -> Result<(PathBuf, PathBuf), HostError> {
        needs_root(spec, "a loop device")?;
        let failed = |operation: &str| wrong(spec, operation);
        let parent = parent(spec, image.parent.as_deref())?;
        let file =
            unnamed(&parent).map_err(failed(&format!("making its file in {}", parent.path().display())))?;
        if let Some(at) = &image.at {
            Folder::open(Path::new(at)).map_err(|error| failed("resolving `at`")(error.into()))?;
        }
        file.set_len(image.size.0).map_err(failed("giving its file the size"))?;
        if let Some(filesystem) = image.filesystem {
            mkfs::make(&spec.name, filesystem, &file, interrupt)?;
        }
        let device = LoopDevice::attach(&spec.name, &file, image.direct, self.undo()?, interrupt)?;
        let path = device.path().to_owned();
        self.loops.push(device);
        let Some(filesystem) = image.filesystem else { return Ok((path.clone(), path)) };
        let mount = Mount::new(&spec.name, &path, filesystem, image);
        let at = mount.at.clone();
        self.mounts.push((spec.volume.on.clone(), mount));
        Ok((at, path))
    }

    fn device(&mut self, spec: &VolumeSpec, device: &Path) -> Result<(), HostError> {
        let failed = |operation: &str| wrong(spec, operation);
        let about = fs::metadata(device).map_err(failed(&format!("looking at {}", device.display())))?;
        if !about.file_type().is_block_device() {
            let source = io::Error::new(io::ErrorKind::InvalidInput, "this is no block device");
            return Err(failed(&device.display().to_string())(source));
        }
        if !spec.destroy {
            return Ok(());
        }
        let used = |why| HostError::DeviceInUse { volume: spec.name.clone(), device: device.into(), why };
        let number = (major(about.rdev()), minor(about.rdev()));
        if let Some(why) = in_use::by_whom(Path::new("/"), number).map_err(failed("asking who uses it"))? {
            return Err(used(why));
        }
        if let Some(why) = in_use::label(device).map_err(failed("looking for labels on it"))? {
            return Err(used(why));
        }
        // The kernel refuses the claim of a device in use, and refuses mounts while it is claimed here.
        let claim = File::options().read(true).write(true).custom_flags(nix::libc::O_EXCL).open(device);
        match claim {
            Ok(claim) => self.claims.push(claim),
            Err(error) if error.raw_os_error() == Some(nix::libc::EBUSY) => {
                return Err(used("the kernel has it in use".into()));
            }
            Err(error) => return Err(failed("claiming it")(error)),
        }
        Ok(())
    }

    fn queue(
        &mut self,
        spec: &VolumeSpec,
        device: &Path,
        queue: &Queueing,
        patience: Patience<'_>,
    ) -> Result<(), HostError> {
        needs_root(spec, "changing how a device queues requests")?;
        let about = fs::metadata(device).map_err(wrong(spec, "looking at its device"))?;
        let folder = in_use::disk(Path::new("/"), (major(about.rdev()), minor(about.rdev())))
            .map_err(wrong(spec, "finding its queue"))?
            .join("queue");
        let undo = self.undo()?;
        // Another scheduler begins with a depth of its own, so the scheduler comes first, and is restored last.
        if let Some(scheduler) = &queue.scheduler {
            if folder.join("nr_requests").exists() {
                undo.keep(&folder.join("nr_requests"), patience)?;
            }
            undo.set(&folder.join("scheduler"), scheduler, patience)?;
        }
        if let Some(depth) = queue.depth {
            undo.set(&folder.join("nr_requests"), &depth.to_string(), patience)?;
        }
        if let Some(depth) = queue.ncq {
            // The device's own folder stands beside that of the kernel's queue.
            let own = folder.with_file_name("device").join("queue_depth");
            undo.set(&own, &depth.to_string(), patience)?;
        }
        if let Some(ahead) = queue.read_ahead {
            undo.set(&folder.join("read_ahead_kb"), &(ahead.0 >> 10).to_string(), patience)?;
        }
        Ok(())
    }

    fn limit(
        &mut self,
        spec: &VolumeSpec,
        device: &Path,
        limit: DeviceLimit,
        patience: Patience<'_>,
    ) -> Result<(), HostError> {
        needs_root(spec, "limiting a device")?;
        let about = fs::metadata(device).map_err(wrong(spec, "looking at its device"))?;
        let number = (major(about.rdev()), minor(about.rdev()));
        let Some(Hierarchy::One { root, .. }) = Hierarchy::of(Path::new("/"), "io") else {
            self.host_limits.push((spec.volume.on.clone(), number, limit));
            return Ok(());
        };
        let limits = match &mut self.limits {
            Some(limits) => limits,
            none => none.insert(UndoProcess::start()?),
        };
        let throttles = group::throttles(&root, number, limit);
        throttles.iter().try_for_each(|(path, line)| limits.limit(path, line, patience))
    }

    fn undo(&mut self) -> Result<&mut UndoProcess, HostError> {
        if self.undo.is_none() {
            self.undo = Some(UndoProcess::start()?);
        }
        Ok(self.undo.as_mut().expect("it was started in the lines before"))
    }
}

fn needs_root(spec: &VolumeSpec, what: &'static str) -> Result<(), HostError> {
    match Access::detect()? {
        Access::Root => Ok(()),
        _ => Err(HostError::VolumeNeedsRoot { volume: spec.name.clone(), what }),
    }
}

/// An error of a volume.
fn wrong(spec: &VolumeSpec, operation: &str) -> impl Fn(io::Error) -> HostError + use<> {
    let (volume, operation) = (spec.name.clone(), operation.to_owned());
    move |source| HostError::Volume { volume: volume.clone(), operation: operation.clone(), source }
}

/// Folder that the experiment file names as `in`, or the user's folder for temporary files.
fn parent(spec: &VolumeSpec, named: Option<&str>) -> Result<Folder, HostError> {
    let wrong = |error| wrong(spec, "resolving `in`")(error);
    let whole = match named {
        Some(named) => std::path::absolute(named),
        None => std::env::temp_dir().canonicalize(),
    };
    Folder::open(&whole.map_err(wrong)?).map_err(|error| wrong(error.into()))
}

/// A nameless file. If the file system has none, a file that is removed as soon as it is open.
fn unnamed(parent: &Folder) -> io::Result<File> {
    let parent = parent.handle();
    let mut options = File::options();
    options.read(true).write(true).mode(0o600);
    match options.clone().custom_flags(nix::libc::O_TMPFILE).open(&parent) {
        Err(error) if matches!(error.raw_os_error(), Some(nix::libc::EOPNOTSUPP | nix::libc::EISDIR)) => {
            let path = parent.join(format!("plimsoll-{}-{:08x}", getpid(), rand::random::<u32>()));
            let file = options.create_new(true).open(&path)?;
            fs::remove_file(path)?;
            Ok(file)
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_a_name_leaves_its_folder_empty() {
        let folder = tempfile::tempdir().unwrap();
        let file = unnamed(&Folder::of_user(folder.path()).unwrap()).unwrap();
        file.set_len(1 << 20).unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
