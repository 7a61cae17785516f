//! Two commands that were run in turns: what sets the worse one apart.

use std::collections::{BTreeMap, BTreeSet};

pub use plimsoll_explain::causes::READY;
use plimsoll_explain::causes::{Dependency, Measured};
use plimsoll_explain::profile::{Sampled, contrast, contrast_from};
use plimsoll_explain::seen::{grown_kernel_work, kernel_work};
use plimsoll_model::observation::{Frame, FrameKind, Profile, ProfileBuilder, ServiceMember, program_of};
use plimsoll_model::report::{Evidence, GrownWait, WaitFor};

pub use super::evidence::{CommandRun, settings};
use super::{Explained, evidence};

/// The service that compared commands are part of, by [`plimsoll_model::experiment::service::SERVICE_MARK`].
pub use plimsoll_explain::seen::COMMAND;
/// The service of processes that they have connections to.
pub const SERVED: &str = "served";
/// The CPU time of a command and of those that it waited for, as the kernel accounts it, in microseconds.
pub const CPU_TIME: &str = "command.cpu_time";
/// From this part of the added time on, added CPU time is why a command takes longer.
const MOST: f64 = 0.4;
/// The part of accounted growth that samples must show: they scatter.
const SEEN: f64 = 0.4;
/// Begins the name of the sum over looks of the connections on which a program waited for another one.
const ASKED: &str = "served.";
/// How often sockets were looked at.
const LOOKS: &str = "listen.looks";
/// Begins the names of the counters of block devices.
const DISKS: &str = "machine.diskstats.";
/// Ratio of a device's requests on the two sides from which on one side uses it alone.
const ALONE: f64 = 10.0;
/// What counters are divided by where the figure counts nothing.
const RUN: &str = "run";
/// What they are divided by where it does: units of the figure, small enough for the runs to count many of them.
const PARTS: [(f64, &str); 3] = [(1.0, "operation"), (1e3, "1/1000 operation"), (1e6, "1/1000000 operation")];
/// Smallest count of a run that counts as many.
const MANY: f64 = 100.0;

/// All runs of a command.
#[derive(Clone, Debug, Default)]
pub struct Command {
    /// Each of them.
    pub runs: Vec<CommandRun>,
    /// The stacks that were sampled meanwhile; `None` if they could not be.
    pub profile: Option<Profile>,
    /// Opens of each watched run, by program and path; empty if no run was watched.
    pub opens: Vec<BTreeMap<(String, String), u64>>,
    /// Whether `programs` are all that are measured. Then stacks of others are left out: what they do all the time grows for each operation.
    pub is_complete: bool,
}

impl Command {
    /// The smallest number of operations that a run carried out; `None` if the figure counts none.
    fn least(&self) -> Option<f64> {
        self.runs.iter().map(|run| run.operations).try_fold(f64::INFINITY, |least, it| Some(least.min(it?)))
    }

    /// How long each operation takes, in microseconds, or each run; `None` if it took no time.
    fn us_of_one(&self, part: Option<f64>) -> Option<f64> {
        let operations = self.operations(part);
        let seconds: f64 = self.runs.iter().map(|run| run.seconds).sum();
        (operations > 0.0 && seconds > 0.0).then(|| 1e6 * seconds / operations)
    }

    /// How many operations all runs carried out, which have this many parts that count; how many runs there were without `part`.
    fn operations(&self, part: Option<f64>) -> f64 {
        let of = |run: &CommandRun| part.map_or(1.0, |part| run.operations.unwrap_or(1.0) * part);
        self.runs.iter().map(of).sum()
    }

    /// The requests that each block device carried out in a run, on average.
    fn requests(&self) -> BTreeMap<&str, f64> {
        let mut requests = BTreeMap::new();
        for (name, moved) in self.runs.iter().flat_map(|run| &run.counters) {
            let device = name.strip_prefix(DISKS).and_then(|rest| rest.rsplit_once('.'));
            if let Some((device, "reads" | "writes")) = device.filter(|_| *moved > 0.0) {
                *requests.entry(device).or_default() += moved / self.runs.len() as f64;
            }
        }
        requests
    }

