//! A git repository: its commits, and a working tree for each that is measured.
//!
//! Working trees belong to a repository of Plimsoll's own, which borrows the objects and copies the branches and tags. Nothing is written
//! to the repository itself, however this ends. Each commit keeps its tree, so that what was built in it is built once, and neighbours can be
//! measured in turns. `bisect` has its repository in a temporary folder, `ab` in the user's cache.
//!
//! `git clone --shared` would copy the objects of a shallow repository, and know nothing of commits that are fetched later.

use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::failure::Failure;
use crate::measure::MeasureError;

/// Name of the borrowing repository in the folder of working trees.
const BORROWER: &str = "repository";

/// Variables that point git to another repository than the one that is named.
const REDIRECTIONS: [&str; 6] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_COMMON_DIR",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
];

/// A commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Commit {
    /// Its whole hash.
    pub(crate) hash: String,
    /// The start of its hash that names it.
    pub(crate) short: String,
    /// The first line of its message.
    pub(crate) subject: String,
}

/// A repository that is read.
#[derive(Debug)]
pub(crate) struct Repository {
    path: PathBuf,
}

impl Repository {
    /// The repository that a path is in.
    pub(crate) fn open(path: &Path) -> Result<Self, Failure> {
        let found = git(path, &["rev-parse", "--absolute-git-dir"])
            .map_err(|error| Failure::Usage(format!("--git {}: {error}", path.display())))?;
        Ok(Self { path: found.trim().into() })
    }

    /// The folder of its working tree that a path in it names, as a relative path.
    pub(crate) fn prefix(path: &Path) -> Result<PathBuf, Failure> {
        let found = git(path, &["rev-parse", "--show-prefix"]).map_err(Failure::could_not)?;
        Ok(found.trim_end_matches('\n').into())
    }

    /// Whether the working tree of a path has changes of known files that are not committed.
    pub(crate) fn has_changes(path: &Path) -> bool {
        git(path, &["diff", "--quiet", "--no-ext-diff", "--no-textconv", "HEAD"])
            .is_err_and(|error| error.contains("exit status: 1"))
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The good commit, and all after it up to the bad one, of first parents only: merges count as one step.
    pub(crate) fn commits(&self, good: &str, bad: &str) -> Result<Vec<Commit>, Failure> {
        let resolve = |option: &str, name: &str| {
            self.resolve(name).ok_or_else(|| {
                Failure::Usage(format!("{option} {name}: there is no such commit{}", self.hint(name)))
            })
        };
        let (from, to) = (resolve("--good", good)?, resolve("--bad", bad)?);
        if from == to || git(&self.path, &["merge-base", "--is-ancestor", &from, &to]).is_err() {
            let hint = self.shallow_hint();
            return Err(Failure::Usage(format!("--good {good} is no ancestor of --bad {bad}{hint}")));
        }
        let mut commits = self.log(&["-1", &from])?;
        commits.extend(self.log(&["--first-parent", "--reverse", &format!("{from}..{to}")])?);
        Ok(commits)
    }

    /// The commit that a revision names; `None` if it names none.
    pub(crate) fn commit(&self, name: &str) -> Result<Option<Commit>, Failure> {
        let Some(hash) = self.resolve(name) else { return Ok(None) };
        Ok(self.log(&["-1", &hash])?.pop())
    }

    /// What may help if a name is no revision, as the end of a message; empty where nothing does.
    pub(crate) fn hint(&self, name: &str) -> String {
        let remotes = git(&self.path, &["remote"]).unwrap_or_default();
        let tracked = remotes
            .lines()
            .map(|remote| format!("{remote}/{name}"))
            .find(|name| self.resolve(name).is_some());
        tracked.map_or_else(|| self.shallow_hint(), |tracked| format!("; {tracked} is a revision"))
    }

    /// What a shallow repository lacks, as the end of a message.
    fn shallow_hint(&self) -> String {
        if self.place("shallow").is_ok_and(|file| file.exists()) {
            "; this clone is shallow: get all history with `git fetch --unshallow --tags`, or with `fetch-depth: 0` in actions/checkout".into()
        } else {
            String::new()
        }
    }

    /// Where git keeps a file or a folder of this repository.
    fn place(&self, name: &str) -> Result<PathBuf, Failure> {
        let found = git(&self.path, &["rev-parse", "--git-path", name]).map_err(Failure::could_not)?;
        Ok(self.path.join(found.trim_end_matches('\n')))
    }

    fn log(&self, which: &[&str]) -> Result<Vec<Commit>, Failure> {
        let args = [&["log", "--no-color", "--format=%H%x09%h%x09%s"], which].concat();
        let text = git(&self.path, &args).map_err(Failure::could_not)?;
        Ok(text.lines().filter_map(commit).collect())
    }

    fn resolve(&self, name: &str) -> Option<String> {
        let commit = format!("{name}^{{commit}}");
        let found = git(&self.path, &["rev-parse", "--verify", "--quiet", "--end-of-options", &commit]);
        found.ok().map(|hash| hash.trim().to_owned())
    }
}

fn commit(line: &str) -> Option<Commit> {
    let mut fields = line.splitn(3, '\t').map(ToOwned::to_owned);
    Some(Commit { hash: fields.next()?, short: fields.next()?, subject: fields.next()? })
}

/// Working trees in a folder.
#[derive(Debug)]
pub(crate) struct Worktrees {
    folder: PathBuf,
    /// Goes away with this.
    _temporary: Option<TempDir>,
}

impl Worktrees {
    /// Working trees that go away with this.
    pub(crate) fn temporary(repository: &Repository) -> Result<Self, Failure> {
        let failed = |error| Failure::could_not(format!("cannot make a folder for working trees: {error}"));
        let folder = tempfile::Builder::new().prefix("plimsoll-bisect-").tempdir().map_err(failed)?;
        borrow(repository, folder.path())?;
        Ok(Self { folder: folder.path().to_owned(), _temporary: Some(folder) })
    }

