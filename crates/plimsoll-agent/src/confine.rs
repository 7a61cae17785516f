//! Less than the agent may do, for what it starts: an environment of few variables, no capabilities, and for programs another user and a
//! file system that can only be read.
//!
//! All of it is done by the process itself, in a stage of this program that has a single thread, before it becomes what it is to be.

use std::ffi::OsString;
use std::fs::{self, DirBuilder, File, Metadata};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;

use nix::errno::Errno;
use nix::libc;
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sched::{CloneFlags, unshare};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::unistd::{Gid, Uid, fchown, getegid, geteuid, setgroups, setresgid, setresuid};
use rustix::thread::{CapabilitySet, CapabilitySets};
use serde::{Deserialize, Serialize};

/// The number of the user and of the group that a program runs as: nobody's, by long custom.
pub(crate) const NOBODY: u32 = 65534;

/// What everything that the agent starts has of its environment: where programs are, in which language and time zone they speak, and by
/// which it is known as part of a run (`plimsoll_host::MARKER`).
const PASSED: [&str; 5] = ["PATH", "LANG", "LANGUAGE", "TZ", "PLIMSOLL_CONTROLLER"];
/// So begin further names of it.
const PASSED_BEGINNING: &str = "LC_";

/// Folders of which a program gets empty ones of its own: what lies in them is written by everybody, or are sockets by which services of the
/// machine can be asked to do what the program may not do itself. Each with its mode, as in `mkdir`.
const HIDDEN: [(&str, u32); 4] =
    [("/tmp", 0o1777), ("/var/tmp", 0o1777), ("/dev/shm", 0o1777), ("/run", 0o755)];
/// More entries of a folder that only its owner may enter are not made visible one by one.
const MOST_ENTRIES: usize = 2000;
/// How many descriptors a program may open if it asks for so many; root could raise the limit itself.
const DESCRIPTORS: u64 = 1 << 20;

/// Leaves a command no more of the environment than everything gets, with these of the agent's own.
pub(crate) fn clean_environment<'n>(command: &mut Command, more: impl IntoIterator<Item = &'n String>) {
    command.env_clear();
    let passed = |name: &OsString| {
        PASSED.iter().any(|passed| name == passed) || name.as_bytes().starts_with(PASSED_BEGINNING.as_bytes())
    };
    command.envs(std::env::vars_os().filter(|(name, _)| passed(name)));
    for name in more {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
}

/// What a program may do, and see.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Confinement {
    /// As whom it runs.
    pub(crate) identity: Identity,
    /// Folders that it may write to.
    pub(crate) writable: Vec<PathBuf>,
    /// What it may read although it lies where everything else is hidden.
    pub(crate) visible: Vec<PathBuf>,
    /// The same, and although it lies behind folders that only their owner may enter.
    pub(crate) opened: Vec<PathBuf>,
}

/// As whom a program runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Identity {
    /// As nobody, without capabilities. Where there is but one user, as he is, under the number of nobody in a user namespace of his own.
    Nobody,
    /// As root with the capabilities that it takes to work as several users, and over nothing else.
    SeveralUsers,
}

/// What root needs to start processes as other users, and to give them their files.
const SEVERAL_USERS: CapabilitySet = CapabilitySet::CHOWN
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::KILL)
    .union(CapabilitySet::SETGID)
    .union(CapabilitySet::SETUID)
    .union(CapabilitySet::NET_BIND_SERVICE)
    .union(CapabilitySet::SYS_RESOURCE);

/// What went wrong, and at what.
pub(crate) type Wrong = (String, io::Error);

fn at<E: Into<io::Error>>(what: impl Into<String>) -> impl FnOnce(E) -> Wrong {
    let what = what.into();
    move |error| (what, error.into())
}

/// Whether this process may make mounts: in a namespace of its own, everything that is confined sees a file system of its own.
fn may_mount() -> bool {
    has(CapabilitySet::SYS_ADMIN)
}

/// Whether this process can become another user.
pub(crate) fn can_become_nobody() -> bool {
    has(CapabilitySet::SETUID.union(CapabilitySet::SETGID)) && !is_single_user()
}

/// Whether a program that is to be nobody has the number of root all the same, though none of his rights: where there is but one user, and no
/// namespace can be made.
pub(crate) fn remains_root() -> bool {
    geteuid().is_root() && !can_become_nobody() && !may_mount()
}

