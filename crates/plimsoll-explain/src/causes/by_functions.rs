//! Causes by where the CPUs' time went.

mod beside;

use std::collections::BTreeSet;

use plimsoll_model::cause::{Cause, CauseEvidence, CauseId};
use plimsoll_model::observation::FrameKind;
use plimsoll_model::report::{Evidence, GrownCpuUse, GrownFunction, ProfileReport, Who};

use self::beside::SECOND;
pub(super) use self::beside::{computed_beside, other_parts};
use super::known::BUSY;
use super::{Known, by_levels, by_meaning, by_seen, cause};
use crate::profile::{PAGE_FAULTS, SYSTEM_CALLS, says_what};

/// Functions of the kernel that name a cause when they take most of what was added.
pub(super) struct Signature {
    pub(super) functions: &'static [&'static str],
    /// Prefixes of counters and levels; the cause is sure if one of them grew as well.
    pub(super) with: &'static [&'static str],
}

/// From this share of what was added on a function is the cause.
const MOST: f64 = 0.4;
/// The smallest part of a CPU that makes a thread saturated.
pub(super) const WHOLE: f64 = 0.85;
/// From this share of what was added on it is the kernel's, or the programs'.
const ONE_SIDED: f64 = 0.6;
/// The least part of the factor by which operations became slower that their CPU time grew by.
const ALIKE: f64 = 0.25;
const OTHER_SIDED: f64 = 1.0 - ONE_SIDED;
/// How sure the larger part is where both are large.
const BOTH: f64 = 0.45;
/// From this part of the added time on, added CPU time explains it on idle CPUs as well.
const NEARLY_ALL: f64 = 0.7;
/// From this share of what was added on a function, or what the kernel is asked for, is worth its name in the title.
const PART: f64 = 0.25;
/// From this share on one of two counts.
const OF_TWO: f64 = 0.1;
/// How sure the larger part is where that is known.
const SPECIFIC: f64 = 0.7;
/// The system calls that start a process and end it.
const STARTS: [&str; 8] = ["execve", "execveat", "clone", "clone3", "fork", "vfork", "exit_group", "wait4"];
/// The system calls that open a file, and those that usually follow.
const OPENS: [&str; 3] = ["openat", "open", "openat2"];
const AFTER_OPENS: [&str; 6] = ["close", "newfstatat", "newfstat", "statx", "mmap", "munmap"];
/// A function that took at most this part of its time before has become what its program does.
const HALF: f64 = 0.5;

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
    let least = if known.is_beside { SECOND.0 } else { MOST };
    if share < least || !known.is_explained_by_cpu(us) {
        return None;
    }
    let with: Vec<&Evidence> = evidence
        .iter()
        .filter(|it| it.shift > 0.0 && signature.with.iter().any(|start| it.metric.starts_with(start)))
        .collect();
    // A smaller part needs a counter besides.
    if share < MOST && with.is_empty() {
        return None;
    }
    let confidence = match (signature.with.is_empty(), with.is_empty()) {
        (_, false) => 0.95,
        (true, true) => 0.85,
        (false, true) => 0.75,
    };
    let functions = with_callees
        .into_iter()
        .chain(own.into_iter().filter(|it| with_callees.is_none_or(|w| w.function != it.function)));
    let functions = functions.map(|it| function_evidence(it, &profile.per));
    let counters = with.into_iter().take(super::QUOTED).map(super::quoted);
    Some(cause(id, confidence, functions.chain(counters).collect()))
}

/// Whose time used the CPUs up, the kernel's or the programs'. That names no more than a layer.
pub(super) fn saturated(known: &Known<'_>) -> Option<Cause> {
    let profile = known.profile.filter(|profile| grew(known, profile))?;
    let runs_all_the_time = |(_, us): (f64, f64)| profile.after.cpu_us >= WHOLE * us;
    let (added, of_kernel) = profile.added_us();
    // A program that waits for another one in between, as for a handshake, leaves CPUs idle.
    let is_added = |(before, after): (f64, f64)| added >= NEARLY_ALL * (after - before);
    let is_busy =
        profile.after.idle? < BUSY || known.took_us.is_some_and(|us| runs_all_the_time(us) || is_added(us));
    if !is_busy || !known.is_explained_by_cpu(added) || !loses_alike(known, profile) {
        return None;
    }
    let of_kernel = of_kernel / added;
    let sure = match of_kernel {
        ..=OTHER_SIDED | ONE_SIDED.. => 0.6,
        // Both took more. That it is CPU time at all is known where it explains the time of a command.
        _ => known.took_us.map(|_| BOTH)?,
    };
    let (id, kind) = if of_kernel > 0.5 {
        (CauseId::CpuKernelSaturated, FrameKind::Kernel)
    } else {
        (CauseId::CpuUserSaturated, FrameKind::User)
    };
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
    let of_kind = |it: &&GrownFunction| it.kind == kind;
    let functions: Vec<&GrownFunction> = profile.functions.iter().filter(of_kind).take(3).collect();
    let (what, missing) = match kind {
        FrameKind::Kernel => (in_kernel(known, profile), None),
        _ => computed(profile).map_or((None, None), |it| (Some(it.what), it.missing)),
    };
    let sure = if what.is_some() && known.took_us.is_some() { sure.max(SPECIFIC) } else { sure };
    let title = what.map_or_else(|| id.title().to_owned(), |what| format!("{}: {what}", id.title()));
    let functions =
        functions.into_iter().chain(profile.entered.iter().filter(|_| kind == FrameKind::Kernel).take(3));
    let functions = functions.map(|it| function_evidence(it, &profile.per));
    let huge_pages = lost_huge_pages(known).filter(|_| kind == FrameKind::Kernel).map(super::quoted);
    let cause = cause(id, sure, std::iter::once(all).chain(functions).chain(huge_pages).collect());
    Some(with_missing(Cause { title, ..cause }, missing))
}

