//! Files of other tools from before and after, against each other.

mod counted;
mod next;
mod own;

use std::borrow::Cow;
use std::collections::BTreeSet;

use plimsoll_explain::causes::{CpuTime, Known, SavedCpu, named};
use plimsoll_explain::evidence::{Figure, rank};
use plimsoll_explain::profile::{Sampled, contrast};
use plimsoll_import::saved::{Column, ColumnKind, Counters, Saved, Stacks, Table};
use plimsoll_judge::stats::median;
use plimsoll_model::report::{Evidence, ProfileReport};

use super::Explained;
use super::work::Work;
use counted::{Contrast, Side};

pub use next::{FIRST, Next};
pub use own::{Part, of_recording, of_run};

/// Operations per second before and after, as the user measured them.
pub type Rates = (f64, f64);

/// Comparison of two sides of other tools' files.
#[derive(Clone, Debug, Default)]
pub struct Comparison {
    /// Causes, evidence and the profile.
    pub explained: Explained,
    /// Counters that are not comparable, and how the others were divided.
    pub notes: Vec<String>,
    /// Causes for which some evidence is there, and the commands that would show them.
    pub next: Vec<Next>,
}

/// Compares the files of two sides: tables and stacks in pairs of one program, counters by their names. A table also stands beside counters that
/// show the same. `None` if the sides have nothing in common.
pub fn explain(before: &[Saved], after: &[Saved], rates: Option<Rates>) -> Option<Comparison> {
    let mut found = Explained::default();
    let mut saved = Vec::new();
    let pairs = pairs(before, after);
    for (before, after) in &pairs {
        match (before.as_ref(), after.as_ref()) {
            (Saved::Table(before), Saved::Table(after)) => {
                saved.extend(cpu_times([before, after], rates));
                found.evidence.extend(moved([before, after], rates));
            }
            (Saved::Stacks(before), Saved::Stacks(after)) => {
                found.profile = of_stacks([before, after], rates);
            }
            // Pairs are of one program.
            _ => {}
        }
    }
    let sides = [before, after].map(|side| Side::of(counters(side)));
    let [families_before, families_after] = [before, after].map(families);
    if pairs.is_empty() && families_before.is_disjoint(&families_after) {
        return None;
    }
    let contrast = Contrast::of([&sides[0], &sides[1]], rates);
    found.evidence.extend(contrast.moved());
    found.evidence.sort_by(|a, b| b.shift.abs().total_cmp(&a.shift.abs()));
    let profile = found.profile.as_ref();
    // Rates that the user gives are the work, and figures are divided by them.
    let sent = contrast.sent().filter(|_| rates.is_none());
    let work = sent.and_then(|[before, after]| Work::of(before, after));
    let lost = work.and_then(Work::lost);
    found.causes = named(&Known { evidence: &found.evidence, profile, saved, lost, ..Known::default() });
    let next = next(before, after, &found);
    found.evidence.truncate(super::MOST_EVIDENCE);
    let mut notes: Vec<String> = work.and_then(|work| work.spare(&mut found.causes)).into_iter().collect();
    notes.extend(contrast.notes());
    notes.extend(one_sided([&families_before, &families_after]));
    notes.extend(unread([before, after]));
    Some(Comparison { explained: found, notes, next })
}

/// Commands that would show more than both sides do. A recording or a run has everything that a command prints.
fn next(before: &[Saved], after: &[Saved], found: &Explained) -> Vec<Next> {
    let programs = |side: &'_ [Saved]| side.iter().map(|it| it.program().to_owned()).collect::<BTreeSet<_>>();
    let both: Vec<String> = match [before, after].map(own::is_own) {
        [true, true] => return Vec::new(),
        [true, false] => programs(after).into_iter().collect(),
        [false, true] => programs(before).into_iter().collect(),
        [false, false] => programs(before).intersection(&programs(after)).cloned().collect(),
    };
    let both: Vec<&str> = both.iter().map(String::as_str).collect();
    next::commands(&found.causes, &found.evidence, &both)
}

/// Families of a side: the stacks, tables by their program, counters by the start of their names.
fn families(side: &[Saved]) -> BTreeSet<String> {
    let mut families = BTreeSet::new();
    for saved in side {
        match saved {
            Saved::Counters(counters) => {
                if counters.omits_zeros() {
                    families.extend(["snmp", "netstat"].map(str::to_owned));
                }
                let readings = counters.readings.iter();
                let names = readings.flat_map(|it| it.totals.keys().chain(it.levels.keys()));
                families.extend(
                    names
                        .chain(counters.windows.iter().flat_map(|it| it.values.keys()))
                        .map(|name| family(name)),
                );
            }
            Saved::Stacks(_) => drop(families.insert("stacks".to_owned())),
            Saved::Table(table) => drop(families.insert(table.program.to_owned())),
        }
    }
    // The boot time only shows whether the machine went on.
    families.remove("machine.boot");
    families
}

