//! Machines that any program reaches by a pipe to an agent.

use std::process::Command;

/// The command, without a shell.
pub(super) fn command(words: &[String]) -> Command {
    let mut words = words.iter();
    let mut command = Command::new(words.next().map_or("", String::as_str));
    command.args(words);
    command
}
