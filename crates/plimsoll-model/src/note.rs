//! Notes to the reader of a run's figures.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A sentence that a reader must know to read the figures, and what it is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Note {
    /// Its subject.
    #[serde(flatten)]
    pub kind: NoteKind,
    /// The sentence.
    pub text: String,
}

/// Subject of a note.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum NoteKind {
    /// Processes that are not part of the run used the CPUs while it was measured.
    OtherProcesses,
    /// Counters that cannot be read on this kernel.
    NotSeen {
        /// The file that has them.
        file: String,
    },
    /// The shaper of a link.
    Link {
        /// The link, and what shaped it.
        link: String,
    },
    /// Why the run could not go on.
    Failed,
    /// Anything else.
    Other,
}

impl Note {
    /// A note on processes that used the CPUs.
    #[must_use]
    pub fn other_processes(text: String) -> Self {
        Self { kind: NoteKind::OtherProcesses, text }
    }

    /// Why a run could not go on.
    #[must_use]
    pub fn failed(text: String) -> Self {
        Self { kind: NoteKind::Failed, text }
    }

    /// Why a run could not go on, where its notes say so.
    pub fn failure(notes: &[Self]) -> Option<&str> {
        notes.iter().find(|note| note.kind == NoteKind::Failed).map(|note| note.text.as_str())
    }

    /// A note on counters that cannot be read: the file, and why.
    #[must_use]
    pub fn not_seen(file_and_why: &str) -> Self {
        let file = file_and_why.split(':').next().unwrap_or_default().to_owned();
        Self { kind: NoteKind::NotSeen { file }, text: format!("{NOT_SEEN}{file_and_why}") }
    }
}

impl From<String> for Note {
    fn from(text: String) -> Self {
        Self { kind: NoteKind::Other, text }
    }
}

/// How notes on counters that cannot be read begin.
const NOT_SEEN: &str = "not seen: ";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_keep_their_kind_in_json() {
        let notes = [
            Note::other_processes("others used 45 % of the CPU time".to_owned()),
            Note::not_seen("/proc/vmstat: permission denied"),
            Note {
                kind: NoteKind::Link { link: "the link a - b".into() },
                text: "the link a - b was slow".into(),
            },
            "ran without root".to_owned().into(),
        ];
        let json = serde_json::to_value(&notes).unwrap();
        assert_eq!(json[1]["kind"], "not_seen");
        assert_eq!(json[1]["file"], "/proc/vmstat");
        assert_eq!(serde_json::from_value::<Vec<Note>>(json).unwrap(), notes);
    }
}
