//! By any program that gives a pipe to an agent.

use std::process::Command;

/// The command; nothing of it is given to a shell.
pub(super) fn command(words: &[String]) -> Command {
    let mut words = words.iter();
    let mut command = Command::new(words.next().map_or("", String::as_str));
    command.args(words);
    command
}
