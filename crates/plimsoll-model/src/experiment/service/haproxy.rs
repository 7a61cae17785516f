//! HAProxy as a service.

use super::{ServicePlace, ServiceType};
use crate::experiment::load::count;
use crate::experiment::prelude::*;

/// HAProxy (haproxy.org), passing connections on to another service.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HaproxyService {
    /// The service that it passes connections on to.
    pub to: String,
    /// Protocol of the connections that it passes on.
    #[serde(default)]
    pub mode: ProxyMode,
    /// Threads (1 to 64).
    #[serde(default = "crate::units::number::<1>")]
    pub threads: u32,
    /// The most connections that it takes at a time (1 to 100000).
    #[serde(default = "crate::units::number::<4096>")]
    pub connections: u32,
    /// The length of the listen queue (`listen(2)`).
    #[serde(default = "crate::units::number::<511>")]
    pub backlog: u32,
    /// Whether its clients speak TLS 1.3 to it, and nothing else. Its certificate is made for the run; what it passes on is in the clear.
    #[serde(default)]
    pub tls: bool,
    /// Whether its clients may speak HTTP/2 to it, where ALPN says so; only with `tls` and in mode `http`.
    #[serde(default)]
    pub http2: bool,
    /// Whether the connection to the server is kept for further requests; only in mode `http`.
    #[serde(default = "HaproxyService::default_keep_alive")]
    pub keep_alive: bool,
}

impl HaproxyService {
    fn default_keep_alive() -> bool {
        true
    }
}

/// Protocol that a proxy understands of its connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProxyMode {
    /// Requests and answers.
    #[default]
    Http,
    /// Bytes.
    Tcp,
}

impl ServiceType for HaproxyService {
    fn check(&self, at: &ServicePlace<'_>) -> Checked {
        declared(&self.to, &at.experiment.services, "service", at.key("to"))?;
        if self.http2 && !(self.tls && self.mode == ProxyMode::Http) {
            let message = "HTTP/2 is agreed on in a TLS handshake, and has to be understood";
            return Err(problem(at.key("http2"), message, "`tls = true` and `mode = \"http\"` beside it"));
        }
        in_range(u64::from(self.threads), 1, 64, at.key("threads"))?;
        in_range(u64::from(self.connections), 1, 100_000, at.key("connections"))?;
        in_range(u64::from(self.backlog), 1, 65_535, at.key("backlog"))
    }

    fn describe(&self) -> String {
        let mode = match self.mode {
            ProxyMode::Http => "HTTP",
            ProxyMode::Tcp => "TCP",
        };
        format!("haproxy to {}, {mode}, {}", self.to, count(self.threads, "thread"))
    }

    fn effects(&self, at: &ServicePlace<'_>) -> Vec<Effect> {
        vec![at.program("haproxy", RunAs::Nobody)]
    }

    fn onward(&self) -> Option<&str> {
        Some(&self.to)
    }

    fn speaks_tls(&self) -> Option<bool> {
        // A proxy of bytes may pass on TLS.
        (self.tls || self.mode == ProxyMode::Http).then_some(self.tls)
    }

    fn passes_bytes(&self) -> bool {
        self.mode == ProxyMode::Tcp && !self.tls
    }

    fn programs(&self) -> Vec<&str> {
        vec!["haproxy"]
    }
}
