//! Figures of several slices taken together.

use plimsoll_model::observation::{Histogram, Percentiles, Slice};
use plimsoll_model::report::CpuShares;

/// Ticks of 10 ms are what the kernel counts CPU time in; fewer than this many say nothing, in microseconds.
const LEAST_CPU_US: f64 = 200_000.0;

/// Percentiles over all slices, from their histograms.
pub(super) fn percentiles<'h>(histograms: impl Iterator<Item = &'h Histogram>) -> Percentiles {
    histogram(histograms).percentiles()
}

/// The histograms of several slices together, in microseconds.
pub(super) fn histogram<'h>(histograms: impl Iterator<Item = &'h Histogram>) -> Histogram {
    let mut all = Histogram::default();
    histograms.for_each(|histogram| all.add(histogram));
    all
}

/// Where the machine's CPU time went while the slices ran.
pub(super) fn cpu(slices: &[&Slice]) -> Option<CpuShares> {
    let sum = |field: &str| -> f64 {
        let name = format!("machine.stat.cpu.{field}");
        let sum: f64 = slices.iter().filter_map(|slice| slice.counters.get("machine")?.get(&name)).sum();
        // The kernel's own sum of idle time can go back by a tick.
        sum.max(0.0)
    };
    let user = sum("user") + sum("nice");
    let (system, softirq) = (sum("system"), sum("irq") + sum("softirq"));
    let (iowait, idle, steal) = (sum("iowait"), sum("idle"), sum("steal"));
    let all = user + system + softirq + iowait + idle + steal;
    (all >= LEAST_CPU_US).then(|| CpuShares {
        user: user / all,
        system: system / all,
        softirq: softirq / all,
        iowait: iowait / all,
        idle: idle / all,
        steal: steal / all,
    })
}
