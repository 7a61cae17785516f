//! Which functions take more CPU time for each connection or operation on one side than on the other.
//!
//! A sample stands for 1/hertz of a second, so that times are counts, and their scatter is that of counts: a difference
//! of two counts is reported when it is four times its standard error, the counts' variance taken twice (samples come
//! in bursts). That is the method of differential flame graphs (B. Gregg, *Differential Flame Graphs*, 2014), divided
//! by the work done, so that a side that does more does not look more expensive.

use std::collections::BTreeMap;

use plimsoll_model::observation::{CallCount, Frame, FrameKind, FunctionSamples, Profile, is_helper};
use plimsoll_model::report::{GrownCalls, GrownFunction, ProfileReport, ProfileSide};

use crate::{renamed, seen};

pub use crate::sampled::Sampled;

/// How programs and threads begin (sysdeps in glibc), and how the kernel is entered: these tell nothing of what is done then (arch/x86/entry,
/// arch/arm64/kernel/entry-common.c, kernel/softirq.c).
pub(crate) const ENTRIES: [&str; 17] = [
    "_start",
    "main",
    "__libc_start_main",
    "__libc_start_call_main",
    "start_thread",
    "__clone3",
    "entry_SYSCALL_64_after_hwframe",
    "entry_SYSCALL_64",
    "do_syscall_64",
    "x64_sys_call",
    "el0t_64_sync_handler",
    "el0_svc",
    "do_el0_svc",
    "invoke_syscall",
    "handle_softirqs",
    "__do_softirq",
    "do_softirq",
];
/// Whether a function has a name that is not that of all programs: a file stands for all of its functions without names.
fn has_own_name(function: &str) -> bool {
    !function.starts_with('[') && !ENTRIES.contains(&function)
}

/// Whether the name of a function says what is done.
pub(crate) fn says_what(function: &str) -> bool {
    has_own_name(function) && !is_helper(function)
}

/// How functions of system calls begin (arch/x86/include/asm/syscall_wrapper.h, arch/arm64/include/asm/syscall_wrapper.h). Some calls go on in a
/// function that takes the place of the first (fs/read_write.c).
pub(crate) const SYSTEM_CALLS: [&str; 4] = ["__x64_sys_", "__arm64_sys_", "__do_sys_", "ksys_"];
/// The functions that page faults enter by (arch/x86/entry, arch/arm64/mm/fault.c).
pub(crate) const PAGE_FAULTS: [&str; 2] = ["asm_exc_page_fault", "do_mem_abort"];
/// How file systems take what is written to files. Some of them end in a jump to the next, and are on no stack then.
pub(crate) const FILE_WRITES: [&str; 11] = [
    "ext4_buffered_write_iter",
    "generic_perform_write",
    "iomap_file_buffered_write",
    "ext4_file_write_iter",
    "xfs_file_write_iter",
    "btrfs_file_write_iter",
    "f2fs_file_write_iter",
    "shmem_file_write_iter",
    "generic_file_write_iter",
    "ovl_write_iter",
    "fuse_file_write_iter",
];
/// A difference is reported from this many standard errors on.
const SURE: f64 = 4.0;
/// As many make what the kernel was asked for worth a mention, beside functions that are sure.
const LIKELY: f64 = 2.0;
/// The variance of counts, relative to that of independent samples.
const DISPERSION: f64 = 2.0;
/// All time together must have grown by this share, where nothing else is known.
const LEAST_INCREASE: f64 = 0.1;
/// What counts as most of the increase: the first of these that a function reaches.
const MOST: [f64; 3] = [0.8, 0.6, 0.4];
/// A function that grew by less than this share of the increase is not reported.
const WORTH_TELLING: f64 = 0.03;
/// Calls must come this many times as often.
const MORE_CALLS: f64 = 1.5;
/// The most functions that are reported.
const MOST_NAMED: usize = 8;

impl Sampled {
    /// Samples as microseconds for each operation.
    fn us(&self, samples: u64) -> f64 {
        samples as f64 * 1e6 / f64::from(self.profile.hertz) / self.operations as f64
    }

