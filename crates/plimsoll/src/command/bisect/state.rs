//! The measurements so far, on disk after every measurement, so that a search can resume.

use std::io::Write;
use std::path::{Path, PathBuf};

use plimsoll_judge::bisect::{BisectSettings, Bisection};
use serde::{Deserialize, Serialize};

use crate::bounded;
use crate::contest::Block;
use crate::failure::Failure;

/// The name and version of the file. The number rises when a field changes its meaning or goes away.
const STATE_SCHEMA: &str = "plimsoll.bisect-state/1";

/// The searched versions, and the figure. Measurements for another question cannot be reused.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Question {
    pub(super) versions: Vec<String>,
    pub(super) command: Vec<String>,
    pub(super) metric: String,
    pub(super) figure: Option<String>,
    pub(super) repository: Option<PathBuf>,
}

/// One measurement of the search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Measured {
    pub(super) version: usize,
    pub(super) value: f64,
}

/// One pair of the neighbours at the end.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Pair {
    pub(super) good: f64,
    pub(super) bad: f64,
    /// Whether the good one was measured before the bad one.
    pub(super) good_first: bool,
}

impl From<&Block> for Pair {
    fn from(block: &Block) -> Self {
        Self { good: block.values[0], bad: block.values[1], good_first: block.order[0] == 0 }
    }
}

impl From<Pair> for Block {
    fn from(pair: Pair) -> Self {
        let order = if pair.good_first { vec![0, 1] } else { vec![1, 0] };
        Self { values: vec![pair.good, pair.bad], foreign: None, order }
    }
}

/// The comparison of the neighbours.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Confirmation {
    /// The later neighbour.
    pub(super) culprit: usize,
    /// The earlier one; the one just before, unless the state says so.
    pub(super) before: Option<usize>,
    pub(super) pairs: Vec<Pair>,
}

/// Everything that was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct State {
    schema: String,
    pub(super) question: Question,
    pub(super) seed: u64,
    pub(super) measurements: Vec<Measured>,
    /// The places of versions that cannot be measured.
    #[serde(default)]
    pub(super) skipped: Vec<usize>,
    pub(super) confirmation: Option<Confirmation>,
    #[serde(skip)]
    path: Option<PathBuf>,
}

impl State {
    /// The file's state for this question, or nothing yet.
    ///
    /// # Errors
    /// The file cannot be read, or is about another question.
    pub(super) fn open(path: Option<&Path>, question: Question, seed: Option<u64>) -> Result<Self, Failure> {
        let fresh = |question| Self {
            schema: STATE_SCHEMA.into(),
            question,
            seed: seed.unwrap_or_else(rand::random),
            measurements: Vec::new(),
            skipped: Vec::new(),
            confirmation: None,
            path: path.map(ToOwned::to_owned),
        };
        let Some(path) = path else { return Ok(fresh(question)) };
        let text = match bounded::text(path, bounded::FILE) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(fresh(question)),
            other => other.map_err(|error| Failure::io("read", path, &error))?,
        };
        let bad = |what: String| Failure::Usage(format!("--state {}: {what}", path.display()));
        let stored: Self =
            serde_json::from_str(&text).map_err(|error| bad(format!("no state of a bisection: {error}")))?;
        if stored.schema != STATE_SCHEMA {
            return Err(bad(format!(
                "its schema is {}, and this Plimsoll reads {STATE_SCHEMA}",
                stored.schema
            )));
        }
        if let Some(what) = stored.question.difference(&question) {
            return Err(bad(format!("it has measurements for {what}; name another file, or remove it")));
        }
        Ok(Self { path: Some(path.to_owned()), ..stored })
    }

    /// The bisection with all measurements so far.
    ///
    /// # Errors
    /// Settings out of range, or measurements that cannot be.
    pub(super) fn bisection(&self, confidence: f64) -> Result<Bisection, Failure> {
        let settings = BisectSettings { confidence, ..BisectSettings::default() };
        let usage = |error: plimsoll_judge::input::JudgeError| Failure::Usage(error.to_string());
        let mut bisection = Bisection::new(self.question.versions.len(), settings).map_err(usage)?;
        for measured in &self.measurements {
            bisection.record(measured.version, measured.value).map_err(usage)?;
        }
        for version in &self.skipped {
            bisection.skip(*version).map_err(usage)?;
        }
        Ok(bisection)
    }

    /// Rewrites the file through a temporary copy, so a crash leaves the old file intact.
    pub(super) fn save(&self) -> Result<(), Failure> {
        let Some(path) = &self.path else { return Ok(()) };
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let write = || {
            let mut file = tempfile::NamedTempFile::new_in(folder)?;
            serde_json::to_writer_pretty(&mut file, self)?;
            file.write_all(b"\n")?;
            file.as_file().sync_all()?;
            file.persist(path).map_err(|error| error.error).map(drop)
        };
        write().map_err(|error: std::io::Error| Failure::io("write", path, &error))
    }

    /// Where the measurements are when it ends early: the file that was named, or one in the folder for temporary files. Nothing
    /// where there is nothing to keep.
    pub(super) fn keep(&mut self) -> Result<Option<&Path>, Failure> {
        if self.measurements.is_empty() {
            return Ok(None);
        }
        if self.path.is_none() {
            let named = tempfile::Builder::new().prefix("plimsoll-bisect-").suffix(".json").tempfile();
            let kept = named.and_then(|file| file.keep().map_err(|error| error.error));
            let (_, path) = kept.map_err(|error| Failure::io("write to", &std::env::temp_dir(), &error))?;
            self.path = Some(path);
        }
        self.save()?;
        Ok(self.path.as_deref())
    }
}