    fn sampled(&self, part: Option<f64>) -> Option<Sampled> {
        Some(Sampled {
            profile: self.profile.as_ref()?.of_the_run(),
            operations: self.operations(part).round() as u64,
            seconds: self.runs.iter().map(|run| run.seconds).sum(),
        })
    }

    /// On how many connections programs waited for others, on average, by the names of both.
    fn asked(&self) -> BTreeMap<(&str, &str), f64> {
        let mut asked = BTreeMap::new();
        let looks: f64 = self.runs.iter().filter_map(|run| run.counters.get(LOOKS)).sum();
        for (name, sum) in self.runs.iter().flat_map(|run| &run.counters) {
            if let Some(both) = name.strip_prefix(ASKED).and_then(|both| both.split_once('>')) {
                *asked.entry(both).or_default() += sum / looks.max(1.0);
            }
        }
        asked
    }

    /// The parts of services that were seen while it ran.
    fn members(&self) -> impl Iterator<Item = &ServiceMember> {
        self.profile.iter().flat_map(|profile| &profile.seen.members)
    }
}

/// The name of the sum over looks of the connections on which a program waited for another one.
#[must_use]
pub fn asked(client: &str, server: &str) -> String {
    format!("{ASKED}{client}>{server}")
}

/// Without the stacks, waits and failures of processes that are not measured: what those do all the time grows with the length of a run. Threads of the
/// kernel work for everybody, and count with what they do more of in each second.
fn of_processes(profile: &Profile, measured: &[String], work: &BTreeSet<String>) -> Profile {
    let is_measured = |stack: &[&Frame]| match stack {
        [
            Frame { kind: FrameKind::Host | FrameKind::Others, .. },
            Frame { kind: FrameKind::Process, name },
            ..,
        ] => measured.contains(name),
        _ => kernel_work(stack).is_none_or(|it| work.contains(it)),
    };
    let mut own = ProfileBuilder::new(profile.arm, profile.clock, profile.hertz);
    for (stack, samples) in profile.stacks().filter(|(stack, _)| is_measured(stack)) {
        own.add(stack, samples);
    }
    own.miss(profile.lost, profile.idle);
    profile.calls.iter().for_each(|call| own.call(call));
    let mut seen = profile.seen.clone();
    seen.waits.retain(|wait| measured.contains(&wait.process));
    seen.failures.retain(|failed| measured.contains(&failed.process));
    own.see(&seen);
    own.build()
}

/// The runs of the better command, with the name of the worse one's block device where each has one for itself: both may do the same on two disks.
fn on_one_device(better: &Command, worse: &Command) -> Vec<CommandRun> {
    let requests = [better, worse].map(Command::requests);
    let alone = |side: usize| {
        let of = |device: &str| requests[1 - side].get(device).copied().unwrap_or(0.0);
        let mut alone = requests[side].iter().filter(|(device, own)| **own >= ALONE * of(device));
        alone.next().filter(|_| alone.next().is_none()).map(|(device, _)| format!("{DISKS}{device}."))
    };
    let mut runs = better.runs.clone();
    if let (Some(before), Some(after)) = (alone(0), alone(1)) {
        let renamed = |name: String| match (name.strip_prefix(&before), name.strip_prefix(&after)) {
            (Some(field), _) => format!("{after}{field}"),
            (_, Some(field)) => format!("{before}{field}"),
            _ => name,
        };
        for run in &mut runs {
            let counters = std::mem::take(&mut run.counters).into_iter();
            run.counters = counters.map(|(name, value)| (renamed(name), value)).collect();
        }
    }
    runs
}

/// Who waited for whom on the worse side, and for how long on both.
fn dependencies(better: &Command, worse: &Command) -> Vec<Dependency> {
    let was = better.asked();
    let both = |((client, server), after): ((&str, &str), f64)| Dependency {
        client: client.to_owned(),
        server: server.to_owned(),
        before: was.get(&(client, server)).copied().unwrap_or(0.0),
        after,
    };
    worse.asked().into_iter().map(both).collect()
}

/// Whose work the commands do, and where it was looked at.
#[derive(Clone, Debug, Default)]
pub struct Scene {
    /// The programs whose work is measured: what others do beside them is a stranger's doing.
    pub programs: Vec<String>,
    /// The name of the host whose processes were looked at.
    pub host: String,
    /// Whether it has strangers as well, as the machine itself has.
    pub is_beside_strangers: bool,
    /// Whether the figure is a time, or a rate: then nothing explains it that did not take longer.
    pub is_of_time: bool,
}

