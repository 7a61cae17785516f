//! The caretaker's own process.

use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::ExitCode;

use nix::sys::signal::{SigSet, Signal};
use nix::sys::stat::{Mode, umask};

use super::debt::{Debt, Refusal};
use super::journal::Journal;
use super::setting;
use super::{DONE, FAILED, FORBIDDEN};

/// Does what it is asked to until nobody asks any more, then undoes it.
pub(crate) fn run(socket: UnixStream) -> ExitCode {
    // What it makes is for its owner alone, and is not kept from him either, whatever mask the user has.
    umask(Mode::S_IRWXG | Mode::S_IRWXO);
    // Whoever wants it to end early ends its controller; it cannot be talked out of its debts.
    let mut deaf = SigSet::empty();
    for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGPIPE, Signal::SIGQUIT] {
        deaf.add(signal);
    }
    let told = deaf.thread_block().map_err(io::Error::from).and_then(|()| serve(socket));
    match told {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("plimsoll: putting settings back: {error}; `plimsoll doctor` tries it again");
            ExitCode::FAILURE
        }
    }
}

fn serve(socket: UnixStream) -> io::Result<()> {
    let mut answers = socket.try_clone()?;
    let mut debts = Vec::new();
    let mut journal = None;
    for line in BufReader::new(socket).lines() {
        // A controller that was killed in the middle of a word ends it as well as one that says nothing.
        let Ok(line) = line else { break };
        let answer = match incur(&line, &mut journal, &mut debts) {
            Ok(()) => format!("{DONE}\t\n"),
            Err(refusal) => {
                let word = if refusal.forbidden { FORBIDDEN } else { FAILED };
                format!("{word}\t{}\n", refusal.why.replace('\n', " "))
            }
        };
        if answers.write_all(answer.as_bytes()).is_err() {
            break;
        }
    }
    let settled: Vec<io::Result<()>> = debts.iter().rev().map(Debt::settle).collect();
    settled.into_iter().collect::<io::Result<()>>()?;
    journal.map_or(Ok(()), Journal::close)
}

/// Does one thing; what it owes is written down before.
fn incur(line: &str, journal: &mut Option<Journal>, debts: &mut Vec<Debt>) -> Result<(), Refusal> {
    let mut fields = line.splitn(3, '\t');
    let (what, path, value) = (fields.next(), fields.next(), fields.next());
    let (Some(what), Some(path), Some(value)) = (what, path, value) else {
        return Err("this is no order".into());
    };
    let path = Path::new(path);
    let mut owed = match what {
        "set" => Debt::of_setting(path, value)?,
        "limit" => Debt::of_limit(path, value)?,
        "folder" => Debt::of_folder(path)?,
        "group" => Debt::of_group(path)?,
        _ => return Err("this is no order".into()),
    };
    let unwritten = |error: io::Error| Refusal::from(format!("writing down what it was: {error}"));
    let journal = match journal {
        Some(journal) => journal,
        None => journal.insert(Journal::open().map_err(unwritten)?),
    };
    journal.add(&owed).map_err(unwritten)?;
    let known = owed.clone();
    let done = match &owed {
        Debt::Setting { path, .. } => setting::write(path, value),
        Debt::Folder { .. } | Debt::Group { .. } => owed.make(),
    };
    if let Err(error) = done {
        // Nothing was changed, so nothing is owed.
        journal.rewrite(debts).map_err(unwritten)?;
        return Err(Refusal::of(&error));
    }
    let learned = owed != known;
    debts.push(owed);
    if learned { journal.rewrite(debts).map_err(unwritten) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_not_be_changed_is_not_owed() {
        let (mut journal, mut debts) = (None, Vec::new());
        // No number, which root may not write either.
        let refusal = incur("set\t/proc/sys/vm/stat_interval\tsoon", &mut journal, &mut debts).unwrap_err();
        assert!(!refusal.why.is_empty() && debts.is_empty(), "{refusal:?}");
        let journal = journal.expect("it was about to be changed");
        assert_eq!(journal.text(), "");
        journal.close().unwrap();
    }
}
