//! Entries of a journal: changes to undo.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use nix::sys::statfs::{CGROUP_SUPER_MAGIC, CGROUP2_SUPER_MAGIC};
use serde::{Deserialize, Serialize};

use super::{lock, place, setting};
use crate::error::is_permission;

/// Number of attempts to remove a folder to which dying processes may still write, and their interval.
const TRIES: u32 = 100;
const APART: Duration = Duration::from_millis(50);

/// Prefix of the names of Plimsoll's folders and control groups. They end in a dash and eight hexadecimal digits.
const OWN_NAME: &str = "plimsoll-";

/// Reason for a refused change.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Refusal {
    pub(super) why: String,
    /// Whether this process lacks the rights for it.
    pub(super) forbidden: bool,
}

impl<T: Into<String>> From<T> for Refusal {
    fn from(why: T) -> Self {
        Self { why: why.into(), forbidden: false }
    }
}

impl Refusal {
    pub(super) fn of(error: &io::Error) -> Self {
        let why = match error.raw_os_error() {
            Some(nix::libc::EINVAL) => format!("the kernel does not take it ({error})"),
            _ => error.to_string(),
        };
        Self { why, forbidden: is_permission(error) }
    }
}

/// Identity of an existing folder: its device and its inode.
type Identity = (u64, u64);

/// A change to undo.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Entry {
    /// Earlier value of a setting, and the user namespace that it belongs to, if any.
    Setting { path: PathBuf, before: String, namespace: Option<u64> },
    /// A folder to remove. While its identity is unknown, only an empty one is removed.
    Folder { path: PathBuf, identity: Option<Identity> },
    /// A control group to remove once its last process has gone.
    Group { path: PathBuf },
}

impl Entry {
    /// Entry that undoes setting this value; without a value, the entry that keeps the present one.
    pub(super) fn of_setting(path: &Path, value: Option<&str>) -> Result<Self, Refusal> {
        let absent = |error: io::Error| match error.kind() {
            ErrorKind::NotFound => Refusal::from("this kernel, or this device, has no such setting"),
            _ => Refusal::of(&error),
        };
        let path = setting::real_path(path).map_err(absent)?;
        if let Some(value) = value {
            setting::allowed(&path, value)?;
        }
        let text = setting::read(&path).map_err(absent)?;
        let (before, choices) = current(&text);
        if let Some(value) = value
            && !choices.is_empty()
            && !choices.contains(&value)
        {
            return Err(format!("the kernel knows no `{value}` here, but {}", choices.join(", ")).into());
        }
        // A value that could not be restored is not changed.
        setting::allowed(&path, before).map_err(|why| format!("it could not be put back: {why}"))?;
        let namespace = path.starts_with("/proc/sys/user").then(user_namespace).transpose();
        let namespace = namespace.map_err(|error| Refusal::of(&error))?;
        Ok(Self::Setting { before: before.to_owned(), path, namespace })
    }

    /// Entry that undoes limiting a device by this line: the file's present line for it, or no limit. The lines of `blkio.throttle.*` are a
    /// device's number and its limit.
    pub(super) fn of_limit(path: &Path, line: &str) -> Result<Self, Refusal> {
        setting::allowed(path, line)?;
        let number = line.split(' ').next().unwrap_or_default();
        let text = setting::read(path).map_err(|error| Refusal::of(&error))?;
        let of_device = |line: &&str| line.split(' ').next() == Some(number);
        let before = text.lines().find(of_device).map_or_else(|| format!("{number} 0"), str::to_owned);
        Ok(Self::Setting { path: path.into(), before, namespace: None })
    }

    /// Entry that undoes making a folder. Its path is stored without symbolic links.
    pub(super) fn of_folder(path: &Path) -> Result<Self, Refusal> {
        let parent = path.parent().ok_or("this is no place for a folder")?;
        let parent =
            match fs::canonicalize(if parent.as_os_str().is_empty() { Path::new(".") } else { parent }) {
                Err(error) => return Err(Refusal::of(&error)),
                Ok(parent) => parent,
            };
        Self::Folder { path: parent.join(own_name(path)?), identity: None }.not_there_yet()
    }

    /// Entry that undoes making a control group.
    pub(super) fn of_group(path: &Path) -> Result<Self, Refusal> {
        own_name(path)?;
        Self::Group { path: path.into() }.not_there_yet()
    }