    /// How often processes of the run's hosts make files durable, except the processes of `but`, whose calls are
    /// reported.
    fn own_syncs_per_s(&self, but: &[GrownCalls]) -> f64 {
        let is_reported = |call: &CallCount| {
            but.iter().any(|it| {
                (it.owner_kind, &it.owner, &it.process) == (call.owner.kind, &call.owner.name, &call.process)
            })
        };
        let is_own = |call: &&CallCount| {
            call.owner.kind == FrameKind::Host && call.call.is_sync() && !is_reported(call)
        };
        let count: u64 = self.profile.calls.iter().filter(is_own).map(|call| call.count).sum();
        if self.seconds > 0.0 { count as f64 / self.seconds } else { 0.0 }
    }

    fn is_usable(&self) -> bool {
        // Programs that hardly use a CPU have no samples where others have.
        let was_sampled = self.profile.samples() > 0 || self.profile.seen.sampled_us > 0;
        self.operations > 0 && self.profile.hertz > 0 && was_sampled
    }

    /// Whether it tells of waits where stacks were not sampled.
    fn was_looked_at(&self) -> bool {
        self.operations > 0 && self.profile.seen.looks > 0
    }

    fn side(&self) -> ProfileSide {
        let samples = self.profile.samples();
        let in_kernel = |(stack, _): &(Vec<&Frame>, u64)| {
            stack.last().is_some_and(|innermost| innermost.kind == FrameKind::Kernel)
        };
        let kernel = self.profile.stacks().filter(in_kernel).map(|(_, samples)| samples).sum();
        let all = samples + self.profile.idle;
        ProfileSide {
            samples,
            lost: self.profile.lost,
            idle: (all > 0).then(|| self.profile.idle as f64 / all as f64),
            operations: self.operations,
            cpu_us: self.us(samples),
            kernel_us: self.us(kernel),
        }
    }
}

/// What grew from before to after. `control` is the rig that was spared, before and after: what moved there as well is the machine's doing.
/// `None` if one of the sides was not sampled.
pub fn contrast(
    before: &Sampled,
    after: &Sampled,
    control: Option<[&Sampled; 2]>,
    per: &str,
) -> Option<ProfileReport> {
    contrast_of((SURE, LEAST_INCREASE), before, after, control, per)
}

/// What grew from before to after, where all time together is known to have grown by the share `least`. What is likely to have grown is enough then.
pub fn contrast_from(least: f64, before: &Sampled, after: &Sampled, per: &str) -> Option<ProfileReport> {
    contrast_of((LIKELY, least), before, after, None, per)
}

fn contrast_of(
    (sure, least): (f64, f64),
    before: &Sampled,
    after: &Sampled,
    control: Option<[&Sampled; 2]>,
    per: &str,
) -> Option<ProfileReport> {
    if !before.is_usable() || !after.is_usable() {
        return (before.was_looked_at() && after.was_looked_at()).then(|| unsampled(before, after, per));
    }
    let control = control.filter(|sides| sides.iter().all(|side| side.is_usable()));
    let mut aligned = before.clone();
    let had = renamed::align(&mut aligned.profile, &after.profile);
    let before = &aligned;
    let sides = Sides { before, after, control, had, sure, least };
    let all = sides.increase(sides.each(|side| side.profile.samples()));
    let Functions { narrowest, own: functions, programs, entered } = sides.functions(&all);
    let grew = all.is_beyond(sure) && all.us >= least * all.before_us;
    let functions = if grew || narrowest.is_some() { functions } else { Vec::new() };
    let calls = grown_calls(before, after);
    Some(ProfileReport {
        clock: after.profile.clock,
        hertz: after.profile.hertz,
        per: per.to_owned(),
        before: before.side(),
        after: after.side(),
        control: control.map(|sides| sides.map(Sampled::side)),
        grew,
        narrowest,
        functions,
        programs,
        entered,
        own_syncs_per_s: before.own_syncs_per_s(&calls).max(after.own_syncs_per_s(&calls)),
        calls,
        waits: seen::waits(before, after),
        failures: seen::failures(before, after),
        block_io: seen::block_io(before, after),
        cpu_use: seen::cpu_use(before, after),
        busiest_threads: seen::busiest_threads(before, after),
        throttling: seen::throttling(before, after),
        io_limits: seen::io_limits(before, after),
        states: seen::states(before, after),
        members: seen::members(before, after),
    })
}

