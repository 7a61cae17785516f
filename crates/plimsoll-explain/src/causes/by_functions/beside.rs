//! Second causes: what programs compute and the kernel does beside causes that are known.

use std::collections::BTreeSet;

use plimsoll_model::cause::{Cause, CauseEvidence, CauseId};
use plimsoll_model::observation::{FrameKind, program_of};
use plimsoll_model::report::{GrownCpuUse, GrownFunction, ProfileReport};

use super::{
    BUSY, Computed, Known, PART, WHOLE, asked_for_from, by_own_threads, cause, described, entry,
    function_evidence, main_function, of_computed,
};
use crate::causes::{OPEN_SHARE, by_opens};

/// Causes that consist in what programs compute: added CPU time of programs is part of them, and no second cause.
const COMPUTE: [CauseId; 11] = [
    CauseId::CpuUserSaturated,
    CauseId::CpuSingleThread,
    CauseId::CpuContended,
    CauseId::CpuFrequencyLimited,
    CauseId::GeneratorSaturated,
    CauseId::LockUserSpace,
    CauseId::MemoryLargeFork,
    CauseId::ProbeEffect,
    CauseId::ServiceCrashed,
    CauseId::ServiceManyProcesses,
    CauseId::ServiceManySignals,
];
/// Causes by calls that a program makes, which it computes for as well.
const CALLS: [CauseId; 4] = [
    CauseId::ServiceFailingCalls,
    CauseId::ServiceFileWrites,
    CauseId::ServiceLogFlood,
    CauseId::CpuKernelSaturated,
];
/// Causes without the kernel's time.
const NOT_IN_KERNEL: [CauseId; 5] = [
    CauseId::CpuUserSaturated,
    CauseId::CpuSingleThread,
    CauseId::ServiceAnswersLate,
    CauseId::ServiceManyConnections,
    CauseId::ServiceOtherSettings,
];
/// System calls that open and end connections.
const OF_CONNECTIONS: [&str; 6] = ["socket", "connect", "accept", "accept4", "shutdown", "close"];
/// Causes that are the kernel's time for calls of a program.
const IN_KERNEL: [CauseId; 2] = [CauseId::CpuKernelSaturated, CauseId::KernelPathLonger];
/// From this many times the kernel's added CPU time on, a program computes for more than for the calls.
const BEYOND_CALLS: f64 = 2.0;
/// By which part of their own time before programs must compute longer to be a second cause, and by which part of the time of an operation: alone they
/// would make it so much slower. And the part of the added time that this must be.
const BESIDE: (f64, f64, f64) = (0.5, 0.1, 0.05);
/// How sure a second cause is.
const SURE_BESIDE: f64 = 0.5;

/// Causes for which a service lacks CPU time although CPUs are idle.
const LACKS_CPU: [CauseId; 2] = [CauseId::CpuQuotaThrottled, CauseId::CpuPinned];

/// Whether what is measured could do more with more CPU time: no CPU is idle, it may not use those that are, or it has one thread for them.
fn lacks_cpu(known: &Known<'_>, profile: &ProfileReport, causes: &[Cause]) -> bool {
    let is_whole = |it: &GrownCpuUse| it.after_cpus >= WHOLE && known.measured.has(&it.who.process);
    profile.after.idle.is_some_and(|idle| idle < BUSY)
        || causes.iter().any(|cause| LACKS_CPU.contains(&cause.id))
        || profile.busiest_threads.iter().any(is_whole)
}

/// The time of an operation before, and what was added to it, in microseconds. Where operations are known by their rate alone, that is CPU time, if
/// the CPUs are used up.
fn own_and_added_us(known: &Known<'_>, profile: &ProfileReport, causes: &[Cause]) -> Option<(f64, f64)> {
    match known.took_us {
        Some((before, after)) => (after > before).then_some((before, after - before)),
        None => {
            let is_limit = profile.grew && known.lost.is_some() && lacks_cpu(known, profile, causes);
            is_limit.then(|| (profile.before.cpu_us, profile.added_us().0))
        }
    }
}

/// A process none of whose functions stands out.
fn nothing_but_name(process: &GrownFunction) -> Computed {
    Computed { what: format!("`{}`", process.function), missing: None }
}

