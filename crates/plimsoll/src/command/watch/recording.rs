//! A recording of a host on disk: one JSON object a line. The first names the format; each other is a moment, which
//! holds the counters that moved since the one before.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};

use plimsoll_assess::watched::Moment;
use serde::{Deserialize, Serialize};

use crate::failure::Failure;

const SCHEMA: &str = "plimsoll.recording/1";

#[derive(Serialize, Deserialize)]
struct Header {
    schema: String,
}

/// A file that is written to.
pub(super) struct Recording {
    path: PathBuf,
    out: BufWriter<File>,
    known: BTreeMap<String, f64>,
}

impl Recording {
    pub(super) fn begin(path: &Path) -> Result<Self, Failure> {
        let file = File::create(path).map_err(|error| Failure::io("write", path, &error))?;
        let mut recording = Self { path: path.to_owned(), out: BufWriter::new(file), known: BTreeMap::new() };
        recording.line(&Header { schema: SCHEMA.to_owned() })?;
        Ok(recording)
    }

    /// Each moment is on disk before the next is read, so that a killed program has lost nothing.
    pub(super) fn write(&mut self, moment: &Moment) -> Result<(), Failure> {
        let mut new = moment.clone();
        new.counters.values.retain(|name, value| self.known.insert(name.clone(), *value) != Some(*value));
        self.line(&new)
    }

    fn line(&mut self, what: &impl Serialize) -> Result<(), Failure> {
        serde_json::to_writer(&mut self.out, what)
            .map_err(io::Error::from)
            .and_then(|()| self.out.write_all(b"\n"))
            .and_then(|()| self.out.flush())
            .map_err(|error| Failure::io("write", &self.path, &error))
    }
}

/// The moments of a recording. A last line that was cut short, because the machine went down, is left out.
pub(super) fn read(path: &Path) -> Result<Vec<Moment>, Failure> {
    let file = File::open(path).map_err(|error| Failure::io("read", path, &error))?;
    let mut lines = BufReader::new(file).split(b'\n');
    let header =
        lines.next().transpose().map_err(|error| Failure::io("read", path, &error))?.unwrap_or_default();
    let schema = serde_json::from_slice::<Header>(&header).map(|header| header.schema);
    if schema.as_deref().ok() != Some(SCHEMA) {
        return Err(Failure::Usage(format!(
            "{} is no recording: expected a first line {{\"schema\":\"{SCHEMA}\"}}",
            path.display()
        )));
    }
    let mut moments = Vec::new();
    let mut wrong: Option<(usize, serde_json::Error)> = None;
    for (number, line) in (2..).zip(lines) {
        let line = line.map_err(|error| Failure::io("read", path, &error))?;
        if let Some((number, error)) = wrong {
            return Err(Failure::Usage(format!("{}, line {number}: {error}", path.display())));
        }
        match serde_json::from_slice(&line) {
            Ok(moment) => moments.push(moment),
            Err(error) => wrong = Some((number, error)),
        }
    }
    Ok(moments)
}

#[cfg(test)]
mod tests {
    use plimsoll_model::observation::Snapshot;

    use super::*;

    fn moment(second: u64, values: &[(&str, f64)]) -> Moment {
        let values = values.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
        let counters = Snapshot { at_ns: second * 1_000_000_000, values };
        Moment { at_unix_ms: second * 1000, counters, processes: None }
    }

    #[test]
    fn only_what_moved_is_written_and_a_line_that_was_cut_short_is_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("it.jsonl");
        let mut recording = Recording::begin(&path).unwrap();
        recording.write(&moment(1, &[("a", 1.0), ("b", 1.0)])).unwrap();
        recording.write(&moment(2, &[("a", 1.0), ("b", 2.0)])).unwrap();
        let read_back = read(&path).unwrap();
        assert_eq!(read_back, [moment(1, &[("a", 1.0), ("b", 1.0)]), moment(2, &[("b", 2.0)])]);
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, format!("{text}{{\"at_unix_ms\":30")).unwrap();
        assert_eq!(read(&path).unwrap().len(), 2);
        std::fs::write(&path, format!("{text}{{\"at_unix_ms\":30\n{{}}\n")).unwrap();
        assert!(format!("{:?}", read(&path).unwrap_err()).contains("line 4"));
        std::fs::write(&path, "{}\n").unwrap();
        assert!(format!("{:?}", read(&path).unwrap_err()).contains("is no recording"));
    }
}
