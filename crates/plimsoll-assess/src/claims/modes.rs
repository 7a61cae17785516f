//! The modes claim: where the measurements of a phase gather, how that goes with time, and with whom.

use std::collections::BTreeSet;

use plimsoll_explain::causes::{BackgroundLoad, Shown};
use plimsoll_judge::modes::order::{Agreement, Order, agreement, order};
use plimsoll_judge::modes::{LEAST_VALUES, Mode, Modes, find_modes, find_modes_in_any_order};
use plimsoll_judge::stats::median;
use plimsoll_model::cause::CauseEvidence;
use plimsoll_model::experiment::claim::Details;
use plimsoll_model::experiment::claim::modes::{ModePlace, ModesClaim, ModesDetails};
use plimsoll_model::observation::{LoadResult, StorageFacts};

use crate::claims::prelude::*;

/// The chance of calling a background load guilty that has nothing to do with it.
const ALPHA: f64 = 0.001;
/// A load that waits for a CPU for this share of its time waits long, ..
const LONG_WAIT: f64 = 0.1;
/// .. and much longer than elsewhere if it waits this many times as long.
const MUCH_LONGER: f64 = 2.0;
/// Two looks must agree before a phase ends early, with this many measurements between them.
const BETWEEN_LOOKS: usize = 10;

impl ClaimKind for ModesClaim {
    /// One finding for each cell.
    fn judge(&self, plan: &Plan, trials: &[TrialRecord]) -> Vec<Finding> {
        plan.cells.iter().map(|cell| finding(plan, cell, self, trials)).collect()
    }

    /// Whether the phase may end before it has all its measurements: two looks in a row found the same number of modes, and more than one. That
    /// there is only one is known when all are there.
    fn sure_enough(&self, _plan: &Plan, phase: &str, slices: &[Slice]) -> bool {
        if self.phase != phase {
            return true;
        }
        let own: Vec<&Slice> = slices::of_treatment(slices).collect();
        let number = |of: &[&Slice]| found(of, self).map_or(0, |found| found.modes.modes.len());
        let now = number(&own);
        now > 1 && own.len() > BETWEEN_LOOKS && number(&own[..own.len() - BETWEEN_LOOKS]) == now
    }

    /// How far the search for modes is.
    fn so_far(&self, phase: &str, slices: &[Slice]) -> Option<String> {
        let own = || slices::of_treatment(slices).collect::<Vec<&Slice>>();
        let found = (self.phase == phase).then(|| found(&own(), self).ok()).flatten()?;
        Some(found.verdict(self).reason)
    }

    /// The background loads that brought a second mode, with the figure and the machine's reads without and with them.
    fn shows(&self, plan: &Plan, trials: &[TrialRecord], finding: &Finding) -> Vec<Shown> {
        let Some(Details::Modes(details)) = &finding.details else { return Vec::new() };
        let of_cell: Vec<&TrialRecord> = trials.iter().filter(|trial| trial.cell == details.cell).collect();
        let (slices, values) = with_figure(&slices::of_sound(&of_cell, &self.phase), self.metric);
        let shown = |linked: LinkedBackground<'_>| {
            Shown::Background(BackgroundLoad {
                name: linked.name.to_owned(),
                confidence: 1.0 - ALPHA,
                evidence: evidence(&slices, &values, linked.there, self.metric),
            })
        };
        linked_background(plan, details, self.metric).into_iter().map(shown).collect()
    }
}

