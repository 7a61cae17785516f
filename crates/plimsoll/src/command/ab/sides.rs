//! The two versions: found, checked out and built.

use std::collections::hash_map::DefaultHasher;
use std::fs::{self, File};
use std::hash::{Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::args::AbArgs;
use crate::failure::Failure;
use crate::measure::{MeasureError, Runner, WorkingFolder};
use crate::messages;
use crate::place;
use crate::repository::{Commit, Repository, Worktrees};

/// Number of hexadecimal digits of a commit that name its folder. It is as long for each: a longer path alone can change a time.
const DIGITS: usize = 16;

/// The extension of a file that marks a build. It is as old as the build's last use.
const BUILT: &str = "built";

/// A version that is ready to be measured.
#[derive(Debug)]
pub(super) struct Side {
    /// What the user calls it.
    pub(super) name: String,
    /// The commit, where it is one.
    pub(super) commit: Option<Commit>,
    /// What `{}` stands for.
    pub(super) path: PathBuf,
    /// Where it runs.
    pub(super) place: WorkingFolder,
    /// The top folder of its commit; else the path.
    pub(super) top: PathBuf,
}

impl Side {
    /// What messages call it.
    pub(super) fn title(&self) -> String {
        title(&self.name, self.commit.as_ref())
    }
}

fn title(name: &str, commit: Option<&Commit>) -> String {
    match commit {
        Some(commit) if commit.hash.starts_with(name) => commit.short.clone(),
        Some(commit) => format!("{name} ({})", commit.short),
        None => name.to_owned(),
    }
}

/// What a word names.
enum Origin {
    Commit(Commit),
    Folder(PathBuf),
    Program(PathBuf),
    /// The name of a container's image.
    Image(String),
}

/// How a word begins that names an image.
const IMAGE: &str = "image:";

/// Both versions, checked out and built.
pub(super) fn ready(args: &AbArgs, runner: &mut Runner) -> Result<[Side; 2], Failure> {
    let repository = Repository::open(&args.git).ok();
    let origins = [&args.base, &args.head].map(|word| origin(word, repository.as_ref()));
    let [base, head] = origins;
    let (base, head) = (base?, head?);
    let is_named = |origin: &Origin| matches!(origin, Origin::Program(_) | Origin::Image(_));
    if (is_named(&base) || is_named(&head)) && !args.command.iter().any(|word| word.contains("{}")) {
        return Err(Failure::Usage("the command has no `{}` for the program or the image".into()));
    }
    let program = args.command.first().and_then(|first| first.split_whitespace().next());
    for (word, origin) in [(&args.base, &base), (&args.head, &head)] {
        if program == Some("{}") && matches!(origin, Origin::Commit(_) | Origin::Folder(_)) {
            let what = format!("`{{}}` is the folder of {word}, which is no program: write `{{}}/PROGRAM`");
            return Err(Failure::Usage(what));
        }
    }
    note_uncommitted(args, [&base, &head]);
    let mut builder = Builder { args, runner, repository };
    Ok([builder.side(&args.base, base)?, builder.side(&args.head, head)?])
}

/// Says what the user may miss: a revision has no changes that are not committed.
fn note_uncommitted(args: &AbArgs, origins: [&Origin; 2]) {
    let is_head = |(word, origin): (&String, &Origin)| word == "HEAD" && matches!(origin, Origin::Commit(_));
    if [&args.base, &args.head].into_iter().zip(origins).any(is_head) && Repository::has_changes(&args.git) {
        messages::note("note: HEAD is measured without the changes that are not committed");
    }
}

fn origin(word: &str, repository: Option<&Repository>) -> Result<Origin, Failure> {
    if let Some(image) = word.strip_prefix(IMAGE) {
        return Ok(Origin::Image(image.to_owned()));
    }
    let path = Path::new(word);
    let commit = repository.map(|repository| repository.commit(word)).transpose()?.flatten();
    let found = path.metadata().ok();
    match (commit, found) {
        (Some(_), Some(_)) => {
            Err(Failure::Usage(format!("{word} is a revision and a path: write ./{word} for the path")))
        }
        (Some(commit), None) => Ok(Origin::Commit(commit)),
        (None, Some(found)) => {
            let path = fs::canonicalize(path).map_err(|error| Failure::io("find", path, &error))?;
            Ok(if found.is_dir() { Origin::Folder(path) } else { Origin::Program(path) })
        }
        (None, None) => {
            let hint = repository.map_or_else(
                || ": --git names no repository for revisions, and an image is image:NAME".into(),
                |repository| repository.hint(word),
            );
            Err(Failure::Usage(format!("{word} is not a revision, a folder or a program{hint}")))
        }
    }
}

struct Builder<'a> {
    args: &'a AbArgs,
    runner: &'a mut Runner,
    repository: Option<Repository>,
}