/// Whether the CPU time of each operation grew by a similar factor as the rate of operations fell. Where that is far less, they wait for something
/// else.
fn loses_alike(known: &Known<'_>, profile: &ProfileReport) -> bool {
    let slower = known.lost.filter(|lost| *lost < 1.0).map_or(0.0, |lost| 1.0 / (1.0 - lost) - 1.0);
    let before_us = profile.before.cpu_us;
    before_us <= 0.0 || profile.added_us().0 / before_us >= ALIKE * slower
}

/// Whether more CPU time is used for sure: by all that is measured, or by one function where operations are known to take longer.
fn grew(known: &Known<'_>, profile: &ProfileReport) -> bool {
    profile.grew || known.took_us.is_some() && profile.tells()
}

/// Whether the added CPU time of all that is measured explains the added time.
pub(super) fn explains_all(known: &Known<'_>) -> bool {
    known.profile.is_some_and(|profile| {
        grew(known, profile) && known.is_explained_by_cpu(profile.added_us().0) && loses_alike(known, profile)
    })
}

/// What the kernel is asked for in at least this share of the added time, in words: system calls, or page faults, among those that it is `entered` by.
/// Processes are started by several calls, and files are opened by several.
fn asked_for_from(least: f64, known: &Known<'_>, entered: &[GrownFunction]) -> Option<String> {
    let mut names = BTreeSet::new();
    let named = entered.iter().filter_map(|it| Some((entry(&it.function)?, it)));
    let entered: Vec<(&str, &GrownFunction)> = named.filter(|(name, _)| names.insert(*name)).collect();
    let share = |of: &[(&str, &GrownFunction)]| of.iter().map(|(_, it)| it.share).sum::<f64>();
    let (starts, others): (Vec<_>, Vec<_>) = entered.into_iter().partition(|(name, _)| STARTS.contains(name));
    let of = |it: &GrownFunction| it.owner.last().cloned();
    if share(&starts) >= least {
        return Some(format!("starts of processes of `{}`", of(starts[0].1)?));
    }
    let among =
        |calls: &[&str]| others.iter().filter(|(name, _)| calls.contains(name)).copied().collect::<Vec<_>>();
    let opens = among(&OPENS);
    let of_two = least.min(OF_TWO);
    if share(&opens) >= of_two && share(&opens) + share(&among(&AFTER_OPENS)) >= least {
        return Some(format!("opens of files of `{}`", of(opens[0].1)?));
    }
    let largest: Vec<_> = others.into_iter().filter(|(_, it)| it.share >= of_two).take(2).collect();
    let names: Vec<&str> = largest.iter().map(|(name, _)| *name).collect();
    if share(&largest) < least {
        return None;
    }
    let small = names.contains(&FAULTS) && lost_huge_pages(known).is_some();
    let why = if small { ", which has fewer huge pages" } else { "" };
    Some(format!("{} of `{}`{why}", names.join(" and "), of(largest[0].1)?))
}

/// Whether a system call takes a part of the added time that is worth a mention.
pub(super) fn is_called_much(profile: &ProfileReport, call: &str) -> bool {
    profile.entered.iter().any(|it| it.share >= OF_TWO && entry(&it.function) == Some(call))
}

/// What the kernel is asked for, and what it does then.
fn in_kernel(known: &Known<'_>, profile: &ProfileReport) -> Option<String> {
    let asked = asked_for_from(PART, known, &profile.entered).or_else(|| by_own_threads(profile));
    match (asked, by_meaning::of_kernel(profile)) {
        (Some(asked), Some(does)) => Some(format!("{asked}: {does}")),
        (asked, does) => asked.or_else(|| does.map(str::to_owned)),
    }
}

