//! The files of a queue: each holds one message or several, written and flushed together.
//!
//! A record is a header of 24 bytes (a mark, the record's state, the lengths of envelope and text, and a CRC-32 of both), the envelope,
//! and the text as it will be sent. Numbers are little endian. The envelope is the sender and the recipients, each with a zero behind it.
//! A record that is cut, or does not fit its checksum, was never acknowledged. The state is written in place, and flushed with those of others
//! (`ends`): what a power cut undoes of it is delivered once more.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Read, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use crc32fast::Hasher;

use super::flushes::Flushes;
use crate::service::smtp::{Envelope, Ticket};

/// The extension of files with messages that are held.
pub(super) const HELD: &str = "held";

/// A message to store.
#[derive(Debug)]
pub(super) struct Mail {
    /// Whose client waits for it.
    pub(super) ticket: Ticket,
    pub(super) envelope: Envelope,
    /// The headers that this relay puts before it.
    pub(super) trace: Vec<u8>,
    /// The message as it came, with its end.
    pub(super) text: Vec<u8>,
}

const MARK: [u8; 4] = *b"PLQ1";
const HEADER: usize = 24;
/// Where the state stands in a header.
const STATE: u64 = 4;
/// How much is written at a time, in bytes.
const BUFFER: usize = 256 << 10;

/// State of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Waiting = 0,
    Delivered = 1,
    /// The next service refused it for good. It is kept for the queue's administrator.
    Held = 2,
}

/// A file of the queue.
#[derive(Debug)]
pub(super) struct Segment {
    path: PathBuf,
    /// Messages that are not done with.
    left: AtomicU32,
    /// Whether one of them is held.
    holds: AtomicBool,
    /// Whether there are several.
    shared: bool,
}

/// A message in the queue.
#[derive(Debug)]
pub(super) struct Job {
    segment: Arc<Segment>,
    /// Where its record begins.
    at: u64,
    /// Where its text begins, and how long it is.
    pub(super) text: (u64, u64),
    pub(super) envelope: Envelope,
    /// Attempts that failed.
    pub(super) failures: u32,
}

impl Job {
    /// The file that the text is in.
    pub(super) fn open(&self) -> io::Result<File> {
        File::open(&self.segment.path)
    }

    /// Marks the message as delivered. Returns its file if that still exists, with a mark to flush.
    pub(super) fn done(self) -> io::Result<Option<Arc<Segment>>> {
        self.end(State::Delivered)
    }

    /// Marks the message as kept, and not for delivery. Gives what [`Self::done`] gives.
    pub(super) fn hold(self) -> io::Result<Option<Arc<Segment>>> {
        self.segment.holds.store(true, Ordering::Release);
        self.end(State::Held)
    }

    /// The file goes with its last message, or is put aside where one of them is held.
    fn end(self, state: State) -> io::Result<Option<Arc<Segment>>> {
        let segment = &self.segment;
        if segment.shared || state == State::Held {
            let file = OpenOptions::new().write(true).open(&segment.path)?;
            file.write_all_at(&[state as u8], self.at + STATE)?;
        }
        if segment.left.fetch_sub(1, Ordering::AcqRel) > 1 {
            return Ok(Some(self.segment));
        }
        match segment.holds.load(Ordering::Acquire) {
            true => std::fs::rename(&segment.path, segment.path.with_extension(HELD)),
            false => std::fs::remove_file(&segment.path),
        }?;
        Ok(None)
    }
}

impl Segment {
    /// Flushes the marks of its messages, unless it went with the last of them meanwhile.
    pub(super) fn flush(&self, flushes: &Flushes) -> io::Result<()> {
        match self.left.load(Ordering::Acquire) {
            0 => Ok(()),
            _ => flushes.flush(&File::open(&self.path)?),
        }
    }
}

/// Writes messages to a file that is not there yet, and flushes it.
pub(super) fn write(path: PathBuf, mails: &[Mail], flushes: &Flushes) -> io::Result<Vec<Job>> {
    let file = OpenOptions::new().write(true).create_new(true).open(&path)?;
    let segment = segment(path, mails.len() as u32);
    let mut out = BufWriter::with_capacity(BUFFER, file);
    let mut at = 0;
    let mut jobs = Vec::with_capacity(mails.len());
    for mail in mails {
        let envelope = pack(&mail.envelope);
        let length = (mail.trace.len() + mail.text.len()) as u64;
        let mut hasher = Hasher::new();
        [&envelope, &mail.trace, &mail.text].into_iter().for_each(|part| hasher.update(part));
        let mut header = [0; HEADER];
        header[..4].copy_from_slice(&MARK);
        header[4] = State::Waiting as u8;
        header[8..12].copy_from_slice(&(envelope.len() as u32).to_le_bytes());
        header[12..20].copy_from_slice(&length.to_le_bytes());
        header[20..].copy_from_slice(&hasher.finalize().to_le_bytes());
        for part in [&header[..], &envelope, &mail.trace, &mail.text] {
            out.write_all(part)?;
        }
        let text = (at + (HEADER + envelope.len()) as u64, length);
        jobs.push(Job {
            segment: Arc::clone(&segment),
            at,
            text,
            envelope: mail.envelope.clone(),
            failures: 0,
        });
        at = text.0 + text.1;
    }
    flushes.flush(&out.into_inner().map_err(io::IntoInnerError::into_error)?)?;
    Ok(jobs)
}

fn segment(path: PathBuf, left: u32) -> Arc<Segment> {
    Arc::new(Segment { path, left: left.into(), holds: AtomicBool::new(false), shared: left > 1 })
}

