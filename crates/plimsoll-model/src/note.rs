//! What a reader must know to read the figures of a run.

use schemars::JsonSchema;
use serde::de::{Deserialize, Deserializer};
use serde::{Deserialize as Derive, Serialize};

/// A sentence that a reader must know to read the figures, and what it is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Note {
    /// What it is about.
    #[serde(flatten)]
    pub kind: NoteKind,
    /// The sentence.
    pub text: String,
}

/// What a note is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Derive, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum NoteKind {
    /// Processes that are not part of the run used the CPUs while it was measured.
    OtherProcesses,
    /// Counters that cannot be read on this kernel.
    NotSeen {
        /// The file that has them.
        file: String,
    },
    /// What shaped a link.
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
    #[must_use]
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

/// How notes on other processes began while a note was a bare text.
const OTHERS: &str = "others used ";
/// How notes on counters that cannot be read began.
const NOT_SEEN: &str = "not seen: ";

impl<'de> Deserialize<'de> for Note {
    /// Reads bare texts as well, as runs have them that were stored before notes had a kind.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Derive)]
        #[serde(untagged)]
        enum Stored {
            Bare(String),
            Whole {
                #[serde(flatten)]
                kind: NoteKind,
                text: String,
            },
        }
        Ok(match Stored::deserialize(deserializer)? {
            Stored::Whole { kind, text } => Self { kind, text },
            Stored::Bare(text) => match text.strip_prefix(NOT_SEEN) {
                Some(file_and_why) => Self::not_seen(file_and_why),
                None if text.starts_with(OTHERS) => Self::other_processes(text),
                None => text.into(),
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_keep_their_kind_in_json_and_old_ones_get_theirs() {
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
        let old = serde_json::json!([notes[0].text, notes[1].text, notes[3].text]);
        let read: Vec<Note> = serde_json::from_value(old).unwrap();
        assert_eq!(read, [notes[0].clone(), notes[1].clone(), notes[3].clone()]);
    }
}