/// The report of a profile without sampled stacks.
fn unsampled(before: &Sampled, after: &Sampled, per: &str) -> ProfileReport {
    let side = |of: &Sampled| ProfileSide { operations: of.operations, ..ProfileSide::default() };
    ProfileReport {
        clock: after.profile.clock,
        hertz: 0,
        per: per.to_owned(),
        before: side(before),
        after: side(after),
        control: None,
        grew: false,
        narrowest: None,
        functions: Vec::new(),
        calls: Vec::new(),
        own_syncs_per_s: 0.0,
        waits: seen::waits(before, after),
        failures: Vec::new(),
        block_io: Vec::new(),
        cpu_use: Vec::new(),
        programs: Vec::new(),
        entered: Vec::new(),
        busiest_threads: Vec::new(),
        throttling: seen::throttling(before, after),
        io_limits: seen::io_limits(before, after),
        states: seen::states(before, after),
        members: seen::members(before, after),
    }
}

/// Traced calls of which there were more for each operation. Those of strangers must have come more often in each second as well: a side that does
/// less in the same time has more of whatever goes on all the time for each operation.
fn grown_calls(before: &Sampled, after: &Sampled) -> Vec<GrownCalls> {
    if before.seconds <= 0.0 || after.seconds <= 0.0 {
        return Vec::new();
    }
    let mut grown: Vec<GrownCalls> = Vec::new();
    for call in &after.profile.calls {
        let same =
            |it: &&CallCount| (it.call, &it.owner, &it.process) == (call.call, &call.owner, &call.process);
        let was = before.profile.calls.iter().find(same).map(|it| it.count);
        let was = was.unwrap_or_else(|| of_counterparts(before, after, call));
        let more = |of_before: f64, of_after: f64| {
            let (before, after) = (was as f64 / of_before, call.count as f64 / of_after);
            let error = DISPERSION.sqrt()
                * (was.max(1) as f64).sqrt().mul_add(1.0 / of_before, (call.count as f64).sqrt() / of_after);
            // A single kill is one too many.
            after >= MORE_CALLS * before && (after - before > SURE * error || call.call.is_end())
        };
        let may_be_own = call.owner.kind == FrameKind::Host && !call.call.is_end();
        if (may_be_own || more(before.seconds, after.seconds))
            && more(before.operations as f64, after.operations as f64)
        {
            grown.push(GrownCalls {
                call: call.call,
                owner_kind: call.owner.kind,
                owner: call.owner.name.clone(),
                process: call.process.clone(),
                before_per_s: was as f64 / before.seconds,
                after_per_s: call.count as f64 / after.seconds,
            });
        }
    }
    grown.sort_by(|a, b| b.after_per_s.total_cmp(&a.after_per_s));
    grown
}

/// How often the command made such a call by programs that it no longer has, where this program is new: the scripts of two commands have two names.
fn of_counterparts(before: &Sampled, after: &Sampled, call: &CallCount) -> u64 {
    if !seen::is_of_command(after, &call.process) {
        return 0;
    }
    let is_gone = |it: &&CallCount| {
        it.call == call.call
            && it.owner == call.owner
            && seen::is_of_command(before, &it.process)
            && !after.profile.calls.iter().any(|new| (new.call, &new.process) == (it.call, &it.process))
    };
    before.profile.calls.iter().filter(is_gone).map(|it| it.count).sum()
}

/// Functions that took more time.
struct Functions {
    /// The narrowest that most of the increase is in.
    narrowest: Option<GrownFunction>,
    /// Those that grew themselves.
    own: Vec<GrownFunction>,
    /// Processes whose own code took more.
    programs: Vec<GrownFunction>,
    /// System calls, page faults and writes to files, with all that they lead to.
    entered: Vec<GrownFunction>,
}

struct Sides<'s> {
    before: &'s Sampled,
    after: &'s Sampled,
    /// The rig that was spared, before and after.
    control: Option<[&'s Sampled; 2]>,
    /// The names that functions had before, where they have another one after.
    had: BTreeMap<Frame, String>,
    /// By how many standard errors a time must have grown.
    sure: f64,
    /// By which share all time together must have grown.
    least: f64,
}

/// By how much a time grew, in microseconds for each operation.
struct Increase {
    before_us: f64,
    after_us: f64,
    us: f64,
    error_us: f64,
}

