//! Loads: what drives the services.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::units::Span;

/// A generator. Exactly one of the kinds is given.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Load {
    /// The host that it runs on.
    pub from: String,
    /// The service that it aims at. There is no other way to name a target.
    pub to: String,
    /// HTTP/1.1 requests in closed loop: so many at a time, each sent when the one before it is done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http: Option<HttpLoad>,
}

/// HTTP/1.1 in closed loop.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct HttpLoad {
    /// How many generators work side by side, each a thread of its own (1 to 64).
    pub generators: u32,
    /// How many connections each generator makes in all. Give this or `duration`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connections: Option<u64>,
    /// How long each generator works. Give this or `connections`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration: Option<Span>,
    /// How many connections each generator keeps going at a time (1 to 100000).
    pub concurrency: u32,
    /// How many requests are sent on a connection before it is closed: 1 asks the server to close it, 0 keeps it for good.
    pub requests_per_connection: u64,
    /// The path that is asked for.
    pub path: String,
    /// How long a connection or a request may take before it counts as an error.
    pub timeout: Span,
}

impl Default for HttpLoad {
    fn default() -> Self {
        Self {
            generators: 1,
            connections: None,
            duration: None,
            concurrency: 1,
            requests_per_connection: 1,
            path: "/".into(),
            timeout: Span::secs(10),
        }
    }
}
