//! The undo process.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::process::ExitCode;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use nix::sys::signal::{SigSet, Signal};
use nix::sys::stat::{Mode, umask};
use nix::unistd::getppid;

use super::entry::{Entry, Refusal};
use super::journal::Journal;
use super::lock::{Claim, Lock, LockFile};
use super::setting;
use super::{Reply, Request, Task};
use crate::codec;
use crate::leftovers::Mark;

/// Carries out requests until the controller's end, then undoes them.
pub(crate) fn run(socket: UnixStream) -> ExitCode {
    // Its files are for their owner alone, whatever mask the user has.
    umask(Mode::S_IRWXG | Mode::S_IRWXO);
    // Signals do not end it before all is undone; the end of its controller does.
    let mut deaf = SigSet::empty();
    for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGPIPE, Signal::SIGQUIT] {
        deaf.add(signal);
    }
    let result = deaf.thread_block().map_err(io::Error::from).and_then(|()| serve(socket));
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!("plimsoll: putting settings back: {error}; `plimsoll doctor` tries it again");
            ExitCode::FAILURE
        }
    }
}

fn serve(socket: UnixStream) -> io::Result<()> {
    let controller = Mark::of(getppid().as_raw().unsigned_abs()).map(|mark| mark.to_string());
    let answers = socket.try_clone()?;
    let (sender, events) = channel();
    let reader = sender.clone();
    thread::Builder::new().spawn(move || {
        // A controller that was killed in the middle of a line ends it as well.
        for line in BufReader::new(socket).lines().map_while(Result::ok) {
            if reader.send(Event::Request(line)).is_err() {
                return;
            }
        }
        reader.send(Event::Ended).ok();
    })?;
    // A controller that is gone already sends no requests.
    let Ok(controller) = controller else { return Ok(()) };
    let mut undo = Undo::new(controller);
    let mut wait = Conversation { answers, events, sender };
    while let Ok(Event::Request(line)) = wait.events.recv() {
        let request = codec::from_line(&line).map_err(|error| Refusal::from(error.to_string()));
        let answer = match request.and_then(|request| undo.carry_out(&request, &mut wait)) {
            Ok(answer) => answer,
            Err(refusal) => Reply::Refused(refusal),
        };
        if matches!(answer, Reply::Ended) || wait.answer(&answer).is_err() {
            break;
        }
    }
    undo.finish()
}

enum Event {
    Request(String),
    Locked(io::Result<Lock>),
    /// The controller has closed its end, or was killed.
    Ended,
}

/// The undo process's end of the conversation with its controller.
struct Conversation {
    answers: UnixStream,
    events: Receiver<Event>,
    sender: Sender<Event>,
}

impl Conversation {
    fn answer(&mut self, answer: &Reply) -> io::Result<()> {
        self.answers.write_all(codec::to_line(answer)?.as_bytes())
    }

    /// Waits for a lock as long as the controller lives; `None` after its end.
    fn wait_for(&mut self, file: LockFile) -> Result<Option<Lock>, Refusal> {
        let sender = self.sender.clone();
        let waiting = thread::Builder::new().spawn(move || sender.send(Event::Locked(file.take())).ok());
        waiting.map_err(|error| Refusal::of(&error))?;
        match self.events.recv() {
            Ok(Event::Locked(lock)) => lock.map(Some).map_err(|error| Refusal::of(&error)),
            // The controller sends nothing while it waits for a reply, except its end.
            Ok(Event::Request(_) | Event::Ended) | Err(_) => Ok(None),
        }
    }
}

/// Changes so far, with their locks.
struct Undo {
    /// Mark of the controller.
    controller: String,
    journal: Option<Journal>,
    entries: Vec<Entry>,
    /// The locks of the settings among the entries.
    locks: BTreeMap<String, Lock>,
}

impl Undo {
    fn new(controller: String) -> Self {
        Self { controller, journal: None, entries: Vec::new(), locks: BTreeMap::new() }
    }

    /// Carries out a request, after storing the entry that undoes it.
    fn carry_out(&mut self, request: &Request, wait: &mut Conversation) -> Result<Reply, Refusal> {
        if request.task == Task::Forget {
            return self.forget(&request.entry()?);
        }
        let mut entry = request.entry()?;
        if self.journal.is_none() {
            self.journal = Some(Journal::open().map_err(|error| unwritten(&error))?);
        }
        let newly_locked = entry.lock_name().filter(|name| !self.locks.contains_key(name));
        if let Some(name) = &newly_locked {
            if let Some(answer) = self.lock(name, request, wait)? {
                return Ok(answer);
            }
            match self.claim(name, request) {
                Ok(claimed) => entry = claimed,
                Err(refusal) => {
                    self.unlock(name)?;
                    return Err(refusal);
                }
            }
        }
        let known = entry.clone();
        let done = self.journal()?.add(&entry).map_err(|error| unwritten(&error)).and_then(|()| {
            let done = match (&mut entry, &request.value) {
                (Entry::Setting { path, .. }, Some(value)) => setting::write(path, value),
                (Entry::Setting { .. }, None) => Ok(()),
                (Entry::Folder { .. } | Entry::Group { .. }, _) => entry.make(),
            };
            done.map_err(|error| Refusal::of(&error))
        });
        if let Err(refusal) = done {
            // The change was not made. The journal drops its entry.
            self.rewrite()?;
            if let Some(name) = &newly_locked {
                self.unlock(name)?;
            }
            return Err(refusal);
        }
        let learned = entry != known;
        self.entries.push(entry);
        if learned {
            self.rewrite()?;
        }
        Ok(Reply::Done)
    }

