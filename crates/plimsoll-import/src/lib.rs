//! Other tools' output and packet files, read into observations.
//!
//! - [`figures`]: what benchmarks and monitors printed, as named figures with units, which loads of the user's own are read by, too.
//! - [`monitoring`]: series that other monitors kept over weeks.
//! - [`packets`]: pcap, pcapng and tcpdump's text, as a stream of packets.
//! - [`saved`]: what vmstat, sar and `perf script` wrote down.
#![forbid(unsafe_code)]
#![warn(clippy::print_stderr)]

mod calendar;
pub mod monitoring;
pub mod packets;
pub mod saved;

pub use plimsoll_figures as figures;
