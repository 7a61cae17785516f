//! Services: what is under test, or in its way.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::bulk::SendBy;
use super::mail::{MailRelayService, SmtpSinkService};
use super::program::{ApacheService, HaproxyService, NginxService, PostfixService};
use crate::units::{ByteSize, Span};

/// A service on a host. Exactly one of `web`, `relay`, `bulk`, `tcp_proxy`, `smtp_sink`, `mail_relay`, `nginx`, `haproxy`, `apache`,
/// `postfix` and `exec` says what it is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Service {
    /// The host that it runs on.
    pub on: String,
    /// The first port that it listens on (1 to 65535); by default one is chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
    /// How to know that it is ready.
    #[serde(default)]
    pub ready: Ready,
    /// The built-in web server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub web: Option<WebService>,
    /// The built-in forking relay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relay: Option<RelayService>,
    /// The built-in end of bulk loads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bulk: Option<BulkService>,
    /// The built-in proxy for TCP: one process that passes bytes on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tcp_proxy: Option<TcpProxyService>,
    /// The built-in sink for mail.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub smtp_sink: Option<SmtpSinkService>,
    /// The built-in relay for mail: it stores before it forwards.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mail_relay: Option<MailRelayService>,
    /// nginx.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nginx: Option<NginxService>,
    /// HAProxy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub haproxy: Option<HaproxyService>,
    /// Apache httpd, prefork.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub apache: Option<ApacheService>,
    /// Postfix, relaying.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub postfix: Option<PostfixService>,
    /// A program of your own and its arguments. `{port}`, `{address}`, `{to}` and `{scratch}`, a folder that it may write to, are replaced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exec: Option<Vec<String>>,
    /// Environment variables for `exec`, beside `PATH`, `HOME`, `TMPDIR`, `TZ` and those of the language.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// Variables of the environment in which Plimsoll was started that `exec` gets, too, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pass_env: Vec<String>,
    /// Whether the program (`exec`, `nginx`, `haproxy`, `apache` or `postfix`) keeps the rights of whoever runs Plimsoll: root is then root on
    /// its host and may write to the files of the machine. `run` asks before it starts such a file, or wants `--yes`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub privileged: bool,
    /// The service that `{to}` in `exec` stands for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
}

/// When a service counts as ready.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Ready {
    /// An HTTP path that must answer with status 200; without it, it is enough that every port takes a connection.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub http: Option<String>,
    /// How long it may take.
    pub within: Span,
}

impl Default for Ready {
    fn default() -> Self {
        Self { http: None, within: Span::secs(10) }
    }
}

/// The built-in web server: static documents, documents of any size at `/?s=SIZE`, and those of a load's `mix`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WebService {
    /// How it handles connections.
    pub model: WebModel,
    /// The most connections served at a time (1 to 10000): the number of processes or threads, or for `event_loop` of connections of
    /// each process.
    pub clients: u32,
    /// How many processes an `event_loop` has (1 to 64).
    pub workers: u32,
    /// The size of the document at `/`.
    pub document: ByteSize,
    /// A folder whose files are served below `/`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub root: Option<String>,
    /// How documents that are no files are handed to the kernel.
    pub by: SendBy,
    /// The length of the listen queue (`listen(2)`).
    pub backlog: u32,
    /// Whether each process or thread has a listening socket of its own, over which the kernel spreads connections (SO_REUSEPORT).
    pub reuse_port: bool,
    /// How long a client may keep silent, between requests or within one, before its connection is closed.
    pub keep_alive: Span,
    /// After how many requests a connection is closed; 0 for any number.
    pub keep_alive_requests: u64,
    /// CPU time that each request costs, beside what the answer takes anyway (up to 10 s).
    pub work: Span,
}

impl Default for WebService {
    fn default() -> Self {
        Self {
            model: WebModel::Prefork,
            clients: 250,
            workers: 1,
            document: ByteSize(1024),
            root: None,
            by: SendBy::Write,
            backlog: 511,
            reuse_port: false,
            keep_alive: Span::secs(20),
            keep_alive_requests: 0,
            work: Span::millis(0),
        }
    }
}

