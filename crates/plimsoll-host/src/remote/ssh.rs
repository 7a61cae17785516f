//! Machines that the system's own ssh(1) reaches.

use std::process::Command;
use std::time::Duration;

use super::bring::{self, Program};

/// The program; found by the user's `PATH`.
const SSH: &str = "ssh";
/// How long a connection may take to be made at the most, in seconds.
const CONNECT_S: u64 = 20;
/// Number of ssh's own probes that may stay unanswered before it ends.
const UNANSWERED: u64 = 3;

/// Command that starts the agent on a machine, and brings it along if it is missing.
pub(super) fn command(destination: &str, program: &Program, lost_after: Duration) -> Command {
    let mut command = Command::new(SSH);
    // No terminal and no forwarding, only the agent's streams, and no questions to the user. Keys, jump hosts and shared connections are as
    // configured.
    command.args(["-T", "-x", "-a"]);
    let every = (lost_after.as_secs() / UNANSWERED).max(1);
    let connect = lost_after.as_secs().clamp(1, CONNECT_S);
    let options = [
        "BatchMode=yes".to_owned(),
        "ClearAllForwardings=yes".to_owned(),
        "RemoteCommand=none".to_owned(),
        format!("ConnectTimeout={connect}"),
        format!("ServerAliveInterval={every}"),
        format!("ServerAliveCountMax={UNANSWERED}"),
    ];
    for option in &options {
        command.args(["-o", option]);
    }
    command.args(["--", destination, &bring::remote_command(program)]);
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_destination_stands_behind_the_options_and_nobody_is_asked() {
        let program = Program::of_bytes(b"program");
        let command = command("admin@db1", &program, Duration::from_secs(30));
        let args: Vec<_> = command.get_args().map(|arg| arg.to_string_lossy().into_owned()).collect();
        assert!(
            args.contains(&"BatchMode=yes".to_owned()) && args.contains(&"ServerAliveInterval=10".to_owned())
        );
        let behind: Vec<_> = args.iter().skip_while(|arg| *arg != "--").collect();
        assert_eq!((behind.len(), behind[1].as_str()), (3, "admin@db1"));
    }
}
