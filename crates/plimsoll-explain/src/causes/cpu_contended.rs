//! `cpu.contended`: Other processes use the CPUs that the measured processes wait for.

use plimsoll_model::cause::{Cause, CauseEvidence, CauseId};
use plimsoll_model::observation::FrameKind;
use plimsoll_model::report::{Evidence, GrownFunction, GrownWait, ProfileReport, WaitFor};

use super::{
    Definition, Known, Page, SavedCpu, by_counters, by_functions, by_levels, by_seen, cause, changes, quoted,
};
use crate::seen::are_versions;

pub(super) const DEFINITION: Definition = Definition::new(
    Page {
        evidence_for: "unmeasured processes used more CPU time, and measured ones waited longer for a CPU (run delay, PSI)",
        evidence_against: "the service itself uses the additional CPU time. Threads never wait for a CPU. The loss far exceeds the CPU time of other processes",
        test: "stop the named process, or give it CPUs of its own (cpusets, `run.cpus`), and measure again",
        remedy: "move the other process to another machine or other CPUs, or lower its weight (nice, cpu.weight)",
    },
    find,
)
.of_use()
.confirmed_by(changes::without_other_services);

const ID: CauseId = CauseId::CpuContended;
/// A program that loses a part of a CPU to others does about that part less, and still less where requests queue. A
/// loss of more than this many times that part has another reason. This is a rule of thumb, and not measured.
const MOST_TAKEN: f64 = 3.0;
/// How sure it is that they hold the figure down where more is lost than they can have taken.
const BESIDE: f64 = 0.5;
/// How sure it is where all processes together use little more than before: on a machine that runs many jobs some take the place of others.
const REPLACES: f64 = 0.4;
/// The least part of the CPUs that a command lacks which strangers must have taken.
const LEAST_OF_LACK: f64 = 0.5;
/// What used fewer CPUs before was not there.
const NEWCOMER: f64 = 0.01;
/// From this part of what newcomers use on it is more for all.
const LEAST_ADDED: f64 = 0.5;
/// Time in which some task waited for a CPU.
const PRESSURE: &str = "machine.pressure.cpu.some";
/// How sure it is by what tools print, which do not say who is the service: right in one of 3 captures beside builds (lab/said.tsv).
const BY_TOOLS: f64 = 0.4;
/// Processes that were started, and from how many in a second on they are many.
const FORKS: &str = "machine.stat.processes";
const MANY_FORKS: f64 = 100.0;

fn find(known: &Known<'_>) -> Vec<Cause> {
    if known.measured.hosts.is_empty() {
        return by_tools(known).into_iter().collect();
    }
    let foreign = by_seen::foreign_cpu_use(known);
    let Some(first) = foreign.first() else { return Vec::new() };
    let taken: f64 = foreign.iter().map(|it| (it.after_cpus - it.before_cpus).max(0.0)).sum();
    let replaces = replaces_others(known, taken);
    // What ran before and now has the share of those that ended takes nothing from anybody.
    if replaces && first.before_cpus >= NEWCOMER {
        return Vec::new();
    }
    let waited = by_seen::waits(known, WaitFor::Cpu);
    let ready: Vec<CauseEvidence> = ready(known, taken).map(quoted).into_iter().collect();
    // Where strangers run beside what is measured, they take nothing from it unless it lacks a CPU.
    if known.measured.is_beside_strangers && ready.is_empty() && !lacks_cpus(known, &waited, taken) {
        return Vec::new();
    }
    let pressure: Vec<CauseEvidence> =
        by_counters::grown(PRESSURE, known.evidence).map(quoted).into_iter().collect();
    // Programs that start again and again take CPUs that were busy before, so that no wait doubles.
    let forks = by_counters::grown(FORKS, known.evidence).filter(|it| it.after >= MANY_FORKS);
    let is_storm = forks.is_some() && known.measured.is_everybody && first.before_cpus < NEWCOMER;
    // On a machine that was busy before, waits and pressure have no room to double.
    let is_new = first.before_cpus < NEWCOMER;
    let saturated = by_functions::saturated_by(known, &first.who).filter(|_| is_new);
    let has_waits = !waited.is_empty() || !ready.is_empty() || !pressure.is_empty() || is_storm;
    // Where no CPU is idle, a newcomer has its time from others, whatever those did with it.
    let used_up = known.saved.iter().filter(|_| known.measured.is_everybody && is_new);
    let used_up: Vec<CauseEvidence> =
        used_up.filter(|it| it.after.idle < IDLE && first.after_cpus >= LEAST_TAKEN).map(idle).collect();
    if !has_waits && saturated.is_none() && used_up.is_empty() {
        return Vec::new();
    }
    let is_too_little = known.lost.is_some_and(|lost| lost > MOST_TAKEN * taken);
    // No thread waited longer for a CPU, and far more work is missing.
    if !has_waits && saturated.is_none() && is_too_little {
        return Vec::new();
    }
    let sure = match known.lost {
        Some(_) if is_too_little => BESIDE,
        _ if !has_waits && saturated.is_some() => BESIDE,
        _ if !has_waits || replaces => REPLACES,
        _ if waited.is_empty() && ready.is_empty() => 0.7,
        _ => 0.85,
    };
    let mut evidence = by_seen::cpu_use_evidence(&foreign);
    evidence.extend(by_seen::wait_evidence(known, &waited));
    evidence.extend(ready);
    evidence.extend(pressure);
    evidence.extend(forks.filter(|_| is_storm).map(quoted));
    evidence.extend(saturated.into_iter().flatten());
    evidence.extend(used_up.into_iter().filter(|_| !has_waits));
    let title = format!("{}: `{}` on {}", ID.title(), first.who.process, first.who.owner);
    vec![Cause { title, ..cause(ID, sure, evidence) }]
}