impl Question {
    /// Differences of another question.
    fn difference(&self, other: &Self) -> Option<String> {
        if self.versions != other.versions || self.repository != other.repository {
            let ends = |question: &Self| {
                let end = |version: Option<&String>| version.cloned().unwrap_or_default();
                format!(
                    "{} versions from {} to {}",
                    question.versions.len(),
                    end(question.versions.first()),
                    end(question.versions.last())
                )
            };
            return Some(format!("other versions ({})", ends(self)));
        }
        if self.command != other.command {
            return Some(format!("another command (`{}`)", self.command.join(" ")));
        }
        (self != other).then(|| format!("another figure ({})", self.figure.as_ref().unwrap_or(&self.metric)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question() -> Question {
        Question {
            versions: ["v1", "v2", "v3"].map(Into::into).into(),
            command: vec!["bench {}".into()],
            metric: "wall_time".into(),
            figure: None,
            repository: None,
        }
    }

    #[test]
    fn what_was_saved_comes_back_with_its_seed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state.json");
        let mut state = State::open(Some(&path), question(), Some(9)).unwrap();
        state.measurements.push(Measured { version: 2, value: 0.1 + 0.2 });
        state.confirmation = Some(Confirmation {
            culprit: 1,
            before: Some(0),
            pairs: vec![Pair { good: 1.0, bad: 2.0, good_first: false }],
        });
        state.save().unwrap();
        assert_eq!(State::open(Some(&path), question(), None).unwrap(), state);
        assert_eq!(
            std::fs::read_dir(folder.path()).unwrap().count(),
            1,
            "nothing else is left in the folder"
        );
    }

    #[test]
    fn measurements_of_another_question_are_refused_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state.json");
        State::open(Some(&path), question(), None).unwrap().save().unwrap();
        let refused = |other: Question| match State::open(Some(&path), other, None) {
            Err(Failure::Usage(text)) => text,
            other => panic!("{other:?}"),
        };
        assert!(refused(Question { command: vec!["x".into()], ..question() }).contains("`bench {}`"));
        assert!(refused(Question { metric: "cpu_time".into(), ..question() }).contains("(wall_time)"));
        assert!(refused(Question { versions: vec!["v1".into()], ..question() }).contains("from v1 to v3"));
    }

    #[test]
    fn a_file_of_something_else_and_impossible_measurements_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state.json");
        std::fs::write(&path, "{}").unwrap();
        assert!(matches!(State::open(Some(&path), question(), None), Err(Failure::Usage(_))));
        let mut state = State::open(None, question(), None).unwrap();
        state.measurements.push(Measured { version: 7, value: 1.0 });
        assert!(state.bisection(0.99).is_err());
    }
}
