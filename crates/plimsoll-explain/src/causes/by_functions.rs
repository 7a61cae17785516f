//! Causes by where the CPUs' time went.

use plimsoll_model::cause::{Cause, CauseEvidence, CauseId};
use plimsoll_model::observation::FrameKind;
use plimsoll_model::report::{Evidence, GrownFunction, Who};

use super::{Known, by_seen, cause};

/// Functions of the kernel that name a cause when they take most of what was added.
pub(super) struct Signature {
    pub(super) functions: &'static [&'static str],
    /// Prefixes of counters and levels; the cause is sure if one of them grew as well.
    pub(super) with: &'static [&'static str],
}

/// From this share of what was added on a function is the cause.
const MOST: f64 = 0.4;
/// CPUs that are idle for a smaller share of the time are used up.
pub(super) const BUSY: f64 = 0.15;
/// From this share of what was added on it is the kernel's, or the programs'.
const ONE_SIDED: f64 = 0.6;

/// The cause, where functions that name it take most of what was added.
pub(super) fn named(id: CauseId, signature: &Signature, known: &Known<'_>) -> Option<Cause> {
    let profile = known.profile.filter(|profile| profile.tells())?;
    let evidence = known.evidence;
    let is_it = |it: &&GrownFunction| {
        it.kind == FrameKind::Kernel && signature.functions.contains(&it.function.as_str())
    };
    let with_callees = profile.narrowest.as_ref().filter(is_it);
    let own: Vec<&GrownFunction> = profile.functions.iter().filter(is_it).collect();
    let share = own.iter().map(|it| it.share).sum::<f64>().max(with_callees.map_or(0.0, |it| it.share));
    let added_us = |it: &GrownFunction| it.after_us - it.before_us;
    let us = own.iter().map(|it| added_us(it)).sum::<f64>().max(with_callees.map_or(0.0, added_us));
    if share < MOST || !known.is_explained_by(us) {
        return None;
    }
    let with: Vec<&Evidence> = evidence
        .iter()
        .filter(|it| it.shift > 0.0 && signature.with.iter().any(|start| it.metric.starts_with(start)))
        .collect();
    let confidence = match (signature.with.is_empty(), with.is_empty()) {
        (_, false) => 0.95,
        (true, true) => 0.85,
        (false, true) => 0.75,
    };
    let functions = with_callees
        .into_iter()
        .chain(own.into_iter().filter(|it| with_callees.is_none_or(|w| w.function != it.function)));
    let functions = functions.map(|it| told(it, &profile.per));
    let counters = with.into_iter().take(super::QUOTED).map(super::quoted);
    Some(cause(id, confidence, functions.chain(counters).collect()))
}

/// Whose time used the CPUs up, the kernel's or the programs'. That names no more than a layer.
pub(super) fn saturated(known: &Known<'_>) -> Option<Cause> {
    let profile = known.profile.filter(|profile| profile.grew)?;
    let is_busy = profile.after.idle? < BUSY;
    let (added, of_kernel) = profile.added_us();
    if !known.is_explained_by(added) {
        return None;
    }
    let (id, kind) = match of_kernel / added {
        share if share >= ONE_SIDED => (CauseId::CpuKernelSaturated, FrameKind::Kernel),
        share if share <= 1.0 - ONE_SIDED => (CauseId::CpuUserSaturated, FrameKind::User),
        _ => return None,
    };
    if !is_busy {
        return None;
    }
    let (before_us, after_us) = match kind {
        FrameKind::Kernel => (profile.before.kernel_us, profile.after.kernel_us),
        _ => {
            (profile.before.cpu_us - profile.before.kernel_us, profile.after.cpu_us - profile.after.kernel_us)
        }
    };
    let whose = if kind == FrameKind::Kernel { "the kernel" } else { "programs" };
    let all = CauseEvidence {
        metric: format!("CPU time of {whose} (per {})", profile.per),
        before: before_us,
        after: after_us,
        unit: format!("µs/{}", profile.per),
    };
    let functions = profile.functions.iter().filter(|it| it.kind == kind).take(3);
    let functions = functions.map(|it| told(it, &profile.per));
    Some(cause(id, 0.6, std::iter::once(all).chain(functions).collect()))
}

