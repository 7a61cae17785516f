//! Settings of a load of any protocol for the event loop: how many, how long, how fast.

use std::time::Duration;

use plimsoll_model::experiment::open_loop::OpenLoop;

/// Settings of a load of any protocol for the event loop.
#[derive(Clone, Debug)]
pub(super) struct Course {
    /// Threads.
    pub(super) generators: u32,
    /// The most connections of each generator at a time.
    pub(super) concurrency: u32,
    /// Work of each generator in all: connections in closed loop, requests in open loop.
    pub(super) connections: Option<u64>,
    /// How many requests each generator sends in all, in closed loop.
    pub(super) requests: Option<u64>,
    pub(super) duration: Option<Duration>,
    pub(super) open: Option<OpenLoop>,
    /// The most requests a second in closed loop, over all generators.
    pub(super) most_per_second: Option<f64>,
    /// How long a connection or a request may take.
    pub(super) timeout: Duration,
    /// After how many requests a connection is closed; 0 keeps it for good.
    pub(super) requests_per_connection: u64,
    /// How many requests are sent at a time on a connection.
    pub(super) pipeline: u32,
    pub(super) seed: Option<u64>,
}

impl Course {
    /// Total count over all generators, where known.
    pub(super) fn all(&self) -> Option<u64> {
        Some(self.connections.or(self.requests)? * u64::from(self.generators))
    }

    /// Whether requests are counted; else connections.
    pub(super) fn counts_requests(&self) -> bool {
        let kept = self.requests_per_connection != 1;
        self.open.is_some() || self.requests.is_some() || kept && self.connections.is_none()
    }
}
