//! When a counter gets worse: the last seconds against the minute before.

use std::collections::VecDeque;

use plimsoll_assess::watched::Moment;
use plimsoll_judge::stats::median;

use crate::failure::Failure;
use crate::recording::Worse;

/// Seconds that are compared with those before.
const NOW: usize = 5;
/// Seconds before, at least and at most.
const BEFORE: (usize, usize) = (15, 60);
/// A value is worse that lies further from the median before than this many of the usual deviations from it.
const DEVIATIONS: f64 = 6.0;
/// And further than this part of it.
const LEAST_SHARE: f64 = 0.25;
/// The standard deviation of a normal distribution, in median absolute deviations.
const NORMAL: f64 = 1.4826;

/// Short names of common counters.
const NAMES: [(&str, &str); 7] = [
    ("cpu", "machine.stat.cpu.idle"),
    ("cpu-wait", "machine.pressure.cpu.some"),
    ("memory-wait", "machine.pressure.memory.some"),
    ("io-wait", "machine.pressure.io.some"),
    ("retransmits", "snmp.Tcp.RetransSegs"),
    ("listen-queue", "netstat.TcpExt.ListenOverflows"),
    ("memory", "machine.meminfo.MemAvailable"),
];
/// Counters that rise and fall: their value counts, not how fast it grows.
const LEVELS: [&str; 9] = [
    "machine.meminfo.",
    "machine.loadavg.",
    "machine.stat.procs_",
    "machine.vmstat.nr_",
    "machine.sockstat.",
    "sockstat.",
    "nf_conntrack.count",
    "tcp.",
    "descriptors",
];
/// Metrics that are good when they are high.
const WORSE_BELOW: [&str; 3] = [".idle", "MemAvailable", "MemFree"];

/// A counter that is waited for.
pub(super) struct Metric {
    name: String,
    /// The time and value of the last moment.
    last: Option<(u64, f64)>,
    values: VecDeque<f64>,
    moments: usize,
}

impl Metric {
    pub(super) fn new(name: &str) -> Result<Self, Failure> {
        let name = NAMES.iter().find(|(short, _)| *short == name).map_or(name, |(_, name)| name);
        if !name.contains('.') && !LEVELS.contains(&name) {
            let short: Vec<&str> = NAMES.iter().map(|(short, _)| *short).collect();
            return Err(Failure::Usage(format!(
                "--until-worse {name}: expected a counter such as netstat.TcpExt.ListenOverflows, or one of: {}",
                short.join(", ")
            )));
        }
        Ok(Self { name: name.to_owned(), last: None, values: VecDeque::new(), moments: 0 })
    }

    /// Adds a moment. Reports when the counter is worse than before for some seconds.
    pub(super) fn learn(&mut self, moment: &Moment) -> Result<Option<Worse>, Failure> {
        let at_ns = moment.counters.at_ns;
        let Some(value) = moment.counters.values.get(&self.name).copied() else {
            if self.moments == 0 {
                return Err(Failure::Usage(format!(
                    "--until-worse {}: this machine has no such counter",
                    self.name
                )));
            }
            return Ok(None);
        };
        self.moments += 1;
        let figure = if LEVELS.iter().any(|start| self.name.starts_with(start)) {
            Some(value)
        } else {
            let rate =
                |(at, before): (u64, f64)| (value - before) * 1e9 / at_ns.saturating_sub(at).max(1) as f64;
            self.last.map(rate)
        };
        self.last = Some((at_ns, value));
        let Some(figure) = figure else { return Ok(None) };
        self.values.push_back(figure);
        if self.values.len() > BEFORE.1 + NOW {
            self.values.pop_front();
        }
        Ok(self.judge().map(|(before, after)| Worse {
            metric: self.name.clone(),
            at_unix_ms: moment.at_unix_ms.saturating_sub(1000 * NOW as u64),
            before,
            after,
        }))
    }

    fn judge(&self) -> Option<(f64, f64)> {
        let values: Vec<f64> = self.values.iter().copied().collect();
        let (before, now) = values.split_at_checked(values.len().checked_sub(NOW)?)?;
        if before.len() < BEFORE.0 {
            return None;
        }
        let middle = median(before);
        let deviations: Vec<f64> = before.iter().map(|value| (value - middle).abs()).collect();
        let margin = (DEVIATIONS * NORMAL * median(&deviations)).max(LEAST_SHARE * middle.abs());
        // A counter that stood still is worse once it moves in each second.
        let margin = margin.max(f64::EPSILON);
        let falls = WORSE_BELOW.iter().any(|end| self.name.ends_with(end));
        let is_worse = |value: &f64| if falls { *value < middle - margin } else { *value > middle + margin };
        now.iter().all(is_worse).then(|| (middle, median(now)))
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_model::observation::Snapshot;
    use rand::rngs::StdRng;
    use rand::{RngExt as _, SeedableRng};

    use super::*;

    /// Seconds after which a counter with these rates is called worse.
    fn worse_after(name: &str, rates: impl Iterator<Item = f64>) -> Option<usize> {
        let mut metric = Metric::new(name).unwrap();
        let mut value = 0.0;
        for (second, rate) in rates.enumerate() {
            value += rate;
            let values = [(metric.name.clone(), value)].into();
            let counters = Snapshot { at_ns: second as u64 * 1_000_000_000, values };
            let moment = Moment { at_unix_ms: second as u64 * 1000, counters, processes: None };
            if metric.learn(&moment).unwrap().is_some() {
                return Some(second);
            }
        }
        None
    }

    #[test]
    fn a_rise_for_five_seconds_is_worse_and_what_scatters_is_not() {
        let mut rng = StdRng::seed_from_u64(7);
        let mut scatter = |mean: f64| mean * (1.0 + rng.random_range(-0.1..0.1));
        let quiet: Vec<f64> = (0..3600).map(|_| scatter(100.0)).collect();
        assert_eq!(worse_after("retransmits", quiet.iter().copied()), None, "an hour of scatter");
        let risen = (0..200).map(|second| scatter(if second < 100 { 100.0 } else { 300.0 }));
        assert_eq!(worse_after("retransmits", risen), Some(104));
        let spike = (0..200).map(|second| if second % 50 == 49 { 900.0 } else { 100.0 });
        assert_eq!(worse_after("retransmits", spike), None, "a second now and then");
        let still = (0..60).map(|second| if second < 30 { 0.0 } else { 1.0 });
        assert_eq!(worse_after("listen-queue", still), Some(34));
    }

    #[test]
    fn idle_time_is_worse_when_it_falls() {
        let falls = |from: f64, to: f64| (0..60).map(move |second| if second < 30 { from } else { to });
        assert_eq!(worse_after("cpu", falls(2e6, 1e5)), Some(34));
        assert_eq!(worse_after("cpu", falls(1e5, 2e6)), None);
        assert!(Metric::new("latency").is_err());
        let mut metric = Metric::new("no.such").unwrap();
        assert!(metric.learn(&Moment::default()).is_err());
    }
}
