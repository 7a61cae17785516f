//! Errors of a run.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use plimsoll_host::queue::QueueError;
use plimsoll_model::experiment::cpus::NoSuchCpus;
use plimsoll_model::frame::Failure;
use plimsoll_model::observation::{Fault, TOGETHER_NS};
use plimsoll_store::StoreError;

use crate::host_provider::ProviderError;

/// Reason why a run could not go on.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// A host could not be made.
    #[error(transparent)]
    Host(#[from] ProviderError),
    /// A host wants CPUs that are not there.
    #[error(transparent)]
    Cpus(#[from] NoSuchCpus),
    /// The certificate of a trial could not be made.
    #[error("make a certificate for the services: {0}")]
    Certificate(String),
    /// A service could not be started.
    #[error("the service `{service}` on `{host}`: {why}")]
    Service {
        /// Its name.
        service: String,
        /// Its host.
        host: String,
        /// Why.
        why: Failure,
    },
    /// A service runs and is ready on its own host, but cannot be reached from another.
    #[error("the service `{service}` on `{host}` answers there, and cannot be reached from `{from}`: {why}")]
    Unreached {
        /// Its name.
        service: String,
        /// Its host.
        host: String,
        /// Host of the attempt.
        from: String,
        /// The failure; boxed, so that errors stay small.
        why: Box<Failure>,
    },
    /// An agent could not set up its host, or failed at a request.
    #[error("the host `{host}`: {why}")]
    Agent {
        /// Its name.
        host: String,
        /// Why.
        why: Failure,
    },
    /// A hook failed.
    #[error("the hook `{hook}` on `{host}`: {why}")]
    Hook {
        /// Path of the hook in the experiment file.
        hook: String,
        /// The host.
        host: String,
        /// Why.
        why: Failure,
    },
    /// A load could not be run.
    #[error("the load `{load}` on `{host}`: {why}")]
    Load {
        /// Its name.
        load: String,
        /// Its host.
        host: String,
        /// Why.
        why: Failure,
    },
    /// The clock of a machine is not known well enough.
    #[error("loads must start on several machines within {} ms of each other, and the clock of `{host}` is {}", TOGETHER_NS / 1_000_000, known_to(*known))]
    Clock {
        /// The host.
        host: String,
        /// The largest error of the offset and the shortest round trip, both in nanoseconds.
        known: Option<(u64, u64)>,
    },
    /// The agent of a host went away, or did not answer, while the host was being set up.
    #[error("the agent on `{host}` {how}")]
    Lost {
        /// The host.
        host: String,
        /// How it went.
        how: String,
    },
    /// Measurements could not be stored.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A request to a queue failed.
    #[error(transparent)]
    Queue(#[from] QueueError),
    /// A task on a queue could not go on.
    #[error("block {block} on the machine `{machine}`: {what}")]
    Task {
        /// Which.
        block: u32,
        /// Where.
        machine: String,
        /// Why.
        what: String,
        /// Advice for the user, if there is any.
        advice: Option<String>,
    },
    /// Tasks of a queue end and leave nothing.
    #[error("the task of block {block} was gone {times} times and left no result in {}", folder.display())]
    NoResult {
        /// Which.
        block: u32,
        /// How often.
        times: u32,
        /// The folder of the results.
        folder: PathBuf,
    },
    /// The queue starts nothing.
    #[error("the queue started nothing within {} s: the first task {why}", within.as_secs_f64())]
    NotStarted {
        /// Elapsed time of the wait.
        within: Duration,
        /// Reason given by the queue.
        why: String,
    },
    /// Results of tasks cannot be read.
    #[error("reading the results of the tasks: {0}")]
    Results(io::Error),
}

fn known_to(known: Option<(u64, u64)>) -> String {
    let ms = |ns: u64| ns as f64 / 1e6;
    match known {
        None => "not known".into(),
        Some((within, way)) => {
            format!("known to ±{:.2} ms (the shortest round trip took {:.2} ms)", ms(within), ms(way))
        }
    }
}

/// Why a trial ended before its end.
#[derive(Debug, thiserror::Error)]
pub enum TrialStop {
    /// The user interrupts the run.
    #[error("interrupted")]
    Interrupted,
    /// The user skips the current phase; the trial goes on.
    #[error("skipped")]
    Skipped,
    /// A fault makes the trial worthless; the next may be better.
    #[error("{}", .0.what)]
    Fault(Fault),
    /// An error would hit the next trial, too.
    #[error(transparent)]
    Error(#[from] RunError),
}

impl From<ProviderError> for TrialStop {
    fn from(error: ProviderError) -> Self {
        match error {
            ProviderError::Interrupted => Self::Interrupted,
            error => Self::Error(error.into()),
        }
    }
}

impl From<StoreError> for TrialStop {
    fn from(error: StoreError) -> Self {
        Self::Error(error.into())
    }
}
