//! The built-in web server.

use super::{ServicePlace, ServiceType};
use crate::experiment::load::bulk::SendBy;
use crate::experiment::load::count;
use crate::experiment::prelude::*;

/// The built-in web server: static documents, documents of any size at `/?s=SIZE`, and those of a load's `mix`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, SmartDefault)]
#[serde(deny_unknown_fields, default)]
pub struct WebService {
    /// How it handles connections.
    pub model: WebModel,
    /// The most connections served at a time (1 to 10000): the number of processes or threads, or for `event_loop` of connections of
    /// each process.
    #[default(250)]
    pub clients: u32,
    /// How many processes an `event_loop` has (1 to 64).
    #[default(1)]
    pub workers: u32,
    /// The size of the document at `/`.
    #[default(ByteSize(1024))]
    pub document: ByteSize,
    /// A folder whose files are served below `/`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub root: Option<String>,
    /// How documents that are no files are handed to the kernel.
    pub by: SendBy,
    /// The length of the listen queue (`listen(2)`).
    #[default(511)]
    pub backlog: u32,
    /// Whether each process or thread has a listening socket of its own, over which the kernel spreads connections (SO_REUSEPORT).
    pub reuse_port: bool,
    /// Whether it speaks TLS 1.3, and nothing else. Its certificate is made for the run.
    pub tls: bool,
    /// Whether it speaks HTTP/2 as well: where ALPN says so with `tls`, and else where a client begins with it (RFC 9113, section 3.3).
    pub http2: bool,
    /// How long a client may keep silent, between requests or within one, before its connection is closed.
    #[default(Span::secs(20))]
    pub keep_alive: Span,
    /// After how many requests a connection is closed; 0 for any number.
    pub keep_alive_requests: u64,
    /// CPU time that each request costs, beside what the answer takes anyway (up to 10 s).
    pub work: Span,
}

/// How a web server handles connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WebModel {
    /// As many processes as clients, made beforehand; all wait in accept.
    #[default]
    Prefork,
    /// Prefork with one process at a time in accept; the others wait for a lock.
    PreforkSerialised,
    /// A process for each connection, made when it comes; one process accepts.
    ForkPerConnection,
    /// As many threads of one process as clients; all wait in accept.
    Threads,
    /// A few processes (`workers`), each with many connections, of which it serves those that something can be done for (`epoll(7)`).
    EventLoop,
}

impl ServiceType for WebService {
    fn check(&self, at: &ServicePlace<'_>) -> Checked {
        in_range(u64::from(self.clients), 1, 10_000, at.key("clients"))?;
        in_range(u64::from(self.backlog), 1, 65_535, at.key("backlog"))?;
        in_range(u64::from(self.workers), 1, 64, at.key("workers"))?;
        if self.keep_alive.0.is_zero() {
            return Err(problem(
                at.key("keep_alive"),
                "a client needs some time",
                "a length of time of more than 0",
            ));
        }
        if self.reuse_port && matches!(self.model, WebModel::PreforkSerialised | WebModel::ForkPerConnection)
        {
            return Err(problem(
                at.key("reuse_port"),
                "this model accepts at one place",
                "`reuse_port` with the models `prefork`, `threads` and `event_loop`",
            ));
        }
        if self.work > Span::secs(10) {
            return Err(problem(
                at.key("work"),
                format!("{} is too long for a request", self.work),
                "at most 10 s",
            ));
        }
        if (self.tls || self.http2) && self.by != SendBy::Write {
            return Err(problem(
                at.key("by"),
                "what is sealed, or cut into frames, is written",
                "`write`, or neither `tls` nor `http2`",
            ));
        }
        if self.model == WebModel::EventLoop && self.by != SendBy::Write {
            return Err(problem(
                at.key("by"),
                "an event loop writes its documents",
                "`write`, or a model that gives each connection a process or a thread",
            ));
        }
        Ok(())
    }

    fn speaks_tls(&self) -> Option<bool> {
        Some(self.tls)
    }

    fn describe(&self) -> String {
        let clients = count(self.clients, "client");
        let model = match self.model {
            WebModel::Prefork => format!("prefork, {clients} at a time"),
            WebModel::PreforkSerialised => format!("prefork with one in accept at a time, {clients}"),
            WebModel::ForkPerConnection => format!("a process for each connection, up to {clients}"),
            WebModel::Threads => format!("threads, {clients} at a time"),
            WebModel::EventLoop => {
                let workers = count(self.workers, "worker");
                format!("event loop, {workers}, up to {clients}")
            }
        };
        let spoken = match (self.tls, self.http2) {
            (false, false) => "",
            (true, false) => ", TLS",
            (false, true) => ", also HTTP/2",
            (true, true) => ", TLS, also HTTP/2",
        };
        format!("web server, {model}{spoken}")
    }

    fn effects(&self, at: &ServicePlace<'_>) -> Vec<Effect> {
        at.documents(self.root.as_deref()).into_iter().collect()
    }
}
