//! A recording of a host on disk: one JSON object a line, as `watch --record` writes it, or compressed, as `record` does.
//!
//! The first line names the format and where it was made. Each other is a moment, which holds the counters that moved since the one before, or
//! what `record` saw beside the counters.

mod redact;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;
use plimsoll_assess::watched::Moment;
use plimsoll_inventory::{Inventory, LogLine};
use plimsoll_model::observation::{Profile, Snapshot};
use plimsoll_probe::busiest::TcpLook;
use serde::{Deserialize, Serialize};

use crate::failure::Failure;

pub(crate) use redact::{Redactor, host_name};

const SCHEMA: &str = "plimsoll.recording/1";
/// The owner of processes in the network namespace that is recorded.
pub(crate) const HERE: &str = "this machine";
/// How a gzip stream begins (RFC 1952).
const GZIP: [u8; 2] = [0x1f, 0x8b];
/// Largest recording that is read, uncompressed, in bytes: about a day.
const MOST_BYTES: u64 = 2 << 30;
/// Longest line of a recording, in bytes: a stranger's file may expand to one without an end.
const MOST_OF_LINE: u64 = 64 << 20;

/// Where and how a recording was made.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Header {
    pub(crate) schema: String,
    /// The version of Plimsoll.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) version: String,
    /// The name of the machine.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) host: String,
    /// The release of its kernel.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) kernel: String,
    /// Target: the machine, or a part of it as well.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) target: String,
    /// Milliseconds since 1970.
    #[serde(default)]
    pub(crate) started_unix_ms: u64,
    /// For how long the machine was up by then, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) uptime_s: Option<f64>,
    /// Whether names are pseudonyms.
    #[serde(default)]
    pub(crate) redacted: bool,
    /// What could not be read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) missing: Vec<Missing>,
}

impl Header {
    pub(crate) fn new() -> Self {
        Self { schema: SCHEMA.to_owned(), uptime_s: uptime_s(), ..Self::default() }
    }
}

fn uptime_s() -> Option<f64> {
    std::fs::read_to_string("/proc/uptime").ok()?.split_ascii_whitespace().next()?.parse().ok()
}

/// A source that could not be read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Missing {
    pub(crate) what: String,
    pub(crate) why: String,
    /// The command or capability that would allow it; absent where the machine does not have it at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) allowed_by: Option<String>,
}

/// Parts that `record` writes beside the counters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Part {
    /// What the machine is: versions, settings, limits, troubles in the kernel's log.
    Inventory(Box<Inventory>),
    /// Stacks, waits, failing calls and flushes.
    Profile(Box<ProfileWindow>),
    /// Connections that moved most, and listening sockets.
    Sockets(SocketsAt),
    /// Headers of packets on an interface.
    Packets(PacketsAt),
    /// What the kernel logged meanwhile.
    KernelLog(Vec<LogLine>),
    /// The end of a complete recording.
    End(End),
}

/// Stacks and waits of some seconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ProfileWindow {
    pub(crate) at_unix_ms: u64,
    pub(crate) seconds: f64,
    pub(crate) profile: Profile,
}

impl ProfileWindow {
    pub(crate) fn began_unix_ms(&self) -> u64 {
        self.at_unix_ms.saturating_sub((1000.0 * self.seconds) as u64)
    }
}

/// A look at sockets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct SocketsAt {
    pub(crate) at_unix_ms: u64,
    #[serde(flatten)]
    pub(crate) look: TcpLook,
}

/// Headers of the packets of an interface.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct PacketsAt {
    /// When the capture ended.
    pub(crate) at_unix_ms: u64,
    pub(crate) seconds: f64,
    pub(crate) interface: String,
    pub(crate) packets: u64,
    /// Packets that there was no room for.
    pub(crate) dropped: u64,
    /// Whether there were more than a recording holds.
    pub(crate) is_cut: bool,
    /// A file of pcapng, in base64.
    pub(crate) pcapng: String,
}