/// What the kernel counts of a command that ends too soon to be seen waiting: for how long it was ready while others had the CPUs.
pub const READY: &str = "command.ready_time";

/// How many times the CPU time of before what is measured uses. With more work it waits for a CPU more often beside the same strangers.
fn work(known: &Known<'_>) -> f64 {
    let Some(profile) = known.profile.filter(|profile| profile.hertz > 0) else { return 1.0 };
    let ProfileReport { before, after, .. } = profile;
    // A side without a sample used less than one stands for.
    let least = 1e6 / (f64::from(profile.hertz) * before.operations.max(1) as f64);
    (after.cpu_us / before.cpu_us.max(least)).max(1.0)
}

/// Whether strangers took a good part of the CPUs that what is measured lacks.
fn took_what_lacks(known: &Known<'_>, taken: f64, lacking_us: f64) -> bool {
    known.took_us.is_none_or(|(_, took_us)| taken >= LEAST_OF_LACK * lacking_us / took_us)
}

/// The time that a command was ready, if that explains a good part of the added time.
fn ready<'k>(known: &Known<'k>, taken: f64) -> Option<&'k Evidence> {
    let added = |it: &&Evidence| it.after - work(known) * it.before;
    let explains =
        |it: &&Evidence| known.is_explained_by(added(it)) && took_what_lacks(known, taken, added(it));
    by_counters::grown(READY, known.evidence).filter(explains)
}

/// Whether waits for CPUs that were seen explain a good part of the added time.
fn lacks_cpus(known: &Known<'_>, waited: &[&GrownWait], taken: f64) -> bool {
    let added_us = |it: &&GrownWait| it.after_us - work(known) * it.before_us;
    let lacking_us = waited.iter().map(added_us).sum();
    !waited.is_empty() && known.is_explained_by(lacking_us) && took_what_lacks(known, taken, lacking_us)
}

/// CPUs that are idle for less of their time are used up, in per cent.
const IDLE: f64 = 10.0;
/// The part of a CPU that a newcomer must take then.
const LEAST_TAKEN: f64 = 0.2;

fn idle(of: &SavedCpu) -> CauseEvidence {
    let metric = "idle (of all CPUs' time)".to_owned();
    // Sums of shares are never quite 100.
    let [before, after] = [of.before.idle, of.after.idle].map(|idle| (10.0 * idle).round() / 10.0);
    CauseEvidence { metric, before, after, unit: "%".to_owned() }
}

