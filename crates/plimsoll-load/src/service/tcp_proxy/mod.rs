//! The proxy for TCP: one process, a thread for each connection, which connects onward and passes bytes on both ways.

use std::convert::Infallible;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{Builder, sleep};

use plimsoll_model::experiment::TcpProxyService;
use plimsoll_model::frame::Failure;

use super::shuttle::{self, reset_on_close};
use super::{listen, process};
use crate::failure::other;
use crate::process::SHORTAGE;

/// The most connections at a time; more are reset at once.
const MOST_CONNECTIONS: usize = 4096;
/// The stack of a connection's thread, in bytes.
const STACK: usize = 128 << 10;

/// Common state of the threads.
struct Proxy {
    options: TcpProxyService,
    to: Vec<SocketAddr>,
    next: AtomicUsize,
}

/// Passes connections on from `listeners` to `to`, each in turn, until killed.
pub(super) fn serve(
    options: &TcpProxyService,
    to: &[SocketAddr],
    listeners: Vec<TcpListener>,
    announce: impl FnOnce(&[SocketAddr]) -> Result<(), Failure>,
) -> Result<Infallible, Failure> {
    if to.is_empty() {
        return Err(other("start the proxy", &"there is no address to pass connections on to"));
    }
    process::survive_broken_pipes()?;
    let proxy = Arc::new(Proxy { options: options.clone(), to: to.to_vec(), next: AtomicUsize::new(0) });
    listen::accept_in_threads(listeners, announce, |listener| {
        let proxy = Arc::clone(&proxy);
        Ok(move || accept(&listener, &proxy))
    })
}

fn accept(listener: &TcpListener, proxy: &Arc<Proxy>) {
    loop {
        let Ok((client, _)) = listener.accept() else {
            sleep(SHORTAGE);
            continue;
        };
        if Arc::strong_count(proxy) > MOST_CONNECTIONS {
            reset_on_close(&client);
            continue;
        }
        let proxy = Arc::clone(proxy);
        if Builder::new().stack_size(STACK).spawn(move || proxy.pass_on(&client)).is_err() {
            sleep(SHORTAGE);
        }
    }
}

impl Proxy {
    /// Runs one connection. A client whose server cannot be reached gets a reset.
    fn pass_on(&self, client: &TcpStream) {
        let nth = self.next.fetch_add(1, Ordering::Relaxed);
        let Ok(server) = TcpStream::connect(self.to[nth % self.to.len()]) else {
            return reset_on_close(client);
        };
        // A failure to set it costs some delay, and no more.
        server.set_nodelay(true).ok();
        let buffer = usize::try_from(self.options.buffer.0).unwrap_or(shuttle::BUFFER);
        if shuttle::both_ways(client, &server, self.options.by, buffer).is_err() {
            reset_on_close(client);
            reset_on_close(&server);
        }
    }
}