fn finding(plan: &Plan, cell: &Cell, claim: &ModesClaim, trials: &[TrialRecord]) -> Finding {
    let metric = claim.metric.name();
    let of_cell: Vec<&TrialRecord> = trials.iter().filter(|trial| trial.cell == cell.levels).collect();
    let slices = slices::of_sound(&of_cell, &claim.phase);
    let bare = |outcome, reason: &str| {
        Verdict::bare("modes", metric, outcome, slices.len(), prefix(&cell.levels) + reason)
    };
    let found = match found(&slices, claim) {
        Ok(found) => found,
        Err(reason) => {
            let objection = soundness::objection(&of_cell).map(|reason| bare(Outcome::Invalid, &reason));
            return Finding::bare(objection.unwrap_or_else(|| bare(Outcome::TooFew, &reason)));
        }
    };
    let details = found.details(cell, claim);
    if let Some(reason) = soundness::objection(&of_cell) {
        return Finding::new(bare(Outcome::Invalid, &reason), details);
    }
    let mut verdict = found.verdict(claim);
    if let Some(of_time) = found.of_time() {
        verdict.reason = format!("{}; {of_time}", verdict.reason);
    }
    let linked = linked_background(plan, &details, claim.metric);
    // Background loads of the experiment may well take the CPUs from its load; that is then a finding.
    let disturbed = || {
        let waits = found.waits_for_cpu(claim.metric).map(|waits| waits.sentence(claim.metric));
        waits.or_else(|| found.goes_with_pauses(claim.metric).map(|pauses| pauses.sentence(claim.metric)))
    };
    if let Some(why) = linked.is_empty().then(disturbed).flatten() {
        verdict.outcome = Outcome::Undecided;
        verdict.reason = format!("{}; {why}", verdict.reason);
    }
    for linked in linked {
        verdict.reason = format!("{}; {}", verdict.reason, linked.sentence(claim.metric));
    }
    verdict.reason = prefix(&cell.levels) + &verdict.reason;
    Finding::new(verdict, details)
}

/// Modes, and the mode of each measurement.
struct AssignedModes<'s> {
    slices: Vec<&'s Slice>,
    values: Vec<f64>,
    modes: Modes,
    /// From 0; empty where there are not several.
    belongs_to: Vec<usize>,
    /// How many modes lay so near to each other that they count as one.
    near: Option<usize>,
}

fn found<'s>(slices: &[&'s Slice], claim: &ModesClaim) -> Result<AssignedModes<'s>, String> {
    let (slices, values) = with_figure(slices, claim.metric);
    if values.is_empty() {
        return Err(format!("no measurement produced a figure: {LEAST_VALUES} needed"));
    }
    // Rates and times scatter by shares of themselves, so that places lie apart, or not, as their logarithms do.
    let on_logs = values.iter().all(|value| *value > 0.0);
    let scaled: Vec<f64> =
        if on_logs { values.iter().map(|value| value.ln()).collect() } else { values.clone() };
    let in_order = find_modes(&scaled).map_err(|error| in_words(&error))?;
    // A level that shifted once is no second mode. One that comes back is, and only shows where the order is left out.
    let mut modes = if in_order.modes.len() == 1 && !in_order.shifts.is_empty() {
        let mixed = find_modes_in_any_order(&scaled).map_err(|error| in_words(&error))?;
        let returns = mixed.returns(&scaled).map_err(|error| in_words(&error))?;
        if returns > 0 { mixed } else { in_order }
    } else {
        in_order
    };
    let belongs_to = if modes.modes.len() > 1 { modes.belongs_to.clone() } else { Vec::new() };
    if on_logs {
        for mode in &mut modes.modes {
            mode.center = mode.center.exp();
            mode.width = mode.center * mode.width.sinh();
        }
        if let Some(one) = too_near(&modes.modes, claim.apart.0) {
            let near = modes.modes.len();
            modes.modes = vec![one];
            return Ok(AssignedModes { slices, values, modes, belongs_to: Vec::new(), near: Some(near) });
        }
    }
    Ok(AssignedModes { slices, values, modes, belongs_to, near: None })
}

/// The slices that have the figure, with it.
fn with_figure<'s>(slices: &[&'s Slice], metric: Metric) -> (Vec<&'s Slice>, Vec<f64>) {
    slices.iter().filter_map(|slice| Some((*slice, slice.result.figure(metric)?))).unzip()
}

/// One value for several modes that all lie within a share of the lowest.
fn too_near(modes: &[Mode], apart: f64) -> Option<Mode> {
    let (first, last) = (modes.first()?, modes.last()?);
    if modes.len() < 2 || last.center / first.center - 1.0 >= apart {
        return None;
    }
    let weight: f64 = modes.iter().map(|mode| mode.weight).sum();
    let center = modes.iter().map(|mode| mode.center * mode.weight).sum::<f64>() / weight;
    let (least, most) = (first.center - first.width, last.center + last.width);
    Some(Mode { center, weight, width: (most - least) / 2.0 })
}

