//! Latencies as HdrHistogram prints them: `Value Percentile TotalCount 1/(1-Percentile)`
//! (<https://github.com/HdrHistogram/HdrHistogram>, `outputPercentileDistribution`), in milliseconds.

use std::collections::BTreeMap;
use std::io::{self, Write};

use plimsoll_model::observation::{Arm, Histogram, TrialRecord};

use super::Selection;
use crate::escape;

/// The lines for each halving of the distance to 100 %.
const TICKS: u32 = 5;
/// Times are kept in microseconds and written in milliseconds.
const US_PER_MS: f64 = 1000.0;

/// Common keys of the latencies of a block.
type Key<'t> = (&'t BTreeMap<String, String>, &'t str, Arm);

/// Writes a block for each cell, phase and arm that has latencies: a line that names it, and the distribution over all of its slices.
///
/// # Errors
/// When `out` cannot be written to.
pub fn hdr(out: &mut dyn Write, trials: &[TrialRecord], wanted: &Selection) -> io::Result<()> {
    let mut blocks: Vec<(Key<'_>, Histogram)> = Vec::new();
    for trial in trials {
        for phase in &trial.phases {
            if !wanted.phases.is_empty() && !wanted.phases.contains(&phase.name) {
                continue;
            }
            for slice in &phase.slices {
                let key = (&trial.cell, phase.name.as_str(), slice.arm);
                let place = blocks.iter().position(|(known, _)| *known == key).unwrap_or_else(|| {
                    blocks.push((key, Histogram::default()));
                    blocks.len() - 1
                });
                blocks[place].1.add(&slice.result.latency.total);
            }
        }
    }
    for ((cell, phase, of), histogram) in blocks.iter().filter(|(_, histogram)| !histogram.is_empty()) {
        let cell: String = cell.iter().map(|(factor, level)| format!(" {factor}={level}")).collect();
        let phase = escape::terminal(phase);
        writeln!(out, "#[phase={phase} arm={}{}]", of.name(), escape::terminal(&cell))?;
        block(out, histogram)?;
    }
    Ok(())
}

fn block(out: &mut dyn Write, histogram: &Histogram) -> io::Result<()> {
    writeln!(out, "{:>12} {:>14} {:>10} {:>14}\n", "Value", "Percentile", "TotalCount", "1/(1-Percentile)")?;
    let mut total = 0;
    for step in histogram.iter_quantiles(TICKS) {
        total += step.count_since_last_iteration();
        let value = step.value_iterated_to() as f64 / US_PER_MS;
        let quantile = step.quantile_iterated_to();
        if quantile < 1.0 {
            writeln!(out, "{value:12.3} {quantile:2.12} {total:10} {:14.2}", 1.0 / (1.0 - quantile))?;
        } else {
            writeln!(out, "{value:12.3} {quantile:2.12} {total:10}")?;
        }
    }
    let (mean, spread) = (histogram.mean() / US_PER_MS, histogram.stdev() / US_PER_MS);
    writeln!(out, "#[Mean    = {mean:12.3}, StdDeviation   = {spread:12.3}]")?;
    let most = histogram.max() as f64 / US_PER_MS;
    writeln!(out, "#[Max     = {most:12.3}, Total count    = {:12}]", histogram.len())
}
