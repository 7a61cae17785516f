//! Measures how fast packet files are read, without any analysis: `cargo run --release --example read_speed -- FILE ...`

use std::error::Error;
use std::fs::File;
use std::time::Instant;

fn main() -> Result<(), Box<dyn Error>> {
    for path in std::env::args_os().skip(1) {
        let file = File::open(&path)?;
        let length = file.metadata()?.len();
        let begin = Instant::now();
        let mut payload = 0_u64;
        let capture = plimsoll_import::packets::read(file, |packet| payload += u64::from(packet.wire_bytes))?;
        let took = begin.elapsed().as_secs_f64();
        println!(
            "{}: {} packets, {:.3} s, {:.2} GB/s, {:.1} ns for each packet",
            path.display(),
            capture.packets,
            took,
            length as f64 / took / 1e9,
            took * 1e9 / capture.packets as f64
        );
    }
    Ok(())
}
