//! Packets that the kernel drops, by its own reason: the tracepoint `skb/kfree_skb`, counted and not sampled.
//!
//! The counters of interfaces and protocols say that packets were sent again, and not who dropped them; a packet filter counts for itself at most.

use std::io;

use perf_event::events::Tracepoint;
use perf_event::{Builder, Counter, Group};

use super::table::Table;
use crate::profile::{TraceFs, cpus, set_filter};

const TRACEPOINT: &str = "skb/kfree_skb";
/// Reasons that mean that a packet was lost, and not merely used up (include/net/dropreason-core.h).
const REASONS: [&str; 7] =
    ["NETFILTER_DROP", "QDISC_DROP", "TC_INGRESS", "TC_EGRESS", "IP_RPFILTER", "XDP", "PKT_TOO_BIG"];
/// On more CPUs they would take too many descriptors.
const MOST_CPUS: usize = 64;

/// A group of counters on each CPU, each with the index of its reason. Reading interrupts the CPU, once for all of the group.
#[derive(Default)]
pub(super) struct Drops(Vec<(Group, Vec<(usize, Counter)>)>);

impl Drops {
    /// Begins to count. Without the right to, or on a kernel that gives no reasons (before 5.17), there are no counters.
    pub(super) fn open() -> Self {
        let files = TraceFs::open();
        let cpus = cpus().unwrap_or_default();
        let known = files.id(TRACEPOINT).zip(files.format(TRACEPOINT)).filter(|_| cpus.len() <= MOST_CPUS);
        let Some((id, format)) = known else { return Self::default() };
        let numbers = REASONS.iter().enumerate().filter_map(|(at, name)| Some((at, number(&format, name)?)));
        let numbers: Vec<(usize, u32)> = numbers.collect();
        Self(cpus.iter().filter_map(|cpu| counters(id, &numbers, *cpu).ok()).collect())
    }

    pub(super) fn read(&mut self, table: &mut Table) {
        let mut sums = [None; REASONS.len()];
        for (group, counters) in &mut self.0 {
            let Ok(counts) = group.read() else { continue };
            for (at, counter) in counters {
                if let Some(count) = counts.get(counter) {
                    *sums[*at].get_or_insert(0.0) += count.value() as f64;
                }
            }
        }
        for (name, sum) in REASONS.iter().zip(sums) {
            if let Some(sum) = sum {
                table.set_named(&format!("machine.drops.{}", name.to_lowercase()), sum);
            }
        }
    }
}

/// The number of a reason: `{ 12, "NETFILTER_DROP" }` in the format of the tracepoint.
fn number(format: &str, name: &str) -> Option<u32> {
    let before = &format[..format.find(&format!("\"{name}\""))?];
    before.rsplit('{').next()?.trim_matches([' ', ',']).parse().ok()
}

/// Counters of these reasons on one CPU.
fn counters(
    tracepoint: u64,
    reasons: &[(usize, u32)],
    cpu: usize,
) -> io::Result<(Group, Vec<(usize, Counter)>)> {
    let mut group = Group::builder().any_pid().one_cpu(cpu).build_group()?;
    let mut counters = Vec::new();
    for (at, reason) in reasons {
        let mut builder = Builder::new(Tracepoint::with_id(tracepoint));
        let counter = group.add(builder.any_pid().one_cpu(cpu).include_kernel())?;
        set_filter(&counter, &format!("reason == {reason}"))?;
        counters.push((*at, counter));
    }
    group.enable()?;
    Ok((group, counters))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_have_the_numbers_that_the_kernel_prints() {
        let format = r#"__print_symbolic(REC->reason, { 2, "NOT_SPECIFIED" }, { 12, "NETFILTER_DROP" }, { 64, "QDISC_DROP" })"#;
        assert_eq!(
            ["NETFILTER_DROP", "QDISC_DROP", "XDP"].map(|name| number(format, name)),
            [Some(12), Some(64), None]
        );
    }
}
