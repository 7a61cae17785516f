//! Causes by amounts and shares that other tools print: how full, how busy, how often in the kernel's log.

use plimsoll_model::cause::{Cause, CauseId};
use plimsoll_model::report::Evidence;

use super::{QUOTED, cause, quoted};

/// The part of the CPUs' time in which they waited for a disk: from counters, mpstat and top; of vmstat; of sar.
pub(super) const IOWAIT: [&str; 3] = ["cpu.all.iowait_share", "wa", "%iowait"];
/// From this part on it is felt, in per cent.
pub(super) const LEAST_IOWAIT: f64 = 10.0;

/// The name of a figure, without what it is divided by.
pub(super) fn name(evidence: &Evidence) -> &str {
    evidence.metric.split(' ').next().unwrap_or_default()
}

/// A figure of one of these names that grew to at least so much.
pub(super) fn above<'e>(names: &[&str], least: f64, evidence: &'e [Evidence]) -> Option<&'e Evidence> {
    let is_it = |it: &&Evidence| names.contains(&name(it)) && it.shift > 0.0 && it.after >= least;
    evidence.iter().filter(is_it).max_by(|a, b| a.after.total_cmp(&b.after))
}

/// A figure of some device or process that grew to at least so much: `disk.vda.busy_share`.
pub(super) fn any_above<'e>(
    (start, end): (&str, &str),
    least: f64,
    evidence: &'e [Evidence],
) -> Option<&'e Evidence> {
    let is_it = |it: &&Evidence| {
        let name = name(it);
        name.starts_with(start) && name.ends_with(end) && it.shift > 0.0 && it.after >= least
    };
    evidence.iter().filter(is_it).max_by(|a, b| a.after.total_cmp(&b.after))
}

/// Sum of a count over all devices but this one, before and after: `dev.eth0.tx_packets`. Each side may use another device.
pub(super) fn of_all_devices(
    (start, end): (&str, &str),
    except: Option<&str>,
    evidence: &[Evidence],
) -> [f64; 2] {
    let is_it = |it: &&Evidence| {
        let device = name(it).strip_prefix(start).and_then(|rest| rest.split_once('.'));
        device.is_some_and(|(device, what)| what == end && Some(device) != except)
    };
    let all = evidence.iter().filter(is_it);
    all.fold([0.0; 2], |[before, after], it| [before + it.before, after + it.after])
}

/// A setting of the kernel that was lowered, by the name of its sysctl.
pub(super) fn lowered<'e>(sysctl: &str, evidence: &'e [Evidence]) -> Option<&'e Evidence> {
    let is_it = |it: &&Evidence| {
        let name = name(it).strip_prefix("limit.").or_else(|| name(it).strip_prefix("sysctl."));
        name == Some(sysctl) && it.after < it.before
    };
    evidence.iter().find(is_it)
}

/// A cause with the figures that show it.
pub(super) fn shown(id: CauseId, confidence: f64, evidence: &[Option<&Evidence>]) -> Vec<Cause> {
    let evidence = evidence.iter().flatten().take(QUOTED).map(|it| quoted(it)).collect();
    vec![cause(id, confidence, evidence)]
}
