//! The mount tree of a program: the machine's files, read-only, with empty folders in place of some and an own `/dev` and `/proc`.

use std::ffi::OsString;
use std::fs::{self, DirBuilder, File, Metadata, Permissions};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sched::{CloneFlags, unshare};

use super::rights::{NOBODY, can_become_nobody};
use super::root::{Root, bind, bind_opened, handle, reference};
use super::{Need, Paths, Wrong, at};

/// Folders of which a program gets empty ones of its own: everyone writes to them, or they hold sockets of the machine's services. Each with its
/// mode, as in `mkdir`.
const HIDDEN: [(&str, u32); 4] = [(DEVICES, 0o755), ("/tmp", 0o1777), ("/var/tmp", 0o1777), ("/run", 0o755)];
/// The folder of device nodes.
const DEVICES: &str = "/dev";
/// Device nodes that every program gets, and no others.
pub(super) const NODES: [&str; 5] = ["null", "zero", "full", "random", "urandom"];
/// Links that programs expect among them.
const LINKS: [(&str, &str); 5] = [
    ("ptmx", "pts/ptmx"),
    ("fd", "/proc/self/fd"),
    ("stdin", "/proc/self/fd/0"),
    ("stdout", "/proc/self/fd/1"),
    ("stderr", "/proc/self/fd/2"),
];
/// Folders that every program may write to: its own empty ones, where mounts can be made.
pub(super) const WRITABLE: [&str; 4] = ["/tmp", "/var/tmp", "/dev/shm", "/dev/pts"];
/// More entries of a folder that only its owner may enter are not made visible one by one.
const MOST_ENTRIES: usize = 2000;

/// Whether others than the owner can enter a folder (`bit` 1), or read a file (`bit` 4).
pub(crate) fn is_open(meta: &Metadata, bit: u32) -> bool {
    let class = match (meta.uid(), meta.gid()) {
        (NOBODY, _) => 6,
        (_, NOBODY) => 3,
        _ => 0,
    };
    meta.mode() >> class & bit == bit
}

/// Outermost folder on the way to `path`, or `path` itself, that nobody may not enter.
pub(crate) fn closed_on_the_way(path: &Path) -> Option<&Path> {
    let closed = |path: &&Path| path.metadata().is_ok_and(|meta| meta.is_dir() && !is_open(&meta, 1));
    path.ancestors().filter(closed).last()
}

/// Makes the mount tree of this process.
///
/// # Returns
/// A writable `/proc` that has no path.
pub(super) fn arrange(need: &Need, paths: &Paths) -> Result<OwnedFd, Wrong> {
    unshare(CloneFlags::CLONE_NEWNS | CloneFlags::CLONE_NEWIPC).map_err(at("make a mount namespace"))?;
    mount(None::<&str>, "/", None::<&str>, MsFlags::MS_REC | MsFlags::MS_PRIVATE, None::<&str>)
        .map_err(at("keep its mounts to itself"))?;
    let resolve = |paths: &[PathBuf]| -> Result<Vec<PathBuf>, Wrong> {
        let whole = |path: &PathBuf| path.canonicalize().map_err(at(format!("find {}", path.display())));
        paths.iter().map(whole).collect()
    };
    // A folder to write to has no link on its path, and so is what its name says.
    let writable: Vec<PathBuf> = paths
        .writable
        .iter()
        .map(std::path::absolute)
        .collect::<Result<_, _>>()
        .map_err(at("find the working folder"))?;
    let opened = resolve(&paths.opened)?;
    let mut shown = [writable.as_slice(), &resolve(&paths.visible)?, &opened].concat();
    // What lies in another of them comes with it.
    shown.sort();
    shown.dedup();
    let mut covers = Vec::new();
    for (folder, mode) in HIDDEN {
        // One that is not there, or a link to another of them, hides nothing.
        if Path::new(folder).canonicalize().is_ok_and(|whole| whole == Path::new(folder)) {
            covers.push((PathBuf::from(folder), mode));
        }
    }
    let nobody_is_another = need.becomes_nobody && can_become_nobody();
    for path in opened.iter().chain(&writable).filter(|_| nobody_is_another) {
        let Some(closed) = closed_on_the_way(path) else { continue };
        if !covers.iter().any(|(cover, _)| closed.starts_with(cover)) {
            covers.push((closed.to_owned(), 0o755));
        }
    }
    let in_cover = |path: &&PathBuf| covers.iter().any(|(cover, _)| path.starts_with(cover));
    let outside: Vec<(&PathBuf, OwnedFd)> = writable
        .iter()
        .filter(|path| !in_cover(path))
        .map(|path| Ok((path, reference(path)?)))
        .collect::<Result<_, Wrong>>()?;
    let entered = |path: &Path| nobody_is_another && opened.iter().any(|opened| opened == path);
    let hidden = covers.iter().map(|(cover, mode)| Hidden::open(cover, *mode, &shown, &writable, entered));
    let hidden: Vec<Hidden<'_>> = hidden.collect::<Result<_, _>>()?;
    let hides = covers.iter().map(|(cover, _)| cover.clone()).collect();
    let root =
        if need.is_foreign { Root::of_overlays(&places(&table()?), hides)? } else { Root::of_machine() };
    for (path, folder) in &outside {
        // A mount of its own can stay writable where all around it is not.
        bind_opened(folder, &handle(&reference(&root.at(path))?))?;
    }
    hidden.iter().try_for_each(|hidden| hidden.cover(&root))?;
    root.enter()?;
    let kept = |place: &Path| {
        writable.iter().any(|path| path == place)
            || covers
                .iter()
                .any(|(cover, mode)| cover == place && (*mode == 0o1777 || cover == Path::new(DEVICES)))
    };
    mount_proc();
    let table = table()?;
    let proc = apart(Path::new("/proc"))?;
    for (place, flags) in mounts(&table).into_iter().filter(|(place, _)| !kept(place)) {
        make_read_only(&place, flags)?;
    }
    Ok(proc)
}