    /// Refuses an object that exists already, as it would be removed in the end.
    fn not_there_yet(self) -> Result<Self, Refusal> {
        self.sound()?;
        let (Self::Setting { path, .. } | Self::Folder { path, .. } | Self::Group { path }) = &self;
        match fs::symlink_metadata(path) {
            Ok(_) => Err("it exists already".into()),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(self),
            Err(error) => Err(Refusal::of(&error)),
        }
    }

    /// Creates an object that the undo process will remove.
    pub(super) fn make(&mut self) -> io::Result<()> {
        match self {
            Self::Setting { .. } => Ok(()),
            Self::Folder { path, identity } => {
                let (parent, name) = place::parent_and_name(path)?;
                place::make_in(&parent, name)?;
                let made = place::folder_in(&parent, name).and_then(|made| place::identity(&made));
                if made.is_err() {
                    place::remove_empty_in(&parent, name)?;
                }
                *identity = Some(made?);
                Ok(())
            }
            Self::Group { path } => {
                let (parent, name) = group_place(path)?;
                place::make_in(&parent, name)
            }
        }
    }

    /// Name of the lock that a process holds while it changes this setting; none for folders and groups, which have names of their own.
    pub(super) fn lock_name(&self) -> Option<String> {
        let Self::Setting { path, before, namespace } = self else { return None };
        let detail = match namespace {
            Some(namespace) => namespace.to_string(),
            // One file has the limits of all devices.
            None if setting::is_per_device(path) => before.split(' ').next().unwrap_or_default().to_owned(),
            None => String::new(),
        };
        Some(lock::name(path, &detail))
    }

    /// Undoes it. A change that is undone already is no error. A value that the kernel no longer accepts is reported and given up, as every later
    /// attempt would fail, too.
    pub(super) fn undo(&self) -> io::Result<()> {
        match self {
            Self::Setting { namespace: Some(namespace), .. } if *namespace != user_namespace()? => Ok(()),
            Self::Setting { path, before, .. } => match put_back(path, before) {
                // The device has gone, and its settings with it.
                Err(error) if setting::is_gone(&error) => Ok(()),
                Err(error) if setting::is_unsuitable(&error) => {
                    let now = setting::read(path).unwrap_or_default();
                    tracing::warn!(
                        "{self}; the kernel no longer accepts that, so it stays at {}",
                        now.trim()
                    );
                    Ok(())
                }
                other => other,
            },
            Self::Folder { path, identity } => persist(|| remove_folder(path, *identity)),
            Self::Group { path } => persist(|| {
                let (parent, name) = group_place(path)?;
                place::remove_empty_in(&parent, name)
            }),
        }
    }

    /// Refuses changes that Plimsoll never makes.
    pub(super) fn sound(&self) -> Result<(), String> {
        match self {
            Self::Setting { path, before, .. } => setting::allowed(path, before),
            Self::Folder { path, .. } | Self::Group { path } => {
                own_name(path)?;
                let text = path.to_str().ok_or("its name is no text")?;
                let plain = path.is_absolute()
                    && !text.chars().any(char::is_control)
                    && !path.components().any(|part| part == std::path::Component::ParentDir);
                if plain { Ok(()) } else { Err("its path is not absolute and plain".into()) }
            }
        }
    }

    /// Reads a line of a journal.
    ///
    /// # Errors
    /// With the reason if the line is no entry, or Plimsoll would not have written it.
    pub(super) fn from_line(line: &str) -> Result<Self, String> {
        let entry: Self = serde_json::from_str(line).map_err(|error| error.to_string())?;
        entry.sound()?;
        Ok(entry)
    }
}

impl std::fmt::Display for Entry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Setting { path, before, .. } => write!(f, "setting {}: it was {before}", path.display()),
            Self::Folder { path, .. } => write!(f, "folder {}", path.display()),
            Self::Group { path } => write!(f, "control group {}", path.display()),
        }
    }
}

/// Name of a folder or group, checked for Plimsoll's form.
fn own_name(path: &Path) -> Result<&OsStr, String> {
    let is_own = |name: &str| {
        let random =
            name.strip_prefix(OWN_NAME).and_then(|rest| rest.rsplit_once('-')).map(|(_, random)| random);
        random.is_some_and(|random| random.len() == 8 && random.bytes().all(|byte| byte.is_ascii_hexdigit()))
    };
    let name = path.file_name().filter(|name| name.to_str().is_some_and(is_own));
    name.ok_or_else(|| format!("its name is none that Plimsoll gives, such as {OWN_NAME}NAME-0123abcd"))
}

