//! What other tools wrote down before and after, against each other.

mod counted;
mod next;

use std::collections::BTreeSet;

use plimsoll_explain::causes::{CpuTime, Known, SavedCpu, named};
use plimsoll_explain::evidence::{Figure, rank};
use plimsoll_explain::profile::{Sampled, contrast};
use plimsoll_import::saved::{Column, ColumnKind, Counters, Saved, Stacks, Table};
use plimsoll_judge::stats::median;
use plimsoll_model::report::{Evidence, ProfileReport};

use super::Explained;
use counted::{Contrast, Side};

pub use next::{FIRST, Next};

/// Operations per second before and after, from whoever measured them.
pub type Rates = (f64, f64);

/// What two sides of other tools' files show.
#[derive(Clone, Debug, Default)]
pub struct Comparison {
    /// Causes, evidence and the profile.
    pub explained: Explained,
    /// Counters that are not comparable, and how the others were divided.
    pub notes: Vec<String>,
    /// Causes for which some evidence is there, and the commands that would show them.
    pub next: Vec<Next>,
}

/// Compares the files of two sides: tables and stacks in pairs of one program, counters by their names.
#[must_use]
pub fn explain(before: &[Saved], after: &[Saved], rates: Option<Rates>) -> Comparison {
    let mut found = Explained::default();
    let mut saved = Vec::new();
    for (before, after) in pairs(before, after) {
        match (before, after) {
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
    let contrast = Contrast::of([&sides[0], &sides[1]], rates);
    found.evidence.extend(contrast.moved());
    found.evidence.sort_by(|a, b| b.shift.abs().total_cmp(&a.shift.abs()));
    let profile = found.profile.as_ref();
    found.causes = named(&Known { evidence: &found.evidence, profile, saved, ..Known::default() });
    let programs = |side: &'_ [Saved]| side.iter().map(|it| it.program().to_owned()).collect::<BTreeSet<_>>();
    let both: Vec<String> = programs(before).intersection(&programs(after)).cloned().collect();
    let both: Vec<&str> = both.iter().map(String::as_str).collect();
    let next = next::commands(&found.causes, &found.evidence, &both);
    found.evidence.truncate(super::MOST_EVIDENCE);
    let mut notes = contrast.notes();
    notes.extend(unread([before, after]));
    Comparison { explained: found, notes, next }
}

/// Tables and stacks of both sides, each with the next one of the same program.
fn pairs<'s>(before: &'s [Saved], after: &'s [Saved]) -> Vec<(&'s Saved, &'s Saved)> {
    let is_counters = |saved: &&Saved| matches!(saved, Saved::Counters(_));
    let mut of_after: Vec<&Saved> = after.iter().filter(|saved| !is_counters(saved)).collect();
    let next = |before: &'s Saved| {
        let at = of_after.iter().position(|after| after.program() == before.program())?;
        Some((before, of_after.remove(at)))
    };
    before.iter().filter(|saved| !is_counters(saved)).filter_map(next).collect()
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
        let tells = column.kind != ColumnKind::CpuIdle || matches!(column.name.as_str(), "wa" | "%iowait");
        tells.then_some((column, other))
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

/// Where the CPUs' time went, as far as both files tell.
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
