//! Writes simulated histories as JSON lines, with the changes that Plimsoll finds in them and the seconds that it took, for a
//! comparison with other tools: `cargo run --release --example change_series -- COUNT > series.jsonl`, then
//! `python3 lab/compare_changes.py series.jsonl`.

use plimsoll_judge::changes::find_changes;
use std::io::{BufWriter, Write};
use std::time::Instant;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let count = std::env::args().nth(1).map_or(Ok(500), |text| text.parse())?;
    let mut out = BufWriter::new(std::io::stdout().lock());
    for (id, history) in plimsoll_lab::series::histories(count, 7).into_iter().enumerate() {
        let begin = Instant::now();
        let found = find_changes(&history.values)?;
        let seconds = begin.elapsed().as_secs_f64();
        let found: Vec<usize> = found.changes.iter().map(|c| c.index).collect();
        let line = serde_json::json!({
            "id": id, "scatter": history.scatter.name(), "truth": history.truth, "sizes": history.sizes,
            "series": history.values, "found": found, "seconds": seconds,
        });
        writeln!(out, "{line}")?;
    }
    out.flush()?;
    Ok(())
}
