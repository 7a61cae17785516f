//! Damaged files: nothing of what is read may panic, and what is reported must stay consistent. The fuzz targets in
//! `fuzz/` go deeper; this runs everywhere.

use std::fs;
use std::path::Path;

use plimsoll_explain::stalls::{Analyzer, Limits};

/// Marsaglia's xorshift: damage that is the same in every run.
struct Damage(u64);

impl Damage {
    fn next(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % below.max(1) as u64) as usize
    }

    /// Changes, cuts out or doubles some bytes.
    fn apply(&mut self, bytes: &mut Vec<u8>) {
        for _ in 0..=self.next(8) {
            let at = self.next(bytes.len());
            match self.next(4) {
                0 => bytes[at] = self.next(256) as u8,
                1 => bytes[at] ^= 1 << self.next(8),
                2 => drop(bytes.drain(at..(at + self.next(40)).min(bytes.len()))),
                _ => bytes.extend_from_within(at..(at + self.next(200)).min(bytes.len())),
            }
            if bytes.is_empty() {
                return;
            }
        }
    }
}

#[test]
fn damaged_files_are_read_as_far_as_they_go() {
    let folders = ["tests/data", "../plimsoll-import/tests/data"];
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut damage = Damage(0x9e37_79b9_7f4a_7c15);
    let mut read = 0;
    for folder in folders {
        for entry in fs::read_dir(root.join(folder)).expect("the folder is there") {
            let path = entry.expect("the folder is readable").path();
            if path.is_dir() {
                continue;
            }
            let whole = fs::read(&path).expect("the file is readable");
            let rounds = (2_000_000 / whole.len().max(1)).min(200);
            for _ in 0..rounds {
                let mut bytes = whole.clone();
                damage.apply(&mut bytes);
                let mut analyzer = Analyzer::with_limits(Limits { followed: 3, listed: 2, stalls: 2 });
                let Ok(capture) = plimsoll_import::packets::read(&*bytes, |packet| analyzer.packet(packet))
                else {
                    continue;
                };
                read += 1;
                let report = analyzer.finish(capture);
                let shares: f64 = report.time_share.values().sum();
                assert!(shares < 1.000_001, "{}: {:?}", path.display(), report.time_share);
                for connection in report.connections {
                    assert!(connection.stalled_s < connection.duration_s + 1e-6, "{}", path.display());
                }
            }
        }
    }
    assert!(read > 2000, "most damaged files are still packet files: {read}");
}
