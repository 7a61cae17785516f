//! Queues for machines: tasks are submitted, watched and cancelled; a file for each kind of queue.
//!
//! A task is a command whose number gives its work. Its results are files, which the queue does not know.

mod kubernetes;
mod slurm;

use std::fmt;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};

pub use kubernetes::KubernetesQueue;
pub use slurm::SlurmQueue;

/// A queue, for the tasks of one run.
pub trait Queue {
    /// Submits tasks, by their numbers. After an error, some may have been accepted.
    ///
    /// # Errors
    /// When the queue does not accept them.
    fn submit(&self, numbers: &[u32]) -> Result<(), QueueError>;

    /// The tasks of the run that wait or run, also those that another process has submitted.
    ///
    /// # Errors
    /// When the queue cannot be asked.
    fn tasks(&self) -> Result<Vec<Task>, QueueError>;

    /// Ends all tasks of the run.
    ///
    /// # Errors When the queue cannot be reached.
    fn cancel(&self) -> Result<(), QueueError>;

    /// Largest number of tasks at once; `None` if the queue limits that itself.
    fn at_once(&self) -> Option<u32> {
        None
    }

    /// Removes ended tasks from the queue.
    ///
    /// # Errors When the queue cannot be reached.
    fn forget_ended(&self) -> Result<(), QueueError> {
        Ok(())
    }
}

/// The submitted program, which every machine of the queue sees at the same place.
#[derive(Clone, Debug)]
pub struct Work {
    /// Name of the run's tasks, which nothing else in the queue has.
    pub name: String,
    /// The program, and its arguments before the number of the task and the name of the machine.
    pub command: Vec<String>,
    /// Folder of the tasks' messages, a file for each.
    pub messages: PathBuf,
}

/// A task that has not ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// Its number.
    pub number: u32,
    /// The state of the task.
    pub state: TaskState,
}

/// The state of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TaskState {
    /// The task waits, for this reason as the queue gives it; empty if it gives none.
    Waiting(String),
    /// The task runs on this machine.
    Running(String),
}

impl TaskState {
    /// Its machine, if it runs.
    pub fn machine(&self) -> Option<&str> {
        match self {
            Self::Running(machine) => Some(machine),
            Self::Waiting(_) => None,
        }
    }
}

/// Error of a queue.
#[derive(Debug, thiserror::Error)]
pub enum QueueError {
    /// Its program could not be started.
    #[error("starting {program}: {source}")]
    Start {
        /// The program.
        program: &'static str,
        /// The system's error.
        source: io::Error,
    },
    /// Its program failed.
    #[error("{program} failed: {words}")]
    Failed {
        /// The program.
        program: &'static str,
        /// Its output.
        words: String,
    },
}

impl QueueError {
    /// Advice for the user.
    pub fn advice(&self) -> &'static str {
        match self {
            Self::Start { program: KUBECTL, .. } => "kubectl, with a configuration for the cluster",
            Self::Start { .. } => {
                "Slurm's client programs (Debian: `apt-get install slurm-client`), on a machine from which jobs may be submitted"
            }
            Self::Failed { program: KUBECTL, .. } => {
                "`kubectl auth can-i create jobs` shows whether that is allowed; namespace and context can be said in `--on kubernetes:...`"
            }
            Self::Failed { program: "sbatch", .. } => {
                "`sinfo` lists the available resources, and `--on slurm:...` the requested ones"
            }
            Self::Failed { .. } => "`scontrol ping` shows whether Slurm's controller answers",
        }
    }
}

/// Kubernetes' own client.
const KUBECTL: &str = "kubectl";

/// Output of a queue's program for an input.
fn output(program: &'static str, mut command: Command, input: &str) -> Result<String, QueueError> {
    let failed = |source| QueueError::Start { program, source };
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    if let Some(mut stdin) = child.stdin.take() {
        // A program that does not read to the end gives its reason.
        stdin.write_all(input.as_bytes()).ok();
    }
    let output = child.wait_with_output().map_err(failed)?;
    if !output.status.success() {
        let words = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(QueueError::Failed { program, words });
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

impl fmt::Display for TaskState {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Waiting(why) if why.is_empty() => write!(out, "waits"),
            Self::Waiting(why) => write!(out, "waits ({why})"),
            Self::Running(machine) => write!(out, "runs on {machine}"),
        }
    }
}
