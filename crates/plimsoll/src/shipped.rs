//! The experiments that come with the program, and those in files.

use std::path::Path;

use include_dir::{Dir, include_dir};
use plimsoll_model::experiment::LARGEST_FILE;
use plimsoll_path::Folder;

use crate::failure::Failure;
use crate::{bounded, messages};

static EXPERIMENTS: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../experiments");

/// An experiment file, from wherever it comes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Source {
    /// The experiment's name: that of the file, without its ending.
    pub(crate) name: String,
    /// What to call it in a message: a path, or the name of a shipped one.
    pub(crate) origin: String,
    /// The area that a shipped one belongs to.
    pub(crate) area: Option<String>,
    /// Whether it comes from a store, whose writer is unknown. No file beside it is read: the store has the text of those that it names.
    pub(crate) is_stored: bool,
    /// Its text.
    pub(crate) text: String,
}

impl Source {
    /// Text of a file that the experiment names. It is in the experiment's folder, or below: who runs Plimsoll may read more than the
    /// program that gets the text, and a stranger's experiment must not choose what is handed on.
    pub(crate) fn beside(&self, file: &str) -> Result<String, String> {
        if let Some(area) = &self.area {
            let shipped = EXPERIMENTS.get_file(Path::new(area).join(file));
            let text = shipped.and_then(|file| file.contents_utf8()).map(ToOwned::to_owned);
            return text.ok_or_else(|| "no such file comes with the experiment".to_owned());
        }
        if self.is_stored {
            return Err("its text is not stored with the run".to_owned());
        }
        let read = Folder::of_user(self.folder()).and_then(|folder| folder.read(Path::new(file), LARGEST));
        String::from_utf8(read.map_err(|error| error.to_string())?).map_err(|error| error.to_string())
    }

    /// Folder of the file.
    pub(crate) fn folder(&self) -> &Path {
        match Path::new(&self.origin).parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        }
    }

    /// Warns where a file has the name of an experiment that comes with Plimsoll: the file is run.
    pub(crate) fn report_shadow(&self) {
        let named = all().into_iter().filter(|_| self.area.is_none());
        let mut shadowed = named.filter(|shipped| shipped.is_called(&self.origin));
        if let Some(shipped) = shadowed.next() {
            messages::say(format_args!(
                "warning: `{}` is a file here, and not the experiment {} that comes with Plimsoll",
                self.origin,
                shipped.full_name()
            ));
        }
    }

    /// Name with the area, which no other experiment has.
    fn full_name(&self) -> String {
        format!("{}/{}", self.area.as_deref().unwrap_or_default(), self.name)
    }

    fn is_called(&self, wanted: &str) -> bool {
        self.name == wanted || self.full_name() == wanted
    }
}

/// Largest configuration file, in bytes.
const LARGEST: u64 = 1 << 20;

/// All shipped experiments, by area and name.
pub(crate) fn all() -> Vec<Source> {
    let mut all: Vec<Source> = EXPERIMENTS
        .dirs()
        .flat_map(Dir::files)
        .filter(|file| file.path().extension().is_some_and(|ending| ending == "toml"))
        .map(|file| Source {
            name: stem(file.path()),
            origin: format!("experiments/{}", file.path().display()),
            area: file.path().parent().map(|area| area.display().to_string()),
            is_stored: false,
            text: file.contents_utf8().unwrap_or_default().to_owned(),
        })
        .collect();
    all.sort_by(|a, b| (&a.area, &a.name).cmp(&(&b.area, &b.name)));
    all
}

/// The experiment that the user means: a file where there is one, or a shipped one by its name (`flood-relay`, `recovery/flood-relay`).
pub(crate) fn find(wanted: &str) -> Result<Source, Failure> {
    let path = Path::new(wanted);
    if path.is_file() || wanted.ends_with(".toml") {
        let text = bounded::text(path, LARGEST_FILE as u64)
            .map_err(|error| Failure::Usage(format!("cannot read {wanted}: {error}")))?;
        return Ok(Source {
            name: stem(path),
            origin: wanted.to_owned(),
            area: None,
            is_stored: false,
            text,
        });
    }
    let all = all();
    let named: Vec<&Source> = all.iter().filter(|source| source.is_called(wanted)).collect();
    match named.as_slice() {
        [] => {}
        [source] => {
            // Runs go by this name: where two areas have an experiment of one name, theirs must differ.
            let shared = all.iter().filter(|other| other.name == source.name).count() > 1;
            let name = if shared { source.full_name() } else { source.name.clone() };
            return Ok(Source { name, ..(*source).clone() });
        }
        several => {
            let names: Vec<String> =
                several.iter().map(|source| format!("`{}`", source.full_name())).collect();
            return Err(Failure::Usage(format!(
                "there are several experiments `{wanted}`: {}",
                names.join(", ")
            )));
        }
    }
    let nearest = plimsoll_model::experiment::nearest(wanted, all.iter().map(|source| source.name.as_str()));
    let hint = nearest.map_or_else(String::new, |name| format!("; did you mean `{name}`?"));
    Err(Failure::Usage(format!(
        "there is no file and no shipped experiment `{wanted}`{hint} (`plimsoll list` shows the shipped ones)"
    )))
}

fn stem(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::plan::{Plan, Settings};

    #[test]
    fn every_shipped_experiment_can_be_planned_in_full_and_quick() {
        let all = all();
        assert!(all.iter().any(|source| source.name == "flood-relay"));
        for source in all {
            for quick in [false, true] {
                let settings = Settings { quick, ..Settings::default() };
                if let Err(error) = Plan::read(&source.name, &source.text, &settings) {
                    panic!("{} (quick: {quick}): {error:?}", source.origin);
                }
            }
        }
    }

    #[test]
    fn a_name_that_two_areas_have_needs_its_area() {
        let Err(Failure::Usage(message)) = find("haproxy-chain") else { panic!("there are two of them") };
        assert!(message.contains("`bulk/haproxy-chain`, `web/haproxy-chain`"), "{message}");
        assert_eq!(find("web/haproxy-chain").unwrap().name, "web/haproxy-chain");
        assert_eq!(find("web/overload").unwrap().name, "overload");
    }

    #[test]
    fn an_experiment_names_no_file_outside_of_its_folder() {
        let folder = tempfile::tempdir().unwrap();
        let own = folder.path().join("own");
        std::fs::create_dir_all(own.join("below")).unwrap();
        std::fs::write(folder.path().join("secret"), "secret").unwrap();
        std::fs::write(own.join("below/front.conf.in"), "text").unwrap();
        std::os::unix::fs::symlink("../secret", own.join("link")).unwrap();
        let origin = own.join("mine.toml").display().to_string();
        let source =
            Source { name: "mine".into(), origin, area: None, is_stored: false, text: String::new() };
        assert_eq!(source.beside("below/front.conf.in").as_deref(), Ok("text"));
        for file in ["../secret", "link", "/etc/passwd", "/dev/zero", "below", "none"] {
            assert!(source.beside(file).is_err(), "{file}");
        }
        let stored = Source { is_stored: true, ..source };
        assert!(stored.beside("below/front.conf.in").is_err());
    }

    #[test]
    fn a_misspelt_name_gets_the_nearest() {
        let Err(Failure::Usage(message)) = find("flood-rely") else { panic!("there is such an experiment") };
        assert!(message.contains("did you mean `flood-relay`?"), "{message}");
    }
}