/// Costs of a recording, and its end.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct End {
    /// CPU time of the recording program, in seconds.
    pub(crate) cpu_s: f64,
    /// How long it ran, in seconds.
    pub(crate) elapsed_s: f64,
    /// The change that it waited for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) worse: Option<Worse>,
}

/// A counter that got worse.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Worse {
    pub(crate) metric: String,
    /// When it began, in milliseconds since 1970.
    pub(crate) at_unix_ms: u64,
    pub(crate) before: f64,
    pub(crate) after: f64,
}

/// A line behind the header.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum Line {
    Moment(Moment),
    Part(Part),
}

enum Out {
    Plain(BufWriter<File>),
    Compressed(GzEncoder<File>),
}

impl Write for Out {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(out) => out.write(bytes),
            Self::Compressed(out) => out.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(out) => out.flush(),
            Self::Compressed(out) => out.flush(),
        }
    }
}

/// A file that is written to.
pub(crate) struct Writer {
    path: PathBuf,
    out: Out,
    known: BTreeMap<String, f64>,
    redactor: Option<Redactor>,
}

impl Writer {
    /// A plain file of counters alone, that grows while it is written.
    pub(crate) fn plain(path: &Path) -> Result<Self, Failure> {
        let out = Out::Plain(BufWriter::new(create(path, false)?));
        Self::begin(path, out, &Header::new(), None)
    }

    /// A compressed file of everything. `is_new`: whether nothing may be there, not even a link.
    pub(crate) fn compressed(
        path: &Path,
        is_new: bool,
        header: &Header,
        redactor: Option<Redactor>,
    ) -> Result<Self, Failure> {
        let out = Out::Compressed(GzEncoder::new(create(path, is_new)?, Compression::fast()));
        Self::begin(path, out, header, redactor)
    }

    fn begin(path: &Path, out: Out, header: &Header, redactor: Option<Redactor>) -> Result<Self, Failure> {
        let mut writer = Self { path: path.to_owned(), out, known: BTreeMap::new(), redactor };
        writer.line(header)?;
        Ok(writer)
    }

    /// Each moment is on disk before the next is read, so that a killed program has lost nothing.
    pub(crate) fn moment(&mut self, moment: &Moment) -> Result<(), Failure> {
        let mut moved = BTreeMap::new();
        for (name, value) in &moment.counters.values {
            match self.known.get_mut(name) {
                Some(known) if known == value => continue,
                Some(known) => *known = *value,
                None => drop(self.known.insert(name.clone(), *value)),
            }
            moved.insert(name.clone(), *value);
        }
        let counters = Snapshot { at_ns: moment.counters.at_ns, values: moved };
        let Moment { at_unix_ms, processes, .. } = moment;
        self.line(&Moment { at_unix_ms: *at_unix_ms, counters, processes: processes.clone() })
    }

    pub(crate) fn part(&mut self, part: &Part) -> Result<(), Failure> {
        self.line(part)
    }

    pub(crate) fn redactor(&self) -> Option<&Redactor> {
        self.redactor.as_ref()
    }

    /// Ends the file. Its size in bytes.
    pub(crate) fn finish(mut self) -> Result<u64, Failure> {
        let finished = match &mut self.out {
            Out::Plain(out) => out.flush(),
            Out::Compressed(out) => out.try_finish(),
        };
        finished
            .and_then(|()| self.path.metadata())
            .map(|about| about.len())
            .map_err(|error| Failure::io("write", &self.path, &error))
    }

    fn line(&mut self, what: &impl Serialize) -> Result<(), Failure> {
        let text = match &mut self.redactor {
            Some(redactor) => serde_json::to_value(what).and_then(|mut value| {
                redactor.line(&mut value);
                serde_json::to_vec(&value)
            }),
            None => serde_json::to_vec(what),
        };
        text.map_err(io::Error::from)
            .and_then(|text| self.out.write_all(&text))
            .and_then(|()| self.out.write_all(b"\n"))
            .and_then(|()| self.out.flush())
            .map_err(|error| Failure::io("write", &self.path, &error))
    }
}

