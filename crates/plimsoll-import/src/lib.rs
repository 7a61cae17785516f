//! Other tools' output and packet files, read into observations.
//!
//! - [`figures`]: what benchmarks and monitors printed, as named figures with units.
//! - [`packets`]: pcap, pcapng and tcpdump's text, as a stream of packets.
//! - [`saved`]: what vmstat, sar and `perf script` wrote down.
#![forbid(unsafe_code)]

pub mod figures;
pub mod packets;
pub mod saved;