/// `machine.vmstat` of `machine.vmstat.pgscan`, `netstat` of `netstat.TcpExt.SyncookiesSent`.
fn family(name: &str) -> String {
    let parts = if name.starts_with("machine.") { 2 } else { 1 };
    name.split('.').take(parts).collect::<Vec<_>>().join(".")
}

/// Families of only one side.
fn one_sided([before, after]: [&BTreeSet<String>; 2]) -> Option<String> {
    let only = |one: &BTreeSet<String>, other: &BTreeSet<String>, name: &str| {
        let only: Vec<&str> = one.difference(other).map(String::as_str).collect();
        (!only.is_empty()).then(|| format!("only {name} has {}", only.join(", ")))
    };
    let both: Vec<String> =
        [only(before, after, "before"), only(after, before, "after")].into_iter().flatten().collect();
    (!both.is_empty()).then(|| format!("Not compared: {}.", both.join("; ")))
}

/// Tables and stacks of both sides, each with the next one of the same program. A table without one stands beside the same from counters.
fn pairs<'s>(before: &'s [Saved], after: &'s [Saved]) -> Vec<(Cow<'s, Saved>, Cow<'s, Saved>)> {
    let is_counters = |saved: &&Saved| matches!(saved, Saved::Counters(_));
    let mut of_after: Vec<&Saved> = after.iter().filter(|saved| !is_counters(saved)).collect();
    let mut pairs = Vec::new();
    for before in before.iter().filter(|saved| !is_counters(saved)) {
        if let Some(at) = of_after.iter().position(|after| after.program() == before.program()) {
            pairs.push((Cow::Borrowed(before), Cow::Borrowed(of_after.remove(at))));
        } else if let Some(table) = from_counters(before, after) {
            pairs.push((Cow::Borrowed(before), Cow::Owned(table)));
        }
    }
    for after in of_after {
        pairs.extend(from_counters(after, before).map(|table| (Cow::Owned(table), Cow::Borrowed(after))));
    }
    pairs
}

/// The table that stands on one side, from the counters of the other.
fn from_counters(wanted: &Saved, side: &[Saved]) -> Option<Saved> {
    let Saved::Table(wanted) = wanted else { return None };
    counters(side).find_map(|counters| own::table(wanted, counters)).map(Saved::Table)
}

fn counters(side: &[Saved]) -> impl Iterator<Item = &Counters> {
    side.iter().filter_map(|saved| match saved {
        Saved::Counters(counters) => Some(counters.as_ref()),
        _ => None,
    })
}

/// Lines of the texts that nothing was read from.
fn unread(sides: [&[Saved]; 2]) -> Vec<String> {
    let mut notes = Vec::new();
    for (side, name) in sides.into_iter().zip(["before", "after"]) {
        for of in counters(side) {
            let Some((line, text)) = of.unread.first.as_ref() else { continue };
            let (lines, program) = (of.unread.lines, &of.program);
            notes
                .push(format!("Unread lines {name}, {program}: {lines}; the first is line {line}: `{text}`"));
        }
    }
    notes
}

/// The columns that moved. What is counted in each second, and the CPUs' time, is divided by the operations where these are known.
fn moved([before, after]: [&Table; 2], rates: Option<Rates>) -> Vec<Evidence> {
    let of_both = before.columns.iter().filter_map(|column| {
        let other = after.columns.iter().find(|other| other.name == column.name)?;
        // Time in which CPUs wait for a disk says more than that they are idle.
        let counts = column.kind != ColumnKind::CpuIdle || matches!(column.name.as_str(), "wa" | "%iowait");
        counts.then_some((column, other))
    });
    let figures: Vec<Figure> =
        of_both.map(|(before_, after)| figure(before.program, [before_, after], rates)).collect();
    rank(&figures, usize::MAX)
}