/// Whether a function belongs to what is measured: a load of a run computes as well.
fn is_measured(known: &Known<'_>, function: &GrownFunction) -> bool {
    let process =
        if function.kind == FrameKind::Process { Some(&function.function) } else { function.owner.last() };
    known.took_us.is_some() || process.is_some_and(|process| known.measured.has(process))
}

/// What programs compute longer beside causes that are no computing, as waits are.
pub(in crate::causes) fn computed_beside(known: &Known<'_>, causes: &[Cause]) -> Option<Cause> {
    let profile = known.profile.filter(|profile| profile.tells())?;
    let (before_us, added_us) = own_and_added_us(known, profile, causes)?;
    let (added, of_kernel) = profile.added_us();
    let of_programs = added - of_kernel;
    let is_computing = |cause: &Cause| {
        COMPUTE.contains(&cause.id)
            || cause
                .evidence
                .iter()
                .any(|it| it.metric.contains(OPEN_SHARE) && cause.id == CauseId::NameLookupSlow)
            || CALLS.contains(&cause.id) && of_programs < BEYOND_CALLS * of_kernel
    };
    let own_us = profile.before.cpu_us - profile.before.kernel_us;
    let is_enough = of_programs >= BESIDE.0 * own_us
        && of_programs >= BESIDE.1 * before_us
        && of_programs >= BESIDE.2 * added_us;
    if !is_enough || causes.iter().any(is_computing) {
        return None;
    }
    let function = main_function(profile).filter(|it| is_measured(known, it));
    let program = profile.programs.iter().find(|it| is_measured(known, it));
    let computed = match (function, program) {
        (Some(function), _) => described(profile, function)?,
        (None, program) => nothing_but_name(program?),
    };
    Some(of_computed(SURE_BESIDE, computed, of_programs_evidence(profile)))
}

/// The least part of the added CPU time that is worth a second cause, and the part of it that one call takes.
pub(super) const SECOND: (f64, f64) = (0.15, 0.1);

/// The part of the kernel's added CPU time that calls must take to be what it is asked for.
const MOST_OF_KERNEL: f64 = 0.5;

/// By which factor two factors may differ that are about the same.
const ALIKE_FACTOR: f64 = 1.5;

/// Functions of the dynamic linker.
const LOADER: [&str; 3] = ["[ld-linux", "_dl_", "do_lookup_x"];