impl AssignedModes<'_> {
    /// The verdict, with its reason in words.
    fn verdict(&self, claim: &ModesClaim) -> Verdict {
        let mut verdict = self.modes.verdict(claim.metric.name());
        if let Some(near) = self.near {
            let apart = claim.apart;
            verdict.reason =
                format!("{}; {near} places less than {apart} apart count as one", verdict.reason);
        }
        verdict
    }

    fn details(&self, cell: &Cell, claim: &ModesClaim) -> ModesDetails {
        let order = self.order().map(|order| match order {
            Order::ComesAndGoes => "comes_and_goes".to_owned(),
            Order::Alternates => "alternates".to_owned(),
            Order::Random => "random".to_owned(),
        });
        let place = |mode: &Mode| ModePlace { center: mode.center, weight: mode.weight };
        ModesDetails {
            phase: claim.phase.clone(),
            cell: cell.levels.clone(),
            metric: claim.metric.name().to_owned(),
            values: self.values.clone(),
            modes: self.modes.modes.iter().map(place).collect(),
            belongs_to: self.belongs_to.iter().map(|mode| *mode as u32).collect(),
            order,
            background: self.switched(),
        }
    }

    fn order(&self) -> Option<Order> {
        (!self.belongs_to.is_empty())
            .then(|| order(&self.belongs_to.iter().map(|mode| *mode == 0).collect::<Vec<_>>()))
    }

    fn of_time(&self) -> Option<&'static str> {
        Some(match self.order()? {
            Order::ComesAndGoes => "they come and go: each stays for a while",
            Order::Alternates => "they alternate",
            Order::Random => "they alternate at random",
        })
    }

    /// Whether the worst mode is where the load had to wait for a CPU, more often than chance would have it. What is done in a time goes with the share of
    /// it that is left beside the wait, which must account for at least half of the ratio of the figures (on their logarithms); or the load waits there
    /// for long and much longer than elsewhere. Then what serves it, such as the kernel's threads behind a device, waits for the same CPUs and is not
    /// counted.
    fn waits_for_cpu(&self, metric: Metric) -> Option<WaitsForCpu> {
        let worst = worst(self.modes.modes.len(), metric)?;
        let waited: Option<Vec<f64>> = self.slices.iter().map(|slice| waited(slice)).collect();
        let waited = self.by_mode(worst, &waited?)?;
        let figures = self.by_mode(worst, &self.values)?;
        let (there, elsewhere) = (waited.there, waited.elsewhere);
        let by_waits = (1.0 - elsewhere) / (1.0 - there);
        let accounts = by_waits.ln() >= figures.ratio() / 2.0;
        let is_long = there >= LONG_WAIT && there >= MUCH_LONGER * elsewhere;
        ((accounts || is_long) && waited.by_chance < ALPHA).then_some(WaitsForCpu { there, elsewhere })
    }

    /// Whether the best mode is where there was a longer pause before the measurement. A token bucket saves up during a pause:
    /// with a pause p before a measurement that takes t it delivers (t + p) / t of its rate. That must account for at least half of the ratio of the
    /// figures, and go with the mode by more than chance would have it.
    fn goes_with_pauses(&self, metric: Metric) -> Option<Pauses> {
        let best = best(self.modes.modes.len(), metric)?;
        let elapsed_s = |slice: &Slice| slice.result.elapsed_ns as f64 / 1e9;
        let paused_s = self.slices.windows(2).map(|pair| {
            let end_ns = pair[0].at_ns.saturating_add(pair[0].result.elapsed_ns);
            let follows = pair[0].number.checked_add(1) == Some(pair[1].number);
            if follows { pair[1].at_ns.saturating_sub(end_ns) as f64 / 1e9 } else { 0.0 }
        });
        let paused_s: Vec<f64> = std::iter::once(0.0).chain(paused_s).collect();
        let saved: Vec<f64> =
            self.slices.iter().zip(&paused_s).map(|(of, pause)| 1.0 + pause / elapsed_s(of)).collect();
        let (paused, saved) = (self.by_mode(best, &paused_s)?, self.by_mode(best, &saved)?);
        let figures = self.by_mode(best, &self.values)?;
        let accounts = (saved.there / saved.elsewhere).ln() >= figures.ratio() / 2.0;
        (accounts && paused.by_chance < ALPHA)
            .then_some(Pauses { there_ms: 1e3 * paused.there, elsewhere_ms: 1e3 * paused.elsewhere })
    }

    /// Counters that set the measurements of a mode apart from all others.
    fn by_mode(&self, mode: usize, of: &[f64]) -> Option<ByMode> {
        let is_there: Vec<bool> = self.belongs_to.iter().map(|belongs| *belongs == mode).collect();
        let side = |wanted: bool| -> Vec<f64> {
            of.iter().zip(&is_there).filter(|(_, is)| **is == wanted).map(|(value, _)| *value).collect()
        };
        let (there, elsewhere) = (side(true), side(false));
        if there.is_empty() || elsewhere.is_empty() {
            return None;
        }
        let (there, elsewhere) = (median(&there), median(&elsewhere));
        let middle = f64::midpoint(there, elsewhere);
        let more: Vec<bool> = of.iter().map(|value| *value > middle).collect();
        Some(ByMode { there, elsewhere, by_chance: agreement(&is_there, &more).p })
    }

    /// The background loads that were there for a part of the measurements, each with when.
    fn switched(&self) -> BTreeMap<String, Vec<bool>> {
        let names: BTreeSet<&String> = self.slices.iter().flat_map(|slice| &slice.background).collect();
        let there = |name: &String| self.slices.iter().map(|slice| slice.background.contains(name)).collect();
        let all = names.into_iter().map(|name| (name.clone(), there(name)));
        all.filter(|(_, there): &(_, Vec<bool>)| there.contains(&false)).collect()
    }
}

