//! Kernels of Debian: found and fetched by the system's own apt, and unpacked into a folder of the user's. Nothing is installed.

use std::cmp::Ordering;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use nix::fcntl::{Flock, FlockArg};

use crate::guest_error::PackageError;

/// How Debian calls its kernels for virtual machines: what stands before the version, and after it.
const NAME: (&str, &str) = ("linux-image-", "-cloud-amd64");

/// The folder into which the newest kernel of this version is unpacked, after fetching it where it is not there yet.
pub(super) fn fetch(version: &str) -> Result<PathBuf, PackageError> {
    let kernel = format!("debian:{version}");
    let all =
        output(&kernel, "apt-cache", &["search", "--names-only", "^linux-image-[0-9].*-cloud-amd64$"], None)?;
    let all: Vec<&str> = all.lines().filter_map(|line| Some(line.split_once(" - ")?.0)).collect();
    let package = newest(&all, version).ok_or_else(|| PackageError::Unknown {
        version: version.to_owned(),
        pattern: format!("{}{version}*{}", NAME.0, NAME.1),
        known: listed(&all),
    })?;
    let folder = cache(&kernel)?;
    once(&kernel, &folder, package, |part| {
        // As root apt would fetch as a user who may not write here.
        output(
            &kernel,
            "apt-get",
            &["download", "--quiet", "--option=APT::Sandbox::User=root", package],
            Some(part),
        )?;
        let failed = |source| PackageError::Folder { kernel: kernel.clone(), path: part.to_owned(), source };
        let file = fs::read_dir(part)
            .map_err(failed)?
            .flatten()
            .map(|entry| entry.path())
            .find(|path| is_package(path));
        let file = file.ok_or_else(|| failed(io::Error::other("apt-get has fetched no package")))?;
        extract(&kernel, &file, part)?;
        fs::remove_file(&file).map_err(failed)
    })
}

/// The folder into which a package is unpacked. Its name includes the file's time and size, so that a rebuilt file is
/// unpacked again.
pub(super) fn unpack(file: &Path) -> Result<PathBuf, PackageError> {
    let kernel = file.display().to_string();
    let folder = cache(&kernel)?;
    let of_file = |source| PackageError::Folder { kernel: kernel.clone(), path: file.to_owned(), source };
    let meta = fs::metadata(file).map_err(of_file)?;
    let changed = meta.modified().map_err(of_file)?.duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    let name = format!("{stem}.{}.{}", meta.len(), changed.as_millis());
    once(&kernel, &folder, &name, |part| extract(&kernel, file, part))
}

fn is_package(path: &Path) -> bool {
    path.extension() == Some(OsStr::new("deb"))
}

/// Makes a folder by `fill`, unless it is there. It gets its name when it is whole; of several processes one makes it, and the others wait.
fn once(
    kernel: &str,
    folder: &Path,
    name: &str,
    fill: impl FnOnce(&Path) -> Result<(), PackageError>,
) -> Result<PathBuf, PackageError> {
    let whole = folder.join(name);
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| PackageError::Folder { kernel: kernel.to_owned(), path, source }
    };
    let lock = folder.join("lock");
    let file = fs::File::create(&lock).map_err(failed(&lock))?;
    let _held =
        Flock::lock(file, FlockArg::LockExclusive).map_err(|(_, errno)| failed(&lock)(errno.into()))?;
    if whole.exists() {
        return Ok(whole);
    }
    let part = folder.join(format!("{name}.part"));
    if part.exists() {
        fs::remove_dir_all(&part).map_err(failed(&part))?;
    }
    fs::create_dir(&part).map_err(failed(&part))?;
    fill(&part)?;
    fs::rename(&part, &whole).map_err(failed(&whole))?;
    Ok(whole)
}

/// Only what boots, and its modules: documentation would be in the way of nobody, but is of no use either.
fn extract(kernel: &str, file: &Path, into: &Path) -> Result<(), PackageError> {
    let into = into.to_string_lossy();
    output(kernel, "dpkg-deb", &["--extract", &file.to_string_lossy(), &into], None).map(drop)
}

/// `$XDG_CACHE_HOME/plimsoll/kernels`, or where the XDG base directory specification has it where that is not set.
fn cache(kernel: &str) -> Result<PathBuf, PackageError> {
    let set = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let base = set("XDG_CACHE_HOME")
        .or_else(|| Some(set("HOME")?.join(".cache")))
        .unwrap_or_else(|| "/var/cache".into());
    let folder = base.join("plimsoll/kernels");
    let failed = |source| PackageError::Folder { kernel: kernel.to_owned(), path: folder.clone(), source };
    fs::create_dir_all(&folder).map_err(failed)?;
    Ok(folder)
}

