//! The counters of two sides, from readings at single moments and from windows of known length.
//!
//! A counter is only comparable as a rate. Where a side has two readings or more, their differences count. Where each side has one, the first side
//! is what happened since the machine was started, and the second is what happened between the two, as long as the machine was not started again.
//! Their divisor stands in the texts as well: connections, else segments, else seconds.

use std::collections::{BTreeMap, BTreeSet};

use plimsoll_explain::evidence::{Figure, rank};
use plimsoll_import::saved::Counters;
use plimsoll_model::report::Evidence;

use super::Rates;
use crate::evidence::shares::{UNANSWERED, of_cpus, of_disks, unanswered};
use crate::evidence::{MACHINE, busiest, figures};
use crate::work::SENT;

/// The host of a text that names none.
const HOST: &str = "host";
/// Names of counters whose sum is the number of connections.
const CONNECTIONS: [&str; 2] = ["snmp.Tcp.ActiveOpens", "snmp.Tcp.PassiveOpens"];
/// Names of counters whose sum is the number of segments.
const SEGMENTS: [&str; 2] = ["snmp.Tcp.InSegs", "snmp.Tcp.OutSegs"];
/// Fewer connections, or segments, are no measure.
const LEAST: [f64; 2] = [20.0, 1000.0];
/// Fewer events on both sides are chance.
const LEAST_EVENTS: f64 = 20.0;
/// The variance of events, which come in bursts, relative to that of independent ones.
const DISPERSION: f64 = 3.0;
/// A difference is reported from this many standard errors on.
const SURE: f64 = 3.0;
/// From this number of windows on their scatter is known.
const ENOUGH_WINDOWS: usize = 3;
/// Factor of change that a figure with fewer readings must reach.
const MORE: f64 = 2.0;
/// The smallest change of such a level: a share in per cent.
const LEAST_SHARE: f64 = 5.0;
/// A nice value.
const LEAST_NICE: f64 = 5.0;
/// An amount of memory.
const LEAST_BYTES: f64 = (32_u64 << 20) as f64;
/// Caches of the kernel are smaller.
const LEAST_CACHE: f64 = (1_u64 << 20) as f64;
/// How many more datagrams without an answer there must be in each second.
const LEAST_UNANSWERED: f64 = 0.1;
/// Counters that fell are the sign of a new start, if they are at least this part of all.
const RESTARTED: f64 = 0.02;

/// Counters of one side.
#[derive(Default)]
pub(super) struct Side {
    host: Option<String>,
    /// Of each counter the values as they stood, from the program that read it most often.
    readings: BTreeMap<String, Vec<f64>>,
    /// Of each counter what it moved by in windows of known length.
    windows: BTreeMap<String, Vec<f64>>,
    /// The lengths of these windows.
    seconds: Vec<Option<f64>>,
    pub(super) levels: BTreeMap<String, Vec<f64>>,
    /// When the machine's clock was read; since it was started where `true`.
    clock: Option<(Vec<f64>, bool)>,
    /// Programs that do not print zeros, with the number of their readings.
    sparse: BTreeMap<String, usize>,
    boot: Option<f64>,
}

