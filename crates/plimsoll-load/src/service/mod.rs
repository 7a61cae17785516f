//! The built-in services. Each serves from a process of its own until that process is killed.

mod bulk;
#[cfg(feature = "fuzzed")]
pub(crate) mod fuzzed;
mod listen;
mod mail_relay;
mod relay;
mod shuttle;
mod smtp;
mod smtp_sink;
mod tcp_proxy;
mod web;

use std::convert::Infallible;
use std::net::SocketAddr;

pub use mail_relay::FlushReader;
use plimsoll_model::frame::{Failure, ServiceKind, ServiceSpec};

use crate::failure::other;
use crate::process;

/// Serves `spec` from this process, until it is killed.
///
/// All addresses are bound before anything else; `on_listening` then receives them (a port of 0 has become the one that
/// the kernel chose), in the order of the specification. By then connections are already queued by the kernel.
/// Processes that a service makes die when this one does, however it ends.
///
/// This process must have a single thread, because services fork.
///
/// # Errors
/// [`Failure::AddressInUse`] and [`Failure::Permission`] when an address cannot be bound, or a leak cannot be built in;
/// [`Failure::Other`] when the specification is not for a built-in service, when `on_listening` fails, when there is more
/// than one thread, or when a process that the service cannot do without has ended.
pub fn serve(
    spec: &ServiceSpec,
    on_listening: impl FnOnce(&[SocketAddr]) -> std::io::Result<()>,
) -> Result<Infallible, Failure> {
    process::require_single_thread("start the service")?;
    let (backlog, shared) = match &spec.kind {
        ServiceKind::Web(web) => (web.backlog, web.reuse_port),
        ServiceKind::Relay(relay) => (relay.backlog, false),
        ServiceKind::Bulk(bulk) => (bulk.backlog, false),
        ServiceKind::TcpProxy(proxy) => (proxy.backlog, false),
        ServiceKind::SmtpSink(sink) => (sink.backlog, false),
        ServiceKind::MailRelay(relay) => (relay.backlog, false),
        _ => return Err(other("start the service", &"it is not built in")),
    };
    let listeners = listen::listen_all(&spec.listen, backlog, shared)?;
    let announce = |addresses: &[SocketAddr]| {
        on_listening(addresses).map_err(|error| other("say where the service listens", &error))
    };
    match &spec.kind {
        ServiceKind::Web(options) => web::serve(options, spec.certificate.as_ref(), listeners, announce),
        ServiceKind::Relay(options) => relay::serve(options, &spec.to, listeners, announce),
        ServiceKind::Bulk(options) => bulk::serve(options, listeners, announce),
        ServiceKind::TcpProxy(options) => tcp_proxy::serve(options, &spec.to, listeners, announce),
        ServiceKind::SmtpSink(options) => {
            smtp_sink::serve(options, spec.folder.as_deref(), listeners, announce)
        }
        ServiceKind::MailRelay(options) => {
            mail_relay::serve(options, &spec.to, spec.folder.as_deref(), listeners, announce)
        }
        _ => Err(other("start the service", &"it is not built in")),
    }
}
