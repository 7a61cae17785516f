//! One thing to undo.

use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Component, Path, PathBuf};
use std::thread;
use std::time::Duration;

use crate::error::is_permission;

/// How often the removal of a folder is tried while dying processes may still write to it, and how long apart.
const TRIES: u32 = 100;
const APART: Duration = Duration::from_millis(50);

/// Why something was not done.
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) why: String,
    /// Whether it takes more rights than this process has.
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

/// One thing to undo.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Debt {
    /// The value that a setting had.
    Setting { path: PathBuf, before: String },
    /// A folder that is to go.
    Folder { path: PathBuf },
    /// A control group that is to go, once its last process has.
    Group { path: PathBuf },
}

impl Debt {
    /// What setting this value will owe.
    pub(super) fn of_setting(path: &Path, value: &str) -> Result<Self, Refusal> {
        let below = ["/proc/sys", "/sys"].iter().any(|root| path.starts_with(root));
        if !below || path.components().any(|part| part == Component::ParentDir) {
            return Err("this is no setting of the kernel: it is not below /proc/sys or /sys".into());
        }
        let text = fs::read_to_string(path).map_err(|error| match error.kind() {
            ErrorKind::NotFound => Refusal::from("this kernel, or this device, has no such setting"),
            _ => Refusal::of(&error),
        })?;
        let (before, choices) = current(&text);
        if !choices.is_empty() && !choices.contains(&value) {
            return Err(format!("the kernel knows no `{value}` here, but {}", choices.join(", ")).into());
        }
        Ok(Self::Setting { path: path.into(), before: before.to_owned() })
    }

    /// What limiting a device by this line will owe: the line that the file has for it, or that it is not limited. The lines of
    /// `blkio.throttle.*` are a device's number and its limit.
    pub(super) fn of_limit(path: &Path, line: &str) -> Result<Self, Refusal> {
        let is_throttle = |name: &std::ffi::OsStr| name.to_string_lossy().starts_with("blkio.throttle.");
        if !path.starts_with("/sys/fs/cgroup") || !path.file_name().is_some_and(is_throttle) {
            return Err("this is no limit of a device".into());
        }
        let number = line.split(' ').next().unwrap_or_default();
        let text = fs::read_to_string(path).map_err(|error| Refusal::of(&error))?;
        let of_device = |line: &&str| line.split(' ').next() == Some(number);
        let before = text.lines().find(of_device).map_or_else(|| format!("{number} 0"), str::to_owned);
        Ok(Self::Setting { path: path.into(), before })
    }

    /// Undoes it. What is undone already is no error.
    pub(super) fn settle(&self) -> io::Result<()> {
        match self {
            Self::Setting { path, before } => match settled(path, before) {
                // The device has gone, and its settings with it.
                Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
                other => other,
            },
            Self::Folder { path } => remove(path, |path| fs::remove_dir_all(path)),
            Self::Group { path } => remove(path, |path| fs::remove_dir(path)),
        }
    }

    /// As a line of the journal, without its end.
    pub(super) fn to_line(&self) -> String {
        match self {
            Self::Setting { path, before } => format!("set\t{}\t{before}", path.display()),
            Self::Folder { path } => format!("folder\t{}\t", path.display()),
            Self::Group { path } => format!("group\t{}\t", path.display()),
        }
    }

    pub(super) fn from_line(line: &str) -> Option<Self> {
        let mut fields = line.splitn(3, '\t');
        let (what, path, rest) = (fields.next()?, PathBuf::from(fields.next()?), fields.next()?);
        match what {
            "set" => Some(Self::Setting { path, before: rest.to_owned() }),
            "folder" => Some(Self::Folder { path }),
            "group" => Some(Self::Group { path }),
            _ => None,
        }
    }
}

impl std::fmt::Display for Debt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Setting { path, before } => write!(f, "setting {}: it was {before}", path.display()),
            Self::Folder { path } => write!(f, "folder {}", path.display()),
            Self::Group { path } => write!(f, "control group {}", path.display()),
        }
    }
}

/// Puts a value back. That of a loop device not before it is detached, when the kernel changes its settings once more; where somebody else has
/// attached it again, that is not waited for for good.
fn settled(path: &Path, before: &str) -> io::Result<()> {
    let is_loop = |name: &std::ffi::OsStr| name.to_string_lossy().starts_with("loop");
    if let Some(device) = path.ancestors().find(|folder| folder.file_name().is_some_and(is_loop)) {
        let mut tries = 1..TRIES;
        while device.join("loop").exists() && tries.next().is_some() {
            thread::sleep(APART);
        }
    }
    write(path, before)
}

/// The value of a setting, and its choices where it lists them with the chosen one in brackets.
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

/// Writes a setting.
pub(super) fn write(path: &Path, value: &str) -> io::Result<()> {
    OpenOptions::new().write(true).open(path)?.write_all(value.as_bytes())
}

/// Makes a folder for its owner alone.
pub(super) fn make(path: &Path) -> io::Result<()> {
    fs::DirBuilder::new().mode(0o700).create(path)
}

fn remove(path: &Path, by: impl Fn(&Path) -> io::Result<()>) -> io::Result<()> {
    for _ in 1..TRIES {
        match by(path) {
            Ok(()) => return Ok(()),
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            Err(_) => thread::sleep(APART),
        }
    }
    by(path)
}

#[cfg(test)]
mod tests {
    use super::*;

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
            assert!(Debt::of_setting(Path::new(path), "x").unwrap_err().why.contains("no setting"));
            assert!(Debt::of_limit(Path::new(path), "7:0 1").unwrap_err().why.contains("no limit"));
        }
        let missing = Debt::of_setting(Path::new("/proc/sys/vm/no_such_thing"), "1").unwrap_err();
        assert!(missing.why.contains("no such setting"), "{missing:?}");
    }

    #[test]
    fn a_debt_reads_back_from_its_line() {
        let debts = [
            Debt::Setting {
                path: "/proc/sys/net/ipv4/tcp_rmem".into(),
                before: "4096\t87380\t6291456".into(),
            },
            Debt::Folder { path: "/tmp/some where".into() },
            Debt::Group { path: "/sys/fs/cgroup/memory/some".into() },
        ];
        for debt in debts {
            assert_eq!(Debt::from_line(&debt.to_line()), Some(debt));
        }
    }

    #[test]
    fn a_folder_goes_with_all_that_is_in_it() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("made");
        make(&path).unwrap();
        fs::write(path.join("file"), "x").unwrap();
        let debt = Debt::Folder { path: path.clone() };
        debt.settle().unwrap();
        assert!(!path.exists());
        debt.settle().unwrap();
    }
}
