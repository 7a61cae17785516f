//! Causes by what other tools wrote down: where the CPUs' time went, and whether memory was swapped.

use plimsoll_model::cause::{Cause, CauseId};
use plimsoll_model::report::Evidence;

use super::{SavedCpu, cause, quoted};

/// CPUs that are idle for a smaller part of the time are used up, in per cent.
const BUSY: f64 = 15.0;
/// From this share on it is the kernel's, or the programs'.
const ONE_SIDED: f64 = 0.6;
/// So much more of the CPUs' time, in points of per cent, is more; and so much more of it for each operation, as a share.
const MORE: (f64, f64) = (10.0, 0.1);

/// How sure it is.
const SURE: f64 = 0.6;
/// How sure it is of programs where no rates tell what each operation takes. In 11 captures beside builds they never were the cause (lab/said.tsv,
/// fitted on half of them).
const OF_PROGRAMS: f64 = 0.15;

/// Whose time used the CPUs up, where they are. With the rates before and after it is what was added for each operation that counts; without them, of
/// what was added in each second most has to be of one side, and most of all time as well. `evidence` is what moved for certain.
pub(super) fn saturated(cpu: &SavedCpu, evidence: &[Evidence]) -> Option<Cause> {
    let SavedCpu { before, after, rates } = *cpu;
    if after.idle >= BUSY {
        return None;
    }
    let kernels_share = match rates {
        Some((rate_before, rate_after)) => {
            let added = |before: f64, after: f64| after / rate_after - before / rate_before;
            let all = added(before.user + before.system, after.user + after.system);
            if all < MORE.1 * (before.user + before.system) / rate_before {
                return None;
            }
            added(before.system, after.system) / all
        }
        None => {
            let share = after.system / (after.user + after.system);
            let grew =
                if share >= ONE_SIDED { after.system - before.system } else { after.user - before.user };
            if grew < MORE.0 {
                return None;
            }
            share
        }
    };
    let (id, columns): (_, &[&str]) = match kernels_share {
        share if share >= ONE_SIDED => {
            (CauseId::CpuKernelSaturated, &["sy", "%system", "%sys", "%soft", "%irq"])
        }
        share if share <= 1.0 - ONE_SIDED => (CauseId::CpuUserSaturated, &["us", "%user", "%usr", "%nice"]),
        _ => return None,
    };
    let is_vague = rates.is_none() && id == CauseId::CpuUserSaturated;
    named(id, if is_vague { OF_PROGRAMS } else { SURE }, columns, evidence)
}

/// A cause with the columns that grew; nothing where none did.
pub(super) fn named(id: CauseId, confidence: f64, columns: &[&str], evidence: &[Evidence]) -> Option<Cause> {
    let grew = |it: &&Evidence| {
        it.shift > 0.0 && it.metric.split(' ').next().is_some_and(|name| columns.contains(&name))
    };
    let evidence: Vec<_> = evidence.iter().filter(grew).take(super::QUOTED).map(quoted).collect();
    (!evidence.is_empty()).then(|| cause(id, confidence, evidence))
}

#[cfg(test)]
mod tests {
    use super::super::CpuTime;
    use super::*;

    fn grew(metric: &str) -> Evidence {
        Evidence {
            host: "vmstat".into(),
            metric: metric.into(),
            before: 1.0,
            after: 9.0,
            unit: "%".into(),
            shift: 1.0,
            control_ratio: None,
        }
    }

    #[test]
    fn cpus_with_time_left_or_as_dear_as_before_explain_nothing() {
        let good = CpuTime { user: 30.0, system: 30.0, idle: 40.0 };
        let bad = CpuTime { user: 10.0, system: 88.0, idle: 2.0 };
        let evidence = [grew("sy (of all CPUs' time)"), grew("us (of all CPUs' time)")];
        let id = |before, after, rates| {
            saturated(&SavedCpu { before, after, rates }, &evidence).map(|cause| cause.id)
        };
        assert_eq!(id(good, bad, None), Some(CauseId::CpuKernelSaturated));
        assert_eq!(id(good, CpuTime { idle: 30.0, ..bad }, None), None);
        assert_eq!(id(bad, bad, None), None);
        // Twice the rate for less than twice the time.
        assert_eq!(id(good, bad, Some((100.0, 200.0))), None);
        let program = CpuTime { user: 95.0, system: 4.0, idle: 1.0 };
        assert_eq!(id(good, program, Some((100.0, 90.0))), Some(CauseId::CpuUserSaturated));
        let sure = |after, rates| {
            saturated(&SavedCpu { before: good, after, rates }, &evidence).map(|cause| cause.confidence)
        };
        assert_eq!(sure(program, Some((100.0, 90.0))), Some(SURE));
        assert_eq!(sure(program, None), Some(OF_PROGRAMS));
        assert_eq!(sure(bad, None), Some(SURE));
        assert_eq!(
            saturated(&SavedCpu { before: good, after: bad, rates: None }, &[]),
            None,
            "nothing moved for certain"
        );
    }
}
