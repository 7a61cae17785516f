//! What the undo process does.

use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::process::ExitCode;

use nix::sys::signal::{SigSet, Signal};
use nix::sys::stat::{Mode, umask};

use super::entry::{Entry, Refusal};
use super::journal::Journal;
use super::setting;
use super::{Request, Task};
use crate::codec;

/// Does what it is asked to until nobody asks any more, then undoes it.
pub(crate) fn run(socket: UnixStream) -> ExitCode {
    // What it makes is for its owner alone, and is not kept from him either, whatever mask the user has.
    umask(Mode::S_IRWXG | Mode::S_IRWXO);
    // Whoever wants it to end early ends its controller: it goes on until all is undone.
    let mut deaf = SigSet::empty();
    for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGPIPE, Signal::SIGQUIT] {
        deaf.add(signal);
    }
    let told = deaf.thread_block().map_err(io::Error::from).and_then(|()| serve(socket));
    match told {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!("plimsoll: putting settings back: {error}; `plimsoll doctor` tries it again");
            ExitCode::FAILURE
        }
    }
}

fn serve(socket: UnixStream) -> io::Result<()> {
    let mut answers = socket.try_clone()?;
    let mut entries = Vec::new();
    let mut journal = None;
    for line in BufReader::new(socket).lines() {
        // A controller that was killed in the middle of a word ends it as well as one that says nothing.
        let Ok(line) = line else { break };
        let request = codec::from_line(&line).map_err(|error| Refusal::from(error.to_string()));
        let answer = request.and_then(|request| carry_out(&request, &mut journal, &mut entries));
        if codec::to_line(&answer).and_then(|line| answers.write_all(line.as_bytes())).is_err() {
            break;
        }
    }
    let undone: Vec<io::Result<()>> = entries.iter().rev().map(Entry::undo).collect();
    undone.into_iter().collect::<io::Result<()>>()?;
    journal.map_or(Ok(()), Journal::close)
}

/// Does one thing; how to undo it is written down before.
fn carry_out(
    request: &Request,
    journal: &mut Option<Journal>,
    entries: &mut Vec<Entry>,
) -> Result<(), Refusal> {
    let Request { task, path, value } = request;
    let mut entry = match task {
        Task::Set => Entry::of_setting(path, value)?,
        Task::Limit => Entry::of_limit(path, value)?,
        Task::Folder => Entry::of_folder(path)?,
        Task::Group => Entry::of_group(path)?,
    };
    let unwritten = |error: io::Error| Refusal::from(format!("writing down what it was: {error}"));
    let journal = match journal {
        Some(journal) => journal,
        None => journal.insert(Journal::open().map_err(unwritten)?),
    };
    journal.add(&entry).map_err(unwritten)?;
    let known = entry.clone();
    let done = match &entry {
        Entry::Setting { path, .. } => setting::write(path, value),
        Entry::Folder { .. } | Entry::Group { .. } => entry.make(),
    };
    if let Err(error) = done {
        // Nothing was changed, so nothing is to be undone.
        journal.rewrite(entries).map_err(unwritten)?;
        return Err(Refusal::of(&error));
    }
    let learned = entry != known;
    entries.push(entry);
    if learned { journal.rewrite(entries).map_err(unwritten) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_not_be_changed_is_not_undone() {
        let (mut journal, mut entries) = (None, Vec::new());
        // No number, which root may not write either.
        let request =
            Request { task: Task::Set, path: "/proc/sys/vm/stat_interval".into(), value: "soon".into() };
        let refusal = carry_out(&request, &mut journal, &mut entries).unwrap_err();
        assert!(!refusal.why.is_empty() && entries.is_empty(), "{refusal:?}");
        let journal = journal.expect("it was about to be changed");
        assert_eq!(journal.text(), "");
        journal.close().unwrap();
    }
}