impl Builder<'_> {
    fn side(&mut self, name: &str, origin: Origin) -> Result<Side, Failure> {
        let name = name.to_owned();
        Ok(match origin {
            Origin::Image(image) => {
                let path = PathBuf::from(image);
                Side { name, commit: None, top: path.clone(), path, place: WorkingFolder::default() }
            }
            Origin::Program(path) => {
                Side { name, commit: None, top: path.clone(), path, place: WorkingFolder::default() }
            }
            Origin::Folder(path) => {
                self.build(&path, &name)?;
                let place = WorkingFolder(Some(path.clone()));
                Side { name, commit: None, top: path.clone(), path, place }
            }
            Origin::Commit(commit) => {
                let prefix = Repository::prefix(&self.args.git)?;
                let top = self.commit(&commit, &prefix, &title(&name, Some(&commit)))?;
                // A path that ends in a slash differs from itself.
                let path = if prefix.as_os_str().is_empty() { top.clone() } else { top.join(prefix) };
                Side { name, commit: Some(commit), place: WorkingFolder(Some(path.clone())), path, top }
            }
        })
    }

    /// The working tree of a commit, in which it was built now or before.
    fn commit(&mut self, commit: &Commit, prefix: &Path, title: &str) -> Result<PathBuf, Failure> {
        let Some(repository) = &self.repository else {
            return Err(Failure::could_not("a commit without a repository"));
        };
        let folder = self.folder(repository)?;
        fs::create_dir_all(&folder).map_err(|error| Failure::io("make", &folder, &error))?;
        let lock = folder.join("lock");
        let locked = File::create(&lock).and_then(|file| file.lock().map(|()| file));
        // Another process that builds here is waited for; the lock ends with the file.
        let _locked = locked.map_err(|error| Failure::io("lock", &lock, &error))?;
        let trees = Worktrees::kept(repository, &folder)?;
        let name = format!("{}-{:08x}", &commit.hash[..DIGITS], hash(&self.args.build) as u32);
        let (tree, built) = (folder.join(&name), folder.join(format!("{name}.{BUILT}")));
        if !(tree.is_dir() && built.exists()) {
            if tree.exists() {
                fs::remove_dir_all(&tree).map_err(|error| Failure::io("remove", &tree, &error))?;
            }
            trees.add_as(&commit.hash, &name)?;
            self.build(&tree.join(prefix), title)?;
        }
        let marked = File::create(&built).and_then(|file| file.set_modified(SystemTime::now()));
        marked.map_err(|error| Failure::io("write", &built, &error))?;
        prune(&folder, self.args.keep.into()).map_err(|error| Failure::io("clear", &folder, &error))?;
        Ok(tree)
    }

    fn folder(&self, repository: &Repository) -> Result<PathBuf, Failure> {
        let all = self.args.builds.clone().or_else(place::of_builds).ok_or_else(|| {
            Failure::Usage(
                "neither XDG_CACHE_HOME nor HOME names a folder for builds; name one with --builds".into(),
            )
        })?;
        let all = std::path::absolute(&all).map_err(|error| Failure::io("find", &all, &error))?;
        Ok(all.join(format!("{:016x}", hash(repository.path()))))
    }

    fn build(&mut self, folder: &Path, title: &str) -> Result<(), Failure> {
        let Some(line) = &self.args.build else { return Ok(()) };
        messages::note(format_args!("building {title} in {}", folder.display()));
        let place = WorkingFolder(Some(folder.to_owned()));
        self.runner
            .run_aside(line, &place)
            .map_err(|error: MeasureError| error.of_version(title, None).into())
    }
}

/// Removes the builds that were used longest ago, until this many are left.
fn prune(folder: &Path, keep: usize) -> io::Result<()> {
    let mut builds = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == BUILT) {
            builds.push((path.metadata()?.modified()?, path));
        }
    }
    builds.sort();
    let surplus = builds.len().saturating_sub(keep);
    for (_, mark) in &builds[..surplus] {
        // Without its mark it is no build, whatever is left of it.
        fs::remove_file(mark)?;
        match fs::remove_dir_all(mark.with_extension("")) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

fn hash(of: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    of.hash(&mut hasher);
    hasher.finish()
}