/// A recording says much about the machine: only its owner may read it.
fn create(path: &Path, is_new: bool) -> Result<File, Failure> {
    use std::os::unix::fs::OpenOptionsExt;
    File::options()
        .write(true)
        .create(true)
        .create_new(is_new)
        .truncate(true)
        .mode(0o600)
        .open(path)
        .map_err(|error| Failure::io("write", path, &error))
}

/// Content of a file.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Recording {
    pub(crate) header: Header,
    pub(crate) moments: Vec<Moment>,
    pub(crate) parts: Vec<Part>,
}

impl Recording {
    /// When a figure got worse, of a recording that waited for that.
    pub(crate) fn worse(&self) -> Option<&Worse> {
        self.parts.iter().find_map(|part| match part {
            Part::End(end) => end.worse.as_ref(),
            _ => None,
        })
    }

    /// Reason why a recording that is too short shows nothing.
    pub(crate) fn too_short(&self) -> String {
        format!("two moments or more are needed, and it has {}", self.moments.len())
    }
}

/// Whether a file begins like a recording.
pub(crate) fn is_one(path: &Path) -> bool {
    let first = || -> io::Result<Vec<u8>> {
        let mut line = Vec::new();
        lines_of(path, 4096)?.read_until(b'\n', &mut line)?;
        Ok(line)
    };
    // Only as much is read as the name of the format takes; a header may be longer.
    first().is_ok_and(|line| line.starts_with(format!("{{\"schema\":\"{SCHEMA}\"").as_bytes()))
}

/// The lines of a file, compressed or not.
fn lines_of(path: &Path, most: u64) -> io::Result<BufReader<Box<dyn Read>>> {
    let mut file = BufReader::new(File::open(path)?);
    let is_compressed = file.fill_buf()?.starts_with(&GZIP);
    let bytes: Box<dyn Read> = match is_compressed {
        true => Box::new(MultiGzDecoder::new(file).take(most)),
        false => Box::new(file.take(most)),
    };
    Ok(BufReader::new(bytes))
}

/// The next line without its end, and what is left of the limit; nothing at the end of the file.
fn line(bytes: &mut impl BufRead, left: &mut u64) -> io::Result<Option<Vec<u8>>> {
    let most = MOST_OF_LINE.min(*left);
    let mut line = Vec::new();
    let length = bytes.take(most + 1).read_until(b'\n', &mut line)? as u64;
    if length > most {
        let why = format!("expected at most {MOST_OF_LINE} bytes a line, and {MOST_BYTES} in all");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, why));
    }
    *left -= length;
    line.pop_if(|last| *last == b'\n');
    Ok((length > 0).then_some(line))
}

/// Reads a recording. A last line that was cut short, because the machine went down, is left out.
pub(crate) fn read(path: &Path) -> Result<Recording, Failure> {
    let failed = |error: io::Error| Failure::io("read", path, &error);
    let mut bytes = lines_of(path, MOST_BYTES + 1).map_err(failed)?;
    let mut left = MOST_BYTES;
    let mut lines = std::iter::from_fn(|| line(&mut bytes, &mut left).transpose());
    let header = lines.next().transpose().map_err(failed)?.unwrap_or_default();
    let header = serde_json::from_slice::<Header>(&header).ok().filter(|header| header.schema == SCHEMA);
    let Some(header) = header else {
        return Err(Failure::Usage(format!(
            "{} is no recording: expected a first line {{\"schema\":\"{SCHEMA}\"}}",
            path.display()
        )));
    };
    let mut recording = Recording { header, ..Recording::default() };
    let mut wrong: Option<(usize, serde_json::Error)> = None;
    for (number, line) in (2..).zip(lines) {
        let line = match line {
            Ok(line) => line,
            // The end of a compressed file is missing.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => break,
            Err(error) => return Err(failed(error)),
        };
        if let Some((number, error)) = wrong {
            return Err(Failure::Usage(format!("{}, line {number}: {error}", path.display())));
        }
        match serde_json::from_slice(&line) {
            Ok(Line::Moment(moment)) => recording.moments.push(moment),
            Ok(Line::Part(part)) => recording.parts.push(part),
            Err(error) => wrong = Some((number, error)),
        }
    }
    Ok(recording)
}