/// How a web server handles connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WebModel {
    /// As many processes as clients, made beforehand; all wait in accept.
    #[default]
    Prefork,
    /// The same, but only one process at a time is in accept; the others wait for a lock.
    PreforkSerialised,
    /// A process for each connection, made when it comes; one process accepts.
    ForkPerConnection,
    /// As many threads of one process as clients; all wait in accept.
    Threads,
    /// A few processes (`workers`), each with many connections, of which it serves those that something can be done for (`epoll(7)`).
    EventLoop,
}

/// The built-in relay: for each connection it forks a process that connects onward, copies both ways, and exits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RelayService {
    /// The service that it relays to.
    pub to: String,
    /// How many relays there are, each a process with a port of its own (1 to 64).
    #[serde(default = "RelayService::default_listeners")]
    pub listeners: u32,
    /// The length of the listen queue (`listen(2)`).
    #[serde(default = "RelayService::default_backlog")]
    pub backlog: u32,
    /// A fault to build in on purpose, so that the judge has something to find.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leak: Option<Leak>,
    /// How many rules or records each connection leaves behind (1 to 1000): with more, a smaller flood shows the same fault.
    #[serde(default = "RelayService::default_leak_count")]
    pub leak_count: u32,
}

impl RelayService {
    fn default_listeners() -> u32 {
        1
    }
    fn default_backlog() -> u32 {
        511
    }
    fn default_leak_count() -> u32 {
        1
    }
}

/// What a leaking relay leaves behind for each connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub enum Leak {
    /// A routing-policy rule in the host's kernel, that no packet matches but every route look-up walks past
    /// (`fib_rules_lookup` in net/core/fib_rules.c). It outlives the relay, not the host.
    RoutingRule,
    /// A record in the relay's own memory, that it walks at every accept. It does not outlive the relay.
    Record {
        /// Forget a record after so long; without it, never.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        forget_after: Option<Span>,
    },
}

/// The built-in end of bulk loads: it takes what it is sent, over TCP and UDP, and sends what it is asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct BulkService {
    /// What becomes of the bytes that come in.
    pub take: Take,
    /// Wait so long before each read, as a reader that cannot keep up does.
    pub pause: Span,
    /// How many bytes a read takes at most (1 to 16M). More than a CPU's cache holds makes copying slower.
    pub chunk: ByteSize,
    /// The receive buffer (`SO_RCVBUF`) of connections from the handshake on, where a load does not ask for another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receive_buffer: Option<ByteSize>,
    /// The length of the listen queue (`listen(2)`).
    pub backlog: u32,
}

impl Default for BulkService {
    fn default() -> Self {
        Self {
            take: Take::Discard,
            pause: Span::default(),
            chunk: ByteSize(128 << 10),
            receive_buffer: None,
            backlog: 511,
        }
    }
}

/// What becomes of bytes that come in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Take {
    /// The kernel throws them away (`MSG_TRUNC`, tcp(7)): the receiver costs as little as it can.
    #[default]
    Discard,
    /// They are copied to the program, as by every ordinary one.
    Copy,
}

/// The built-in proxy for TCP: it connects onward for each connection and passes bytes on both ways, in one process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TcpProxyService {
    /// The service that it passes connections on to.
    pub to: String,
    /// How it passes bytes on.
    #[serde(default)]
    pub by: PassBy,
    /// How many bytes may be under way in each direction (4k to 1M).
    #[serde(default = "TcpProxyService::default_buffer")]
    pub buffer: ByteSize,
    /// The length of the listen queue (`listen(2)`).
    #[serde(default = "RelayService::default_backlog")]
    pub backlog: u32,
}

impl TcpProxyService {
    fn default_buffer() -> ByteSize {
        ByteSize(64 << 10)
    }
}

/// How a proxy passes bytes on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PassBy {
    /// They are read and written.
    #[default]
    Copy,
    /// splice(2) through a pipe: they never leave the kernel.
    Splice,
    /// The same with `SPLICE_F_MORE` on all that is passed on, even where nothing more follows: what does not fill a segment is held
    /// back for up to 200 ms.
    SpliceMore,
}

