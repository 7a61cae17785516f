//! A controller in a process of its own, to be killed.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, ExitCode, Stdio};

use plimsoll_host::Rig;
use plimsoll_model::experiment::HostKind;

use crate::agent::Agent;
use crate::scenarios;

/// The argument that makes this program a controller; the kind of its hosts and the number of processes to leave in each follow.
pub(crate) const ARGUMENT: &str = "test-controller";

/// Makes a rig, forks thousands of processes in it, reports that, and goes on forking for a while.
pub(crate) fn run() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(2).collect();
    let [kind, number] = &arguments[..] else { return ExitCode::FAILURE };
    let access = plimsoll_host::enter();
    let spec = if kind == "local" { scenarios::locals() } else { scenarios::row() };
    let mut rig = match access.and_then(|_| Rig::build(&spec)) {
        Ok(rig) => rig,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    };
    let hosts: Vec<String> = spec.hosts.iter().map(|h| h.name.clone()).collect();
    let mut agents: Vec<Agent> = hosts.iter().map(|h| Agent::of(&mut rig, h)).collect();
    for agent in &mut agents {
        agent.ask(&format!("breed {number}"));
    }
    println!("ready");
    std::io::stdout().flush().expect("the test listens");
    // The test kills it in the middle. The limit keeps process ids free if it does not.
    for _ in 0..60 {
        for agent in &mut agents {
            agent.ask("breed 10");
        }
    }
    ExitCode::FAILURE
}

/// A running controller. It is killed on drop, also by a failed test.
pub(crate) struct Controller(Child);

impl Controller {
    /// Starts it, and waits until its hosts are full.
    pub(crate) fn start(kind: HostKind, processes: u32) -> Self {
        let kind = if kind == HostKind::Local { "local" } else { "namespace" };
        let child = Command::new("/proc/self/exe")
            .args([ARGUMENT, kind, &processes.to_string()])
            .stdout(Stdio::piped())
            .spawn()
            .expect("this program starts");
        let mut controller = Self(child);
        let mut line = String::new();
        let stdout = controller.0.stdout.as_mut().expect("piped");
        BufReader::new(stdout).read_line(&mut line).expect("it speaks");
        assert_eq!(line, "ready\n", "the controller could not make its rig");
        controller
    }

    pub(crate) fn id(&self) -> u32 {
        self.0.id()
    }

    /// Kills it with SIGKILL.
    pub(crate) fn kill(&mut self) {
        self.0.kill().expect("killed");
        self.0.wait().expect("waited");
    }
}

impl Drop for Controller {
    fn drop(&mut self) {
        self.kill();
    }
}
