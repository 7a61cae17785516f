//! Apache httpd as a service.

use super::{ServicePlace, ServiceType, check_configured};
use crate::experiment::load::count;
use crate::experiment::prelude::*;

/// Apache httpd (httpd.apache.org) with its prefork module, serving files.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, SmartDefault)]
#[serde(deny_unknown_fields, default)]
pub struct ApacheService {
    /// The most processes, and so the most connections served at a time (`MaxRequestWorkers`, 1 to 20000).
    #[default(150)]
    pub workers: u32,
    /// The processes made at the start (`StartServers`).
    #[default(5)]
    pub start: u32,
    /// The fewest idle processes before more are made (`MinSpareServers`).
    #[default(5)]
    pub min_spare: u32,
    /// The most idle processes before some are ended (`MaxSpareServers`).
    #[default(10)]
    pub max_spare: u32,
    /// How many connections a process serves before it is replaced; 0 for any number (`MaxConnectionsPerChild`).
    pub connections_per_process: u32,
    /// The size of the document at `/`, where no `root` is given.
    #[default(ByteSize(1024))]
    pub document: ByteSize,
    /// A folder whose files are served below `/`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub root: Option<String>,
    /// The length of the listen queue (`listen(2)`).
    #[default(511)]
    pub backlog: u32,
    /// Whether a connection is kept for further requests.
    #[default(true)]
    pub keep_alive: bool,
}

impl ServiceType for ApacheService {
    fn check(&self, at: &ServicePlace<'_>) -> Checked {
        check_configured(self.root.as_deref(), at.key("root"))?;
        let workers = u64::from(self.workers);
        in_range(workers, 1, 20_000, at.key("workers"))?;
        in_range(u64::from(self.start), 1, workers, at.key("start"))?;
        in_range(u64::from(self.min_spare), 1, workers, at.key("min_spare"))?;
        in_range(u64::from(self.max_spare), u64::from(self.min_spare) + 1, 20_001, at.key("max_spare"))?;
        in_range(u64::from(self.backlog), 1, 65_535, at.key("backlog"))
    }

    fn describe(&self) -> String {
        format!("Apache httpd, prefork, up to {}", count(self.workers, "process"))
    }

    fn effects(&self, at: &ServicePlace<'_>) -> Vec<Effect> {
        let started = at.program("Apache httpd", RunAs::Nobody);
        [Some(started), at.documents(self.root.as_deref())].into_iter().flatten().collect()
    }

    fn programs(&self) -> Vec<&str> {
        // Debian's name, and the usual one.
        vec!["apache2", "httpd"]
    }
}