/// Parent of a control group, checked for its file system, and the group's name.
fn group_place(path: &Path) -> io::Result<(File, &OsStr)> {
    let (parent, name) = place::parent_and_name(path)?;
    if ![CGROUP_SUPER_MAGIC, CGROUP2_SUPER_MAGIC].contains(&place::file_system(&parent)?) {
        return Err(io::Error::other(format!("{} is no place of control groups", path.display())));
    }
    Ok((parent, name))
}

fn remove_folder(path: &Path, identity: Option<Identity>) -> io::Result<()> {
    let (parent, name) = place::parent_and_name(path)?;
    let Some(identity) = identity else { return place::remove_empty_in(&parent, name) };
    if place::identity(&place::folder_in(&parent, name)?)? != identity {
        // A retry would fail as well.
        return Err(io::Error::new(
            ErrorKind::InvalidData,
            "this is another folder than the one that was made",
        ));
    }
    // The open parent stays the same, and the folder is removed without following links (CVE-2022-21658).
    fs::remove_dir_all(place::way_to(&parent).join(name))
}

/// The user namespace of this process, by its inode.
fn user_namespace() -> io::Result<u64> {
    Ok(fs::metadata("/proc/self/ns/user")?.ino())
}

/// Restores a value. A run's loop device is first awaited until it is detached, when the kernel changes its settings once more, or until another
/// process attaches it. A device that the user has attached does not detach itself, and is not awaited.
fn put_back(path: &Path, before: &str) -> io::Result<()> {
    let is_loop = |name: &OsStr| name.to_string_lossy().starts_with("loop");
    if let Some(device) = path.ancestors().find(|folder| folder.file_name().is_some_and(is_loop)) {
        let mut tries = 1..TRIES;
        let detaches_itself =
            || fs::read_to_string(device.join("loop/autoclear")).is_ok_and(|flag| flag.trim() == "1");
        while detaches_itself() && tries.next().is_some() {
            thread::sleep(APART);
        }
    }
    setting::write(path, before)
}

/// Value of a setting, and its choices if it lists them with the chosen one in brackets.
fn current(text: &str) -> (&str, Vec<&str>) {
    let text = text.trim();
    match text.split_whitespace().find(|word| word.starts_with('[') && word.ends_with(']')) {
        Some(chosen) => {
            let inner = &chosen[1..chosen.len() - 1];
            (inner, text.split_whitespace().map(|word| word.trim_matches(['[', ']'])).collect())
        }
        None => (text, Vec::new()),
    }
}

