//! What can go wrong while an experiment is carried out.

use plimsoll_model::experiment::cpus::NoSuchCpus;
use plimsoll_model::frame::Failure;
use plimsoll_model::observation::Fault;
use plimsoll_store::StoreError;

use crate::host_provider::ProviderError;

/// Why a run could not go on.
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
        /// Where it was tried from.
        from: String,
        /// What was met; boxed, so that errors stay small.
        why: Box<Failure>,
    },
    /// A host could not be set up, or could not do what it was asked to.
    #[error("the host `{host}`: {why}")]
    Agent {
        /// Its name.
        host: String,
        /// Why.
        why: Failure,
    },
    /// A program around what is measured failed.
    #[error("the hook `{hook}` on `{host}`: {why}")]
    Hook {
        /// Which: a path into the file.
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
    /// The agent of a host went away, or did not answer, while the host was being set up.
    #[error("the agent on `{host}` {how}")]
    Lost {
        /// The host.
        host: String,
        /// How it went.
        how: String,
    },
    /// What was measured could not be stored.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Why a trial ended before its end.
#[derive(Debug, thiserror::Error)]
pub enum TrialStop {
    /// The user wants it to end.
    #[error("interrupted")]
    Interrupted,
    /// The user wants the phase to end that is under way; the trial goes on.
    #[error("skipped")]
    Skipped,
    /// Something happened that makes the trial worthless; the next may be better.
    #[error("{}", .0.what)]
    Fault(Fault),
    /// Something happened that would happen to the next trial, too.
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