/// A program of the user's own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExecService {
    /// The program and its arguments. The agent replaces `{port}`, `{address}`, `{to}` and `{scratch}` when it starts the program.
    pub argv: Vec<String>,
    /// Additional environment variables.
    pub env: BTreeMap<String, String>,
    /// Variables of the agent's own environment that it gets, by name.
    pub pass_env: Vec<String>,
}

impl Service {
    /// What it is; nothing where the file does not say, which [`super::parse`] refuses.
    #[must_use]
    pub fn kind(&self) -> Option<ServiceKind> {
        let web = || self.web.clone().map(ServiceKind::Web);
        let relay = || self.relay.clone().map(ServiceKind::Relay);
        let bulk = || self.bulk.clone().map(ServiceKind::Bulk);
        let tcp_proxy = || self.tcp_proxy.clone().map(ServiceKind::TcpProxy);
        let smtp_sink = || self.smtp_sink.clone().map(ServiceKind::SmtpSink);
        let mail_relay = || self.mail_relay.clone().map(ServiceKind::MailRelay);
        let nginx = || self.nginx.clone().map(ServiceKind::Nginx);
        let haproxy = || self.haproxy.clone().map(ServiceKind::Haproxy);
        let apache = || self.apache.clone().map(ServiceKind::Apache);
        let postfix = || self.postfix.clone().map(ServiceKind::Postfix);
        let (env, pass_env) = (self.env.clone(), self.pass_env.clone());
        let exec = || Some(ServiceKind::Exec(ExecService { argv: self.exec.clone()?, env, pass_env }));
        web()
            .or_else(relay)
            .or_else(bulk)
            .or_else(tcp_proxy)
            .or_else(smtp_sink)
            .or_else(mail_relay)
            .or_else(nginx)
            .or_else(haproxy)
            .or_else(apache)
            .or_else(postfix)
            .or_else(exec)
    }

    /// The service that connections are passed on to.
    #[must_use]
    pub fn onward(&self) -> Option<&str> {
        let relay = self.relay.as_ref().map(|relay| relay.to.as_str());
        let proxy = self.tcp_proxy.as_ref().map(|proxy| proxy.to.as_str());
        let haproxy = self.haproxy.as_ref().map(|proxy| proxy.to.as_str());
        let mail = self.mail_relay.as_ref().map(|relay| relay.to.as_str());
        let postfix = self.postfix.as_ref().map(|relay| relay.to.as_str());
        relay.or(proxy).or(haproxy).or(mail).or(postfix).or(self.to.as_deref())
    }

    /// The volume that it keeps its queue on.
    #[must_use]
    pub fn volume(&self) -> Option<&str> {
        let relay = self.mail_relay.as_ref().and_then(|relay| relay.volume.as_deref());
        relay.or_else(|| self.postfix.as_ref()?.volume.as_deref())
    }

    /// How many ports it listens on.
    #[must_use]
    pub fn listeners(&self) -> u32 {
        self.relay.as_ref().map_or(1, |relay| relay.listeners)
    }
}

/// What a service is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ServiceKind {
    /// The built-in web server.
    Web(WebService),
    /// The built-in forking relay.
    Relay(RelayService),
    /// The built-in end of bulk loads.
    Bulk(BulkService),
    /// The built-in proxy for TCP.
    TcpProxy(TcpProxyService),
    /// The built-in sink for mail.
    SmtpSink(SmtpSinkService),
    /// The built-in relay for mail.
    MailRelay(MailRelayService),
    /// nginx, with a configuration that the agent writes.
    Nginx(NginxService),
    /// HAProxy, likewise.
    Haproxy(HaproxyService),
    /// Apache httpd, likewise.
    Apache(ApacheService),
    /// Postfix, likewise.
    Postfix(PostfixService),
    /// A program of the user's own.
    Exec(ExecService),
}

impl ServiceKind {
    /// Whether Plimsoll itself serves it; anything else is a program of its own.
    #[must_use]
    pub fn is_builtin(&self) -> bool {
        !matches!(
            self,
            Self::Nginx(_) | Self::Haproxy(_) | Self::Apache(_) | Self::Postfix(_) | Self::Exec(_)
        )
    }
}
