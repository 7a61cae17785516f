//! From slices to figures per connection, for the explainer to rank.

use std::collections::{BTreeMap, BTreeSet};

use plimsoll_explain::evidence::{Figure, rank};
use plimsoll_model::experiment::{InteractionClaim, RecoveryClaim};
use plimsoll_model::observation::{DeepSnapshot, PhaseKind, Slice, TrialRecord, Twin};
use plimsoll_model::plan::Plan;
use plimsoll_model::report::Evidence;

use super::{contrast, windows};

/// How many figures are told.
const MOST: usize = 12;
/// What the deep snapshots tell as a level and not per connection, by the start of the name.
const LEVELS: [&str; 8] = [
    "rules",
    "routes",
    "neighbours",
    "processes.count",
    "descriptors",
    "tcp.",
    "machine.slab.",
    "nf_conntrack.count",
];

/// What moved from baseline to after, over all trials; where nothing is to recover, what sets a cell apart that is odd.
pub(super) fn of(plan: &Plan, trials: &[TrialRecord]) -> Vec<Evidence> {
    let claims = &plan.experiment.claims;
    let Some(claim) = claims.iter().find_map(|claim| claim.recovery()) else {
        let odd = claims.iter().find_map(|claim| {
            let claim = claim.interaction()?;
            Some(of_cell(claim, &contrast::odd_cell(claim, trials)?, trials))
        });
        return rank(&odd.unwrap_or_default(), MOST);
    };
    let mut figures = per_connection(claim, trials);
    figures.extend(levels(claim, trials));
    rank(&figures, MOST)
}

/// Counters that rise and fall, of which a change during a slice says nothing.
const GAUGES: [&str; 8] = [
    "machine.meminfo.",
    "machine.loadavg.",
    "machine.slab.",
    "machine.stat.procs_",
    "machine.vmstat.nr_",
    "machine.sockstat.",
    "sockstat.",
    "nf_conntrack.count",
];
/// What counts as left behind, per connection of the flood.
const LEAST_GROWTH: f64 = 0.05;
/// The smallest object of a slab, in bytes.
const SMALLEST_OBJECT: f64 = 8.0;

type Values = BTreeMap<(String, String), [Vec<f64>; 4]>;

fn per_connection(claim: &RecoveryClaim, trials: &[TrialRecord]) -> Vec<Figure> {
    let mut values = Values::new();
    for trial in trials {
        let last = windows::measured(trial, &claim.after).last();
        let sides = [(windows::measured(trial, &claim.baseline).next(), 0), (last, 1)];
        for (phase, side) in sides.into_iter().filter_map(|(phase, side)| Some((phase?, side))) {
            add(&mut values, &phase.slices.iter().collect::<Vec<_>>(), side);
        }
    }
    figures(values, "per connection", true)
}

/// The counters of all other cells, and those of this one.
fn of_cell(claim: &InteractionClaim, cell: &BTreeMap<String, String>, trials: &[TrialRecord]) -> Vec<Figure> {
    let mut values = Values::new();
    for side in [0, 1] {
        let is_there = |trial: &&TrialRecord| cell.iter().all(|(f, l)| trial.cell.get(f) == Some(l));
        let of_side = trials.iter().filter(|trial| is_there(trial) == (side == 1));
        let phases = of_side.flat_map(|trial| windows::measured(trial, &claim.phase));
        add(&mut values, &phases.flat_map(|phase| &phase.slices).collect::<Vec<_>>(), side);
    }
    even_out(&mut values, claim, cell, trials);
    figures(values, "per connection", true)
}

/// A counter that one side never moved has no values there; they are zeros.
fn even_out(
    values: &mut Values,
    claim: &InteractionClaim,
    cell: &BTreeMap<String, String>,
    trials: &[TrialRecord],
) {
    let mut slices = [0, 0];
    for trial in trials {
        let side = usize::from(cell.iter().all(|(f, l)| trial.cell.get(f) == Some(l)));
        let phases = windows::measured(trial, &claim.phase);
        slices[side] += phases.flat_map(|phase| &phase.slices).filter(|s| s.result.connections > 0).count();
    }
    for [others, there, ..] in values.values_mut() {
        others.resize(slices[0], 0.0);
        there.resize(slices[1], 0.0);
    }
}