/// Shares of one CPU that a process uses, and for which it waits, as pidstat and top print them.
const OF_PROCESS: (&str, &str, &str) = ("process.", ".cpu_share", ".wait_share");
/// From this share on a newcomer counts, and from this one on a wait.
const LEAST_SHARES: (f64, f64) = (20.0, 5.0);
/// A newcomer used less before, in per cent of a CPU: who was there and uses more does its own work.
const HARDLY_ANY: f64 = 1.0;
/// From this part of it on, what a version before used is no less.
const NEW: f64 = 0.5;
/// From this share of the added CPU time on, one function of a newcomer is most of it, and from this share of all of it on more than chance.
const MOST: (f64, f64) = (0.3, 0.1);

/// A process that is new among those which use the CPUs, while others wait longer for one.
fn by_tools(known: &Known<'_>) -> Option<Cause> {
    let of = |it: &Evidence, end: &str| -> Option<String> {
        Some(by_levels::name(it).strip_prefix(OF_PROCESS.0)?.strip_suffix(end)?.to_owned())
    };
    let rose = |it: &&Evidence| it.shift > 0.0;
    // Another version of a program that is gone takes its place, and nothing from others.
    let replaces = |process: &str, used: f64| {
        known.evidence.iter().any(|it| {
            let is_gone = it.after < HARDLY_ANY && it.before >= NEW * used;
            is_gone && of(it, OF_PROCESS.1).is_some_and(|old| are_versions(&old, process))
        })
    };
    let newcomers = known.evidence.iter().filter(rose).filter_map(|it| {
        let is_new = it.after >= LEAST_SHARES.0 && it.before < HARDLY_ANY;
        let process = of(it, OF_PROCESS.1).filter(|_| is_new)?;
        (!replaces(&process, it.after)).then_some((process, it))
    });
    let forks = by_counters::grown(FORKS, known.evidence).filter(|it| it.after >= MANY_FORKS);
    let Some((process, first)) = newcomers.max_by(|a, b| a.1.after.total_cmp(&b.1.after)) else {
        return by_storm(known, forks?);
    };
    let waits =
        known.evidence.iter().filter(rose).find(|it| {
            of(it, OF_PROCESS.2).is_some_and(|other| other != process) && it.after >= LEAST_SHARES.1
        });
    let pressure = by_counters::grown(PRESSURE, known.evidence);
    waits.or(pressure).or(forks)?;
    let evidence = [Some(first), waits, pressure, forks].into_iter().flatten().map(quoted).collect();
    Some(Cause { title: format!("{}: `{process}`", ID.title()), ..cause(ID, BY_TOOLS, evidence) })
}

/// A program that is started so often that no list of processes shows it: the stacks do.
fn by_storm(known: &Known<'_>, forks: &Evidence) -> Option<Cause> {
    let profile = known.profile?;
    let new = |it: &&GrownFunction| {
        it.after_us >= MOST.1 * profile.after.cpu_us
            && it.kind == FrameKind::User
            && it.before_us <= 0.0
            && it.share >= MOST.0
            && !it.owner.is_empty()
    };
    let function = profile.functions.iter().find(new)?;
    let evidence = vec![quoted(forks), by_functions::function_evidence(function, &profile.per)];
    Some(Cause { title: format!("{}: `{}`", ID.title(), function.owner[0]), ..cause(ID, 0.7, evidence) })
}

/// Whether a newcomer only replaces other programs: in a recording, all programs together use hardly more of the CPUs than before.
fn replaces_others(known: &Known<'_>, taken: f64) -> bool {
    let Some(profile) = known.profile.filter(|_| known.measured.is_everybody) else { return false };
    // For each second, so that these are CPUs.
    let added = (profile.after.cpu_us - profile.before.cpu_us) / 1e6;
    added < LEAST_ADDED * taken
}

#[cfg(test)]
mod tests {
    use plimsoll_model::observation::WaitSite;
    use plimsoll_model::report::{GrownCpuUse, ProfileSide};

    use super::super::fixture::{grew, profile, relay, wait, who};
    use super::super::{CpuTime, Measured, named};
    use super::*;

    fn busy(process: &str) -> GrownCpuUse {
        GrownCpuUse { who: who(FrameKind::Host, process), before_cpus: 0.0, after_cpus: 1.5 }
    }

    /// A function of a program that took this share of what was added.
    fn function(process: &str, share: f64) -> GrownFunction {
        GrownFunction {
            function: "[dash]".into(),
            was: None,
            kind: FrameKind::User,
            before_us: 0.0,
            after_us: 1000.0 * share,
            share,
            owner: vec!["relay".into(), process.into()],
            called_by: Vec::new(),
        }
    }