/// The owner of threads of the kernel.
const KERNEL: &str = "kernel";

/// What threads of the kernel do for programs, which have asked for it some time before.
fn by_own_threads(profile: &ProfileReport) -> Option<String> {
    let is_it = |it: &&GrownFunction| it.kind == FrameKind::Kernel && it.share >= PART;
    let function = profile.narrowest.iter().chain(&profile.functions).find(is_it)?;
    match function.owner.as_slice() {
        [owner, thread] if owner == KERNEL => {
            Some(format!("`{}` of the kernel's own `{thread}`", function.function))
        }
        _ => None,
    }
}

/// What page faults are called.
const FAULTS: &str = "page faults";
/// Page faults that the kernel answers with a huge page (mm/huge_memory.c), and the fewest for each operation that are worth a mention.
const HUGE_PAGES: (&str, f64) = ("machine.vmstat.thp_fault_alloc", 8.0);

/// The huge pages, where half of them or more are gone: each one stands for hundreds of page faults.
fn lost_huge_pages<'k>(known: &Known<'k>) -> Option<&'k Evidence> {
    let fell = |it: &&Evidence| {
        by_levels::name(it) == HUGE_PAGES.0 && it.before >= HUGE_PAGES.1 && it.after <= HALF * it.before
    };
    known.evidence.iter().find(fell)
}

/// What a program computes in a good part of the added time.
struct Computed {
    /// A function with a name, or else the file that it is in, and the program.
    what: String,
    /// What shows the names of the functions.
    missing: Option<&'static str>,
}

/// A language whose functions the profile knows by the names that its runtime writes down.
struct Runtime {
    language: &'static str,
    /// How functions of the runtime begin.
    own: &'static [&'static str],
    names: &'static str,
}

const RUNTIMES: [Runtime; 3] = [
    Runtime {
        language: "Python",
        own: &["_Py", "Py", "[python", "[libpython"],
        names: "To see which function of Python it is, start the program with `python3 -X perf` or PYTHONPERFSUPPORT=1 (Python 3.12 or newer)",
    },
    Runtime {
        language: "JavaScript",
        own: &["v8::", "Builtins_", "[compiled JavaScript", "[node]"],
        names: "To see which function of JavaScript it is, start the program with `node --perf-basic-prof`",
    },
    Runtime {
        language: "Java",
        own: &["[compiled Java", "[libjvm"],
        names: "To see which function of Java it is, start the program with -XX:+PreserveFramePointer and run `jcmd PID Compiler.perfmap` (Java 17 or newer)",
    },
];

/// The runtime that a function belongs to.
fn runtime(function: &GrownFunction) -> Option<&'static Runtime> {
    let name = &function.function;
    RUNTIMES.iter().find(|it| it.own.iter().any(|start| name.starts_with(start)))
}

/// A cause whose remedy ends with what the profile lacks.
fn with_missing(cause: Cause, missing: Option<&'static str>) -> Cause {
    let remedy = match missing {
        Some(missing) => format!("{}. {missing}", cause.remedy),
        None => cause.remedy,
    };
    Cause { remedy, ..cause }
}

/// What programs compute as a cause.
fn of_computed(sure: f64, Computed { what, missing }: Computed, evidence: Vec<CauseEvidence>) -> Cause {
    let id = CauseId::CpuUserSaturated;
    let title = format!("{}: {what}", id.title());
    with_missing(Cause { title, ..cause(id, sure, evidence) }, missing)
}

/// A cause of one process, whose title names what that computes in the added time, or else `otherwise`.
pub(super) fn with_computed(cause: Cause, profile: &ProfileReport, process: &str, otherwise: &str) -> Cause {
    let function = main_function(profile).filter(|it| it.owner.last().is_some_and(|it| it == process));
    let computed = function.and_then(|it| described(profile, it));
    let what = computed.as_ref().map_or(otherwise, |it| &it.what);
    let title = format!("{}: {what}", cause.title);
    with_missing(Cause { title, ..cause }, computed.and_then(|it| it.missing))
}

fn computed(profile: &ProfileReport) -> Option<Computed> {
    described(profile, main_function(profile)?)
}

/// The function of a program that tells most of what is computed in the added time.
fn main_function(profile: &ProfileReport) -> Option<&GrownFunction> {
    let mut own = profile.functions.iter().filter(|it| it.kind == FrameKind::User);
    let with_name = own.clone().find(|it| has_name(it));
    let narrowest = profile.narrowest.iter().find(|it| it.kind == FrameKind::User && has_name(it));
    // A file with functions is worth a mention beside none with a name.
    let least = if with_name.or(narrowest).is_some() { PART } else { OF_TWO };
    let nameless = own.find(|it| !has_name(it) && it.share >= least);
    // A library without names tells more by its caller than a smaller function with one.
    let is_larger = |it: &&GrownFunction| {
        telling_caller(it).is_some() && with_name.is_none_or(|named| it.share >= LARGER * named.share)
    };
    nameless.filter(is_larger).or(with_name).or(narrowest).or(nameless)
}