/// What sets the worse of two commands apart, for each operation that the figure counts, or for each run.
pub fn explain(better: &Command, worse: &Command, scene: Scene) -> Explained {
    let Scene { programs, host, is_beside_strangers, is_of_time } = scene;
    let least = better.least().zip(worse.least()).map(|(better, worse)| better.min(worse));
    let (part, per) = match least {
        Some(least) => {
            let (part, per) = PARTS.iter().find(|(part, _)| least * part >= MANY).unwrap_or(&PARTS[2]);
            (Some(*part), *per)
        }
        None => (None, RUN),
    };
    let renamed = on_one_device(better, worse);
    let runs = [renamed.as_slice(), worse.runs.as_slice()];
    let mut moved = evidence::of_commands(runs, part, per);
    moved.extend(evidence::levels_of_commands(runs));
    moved.extend(evidence::differing_settings(runs));
    moved.extend(evidence::opened_files([&better.opens, &worse.opens]));
    let programs = measured(&programs, worse.is_complete, better.members().chain(worse.members()));
    let alone = (is_beside_strangers || worse.is_complete).then_some(programs.as_slice());
    let took_us = better.us_of_one(part).zip(worse.us_of_one(part));
    // Who uses more memory may take less time.
    let took_us = took_us.filter(|(before, after)| is_of_time || after > before);
    let mut sampled = better.sampled(part).zip(worse.sampled(part));
    if let (Some((better, worse)), Some(programs)) = (&mut sampled, alone) {
        let work = grown_kernel_work(better, worse);
        for side in [better, worse] {
            side.profile = of_processes(&side.profile, programs, &work);
        }
    }
    let mut profile = sampled.as_ref().and_then(|(better, worse)| contrast(better, worse, None, per));
    // Short commands have few samples. The kernel accounts their CPU time to the microsecond.
    if let Some((better, worse)) = sampled.filter(|_| profile.as_ref().is_some_and(|it| !it.grew))
        && let Some(least) = took_us.and_then(|took_us| more_cpu_time(&moved, took_us))
    {
        profile = contrast_from(SEEN * least, &better, &worse, per);
    }
    if let Some(profile) = &mut profile {
        let used = worse.requests();
        profile.io_limits.retain(|limit| used.contains_key(limit.device.as_str()));
    }
    let waits_for_disk = profile.as_ref().is_some_and(|profile| {
        let own_syncs = profile.calls.iter().any(|call| programs.contains(&call.process));
        let own_waits =
            |wait: &GrownWait| wait.wait_for == WaitFor::Disk && programs.contains(&wait.who.process);
        own_syncs || profile.own_syncs_per_s > 0.0 || profile.waits.iter().any(own_waits)
    });
    let measured = Measured {
        processes: programs,
        hosts: vec![evidence::HERE.to_owned(), host],
        is_beside_strangers,
        waits_for_disk,
        dependencies: dependencies(better, worse),
        ..Measured::default()
    };
    let mut explained = Explained::of(moved, profile, &measured, took_us);
    for cause in &mut explained.causes {
        // What belongs to the commands needs no mention in a title.
        cause.title = cause.title.replace(&format!(" ({COMMAND})"), "");
    }
    explained
}

/// By which share the accounted CPU time grew, where that is a good part of the added time.
fn more_cpu_time(moved: &[Evidence], (before_us, after_us): (f64, f64)) -> Option<f64> {
    let cpu = moved.iter().find(|it| it.metric.starts_with(CPU_TIME) && it.shift > 0.0)?;
    let is_most = cpu.after - cpu.before >= MOST * (after_us - before_us);
    (is_most && cpu.before > 0.0).then(|| cpu.after / cpu.before - 1.0)
}