impl Increase {
    fn is_beyond(&self, errors: f64) -> bool {
        self.us > errors * self.error_us
    }
}

impl Sides<'_> {
    /// Something of each side: before, after, and the same on the control; twice the default without one.
    fn each<T: Default>(&self, of: impl Fn(&Sampled) -> T) -> [T; 4] {
        let [control_before, control_after] =
            self.control.map_or_else(Default::default, |sides| sides.map(&of));
        [of(self.before), of(self.after), control_before, control_after]
    }

    /// By how much the time of these samples grew, less what it grew by on the control.
    fn increase(&self, samples: [u64; 4]) -> Increase {
        let change = |[before, after]: [&Sampled; 2], [was, is]: [u64; 2]| {
            let error =
                |side: &Sampled, samples: u64| side.us(1) * (DISPERSION * samples.max(1) as f64).sqrt();
            (after.us(is) - before.us(was), error(before, was).hypot(error(after, is)))
        };
        let [was, is, control_was, control_is] = samples;
        let (us, error_us) = change([self.before, self.after], [was, is]);
        let (of_control, error_of_control) =
            self.control.map_or((0.0, 0.0), |sides| change(sides, [control_was, control_is]));
        Increase {
            before_us: self.before.us(was),
            after_us: self.after.us(is),
            us: us - of_control,
            error_us: error_us.hypot(error_of_control),
        }
    }

    fn functions<'p>(&'p self, all: &Increase) -> Functions {
        let functions = [Some(self.before), Some(self.after)]
            .into_iter()
            .chain(self.control.map_or([None; 2], |sides| sides.map(Some)))
            .map(|side| side.map(|side| side.profile.functions()).unwrap_or_default());
        let functions: Vec<BTreeMap<&Frame, FunctionSamples>> = functions.collect();
        let is_function = |frame: &&&Frame| frame.kind.is_function();
        let grown_by = |count: fn(FunctionSamples) -> u64, errors: f64| -> Vec<(&Frame, Increase)> {
            let frames = functions[1].keys().filter(is_function);
            let grown = frames.map(|frame| {
                let of = |side: usize| functions[side].get(frame).copied().map_or(0, count);
                (*frame, self.increase([of(0), of(1), of(2), of(3)]))
            });
            grown.filter(|(_, increase)| increase.is_beyond(errors)).collect()
        };
        let with_callees = grown_by(|samples| samples.all, self.sure);
        let largest = with_callees.iter().map(|(_, increase)| increase.us).fold(all.us, f64::max);
        let all_us = largest.max(self.least * all.before_us);
        let described = |way: Vec<&Frame>, frame: &Frame, increase: &Increase| {
            let names = |functions: bool| {
                let frames = way.iter().filter(move |it| it.kind.is_function() == functions);
                frames.map(|it| it.name.clone()).collect()
            };
            GrownFunction {
                function: frame.name.clone(),
                was: self.had.get(frame).cloned(),
                kind: frame.kind,
                before_us: increase.before_us,
                after_us: increase.after_us,
                share: increase.us / all_us,
                owner: names(false),
                called_by: names(true),
            }
        };
        let depths = depths(&self.after.profile);
        let narrowest = MOST.iter().find_map(|most| {
            let enough = with_callees
                .iter()
                .filter(|(frame, increase)| increase.us >= most * all_us && has_own_name(&frame.name));
            // Of two that are always found together the one is meant that is called by the other.
            enough.min_by(|a, b| {
                a.1.after_us.total_cmp(&b.1.after_us).then_with(|| depths[b.0].cmp(&depths[a.0]))
            })
        });
        let largest = |mut grown: Vec<(&'p Frame, Increase)>, way: Callers<'p>| -> Vec<GrownFunction> {
            grown.retain(|(_, increase)| increase.us >= WORTH_TELLING * all_us);
            grown.sort_by(|a, b| b.1.us.total_cmp(&a.1.us));
            let grown = grown.iter().take(MOST_NAMED);
            grown
                .map(|(frame, increase)| described(way(&self.after.profile, frame), frame, increase))
                .collect()
        };
        let narrowest = narrowest
            .map(|(frame, increase)| described(callers(&self.after.profile, frame), frame, increase));
        let own = largest(grown_by(|samples| samples.own, self.sure), nearest_callers);
        let is_entry = |frame: &Frame| {
            let is_call = SYSTEM_CALLS.iter().any(|start| frame.name.starts_with(start));
            let is_named = |names: &[&str]| names.contains(&frame.name.as_str());
            frame.kind == FrameKind::Kernel && (is_call || is_named(&PAGE_FAULTS) || is_named(&FILE_WRITES))
        };
        let mut entered = grown_by(|samples| samples.all, LIKELY);
        entered.retain(|(frame, _)| is_entry(frame));
        let entered = largest(entered, callers);
        let programs = largest(self.programs(), callers);
        Functions { narrowest, own, programs, entered }
    }
}

