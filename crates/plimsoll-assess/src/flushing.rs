//! Whether a background load that a factor switches makes the disk flush that others wait for.

use plimsoll_explain::causes::Flushing;
use plimsoll_judge::stats::median;
use plimsoll_model::cause::CauseEvidence;
use plimsoll_model::experiment::DifferenceClaim;
use plimsoll_model::observation::{Slice, TrialRecord};
use plimsoll_model::plan::Plan;
use plimsoll_model::report::{DiskPerMessage, FlushReport};
use plimsoll_model::verdict::{Outcome, Verdict};

use super::{contrast, mail, slices};

/// Work of the disk without the background load and with it, which made a figure of mail worse, as this verdict says.
pub(super) fn of(
    plan: &Plan,
    claim: &DifferenceClaim,
    trials: &[TrialRecord],
    verdict: &Verdict,
) -> Option<Flushing> {
    let factor = claim.factor.as_ref()?;
    let background = switched(plan, factor)?;
    if verdict.outcome != Outcome::Slower {
        return None;
    }
    let side = |level: &str| -> Vec<&TrialRecord> {
        let of_level = |trial: &&TrialRecord| trial.cell.get(factor).is_some_and(|of| of == level);
        trials.iter().filter(of_level).filter(|trial| trial.faults.is_empty()).collect()
    };
    let (without, with) = (side("false"), side("true"));
    let both = |metric: &str, unit: &str, of: &dyn Fn(&Facts) -> f64| {
        let median = |trials: &[&TrialRecord]| {
            let values: Vec<f64> = trials.iter().map(|trial| of(&Facts::of(trial, claim))).collect();
            (!values.is_empty()).then(|| median(&values))
        };
        let (before, after) = (median(&without)?, median(&with)?);
        Some(CauseEvidence { metric: metric.into(), before, after, unit: unit.into() })
    };
    let own = both("flushes requested by the relay, per message", "", &|facts| facts.own.per_message)?;
    let waiting = [
        both("the relay's time in flushes, per message", "ms", &|facts| facts.own.us_per_message / 1e3),
        both("time in which any task waited for a disk, per message", "ms", &|facts| facts.waited_us / 1e3),
    ];
    Some(Flushing {
        background: background.to_owned(),
        confidence: verdict.confidence,
        figure: both(&claim.metric.name().replace('_', " "), "", &|facts| facts.figure)?,
        flushes: both("device flushes, per message", "", &|facts| facts.disk.flushes)?,
        commits: both("journal commits, per message", "", &|facts| facts.disk.commits)?,
        own: Some(own).filter(|own| own.before > 0.0),
        waiting: waiting.into_iter().flatten().collect(),
    })
}

/// The table of background loads in an experiment file.
const BACKGROUND: &str = "background.";

/// The background load that a factor switches, if it does that.
fn switched<'p>(plan: &'p Plan, factor: &str) -> Option<&'p str> {
    plan.experiment.factors[factor].set.iter().find_map(|path| {
        let name = path.strip_prefix(BACKGROUND)?.strip_suffix(".present")?;
        plan.experiment.background.contains_key(name).then_some(name)
    })
}

/// Disk activity for each message of a trial.
struct Facts {
    figure: f64,
    /// The device that flushed most; what stands below it flushed as often.
    disk: DiskPerMessage,
    own: FlushReport,
    waited_us: f64,
}

impl Facts {
    fn of(trial: &TrialRecord, claim: &DifferenceClaim) -> Self {
        let slices: Vec<&Slice> = slices::measured(trial, &claim.phase).collect();
        let disks = mail::disks(&slices);
        let most = |of: fn(&DiskPerMessage) -> f64| disks.values().map(of).fold(0.0, f64::max);
        let disk = DiskPerMessage {
            flushes: most(|disk| disk.flushes),
            commits: most(|disk| disk.commits),
            ..DiskPerMessage::default()
        };
        let own = mail::flushes(&slices).into_values().max_by(|a, b| a.per_message.total_cmp(&b.per_message));
        Self {
            figure: contrast::figure(trial, &claim.phase, claim.metric).unwrap_or(0.0),
            disk,
            own: own.unwrap_or_default(),
            waited_us: mail::io_pressure(&slices).unwrap_or(0.0),
        }
    }
}
