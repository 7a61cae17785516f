//! How fast text is read as figures, and in how much memory: `figures_speed FILE...`. docs/benchmarks.md has what it told.

use std::fs::File;
use std::io;
use std::time::Instant;

use plimsoll_import::figures::{self, Options};

fn main() -> io::Result<()> {
    for path in std::env::args().skip(1) {
        let size = std::fs::metadata(&path)?.len() as f64 / 1e6;
        let begun = Instant::now();
        let read = figures::stream(File::open(&path)?, &Options::default(), &mut |_| {});
        let seconds = begun.elapsed().as_secs_f64();
        let coverage = read.map_err(io::Error::other)?;
        println!(
            "{path}: {size:.0} MB, {} figures of {:?} in {seconds:.2} s: {:.0} MB/s",
            coverage.figures,
            coverage.formats(),
            size / seconds
        );
    }
    let status = std::fs::read_to_string("/proc/self/status")?;
    println!("{}", status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or_default());
    Ok(())
}