fn has(wanted: CapabilitySet) -> bool {
    rustix::thread::capabilities(None).is_ok_and(|sets| sets.effective.contains(wanted))
}

/// Whether the user namespace maps a single user (user_namespaces(7)).
pub(crate) fn is_single_user() -> bool {
    let map = fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    mapped_users(&map) == Some(1)
}

/// How many users a uid_map has: the sum of its third column.
fn mapped_users(map: &str) -> Option<u64> {
    map.lines().map(|line| line.split_whitespace().nth(2)?.parse::<u64>().ok()).sum()
}

/// Whether a folder can be entered, or a file be read, by who is only one of all others. `bit` says which: 1 to enter, 4 to read.
pub(crate) fn is_open(meta: &Metadata, bit: u32) -> bool {
    let class = match (meta.uid(), meta.gid()) {
        (NOBODY, _) => 6,
        (_, NOBODY) => 3,
        _ => 0,
    };
    meta.mode() >> class & bit == bit
}

/// The outermost folder on the way to `path`, or that itself, that nobody may enter.
pub(crate) fn closed_on_the_way(path: &Path) -> Option<&Path> {
    let closed = |path: &&Path| path.metadata().is_ok_and(|meta| meta.is_dir() && !is_open(&meta, 1));
    path.ancestors().filter(closed).last()
}

impl Confinement {
    /// Confines this process. What it was told of its working folder holds afterwards, too, where it can be entered.
    pub(crate) fn apply(&self) -> Result<(), Wrong> {
        let here = std::env::current_dir().map_err(at("find the working folder"))?;
        let proc = if may_mount() { Some(self.arrange()?) } else { None };
        if let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE)
            && hard < DESCRIPTORS
        {
            // Who may not raise it does with what there is.
            setrlimit(Resource::RLIMIT_NOFILE, soft, DESCRIPTORS).ok();
        }
        match self.identity {
            Identity::SeveralUsers => keep_only(SEVERAL_USERS)?,
            Identity::Nobody if can_become_nobody() => {
                drop_bounding(CapabilitySet::empty())?;
                let (user, group) = (Uid::from_raw(NOBODY), Gid::from_raw(NOBODY));
                setgroups(&[]).map_err(at("leave all groups"))?;
                // Some open it once more by its name in /dev, which only its owner may.
                fchown(io::stderr(), Some(user), Some(group)).map_err(at("own its standard error"))?;
                setresgid(group, group, group).map_err(at("become nobody"))?;
                setresuid(user, user, user).map_err(at("become nobody"))?;
                keep_only(CapabilitySet::empty())?;
            }
            Identity::Nobody => {
                if let Some(proc) = proc {
                    become_nobody_alone(&proc).map_err(at("become nobody in a user namespace"))?;
                }
                keep_only(CapabilitySet::empty())?;
            }
        }
        rustix::thread::set_no_new_privs(true).map_err(at("promise to take no new privileges"))?;
        // By its path, since the folder that this process is in may be hidden by now, with all above it.
        let places = [here.as_path()].into_iter().chain(self.writable.iter().map(PathBuf::as_path));
        let entered = places.chain([Path::new("/")]).any(|place| std::env::set_current_dir(place).is_ok());
        entered.then_some(()).ok_or_else(|| at("enter a folder")(Errno::EACCES))
    }

    /// Makes the file system of this process: as that of its host, but read-only, and with empty folders in the place of some.
    ///
    /// # Returns
    /// A `/proc` that can still be written to, which has no place in the file system any more.
    fn arrange(&self) -> Result<OwnedFd, Wrong> {
        unshare(CloneFlags::CLONE_NEWNS).map_err(at("make a mount namespace"))?;
        mount(None::<&str>, "/", None::<&str>, MsFlags::MS_REC | MsFlags::MS_PRIVATE, None::<&str>)
            .map_err(at("keep its mounts to itself"))?;
        let resolve = |paths: &[PathBuf]| -> Result<Vec<PathBuf>, Wrong> {
            let whole = |path: &PathBuf| path.canonicalize().map_err(at(format!("find {}", path.display())));
            paths.iter().map(whole).collect()
        };
        let (writable, opened) = (resolve(&self.writable)?, resolve(&self.opened)?);
        let mut shown = [writable.as_slice(), &resolve(&self.visible)?, &opened].concat();
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
        let nobody_is_another = self.identity == Identity::Nobody && can_become_nobody();
        for path in opened.iter().chain(&writable).filter(|_| nobody_is_another) {
            let Some(closed) = closed_on_the_way(path) else { continue };
            if !covers.iter().any(|(cover, _)| closed.starts_with(cover)) {
                covers.push((closed.to_owned(), 0o755));
            }
        }
        for path in writable.iter().filter(|path| !covers.iter().any(|(cover, _)| path.starts_with(cover))) {
            // A mount of its own can stay writable where all around it is not.
            bind(path, path)?;
        }
        let entered = |path: &Path| nobody_is_another && opened.iter().any(|opened| opened == path);
        for (cover, mode) in &covers {
            hide(cover, *mode, &shown, entered)?;
        }
        let kept = |place: &Path| {
            writable.iter().any(|path| path == place)
                || covers.iter().any(|(cover, mode)| *mode == 0o1777 && cover == place)
        };
        let table = fs::read("/proc/self/mountinfo").map_err(at("read /proc/self/mountinfo"))?;
        let table = String::from_utf8_lossy(&table);
        let proc = apart(Path::new("/proc"))?;
        for (place, flags) in mounts(&table).into_iter().filter(|(place, _)| !kept(place)) {
            make_read_only(&place, flags)?;
        }
        Ok(proc)
    }
}

