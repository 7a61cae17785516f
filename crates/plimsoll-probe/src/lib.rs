//! Reads the kernel while an experiment runs: counters and their cost, stacks, connections, packets, and the machine's inventory.
//!
//! Everything that is read from files takes the root of the file system as an argument (`/` for the running kernel), so that
//! tests run against folders.
#![warn(clippy::print_stderr)]

mod budget;
pub mod busiest;
pub mod capture;
mod children;
pub mod clock;
pub mod connections;
pub mod counters;
mod cpu_time;
pub mod file_opens;
pub mod profile;
pub mod quiet;
pub mod sampler;
pub mod serving;
pub mod settings;
pub mod small_file;
pub mod tree;
mod unix_sockets;
mod wakers;

pub use budget::{Budget, thread_cpu_time};
pub use connections::connections;
pub use counters::{Counters, CountersError, Depth, Scope, Series};
pub use sampler::{Sampler, SamplerError};