/// Index of the worst of `modes` modes in ascending order; `None` if there is only one.
fn worst(modes: usize, metric: Metric) -> Option<usize> {
    (modes > 1).then(|| if metric.lower_is_better() { modes - 1 } else { 0 })
}

/// Index of the best mode, likewise.
fn best(modes: usize, metric: Metric) -> Option<usize> {
    worst(modes, metric).map(|worst| modes - 1 - worst)
}

/// Where the worse of two modes stands.
fn worse(metric: Metric) -> &'static str {
    if metric.lower_is_better() { "higher" } else { "lower" }
}

/// Where the better of two modes stands.
fn better(metric: Metric) -> &'static str {
    if metric.lower_is_better() { "lower" } else { "higher" }
}

/// The share of its time that a load's threads were ready and had no CPU.
fn waited(slice: &Slice) -> Option<f64> {
    let LoadResult { waited_us, elapsed_ns, threads, .. } = &slice.result;
    let all = *elapsed_ns as f64 / 1e3 * f64::from(*threads);
    (all > 0.0).then_some((*waited_us)? as f64 / all)
}

/// Counters that set the measurements of one mode apart from those of all others.
struct ByMode {
    /// The median in that mode, ..
    there: f64,
    /// .. and in the others.
    elsewhere: f64,
    /// Probability that at least this many of the mode lie above the joint median if the load made no difference.
    by_chance: f64,
}

impl ByMode {
    /// How far apart both are, on the scale of logarithms.
    fn ratio(&self) -> f64 {
        (self.there / self.elsewhere).ln().abs()
    }
}

/// A mode that appears after longer pauses: the burst of a token bucket instead of its sustained rate.
struct Pauses {
    /// How long the pause before a measurement of that mode was, ..
    there_ms: f64,
    /// .. and before the others.
    elsewhere_ms: f64,
}

impl Pauses {
    fn sentence(&self, metric: Metric) -> String {
        format!(
            "the {} one is where the pause before a measurement was longer ({:.0} ms, otherwise {:.0} ms). A rate limit with a token bucket saves up \
             during pauses. Measure again on a quieter machine, or for longer at a time",
            better(metric),
            self.there_ms,
            self.elsewhere_ms
        )
    }
}

/// A mode that is there where the load waited for a CPU: the machine's other work is measured there, and not the device.
struct WaitsForCpu {
    /// The share of its time that the load waited in that mode, ..
    there: f64,
    /// .. and in the others.
    elsewhere: f64,
}

impl WaitsForCpu {
    fn sentence(&self, metric: Metric) -> String {
        let worse = worse(metric);
        let percent = |share: f64| format!("{:.0} %", 100.0 * share);
        format!(
            "the {worse} one is where something else had the CPUs: there the load waited for one for {} of its time, otherwise for {}; measure again \
             on a quieter machine",
            percent(self.there),
            percent(self.elsewhere)
        )
    }
}

