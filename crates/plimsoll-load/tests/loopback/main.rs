//! Services against generators, over real sockets on the loopback interface.
//!
//! Services fork, so each runs in a process of its own: the example `serve`, which `cargo test` builds as well.

mod bulk;
mod errors;
mod fake;
mod lifetime;
mod load;
mod mail;
mod models;
mod open_loop;
mod relay;
mod secure;
mod service;
mod tcp_proxy;
mod udp;
mod web;
