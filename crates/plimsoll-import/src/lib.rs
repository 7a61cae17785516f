//! Other tools' output and packet files, read into observations.
//!
//! - [`packets`]: pcap, pcapng and tcpdump's text, as a stream of packets.
#![forbid(unsafe_code)]

pub mod packets;