/// Adds the counters of slices, per connection. A counter that a slice does not have did not move in it.
fn add(values: &mut Values, slices: &[&Slice], side: usize) {
    let names: BTreeSet<(&String, &String)> = slices
        .iter()
        .flat_map(|slice| {
            slice.counters.iter().flat_map(|(host, counters)| counters.keys().map(move |name| (host, name)))
        })
        .filter(|(_, name)| tells(name))
        .collect();
    for (host, name) in names {
        let entry = values.entry((host.clone(), name.clone())).or_default();
        for slice in slices.iter().filter(|slice| slice.result.connections > 0) {
            let change =
                slice.counters.get(host).and_then(|counters| counters.get(name)).copied().unwrap_or(0.0);
            let place = side + if slice.twin == Twin::Main { 0 } else { 2 };
            entry[place].push(change / slice.result.connections as f64);
        }
    }
}

/// CPU time of single CPUs, and what sampling itself moves, tell nothing more than their sums.
fn tells(name: &str) -> bool {
    let of_one_cpu = name.split('.').any(|part| {
        part.strip_prefix("cpu").is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
    });
    let a_level = GAUGES.iter().any(|start| name.starts_with(start));
    !of_one_cpu && !a_level && !name.ends_with(".idle")
}

/// State that lies about: rules, routes, processes, sockets, slabs. Only what grew by at least a few per cent of the connections that
/// flooded the system counts; anything less was not left behind by them.
fn levels(claim: &RecoveryClaim, trials: &[TrialRecord]) -> Vec<Figure> {
    let mut values = Values::new();
    for trial in trials {
        let last = trial.deep.iter().filter(|deep| deep.phase == claim.after).map(|deep| deep.cycle).max();
        for deep in &trial.deep {
            let side = match deep {
                DeepSnapshot { phase, .. } if *phase == claim.baseline => 0,
                DeepSnapshot { phase, cycle, .. } if *phase == claim.after && Some(*cycle) == last => 1,
                _ => continue,
            };
            for (name, value) in deep
                .snapshot
                .values
                .iter()
                .filter(|(name, _)| LEVELS.iter().any(|start| name.starts_with(start)))
            {
                let host = if name.starts_with("machine.") { "machine" } else { &deep.host };
                let place = side + if deep.twin == Twin::Main { 0 } else { 2 };
                values.entry((host.to_owned(), name.clone())).or_default()[place].push(*value);
            }
        }
    }
    let flooded = trials.iter().map(flooded).min().unwrap_or(0) as f64;
    values.retain(|(_, name), [before, after, ..]| {
        let least = LEAST_GROWTH * flooded * if name.ends_with(".bytes") { SMALLEST_OBJECT } else { 1.0 };
        before.iter().zip(after.iter()).all(|(before, after)| (after - before).abs() >= least)
    });
    figures(values, "level", false)
}

/// How many connections the driven phases of a trial made on the flooded rig.
fn flooded(trial: &TrialRecord) -> u64 {
    let driven =
        trial.phases.iter().filter(|phase| phase.kind == PhaseKind::Drive).flat_map(|phase| &phase.slices);
    driven.filter(|slice| slice.twin == Twin::Main).map(|slice| slice.result.connections).sum()
}

fn figures(values: Values, what: &str, per_connection: bool) -> Vec<Figure> {
    let figure = |((host, name), [before, after, control_before, control_after]): (
        (String, String),
        [Vec<f64>; 4],
    )| Figure {
        unit: unit(&name, per_connection),
        metric: format!("{name} ({what})"),
        host,
        before,
        after,
        control_before,
        control_after,
    };
    values.into_iter().map(figure).collect()
}

fn unit(name: &str, per_connection: bool) -> String {
    let is_time = name.contains("stat.cpu.") || name.contains("pressure.") || name.ends_with("_time");
    let unit = if is_time {
        "µs"
    } else if name.ends_with("bytes") || name.ends_with("Octets") {
        "B"
    } else {
        "count"
    };
    if per_connection { format!("{unit}/connection") } else { unit.to_owned() }
}