fn figure(program: &str, [before, after]: [&Column; 2], rates: Option<Rates>) -> Figure {
    let divided = |column: &Column, by: f64| column.values.iter().map(|value| value / by).collect();
    let (of_before, of_after, unit, what) = match (before.kind, rates) {
        (ColumnKind::Level, _) => {
            (before.values.clone(), after.values.clone(), before.unit.to_owned(), "level")
        }
        (ColumnKind::PerSecond, Some((rate_before, rate_after))) => {
            let unit = format!("{}/operation", before.unit.strip_suffix("/s").unwrap_or(before.unit));
            (divided(before, rate_before), divided(after, rate_after), unit, "per operation")
        }
        (ColumnKind::PerSecond, None) => {
            (before.values.clone(), after.values.clone(), before.unit.to_owned(), "per second")
        }
        // A per cent of a second is 10,000 µs.
        (_, Some((rate_before, rate_after))) => (
            divided(before, rate_before / 1e4),
            divided(after, rate_after / 1e4),
            "µs/operation".to_owned(),
            "of all CPUs' time, per operation",
        ),
        (_, None) => {
            (before.values.clone(), after.values.clone(), before.unit.to_owned(), "of all CPUs' time")
        }
    };
    Figure {
        host: program.to_owned(),
        metric: format!("{} ({what})", before.name),
        unit,
        before: of_before,
        after: of_after,
        ..Figure::default()
    }
}

/// Where the CPUs' time went, as far as both files show it.
fn cpu_times(tables: [&Table; 2], rates: Option<Rates>) -> Option<SavedCpu> {
    let [before, after] = tables.map(|table| {
        let of = |kind| {
            let sum = table.sum(kind);
            (!sum.is_empty()).then(|| median(&sum))
        };
        Some(CpuTime {
            user: of(ColumnKind::CpuUser)?,
            system: of(ColumnKind::CpuSystem)?,
            idle: of(ColumnKind::CpuIdle)?,
        })
    });
    Some(SavedCpu { before: before?, after: after?, rates })
}

fn of_stacks([before, after]: [&Stacks; 2], rates: Option<Rates>) -> Option<ProfileReport> {
    let side = |stacks: &Stacks, rate: Option<f64>| Sampled {
        profile: stacks.profile.clone(),
        operations: (stacks.seconds * rate.unwrap_or(1.0)).round().max(1.0) as u64,
        seconds: stacks.seconds,
    };
    let per = if rates.is_some() { "operation" } else { "second" };
    let (rate_before, rate_after) = rates.unzip();
    contrast(&side(before, rate_before), &side(after, rate_after), None, per)
}

#[cfg(test)]
mod tests {
    use plimsoll_import::saved::read;
    use plimsoll_model::cause::CauseId;

    use super::*;

    fn explain(before: &[Saved], after: &[Saved], rates: Option<Rates>) -> Comparison {
        super::explain(before, after, rates).unwrap()
    }

    /// A table as vmstat prints it, with its line of means first.
    fn vmstat(lines: &[(u32, u32, u32, u32)]) -> Saved {
        let mut text =
            " r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st\n".to_owned();
        text.push_str(" 1  0      0 100 100 100    0    0    0    0 100  100  1  1 98  0  0\n");
        for (cs, us, sy, so) in lines {
            let id = 100 - us - sy;
            text.push_str(&format!(
                " 4  0      0 100 100 100    0   {so}    0    0 100 {cs} {us} {sy} {id}  0  0\n"
            ));
        }
        read(&text, "").unwrap().remove(0)
    }

    fn ids(found: &Explained) -> Vec<CauseId> {
        found.causes.iter().map(|cause| cause.id).collect()
    }

    #[test]
    fn the_kernel_that_takes_all_cpus_for_fewer_connections_is_named() {
        let good = vmstat(&[(4000, 20, 38, 0), (4100, 21, 40, 0), (4050, 19, 39, 0), (4010, 20, 41, 0)]);
        let bad = vmstat(&[(900, 5, 94, 0), (950, 5, 95, 0), (920, 4, 95, 0), (940, 5, 94, 0)]);
        let (good, bad) = ([good], [bad]);
        let found = explain(&good, &bad, Some((220.0, 50.0))).explained;
        assert_eq!(ids(&found), [CauseId::CpuKernelSaturated]);
        // 39.5 % of a second for 220 connections, and 94.5 % for 50.
        let system = found.evidence.iter().find(|it| it.metric.starts_with("sy ")).unwrap();
        assert!(
            (system.before - 395_000.0 / 220.0).abs() < 1.0 && (system.after - 945_000.0 / 50.0).abs() < 1.0
        );
        assert!(
            !found.evidence.iter().any(|it| it.metric.starts_with("cs ")),
            "as many for each: {:?}",
            found.evidence
        );
        assert_eq!(ids(&explain(&good, &bad, None).explained), [CauseId::CpuKernelSaturated]);
    }

