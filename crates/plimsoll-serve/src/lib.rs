//! The stored runs as web pages: lists, single runs, two side by side, causes.
//!
//! Everything is read when it is asked for, and nothing can be changed from a browser: there are only GET and HEAD.
//! Pages work without scripts, except for their charts, and every address can be sent to somebody else. Who may ask is
//! in `guard.rs`.
#![forbid(unsafe_code)]

mod assets;
mod events;
mod guard;
mod link;
mod pages;
mod routes;
mod site;

use std::io;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use guard::Gate;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::sync::Semaphore;

pub use guard::{Guard, Token};
pub use maud::Markup;
pub use site::{Loaded, Runs};

/// Answers requests for as long as the process lives.
///
/// # Errors
/// When the listener cannot be used, or the system has no more threads.
pub fn serve(listener: TcpListener, runs: impl Runs, guard: Guard) -> io::Result<()> {
    // Handlers wait for the store in threads of their own; one thread is enough for the sockets.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        listener.set_nonblocking(true)?;
        let gate = Gate::new(guard, listener.local_addr()?.port());
        let listener = tokio::net::TcpListener::from_std(listener)?;
        let service = TowerToHyperService::new(routes::all(site::Site::new(runs), gate));
        let connections = Arc::new(Semaphore::new(MOST_CONNECTIONS));
        loop {
            let Ok(place) = Arc::clone(&connections).acquire_owned().await else { return Ok(()) };
            let Ok((stream, _)) = listener.accept().await else {
                // The peer is gone already, or descriptors ran out; they come back when connections end.
                tokio::time::sleep(RETRY).await;
                continue;
            };
            let service = service.clone();
            tokio::spawn(async move {
                let mut http = http1::Builder::new();
                http.timer(TokioTimer::new()).header_read_timeout(HEAD_WITHIN).max_buf_size(LARGEST_HEAD);
                // A client that breaks off is its own business.
                http.serve_connection(TokioIo::new(stream), service).await.ok();
                drop(place);
            });
        }
    })
}

/// Connections at a time, far below the usual limit of 1,024 descriptors: each may have a store open as well.
const MOST_CONNECTIONS: usize = 128;
/// A connection without a whole request head for this long is closed. Bodies are not read: only GET and HEAD are answered.
const HEAD_WITHIN: Duration = Duration::from_secs(10);
/// Largest head of a request, in bytes.
const LARGEST_HEAD: usize = 64 << 10;
/// Pause after a connection that could not be accepted.
const RETRY: Duration = Duration::from_millis(50);
