//! How busy CPUs were between two samples.

use std::ops::RangeFrom;

/// The states of a CPU that add up to its time.
const STATES: [&str; 8] = ["user", "nice", "system", "irq", "softirq", "steal", "idle", "iowait"];
/// The number of kinds, at the end, that are not work.
const IDLE: usize = 2;
/// The CPUs that there may be, by number.
const NUMBERS: RangeFrom<u32> = 0..;

/// The time of some CPUs until a moment, in the unit of the counters.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CpuTime {
    busy: f64,
    all: f64,
}

impl CpuTime {
    /// The counters of one CPU of the machine, by name: those of work first.
    pub fn counters(cpu: u32) -> [String; 8] {
        STATES.map(|state| format!("machine.stat.cpu{cpu}.{state}"))
    }

    /// The CPUs whose time is known.
    pub fn known(is_known: impl Fn(&str) -> bool) -> Vec<u32> {
        NUMBERS.take_while(|cpu| is_known(&format!("machine.stat.cpu{cpu}.idle"))).collect()
    }

    /// The time of the CPUs that have these counters.
    pub fn of(cpus: &[[String; 8]], value: impl Fn(&str) -> f64) -> Self {
        let sum = |number: usize| -> f64 {
            cpus.iter().flat_map(|names| &names[..number]).map(|name| value(name)).sum()
        };
        Self { busy: sum(STATES.len() - IDLE), all: sum(STATES.len()) }
    }

    /// The share of the time since then in which they worked; `None` if no time passed.
    pub fn busy_since(self, before: Self) -> Option<f64> {
        let all = self.all - before.all;
        (all > 0.0).then(|| ((self.busy - before.busy) / all).clamp(0.0, 1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_for_a_disk_is_no_work() {
        let names = [CpuTime::counters(1)];
        let at = |user: f64, iowait: f64, idle: f64| {
            CpuTime::of(&names, |name| match name.rsplit('.').next() {
                Some("user") => user,
                Some("iowait") => iowait,
                Some("idle") => idle,
                _ => 0.0,
            })
        };
        let (before, after) = (at(100.0, 50.0, 50.0), at(130.0, 90.0, 80.0));
        assert_eq!(after.busy_since(before), Some(0.3));
        assert_eq!(after.busy_since(after), None);
        assert_eq!(CpuTime::known(|name| name.contains("cpu0.") || name.contains("cpu1.")), [0, 1]);
    }
}