    /// Takes the lock of a setting when it is this run's turn; else the reply.
    fn lock(
        &mut self,
        name: &str,
        request: &Request,
        wait: &mut Conversation,
    ) -> Result<Option<Reply>, Refusal> {
        let failed = |error: io::Error| Refusal::from(format!("locking it: {error}"));
        let file = LockFile::open(self.journal()?.folder(), name).map_err(failed)?;
        let lock = match file.try_take().map_err(failed)? {
            Ok(lock) => lock,
            Err(busy) => {
                let claim = busy.claim();
                let holder =
                    claim.map_or_else(|| "another run".to_owned(), |claim| holder(&claim.controller));
                let held = Reply::Held { holder };
                if !request.wait {
                    return Ok(Some(held));
                }
                wait.answer(&held).map_err(|error| Refusal::of(&error))?;
                match wait.wait_for(busy)? {
                    Some(lock) => lock,
                    None => return Ok(Some(Reply::Ended)),
                }
            }
        };
        self.locks.insert(name.to_owned(), lock);
        Ok(None)
    }

    /// Entry of a locked setting, stored in its lock. An original left by a killed holder is the value to restore.
    fn claim(&mut self, name: &str, request: &Request) -> Result<Entry, Refusal> {
        // A value read before the lock was taken may be one that another run had set.
        let mut entry = request.entry()?;
        let (Some(lock), Entry::Setting { path, before, .. }) = (self.locks.get_mut(name), &mut entry) else {
            return Ok(entry);
        };
        if let Some(original) = lock.inherited() {
            setting::allowed(path, original).map_err(|why| format!("it could not be put back: {why}"))?;
            original.clone_into(before);
        }
        let claim = Claim { controller: self.controller.clone(), original: before.clone() };
        lock.write(&claim).map_err(|error| unwritten(&error))?;
        Ok(entry)
    }

    /// Gives up restoring a kept setting, which another process owns now.
    fn forget(&mut self, kept: &Entry) -> Result<Reply, Refusal> {
        let Some(name) = kept.lock_name() else { return Ok(Reply::Done) };
        self.entries.retain(|entry| entry.lock_name().as_ref() != Some(&name));
        self.rewrite()?;
        self.unlock(&name)?;
        Ok(Reply::Done)
    }

    fn unlock(&mut self, name: &str) -> Result<(), Refusal> {
        self.locks.remove(name).map_or(Ok(()), Lock::abandon).map_err(|error| unwritten(&error))
    }

    fn journal(&mut self) -> Result<&mut Journal, Refusal> {
        self.journal.as_mut().ok_or_else(|| Refusal::from("nothing was changed yet"))
    }

    fn rewrite(&mut self) -> Result<(), Refusal> {
        self.journal
            .as_mut()
            .map_or(Ok(()), |journal| journal.rewrite(&self.entries))
            .map_err(|error| unwritten(&error))
    }

    /// Undoes all entries, the last first. A setting that could not be restored leaves its original in its lock.
    fn finish(mut self) -> io::Result<()> {
        let mut first_error = None;
        for entry in self.entries.iter().rev() {
            if let Err(error) = entry.undo() {
                if let Some(name) = entry.lock_name() {
                    self.locks.remove(&name);
                }
                first_error.get_or_insert(error);
            }
        }
        for (_, lock) in self.locks {
            if let Err(error) = lock.release() {
                first_error.get_or_insert(error);
            }
        }
        match first_error {
            Some(error) => Err(error),
            None => self.journal.map_or(Ok(()), Journal::close),
        }
    }
}

fn unwritten(error: &io::Error) -> Refusal {
    Refusal::from(format!("recording its old value: {error}"))
}

/// The controller of another run, for people: `process 12 (plimsoll run slow.toml)`.
fn holder(controller: &str) -> String {
    let pid = controller.split(':').next().unwrap_or_default();
    let command = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let command = String::from_utf8_lossy(&command).replace('\0', " ");
    match command.trim() {
        "" => format!("process {pid}"),
        command => format!("process {pid} ({})", command.escape_debug()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_not_be_changed_is_not_undone() {
        let (answers, _theirs) = UnixStream::pair().unwrap();
        let (sender, events) = channel();
        let mut undo = Undo::new(crate::leftovers::own_mark().unwrap());
        // No number, which root may not write either.
        let request = Request {
            task: Task::Set,
            path: "/proc/sys/vm/stat_interval".into(),
            value: Some("soon".into()),
            wait: true,
        };
        let refusal = undo.carry_out(&request, &mut Conversation { answers, events, sender }).unwrap_err();
        assert!(!refusal.why.is_empty() && undo.entries.is_empty() && undo.locks.is_empty(), "{refusal:?}");
        let journal = undo.journal.expect("it was about to be changed");
        assert_eq!(journal.text(), "");
        journal.close().unwrap();
    }
}