/// Something that stays visible.
struct Shown<'p> {
    path: &'p Path,
    /// Opened before it was hidden.
    source: OwnedFd,
    is_folder: bool,
    is_writable: bool,
    /// Entries of the folder, if the folder itself could not be entered.
    entries: Option<Vec<(OsString, OwnedFd, bool)>>,
}

impl<'p> Shown<'p> {
    /// Opens a path. A folder is shown entry by entry if it is hidden, or if it will be `entered` and only its owner
    /// may.
    fn open(path: &'p Path, cover: &Path, entered: bool, is_writable: bool) -> Result<Self, Wrong> {
        let source = reference(path)?;
        let meta = handle(&source).metadata().map_err(at(format!("look at {}", path.display())))?;
        let by_piece = meta.is_dir() && (path == cover || (entered && !is_open(&meta, 1)));
        let entries = by_piece.then(|| entries(path, cover)).transpose()?;
        Ok(Self { path, source, is_folder: meta.is_dir(), is_writable, entries })
    }

    /// Shows it in the empty folder that covers it now.
    fn show(&self, root: &Root) -> Result<(), Wrong> {
        let target = root.at(self.path);
        let Some(entries) = &self.entries else {
            make_place(&target, self.is_folder)?;
            return if self.is_writable {
                bind_opened(&self.source, &target)
            } else {
                root.show(&self.source, &target)
            };
        };
        make_place(&target, true)?;
        for (name, source, is_folder) in entries {
            let target = target.join(name);
            make_place(&target, *is_folder)?;
            root.show(source, &target)?;
        }
        Ok(())
    }
}

/// A folder of which a program gets an empty one, in which it sees only what is shown.
struct Hidden<'p> {
    cover: &'p Path,
    mode: u32,
    inside: Vec<Shown<'p>>,
    /// Device nodes for it, where it is `/dev`.
    nodes: Vec<(PathBuf, OwnedFd)>,
}

impl<'p> Hidden<'p> {
    /// Opens the paths that stay visible in the folder.
    fn open(
        cover: &'p Path,
        mode: u32,
        shown: &'p [PathBuf],
        writable: &[PathBuf],
        entered: impl Fn(&Path) -> bool,
    ) -> Result<Self, Wrong> {
        let mut inside: Vec<Shown<'_>> = Vec::new();
        for path in shown.iter().filter(|path| path.starts_with(cover)) {
            let is_writable = writable.contains(path);
            let comes_along = |other: &Shown<'_>| {
                other.entries.is_none() && other.is_writable >= is_writable && path.starts_with(other.path)
            };
            if !inside.iter().any(comes_along) {
                inside.push(Shown::open(path, cover, entered(path), is_writable)?);
            }
        }
        let nodes = NODES.iter().map(|name| Path::new(DEVICES).join(name));
        let nodes = nodes.filter(|path| path.starts_with(cover));
        let nodes = nodes.filter_map(|path| Some((path.clone(), reference(&path).ok()?))).collect();
        Ok(Self { cover, mode, inside, nodes })
    }

    /// Mounts an empty folder over this one, and the visible paths inside.
    fn cover(&self, root: &Root) -> Result<(), Wrong> {
        let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
        let options = format!("mode={:o}", self.mode);
        mount(Some("plimsoll"), &root.at(self.cover), Some("tmpfs"), flags, Some(options.as_str()))
            .map_err(at(format!("hide {}", self.cover.display())))?;
        self.inside.iter().try_for_each(|shown| shown.show(root))?;
        if self.cover == Path::new(DEVICES) { furnish(root, &self.nodes) } else { Ok(()) }
    }
}