/// Something that stays visible.
struct Shown<'p> {
    path: &'p Path,
    /// Opened before it was hidden.
    source: OwnedFd,
    is_folder: bool,
    /// What is in it, where the folder itself could not be entered.
    entries: Option<Vec<(OsString, OwnedFd, bool)>>,
}

impl<'p> Shown<'p> {
    /// What is in a folder is shown piece by piece where the folder is hidden itself, or is to be `entered` and its owner alone may.
    fn open(path: &'p Path, cover: &Path, entered: bool) -> Result<Self, Wrong> {
        let wrong = || at(format!("look at {}", path.display()));
        let source = reference(path).map_err(wrong())?;
        let meta = path.metadata().map_err(wrong())?;
        let by_piece = meta.is_dir() && (path == cover || (entered && !is_open(&meta, 1)));
        let entries = by_piece.then(|| entries(path, cover)).transpose()?;
        Ok(Self { path, source, is_folder: meta.is_dir(), entries })
    }

    /// Shows it in the empty folder that covers it now.
    fn show(&self) -> Result<(), Wrong> {
        let Some(entries) = &self.entries else {
            make_place(self.path, self.is_folder)?;
            return bind_opened(&self.source, self.path);
        };
        make_place(self.path, true)?;
        for (name, source, is_folder) in entries {
            let path = self.path.join(name);
            make_place(&path, *is_folder)?;
            bind_opened(source, &path)?;
        }
        Ok(())
    }
}

/// Opens no more than the place of a file.
fn reference(path: &Path) -> io::Result<OwnedFd> {
    File::options().read(true).custom_flags(libc::O_PATH).open(path).map(OwnedFd::from)
}

/// What is in a folder. Of one that is hidden whoever may enter it, only files: its folders and sockets are those of others.
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
        found.push((entry.file_name(), reference(&entry.path()).map_err(wrong())?, meta.is_dir()));
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