    #[test]
    fn whoever_takes_the_cpus_that_the_service_waits_for_is_named() {
        let waits = vec![wait("relay", WaitSite::Cpu, WaitFor::Cpu)];
        let of = |process: &str, waits| {
            let profile = ProfileReport { cpu_use: vec![busy(process)], waits, ..profile() };
            named(&Known { profile: Some(&profile), measured: relay(), ..Known::default() })
        };
        let causes = of("sh", waits.clone());
        assert_eq!((causes[0].id, causes.len()), (CauseId::CpuContended, 1));
        assert!(causes[0].title.ends_with(": `sh` on relay"), "{}", causes[0].title);
        assert!(of("relay", waits).is_empty(), "that is the service itself");
        assert!(of("sh", Vec::new()).is_empty(), "nobody waits for a CPU");
    }

    #[test]
    fn a_stranger_beside_what_is_measured_takes_nothing_where_only_other_strangers_wait() {
        let of = |waiting: &str, took_us| {
            let waits = vec![wait(waiting, WaitSite::Cpu, WaitFor::Cpu)];
            let profile = ProfileReport { cpu_use: vec![busy("sh")], waits, ..profile() };
            let measured = Measured { is_beside_strangers: true, ..relay() };
            named(&Known { profile: Some(&profile), measured, took_us, ..Known::default() }).len()
        };
        assert_eq!((of("relay", None), of("other", None)), (1, 0));
        // The wait grew by 2700 µs.
        assert_eq!((of("relay", Some((1e3, 5e3))), of("relay", Some((1e3, 41e3)))), (1, 0));
    }

    #[test]
    fn a_command_too_short_to_be_seen_waiting_is_held_up_by_what_the_kernel_counted_of_it() {
        let of = |before, after, cpu_us| {
            let side = ProfileSide { cpu_us, ..profile().after };
            let profile = ProfileReport { cpu_use: vec![busy("sh")], after: side, ..profile() };
            let measured = Measured { is_beside_strangers: true, ..relay() };
            let evidence = [
                grew("machine", "machine.pressure.cpu.some (per run)", 4e3, 3e5),
                grew("here", "command.ready_time (per run)", before, after),
            ];
            let took_us = Some((1e5, 3e5));
            let known =
                Known { evidence: &evidence, profile: Some(&profile), measured, took_us, ..Known::default() };
            named(&known).iter().any(|cause| cause.id == ID)
        };
        assert!(of(9e3, 2e5, 500.0));
        assert!(!of(9e3, 3e4, 500.0), "another time was added");
        assert!(!of(9e4, 2e5, 1500.0), "it does three times the work in the same crowd");
    }

    #[test]
    fn a_newcomer_on_cpus_that_were_busy_before_is_named_without_longer_waits() {
        let side = |cpu_us| ProfileSide { idle: Some(0.02), cpu_us, kernel_us: 100.0, ..profile().before };
        let of = |before_cpus, owner: &str| {
            let cpu_use = vec![GrownCpuUse { before_cpus, after_cpus: 0.3, ..busy("sh") }];
            let functions = vec![function(owner, 0.7)];
            let (before, after) = (side(200.0), side(1100.0));
            let profile = ProfileReport { before, after, grew: true, cpu_use, functions, ..profile() };
            let known =
                Known { profile: Some(&profile), measured: relay(), lost: Some(0.8), ..Known::default() };
            let causes = named(&known);
            (causes[0].id, causes[0].confidence)
        };
        assert_eq!(of(0.0, "sh"), (CauseId::CpuContended, BESIDE));
        assert_eq!(of(0.0, "relay").0, CauseId::CpuUserSaturated, "the service itself uses the time");
        assert_eq!(of(0.2, "sh").0, CauseId::CpuUserSaturated, "it was there before");
    }