/// Entries of a folder. Of a hidden folder only the files: its folders and sockets belong to others.
fn entries(folder: &Path, cover: &Path) -> Result<Vec<(OsString, OwnedFd, bool)>, Wrong> {
    let wrong = || at(format!("look into {}", folder.display()));
    let hidden = HIDDEN.iter().any(|(hidden, _)| folder == Path::new(hidden));
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).map_err(wrong())? {
        let entry = entry.map_err(wrong())?;
        // Something that is gone meanwhile, or a link to nowhere, cannot be shown.
        let Ok(meta) = entry.path().metadata() else { continue };
        let shown = meta.is_file() || (meta.is_dir() && !hidden);
        if !shown {
            continue;
        }
        // A link is shown as what it leads to.
        let Ok(whole) = entry.path().canonicalize() else { continue };
        found.push((entry.file_name(), reference(&whole)?, meta.is_dir()));
        if found.len() > MOST_ENTRIES {
            let error = format!(
                "it has more than {MOST_ENTRIES} entries, and {} is closed to other users",
                cover.display()
            );
            return Err(wrong()(io::Error::other(error)));
        }
    }
    Ok(found)
}

/// A folder or file to mount something on, with the folders that lead there.
fn make_place(path: &Path, is_folder: bool) -> Result<(), Wrong> {
    let wrong = || at(format!("make a place for {}", path.display()));
    let folder = if is_folder { Some(path) } else { path.parent() };
    if let Some(folder) = folder {
        DirBuilder::new().recursive(true).mode(0o755).create(folder).map_err(wrong())?;
    }
    if !is_folder && !path.exists() {
        File::create(path).map(drop).map_err(wrong())?;
    }
    Ok(())
}

/// A detached mount of `path`, which goes when it is closed.
fn apart(path: &Path) -> Result<OwnedFd, Wrong> {
    bind(path, path)?;
    let opened = reference(path)?;
    umount2(path, MntFlags::MNT_DETACH).map_err(at(format!("unmount {}", path.display())))?;
    Ok(opened)
}

/// The mounts that this process sees (proc_pid_mountinfo(5)).
fn table() -> Result<String, Wrong> {
    let table = fs::read("/proc/self/mountinfo").map_err(at("read /proc/self/mountinfo"))?;
    Ok(String::from_utf8_lossy(&table).into_owned())
}

/// The places of all mounts of a mountinfo, in their order.
fn places(table: &str) -> Vec<PathBuf> {
    let place = |line: &str| Some(OsString::from_vec(unescaped(line.split(' ').nth(4)?)).into());
    table.lines().filter_map(place).collect()
}

/// The mounts of a mountinfo that can be written to, each by its place with the flags that it must keep (proc_pid_mountinfo(5)). Of those
/// that lie over one another only the last counts, which can be seen.
fn mounts(table: &str) -> Vec<(PathBuf, MsFlags)> {
    let mut found: Vec<(PathBuf, Option<MsFlags>)> = Vec::new();
    for line in table.lines() {
        let mut fields = line.split(' ').skip(4);
        let (Some(place), Some(options)) = (fields.next(), fields.next()) else { continue };
        let place = PathBuf::from(OsString::from_vec(unescaped(place)));
        let mut flags = Some(MsFlags::empty());
        for option in options.split(',') {
            match option {
                "ro" => flags = None,
                "nosuid" => flags = flags.map(|flags| flags | MsFlags::MS_NOSUID),
                "nodev" => flags = flags.map(|flags| flags | MsFlags::MS_NODEV),
                "noexec" => flags = flags.map(|flags| flags | MsFlags::MS_NOEXEC),
                // Without a flag for access times, a remount keeps the setting (mount(2)).
                _ => {}
            }
        }
        found.retain(|(other, _)| *other != place);
        found.push((place, flags));
    }
    found.into_iter().filter_map(|(place, flags)| Some((place, flags?))).collect()
}