impl Side {
    /// The counters of all files of a side.
    pub(super) fn of<'c>(all: impl Iterator<Item = &'c Counters>) -> Self {
        let mut side = Self::default();
        let mut by_program: BTreeMap<&str, Vec<&Counters>> = BTreeMap::new();
        for counters in all {
            side.host = side.host.or_else(|| counters.host.clone());
            by_program.entry(&counters.program).or_default().push(counters);
        }
        for (program, of_program) in by_program {
            side.add(program, &of_program);
        }
        side.boot = side.levels.remove("machine.boot").and_then(|values| values.last().copied());
        side.clock = side.clock.take().or_else(|| side.cpu_clock().map(|values| (values, true)));
        side
    }

    fn add(&mut self, program: &str, of_program: &[&Counters]) {
        let readings: Vec<_> = of_program.iter().flat_map(|it| &it.readings).collect();
        let names: BTreeSet<&String> = readings.iter().flat_map(|it| it.totals.keys()).collect();
        let is_sparse = of_program.iter().any(|it| it.omits_zeros());
        if is_sparse {
            self.sparse.insert(program.to_owned(), readings.len());
        }
        for name in names {
            let value = |it: &&plimsoll_import::saved::Reading| {
                it.totals.get(name).copied().or_else(|| is_sparse.then_some(0.0))
            };
            let values: Vec<f64> = readings.iter().filter_map(value).collect();
            let known = self.readings.entry(name.clone()).or_default();
            if values.len() > known.len() {
                *known = values;
            }
        }
        let mut levels: BTreeMap<&String, Vec<f64>> = BTreeMap::new();
        for (name, values) in readings.iter().flat_map(|it| &it.levels) {
            levels.entry(name).or_default().extend(values);
        }
        for (name, values) in levels {
            let known = self.levels.entry(name.clone()).or_default();
            if values.len() > known.len() {
                *known = values;
            }
        }
        let clock: Vec<f64> = readings.iter().filter_map(|it| it.at).collect();
        // A clock's time since 1970 has no meaning by itself.
        let since_boot = clock.first().is_some_and(|at| *at < 1e9);
        if !clock.is_empty() && self.clock.as_ref().is_none_or(|(_, known)| since_boot && !known) {
            self.clock = Some((clock, since_boot));
        }
        for window in of_program.iter().flat_map(|it| &it.windows) {
            let before = self.seconds.len();
            self.seconds.push(window.seconds);
            for (name, value) in &window.values {
                let values = self.windows.entry(name.clone()).or_default();
                values.resize(before, 0.0);
                values.push(*value);
            }
        }
        self.windows.values_mut().for_each(|values| values.resize(self.seconds.len(), 0.0));
    }

    /// Whether the counters of a side that leaves out zeros would show this one.
    fn shows(&self, name: &str) -> bool {
        let is_of_network = name.starts_with("snmp.") || name.starts_with("netstat.");
        self.readings.contains_key(name)
            || self.windows.contains_key(name)
            || is_of_network && (!self.sparse.is_empty() || !self.seconds.is_empty())
            || self.others(name).is_some()
    }

    /// The values of another queueing discipline, where this one was not there yet: `tc -s qdisc` lists all there are.
    fn others(&self, name: &str) -> Option<&Vec<f64>> {
        let is_other = |other: &&String| other.starts_with(DISCIPLINES);
        let first = self.readings.keys().filter(|_| name.starts_with(DISCIPLINES)).find(is_other)?;
        self.readings.get(first)
    }

    /// The values of a counter as they stood; zeros where a program leaves these out.
    fn stood(&self, name: &str) -> Vec<f64> {
        let fill = || {
            let of_sparse = || self.sparse.values().copied().max().unwrap_or(0);
            vec![0.0; self.others(name).map_or_else(of_sparse, Vec::len)]
        };
        self.readings.get(name).cloned().unwrap_or_else(fill)
    }

    /// Seconds since the machine was started, from the time of all its CPUs together.
    fn cpu_clock(&self) -> Option<Vec<f64>> {
        const FIELDS: [&str; 8] = ["user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal"];
        let is_cpu = |name: &&String| {
            let cpu = name.strip_prefix("machine.stat.cpu").and_then(|rest| rest.strip_suffix(".user"));
            cpu.is_some_and(|number| !number.is_empty())
        };
        let cpus = self.readings.keys().filter(is_cpu).count();
        let all: Vec<&Vec<f64>> = FIELDS
            .iter()
            .filter_map(|field| self.readings.get(&format!("machine.stat.cpu.{field}")))
            .collect();
        let moments = all.iter().map(|values| values.len()).min().filter(|_| cpus > 0)?;
        let at = |moment: usize| all.iter().map(|values| values[moment]).sum::<f64>() / cpus as f64 / 1e6;
        Some((0..moments).map(at).collect())
    }
}

/// Counts per window, of the first side and of the second.
type SideCounts = [Vec<f64>; 2];

/// Values of two sides for their comparison.
pub(super) struct Contrast<'s> {
    sides: [&'s Side; 2],
    /// Whether the machine went on from the first side to the second.
    goes_on: bool,
    /// Counters that fell although the machine went on.
    fell: Vec<String>,
    rates: Option<Rates>,
}

/// Divisor of counts.
struct Divisor {
    by: SideCounts,
    per: &'static str,
}