impl<'s> Sides<'s> {
    /// Processes whose own code took more time, and by how much. What one takes that is new may have been the work of those that are gone.
    fn programs(&self) -> Vec<(&'s Frame, Increase)> {
        let sides = [Some(self.before), Some(self.after)];
        let of_control = self.control.map_or([None; 2], |sides| sides.map(Some));
        let counts =
            sides.into_iter().chain(of_control).map(|side| side.map(in_programs).unwrap_or_default());
        let counts: Vec<BTreeMap<&Frame, u64>> = counts.collect();
        let is_gone = |frame: &Frame| !counts[1].contains_key(frame);
        let gone = [0, 2].map(|side| {
            counts[side].iter().filter(|(frame, _)| is_gone(frame)).map(|(_, samples)| samples).sum::<u64>()
        });
        let grown = counts[1].keys().map(|frame| {
            let of = |side: usize, instead: u64| counts[side].get(frame).copied().unwrap_or(instead);
            (*frame, self.increase([of(0, gone[0]), of(1, 0), of(2, gone[1]), of(3, 0)]))
        });
        grown.filter(|(_, increase)| increase.is_beyond(self.sure)).collect()
    }
}

/// Samples in the own code of each process.
fn in_programs(side: &Sampled) -> BTreeMap<&Frame, u64> {
    let mut samples = BTreeMap::new();
    for (stack, count) in side.profile.stacks() {
        let process = stack.iter().find(|frame| frame.kind == FrameKind::Process);
        let is_own = stack.last().is_some_and(|innermost| innermost.kind == FrameKind::User);
        if let Some(process) = process.filter(|_| is_own) {
            *samples.entry(*process).or_default() += count;
        }
    }
    samples
}

/// How deep in a stack each frame is found at most.
fn depths(profile: &Profile) -> BTreeMap<&Frame, usize> {
    let mut depths = BTreeMap::new();
    for (depth, frame) in profile.stacks().flat_map(|(stack, _)| stack.into_iter().enumerate()) {
        let deepest = depths.entry(frame).or_default();
        *deepest = depth.max(*deepest);
    }
    depths
}

/// The frames above a function, from the outermost on, and in how many samples.
type Ways<'p> = BTreeMap<Vec<&'p Frame>, u64>;

/// What finds the frames above a function.
type Callers<'p> = fn(&'p Profile, &Frame) -> Vec<&'p Frame>;

/// The frames above a function, from the outermost on, on the way on which it is found most often.
fn callers<'p>(profile: &'p Profile, function: &Frame) -> Vec<&'p Frame> {
    let mut ways = Ways::new();
    for (stack, samples) in profile.stacks() {
        if let Some(at) = stack.iter().position(|frame| *frame == function) {
            *ways.entry(stack[..at].to_vec()).or_default() += samples;
        }
    }
    most(ways)
}

/// The frames above what a function does itself: of the ways on which the nearest caller whose name says something is the one found most often, the
/// commonest. Stacks of programs without frame pointers differ in what is further up; where no nearest caller stands out, functions are left out.
fn nearest_callers<'p>(profile: &'p Profile, function: &Frame) -> Vec<&'p Frame> {
    let mut by_nearest: BTreeMap<Option<&Frame>, (u64, Ways<'_>)> = BTreeMap::new();
    let mut all = 0;
    for (stack, samples) in profile.stacks() {
        let Some((_, above)) = stack.split_last().filter(|(innermost, _)| **innermost == function) else {
            continue;
        };
        let nearest = above.iter().rev().find(|it| it.kind.is_function() && says_what(&it.name));
        let (with, ways) = by_nearest.entry(nearest.copied()).or_default();
        *with += samples;
        all += samples;
        *ways.entry(above.to_vec()).or_default() += samples;
    }
    let Some((with, ways)) = by_nearest.into_values().max_by_key(|(with, _)| *with) else {
        return Vec::new();
    };
    let mut way = most(ways);
    if function.kind == FrameKind::User && (with as f64) < STANDS_OUT * all as f64 {
        way.retain(|frame| !frame.kind.is_function());
    }
    way
}