/// Reads the messages of a file that are still to be delivered. What was not acknowledged is left out; where nothing remains, so is the
/// file, which is then removed.
pub(super) fn read(path: PathBuf) -> io::Result<Vec<Job>> {
    let mut bytes = Vec::new();
    // A foreign entry of the folder may be a link, or a FIFO.
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
    OpenOptions::new().read(true).custom_flags(flags).open(&path)?.read_to_end(&mut bytes)?;
    let (mut found, mut at, mut holds) = (Vec::new(), 0, false);
    while let Some(record) = parse(&bytes[at..]) {
        if record.state == State::Waiting as u8 {
            found.push((at as u64, record.envelope, record.text));
        }
        holds |= record.state == State::Held as u8;
        at += (record.text.0 + record.text.1) as usize;
    }
    drop(bytes);
    if found.is_empty() && !holds {
        std::fs::remove_file(&path)?;
        return Ok(Vec::new());
    }
    let segment = Arc::new(Segment {
        path,
        left: AtomicU32::new(found.len() as u32),
        holds: AtomicBool::new(holds),
        // Another of the file's messages may be done with, and its mark must be a different one.
        shared: true,
    });
    let job = |(at, envelope, (begin, length)): (u64, Envelope, (u64, u64))| Job {
        segment: Arc::clone(&segment),
        at,
        text: (at + begin, length),
        envelope,
        failures: 0,
    };
    Ok(found.into_iter().map(job).collect())
}

struct Record {
    state: u8,
    envelope: Envelope,
    /// Where the text begins in the record, and how long it is.
    text: (u64, u64),
}

/// The record at the beginning of `bytes`; `None` if there is no whole one.
fn parse(bytes: &[u8]) -> Option<Record> {
    let (header, rest) = bytes.split_at_checked(HEADER)?;
    if header[..4] != MARK {
        return None;
    }
    let word = |at: usize| u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
    let envelope_length = word(8) as usize;
    let length = u64::from(word(16)) << 32 | u64::from(word(12));
    let (envelope, rest) = rest.split_at_checked(envelope_length)?;
    let text = rest.get(..usize::try_from(length).ok()?)?;
    let mut hasher = Hasher::new();
    hasher.update(envelope);
    hasher.update(text);
    let fits = hasher.finalize() == word(20);
    let text = ((HEADER + envelope_length) as u64, length);
    fits.then(|| Record { state: header[4], envelope: unpack(envelope), text })
}

fn pack(envelope: &Envelope) -> Vec<u8> {
    let addresses = std::iter::once(&envelope.sender).chain(&envelope.recipients);
    addresses.flat_map(|address| address.iter().copied().chain([0])).collect()
}

fn unpack(bytes: &[u8]) -> Envelope {
    let mut addresses =
        bytes.strip_suffix(b"\0").unwrap_or(bytes).split(|&byte| byte == 0).map(<[u8]>::to_vec);
    Envelope { sender: addresses.next().unwrap_or_default(), recipients: addresses.collect() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::service::smtp::Ticket;

    fn mail(sender: &str, text: &str) -> Mail {
        Mail {
            ticket: Ticket::default(),
            envelope: Envelope { sender: sender.into(), recipients: vec![b"b@x".to_vec(), b"c@x".to_vec()] },
            trace: b"Received: x\r\n".to_vec(),
            text: text.into(),
        }
    }

    fn unlisted() -> Flushes {
        Flushes::open(None).unwrap()
    }

    fn senders(jobs: &[Job]) -> Vec<&str> {
        jobs.iter().map(|job| std::str::from_utf8(&job.envelope.sender).unwrap()).collect()
    }

    #[test]
    fn what_was_written_is_read_and_what_was_done_with_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("1");
        let mails = [mail("a@x", "one\r\n.\r\n"), mail("", "two\r\n.\r\n"), mail("d@x", "three\r\n.\r\n")];
        let mut jobs = write(path.clone(), &mails, &unlisted()).unwrap();
        let found = read(path.clone()).unwrap();
        assert_eq!(senders(&found), ["a@x", "", "d@x"]);
        assert_eq!(found[1].envelope, mails[1].envelope);
        let mut text = vec![0; found[1].text.1 as usize];
        found[1].open().unwrap().read_exact_at(&mut text, found[1].text.0).unwrap();
        assert_eq!(text, b"Received: x\r\ntwo\r\n.\r\n");
        jobs.remove(0).done().unwrap();
        assert_eq!(senders(&read(path.clone()).unwrap()), ["", "d@x"]);
        for job in read(path.clone()).unwrap() {
            job.done().unwrap();
        }
        assert!(!path.exists());
    }

    #[test]
    fn a_message_that_is_held_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("1");
        let mut jobs =
            write(path.clone(), &[mail("a@x", "one\r\n.\r\n"), mail("b@x", "two\r\n.\r\n")], &unlisted())
                .unwrap();
        jobs.remove(1).hold().unwrap();
        jobs.remove(0).done().unwrap();
        assert!(!path.exists() && path.with_extension(HELD).exists());
    }

    #[test]
    fn a_file_that_was_cut_anywhere_loses_its_last_message_alone() {
        let folder = tempfile::tempdir().unwrap();
        let whole = folder.path().join("1");
        let jobs =
            write(whole.clone(), &[mail("a@x", "one\r\n.\r\n"), mail("b@x", "two\r\n.\r\n")], &unlisted())
                .unwrap();
        let second = jobs[1].at as usize;
        let bytes = std::fs::read(&whole).unwrap();
        for cut in 0..bytes.len() {
            let path = folder.path().join("cut");
            std::fs::write(&path, &bytes[..cut]).unwrap();
            let expected: &[&str] = if cut < second { &[] } else { &["a@x"] };
            assert_eq!(senders(&read(path.clone()).unwrap()), expected, "cut at {cut}");
            assert_eq!(path.exists(), !expected.is_empty());
        }
    }
}
