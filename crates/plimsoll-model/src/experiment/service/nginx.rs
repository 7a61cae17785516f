//! nginx as a service.

use super::{ServicePlace, ServiceType, check_configured};
use crate::experiment::load::count;
use crate::experiment::prelude::*;

/// nginx (nginx.org), serving files.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, SmartDefault)]
#[serde(deny_unknown_fields, default)]
pub struct NginxService {
    /// Worker processes (1 to 256).
    #[default(1)]
    pub workers: u32,
    /// The most connections of each worker, those to other servers included (8 to 100000).
    #[default(4096)]
    pub connections: u32,
    /// The size of the document at `/`, where no `root` is given.
    #[default(ByteSize(1024))]
    pub document: ByteSize,
    /// A folder whose files are served below `/`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub root: Option<String>,
    /// The length of the listen queue (`listen(2)`).
    #[default(511)]
    pub backlog: u32,
    /// Whether each worker has a listening socket of its own (SO_REUSEPORT).
    pub reuseport: bool,
    /// Whether the workers take turns in accepting.
    pub accept_mutex: bool,
    /// Whether it speaks TLS 1.3, and nothing else. Its certificate is made for the run.
    pub tls: bool,
    /// Whether it speaks HTTP/2 as well, where ALPN says so; without `tls` it then speaks nothing else.
    pub http2: bool,
    /// How many requests a connection may carry before nginx closes it; 0 closes it after the first.
    #[default(1000)]
    pub requests_per_connection: u32,
}

impl ServiceType for NginxService {
    fn check(&self, at: &ServicePlace<'_>) -> Checked {
        check_configured(self.root.as_deref(), at.key("root"))?;
        in_range(u64::from(self.workers), 1, 256, at.key("workers"))?;
        in_range(u64::from(self.connections), 8, 100_000, at.key("connections"))?;
        in_range(u64::from(self.backlog), 1, 65_535, at.key("backlog"))
    }

    fn describe(&self) -> String {
        format!("nginx, {}", count(self.workers, "worker"))
    }

    fn effects(&self, at: &ServicePlace<'_>) -> Vec<Effect> {
        let started = at.program("nginx", RunAs::Nobody);
        [Some(started), at.documents(self.root.as_deref())].into_iter().flatten().collect()
    }

    fn speaks_tls(&self) -> Option<bool> {
        Some(self.tls)
    }

    fn programs(&self) -> Vec<&str> {
        vec!["nginx"]
    }
}