/// From this part of the samples of a function on its nearest caller stands out.
const STANDS_OUT: f64 = 0.3;

fn most<'p>(ways: Ways<'p>) -> Vec<&'p Frame> {
    ways.into_iter().max_by_key(|(_, samples)| *samples).map(|(way, _)| way).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use plimsoll_model::observation::{Arm, ProfileBuilder, ProfileClock, TracedCall};
    use proptest::prelude::*;

    use super::*;

    const HERTZ: u32 = 200;

    /// Stacks such as `relay;connect;lookup`, the first an owner and the others functions of the kernel, with their samples.
    fn sampled(operations: u64, stacks: &[(&str, u64)]) -> Sampled {
        let mut builder = ProfileBuilder::new(Arm::Treatment, ProfileClock::CpuClock, HERTZ);
        for (stack, samples) in stacks {
            let kinds = std::iter::once(FrameKind::Host).chain(std::iter::repeat(FrameKind::Kernel));
            let frames: Vec<Frame> =
                stack.split(';').zip(kinds).map(|(name, kind)| Frame::new(kind, name)).collect();
            builder.add(&frames, *samples);
        }
        Sampled { profile: builder.build(), operations, seconds: 10.0 }
    }

    fn names(functions: &[GrownFunction]) -> Vec<&str> {
        functions.iter().map(|function| function.function.as_str()).collect()
    }

    #[test]
    fn the_function_that_grew_is_named_and_not_all_those_that_call_it() {
        let before = sampled(1000, &[("relay;syscall;connect;route;walk", 20), ("relay;syscall;read", 200)]);
        let after = sampled(
            1000,
            &[
                ("relay;syscall;connect;route;walk", 900),
                ("softirq;receive;route;walk", 600),
                ("relay;syscall;read", 210),
            ],
        );
        let report = contrast(&before, &after, None, "connection").unwrap();
        assert!(report.grew);
        let narrowest = report.narrowest.unwrap();
        assert_eq!(narrowest.function, "walk");
        // 1480 samples of 5 ms over 1000 connections.
        assert!((narrowest.after_us - narrowest.before_us - 7400.0).abs() < 1e-6, "{narrowest:?}");
        assert!(narrowest.share > 0.99);
        assert_eq!(
            (narrowest.owner, narrowest.called_by.join(";")),
            (vec!["relay".to_owned()], "syscall;connect;route".to_owned())
        );
        assert_eq!(names(&report.functions), ["walk"]);
    }

    /// Stacks of a process on a host: its samples in the own code, and in the kernel.
    fn of_processes(processes: &[(&str, u64, u64)]) -> Sampled {
        let mut builder = ProfileBuilder::new(Arm::Treatment, ProfileClock::CpuClock, HERTZ);
        for (process, own, in_kernel) in processes {
            let owner = [Frame::new(FrameKind::Host, "here"), Frame::new(FrameKind::Process, *process)];
            for (kind, samples) in [(FrameKind::User, *own), (FrameKind::Kernel, *in_kernel)] {
                let frames: Vec<Frame> = owner.iter().cloned().chain([Frame::new(kind, "work")]).collect();
                builder.add(&frames, samples);
            }
        }
        Sampled { profile: builder.build(), operations: 1000, seconds: 10.0 }
    }

    #[test]
    fn a_process_grows_by_its_own_code_and_not_by_what_the_kernel_does_for_it() {
        let before = of_processes(&[("sort", 100, 100), ("awk", 100, 100), ("image-a", 500, 10)]);
        let after = of_processes(&[("sort", 900, 100), ("awk", 100, 900), ("image-b", 510, 10)]);
        let grown = contrast(&before, &after, None, "run").unwrap().programs;
        assert_eq!(names(&grown), ["sort"], "image-b may do the work of image-a");
        // 800 samples of 5 ms over 1000 runs.
        assert!((grown[0].after_us - grown[0].before_us - 4000.0).abs() < 1e-6, "{grown:?}");
        assert_eq!((grown[0].kind, grown[0].owner.clone()), (FrameKind::Process, vec!["here".to_owned()]));
    }

    #[test]
    fn a_function_that_was_only_renamed_has_not_grown() {
        let before = sampled(1000, &[("relay;alloc;__alloc_pages", 500), ("relay;walk.isra.0", 50)]);
        let after = sampled(1000, &[("relay;alloc;__alloc_pages_noprof", 500), ("relay;walk", 300)]);
        let report = contrast(&before, &after, None, "connection").unwrap();
        assert_eq!(names(&report.functions), ["walk"]);
        assert_eq!(report.functions[0].was.as_deref(), Some("walk.isra.0"));
        assert_eq!(report.functions[0].before_us, 250.0, "50 samples of 5 ms over 1000 connections");
        let same = sampled(1000, &[("relay;alloc;__alloc_pages_noprof", 500), ("relay;walk", 50)]);
        assert!(!contrast(&before, &same, None, "connection").unwrap().tells());
    }

    #[test]
    fn what_is_done_twice_as_often_is_no_dearer() {
        let before = sampled(1000, &[("relay;a", 300), ("relay;b", 300)]);
        let after = sampled(2000, &[("relay;a", 600), ("relay;b", 600)]);
        let report = contrast(&before, &after, None, "operation").unwrap();
        assert!(!report.tells() && report.functions.is_empty());
    }

    #[test]
    fn what_grew_on_the_control_as_well_is_the_machines_doing() {
        let (light, heavy) = (sampled(1000, &[("relay;a", 300)]), sampled(1000, &[("relay;a", 600)]));
        assert!(contrast(&light, &heavy, None, "connection").unwrap().grew);
        let spared = contrast(&light, &heavy, Some([&light, &heavy]), "connection").unwrap();
        assert!(!spared.tells());
        assert_eq!(spared.added_us(), (0.0, 0.0));
    }

    #[test]
    fn what_everything_in_a_program_is_below_is_no_answer() {
        let before = sampled(1000, &[("app;main;parse", 100)]);
        let after = sampled(
            1000,
            &[("app;main;[libc.so.6];list_contains;compare", 600), ("app;main;[libc.so.6];parse", 300)],
        );
        let narrowest = contrast(&before, &after, None, "operation").unwrap().narrowest.unwrap();
        assert_eq!(narrowest.function, "compare");
        let spread = sampled(
            1000,
            &[
                ("app;main;[libc.so.6];list_contains;compare", 300),
                ("app;main;[libc.so.6];list_contains;equal", 300),
                ("app;main;[libc.so.6];parse", 200),
            ],
        );
        let narrowest = contrast(&before, &spread, None, "operation").unwrap().narrowest.unwrap();
        assert_eq!(narrowest.function, "list_contains");
    }

    #[test]
    fn the_commonest_of_the_nearest_callers_that_say_something_stands_above_a_function() {
        let before = sampled(1000, &[("app;main;parse", 10)]);
        // Without frame pointers, what is further up differs from sample to sample.
        let after = sampled(
            1000,
            &[
                ("app;main;[app];run;scan;memcpy", 100),
                ("app;run;[app];scan;[app];memcpy", 90),
                ("app;main;copy;memcpy", 150),
            ],
        );
        let report = contrast(&before, &after, None, "run").unwrap();
        assert_eq!(report.functions[0].called_by, ["main", "[app]", "run", "scan"]);
    }

    #[test]
    fn growth_that_is_spread_over_many_has_no_narrowest_function() {
        let of = |samples: u64| {
            let names: Vec<String> = (0..6).map(|n| format!("p{n};f{n}")).collect();
            let stacks: Vec<(&str, u64)> = names.iter().map(|name| (name.as_str(), samples)).collect();
            sampled(1000, &stacks)
        };
        let report = contrast(&of(100), &of(300), None, "connection").unwrap();
        assert!(report.grew && report.narrowest.is_none());
        assert_eq!(report.functions.len(), 6);
    }

    /// Adds `count` calls of fsync by a process of the machine.
    fn with_syncs(sampled: Sampled, count: u64, seconds: f64) -> Sampled {
        Sampled { seconds, ..syncing(sampled, FrameKind::Others, "dd", count) }
    }

    fn syncing(mut sampled: Sampled, kind: FrameKind, process: &str, count: u64) -> Sampled {
        let owner = Frame::new(kind, "owner");
        let call = CallCount { call: TracedCall::FileSync, owner, process: process.into(), count };
        sampled.profile.calls.extend((count > 0).then_some(call));
        sampled
    }

    #[test]
    fn the_scripts_of_two_commands_are_one_program_under_two_names() {
        use plimsoll_model::observation::ServiceMember;
        let side = |process: &str, count| {
            let mut side = syncing(sampled(1000, &[("relay;a", 300)]), FrameKind::Host, process, count);
            let (service, process) = (seen::COMMAND.to_owned(), process.to_owned());
            side.profile.seen.members = vec![ServiceMember { service, process }];
            side
        };
        let of = |after| {
            let report = contrast(&side("good.sh", 800), &side("bad.sh", after), None, "run").unwrap();
            report.calls.iter().map(|it| (it.before_per_s > 0.0, it.process.clone())).collect::<Vec<_>>()
        };
        assert_eq!(of(800), []);
        assert_eq!(of(4000), [(true, "bad.sh".to_owned())]);
    }

    #[test]
    fn syncs_of_the_run_are_those_of_its_hosts_that_did_not_grow() {
        let side = |own: u64, foreign: u64| {
            let side = syncing(sampled(1000, &[("relay;a", 300)]), FrameKind::Host, "relay", own);
            syncing(syncing(side, FrameKind::Host, "dd", foreign), FrameKind::Others, "cron", 50)
        };
        let report = contrast(&side(800, 0), &side(500, 4000), None, "message").unwrap();
        let named: Vec<&str> = report.calls.iter().map(|it| it.process.as_str()).collect();
        assert_eq!((named, report.own_syncs_per_s), (vec!["dd"], 80.0));
        let idle = contrast(&side(0, 0), &side(0, 4000), None, "message").unwrap();
        assert_eq!(idle.own_syncs_per_s, 0.0);
    }

    #[test]
    fn calls_have_grown_only_where_there_are_more_in_each_second_and_for_each_operation() {
        let side =
            |operations: u64, count: u64| with_syncs(sampled(operations, &[("relay;a", 300)]), count, 10.0);
        let grown = |before: &Sampled, after: &Sampled| grown_calls(before, after).len();
        assert_eq!(grown(&side(1000, 0), &side(300, 500)), 1, "there were none before");
        assert_eq!(
            grown(&side(1000, 500), &side(300, 500)),
            0,
            "as many in each second, with fewer operations"
        );
        assert_eq!(grown(&side(300, 500), &side(1000, 1600)), 0, "as many for each operation");
        assert_eq!(grown(&side(1000, 5), &side(1000, 9)), 0, "chance");
    }

    #[test]
    fn a_side_without_samples_or_operations_tells_nothing() {
        let some = sampled(10, &[("relay;a", 30)]);
        assert!(contrast(&sampled(10, &[]), &some, None, "connection").is_none());
        assert!(contrast(&some, &sampled(0, &[("relay;a", 30)]), None, "connection").is_none());
    }

    /// Samples of the same mixture, by a small generator of its own.
    fn drawn(seed: u64, samples: u64) -> Vec<(String, u64)> {
        let mut state = seed;
        let mut counts = BTreeMap::new();
        for _ in 0..samples {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            *counts.entry(format!("p;f{}", (state >> 40) % 40)).or_insert(0) += 1;
        }
        counts.into_iter().collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]
        #[test]
        fn chance_names_no_function(seed in any::<u64>()) {
            let sides = [drawn(seed, 2000), drawn(seed ^ 0x5555, 2000)];
            let [before, after] = sides.map(|side| {
                let stacks: Vec<(&str, u64)> = side.iter().map(|(name, n)| (name.as_str(), *n)).collect();
                sampled(1000, &stacks)
            });
            prop_assert!(!contrast(&before, &after, None, "operation").unwrap().tells());
        }
    }
}