/// How many times as much as a function with a name one without it takes that is named by its caller.
const LARGER: f64 = 2.0;

/// The nearest caller whose name says what is done, of a function whose own name does not.
fn telling_caller(function: &GrownFunction) -> Option<&str> {
    let mut callers = function.called_by.iter().rev().filter(|_| !says_what(&function.function));
    callers.find(|name| says_what(name)).map(String::as_str)
}

fn of_programs(profile: &ProfileReport) -> impl Iterator<Item = &GrownFunction> + Clone {
    profile.functions.iter().chain(&profile.narrowest).filter(|it| it.kind == FrameKind::User)
}

fn has_name(function: &GrownFunction) -> bool {
    !function.function.starts_with('[') && function.share >= OF_TWO
}

/// A function, or the one that its runtime runs: what the runtime does is done for that.
fn described(profile: &ProfileReport, function: &GrownFunction) -> Option<Computed> {
    let process = function.owner.last()?;
    let runs =
        |it: &&GrownFunction| has_name(it) && runtime(it).is_none() && it.owner.last() == Some(process);
    let (what, missing) = match (runtime(function), of_programs(profile).find(runs)) {
        (None, _) => (with_caller(function), None),
        (Some(_), Some(run)) => (with_caller(run), None),
        (Some(runtime), None) => (format!("{} code", runtime.language), Some(runtime.names)),
    };
    let purpose = by_meaning::of_program(profile, function).map(|it| format!(": {it}")).unwrap_or_default();
    Some(Computed { what: format!("{what} of `{process}`{purpose}"), missing })
}

/// A function, with who calls it where its own name does not say what is done.
fn with_caller(function: &GrownFunction) -> String {
    match telling_caller(function) {
        Some(caller) => format!("`{}`, called by `{}`,", function.function, without_parameters(caller)),
        None => format!("`{}`", without_parameters(&function.function)),
    }
}

/// The name of a function of C++ without the types of its parameters. Go has names with a receiver in parentheses.
fn without_parameters(name: &str) -> &str {
    let is_name = |character: char| character.is_alphanumeric() || character == '_';
    name.split_once('(').map_or(name, |(before, _)| if before.ends_with(is_name) { before } else { name })
}

/// The name of a system call, or that of page faults; nothing for what these lead to.
fn entry(function: &str) -> Option<&str> {
    let call = SYSTEM_CALLS.iter().find_map(|start| function.strip_prefix(start));
    call.or_else(|| PAGE_FAULTS.contains(&function).then_some(FAULTS))
}

/// The functions of one program, as evidence, if the CPUs are used up and it takes most of what was added.
pub(super) fn saturated_by(known: &Known<'_>, who: &Who) -> Option<Vec<CauseEvidence>> {
    let profile = known.profile?;
    saturated(known).filter(|cause| cause.id == CauseId::CpuUserSaturated)?;
    let own: Vec<&GrownFunction> =
        profile.functions.iter().filter(|it| it.owner.last() == Some(&who.process)).collect();
    let share: f64 = own.iter().map(|it| it.share).sum();
    (share >= MOST)
        .then(|| own.into_iter().take(super::QUOTED).map(|it| function_evidence(it, &profile.per)).collect())
}

/// From this part of a CPU more on a program counts, and a function of it, in microseconds of a second.
const MORE_CPUS: f64 = 0.2;
const MORE_US: f64 = 1e5;

/// A program with one function that takes most of the added time: it uses more of the CPUs, or does less of what it did before. This serves
/// recordings, where any program may be the service and all CPUs together may be as busy as before.
pub(super) fn one_function(known: &Known<'_>) -> Option<Cause> {
    let profile = known.profile.filter(|_| known.measured.is_everybody)?;
    let is_most = |it: &&GrownFunction| it.kind == FrameKind::User && it.share >= ONE_SIDED;
    let function = profile.functions.iter().chain(&profile.narrowest).find(is_most)?;
    let process = function.owner.last()?;
    let computed = described(profile, function)?;
    let used = profile
        .cpu_use
        .iter()
        .find(|it| it.who.process == *process && it.after_cpus - it.before_cpus >= MORE_CPUS);
    // A program that serves, and whose threads had no time left before, gives this function the time of others.
    let added_us = function.after_us - function.before_us;
    let takes_over = known.lost.is_some()
        && known.measured.has(process)
        && added_us >= MORE_US
        && function.before_us <= HALF * function.after_us;
    if used.is_none() && !takes_over {
        return None;
    }
    let used: Vec<&GrownCpuUse> = used.into_iter().collect();
    let evidence = by_seen::cpu_use_evidence(&used)
        .into_iter()
        .chain([function_evidence(function, &profile.per)])
        .collect();
    Some(of_computed(0.6, computed, evidence))
}

