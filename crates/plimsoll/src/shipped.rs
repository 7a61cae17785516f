//! The experiments that come with the program, and those in files.

use std::path::Path;

use include_dir::{Dir, include_dir};

use crate::failure::Failure;

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
    /// Its text.
    pub(crate) text: String,
}

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
        let text = std::fs::read_to_string(path)
            .map_err(|error| Failure::Usage(format!("cannot read {wanted}: {error}")))?;
        return Ok(Source { name: stem(path), origin: wanted.to_owned(), area: None, text });
    }
    let all = all();
    let full = |source: &Source| format!("{}/{}", source.area.as_deref().unwrap_or_default(), source.name);
    if let Some(source) = all.iter().find(|source| source.name == wanted || full(source) == wanted) {
        return Ok(source.clone());
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
    fn a_misspelt_name_gets_the_nearest() {
        let Err(Failure::Usage(message)) = find("flood-rely") else { panic!("there is such an experiment") };
        assert!(message.contains("did you mean `flood-relay`?"), "{message}");
    }
}