/// Puts an empty folder in the place of `cover`, in which only what is shown can be seen.
fn hide(cover: &Path, mode: u32, shown: &[PathBuf], entered: impl Fn(&Path) -> bool) -> Result<(), Wrong> {
    let mut inside: Vec<Shown<'_>> = Vec::new();
    for path in shown.iter().filter(|path| path.starts_with(cover)) {
        let comes_along = |other: &Shown<'_>| other.entries.is_none() && path.starts_with(other.path);
        if !inside.iter().any(comes_along) {
            inside.push(Shown::open(path, cover, entered(path))?);
        }
    }
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
    let options = format!("mode={mode:o}");
    mount(Some("plimsoll"), cover, Some("tmpfs"), flags, Some(options.as_str()))
        .map_err(at(format!("hide {}", cover.display())))?;
    inside.iter().try_for_each(Shown::show)
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

fn bind_opened(source: &OwnedFd, path: &Path) -> Result<(), Wrong> {
    bind(Path::new(&format!("/proc/self/fd/{}", source.as_raw_fd())), path)
}

fn bind(source: &Path, path: &Path) -> Result<(), Wrong> {
    let flags = MsFlags::MS_BIND | MsFlags::MS_REC;
    mount(Some(source), path, None::<&str>, flags, None::<&str>)
        .map_err(at(format!("mount {}", path.display())))
}

/// Another mount of what is at `path`, that stands nowhere and is gone when it is closed.
fn apart(path: &Path) -> Result<OwnedFd, Wrong> {
    bind(path, path)?;
    let opened = reference(path).map_err(at(format!("open {}", path.display())))?;
    umount2(path, MntFlags::MNT_DETACH).map_err(at(format!("unmount {}", path.display())))?;
    Ok(opened)
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
                // How times of access are kept stays as it is where nothing is said (mount(2)).
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

/// Moves into a user namespace in which this user is nobody. Forbidding setgroups comes first, without which the kernel lets nobody map
/// a group (user_namespaces(7)); where the namespace around forbids it already, the file cannot be written and need not be.
fn become_nobody_alone(proc: &OwnedFd) -> io::Result<()> {
    let (uid, gid) = (geteuid(), getegid());
    unshare(CloneFlags::CLONE_NEWUSER)?;
    let own = |name: &str| format!("/proc/self/fd/{}/self/{name}", proc.as_raw_fd());
    fs::write(own("setgroups"), "deny").ok();
    fs::write(own("gid_map"), format!("{NOBODY} {gid} 1"))?;
    fs::write(own("uid_map"), format!("{NOBODY} {uid} 1"))
}

/// Gives up all capabilities but these, for good: also a program that would bring some along gets no others.
pub(crate) fn keep_only(kept: CapabilitySet) -> Result<(), Wrong> {
    let has = rustix::thread::capabilities(None).map_err(at("ask for its capabilities"))?;
    if has.effective.contains(CapabilitySet::SETPCAP) {
        drop_bounding(kept)?;
    }
    // A kernel that knows no ambient capabilities has none to clear.
    rustix::thread::clear_ambient_capability_set().ok();
    let left = CapabilitySets {
        effective: has.effective.intersection(kept),
        permitted: has.permitted.intersection(kept),
        inheritable: CapabilitySet::empty(),
    };
    rustix::thread::set_capabilities(None, left).map_err(at("give up its capabilities"))
}

fn drop_bounding(kept: CapabilitySet) -> Result<(), Wrong> {
    for capability in CapabilitySet::all().difference(kept).iter() {
        match rustix::thread::remove_capability_from_bounding_set(capability) {
            // This kernel does not know it.
            Ok(()) | Err(rustix::io::Errno::INVAL) => {}
            Err(error) => return Err(at("give up capabilities for good")(error)),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_of_a_namespace_are_counted() {
        assert_eq!(mapped_users("         0          0 4294967295\n"), Some(4_294_967_295));
        assert_eq!(mapped_users("         0       1000          1\n"), Some(1));
        assert_eq!(mapped_users("0 1000 1\n1 100000 65536\n"), Some(65_537));
        assert_eq!(mapped_users("what?"), None);
    }

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
        fs::set_permissions(outer.path(), fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(closed_on_the_way(&inner), None);
        fs::set_permissions(&inner, fs::Permissions::from_mode(0o700)).unwrap();
        assert_eq!(closed_on_the_way(&inner), Some(inner.as_path()));
        fs::set_permissions(outer.path(), fs::Permissions::from_mode(0o750)).unwrap();
        assert_eq!(closed_on_the_way(&inner), Some(outer.path()));
    }

    #[test]
    fn only_few_variables_are_passed_on() {
        let mut command = Command::new("true");
        command.env("PASSWORD", "secret");
        clean_environment(&mut command, []);
        let names: Vec<_> = command.get_envs().map(|(name, _)| name.to_owned()).collect();
        assert!(names.iter().any(|name| name == "PATH"), "{names:?}");
        assert!(
            !names.iter().any(|name| name == "PASSWORD" || name.as_bytes().starts_with(b"CARGO")),
            "{names:?}"
        );
    }
}