/// The background loads that the worst mode goes with.
fn linked_background<'d>(
    plan: &Plan,
    details: &'d ModesDetails,
    metric: Metric,
) -> Vec<LinkedBackground<'d>> {
    let several = worst(details.modes.len(), metric).filter(|_| !details.belongs_to.is_empty());
    let Some(worst) = several else { return Vec::new() };
    let in_worst: Vec<bool> = details.belongs_to.iter().map(|mode| *mode as usize == worst).collect();
    let known = details.background.iter().filter(|(name, _)| plan.experiment.background.contains_key(*name));
    let judged =
        known.map(|(name, there)| LinkedBackground { name, there, agreement: agreement(&in_worst, there) });
    judged
        .filter(|linked| {
            let Agreement { on_in, on, off_in, off, p } = linked.agreement;
            p < ALPHA && on_in * off > off_in * on
        })
        .collect()
}

/// A background load that the worst mode goes with.
struct LinkedBackground<'d> {
    name: &'d str,
    there: &'d [bool],
    agreement: Agreement,
}

impl LinkedBackground<'_> {
    fn sentence(&self, metric: Metric) -> String {
        let worse = worse(metric);
        let Agreement { on_in, on, off_in, off, .. } = self.agreement;
        format!(
            "the {worse} one is the background load `{}`'s doing: it held in {on_in} of {on} measurements beside it, and in {off_in} of {off} \
             without it",
            self.name
        )
    }
}

fn evidence(slices: &[&Slice], values: &[f64], there: &[bool], metric: Metric) -> Vec<CauseEvidence> {
    let own = values.iter().copied().map(Some).collect();
    let others = slices.iter().map(|slice| foreign(slice)).collect();
    let figures: [(String, Vec<Option<f64>>, &str); 2] =
        [(metric.name().replace('_', " "), own, ""), ("device reads by others".to_owned(), others, "MB/s")];
    let evidence = figures.into_iter().filter_map(|(name, values, unit)| {
        let side = |wanted: bool| {
            let of_side = values.iter().zip(there).filter(|(_, there)| **there == wanted);
            let of_side: Vec<f64> = of_side.filter_map(|(value, _)| *value).collect();
            (!of_side.is_empty()).then(|| median(&of_side))
        };
        let (before, after) = (side(false)?, side(true)?);
        Some(CauseEvidence { metric: name, before, after, unit: unit.to_owned() })
    });
    // Reads of others must have grown, or they are no evidence.
    evidence.enumerate().filter(|(n, e)| *n == 0 || e.after > e.before).map(|(_, e)| e).collect()
}

/// Reads of others from the machine's devices while a slice ran, in megabytes per second.
fn foreign(slice: &Slice) -> Option<f64> {
    let own = slice.result.found::<StorageFacts>()?.device_read_bytes? as f64;
    // Counters that did not change are left out.
    let read = slice.counters.get("machine").map_or(0.0, delivered);
    slice.result.per_second((read - own).max(0.0) / 1e6)
}

/// Bytes that whole devices of metal or of the hypervisor delivered: what stands on others, and partitions, would count twice.
fn delivered(counters: &BTreeMap<String, f64>) -> f64 {
    let name = |counter: &str| {
        let name = counter.strip_prefix("machine.diskstats.")?.strip_suffix(".read_bytes")?;
        let stands_on_another =
            ["loop", "dm-", "md", "zram", "ram"].iter().any(|kind| name.starts_with(kind));
        (!stands_on_another).then(|| name.to_owned())
    };
    let names: Vec<String> = counters.keys().filter_map(|counter| name(counter)).collect();
    let is_part = |name: &String| names.iter().any(|whole| whole != name && name.starts_with(whole.as_str()));
    let whole = names.iter().filter(|name| !is_part(name));
    whole.filter_map(|name| counters.get(&format!("machine.diskstats.{name}.read_bytes"))).sum()
}

#[cfg(test)]
mod tests {
    use plimsoll_explain::causes::{Known, named};
    use plimsoll_model::observation::PhaseRecord;
    use plimsoll_model::plan::Settings;

    use super::*;
    use crate::fixture;