    /// Working trees in a folder that stays.
    pub(crate) fn kept(repository: &Repository, folder: &Path) -> Result<Self, Failure> {
        borrow(repository, folder)?;
        Ok(Self { folder: folder.to_owned(), _temporary: None })
    }

    /// A fresh working tree of a commit.
    pub(crate) fn add(&self, hash: &str) -> Result<PathBuf, MeasureError> {
        self.add_as(hash, hash)
    }

    /// A fresh working tree of a commit, in a folder of this name.
    pub(crate) fn add_as(&self, hash: &str, name: &str) -> Result<PathBuf, MeasureError> {
        let tree = self.folder.join(name);
        let path = tree.to_string_lossy();
        git(&self.folder.join(BORROWER), &["worktree", "add", "--quiet", "--detach", "--force", &path, hash])
            .map_err(|error| MeasureError::Checkout(format!("cannot check out {hash}: {error}")))?;
        Ok(tree)
    }
}

/// Makes or renews the repository that borrows objects. What was fetched or deepened since the last time is in it as well. A fetch would demand the
/// commits of all kept trees, which another clone at the same path may lack.
fn borrow(repository: &Repository, folder: &Path) -> Result<(), Failure> {
    git(folder, &["init", "--quiet", "--template=", BORROWER]).map_err(Failure::could_not)?;
    let own = folder.join(BORROWER).join(".git");
    let write = |file: &str, content: &[u8]| {
        let path = own.join(file);
        fs::write(&path, content).map_err(|error| Failure::io("write", &path, &error))
    };
    let info = own.join("objects/info");
    fs::create_dir_all(&info).map_err(|error| Failure::io("make", &info, &error))?;
    write("objects/info/alternates", &[repository.place("objects")?.as_os_str().as_bytes(), b"\n"].concat())?;
    // Builds may ask for tags and branches, as `git describe` does.
    let listing = ["for-each-ref", "--format=%(objectname) %(refname)", "refs/heads", "refs/tags"];
    let references = git(&repository.path, &listing).map_err(Failure::could_not)?;
    write("packed-refs", references.replace(" refs/heads/", " refs/remotes/origin/").as_bytes())?;
    let shallow = own.join("shallow");
    match fs::copy(repository.place("shallow")?, &shallow) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => fs::remove_file(&shallow).or_else(absent),
        copied => copied.map(drop),
    }
    .map_err(|error| Failure::io("write", &shallow, &error))
}

/// Takes a file that is not there for one that was removed.
fn absent(error: io::Error) -> io::Result<()> {
    if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) }
}

