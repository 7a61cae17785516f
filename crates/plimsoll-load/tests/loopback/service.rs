//! A built-in service in a process of its own.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use plimsoll_model::experiment::{
    BulkService, Leak, PassBy, Ready, RelayService, TcpProxyService, WebService,
};
use plimsoll_model::frame::{ServiceKind, ServiceSpec};
use plimsoll_model::units::ByteSize;

/// A running service; it is killed when this is dropped.
pub(crate) struct Service {
    process: Child,
    pub(crate) addresses: Vec<SocketAddr>,
}

impl Service {
    pub(crate) fn start(kind: ServiceKind, listeners: usize, to: Vec<SocketAddr>) -> Self {
        let listen = vec![SocketAddr::from(([127, 0, 0, 1], 0)); listeners];
        Self::start_spec(&spec(kind, listen, to, None), command)
    }

    /// Starts the command of a specification.
    pub(crate) fn start_spec(spec: &ServiceSpec, command: impl Fn(&ServiceSpec) -> Command) -> Self {
        let mut process = command(spec).stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(process.stdout.take().unwrap()).lines().map(Result::unwrap);
        let addresses = lines.take_while(|line| !line.is_empty()).map(|line| line.parse().unwrap()).collect();
        Self { process, addresses }
    }

    pub(crate) fn web(options: WebService) -> Self {
        Self::start(ServiceKind::Web(options), 1, Vec::new())
    }

    /// A web server with few processes.
    pub(crate) fn small_web() -> Self {
        Self::web(WebService { clients: 8, ..WebService::default() })
    }

    /// The end of bulk loads.
    pub(crate) fn bulk() -> Self {
        Self::start(ServiceKind::Bulk(BulkService::default()), 1, Vec::new())
    }

    pub(crate) fn tcp_proxy(to: &[SocketAddr], by: PassBy) -> Self {
        let options = TcpProxyService { to: "web".into(), by, buffer: ByteSize(64 << 10), backlog: 511 };
        Self::start(ServiceKind::TcpProxy(options), 1, to.to_vec())
    }

    pub(crate) fn relay(listeners: usize, to: &[SocketAddr], leak: Option<Leak>) -> Self {
        let options =
            RelayService { to: "web".into(), listeners: listeners as u32, backlog: 511, leak, leak_count: 1 };
        Self::start(ServiceKind::Relay(options), listeners, to.to_vec())
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.addresses[0]
    }

    pub(crate) fn pid(&self) -> u32 {
        self.process.id()
    }

    pub(crate) fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        // It may have been killed already.
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

pub(crate) fn spec(
    kind: ServiceKind,
    listen: Vec<SocketAddr>,
    to: Vec<SocketAddr>,
    folder: Option<PathBuf>,
) -> ServiceSpec {
    ServiceSpec {
        name: "service".into(),
        listen,
        to,
        kind,
        folder,
        env: Default::default(),
        pass_env: Vec::new(),
        template: None,
        certificate: None,
        privileged: false,
        ready: Ready::default(),
        approaches: Vec::new(),
    }
}

/// The command that serves `spec`.
pub(crate) fn command(spec: &ServiceSpec) -> Command {
    let mut command = example("serve");
    command.arg(serde_json::to_string(spec).unwrap());
    command
}

/// An example of this package, as a program.
pub(crate) fn example(name: &str) -> Command {
    let mut path = std::env::current_exe().unwrap();
    path.pop();
    if path.ends_with("deps") {
        path.pop();
    }
    let path = path.join("examples").join(name);
    assert!(path.exists(), "{} is missing: build the examples", path.display());
    Command::new(path)
}