    const TEXT: &str = r#"
question = "one or two?"
[hosts.box]
[volumes.disk]
on = "box"
folder = {}
[loads.read]
from = "box"
to = "disk"
storage = { duration = "10s" }
[background.reader]
load = "read"
every = "2s"
stays = "1s"
[[phases]]
name = "timed"
measure = "read"
[[claims]]
modes = { phase = "timed" }
"#;

    fn plan() -> Plan {
        Plan::read("modes", TEXT, &Settings::default()).unwrap()
    }

    /// A number from 0 to 1 that follows from another, for scatter that is the same each time.
    fn scatter(n: u64) -> f64 {
        let mut x = n.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        x ^= x >> 29;
        x = x.wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (x >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Measurements in megabytes per second, each with whether the background load ran.
    fn trial(measured: impl IntoIterator<Item = (f64, bool)>) -> TrialRecord {
        let result = |rate: f64| LoadResult {
            elapsed_ns: 1_000_000_000,
            requests: 10,
            bytes: (rate * 1e6) as u64,
            threads: 1,
            facts: Some(StorageFacts { device_read_bytes: Some(0), ..StorageFacts::default() }.into()),
            ..LoadResult::default()
        };
        let slice = |(number, (rate, there)): (u32, (f64, bool))| Slice {
            load: String::new(),
            number,
            counters: BTreeMap::from([(
                "machine".to_owned(),
                BTreeMap::from([
                    ("machine.diskstats.vda.read_bytes".to_owned(), if there { 5e7 } else { 1e4 }),
                    ("machine.diskstats.vda1.read_bytes".to_owned(), if there { 5e7 } else { 1e4 }),
                ]),
            )]),
            background: if there { vec!["reader".to_owned()] } else { Vec::new() },
            ..fixture::slice(result(rate))
        };
        let phase = PhaseRecord {
            slices: (0..).zip(measured).map(slice).collect(),
            ..fixture::phase("timed", LoadResult::default())
        };
        TrialRecord { number: 1, block: 1, phases: vec![phase], ..TrialRecord::default() }
    }

    /// About a rate, with normal scatter of about 3 %.
    fn about(rate: f64, n: u64) -> f64 {
        let normal = (0..6).map(|k| scatter(n * 6 + k)).sum::<f64>() - 3.0;
        rate * (1.0 + 0.045 * normal)
    }

    fn verdict_on(trial: TrialRecord) -> Verdict {
        let plan = plan();
        crate::findings(&plan, &[trial]).remove(0).verdict
    }

    #[test]
    fn a_second_mode_that_comes_and_goes_with_a_background_load_is_laid_to_it_ten_times_of_ten() {
        for seed in 0..10 {
            let there = |n: u64| n / 7 % 2 == 1;
            let rate = |n: u64| about(if there(n) { 55.0 } else { 97.0 }, n + 1000 * seed);
            let trial = trial((0..100).map(|n| (rate(n), there(n))));
            let verdict = verdict_on(trial.clone());
            assert_eq!(verdict.outcome, Outcome::SeveralModes, "{seed}: {}", verdict.reason);
            assert!(verdict.reason.contains("they come and go"), "{}", verdict.reason);
            assert!(verdict.reason.contains("the background load `reader`'s doing"), "{}", verdict.reason);
            let (plan, trials) = (plan(), [trial]);
            let shown = crate::claims::shown(&plan, &trials, &crate::findings(&plan, &trials));
            let causes = named(&Known { shown, ..Known::default() });
            assert_eq!(causes[0].id.id(), "disk.competing_io");
            assert_eq!(causes[0].evidence.len(), 2);
        }
    }

    #[test]
    fn one_mode_is_called_one_mode_ten_times_of_ten_whatever_background_load_comes() {
        for seed in 0..10 {
            let trial = trial((0..100).map(|n| (about(97.0, n + 1000 * seed), n / 7 % 2 == 1)));
            let verdict = verdict_on(trial);
            assert_eq!(verdict.outcome, Outcome::OneMode, "{seed}: {}", verdict.reason);
            assert!(!verdict.reason.contains("doing"), "{}", verdict.reason);
        }
    }

    /// Measured on a busy machine: each mode scatters so widely that two describe the figures hardly better than a flat top does (a gain of 7 in
    /// BIC, where 10 are asked for unless the dip test is sure).
    #[test]
    fn modes_that_scatter_widely_are_found_where_the_dip_test_is_sure() {
        let figures = [
            265.0, 307.0, 374.0, 567.0, 419.0, 514.0, 351.0, 298.0, 301.0, 402.0, 222.0, 277.0, 146.0, 17.0,
            34.0, 15.0, 15.0, 20.0, 44.0, 218.0, 326.0, 372.0, 202.0, 505.0, 497.0, 372.0, 261.0, 172.0,
            434.0, 17.0, 18.0, 19.0, 28.0, 17.0, 13.0, 52.0, 11.0, 15.0, 9.0, 244.0, 154.0, 243.0, 355.0,
            419.0, 589.0, 293.0, 420.0, 450.0, 429.0, 13.0, 12.0, 26.0, 39.0, 17.0, 17.0, 13.0, 42.0, 71.0,
            423.0, 387.0, 359.0, 286.0, 149.0, 282.0, 487.0, 540.0, 245.0, 466.0, 14.0, 13.0, 28.0, 36.0,
            32.0, 13.0, 12.0, 14.0, 10.0, 9.0, 485.0, 301.0, 377.0, 363.0, 366.0, 156.0, 86.0, 130.0, 140.0,
            417.0, 14.0, 17.0, 48.0, 116.0, 12.0, 14.0, 16.0, 20.0, 13.0, 269.0, 313.0, 434.0,
        ];
        let verdict = verdict_on(trial(figures.map(|rate| (rate, rate < 80.0))));
        assert_eq!(verdict.outcome, Outcome::SeveralModes, "{}", verdict.reason);
        assert!(verdict.reason.contains("the dip test agrees"), "{}", verdict.reason);
    }

    /// A load of one thread that waits for a CPU for a share of its time in some measurements, of one rate where it does not.
    fn waiting(rate: impl Fn(u64) -> f64, share: impl Fn(u64) -> f64) -> TrialRecord {
        let mut trial = trial((0..100).map(|n| (rate(n), false)));
        for slice in &mut trial.phases[0].slices {
            slice.result.waited_us = Some((1e6 * share(u64::from(slice.number))) as u64);
        }
        trial
    }

    #[test]
    fn a_mode_that_is_there_where_the_load_waited_for_a_cpu_is_not_the_devices() {
        let crowded = |n: u64| n % 20 < 7;
        let share = |n: u64| if crowded(n) { 0.65 + 0.1 * scatter(n) } else { 0.45 + 0.1 * scatter(n) };
        let slowed = verdict_on(waiting(|n| about(100.0, n) * (1.0 - share(n)), share));
        assert_eq!(slowed.outcome, Outcome::Undecided, "{}", slowed.reason);
        assert!(
            slowed.reason.contains("the lower one is where something else had the CPUs"),
            "{}",
            slowed.reason
        );
        // What serves the load waits as well, and is not counted: the device's figure falls to a tenth where the load waits for half of its time. Measured
        // on a loop device beside three other runs.
        let starved = |n: u64| if crowded(n) { 0.3 + 0.3 * scatter(n) } else { 0.2 * scatter(n) };
        let served = verdict_on(waiting(|n| about(if crowded(n) { 12.0 } else { 120.0 }, n), starved));
        assert_eq!(served.outcome, Outcome::Undecided, "{}", served.reason);
        // The pause is the same in both modes, or much shorter than the difference of the modes.
        let of_its_own = |n: u64| about(if crowded(n) { 60.0 } else { 97.0 }, n);
        for elsewhere in [waiting(of_its_own, |n| 0.3 * scatter(n)), waiting(of_its_own, |n| share(n) / 8.0)]
        {
            let verdict = verdict_on(elsewhere);
            assert_eq!(verdict.outcome, Outcome::SeveralModes, "{}", verdict.reason);
        }
    }

    /// Measurements of a device that delivers 100 MB/s at length, each for about 180 ms, with the pause in milliseconds before each.
    fn rested(rate: impl Fn(u64) -> f64, pause_ms: impl Fn(u64) -> f64) -> TrialRecord {
        let mut trial = trial((0..100).map(|n| (rate(n), false)));
        let mut now_ns = 0;
        for slice in &mut trial.phases[0].slices {
            now_ns += (pause_ms(u64::from(slice.number)) * 1e6) as u64;
            (slice.at_ns, slice.result.elapsed_ns) = (now_ns, 180_000_000);
            slice.result.bytes = slice.result.bytes * 18 / 100;
            now_ns += slice.result.elapsed_ns;
        }
        trial
    }

    #[test]
    fn a_mode_that_is_there_after_a_pause_is_what_was_saved_up() {
        let late = |n: u64| scatter(n + 7) < 0.4;
        let pause = |n: u64| if late(n) { 35.0 + 5.0 * scatter(n) } else { 8.0 + 2.0 * scatter(n) };
        let narrow = |rate: f64, n: u64| rate * (1.0 + 0.01 * (scatter(3 * n) - 0.5));
        let saved = verdict_on(rested(|n| narrow(100.0 * (1.0 + pause(n) / 180.0), n), pause));
        assert_eq!(saved.outcome, Outcome::Undecided, "{}", saved.reason);
        assert!(
            saved.reason.contains("the higher one is where the pause before a measurement was longer"),
            "{}",
            saved.reason
        );
        // The pauses are the same in both modes, or too short for the difference; or the lower one follows the longer pause.
        let of_its_own = |n: u64| narrow(if late(n) { 120.0 } else { 100.0 }, n);
        let other_way = |n: u64| narrow(if late(n) { 100.0 } else { 120.0 }, n);
        for elsewhere in [
            rested(of_its_own, |n| 10.0 + 30.0 * scatter(n + 1000)),
            rested(of_its_own, |n| pause(n) / 10.0),
            rested(other_way, pause),
        ] {
            let verdict = verdict_on(elsewhere);
            assert_eq!(verdict.outcome, Outcome::SeveralModes, "{}", verdict.reason);
        }
    }

    #[test]
    fn places_that_differ_by_less_than_matters_count_as_one() {
        let place = |apart: f64, n: u64| {
            let near = 107.0 * (1.0 + 0.0001 * scatter(n));
            if n.is_multiple_of(3) { near * (1.0 + apart) } else { near }
        };
        let verdict = |apart: f64| verdict_on(trial((0..100).map(|n| (place(apart, n), false))));
        assert_eq!(verdict(0.03).outcome, Outcome::SeveralModes);
        let near = verdict(0.01);
        assert_eq!(near.outcome, Outcome::OneMode, "{}", near.reason);
        assert!(near.reason.contains("2 places less than 2 % apart count as one"), "{}", near.reason);
    }

    #[test]
    fn modes_that_alternate_are_not_laid_to_a_background_load() {
        let rate = |n: u64| about(if n % 2 == 1 { 55.0 } else { 97.0 }, n);
        let verdict = verdict_on(trial((0..100).map(|n| (rate(n), n / 10 % 2 == 1))));
        assert_eq!(verdict.outcome, Outcome::SeveralModes);
        assert!(
            verdict.reason.contains("they alternate") && !verdict.reason.contains("doing"),
            "{}",
            verdict.reason
        );
    }

    #[test]
    fn a_level_that_shifted_once_is_no_second_mode() {
        let rate = |n: u64| about(if n < 50 { 55.0 } else { 97.0 }, n);
        let verdict = verdict_on(trial((0..100).map(|n| (rate(n), false))));
        assert_eq!(verdict.outcome, Outcome::OneMode, "{}", verdict.reason);
    }

    #[test]
    fn too_few_measurements_say_how_many_more_are_needed() {
        let verdict = verdict_on(trial((0..20).map(|n| (about(97.0, n), false))));
        assert_eq!(verdict.outcome, Outcome::TooFew);
        assert!(verdict.reason.contains("11 more needed"), "{}", verdict.reason);
    }

    #[test]
    fn a_phase_ends_early_only_with_several_modes_seen_twice() {
        let plan = plan();
        let slices = |number: u64, second: f64| {
            let rate = |n: u64| about(if n / 5 % 2 == 1 { second } else { 97.0 }, n);
            trial((0..number).map(|n| (rate(n), false))).phases.remove(0).slices
        };
        assert!(crate::claims::sure_enough(&plan, "timed", &slices(60, 55.0)));
        assert!(!crate::claims::sure_enough(&plan, "timed", &slices(60, 97.0)));
        assert!(!crate::claims::sure_enough(&plan, "timed", &slices(35, 55.0)));
        assert!(crate::claims::sure_enough(&plan, "another", &slices(5, 97.0)));
    }
}