/// CPU time of another kind than causes name: the kernel's beside what programs compute, or what a program computes that no cause names.
pub(in crate::causes) fn other_parts(known: &Known<'_>, causes: &[Cause]) -> Vec<Cause> {
    let Some(profile) = known.profile.filter(|profile| profile.tells()) else { return Vec::new() };
    let Some((before_us, _)) = own_and_added_us(known, profile, causes) else { return Vec::new() };
    let (added, of_kernel) = profile.added_us();
    let is_enough = |us: f64, was_us: f64| {
        us >= SECOND.0 * added && us >= BESIDE.0 * was_us && us >= BESIDE.1 * before_us
    };
    let opens_connections = causes.iter().any(|cause| cause.id == CauseId::ServiceManyConnections);
    let is_other = |it: &&GrownFunction| {
        !opens_connections || entry(&it.function).is_none_or(|call| !OF_CONNECTIONS.contains(&call))
    };
    let entered: Vec<GrownFunction> = profile.entered.iter().filter(is_other).cloned().collect();
    let mut found = Vec::new();
    // Other causes, as calls that fail, have the kernel's time in them.
    let leaves_kernel = |cause: &Cause| {
        let is_of_net = cause.id.id().starts_with("net.") && cause.id != CauseId::NetRuleChain;
        NOT_IN_KERNEL.contains(&cause.id) || is_of_net
    };
    let least = SECOND.1.min(MOST_OF_KERNEL * of_kernel / added);
    if causes.iter().all(leaves_kernel)
        && is_enough(of_kernel, profile.before.kernel_us)
        && let Some(what) = asked_for_from(least, known, &entered).or_else(|| by_own_threads(profile))
    {
        let id = CauseId::CpuKernelSaturated;
        let entered = entered.iter().take(3).map(|it| function_evidence(it, &profile.per));
        let title = format!("{}: {what}", id.title());
        found.push(Cause { title, ..cause(id, SURE_BESIDE, entered.collect()) });
    }
    let is_named_in = |causes: &[&Cause], process: &String| {
        let name = program_of(process);
        causes.iter().any(|cause| {
            // Beside new processes stands whatever computes more, new or not.
            let evidence = cause.evidence.iter().filter(|_| cause.id != CauseId::ServiceManyProcesses);
            let texts = std::iter::once(&cause.title).chain(evidence.map(|it| &it.metric));
            let named = [format!("`{name}`"), format!("`{process}`"), format!("/{process}")];
            texts.into_iter().any(|text| named.iter().any(|it| text.contains(it)))
        })
    };
    let more_processes = causes.iter().find(|cause| cause.id == CauseId::ServiceManyProcesses);
    let started = more_processes.and_then(|cause| cause.evidence.first());
    // A setting is a hint, and says nothing of what is computed.
    let causes = causes.iter().filter(|cause| cause.id != CauseId::ServiceOtherSettings);
    let (of_kernel, others): (Vec<&Cause>, Vec<&Cause>) =
        causes.partition(|cause| IN_KERNEL.contains(&cause.id));
    for program in profile.programs.iter().filter(|it| is_measured(known, it)) {
        if is_named_in(&others, &program.function) {
            continue;
        }
        // What it computes for calls is part of these, if it is little.
        let is_calling = is_named_in(&of_kernel, &program.function);
        let is_own = |it: &&GrownFunction| it.owner.last() == Some(&program.function);
        // With what the kernel does for it. A call and the function that takes its place are one.
        let mut named = BTreeSet::new();
        let calls = profile.entered.iter().filter(is_own);
        let calls = calls.filter(|it| entry(&it.function).is_some_and(|call| named.insert(call)));
        let (was_us, is_us) = std::iter::once(program)
            .chain(calls)
            .fold((0.0, 0.0), |(was, is), it| (was + it.before_us, is + it.after_us));
        let is_started = started.is_some_and(|it| {
            grew_by(it, was_us, is_us)
                && !by_opens::opens_beyond(known, &program.function, it.after / it.before)
        });
        let functions = profile.functions.iter().filter(|it| it.kind == FrameKind::User);
        let own: Vec<&GrownFunction> = functions.filter(is_own).take(3).collect();
        // What loads a program is part of starting it.
        let is_loading =
            own.first().is_some_and(|it| LOADER.iter().any(|start| it.function.starts_with(start)));
        let is_for_calls = is_calling && program.share < PART;
        if !is_enough(is_us - was_us, was_us) || is_started || is_for_calls || is_loading {
            continue;
        }
        let described = own.first().and_then(|function| described(profile, function));
        let computed = described.unwrap_or_else(|| nothing_but_name(program));
        let all = CauseEvidence {
            metric: format!("CPU time of `{}` without the kernel's (per {})", program.function, profile.per),
            before: program.before_us,
            after: program.after_us,
            unit: format!("µs/{}", profile.per),
        };
        let evidence = std::iter::once(all).chain(own.iter().map(|it| function_evidence(it, &profile.per)));
        found.push(of_computed(SURE_BESIDE, computed, evidence.collect()));
    }
    found
}

/// Whether CPU time grew by about the factor by which a count did, as that of programs that are started more often does.
fn grew_by(count: &CauseEvidence, was_us: f64, is_us: f64) -> bool {
    let of_count = is_us * count.before / (was_us * count.after);
    // Without any before, both are new.
    of_count.is_nan() || (1.0 / ALIKE_FACTOR..=ALIKE_FACTOR).contains(&of_count)
}

/// The CPU time of programs, and of their functions that grew.
fn of_programs_evidence(profile: &ProfileReport) -> Vec<CauseEvidence> {
    let all = CauseEvidence {
        metric: format!("CPU time of programs (per {})", profile.per),
        before: profile.before.cpu_us - profile.before.kernel_us,
        after: profile.after.cpu_us - profile.after.kernel_us,
        unit: format!("µs/{}", profile.per),
    };
    let functions = profile.functions.iter().filter(|it| it.kind == FrameKind::User).take(3);
    std::iter::once(all).chain(functions.map(|it| function_evidence(it, &profile.per))).collect()
}