fn output(
    kernel: &str,
    program: &'static str,
    args: &[&str],
    here: Option<&Path>,
) -> Result<String, PackageError> {
    let mut command = Command::new(program);
    command.args(args).env("LC_ALL", "C");
    if let Some(here) = here {
        command.current_dir(here);
    }
    let output = command.output().map_err(|source| PackageError::NoProgram {
        kernel: kernel.to_owned(),
        program,
        source,
    })?;
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr);
        let last = stderr.lines().rev().find(|line| !line.trim().is_empty());
        let last_line = last.unwrap_or("it said nothing").to_owned();
        let command = format!("{program} {}", args.join(" "));
        return Err(PackageError::Failed { kernel: kernel.to_owned(), command, last_line });
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The version in a package's name; none for a package that only depends on others, whose version is that of a series (`6.12`) or missing.
fn version_of(package: &str) -> Option<&str> {
    let version = package.strip_prefix(NAME.0)?.strip_suffix(NAME.1)?;
    (version.bytes().filter(|byte| *byte == b'.').count() >= 2).then_some(version)
}

/// The newest of the packages whose version is this one, or begins with it.
fn newest<'p>(packages: &[&'p str], version: &str) -> Option<&'p str> {
    let fits = |package: &&&str| {
        let rest = version_of(package).and_then(|own| own.strip_prefix(version));
        rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_digit()))
    };
    packages.iter().filter(fits).copied().max_by(|a, b| by_numbers(a, b))
}

/// By the numbers in them: `6.1.0-9` comes before `6.1.0-50`.
fn by_numbers(a: &str, b: &str) -> Ordering {
    let numbers = |text: &str| -> Vec<u64> {
        text.split(|c: char| !c.is_ascii_digit()).filter_map(|part| part.parse().ok()).collect()
    };
    numbers(a).cmp(&numbers(b)).then_with(|| a.cmp(b))
}

/// The versions of these packages, in a sentence.
fn listed(packages: &[&str]) -> String {
    let mut versions: Vec<&str> = packages.iter().filter_map(|package| version_of(package)).collect();
    versions.sort_by(|a, b| by_numbers(a, b));
    if versions.is_empty() { "no kernel for virtual machines".into() } else { versions.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: [&str; 6] = [
        "linux-image-6.1.0-9-cloud-amd64",
        "linux-image-6.1.0-50-cloud-amd64",
        "linux-image-6.12-cloud-amd64",
        "linux-image-6.12.107+deb12-cloud-amd64",
        "linux-image-6.12.9+deb12-cloud-amd64",
        "linux-image-cloud-amd64",
    ];

    #[test]
    fn the_newest_package_of_a_version_is_taken_and_none_of_another() {
        let cases = [
            ("6.1", Some(KNOWN[1])),
            ("6.1.0-9", Some(KNOWN[0])),
            ("6.12", Some(KNOWN[3])),
            ("6.12.9+deb12", Some(KNOWN[4])),
            ("6.12.9", Some(KNOWN[4])),
            ("6", Some(KNOWN[3])),
            ("6.2", None),
            ("6.1.0-5", None),
        ];
        for (version, expected) in cases {
            assert_eq!(newest(&KNOWN, version), expected, "{version}");
        }
    }

    #[test]
    fn versions_are_listed_in_their_order() {
        assert_eq!(listed(&KNOWN), "6.1.0-9, 6.1.0-50, 6.12.9+deb12, 6.12.107+deb12");
    }

    #[test]
    fn a_folder_that_could_not_be_filled_is_filled_the_next_time() {
        let folder = tempfile::tempdir().expect("a folder");
        let fails = once("k", folder.path(), "one", |part| {
            fs::write(part.join("half"), "").expect("written");
            let path = part.to_owned();
            Err(PackageError::Folder { kernel: "k".into(), path, source: io::Error::other("no") })
        });
        assert!(fails.is_err() && !folder.path().join("one").exists());
        let whole = once("k", folder.path(), "one", |part| {
            assert_eq!(
                fs::read_dir(part).expect("there").count(),
                0,
                "what was left of the first time is gone"
            );
            Ok(())
        });
        assert_eq!(whole.expect("made"), folder.path().join("one"));
        once("k", folder.path(), "one", |_| panic!("it is there")).expect("it is there");
    }
}