/// The names of the processes that are measured: those that are known as part of a command or as serving one, and the programs of commands of which
/// none is known so.
fn measured<'m>(
    programs: &[String],
    is_complete: bool,
    members: impl Iterator<Item = &'m ServiceMember>,
) -> Vec<String> {
    // Where the user named the programs, whatever else the command starts is beside them.
    let is_named =
        |process: &str| !is_complete || programs.iter().any(|program| program == program_of(process));
    let members = members.filter(|it| it.service == SERVED || it.service == COMMAND && is_named(&it.process));
    let members: BTreeSet<String> = members.map(|it| it.process.clone()).collect();
    let is_known = |program: &str| !is_complete && members.iter().any(|member| program_of(member) == program);
    let unknown: Vec<String> = programs.iter().filter(|program| !is_known(program)).cloned().collect();
    unknown.into_iter().chain(members).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use plimsoll_model::cause::CauseId;
    use plimsoll_model::observation::{Arm, ProfileClock, Seen};

    use super::*;

    fn command(overflows: f64, switches: f64, seconds: f64) -> Command {
        let counters = [
            ("netstat.TcpExt.ListenOverflows", overflows),
            ("netstat.TcpExt.TCPSynRetrans", overflows),
            ("machine.stat.ctxt", switches),
            ("machine.stat.cpu0.user", switches),
        ];
        let counters = counters.into_iter().filter(|(_, value)| *value != 0.0);
        let counters: BTreeMap<String, f64> =
            counters.map(|(name, value)| (name.to_owned(), value)).collect();
        Command { runs: vec![CommandRun { counters, seconds, operations: None }; 5], ..Command::default() }
    }

    /// Runs of five seconds that keep a disk busy all the time.
    fn busy(operations: f64) -> Command {
        let counters = [
            ("machine.diskstats.vda.busy", 4.9e6),
            ("machine.diskstats.vda.queue_time", 9e6),
            ("machine.stat.ctxt", 5e4),
        ];
        let counters = counters.map(|(name, value)| (name.to_owned(), value)).into();
        let run = CommandRun { counters, seconds: 5.0, operations: Some(operations) };
        Command { runs: vec![run; 5], ..Command::default() }
    }

    #[test]
    fn what_is_busy_on_both_sides_is_compared_for_each_operation_of_the_figure() {
        let found = explain(&busy(9000.0), &busy(3000.0), Scene::default());
        let listed: Vec<(&str, f64)> =
            found.evidence.iter().map(|it| (it.metric.as_str(), it.after / it.before)).collect();
        // Each of 3,000 takes three times as long as each of 9,000. Switches go on at any rate.
        assert_eq!(listed.len(), 2, "{listed:?}");
        assert_eq!(listed[0].0, "machine.diskstats.vda.busy (per operation)");
        assert!(listed.iter().all(|(_, ratio)| (ratio - 3.0).abs() < 1e-9), "{listed:?}");
        // Where one side has no figure, both are compared for each run.
        let mut failing = busy(3000.0);
        failing.runs.iter_mut().for_each(|run| run.operations = None);
        assert!(explain(&busy(9000.0), &failing, Scene::default()).evidence.is_empty());
        let small = explain(&busy(0.9), &busy(0.3), Scene::default());
        assert_eq!(small.evidence[0].metric, "machine.diskstats.vda.busy (per 1/1000 operation)");
    }

    #[test]
    fn what_only_the_worse_command_counts_is_listed_and_named() {
        let found = explain(&command(0.0, 1000.0, 1.0), &command(30.0, 1000.0, 1.0), Scene::default());
        assert_eq!(found.causes[0].id, CauseId::NetListenOverflow);
        let listed: Vec<(&str, f64, f64)> =
            found.evidence.iter().map(|it| (it.metric.as_str(), it.before, it.after)).collect();
        assert_eq!(
            listed,
            [
                ("netstat.TcpExt.ListenOverflows (per run)", 0.0, 30.0),
                ("netstat.TcpExt.TCPSynRetrans (per run)", 0.0, 30.0)
            ]
        );
    }

    #[test]
    fn what_goes_on_all_the_time_is_no_property_of_the_command_that_takes_longer() {
        let found = explain(&command(0.0, 1000.0, 1.0), &command(0.0, 3000.0, 3.0), Scene::default());
        assert!(found.evidence.is_empty() && found.causes.is_empty(), "{:?}", found.evidence);
    }

    #[test]
    fn a_part_of_a_command_or_of_who_serves_it_is_measured_and_a_stranger_of_its_name_is_not() {
        let member =
            |service: &str, process: &str| ServiceMember { service: service.into(), process: process.into() };
        let members = [
            member(COMMAND, "sh (command)"),
            member(COMMAND, "curl (command)"),
            member(SERVED, "nginx (served)"),
            member("another", "redis (another)"),
        ];
        let of = |programs: &[&str], is_complete| {
            let programs: Vec<String> = programs.iter().map(|it| (*it).to_owned()).collect();
            measured(&programs, is_complete, members.iter())
        };
        assert_eq!(of(&["sh", "sort"], false), ["sort", "curl (command)", "nginx (served)", "sh (command)"]);
        assert_eq!(of(&["curl"], true), ["curl", "curl (command)", "nginx (served)"]);
    }

    #[test]
    fn what_strangers_do_all_the_time_is_no_time_of_the_command_that_takes_longer() {
        let side = |own: u64, strangers: u64, seconds: f64| {
            let mut profile = ProfileBuilder::new(Arm::Control, ProfileClock::CpuClock, 99);
            for (owner, process, samples) in [
                (FrameKind::Host, "git (command)", own),
                (FrameKind::Host, "rustc", strangers),
                (FrameKind::Shared, "kworker", 9),
            ] {
                let stack = [
                    &Frame::new(owner, "host"),
                    &Frame::new(FrameKind::Process, process),
                    &Frame::new(FrameKind::User, "work"),
                ];
                profile.add(stack, samples);
            }
            let process = "git (command)".to_owned();
            let members = vec![ServiceMember { service: COMMAND.into(), process }];
            profile.see(&Seen { looks: 9, members, ..Seen::default() });
            let run = CommandRun { seconds, ..CommandRun::default() };
            Command { runs: vec![run; 5], profile: Some(profile.build()), ..Command::default() }
        };
        let scene = || Scene { is_beside_strangers: true, ..Scene::default() };
        let of = |worse: &Command| explain(&side(100, 900, 1.0), worse, scene()).profile.unwrap();
        assert!(!of(&side(100, 9000, 10.0)).grew);
        let grown = of(&side(2000, 900, 10.0));
        assert!(grown.grew && grown.after.samples == 2000, "{:?}", grown.after);
    }

    #[test]
    fn few_samples_are_enough_where_the_kernel_accounts_more_cpu_time() {
        let side = |samples: u64, cpu_us: f64, seconds: f64| {
            let mut profile = ProfileBuilder::new(Arm::Control, ProfileClock::CpuClock, 99);
            let stack = [
                &Frame::new(FrameKind::Host, "host"),
                &Frame::new(FrameKind::Process, "php (command)"),
                &Frame::new(FrameKind::User, "match"),
            ];
            profile.add(stack, samples);
            let counters = BTreeMap::from([(CPU_TIME.to_owned(), cpu_us)]);
            let run = CommandRun { counters, seconds, operations: None };
            Command { runs: vec![run; 8], profile: Some(profile.build()), ..Command::default() }
        };
        let of = |accounted: f64| {
            explain(&side(4, 6e3, 0.006), &side(20, accounted, 0.026), Scene::default()).profile.unwrap().grew
        };
        assert!(of(25e3) && !of(6e3));
    }

    #[test]
    fn a_device_is_used_where_its_counters_moved() {
        assert!(busy(9.0).requests().is_empty(), "its counters of requests stand still");
        let counters = [("machine.diskstats.vda.writes".to_owned(), 7.0)].into();
        let run = CommandRun { counters, seconds: 1.0, operations: None };
        let writer = Command { runs: vec![run], ..Command::default() };
        assert_eq!(writer.requests(), [("vda", 7.0)].into());
        assert_eq!(writer.us_of_one(None), Some(1e6));
    }

    #[test]
    fn two_commands_that_do_the_same_on_two_disks_differ_in_nothing() {
        let on = |device: &str, queue: f64| {
            let counters = [
                (format!("{DISKS}{device}.writes"), 160.0),
                (format!("{DISKS}{device}.queue_time"), queue),
                // The journal of the other disk is written now and then.
                (format!("{DISKS}loop1.writes"), if device == "loop1" { 160.0 } else { 2.0 }),
            ];
            let run = CommandRun { counters: counters.into(), seconds: 1.0, operations: None };
            Command { runs: vec![run; 5], ..Command::default() }
        };
        let of = |queue| {
            let found = explain(&on("loop0", 9e4), &on("loop1", queue), Scene::default()).evidence;
            let queues = found.into_iter().filter(|it| it.metric.contains("queue_time"));
            queues.map(|it| (it.metric, it.before)).collect::<Vec<_>>()
        };
        assert!(of(9e4).is_empty());
        assert_eq!(of(9e5), [("machine.diskstats.loop1.queue_time (per run)".to_owned(), 9e4)]);
    }

    #[test]
    fn what_took_no_longer_is_explained_by_nothing() {
        let of = |seconds, is_of_time| {
            let scene = Scene { is_of_time, ..Scene::default() };
            explain(&command(0.0, 1000.0, 1.0), &command(30.0, 1000.0, seconds), scene).causes.len()
        };
        assert_eq!((of(1.5, true), of(0.9, true)), (1, 0));
        assert_eq!(of(0.9, false), 1, "more memory, or an error");
    }

    #[test]
    fn threads_of_the_kernel_count_with_what_they_do_more_of_in_each_second() {
        let side = |compress: u64, flush: u64, seconds: f64| {
            let mut profile = ProfileBuilder::new(Arm::Control, ProfileClock::CpuClock, 99);
            for (work, samples) in [("btrfs_work_helper", compress), ("wb_workfn", flush)] {
                let functions = ["kthread", "process_one_work", work];
                let functions = functions.map(|it| Frame::new(FrameKind::Kernel, it));
                let owner =
                    [Frame::new(FrameKind::Shared, "kernel"), Frame::new(FrameKind::Process, "kworker")];
                profile.add(owner.iter().chain(&functions), samples);
            }
            let own = [Frame::new(FrameKind::Host, "host"), Frame::new(FrameKind::Process, "cp (command)")];
            profile.add(&own, 50);
            let members = vec![ServiceMember { service: COMMAND.into(), process: "cp (command)".to_owned() }];
            profile.see(&Seen { looks: 9, members, ..Seen::default() });
            let run = CommandRun { seconds, ..CommandRun::default() };
            Command { runs: vec![run; 5], profile: Some(profile.build()), ..Command::default() }
        };
        let scene = Scene { is_beside_strangers: true, ..Scene::default() };
        let found = explain(&side(10, 100, 0.5), &side(300, 300, 1.5), scene);
        // Writeback goes on all the time.
        assert_eq!(found.profile.unwrap().after.samples, 350);
        assert!(found.causes[0].title.ends_with("`btrfs_work_helper` of the kernel's own `kworker`"));
    }

    #[test]
    fn who_waits_for_whom_is_a_mean_over_looks() {
        let of = |sum: f64| {
            let counters = [(asked("ab", "haproxy"), sum), (LOOKS.to_owned(), 10.0)];
            let run = CommandRun { counters: counters.into(), seconds: 1.0, operations: None };
            Command { runs: vec![run; 5], ..Command::default() }
        };
        let (client, server) = ("ab".to_owned(), "haproxy".to_owned());
        assert_eq!(
            dependencies(&of(80.0), &of(160.0)),
            [Dependency { client, server, before: 8.0, after: 16.0 }]
        );
    }

    #[test]
    fn queues_and_connections_are_means_over_the_time_of_the_commands() {
        let of = |held: f64, questions: f64| {
            let counters = [
                ("listen.looks", 10.0),
                ("dns.questions", questions),
                ("tcp.looked_at", 20.0),
                ("tcp.held", held),
            ];
            let counters = counters.map(|(name, value)| (name.to_owned(), value)).into();
            let run = CommandRun { counters, seconds: 1.0, operations: None };
            Command { runs: vec![run; 5], ..Command::default() }
        };
        let found = explain(&of(0.0, 0.0), &of(10.0, 9.0), Scene::default());
        let mut listed: Vec<(&str, f64)> =
            found.evidence.iter().map(|it| (it.metric.as_str(), it.after)).collect();
        listed.sort_by(|a, b| a.0.cmp(b.0));
        assert_eq!(listed, [("dns.open_questions (level)", 0.9), ("tcp.held_share (level)", 50.0)]);
    }
}