    #[test]
    fn swapping_is_named_and_the_same_twice_is_not() {
        let good = || vmstat(&[(4000, 20, 38, 0), (4100, 21, 40, 0), (4050, 19, 39, 0), (4010, 20, 41, 0)]);
        let bad =
            vmstat(&[(3900, 18, 40, 800), (4100, 20, 42, 900), (4000, 19, 39, 700), (4000, 19, 39, 850)]);
        assert_eq!(ids(&explain(&[good()], &[bad], None).explained), [CauseId::MemoryReclaim]);
        let same = explain(&[good()], &[good()], Some((200.0, 200.0))).explained;
        assert!(same.causes.is_empty() && same.evidence.is_empty());
    }

    #[test]
    fn a_queueing_discipline_that_is_new_counts_from_nothing() {
        let side = |kind: &str, each: u32| {
            let moment = |at: u32| {
                format!(
                    "==> /proc/uptime <==\n{at}.0 1.0\n$ tc -s qdisc\nqdisc {kind} 8007: dev eth0 root refcnt 2\n Sent 9 bytes 9 pkt (dropped {}, overlimits {} requeues 0)\n",
                    at * each / 4,
                    at * each
                )
            };
            read(&(moment(1000) + &moment(1010)), "").unwrap()
        };
        let found = explain(&side("noqueue", 0), &side("tbf", 400), None).explained;
        assert_eq!(ids(&found), [CauseId::NetShaped]);
        assert_eq!((found.causes[0].evidence[0].before, found.causes[0].evidence[0].after), (0.0, 400.0));
    }

    #[test]
    fn a_group_that_only_the_second_side_captured_is_named_and_the_text_says_so() {
        let stat = |throttled: u32| {
            let text =
                format!("==> /sys/fs/cgroup/cpu/job/cpu.stat <==\nnr_periods 86\nnr_throttled {throttled}\n");
            read(&text, "").unwrap()
        };
        let uptime = read("==> /proc/uptime <==\n57117.71 25615.75\n==> /proc/locks <==\n1: POSIX  ADVISORY  WRITE 77 08:01:131 0 0\n", "").unwrap();
        let after = [uptime.clone(), stat(84)].concat();
        let found = explain(&uptime, &after, None);
        assert_eq!(ids(&found.explained), [CauseId::CpuQuotaThrottled]);
        let metric = &found.explained.causes[0].evidence[0].metric;
        assert_eq!(metric, "machine: machine.group./job.throttled_share (not captured before)");
        // 2 of 86 periods before, 84 of 86 since.
        let later =
            read("==> /sys/fs/cgroup/cpu/job/cpu.stat <==\nnr_periods 172\nnr_throttled 86\n", "").unwrap();
        let found = explain(&stat(2), &later, None).explained;
        assert!((found.causes[0].evidence[0].after - 97.67).abs() < 0.01, "{:?}", found.causes);
        assert!(explain(&after, &after, None).explained.causes.is_empty());
    }

    /// One reading of counters as nstat prints them.
    fn nstat(counters: &[(&str, u64)]) -> [Saved; 1] {
        let lines: String = counters.iter().map(|(name, value)| format!("{name} {value} 0.0\n")).collect();
        [read(&format!("#kernel\n{lines}"), "").unwrap().remove(0)]
    }

    #[test]
    fn a_machine_that_was_started_again_is_compared_since_each_start() {
        let before = nstat(&[("TcpActiveOpens", 9000), ("TcpInSegs", 90_000)]);
        let after = nstat(&[
            ("TcpActiveOpens", 1000),
            ("TcpInSegs", 9000),
            ("TcpExtListenOverflows", 500),
            ("TcpExtTCPTimeouts", 300),
        ]);
        let found = explain(&before, &after, None);
        assert_eq!(ids(&found.explained), [CauseId::NetListenOverflow]);
        assert_eq!(found.explained.causes[0].evidence[0].after, 0.5);
        assert!(found.notes[0].contains("of different machines or starts"), "{:?}", found.notes);
    }

    #[test]
    fn counters_without_any_measure_are_not_compared_and_as_many_per_connection_are_no_change() {
        let of =
            |times: u64| nstat(&[("TcpExtListenOverflows", 10 * times), ("TcpExtTCPTimeouts", 5 * times)]);
        let found = explain(&of(1), &of(100), None);
        assert!(found.explained.evidence.is_empty() && found.explained.causes.is_empty());
        assert!(found.notes.iter().any(|note| note.starts_with("Neither time nor connections")));
        let of = |times: u64| {
            let counters = [("TcpPassiveOpens", 5000), ("TcpInSegs", 50_000), ("TcpExtListenOverflows", 700)];
            nstat(&counters.map(|(name, value)| (name, value * times)))
        };
        assert!(explain(&of(1), &of(9), None).explained.evidence.is_empty());
        let same = explain(&of(1), &of(1), None);
        assert_eq!(
            same.notes,
            ["Both sides have the same reading, so that nothing was counted between them."]
        );
    }
}
