//! Any bytes as a packet file: read, analysed, and reported.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_explain::stalls::{Analyzer, Limits};

fuzz_target!(|data: &[u8]| {
    // Small limits, so that short inputs reach the paths beyond them.
    let mut analyzer = Analyzer::with_limits(Limits { followed: 4, listed: 3, stalls: 2 });
    if let Ok(capture) = plimsoll_import::packets::read(data, |packet| analyzer.packet(packet)) {
        let report = analyzer.finish(capture);
        for connection in &report.connections {
            assert!(connection.stalled_s <= connection.duration_s * 1.000_001 + 1e-6, "{connection:?}");
        }
        let shares: f64 = report.time_share.values().sum();
        assert!(shares <= 1.000_001, "{:?}", report.time_share);
    }
});
