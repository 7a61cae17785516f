//! The web server: HTTP/1.0, 1.1 and 2, with TLS or without, static documents and documents of any size.
//!
//! How connections are handled (the model) is a module of its own; what is said on a connection is the same for all.

mod answer;
mod client;
mod conversation;
mod event_loop;
mod fork;
mod layered;
mod layers;
mod limits;
mod prefork;
mod request;
mod response;
mod site;
mod status;
mod threads;

use std::convert::Infallible;
use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

use nix::sys::socket::{setsockopt, sockopt};
use nix::sys::time::TimeVal;
use plimsoll_model::experiment::service::{WebModel, WebService};
use plimsoll_model::frame::{Certificate, Failure};

use self::answer::Terms;
use self::layers::Layers;
use self::site::Site;
use super::{listen, process};
use crate::failure::refused;

/// How long a client may take no byte of an answer.
const STUCK: Duration = Duration::from_secs(60);

/// Serves `options` on `listeners`, until killed.
pub(super) fn serve(
    options: &WebService,
    certificate: Option<&Certificate>,
    listeners: Vec<TcpListener>,
    announce: impl FnOnce(&[SocketAddr]) -> Result<(), Failure>,
) -> Result<Infallible, Failure> {
    let site = Site::open(options.document.0, options.root.as_deref(), options.by)?;
    process::survive_broken_pipes()?;
    let addresses = listen::addresses(&listeners)?;
    let sets = sets(options, listeners, &addresses)?;
    for listener in sets.iter().flatten() {
        limit_patience(listener, options).map_err(|error| refused("set a time limit on a socket", error))?;
    }
    let terms = Terms::new(options, Layers::new(options, certificate)?);
    let ready = || announce(&addresses);
    match options.model {
        WebModel::Prefork => prefork::serve(options.clients, false, (&site, terms), &sets, ready),
        WebModel::PreforkSerialised => prefork::serve(options.clients, true, (&site, terms), &sets, ready),
        WebModel::ForkPerConnection => fork::serve(options.clients, &site, terms, &sets[0], ready),
        WebModel::Threads => threads::serve(options.clients, &site, terms, &sets, ready),
        WebModel::EventLoop => event_loop::serve(options, (&site, terms), &sets, ready),
    }
}

/// The listening sockets: one set for all processes or threads, or with `reuse_port` a set for each.
fn sets(
    options: &WebService,
    first: Vec<TcpListener>,
    addresses: &[SocketAddr],
) -> Result<Vec<Vec<TcpListener>>, Failure> {
    let number = match options.model {
        _ if !options.reuse_port => 1,
        WebModel::Prefork | WebModel::Threads => options.clients,
        WebModel::EventLoop => options.workers,
        // Processes wait for a single socket in turn, or the only process accepts from it.
        WebModel::PreforkSerialised | WebModel::ForkPerConnection => 1,
    };
    let mut sets = vec![first];
    for _ in 1..number {
        sets.push(listen::listen_all(addresses, options.backlog, true)?);
    }
    Ok(sets)
}

/// Accepted connections inherit these from the listening socket.
fn limit_patience(listener: &TcpListener, options: &WebService) -> nix::Result<()> {
    let limit = |limit: Duration| {
        let seconds = i64::try_from(limit.as_secs()).unwrap_or(i64::MAX);
        TimeVal::new(seconds, i64::from(limit.subsec_micros()))
    };
    setsockopt(listener, sockopt::ReceiveTimeout, &limit(options.keep_alive.0))?;
    setsockopt(listener, sockopt::SendTimeout, &limit(STUCK))
}