/// The functions of one program, as evidence, if the CPUs are used up and it takes most of what was added.
pub(super) fn saturated_by(known: &Known<'_>, who: &Who) -> Option<Vec<CauseEvidence>> {
    let profile = known.profile?;
    saturated(known).filter(|cause| cause.id == CauseId::CpuUserSaturated)?;
    let own: Vec<&GrownFunction> =
        profile.functions.iter().filter(|it| it.owner.last() == Some(&who.process)).collect();
    let share: f64 = own.iter().map(|it| it.share).sum();
    (share >= MOST).then(|| own.into_iter().take(super::QUOTED).map(|it| told(it, &profile.per)).collect())
}

/// From this part of a CPU more on a program counts.
const MORE_CPUS: f64 = 0.2;

/// A program that uses more of the CPUs, with one function that takes most of the added time. This serves recordings, where any program may be the
/// service and all CPUs together may be as busy as before.
pub(super) fn one_function(known: &Known<'_>) -> Option<Cause> {
    let profile = known.profile.filter(|_| known.measured.is_everybody)?;
    let function = profile.functions.iter().find(|it| it.kind == FrameKind::User && it.share >= ONE_SIDED)?;
    let used = profile
        .cpu_use
        .iter()
        .find(|it| function.owner.contains(&it.who.process) && it.after_cpus - it.before_cpus >= MORE_CPUS)?;
    let id = CauseId::CpuUserSaturated;
    let title = format!("{}: `{}` of {}", id.title(), function.function, used.who.process);
    let evidence = by_seen::told_cpu_use(&[used]).into_iter().chain([told(function, &profile.per)]).collect();
    Some(Cause { title, ..cause(id, 0.6, evidence) })
}

