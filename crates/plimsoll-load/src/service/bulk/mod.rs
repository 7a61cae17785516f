//! The end of bulk loads: it receives data, and sends requested data.
//!
//! One process: a thread for each connection, and one for the datagrams of each address.

mod desk;
mod stream;
mod udp;

use std::convert::Infallible;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread::{Builder, sleep};

use plimsoll_model::experiment::BulkService;
use plimsoll_model::frame::Failure;

use self::desk::Desk;
use super::{listen, process};
use crate::failure::{other, refused};
use crate::process::SHORTAGE;
use crate::transfer::socket;

/// The most connections at a time; more are closed at once.
const MOST_CONNECTIONS: usize = 4096;
/// The stack of a connection's thread, in bytes: it holds little, and there may be many.
const STACK: usize = 256 << 10;

/// Serves on `listeners`, until killed.
pub(super) fn serve(
    options: &BulkService,
    listeners: Vec<TcpListener>,
    announce: impl FnOnce(&[SocketAddr]) -> Result<(), Failure>,
) -> Result<Infallible, Failure> {
    process::survive_broken_pipes()?;
    let desk = Arc::new(Desk::default());
    for address in listen::addresses(&listeners)? {
        let receiver = udp::Receiver::bind(address, Arc::clone(&desk))?;
        let started = Builder::new().name("datagrams".into()).spawn(move || receiver.receive());
        started.map_err(|error| other("start the thread for datagrams", &error))?;
    }
    let options = Arc::new(options.clone());
    listen::accept_in_threads(listeners, announce, |listener| {
        socket::buffers(&listener, None, options.receive_buffer)
            .map_err(|error| refused("set the receive buffer", error))?;
        let (options, desk) = (Arc::clone(&options), Arc::clone(&desk));
        Ok(move || accept(&listener, &options, &desk))
    })
}

fn accept(listener: &TcpListener, options: &Arc<BulkService>, desk: &Arc<Desk>) {
    let connections = Arc::new(());
    loop {
        let Ok((stream, _)) = listener.accept() else {
            sleep(SHORTAGE);
            continue;
        };
        if Arc::strong_count(&connections) > MOST_CONNECTIONS {
            continue;
        }
        let (options, desk, counted) = (Arc::clone(options), Arc::clone(desk), Arc::clone(&connections));
        let body = move || {
            attend(stream, &options, &desk);
            drop(counted);
        };
        if Builder::new().stack_size(STACK).spawn(body).is_err() {
            sleep(SHORTAGE);
        }
    }
}

/// Serves one connection. Whatever goes wrong on it ends it, and nothing else; the load sees it.
fn attend(stream: TcpStream, options: &BulkService, desk: &Desk) {
    if let Err(error) = stream::attend(stream, options, desk) {
        desk.failed(&error);
    }
}
