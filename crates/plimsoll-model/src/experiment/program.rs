//! Real programs as services: what can be set of each. The agent writes their configuration.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::units::{ByteSize, Span};

/// nginx (nginx.org), serving files.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct NginxService {
    /// Worker processes (1 to 256).
    pub workers: u32,
    /// The most connections of each worker, those to other servers included (8 to 100000).
    pub connections: u32,
    /// The size of the document at `/`, where no `root` is given.
    pub document: ByteSize,
    /// A folder whose files are served below `/`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub root: Option<String>,
    /// The length of the listen queue (`listen(2)`).
    pub backlog: u32,
    /// Whether each worker has a listening socket of its own (SO_REUSEPORT).
    pub reuseport: bool,
    /// Whether the workers take turns in accepting.
    pub accept_mutex: bool,
    /// How many requests a connection may carry before nginx closes it; 0 closes it after the first.
    pub requests_per_connection: u32,
}

impl Default for NginxService {
    fn default() -> Self {
        Self {
            workers: 1,
            connections: 4096,
            document: ByteSize(1024),
            root: None,
            backlog: 511,
            reuseport: false,
            accept_mutex: false,
            requests_per_connection: 1000,
        }
    }
}

/// HAProxy (haproxy.org), passing connections on to another service.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HaproxyService {
    /// The service that it passes connections on to.
    pub to: String,
    /// What it understands of what it passes on.
    #[serde(default)]
    pub mode: ProxyMode,
    /// Threads (1 to 64).
    #[serde(default = "HaproxyService::default_threads")]
    pub threads: u32,
    /// The most connections that it takes at a time (1 to 100000).
    #[serde(default = "HaproxyService::default_connections")]
    pub connections: u32,
    /// The length of the listen queue (`listen(2)`).
    #[serde(default = "HaproxyService::default_backlog")]
    pub backlog: u32,
    /// Whether the connection to the server is kept for further requests; only in mode `http`.
    #[serde(default = "HaproxyService::default_keep_alive")]
    pub keep_alive: bool,
}

impl HaproxyService {
    fn default_threads() -> u32 {
        1
    }
    fn default_connections() -> u32 {
        4096
    }
    fn default_backlog() -> u32 {
        511
    }
    fn default_keep_alive() -> bool {
        true
    }
}

/// What a proxy understands of what it passes on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProxyMode {
    /// Requests and answers.
    #[default]
    Http,
    /// Bytes.
    Tcp,
}

/// Apache httpd (httpd.apache.org) with its prefork module, serving files.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ApacheService {
    /// The most processes, and so the most connections served at a time (`MaxRequestWorkers`, 1 to 20000).
    pub workers: u32,
    /// The processes made at the start (`StartServers`).
    pub start: u32,
    /// The fewest idle processes before more are made (`MinSpareServers`).
    pub min_spare: u32,
    /// The most idle processes before some are ended (`MaxSpareServers`).
    pub max_spare: u32,
    /// How many connections a process serves before it is replaced; 0 for any number (`MaxConnectionsPerChild`).
    pub connections_per_process: u32,
    /// The size of the document at `/`, where no `root` is given.
    pub document: ByteSize,
    /// A folder whose files are served below `/`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub root: Option<String>,
    /// The length of the listen queue (`listen(2)`).
    pub backlog: u32,
    /// Whether a connection is kept for further requests.
    pub keep_alive: bool,
}

impl Default for ApacheService {
    fn default() -> Self {
        Self {
            workers: 150,
            start: 5,
            min_spare: 5,
            max_spare: 10,
            connections_per_process: 0,
            document: ByteSize(1024),
            root: None,
            backlog: 511,
            keep_alive: true,
        }
    }
}

/// Postfix (postfix.org) as a relay: it stores each message in its queue and forwards it. It needs root.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PostfixService {
    /// The service that it forwards messages to.
    pub to: String,
    /// A folder on the host for the queue; by default one beside the other files of services, which is in memory. It is made when it is
    /// not there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<String>,
    /// The volume of the same host that the queue lies on, in a folder of the service's own, by name. Give this or `queue`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub volume: Option<String>,
    /// The most processes of each kind, and so the most sessions at a time on either side (`default_process_limit`, 1 to 2000).
    #[serde(default = "PostfixService::default_processes")]
    pub processes: u32,
    /// How often deferred messages are looked at (`queue_run_delay`), and, at least every 300 s, incoming ones that were put off.
    #[serde(default = "PostfixService::default_queue_run")]
    pub queue_run: Span,
    /// How long a message waits after its first failed delivery (`minimal_backoff_time`), and all mail after Postfix could not reach a
    /// delivery process of its own (`transport_retry_time`).
    #[serde(default = "PostfixService::default_retry")]
    pub retry: Span,
    /// The longest that a message waits between two attempts (`maximal_backoff_time`).
    #[serde(default = "PostfixService::default_retry_most")]
    pub retry_most: Span,
    /// The longest message that it takes (`message_size_limit`).
    #[serde(default = "PostfixService::default_max_message")]
    pub max_message: ByteSize,
    /// Further settings of main.cf, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, String>,
}

impl PostfixService {
    fn default_processes() -> u32 {
        100
    }
    fn default_queue_run() -> Span {
        Span::secs(300)
    }
    fn default_retry() -> Span {
        Span::secs(300)
    }
    fn default_retry_most() -> Span {
        Span::secs(4000)
    }
    fn default_max_message() -> ByteSize {
        ByteSize(64 << 20)
    }
}

/// Settings of main.cf (postconf(5)).
pub(crate) mod postfix {
    /// The endings of names that say where Postfix finds its programs, libraries, tables and files, or what it starts.
    const ENDINGS: [&str; 14] = [
        "_directory",
        "_directories",
        "_path",
        "_command",
        "_commands",
        "_program",
        "_wrapper",
        "_file",
        "_files",
        "_maps",
        "_checks",
        "_database",
        "_environment",
        "_CAfile",
    ];

    /// Whether a setting says which programs or files Postfix uses.
    pub(crate) fn names_programs(name: &str) -> bool {
        ENDINGS.iter().any(|ending| name.ends_with(ending)) || name.starts_with("multi_instance")
    }

    #[cfg(test)]
    mod tests {
        use super::names_programs;

        #[test]
        fn settings_that_name_programs_and_files_are_told_from_others() {
            for name in [
                "daemon_directory",
                "debugger_command",
                "shlib_directory",
                "sendmail_path",
                "import_environment",
                "transport_maps",
                "smtp_tls_key_file",
            ] {
                assert!(names_programs(name), "{name}");
            }
            for name in ["in_flow_delay", "qmgr_message_active_limit", "smtp_connection_cache_on_demand"] {
                assert!(!names_programs(name), "{name}");
            }
        }
    }
}