fn persist(by: impl Fn() -> io::Result<()>) -> io::Result<()> {
    for _ in 1..TRIES {
        match by() {
            Ok(()) => return Ok(()),
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            Err(error) if error.kind() == ErrorKind::InvalidData => return Err(error),
            Err(_) => thread::sleep(APART),
        }
    }
    by()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec;

    #[test]
    fn the_choice_in_brackets_is_the_value() {
        assert_eq!(
            current("none [mq-deadline] kyber\n"),
            ("mq-deadline", vec!["none", "mq-deadline", "kyber"])
        );
        assert_eq!(current("128\n"), ("128", vec![]));
        assert_eq!(current("4096\t87380\t6291456\n").0, "4096\t87380\t6291456");
    }

    #[test]
    fn only_settings_are_written_to() {
        for path in ["/etc/passwd", "/sys/../etc/passwd"] {
            assert!(
                Entry::of_setting(Path::new(path), Some("x")).unwrap_err().why.contains("no setting"),
                "{path}"
            );
            assert!(
                Entry::of_limit(Path::new(path), "7:0 1").unwrap_err().why.contains("no setting"),
                "{path}"
            );
        }
        let missing = Entry::of_setting(Path::new("/proc/sys/vm/no_such_thing"), Some("1")).unwrap_err();
        assert!(missing.why.contains("no such setting"), "{missing:?}");
    }

    /// One of each.
    fn entries() -> [Entry; 5] {
        [
            Entry::Setting {
                path: "/proc/sys/net/ipv4/tcp_rmem".into(),
                before: "4096\t87380\t6291456".into(),
                namespace: None,
            },
            Entry::Setting {
                path: "/proc/sys/user/max_net_namespaces".into(),
                before: "7".into(),
                namespace: Some(4026531837),
            },
            Entry::Folder { path: "/tmp/some where/plimsoll-a-1-0123abcd".into(), identity: None },
            Entry::Folder { path: "/tmp/plimsoll-a-1-0123abcd".into(), identity: Some((7, 8)) },
            Entry::Group { path: "/sys/fs/cgroup/memory/plimsoll-1-a-0123abcd".into() },
        ]
    }

    #[test]
    fn an_entry_reads_back_from_its_line() {
        for entry in entries() {
            assert_eq!(Entry::from_line(codec::to_line(&entry).unwrap().trim_end()), Ok(entry));
        }
    }

    #[test]
    fn a_line_that_plimsoll_would_not_have_written_is_refused() {
        for line in [
            r#"{"folder":{"path":"/tmp/plimsoll-a-1-0123abcd","identity":[7]}}"#,
            r#"{"folder":{"path":"tmp/plimsoll-a-1-0123abcd","identity":null}}"#,
            r#"{"folder":{"path":"/tmp/plimsoll-a-1-0123abcd/..","identity":null}}"#,
            r#"{"group":{"path":"/sys/fs/cgroup/system.slice"}}"#,
            r#"{"group":{"path":"/sys/fs/cgroup/plimsoll-\u001b[2J-0123abcd"}}"#,
            r#"{"setting":{"path":"/proc/sys/user/max_net_namespaces","before":"1","namespace":"x"}}"#,
            "set",
            "",
            r#"{"folder":{"path":"/home","identity":null}}"#,
            r#"{"folder":{"path":"/tmp/../home/plimsoll-a-1-0123abcd","identity":[7,8]}}"#,
            r#"{"setting":{"path":"/proc/sys/kernel/core_pattern","before":"|/tmp/mine","namespace":null}}"#,
            r#"{"setting":{"path":"/etc/shadow","before":"root::0","namespace":null}}"#,
            r#"{"link":{"path":"/proc/sys/vm/swappiness"}}"#,
            r#"{"group":{"path":"/sys/fs/cgroup/plimsoll-a-1-0123abcd","before":"1"}}"#,
            r#"{"group":{"path":"/sys/fs/cgroup/pl"#,
        ] {
            assert!(Entry::from_line(line).is_err(), "{line:?}");
        }
    }

    /// A folder for tests by its path without links, and the path of a folder to be made in it.
    fn place_for_one() -> (tempfile::TempDir, PathBuf) {
        let parent = tempfile::tempdir().unwrap();
        let path = fs::canonicalize(parent.path()).unwrap().join("plimsoll-disk-1-0123abcd");
        (parent, path)
    }

    #[test]
    fn a_folder_goes_with_all_that_is_in_it() {
        let (_parent, path) = place_for_one();
        let mut entry = Entry::of_folder(&path).unwrap();
        entry.make().unwrap();
        fs::write(path.join("file"), "x").unwrap();
        entry.undo().unwrap();
        assert!(!path.exists());
        entry.undo().unwrap();
    }

    #[test]
    fn a_folder_that_is_there_already_or_has_taken_the_place_of_ours_stays() {
        let (_parent, path) = place_for_one();
        let mut entry = Entry::of_folder(&path).unwrap();
        entry.make().unwrap();
        assert!(Entry::of_folder(&path).unwrap_err().why.contains("already"));
        fs::rename(&path, path.with_extension("moved")).unwrap();
        fs::create_dir(&path).unwrap();
        fs::write(path.join("file"), "x").unwrap();
        assert!(entry.undo().unwrap_err().to_string().contains("another folder"));
        assert!(path.join("file").exists());
        // A folder that is known by its name alone stays if it is not empty.
        let (parent, name) = place::parent_and_name(&path).unwrap();
        assert!(place::remove_empty_in(&parent, name).is_err());
        assert!(path.join("file").exists());
    }

    #[test]
    fn a_link_in_the_place_of_a_folder_leads_nowhere() {
        let (parent, path) = place_for_one();
        let victim = parent.path().join("victim");
        fs::create_dir(&victim).unwrap();
        fs::write(victim.join("file"), "x").unwrap();
        let identity = place::identity(&File::open(&victim).unwrap()).unwrap();
        std::os::unix::fs::symlink(&victim, &path).unwrap();
        assert!(remove_folder(&path, Some(identity)).is_err());
        assert!(victim.join("file").exists());
    }

    #[test]
    fn control_groups_are_removed_only_where_there_are_control_groups() {
        let (_parent, path) = place_for_one();
        assert!(group_place(&path).unwrap_err().to_string().contains("no place of control groups"));
    }
}
