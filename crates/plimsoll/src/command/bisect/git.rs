//! Commits as versions: which there are, and a working tree for each that is measured.
//!
//! Working trees belong to a clone of Plimsoll's own in a temporary folder, which borrows the objects of the repository (`git clone
//! --shared`). Nothing is written to the repository itself, and nothing is left in it, however this ends. Each commit keeps its tree,
//! so that what was built in it is built once, and neighbours can be measured in turns.

use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use super::Version;
use crate::failure::Failure;
use crate::measure::MeasureError;

/// Variables that point git to another repository than the one that is named.
const REDIRECTIONS: [&str; 6] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_COMMON_DIR",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
];

/// A repository that is read.
#[derive(Debug)]
pub(super) struct Repository {
    path: PathBuf,
}

impl Repository {
    /// The repository that a path is in.
    pub(super) fn open(path: &Path) -> Result<Self, Failure> {
        let found = git(path, &["rev-parse", "--absolute-git-dir"])
            .map_err(|error| Failure::Usage(format!("--git {}: {error}", path.display())))?;
        Ok(Self { path: found.trim().into() })
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The good commit, and all after it up to the bad one, of first parents only: merges count as one step.
    pub(super) fn commits(&self, good: &str, bad: &str) -> Result<Vec<Version>, Failure> {
        let (from, to) = (self.resolve("--good", good)?, self.resolve("--bad", bad)?);
        if from == to || git(&self.path, &["merge-base", "--is-ancestor", &from, &to]).is_err() {
            return Err(Failure::Usage(format!("--good {good} is no ancestor of --bad {bad}")));
        }
        let format = "--format=%H%x09%h%x09%s";
        let listed = |args: &[&str]| {
            let text = git(&self.path, args).map_err(Failure::could_not)?;
            Ok::<_, Failure>(text.lines().filter_map(commit).collect::<Vec<_>>())
        };
        let mut commits = listed(&["log", "-1", "--no-color", format, &from])?;
        let range = format!("{from}..{to}");
        commits.extend(listed(&["log", "--no-color", "--first-parent", "--reverse", format, &range])?);
        Ok(commits)
    }

    fn resolve(&self, option: &str, name: &str) -> Result<String, Failure> {
        let commit = format!("{name}^{{commit}}");
        git(&self.path, &["rev-parse", "--verify", "--quiet", "--end-of-options", &commit])
            .map(|hash| hash.trim().to_owned())
            .map_err(|_| Failure::Usage(format!("{option} {name}: there is no such commit")))
    }
}

fn commit(line: &str) -> Option<Version> {
    let mut fields = line.splitn(3, '\t');
    let (name, label) = (fields.next()?.to_owned(), fields.next()?.to_owned());
    Some(Version { name, label, about: fields.next().map(ToOwned::to_owned) })
}

/// Working trees in a temporary folder, which goes away with this.
#[derive(Debug)]
pub(super) struct Worktrees {
    folder: TempDir,
}

impl Worktrees {
    pub(super) fn of(repository: &Repository) -> Result<Self, Failure> {
        let failed = |error| Failure::could_not(format!("cannot make a folder for working trees: {error}"));
        let folder = tempfile::Builder::new().prefix("plimsoll-bisect-").tempdir().map_err(failed)?;
        let from = repository.path.to_string_lossy();
        let clone = ["clone", "--quiet", "--shared", "--no-checkout", "--", &from, "repository"];
        git(folder.path(), &clone).map_err(Failure::could_not)?;
        Ok(Self { folder })
    }

    /// A fresh working tree of a commit.
    pub(super) fn add(&self, hash: &str) -> Result<PathBuf, MeasureError> {
        let tree = self.folder.path().join(hash);
        let path = tree.to_string_lossy();
        git(
            &self.folder.path().join("repository"),
            &["worktree", "add", "--quiet", "--detach", "--force", &path, hash],
        )
        .map_err(|error| MeasureError::Checkout(format!("cannot check out {hash}: {error}")))?;
        Ok(tree)
    }
}

/// What git printed; or its complaint.
fn git(folder: &Path, args: &[&str]) -> Result<String, String> {
    let mut command = Command::new("git");
    for name in REDIRECTIONS {
        command.env_remove(name);
    }
    // Hooks of a checkout would be the repository's code, run unasked.
    let quiet = ["-c", "core.hooksPath=/dev/null", "-c", "advice.detachedHead=false"];
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
        let subjects: Vec<&str> = commits.iter().filter_map(|commit| commit.about.as_deref()).collect();
        assert_eq!(subjects, ["commit 1", "commit 2", "commit 3", "merged", "commit 5"]);
    }

    #[test]
    fn every_commit_gets_a_tree_and_the_repository_knows_nothing_of_it() {
        let folder = tempfile::tempdir().unwrap();
        let repository = repository(folder.path());
        let commits = repository.commits("v1", "v3").unwrap();
        let trees = Worktrees::of(&repository).unwrap();
        let paths: Vec<PathBuf> = commits.iter().map(|commit| trees.add(&commit.name).unwrap()).collect();
        let numbers: Vec<String> =
            paths.iter().map(|path| std::fs::read_to_string(path.join("n")).unwrap()).collect();
        assert_eq!(numbers, ["1\n", "2\n", "3\n"]);
        assert_eq!(git(folder.path(), &["worktree", "list"]).unwrap().lines().count(), 1);
        drop(trees);
        assert!(paths.iter().all(|path| !path.exists()));
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