#[cfg(test)]
mod tests {
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
        let mut recording = Writer::plain(&path).unwrap();
        recording.moment(&moment(1, &[("a", 1.0), ("b", 1.0)])).unwrap();
        recording.moment(&moment(2, &[("a", 1.0), ("b", 2.0)])).unwrap();
        let expected = [moment(1, &[("a", 1.0), ("b", 1.0)]), moment(2, &[("b", 2.0)])];
        assert_eq!(read(&path).unwrap().moments, expected);
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, format!("{text}{{\"at_unix_ms\":30")).unwrap();
        assert_eq!(read(&path).unwrap().moments.len(), 2);
        std::fs::write(&path, format!("{text}{{\"at_unix_ms\":30\n{{}}\n")).unwrap();
        assert!(format!("{:?}", read(&path).unwrap_err()).contains("line 4"));
        std::fs::write(&path, "{}\n").unwrap();
        assert!(format!("{:?}", read(&path).unwrap_err()).contains("is no recording"));
        assert!(!is_one(&path) && !is_one(folder.path()));
    }

    #[test]
    fn a_line_beyond_its_limit_and_a_file_beyond_its_limit_are_refused_by_number() {
        let text = b"one\ntwo".as_slice();
        let (mut bytes, mut left) = (text, 100);
        assert_eq!(line(&mut bytes, &mut left).unwrap().unwrap(), b"one");
        assert_eq!(line(&mut bytes, &mut left).unwrap().unwrap(), b"two");
        assert!(line(&mut bytes, &mut left).unwrap().is_none());
        let (mut bytes, mut left) = (text, 6);
        assert_eq!(line(&mut bytes, &mut left).unwrap().unwrap(), b"one");
        assert!(line(&mut bytes, &mut left).unwrap_err().to_string().contains("in all"));
        let mut endless = BufReader::new(io::repeat(b' '));
        let refused = line(&mut endless, &mut MOST_BYTES.clone()).unwrap_err();
        assert!(refused.to_string().contains("67108864 bytes a line"), "{refused}");
    }

    #[test]
    fn a_new_file_replaces_no_link() {
        let folder = tempfile::tempdir().unwrap();
        let [link, aim] = ["link", "aim"].map(|name| folder.path().join(name));
        std::os::unix::fs::symlink(&aim, &link).unwrap();
        assert!(Writer::compressed(&link, true, &Header::new(), None).is_err() && !aim.exists());
    }

    #[test]
    fn a_compressed_recording_keeps_all_lines_that_were_written_before_the_program_was_killed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("it.jsonl.gz");
        let header = Header { host: "blue".to_owned(), ..Header::new() };
        let mut recording = Writer::compressed(&path, false, &header, None).unwrap();
        let end = Part::End(End { cpu_s: 0.5, elapsed_s: 60.0, worse: None });
        for second in 1..=20 {
            recording.moment(&moment(second, &[("a", second as f64)])).unwrap();
        }
        // As a kill leaves it.
        let killed = folder.path().join("killed.gz");
        std::fs::copy(&path, &killed).unwrap();
        recording.part(&end).unwrap();
        let size = recording.finish().unwrap();
        assert_eq!(size, std::fs::metadata(&path).unwrap().len());
        let (whole, cut) = (read(&path).unwrap(), read(&killed).unwrap());
        assert!(is_one(&path) && is_one(&killed));
        assert_eq!((whole.moments.len(), whole.parts), (20, vec![end]));
        assert_eq!((&cut.header, cut.moments, cut.parts.len()), (&whole.header, whole.moments, 0));
    }
}
