//! How fast text is read as figures, and in how much memory: `figures_speed FILE...`. docs/benchmarks.md has the results.

use std::fs::File;
use std::io;
use std::time::Instant;

use plimsoll_import::figures::{self, Options};

fn main() -> io::Result<()> {
    for path in std::env::args().skip(1) {
        let size = std::fs::metadata(&path)?.len() as f64 / 1e6;
        let (begun, cpu_before) = (Instant::now(), cpu_s()?);
        let read = figures::stream(File::open(&path)?, &Options::default(), &mut |_| {});
        let (seconds, cpu) = (begun.elapsed().as_secs_f64(), cpu_s()? - cpu_before);
        let coverage = read.map_err(io::Error::other)?;
        println!(
            "{path}: {size:.0} MB, {} figures of {:?}: {:.0} MB/s, {:.0} MB in a second of CPU time",
            coverage.figures,
            coverage.formats(),
            size / seconds,
            size / cpu
        );
    }
    let status = std::fs::read_to_string("/proc/self/status")?;
    println!("{}", status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or_default());
    Ok(())
}

/// The CPU time that this process has used, in seconds: the first figure of proc(5)'s `schedstat`, in nanoseconds.
fn cpu_s() -> io::Result<f64> {
    let text = std::fs::read_to_string("/proc/self/schedstat")?;
    let nanoseconds: f64 = text.split(' ').next().and_then(|word| word.parse().ok()).unwrap_or_default();
    Ok(nanoseconds / 1e9)
}
