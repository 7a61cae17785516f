//! Services and load generators, on one pacing loop.
//!
//! A [service](serve) runs in a process of its own and serves until it is killed; a [load](run) runs in threads of the
//! caller's process and ends with a [`LoadResult`](plimsoll_model::observation::LoadResult).
#![warn(clippy::print_stderr)]

mod clock;
mod date;
mod descriptors;
mod failure;
#[cfg(feature = "fuzzed")]
pub mod fuzzed;
mod generate;
mod process;
mod records;
mod rule;
mod service;
mod smtp;
mod socket_io;
mod text;
mod transfer;

pub use generate::{Control, run};
pub use service::{FlushReader, serve};
pub use smtp::ledger::LedgerReader;
