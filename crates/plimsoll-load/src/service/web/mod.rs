//! The web server: HTTP/1.0 and 1.1, static documents and documents of any size.
//!
//! How connections are handled (the model) is a module of its own; what is said on a connection is the same for all.

mod conversation;
mod date;
mod prefork;
mod request;
mod response;
mod site;

use std::convert::Infallible;
use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

use nix::sys::socket::{setsockopt, sockopt};
use nix::sys::time::TimeVal;
use plimsoll_model::experiment::service::{WebModel, WebService};
use plimsoll_model::frame::Failure;

use self::site::Site;
use super::{listen, process};
use crate::failure::refused;

/// How long a client may keep silent, between requests or within one.
const SILENCE: Duration = Duration::from_secs(20);
/// How long a client may take no byte of an answer.
const STUCK: Duration = Duration::from_secs(60);

/// Serves `options` on `listeners`, until killed.
pub(super) fn serve(
    options: &WebService,
    listeners: &[TcpListener],
    tell: impl FnOnce(&[SocketAddr]) -> Result<(), Failure>,
) -> Result<Infallible, Failure> {
    let site = Site::open(options.document.0, options.root.as_deref())?;
    process::survive_broken_pipes()?;
    for listener in listeners {
        limit_patience(listener).map_err(|error| refused("set a time limit on a socket", error))?;
    }
    let addresses = listen::addresses(listeners)?;
    match options.model {
        WebModel::Prefork => prefork::serve(options.clients, &site, listeners, || tell(&addresses)),
    }
}

/// Accepted connections inherit these from the listening socket.
fn limit_patience(listener: &TcpListener) -> nix::Result<()> {
    let seconds = |limit: Duration| TimeVal::new(i64::try_from(limit.as_secs()).unwrap_or(i64::MAX), 0);
    setsockopt(listener, sockopt::ReceiveTimeout, &seconds(SILENCE))?;
    setsockopt(listener, sockopt::SendTimeout, &seconds(STUCK))
}
