//! The stored runs as web pages: lists, single runs, two side by side, causes.
//!
//! Everything is read when it is asked for, and nothing can be changed from a browser: there are only GET and HEAD. Pages work without
//! scripts but for their charts, and every address can be sent to somebody else. Who may ask is in `guard.rs`.
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
        let listener = tokio::net::TcpListener::from_std(listener)?;
        axum::serve(listener, routes::all(site::Site::new(runs), guard)).await
    })
}
