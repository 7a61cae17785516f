//! Other tools' output and packet files, read into observations.
//!
//! - [`figures`]: what benchmarks and monitors printed, as named figures with units, which loads of the user's own are read by, too.
//! - [`packets`]: pcap, pcapng and tcpdump's text, as a stream of packets.
//! - [`saved`]: what vmstat, sar and `perf script` wrote down.
#![forbid(unsafe_code)]
#![warn(clippy::print_stderr)]

pub mod packets;
pub mod saved;

pub use plimsoll_figures as figures;