/// A function as evidence.
pub(super) fn told(function: &GrownFunction, per: &str) -> CauseEvidence {
    let owner = function.owner.join("/");
    let place = if owner.is_empty() { owner } else { format!(", mostly in {owner}") };
    CauseEvidence {
        metric: format!("CPU time in {}{place} (per {per})", function.function),
        before: function.before_us,
        after: function.after_us,
        unit: format!("µs/{per}"),
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_model::observation::ProfileClock;
    use plimsoll_model::report::{ProfileReport, ProfileSide};

    use super::super::named as all_named;
    use super::*;

    fn function(name: &str, kind: FrameKind, share: f64) -> GrownFunction {
        let owner = ["firewall", "relay"].map(str::to_owned).to_vec();
        GrownFunction {
            function: name.into(),
            was: None,
            kind,
            before_us: 1.0,
            after_us: 1.0 + 1000.0 * share,
            share,
            owner,
            called_by: vec!["connect".to_owned()],
        }
    }

    fn profile(
        narrowest: Option<GrownFunction>,
        functions: Vec<GrownFunction>,
        kernel: f64,
        idle: f64,
    ) -> ProfileReport {
        let side = |cpu_us: f64, kernel_us: f64| ProfileSide {
            samples: 1000,
            lost: 0,
            idle: Some(idle),
            operations: 100,
            cpu_us,
            kernel_us,
        };
        ProfileReport {
            clock: ProfileClock::CpuClock,
            hertz: 199,
            per: "connection".into(),
            before: side(500.0, 300.0),
            after: side(1500.0, 300.0 + 1000.0 * kernel),
            control: None,
            grew: true,
            narrowest,
            functions,
            calls: Vec::new(),
            own_syncs_per_s: 0.0,
            waits: Vec::new(),
            failures: Vec::new(),
            block_io: Vec::new(),
            cpu_use: Vec::new(),
            busiest_threads: Vec::new(),
            throttling: Vec::new(),
            io_limits: Vec::new(),
            states: Vec::new(),
            members: Vec::new(),
        }
    }

    fn causes(profile: &ProfileReport, evidence: &[Evidence]) -> Vec<Cause> {
        all_named(&Known { profile: Some(profile), evidence, ..Known::default() })
    }

    fn of_profile(profile: &ProfileReport) -> Known<'_> {
        Known { profile: Some(profile), ..Known::default() }
    }

    #[test]
    fn a_function_that_takes_a_small_part_of_the_added_time_is_no_cause() {
        let lookup = function("fib_rules_lookup", FrameKind::Kernel, 0.9);
        let profile = profile(Some(lookup), Vec::new(), 1.0, 0.0);
        let of = |added_us| named_ids(&Known { added_us, ..of_profile(&profile) });
        // 900 µs of the 1000 that were added to the CPUs' time.
        assert_eq!(of(Some(1500.0)), [CauseId::NetRuleChain]);
        assert!(of(Some(20_000.0)).is_empty());
        assert_eq!(of(None), [CauseId::NetRuleChain]);
    }

    fn named_ids(known: &Known<'_>) -> Vec<CauseId> {
        all_named(known).iter().map(|cause| cause.id).collect()
    }

    fn ids(profile: &ProfileReport, evidence: &[Evidence]) -> Vec<&'static str> {
        causes(profile, evidence).iter().map(|cause| cause.id.id()).collect()
    }

    #[test]
    fn a_walk_over_rules_is_named_and_is_surer_where_the_rules_have_grown() {
        let lookup = function("fib_rules_lookup", FrameKind::Kernel, 0.9);
        let leaked = profile(
            Some(lookup.clone()),
            vec![function("fib4_rule_match", FrameKind::Kernel, 0.5)],
            1.0,
            0.0,
        );
        let alone = causes(&leaked, &[]);
        assert_eq!(alone[0].id, CauseId::NetRuleChain);
        assert_eq!(
            alone[0].evidence[0].metric,
            "CPU time in fib_rules_lookup, mostly in firewall/relay (per connection)"
        );
        let rules = Evidence {
            host: "firewall".into(),
            metric: "rules (level)".into(),
            before: 3.0,
            after: 4000.0,
            unit: "count".into(),
            shift: 1.0,
            control_ratio: None,
        };
        let both = causes(&leaked, &[rules]);
        assert!(both[0].confidence > alone[0].confidence);
        assert_eq!(both[0].evidence.last().unwrap().metric, "firewall: rules (level)");
    }

    #[test]
    fn a_function_of_a_program_or_a_small_share_names_no_cause_of_the_kernel() {
        let of_program = profile(Some(function("nft_do_chain", FrameKind::User, 0.9)), Vec::new(), 0.1, 0.5);
        assert!(ids(&of_program, &[]).is_empty());
        let small = profile(None, vec![function("osq_lock", FrameKind::Kernel, 0.2)], 1.0, 0.5);
        assert!(ids(&small, &[]).is_empty());
    }

    #[test]
    fn where_no_function_tells_more_the_busy_cpus_are_laid_to_the_kernel_or_to_the_program() {
        let of = |kernel: f64, idle: f64| {
            let profile = profile(None, vec![function("work", FrameKind::User, 0.5)], kernel, idle);
            saturated(&of_profile(&profile)).map(|cause| cause.id)
        };
        assert_eq!(of(0.9, 0.05), Some(CauseId::CpuKernelSaturated));
        assert_eq!(of(0.1, 0.05), Some(CauseId::CpuUserSaturated));
        assert_eq!(of(0.5, 0.05), None, "both took more");
        assert_eq!(of(0.9, 0.5), None, "half of the CPUs' time was left");
    }

    #[test]
    fn what_did_not_grow_explains_nothing() {
        let lookup = function("fib_rules_lookup", FrameKind::Kernel, 0.9);
        let same = ProfileReport { grew: false, ..profile(None, vec![lookup], 1.0, 0.0) };
        assert!(ids(&same, &[]).is_empty());
        assert_eq!(saturated(&of_profile(&same)), None);
    }

    #[test]
    fn one_function_that_grew_where_the_sum_did_not_says_nothing_of_the_whole() {
        let lookup = function("fib_rules_lookup", FrameKind::Kernel, 0.9);
        let one = ProfileReport {
            grew: false,
            after: ProfileSide {
                cpu_us: 480.0,
                kernel_us: 290.0,
                ..profile(None, Vec::new(), 1.0, 0.0).after
            },
            ..profile(Some(lookup), Vec::new(), 1.0, 0.0)
        };
        assert_eq!(ids(&one, &[]), [CauseId::NetRuleChain.id()]);
        assert_eq!(saturated(&of_profile(&one)), None);
    }

    #[test]
    fn what_the_control_grew_by_is_laid_to_neither() {
        // All that was added in the kernel was added on the control as well: what is left is the program's.
        let grown = profile(None, vec![function("work", FrameKind::User, 0.9)], 0.7, 0.05);
        let control = [grown.before, ProfileSide { cpu_us: 1200.0, kernel_us: 1000.0, ..grown.after }];
        let spared = ProfileReport { control: Some(control), ..grown };
        assert_eq!(saturated(&of_profile(&spared)).map(|cause| cause.id), Some(CauseId::CpuUserSaturated));
    }
}