/// What git printed; or its complaint.
fn git(folder: &Path, args: &[&str]) -> Result<String, String> {
    let mut command = Command::new("git");
    for name in REDIRECTIONS {
        command.env_remove(name);
    }
    // Hooks of a checkout would be the repository's code, run unasked.
    // Reading the repository must not write its index.
    let quiet = ["--no-optional-locks", "-c", "core.hooksPath=/dev/null", "-c", "advice.detachedHead=false"];
    let output = command.arg("-C").arg(folder).args(quiet).args(args).output();
    let output = output.map_err(|error| format!("cannot run git: {error}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let complaint = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(if complaint.is_empty() { format!("git {}: {}", args[0], output.status) } else { complaint })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A repository whose file `n` counts the commits, with a merge in between.
    fn repository(folder: &Path) -> Repository {
        fs::create_dir_all(folder).unwrap();
        let run = |line: &str| {
            let script = format!("set -e; export GIT_CONFIG_GLOBAL=/dev/null; {line}");
            assert!(Command::new("sh").arg("-c").arg(script).current_dir(folder).status().unwrap().success());
        };
        run("git init -q -b main . && git config user.name t && git config user.email t@example.org");
        run("for n in 1 2 3; do echo $n > n; git add n; git commit -q -m \"commit $n\"; git tag v$n; done");
        run(
            "git checkout -q -b side v2 && echo x > x && git add x && git commit -q -m aside && git checkout -q main",
        );
        run("git merge -q --no-ff -m merged side && echo 5 > n && git commit -q -am 'commit 5'");
        Repository::open(folder).unwrap()
    }

    #[test]
    fn commits_are_listed_along_first_parents_from_the_good_one_on() {
        let folder = tempfile::tempdir().unwrap();
        let commits = repository(folder.path()).commits("v1", "HEAD").unwrap();
        let subjects: Vec<&str> = commits.iter().map(|commit| commit.subject.as_str()).collect();
        assert_eq!(subjects, ["commit 1", "commit 2", "commit 3", "merged", "commit 5"]);
    }

    #[test]
    fn every_commit_gets_a_tree_and_the_repository_knows_nothing_of_it() {
        let folder = tempfile::tempdir().unwrap();
        let repository = repository(folder.path());
        let commits = repository.commits("v1", "v3").unwrap();
        let trees = Worktrees::temporary(&repository).unwrap();
        let paths: Vec<PathBuf> = commits.iter().map(|commit| trees.add(&commit.hash).unwrap()).collect();
        let numbers: Vec<String> =
            paths.iter().map(|path| fs::read_to_string(path.join("n")).unwrap()).collect();
        assert_eq!(numbers, ["1\n", "2\n", "3\n"]);
        assert_eq!(git(folder.path(), &["worktree", "list"]).unwrap().lines().count(), 1);
        drop(trees);
        assert!(paths.iter().all(|path| !path.exists()));
    }

    #[test]
    fn what_is_fetched_into_a_shallow_clone_later_has_a_tree_as_well() {
        let folder = tempfile::tempdir().unwrap();
        let origin = repository(&folder.path().join("origin"));
        let (shallow, trees) = (folder.path().join("shallow"), folder.path().join("trees"));
        fs::create_dir(&trees).unwrap();
        let url = format!("file://{}", origin.path().display());
        git(folder.path(), &["clone", "--quiet", "--depth=1", &url, "shallow"]).unwrap();
        let repository = Repository::open(&shallow).unwrap();
        let tree = |name: &str| {
            let commit = repository.commit(name).unwrap().unwrap();
            let trees = Worktrees::kept(&repository, &trees).unwrap();
            fs::read_to_string(trees.add(&commit.hash).unwrap().join("n")).unwrap()
        };
        assert_eq!(tree("HEAD"), "5\n");
        assert!(repository.commit("HEAD~1").unwrap().is_none());
        assert!(repository.hint("HEAD~1").contains("git fetch --unshallow"));
        assert!(
            matches!(repository.commits("HEAD~1", "HEAD"), Err(Failure::Usage(text)) if text.contains("is shallow"))
        );
        let v1 = origin.commit("v1").unwrap().unwrap().hash;
        git(&shallow, &["fetch", "--quiet", "--depth=1", "origin", &v1]).unwrap();
        assert_eq!(tree(&v1), "1\n");
        assert!(
            matches!(repository.commits(&v1, "HEAD"), Err(Failure::Usage(text)) if text.contains("is shallow"))
        );
        // Another clone at the same path lacks the commits of trees that are kept.
        fs::remove_dir_all(&shallow).unwrap();
        git(folder.path(), &["clone", "--quiet", "--depth=1", &url, "shallow"]).unwrap();
        git(&shallow, &["fetch", "--quiet", "--depth=1", "origin", "tag", "v2"]).unwrap();
        assert_eq!(tree("v2"), "2\n");
        git(&shallow, &["fetch", "--quiet", "--unshallow", "origin", "+refs/heads/*:refs/remotes/origin/*"])
            .unwrap();
        assert_eq!(tree("HEAD~1"), "3\n");
        assert_eq!(repository.hint("side"), "; origin/side is a revision");
        assert_eq!(repository.hint("nothing"), "");
    }

    #[test]
    fn what_is_no_repository_no_commit_or_no_ancestor_is_named() {
        let folder = tempfile::tempdir().unwrap();
        assert!(
            matches!(Repository::open(folder.path()), Err(Failure::Usage(text)) if text.contains("not a git repository"))
        );
        let repository = repository(folder.path());
        let usage = |good, bad| match repository.commits(good, bad) {
            Err(Failure::Usage(text)) => text,
            other => panic!("{other:?}"),
        };
        assert!(usage("v9", "HEAD").contains("--good v9: there is no such commit"));
        assert!(usage("--all", "HEAD").contains("there is no such commit"));
        assert!(usage("v3", "v1").contains("--good v3 is no ancestor of --bad v1"));
    }
}