    #[test]
    fn a_newcomer_among_the_processes_of_top_is_named_where_others_wait() {
        let share =
            |name: &str, before, after| grew("host", &format!("process.{name} (level)"), before, after);
        let scan = share("scand.cpu_share", 0.0, 80.0);
        let waits = share("nginx.wait_share", 1.0, 30.0);
        let scan_2 = || share("scand-2.0.cpu_share", 0.0, 80.0);
        let of = |evidence: &[Evidence]| {
            let causes = named(&Known { evidence, ..Known::default() });
            causes.into_iter().map(|cause| cause.title).collect::<Vec<_>>()
        };
        assert_eq!(of(&[scan.clone(), waits.clone()]), ["Another program competes for the CPUs: `scand`"]);
        assert!(of(&[scan]).is_empty(), "no process waits for a CPU");
        let old = share("scand-1.2.cpu_share", 75.0, 0.0);
        assert!(of(&[scan_2(), old, waits.clone()]).is_empty(), "it takes the place of a version before");
        let own = share("nginx.cpu_share", 3.0, 80.0);
        assert!(of(&[own, waits]).is_empty(), "it was there before, and uses more");
    }

    #[test]
    fn programs_that_end_before_anybody_lists_them_are_named_by_their_stacks() {
        let (mut profile, evidence) =
            (profile(), [grew("machine", "machine.stat.processes (per second)", 9.0, 2600.0)]);
        let of = |before_us| GrownFunction {
            kind: FrameKind::User,
            function: "_dl_start".into(),
            owner: vec!["true".into()],
            before_us,
            after_us: 9e4,
            share: 0.5,
            was: None,
            called_by: Vec::new(),
        };
        let titles = |profile: &ProfileReport| {
            let causes = named(&Known { evidence: &evidence, profile: Some(profile), ..Known::default() });
            causes.into_iter().map(|cause| cause.title).collect::<Vec<_>>()
        };
        profile.functions = vec![of(0.0)];
        assert_eq!(titles(&profile), ["Another program competes for the CPUs: `true`"]);
        profile.functions = vec![of(5e4)];
        assert!(titles(&profile).is_empty(), "it ran before");
    }

    #[test]
    fn a_newcomer_on_a_machine_without_idle_time_takes_it_from_others() {
        let of = |idle: f64| {
            let cpu = |idle: f64| CpuTime { user: 100.0 - idle, system: 0.0, idle };
            let saved = vec![SavedCpu { before: cpu(1.0), after: cpu(idle), rates: None }];
            let profile = ProfileReport { cpu_use: vec![busy("report")], ..profile() };
            let measured = Measured { is_everybody: true, ..relay() };
            let known = Known { profile: Some(&profile), measured, saved, ..Known::default() };
            named(&known).iter().map(|cause| (cause.id, cause.confidence)).collect::<Vec<_>>()
        };
        assert_eq!(of(0.0), [(ID, REPLACES)]);
        assert!(of(30.0).is_empty());
    }

    #[test]
    fn a_newcomer_that_nobody_waits_for_does_not_explain_that_nearly_all_is_lost() {
        let of = |after_cpus, lost| {
            let cpu = CpuTime { user: 100.0, system: 0.0, idle: 0.0 };
            let saved = vec![SavedCpu { before: cpu, after: cpu, rates: None }];
            let cpu_use = vec![GrownCpuUse { after_cpus, ..busy("report") }];
            let profile = ProfileReport { cpu_use, ..profile() };
            let measured = Measured { is_everybody: true, ..relay() };
            named(&Known { profile: Some(&profile), measured, saved, lost, ..Known::default() }).len()
        };
        assert_eq!([of(0.3, Some(0.98)), of(0.3, Some(0.4)), of(0.6, Some(0.98))], [0, 1, 1]);
    }

    #[test]
    fn who_takes_a_sixth_of_a_cpu_does_not_explain_that_nine_tenths_are_lost() {
        let sure = |after_cpus, lost| {
            let cpu_use = vec![GrownCpuUse { before_cpus: 0.19, after_cpus, ..busy("sh") }];
            let waits = vec![wait("relay", WaitSite::Cpu, WaitFor::Cpu)];
            let profile = ProfileReport { cpu_use, waits, ..profile() };
            named(&Known { profile: Some(&profile), measured: relay(), lost, ..Known::default() })[0]
                .confidence
        };
        assert_eq!(sure(0.34, Some(0.9)), BESIDE);
        assert_eq!([sure(0.34, Some(0.2)), sure(0.34, None), sure(0.69, Some(0.9))], [0.85; 3]);
    }
}