/// A path of mountinfo, in which blanks and the like stand as `\040`.
fn unescaped(text: &str) -> Vec<u8> {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let octal = (bytes[at] == b'\\').then(|| text.get(at + 1..at + 4)).flatten();
        match octal.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(byte) => {
                out.push(byte);
                at += 4;
            }
            None => {
                out.push(bytes[at]);
                at += 1;
            }
        }
    }
    out
}

fn make_read_only(place: &Path, flags: MsFlags) -> Result<(), Wrong> {
    let flags = flags | MsFlags::MS_REMOUNT | MsFlags::MS_BIND | MsFlags::MS_RDONLY;
    match mount(None::<&str>, place, None::<&str>, flags, None::<&str>) {
        // What is hidden beneath another mount, or may not even be looked at, cannot be written to either.
        Ok(()) | Err(Errno::ENOENT | Errno::EINVAL | Errno::EACCES | Errno::ENOTDIR) => Ok(()),
        Err(errno) => Err(at(format!("make {} read-only", place.display()))(errno)),
    }
}

/// Shows the processes of the program's own namespace. Containers that hide parts of `/proc` forbid it; the host's `/proc` then stays, and Landlock keeps
/// the program from signalling what it sees there.
fn mount_proc() {
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
    mount(Some("proc"), "/proc", Some("proc"), flags, None::<&str>).ok();
}

/// Fills an empty `/dev`: few nodes, terminals of its own, shared memory of its own.
fn furnish(root: &Root, nodes: &[(PathBuf, OwnedFd)]) -> Result<(), Wrong> {
    let dev = root.at(Path::new(DEVICES));
    for (path, source) in nodes {
        let target = root.at(path);
        make_place(&target, false)?;
        bind_opened(source, &target)?;
    }
    let (pts, shm) = (dev.join("pts"), dev.join("shm"));
    make_place(&pts, true)?;
    make_place(&shm, true)?;
    fs::set_permissions(&shm, Permissions::from_mode(0o1777)).map_err(at("open /dev/shm to all"))?;
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NOEXEC;
    let options = Some("newinstance,ptmxmode=0666,mode=620");
    mount(Some("devpts"), &pts, Some("devpts"), flags, options).map_err(at("make its own terminals"))?;
    for (name, target) in LINKS {
        symlink(target, dev.join(name)).map_err(at(format!("link /dev/{name}")))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_mounts_over_one_another_the_last_counts_and_flags_are_kept() {
        let table = "22 27 0:21 / /proc rw,relatime - proc proc rw\n\
                     27 1 254:0 / / rw,noatime - ext4 /dev/vda rw\n\
                     28 27 0:25 / /mnt/a\\040b ro,nosuid - tmpfs x ro\n\
                     29 27 0:26 / /srv rw,nosuid,nodev - tmpfs x rw\n\
                     30 22 0:40 / /proc rw,nosuid,nodev,noexec - proc proc rw\n\
                     31 27 0:41 / /mnt/c\\134d rw - tmpfs x rw\n";
        let all = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
        let expected = [
            ("/", MsFlags::empty()),
            ("/srv", MsFlags::MS_NOSUID | MsFlags::MS_NODEV),
            ("/proc", all),
            ("/mnt/c\\d", MsFlags::empty()),
        ];
        assert_eq!(mounts(table), expected.map(|(place, flags)| (PathBuf::from(place), flags)));
    }

    #[test]
    fn a_folder_for_its_owner_alone_is_found_on_the_way() {
        use std::os::unix::fs::PermissionsExt;
        let outer = tempfile::tempdir().unwrap();
        let inner = outer.path().join("a/b");
        fs::create_dir_all(&inner).unwrap();
        fs::set_permissions(outer.path(), Permissions::from_mode(0o755)).unwrap();
        assert_eq!(closed_on_the_way(&inner), None);
        fs::set_permissions(&inner, Permissions::from_mode(0o700)).unwrap();
        assert_eq!(closed_on_the_way(&inner), Some(inner.as_path()));
        fs::set_permissions(outer.path(), Permissions::from_mode(0o750)).unwrap();
        assert_eq!(closed_on_the_way(&inner), Some(outer.path()));
    }
}
