//! Any text as what tcpdump prints.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_explain::stalls::{Analyzer, Limits};

fuzz_target!(|text: &str| {
    let mut analyzer = Analyzer::with_limits(Limits { followed: 4, listed: 3, stalls: 2 });
    // A packet at the start makes text of it, whatever follows.
    let begin = "18:32:08.275493 IP 127.0.0.1.8000 > 127.0.0.1.26792: P 1:61(60) ack 2 win 16\n";
    let whole = format!("{begin}{text}");
    if let Ok(capture) = plimsoll_import::packets::read(whole.as_bytes(), |packet| analyzer.packet(packet)) {
        assert!(analyzer.finish(capture).tcp_connections > 0);
    }
});