/// A function as evidence.
pub(super) fn function_evidence(function: &GrownFunction, per: &str) -> CauseEvidence {
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
    use std::collections::BTreeMap;

    use plimsoll_model::observation::ProfileClock;
    use plimsoll_model::report::{ProfileReport, ProfileSide};

    use super::super::fixture::function;
    use super::super::{Measured, named as all_named};
    use super::*;

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
        let mut programs: BTreeMap<String, GrownFunction> = BTreeMap::new();
        for it in functions.iter().filter(|it| it.kind == FrameKind::User) {
            let process = it.owner.last().cloned().unwrap_or_default();
            let program = programs.entry(process.clone()).or_insert_with(|| GrownFunction {
                function: process,
                kind: FrameKind::Process,
                before_us: 0.0,
                after_us: 0.0,
                ..it.clone()
            });
            program.before_us += it.before_us;
            program.after_us += it.after_us;
        }
        ProfileReport {
            programs: programs.into_values().collect(),
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
            entered: Vec::new(),
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
        let of = |took_us| named_ids(&Known { took_us, ..of_profile(&profile) });
        // 900 µs of the 1000 that were added to the CPUs' time.
        assert_eq!(of(Some((900.0, 2400.0))), [CauseId::NetRuleChain]);
        assert!(of(Some((900.0, 20_900.0))).is_empty());
        assert_eq!(of(None), [CauseId::NetRuleChain]);
        // No CPU is idle: the program ran for a third of its time before, and runs for as much of it now.
        assert_eq!(of(Some((1500.0, 4500.0))), [CauseId::NetRuleChain]);
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
    fn a_command_that_runs_all_the_time_uses_up_its_cpu_although_another_is_idle() {
        let of = |kernel: f64, after_us| {
            let profile = profile(None, vec![function("work", FrameKind::User, 0.5)], kernel, 0.5);
            let known = Known { took_us: Some((600.0, after_us)), ..of_profile(&profile) };
            saturated(&known).map(|cause| (cause.id, cause.confidence))
        };
        // It uses 1500 µs of CPU time for each operation, 500 before.
        assert_eq!(of(0.1, 1600.0), Some((CauseId::CpuUserSaturated, SPECIFIC)));
        assert_eq!(of(0.9, 1600.0), Some((CauseId::CpuKernelSaturated, 0.6)), "no call is known");
        assert_eq!(of(0.1, 3000.0), None, "it waits for half of its time");
        assert!(of(0.1, 2000.0).is_some(), "most of the added time is CPU time");
    }

    #[test]
    fn a_function_that_takes_over_a_program_without_time_left_is_named_where_less_was_done() {
        let of = |before_us: f64, share: f64, lost, bystander: &str| {
            let (kind, after_us) = (FrameKind::User, before_us + 5e5 * share);
            let keys = GrownFunction { before_us, after_us, ..function("keysCommand", kind, share) };
            let profile = profile(Some(keys), Vec::new(), 0.1, 0.02);
            let bystanders = [bystander.to_owned()].into();
            let measured = Measured { is_everybody: true, bystanders, ..Measured::default() };
            one_function(&Known { measured, lost, ..of_profile(&profile) }).map(|cause| cause.title)
        };
        let title = of(0.0, 0.7, Some(0.6), "rustc").unwrap_or_default();
        assert!(title.ends_with(": `keysCommand` of `relay`"), "{title}");
        assert_eq!(of(0.0, 0.7, None, "rustc"), None, "as much was done as before");
        assert_eq!(of(0.0, 0.3, Some(0.6), "rustc"), None, "other functions grew as well");
        assert_eq!(of(8e5, 0.7, Some(0.6), "rustc"), None, "that is what it did before");
        assert_eq!(of(0.0, 0.7, Some(0.6), "relay"), None, "it serves nobody");
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
    fn what_the_kernel_is_asked_for_stands_in_the_title_where_it_takes_much_of_the_time() {
        let of = |entered: &[(&str, f64)]| {
            let entered = entered.iter().map(|(name, share)| function(name, FrameKind::Kernel, *share));
            let busy = profile(None, Vec::new(), 0.9, 0.05);
            let busy = ProfileReport { entered: entered.collect(), ..busy };
            let title = saturated(&of_profile(&busy)).unwrap().title;
            title.split_once(": ").map(|(_, what)| what.to_owned())
        };
        let of_relay = |what: &str| Some(format!("{what} of `relay`"));
        let (execve, exit) = ("__x64_sys_execve", "__x64_sys_exit_group");
        assert_eq!(of(&[(execve, 0.2), (exit, 0.1)]), of_relay("starts of processes"));
        // A call and the function that takes its place are one.
        let write = [("__x64_sys_write", 0.4), ("ksys_write", 0.38), ("ext4_file_write_iter", 0.3)];
        assert_eq!(of(&write), of_relay("write"));
        assert_eq!(of(&[("asm_exc_page_fault", 0.6)]), of_relay("page faults"));
        assert_eq!(of(&[("__x64_sys_read", 0.05)]), None);
        let opens = [("__x64_sys_read", 0.15), ("__x64_sys_openat", 0.14), ("__x64_sys_munmap", 0.12)];
        assert_eq!(of(&opens), of_relay("opens of files"));
        assert_eq!(of(&[("__x64_sys_mmap", 0.2), ("__x64_sys_munmap", 0.12)]), of_relay("mmap and munmap"));
    }

    #[test]
    fn page_faults_are_laid_to_huge_pages_that_went_away() {
        let of = |before, after| {
            let entered = vec![function("asm_exc_page_fault", FrameKind::Kernel, 0.6)];
            let busy = ProfileReport { entered, ..profile(None, Vec::new(), 0.9, 0.05) };
            let pages = Evidence {
                host: "machine".into(),
                metric: "machine.vmstat.thp_fault_alloc (per run)".into(),
                before,
                after,
                unit: "count".into(),
                shift: -1.0,
                control_ratio: None,
            };
            let evidence = [pages];
            let cause = saturated(&Known { evidence: &evidence, ..of_profile(&busy) }).unwrap();
            (
                cause.title.ends_with("page faults of `relay`, which has fewer huge pages"),
                cause.evidence.len(),
            )
        };
        let (is_named, without) = (of(240.0, 3.0), of(240.0, 200.0));
        assert!(is_named.0 && !without.0 && is_named.1 == without.1 + 1);
        assert!(!of(3.0, 0.0).0, "a page or two of another program");
    }

    #[test]
    fn titles_leave_out_the_parameters_of_functions() {
        for (name, title) in [
            ("open_tables(THD*, bool)", "open_tables"),
            ("Scanner<int>::run(char const*) const", "Scanner<int>::run"),
            ("runtime.(*mspan).sweep", "runtime.(*mspan).sweep"),
            ("(anonymous namespace)::walk(int)", "(anonymous namespace)::walk(int)"),
            ("work", "work"),
        ] {
            assert_eq!(without_parameters(name), title);
        }
    }

    #[test]
    fn the_caller_of_a_library_without_names_stands_in_the_title() {
        let of = |callers: &[&str], named_share| {
            let called_by = callers.iter().map(|name| (*name).to_owned()).collect();
            let nameless = GrownFunction { called_by, ..function("[libcrypto.so.3]", FrameKind::User, 0.6) };
            let named = function("memcpy", FrameKind::User, named_share);
            let busy = profile(None, vec![nameless, named], 0.1, 0.05);
            let title = saturated(&of_profile(&busy)).unwrap().title;
            title.split_once(": ").unwrap().1.to_owned()
        };
        let with_purpose =
            |what: &str| format!("{what} of `relay`: public-key operations of TLS handshakes, as with RSA");
        let called = with_purpose("`[libcrypto.so.3]`, called by `RSA_sign`,");
        assert_eq!(of(&["main", "RSA_sign", "[libssl.so.3]"], 0.2), called);
        assert_eq!(
            of(&["main", "RSA_sign"], 0.5),
            with_purpose("`memcpy`, called by `connect`,"),
            "about as large, and has a name"
        );
        assert_eq!(of(&["_start", "main"], 0.02), "`[libcrypto.so.3]` of `relay`");
        let small = profile(None, vec![function("[sort]", FrameKind::User, 0.15)], 0.1, 0.05);
        let title = saturated(&of_profile(&small)).unwrap().title;
        assert!(title.contains(": `[sort]`"), "nothing else is known: {title}");
    }

    /// A program that computes for this time longer, in µs of 1000 before and 3000 after, beside a cause.
    fn second(first: Cause, of_programs: f64, of_kernel: f64) -> Option<CauseId> {
        let work = vec![function("work", FrameKind::User, 0.5)];
        let mut grown = profile(None, work, 0.0, 0.5);
        grown.after.cpu_us = grown.before.cpu_us + of_programs + of_kernel;
        grown.after.kernel_us = grown.before.kernel_us + of_kernel;
        let known = Known { took_us: Some((1000.0, 3000.0)), ..of_profile(&grown) };
        computed_beside(&known, &[first]).map(|cause| cause.id)
    }

    #[test]
    fn a_second_program_and_the_kernel_are_named_beside_what_the_first_one_computes() {
        let of = |process: &str, name: &str, share| {
            let owner = vec!["host".to_owned(), format!("{process} (command)")];
            GrownFunction { owner, ..function(name, FrameKind::User, share) }
        };
        let first = Cause {
            title: "A program uses up the CPUs: `[libc.so.6]` of `sort`".into(),
            ..cause(CauseId::CpuUserSaturated, 0.7, Vec::new())
        };
        let both = profile(None, vec![of("sort", "[libc.so.6]", 0.6), of("zstd", "match", 0.3)], 0.0, 0.0);
        let titles = |profile: &ProfileReport| -> Vec<String> {
            let known = Known { took_us: Some((1000.0, 3000.0)), ..of_profile(profile) };
            other_parts(&known, std::slice::from_ref(&first)).into_iter().map(|it| it.title).collect()
        };
        assert_eq!(titles(&both), ["A program uses up the CPUs: `match` of `zstd (command)`"]);
        let starts = Cause {
            title: "A program starts many processes: `sh`".into(),
            ..cause(
                CauseId::ServiceManyProcesses,
                0.8,
                vec![function_evidence(&of("zstd", "execve", 0.2), "run")],
            )
        };
        let beside_starts = |name: &str, before_us| {
            let work = GrownFunction { before_us, ..of("zstd", name, 0.4) };
            let work = profile(None, vec![work], 0.5, 0.0);
            let known = Known { took_us: Some((1000.0, 3000.0)), ..of_profile(&work) };
            other_parts(&known, std::slice::from_ref(&starts)).len()
        };
        assert_eq!((beside_starts("match", 1.0), beside_starts("do_lookup_x", 1.0)), (1, 0));
        assert_eq!(beside_starts("match", 2.0), 0, "it grew as the starts did");
        let write =
            GrownFunction { owner: vec!["sort".into()], ..function("ksys_write", FrameKind::Kernel, 0.4) };
        let writes = ProfileReport { entered: vec![write], ..profile(None, Vec::new(), 0.4, 0.0) };
        assert_eq!(titles(&writes), ["The kernel uses up the CPUs: write of `sort`"]);
        let stat = GrownFunction {
            function: "__do_sys_newfstatat".into(),
            owner: vec!["zstd".into()],
            ..writes.entered[0].clone()
        };
        let stats = ProfileReport { entered: vec![stat], ..writes.clone() };
        assert_eq!(titles(&stats), ["The kernel uses up the CPUs: newfstatat of `zstd`"]);
        assert!(titles(&profile(None, vec![of("zstd", "match", 0.05)], 0.1, 0.0)).is_empty(), "a small part");
        let owner = vec!["zstd (command)".into()];
        let in_calls = GrownFunction { owner, ..stats.entered[0].clone() };
        let small = profile(None, vec![of("zstd", "match", 0.1)], 0.1, 0.0);
        let with_calls = ProfileReport { entered: vec![in_calls], ..small };
        assert_eq!(titles(&with_calls), ["A program uses up the CPUs: `match` of `zstd (command)`"]);
    }

    #[test]
    fn what_a_program_computes_beside_its_calls_is_a_second_cause_if_it_is_much() {
        let of = |share| {
            let busy = profile(None, vec![function("match", FrameKind::User, share)], 0.6, 0.0);
            let close = function("__x64_sys_close", FrameKind::Kernel, 0.5);
            let calls = Cause {
                title: "The kernel uses up the CPUs: close of `relay`".into(),
                ..cause(CauseId::CpuKernelSaturated, 0.6, vec![function_evidence(&close, "run")])
            };
            let known = Known { took_us: Some((1000.0, 3000.0)), ..of_profile(&busy) };
            other_parts(&known, &[calls]).into_iter().map(|cause| cause.title).collect::<Vec<_>>()
        };
        assert_eq!(of(0.3), ["A program uses up the CPUs: `match` of `relay`"]);
        assert!(of(0.2).is_empty(), "that may be for the calls");
    }

    #[test]
    fn what_a_program_computes_longer_is_a_second_cause_beside_one_that_waits() {
        let of = |id, of_programs, of_kernel| second(cause(id, 0.9, Vec::new()), of_programs, of_kernel);
        let computing = Some(CauseId::CpuUserSaturated);
        assert_eq!(of(CauseId::DiskSyncBound, 500.0, 100.0), computing);
        assert_eq!(of(CauseId::DiskSyncBound, 90.0, 100.0), None, "alone it would hardly be slower");
        assert_eq!(of(CauseId::ServiceManyProcesses, 900.0, 100.0), None, "new processes compute as well");
        // A log line is computed before it is written.
        assert_eq!(of(CauseId::ServiceFileWrites, 500.0, 400.0), None);
        assert_eq!(of(CauseId::ServiceFileWrites, 900.0, 400.0), computing);
    }

    #[test]
    fn a_service_that_computes_longer_is_a_second_cause_where_the_cpus_are_used_up() {
        let beside = |first, idle: f64, lost, process: &str| {
            let work = function("work", FrameKind::User, 0.5);
            let busy = profile(None, vec![work], 0.5, idle);
            let measured = Measured { processes: vec![process.to_owned()], ..Measured::default() };
            let known = Known { lost, measured, ..of_profile(&busy) };
            computed_beside(&known, &[cause(first, 0.9, Vec::new())]).map(|cause| cause.title)
        };
        let of = |idle: f64, lost, process: &str| beside(CauseId::NetRuleChain, idle, lost, process);
        assert!(beside(CauseId::CpuQuotaThrottled, 0.7, Some(0.6), "relay").is_some(), "it may use no more");
        let title = of(0.02, Some(0.6), "relay").unwrap();
        assert!(title.ends_with(": `work` of `relay`"), "{title}");
        assert_eq!(of(0.5, Some(0.6), "relay"), None, "half of the CPUs' time is left");
        assert_eq!(of(0.02, None, "relay"), None, "as much was done");
        assert_eq!(of(0.02, Some(0.6), "app"), None, "it is the load's");
    }

    #[test]
    fn a_program_none_of_whose_functions_stands_out_is_named_beside_other_causes() {
        let computing = profile(None, vec![function("work", FrameKind::User, 0.6)], 0.4, 0.02);
        let spread = ProfileReport { functions: Vec::new(), ..computing };
        let known = Known { took_us: Some((1000.0, 3000.0)), ..of_profile(&spread) };
        let quota = cause(CauseId::CpuQuotaThrottled, 0.9, Vec::new());
        let title = computed_beside(&known, &[quota]).unwrap().title;
        assert_eq!(title, "A program uses up the CPUs: `relay`");
    }

    #[test]
    fn a_smaller_part_of_a_list_that_is_walked_needs_a_longer_list_besides() {
        let walk =
            |share| profile(Some(function("nft_do_chain", FrameKind::Kernel, share)), Vec::new(), 0.9, 0.0);
        let rules = Evidence {
            host: "firewall".into(),
            metric: "rules.nftables (level)".into(),
            before: 0.0,
            after: 4000.0,
            unit: "count".into(),
            shift: 1.0,
            control_ratio: None,
        };
        let of = |share, evidence: &[Evidence], is_beside| {
            let profile = walk(share);
            let known = Known { evidence, is_beside, ..of_profile(&profile) };
            let found = (super::super::definition(CauseId::NetRuleChain).find)(&known);
            found.len()
        };
        let longer = [rules];
        assert_eq!(
            (of(0.5, &[], false), of(0.2, &longer, false)),
            (1, 0),
            "a small part names nothing alone"
        );
        assert_eq!((of(0.2, &longer, true), of(0.2, &[], true), of(0.1, &longer, true)), (1, 0, 0));
    }

    #[test]
    fn a_runtime_is_not_named_for_what_it_runs() {
        let of = |names: &[(&str, f64)]| {
            let functions = names.iter().map(|(name, share)| function(name, FrameKind::User, *share));
            let cause = saturated(&of_profile(&profile(None, functions.collect(), 0.1, 0.05))).unwrap();
            let (_, what) = cause.title.split_once(": ").unwrap();
            (what.to_owned(), cause.remedy.contains("-X perf"))
        };
        let python = "Python code of `relay`".to_owned();
        assert_eq!(of(&[("_PyEval_EvalFrameDefault", 0.6), ("memcpy", 0.05)]), (python.clone(), true));
        assert_eq!(of(&[("[python3.11]", 0.9)]), (python, true));
        let named = [("_PyObject_Free", 0.4), ("render", 0.3)];
        assert_eq!(of(&named), ("`render` of `relay`".to_owned(), false));
        assert_eq!(of(&[("render", 0.4)]), ("`render` of `relay`".to_owned(), false));
    }

    #[test]
    fn cpu_time_that_grew_far_less_than_the_rate_fell_uses_up_nothing() {
        let of = |lost| {
            let profile = profile(None, vec![function("work", FrameKind::User, 0.5)], 0.1, 0.05);
            saturated(&Known { lost, ..of_profile(&profile) }).is_some()
        };
        // Each operation takes three times the CPU time.
        assert_eq!([of(Some(0.6)), of(None), of(Some(0.99))], [true, true, false]);
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