impl<'s> Contrast<'s> {
    pub(super) fn of(sides: [&'s Side; 2], rates: Option<Rates>) -> Self {
        let [before, after] = sides;
        let mut all = 0_usize;
        let mut fell = Vec::new();
        for (name, values) in &before.readings {
            let then = after.readings.get(name).and_then(|values| values.first()).copied();
            let Some((last, then)) = values.last().copied().zip(then) else { continue };
            all += 1;
            if then < last {
                fell.push(name.clone());
            }
        }
        let other_host = before.host.is_some() && after.host.is_some() && before.host != after.host;
        let other_boot = before.boot.zip(after.boot).is_some_and(|(a, b)| (a - b).abs() > 10.0);
        let goes_on = !other_host && !other_boot && fell.len() as f64 <= RESTARTED * all as f64;
        Self { sides, goes_on, fell: if goes_on { fell } else { Vec::new() }, rates }
    }

    /// Change of a counter on both sides; `None` if it fell in between.
    fn counts(&self, name: &str) -> Option<SideCounts> {
        let [before, after] = self.sides;
        if !before.shows(name) || !after.shows(name) {
            return None;
        }
        let given = |side: &Side| side.windows.get(name).cloned();
        let [b, a] = [before.stood(name), after.stood(name)];
        let found = self.windows([given(before), given(after)], [&b, &a], true)?;
        found.iter().flatten().all(|value| *value >= 0.0).then_some(found)
    }

    /// Windows of both sides from values as they stood. `from_boot`: whether the first value counts from the start of the machine.
    fn windows(
        &self,
        given: [Option<Vec<f64>>; 2],
        [b, a]: [&[f64]; 2],
        from_boot: bool,
    ) -> Option<SideCounts> {
        let differences = |values: &[f64]| values.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let single = |values: &[f64]| values.first().filter(|_| from_boot).map(|value| vec![*value]);
        let [given_b, given_a] = given;
        let before = match (given_b, b.len()) {
            (Some(windows), _) => windows,
            (None, 2..) => differences(b),
            _ => single(b)?,
        };
        let after = match (given_a, a.len()) {
            (Some(windows), _) => windows,
            (None, 2..) => differences(a),
            _ => match (self.goes_on, b.last(), a.first()) {
                (true, Some(last), Some(first)) => vec![first - last],
                _ => single(a)?,
            },
        };
        (!before.is_empty() && !after.is_empty()).then_some([before, after])
    }

    fn sum_of(&self, names: &[&str]) -> Option<SideCounts> {
        let mut all = names.iter().filter_map(|name| self.counts(name));
        let mut sum = all.next()?;
        for other in all {
            for (sum, other) in sum.iter_mut().zip(other) {
                sum.iter_mut().zip(other).for_each(|(sum, value)| *sum += value);
            }
        }
        Some(sum)
    }

    /// The length of the windows in seconds.
    fn seconds(&self) -> Option<SideCounts> {
        let given = |side: &Side| {
            let all: Option<Vec<f64>> = side.seconds.iter().copied().collect();
            all.filter(|all| !all.is_empty())
        };
        let clock = |side: &Side| side.clock.clone().unwrap_or_default();
        let [(b, from_boot), (a, _)] = self.sides.map(clock);
        let found = self.windows(self.sides.map(given), [&b, &a], from_boot)?;
        found.iter().flatten().all(|seconds| *seconds > 0.0).then_some(found)
    }

    /// How often TCP sent a segment with data in each second, where each side has two readings or a window of its own.
    pub(super) fn sent(&self) -> Option<[f64; 2]> {
        let is_watched = |side: &&Side| {
            side.windows.contains_key(SENT) || side.readings.get(SENT).is_some_and(|it| it.len() > 1)
        };
        let (counts, seconds) = (self.counts(SENT)?, self.seconds()?);
        let rate = |at: usize| counts[at].iter().sum::<f64>() / seconds[at].iter().sum::<f64>();
        self.sides.iter().all(is_watched).then(|| [rate(0), rate(1)])
    }

    /// Divisor of the counts of the machine, or of a host's own network.
    fn divisor(&self, is_machines: bool) -> Option<Divisor> {
        let seconds = self.seconds();
        let operations = self.rates.zip(seconds.clone()).map(|((before, after), [b, a])| {
            let times = |seconds: Vec<f64>, rate: f64| seconds.into_iter().map(|it| it * rate).collect();
            Divisor { by: [times(b, before), times(a, after)], per: "operation" }
        });
        let is_enough = |by: &SideCounts, least: f64| by.iter().all(|side| side.iter().sum::<f64>() >= least);
        let of = |names: &[&str], least: f64, per| {
            self.sum_of(names).filter(|by| is_enough(by, least)).map(|by| Divisor { by, per })
        };
        let connections = || of(&CONNECTIONS, LEAST[0], "connection");
        let time = || seconds.map(|by| Divisor { by, per: "second" });
        operations
            .or_else(|| if is_machines { time().or_else(connections) } else { connections().or_else(time) })
            .or_else(|| of(&SEGMENTS, LEAST[1], "segment"))
    }

    /// Everything that moved beyond chance.
    pub(super) fn moved(&self) -> Vec<Evidence> {
        let mut all = Vec::new();
        for is_machines in [false, true] {
            let divisor = self.divisor(is_machines);
            let names: BTreeSet<&String> = self.sides.iter().flat_map(|side| side.names()).collect();
            // Time in which nothing runs stands beside what took it.
            let is_busy = |name: &&String| !name.ends_with(".idle");
            let of_kind = names.into_iter().filter(is_busy).filter(|name| is_of_machine(name) == is_machines);
            all.extend(of_kind.filter_map(|name| self.counted(name, divisor.as_ref())));
        }
        all.extend(self.levels());
        all.extend(self.throttled());
        rank(&all, usize::MAX)
    }

    fn host(&self, name: &str) -> String {
        let host = || self.sides[1].host.clone().unwrap_or_else(|| HOST.to_owned());
        if is_of_machine(name) { MACHINE.to_owned() } else { host() }
    }

    fn counted(&self, name: &str, divisor: Option<&Divisor>) -> Option<Figure> {
        let counts = self.counts(name)?;
        let Some(divisor) = divisor else { return self.appeared(name, counts) };
        let divided = |at: usize| -> (Vec<f64>, [f64; 2]) {
            let (of, by) = (&counts[at], &divisor.by[at]);
            let sums = [of.iter().sum::<f64>(), by.iter().sum::<f64>()];
            if of.len() == by.len() && by.iter().all(|by| *by > 0.0) {
                (of.iter().zip(by).map(|(of, by)| of / by).collect(), sums)
            } else {
                (vec![sums[0] / sums[1]], sums)
            }
        };
        let [(before, sums_before), (after, sums_after)] = [divided(0), divided(1)];
        let is_enough = before.len().min(after.len()) >= ENOUGH_WINDOWS;
        (is_enough || is_sure(sums_before, sums_after)).then(|| {
            let key = (self.host(name), name.to_owned());
            let sides = BTreeMap::from([(key, [before, after, Vec::new(), Vec::new()])]);
            figures(sides, Some(divisor.per)).remove(0)
        })
    }

    /// A counter that never moved before, where the lengths of the sides are unknown.
    fn appeared(&self, name: &str, [before, after]: SideCounts) -> Option<Figure> {
        let is_new = before.iter().all(|value| *value == 0.0) && after.iter().sum::<f64>() >= LEAST_EVENTS;
        is_new.then(|| Figure {
            host: self.host(name),
            metric: format!("{name} (in all)"),
            unit: "count".to_owned(),
            is_shared: is_of_machine(name),
            before,
            after,
            ..Figure::default()
        })
    }

    fn levels(&self) -> Vec<Figure> {
        let [mut before, mut after] = self.sides.map(|side| side.levels.clone());
        for (name, [b, a]) in self.derived() {
            before.entry(name.clone()).or_insert(b);
            after.entry(name).or_insert(a);
        }
        for of in LISTED {
            add_absent(&mut before, &mut after, of);
        }
        let both = before.into_iter().filter_map(|(name, before)| Some((after.remove(&name)?, name, before)));
        let changed = both.filter(|(after, name, before)| changed(name, before, after));
        let sides = changed
            .map(|(after, name, before)| ((self.host(&name), name), [before, after, Vec::new(), Vec::new()]));
        figures(sides.collect(), None)
    }

    /// The share of its periods in which a quota stopped a control group. A group that only the second side has stands by itself: its file counts
    /// since the group was made.
    fn throttled(&self) -> Vec<Figure> {
        let [before, after] = self.sides;
        let groups =
            after.names().filter_map(|name| name.strip_prefix(GROUPS)?.strip_suffix(".nr_throttled"));
        let share = |stopped: &[f64], periods: &[f64]| -> Option<Vec<f64>> {
            let (stopped, periods): (f64, f64) = (stopped.iter().sum(), periods.iter().sum());
            (periods > 0.0).then(|| vec![100.0 * stopped / periods])
        };
        let was_captured =
            before.names().any(|name| name.starts_with(GROUPS) && name.ends_with(".nr_periods"));
        let what = if was_captured { "level" } else { "not captured before" };
        let figure = |group: &str| {
            let [stopped, periods] = ["nr_throttled", "nr_periods"].map(|it| format!("{GROUPS}{group}.{it}"));
            let both = self.counts(&stopped).zip(self.counts(&periods));
            let [before, after] = match both {
                Some((stopped, periods)) => [0, 1].map(|side| share(&stopped[side], &periods[side])),
                None => [
                    None,
                    share(after.stood(&stopped).last_chunk::<1>()?, after.stood(&periods).last_chunk::<1>()?),
                ],
            };
            Some(Figure {
                host: MACHINE.to_owned(),
                metric: format!("{GROUPS}{group}.throttled_share ({what})"),
                unit: "%".to_owned(),
                is_shared: true,
                before: before.unwrap_or_else(|| vec![0.0]),
                after: after?,
                ..Figure::default()
            })
        };
        groups
            .filter_map(figure)
            .filter(|it| changed("group.throttled_share", &it.before, &it.after))
            .collect()
    }

    /// Shares that no single counter has.
    fn derived(&self) -> BTreeMap<String, SideCounts> {
        let Some(seconds) = self.seconds() else { return BTreeMap::new() };
        let names: BTreeSet<&String> = self.sides.iter().flat_map(|side| side.names()).collect();
        let counts: BTreeMap<String, SideCounts> =
            names.into_iter().filter_map(|name| Some((name.clone(), self.counts(name)?))).collect();
        let mut found: BTreeMap<String, SideCounts> = BTreeMap::new();
        for side in 0..2 {
            for (window, seconds) in seconds[side].iter().enumerate() {
                let value = |both: &SideCounts| both[side].get(window).copied();
                let values: BTreeMap<String, f64> =
                    counts.iter().filter_map(|(name, both)| Some((name.clone(), value(both)?))).collect();
                let us = seconds * 1e6;
                let busiest = busiest(&values, us).into_iter().map(|(name, share)| (name.to_owned(), share));
                let shares = of_cpus(&values).into_iter().chain(of_disks(&values, us));
                let others = of_interrupts(&values).into_iter().chain(unanswered(&values, *seconds));
                for (name, share) in busiest.chain(shares).chain(others) {
                    found.entry(name).or_default()[side].push(share);
                }
            }
        }
        found.retain(|_, both| both.iter().all(|side| !side.is_empty()));
        found
    }

    /// Notes to the reader of the comparison.
    pub(super) fn notes(&self) -> Vec<String> {
        let [before, after] = self.sides;
        let mut notes = Vec::new();
        let singles =
            |side: &Side| side.readings.values().any(|values| values.len() == 1) && side.seconds.is_empty();
        if singles(before) && singles(after) {
            if before.readings == after.readings {
                return vec![
                    "Both sides have the same reading, so that nothing was counted between them.".to_owned(),
                ];
            }
            notes.push(if self.goes_on {
                "Each side has one reading: before is what happened since the machine was started, after is what happened between the two readings."
                    .to_owned()
            } else {
                "Each side has one reading, of different machines or starts: both are what happened since the start.".to_owned()
            });
        }
        if !self.fell.is_empty() {
            let some: Vec<&str> = self.fell.iter().take(3).map(String::as_str).collect();
            notes.push(format!(
                "{} of the counters fell, and are not compared: {}",
                self.fell.len(),
                some.join(", ")
            ));
        }
        let has_counts = !before.readings.is_empty() && !after.readings.is_empty();
        for (is_machines, what) in [(false, "the network's"), (true, "the machine's")] {
            let any = before.names().any(|name| is_of_machine(name) == is_machines);
            if has_counts && any && self.divisor(is_machines).is_none() {
                notes.push(format!(
                    "Neither time nor connections stand beside {what} counters: only those that were 0 before are compared. Add /proc/uptime and /proc/net/snmp to both sides."
                ));
            }
        }
        notes
    }
}

impl Side {
    fn names(&self) -> impl Iterator<Item = &String> {
        self.readings.keys().chain(self.windows.keys())
    }
}

fn is_of_machine(name: &str) -> bool {
    name.starts_with("machine.") || name.starts_with("cpu.") || name.starts_with("disk.")
}

/// Whether two rates of events differ beyond chance. Each side is a count, and what it is divided by.
fn is_sure([before, of_before]: [f64; 2], [after, of_after]: [f64; 2]) -> bool {
    let error = (before.max(1.0).sqrt() / of_before).hypot(after.max(1.0).sqrt() / of_after);
    let (before_rate, after_rate) = (before / of_before, after / of_after);
    let (low, high) = (before_rate.min(after_rate), before_rate.max(after_rate));
    before.max(after) >= LEAST_EVENTS && high >= MORE * low && high - low > SURE * DISPERSION.sqrt() * error
}

/// Whether a level differs by more than its scatter.
fn changed(name: &str, before: &[f64], after: &[f64]) -> bool {
    if before.len().min(after.len()) >= ENOUGH_WINDOWS {
        return true;
    }
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let (before, after) = (mean(before), mean(after));
    let is_bytes = name.ends_with("bytes") || name.starts_with("machine.meminfo.");
    let least = match name {
        _ if name.ends_with("_share") => LEAST_SHARE,
        _ if name == UNANSWERED => LEAST_UNANSWERED,
        _ if name.ends_with(".nice") => LEAST_NICE,
        _ if name.starts_with("machine.slab.") && is_bytes => LEAST_CACHE,
        _ if is_bytes => LEAST_BYTES,
        // A setting, or a line of the kernel's log: each change is one.
        _ if name.starts_with("kernel_log.") || name.starts_with("limit.") || name.starts_with("sysctl.") => {
            0.5
        }
        _ => LEAST_EVENTS,
    };
    let (low, high) = (before.min(after), before.max(after));
    high - low >= least && high >= MORE * low
}

/// How names of queueing disciplines' counters begin.
const DISCIPLINES: &str = "qdisc.";
/// How names of control groups' counters begin.
const GROUPS: &str = "machine.group.";

/// Shares of processes and of calls, which are listed only where there are any: how their names begin and end.
const LISTED: [(&str, &str); 5] = [
    ("process.", ".cpu_share"),
    ("process.", ".wait_share"),
    ("syscall.", ".call_share"),
    ("syscall.", ".failed_share"),
    ("syscall.", ".time_share"),
];

/// Adds zeros for counters that one side does not list, where both list some.
fn add_absent(
    before: &mut BTreeMap<String, Vec<f64>>,
    after: &mut BTreeMap<String, Vec<f64>>,
    (start, end): (&str, &str),
) {
    let of = |side: &BTreeMap<String, Vec<f64>>| -> Vec<String> {
        side.keys().filter(|name| name.starts_with(start) && name.ends_with(end)).cloned().collect()
    };
    let names = [of(before), of(after)];
    if names.iter().all(|names| !names.is_empty()) {
        for name in names.into_iter().flatten() {
            before.entry(name.clone()).or_insert_with(|| vec![0.0]);
            after.entry(name).or_insert_with(|| vec![0.0]);
        }
    }
}

/// Fewer interrupts of devices are spread by chance.
const LEAST_INTERRUPTS: f64 = 1000.0;

/// The share of the CPU that took most interrupts of devices, in per cent.
fn of_interrupts(values: &BTreeMap<String, f64>) -> Option<(String, f64)> {
    let each: Vec<f64> =
        values.iter().filter(|(name, _)| name.starts_with("machine.irq.")).map(|(_, value)| *value).collect();
    let all: f64 = each.iter().sum();
    let most = each.iter().copied().max_by(f64::total_cmp)?;
    let is_enough = each.len() > 1 && all >= LEAST_INTERRUPTS;
    is_enough.then(|| ("interrupts.busiest_share".to_owned(), 100.0 * most / all))
}
