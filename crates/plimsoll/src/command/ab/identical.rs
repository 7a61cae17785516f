//! Whether both versions run the same bytes: then there is nothing to measure.
//!
//! What counts is what a benchmark reads of its working tree, be it a program, a script or data. Every file gets an access time of long ago, which the
//! kernel replaces when the file is read. After the first run of each version, what was read is compared. Whatever prevents that, such as a file
//! system without access times, leaves the versions to be measured.

use std::collections::BTreeMap;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use nix::fcntl::AT_FDCWD;
use nix::sys::stat::{UtimensatFlags, utimensat};
use nix::sys::time::TimeSpec;

use super::sides::Side;

/// The latest access time that is set: in 2001, before any file was written.
const LATEST: i64 = 1_000_000_000;

/// Both working trees, with the access time that their files have until they are read.
pub(super) struct Unread {
    trees: [PathBuf; 2],
    time: i64,
}

/// Entries of a tree by path, and whether each was read.
type Entries = BTreeMap<PathBuf, bool>;

impl Unread {
    /// Marks all files of both versions as unread; `None` if they are no two commits, or cannot be marked.
    pub(super) fn mark(sides: &[Side; 2]) -> Option<Self> {
        let trees = sides.each_ref().map(|side| side.top.clone());
        if sides.iter().any(|side| side.commit.is_none()) || trees[0] == trees[1] {
            return None;
        }
        // Another process that marks the same files has another time, and its mark counts as a read.
        let time = rand::random_range(1..LATEST);
        trees.iter().try_for_each(|tree| mark(tree, time)).ok()?;
        Some(Self { trees, time })
    }

    /// Whether both versions have the same files, and all that was read since is equal.
    pub(super) fn same_was_read(&self) -> bool {
        self.compare().unwrap_or(false)
    }

    fn compare(&self) -> io::Result<bool> {
        let [mut base, mut head] = [Entries::new(), Entries::new()];
        self.list(&self.trees[0], Path::new(""), &mut base)?;
        self.list(&self.trees[1], Path::new(""), &mut head)?;
        if !base.keys().eq(head.keys()) {
            return Ok(false);
        }
        let mut any = false;
        for ((path, by_base), by_head) in base.iter().zip(head.values()) {
            if *by_base || *by_head {
                any |= self.trees[0].join(path).is_file();
                let [base, head] = [0, 1].map(|side: usize| content(&self.trees[side].join(path)));
                if base? != head? {
                    return Ok(false);
                }
            }
        }
        Ok(any)
    }

    /// Adds a path of a tree and all below it.
    fn list(&self, tree: &Path, path: &Path, entries: &mut Entries) -> io::Result<()> {
        let full = tree.join(path);
        let found = full.symlink_metadata()?;
        entries.insert(path.to_owned(), found.atime() != self.time);
        if found.is_dir() {
            for entry in full.read_dir()? {
                self.list(tree, &path.join(entry?.file_name()), entries)?;
            }
        }
        Ok(())
    }
}

/// Sets the access time of a path and of all below it. Reading a folder counts as well, so that it comes last.
fn mark(path: &Path, time: i64) -> io::Result<()> {
    if path.symlink_metadata()?.is_dir() {
        for entry in path.read_dir()? {
            mark(&entry?.path(), time)?;
        }
    }
    let accessed = TimeSpec::new(time, 0);
    Ok(utimensat(AT_FDCWD, path, &accessed, &TimeSpec::UTIME_OMIT, UtimensatFlags::NoFollowSymlink)?)
}

/// Content at a path. The names in a folder are compared with the trees.
fn content(path: &Path) -> io::Result<Vec<u8>> {
    let found = path.symlink_metadata()?;
    if found.is_symlink() {
        return Ok(path.read_link()?.into_os_string().into_encoded_bytes());
    }
    if found.is_dir() {
        return Ok(Vec::new());
    }
    // A pipe would wait for a writer.
    if !found.is_file() {
        return Err(io::ErrorKind::Unsupported.into());
    }
    std::fs::read(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// Whether two trees that a script makes, in `a` and `b`, are the same to a benchmark that is another script.
    fn is_same(make: &str, benchmark: &str) -> bool {
        let folder = tempfile::tempdir().unwrap();
        let shell = |line: &str, at: &Path| {
            let status = std::process::Command::new("sh").args(["-euc", line]).current_dir(at).status();
            assert!(status.unwrap().success(), "{line}");
        };
        let trees = ["a", "b"].map(|name| folder.path().join(name));
        trees.iter().for_each(|tree| fs::create_dir(tree).unwrap());
        shell(make, folder.path());
        trees.iter().for_each(|tree| mark(tree, 77).unwrap());
        trees.iter().for_each(|tree| shell(benchmark, tree));
        Unread { trees, time: 77 }.same_was_read()
    }

    #[test]
    fn what_is_read_decides_and_nothing_else() {
        const MAKE: &str = "for one in a b; do echo 1 >$one/data; echo $one >$one/notes; done";
        assert!(is_same(MAKE, "cat data"));
        assert!(!is_same(MAKE, "cat data notes"));
        assert!(!is_same(MAKE, "true"), "what reads nothing runs something else");
        let with_pipe = format!("{MAKE}; mkfifo a/pipe b/pipe");
        assert!(!is_same(&with_pipe, "echo 1 >pipe & cat data pipe"), "no file holds what came through it");
    }

    #[test]
    fn a_file_or_a_link_of_one_version_alone_is_measured() {
        assert!(!is_same("echo 1 >a/data; cp a/data b/data; touch b/faster", "cat data"));
        const LINKS: &str =
            "for one in a b; do echo 1 >$one/x; echo 2 >$one/y; done; ln -s x a/data; ln -s y b/data";
        assert!(!is_same(LINKS, "cat data"));
        assert!(is_same(LINKS, "cat x"));
    }

    #[test]
    fn a_program_that_runs_is_read() {
        const MAKE: &str = "mkdir a/sub b/sub; cp /bin/true a/sub/x; cp /bin/true b/sub/x";
        assert!(is_same(MAKE, "./sub/x"));
        assert!(!is_same(&format!("{MAKE}; echo >>b/sub/x"), "./sub/x"));
    }
}
