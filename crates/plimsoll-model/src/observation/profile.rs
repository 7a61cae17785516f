//! Samples of the stacks that CPUs were found in.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::seen::join;
use super::{Arm, CpuUse, Seen};

/// Content of one frame of a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FrameKind {
    /// A host of the run, that a process belongs to. Stacks of its processes begin with it.
    Host,
    /// Work of the kernel for no process in particular: softirqs that follow an interrupt, threads of its own.
    Shared,
    /// The rest of the machine, that processes of no host belong to.
    Others,
    /// Plimsoll's own processes that are no load and no service of a run: controllers, this run's and others', and what guards their hosts.
    Plimsoll,
    /// A process: the second frame of those that belong to a host, or to the rest of the machine.
    Process,
    /// A function of a program or of a library.
    User,
    /// A function of the kernel.
    Kernel,
}

/// A frame of a stack.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Frame {
    /// Kind of the frame.
    pub kind: FrameKind,
    /// Its name.
    pub name: String,
}

impl FrameKind {
    /// Whether it is a function, and not what the functions belong to.
    pub fn is_function(self) -> bool {
        matches!(self, Self::User | Self::Kernel)
    }
}

impl Frame {
    /// A frame.
    pub fn new(kind: FrameKind, name: impl Into<String>) -> Self {
        Self { kind, name: name.into() }
    }
}

/// A call that the kernel traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TracedCall {
    /// A file is made durable (fsync, fdatasync, msync, or a write to a file that was opened with O_SYNC).
    FileSync,
    /// All of a file system is made durable (sync, syncfs).
    FileSystemSync,
    /// A process of a service or of a measured command starts another one.
    Fork,
    /// A process handles a signal.
    Signal,
    /// A process is killed because memory has run out.
    OomKill,
    /// A process ends by a signal: it made a mistake that the CPU or itself found (SIGSEGV, SIGABRT, SIGBUS, SIGILL, SIGFPE), or is killed (SIGKILL).
    Crash,
}

impl TracedCall {
    /// Whether a process ends by it, which a single one is too many of.
    pub fn is_end(self) -> bool {
        matches!(self, Self::OomKill | Self::Crash)
    }

    /// Whether it makes files durable.
    pub fn is_sync(self) -> bool {
        matches!(self, Self::FileSync | Self::FileSystemSync)
    }

    /// Name before its caller; the killed process, for the last two.
    pub fn title(self) -> &'static str {
        match self {
            Self::FileSync => "fsync of a file by",
            Self::FileSystemSync => "sync of a file system by",
            Self::Fork => "process started by",
            Self::Signal => "signal handled by",
            Self::OomKill => "killed for lack of memory:",
            Self::Crash => "ended by a signal:",
        }
    }
}

/// How often a process made a call; for [`TracedCall::OomKill`] and [`TracedCall::Crash`], how often it was the one that ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallCount {
    /// The call.
    pub call: TracedCall,
    /// Owner of the process.
    pub owner: Frame,
    /// Its name.
    pub process: String,
    /// How often.
    pub count: u64,
}

/// Source of the samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProfileClock {
    /// The CPU's count of cycles, which interrupts the kernel everywhere.
    Cycles,
    /// A timer, for machines that do not count cycles. It does not see what runs with interrupts off; that is laid to where they come on again.
    CpuClock,
}

/// A node of the tree of stacks. There are thousands, so that it is written as a list of its three numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "(Option<u32>, u32, u64)", into = "(Option<u32>, u32, u64)")]
pub struct StackNode {
    /// The node that called it; none for the beginning of a stack. It comes before this one.
    pub parent: Option<u32>,
    /// Its frame, by its place in [`Profile::frames`].
    pub frame: u32,
    /// Samples that were taken in it, without those in what it called.
    pub own: u64,
}

impl From<(Option<u32>, u32, u64)> for StackNode {
    fn from((parent, frame, own): (Option<u32>, u32, u64)) -> Self {
        Self { parent, frame, own }
    }
}

impl From<StackNode> for (Option<u32>, u32, u64) {
    fn from(node: StackNode) -> Self {
        (node.parent, node.frame, node.own)
    }
}

/// Where the CPUs were while the slices of a phase ran on one rig. Idle CPUs are not in it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Profile {
    /// The rig.
    pub arm: Arm,
    /// Source of the samples.
    pub clock: ProfileClock,
    /// Samples per second and CPU: each stands for this part of a second of CPU time.
    pub hertz: u32,
    /// Samples that the kernel had no room for.
    pub lost: u64,
    /// Idle time of CPUs, as the samples that busy CPUs would have had in it.
    pub idle: u64,
    /// The frames that occur.
    pub frames: Vec<Frame>,
    /// The stacks as a tree, each node after the one that called it.
    pub nodes: Vec<StackNode>,
    /// Calls that were traced meanwhile, those of the whole machine.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<CallCount>,
    /// Other observations of processes meanwhile.
    #[serde(default, skip_serializing_if = "Seen::is_empty")]
    pub seen: Seen,
}

impl Profile {
    /// Without any sample.
    #[must_use]
    pub fn new(arm: Arm, clock: ProfileClock, hertz: u32) -> Self {
        Self {
            arm,
            clock,
            hertz,
            lost: 0,
            idle: 0,
            frames: Vec::new(),
            nodes: Vec::new(),
            calls: Vec::new(),
            seen: Seen::default(),
        }
    }

    /// Samples of CPUs that were busy.
    pub fn samples(&self) -> u64 {
        self.nodes.iter().map(|node| node.own).sum()
    }

    /// The frame of a node; `None` if the record is damaged.
    pub fn frame(&self, node: &StackNode) -> Option<&Frame> {
        self.frames.get(node.frame as usize)
    }

    /// The frames of a node's stack, the innermost first.
    pub fn stack<'p>(&'p self, node: &'p StackNode) -> impl Iterator<Item = &'p Frame> {
        let mut at = Some(node);
        std::iter::from_fn(move || {
            let node = at?;
            at = node.parent.and_then(|parent| self.nodes.get(parent as usize));
            self.frame(node)
        })
    }

    /// The samples of each stack, its frames from the outermost to the innermost.
    pub fn stacks(&self) -> impl Iterator<Item = (Vec<&Frame>, u64)> {
        self.nodes.iter().filter(|node| node.own > 0).map(|node| {
            let mut frames: Vec<&Frame> = self.stack(node).collect();
            frames.reverse();
            (frames, node.own)
        })
    }

    /// Without the stacks of other processes of the machine, and of Plimsoll's own. Where no stack belongs to a host, as where hosts share the machine's network
    /// namespace, they cannot be distinguished and all are kept.
    #[must_use]
    pub fn of_the_run(&self) -> Self {
        self.of_the_run_among(self.knows_hosts())
    }

    /// Whether a stack belongs to a host.
    pub fn knows_hosts(&self) -> bool {
        self.stacks().any(|(stack, _)| stack.first().is_some_and(|frame| frame.kind == FrameKind::Host))
    }

    /// As [`Self::of_the_run`], where it is known of other profiles of the run whether stacks belong to hosts: a service that waits has none.
    #[must_use]
    pub fn of_the_run_among(&self, knows_hosts: bool) -> Self {
        let begins_with = |stack: &[&Frame], kind| stack.first().is_some_and(|frame| frame.kind == kind);
        let is_foreign = |stack: &[&Frame]| {
            begins_with(stack, FrameKind::Plimsoll) || knows_hosts && begins_with(stack, FrameKind::Others)
        };
        let mut seen = self.seen.clone();
        for (stack, samples) in self.stacks() {
            if let [owner, Frame { kind: FrameKind::Process, name }, ..] = stack[..] {
                seen.cpu(CpuUse { owner: owner.clone(), process: name.clone(), samples });
            }
        }
        self.without(is_foreign, &seen)
    }

    /// Without these hosts. Of a guest the machine sees the emulator alone, and the guest's own profile tells more.
    #[must_use]
    pub fn without_hosts(&self, hosts: &BTreeSet<String>) -> Self {
        let is_theirs = |owner: &Frame| owner.kind == FrameKind::Host && hosts.contains(&owner.name);
        let mut seen = self.seen.clone();
        seen.retain(|owner| !is_theirs(owner));
        let mut rest = self.without(|stack| stack.first().is_some_and(|owner| is_theirs(owner)), &seen);
        rest.calls.retain(|call| !is_theirs(&call.owner));
        rest
    }

    /// Together with what a guest of this machine sampled in the same time. Idle time is the machine's, whose CPUs the guest has. A profiler that
    /// sampled no stacks sets no rate.
    #[must_use]
    pub fn beside(&self, other: &Self) -> Self {
        let rate = if self.hertz > 0 { self } else { other };
        let by_timer = [self, other].iter().any(|it| it.hertz > 0 && it.clock == ProfileClock::CpuClock);
        let clock = if by_timer { ProfileClock::CpuClock } else { rate.clock };
        let mut both = ProfileBuilder::new(self.arm, clock, rate.hertz);
        both.merge(self);
        both.merge(other);
        let mut both = both.build();
        both.idle = rate.idle;
        both.seen.last_as_long_as(&self.seen, &other.seen);
        both
    }

    fn without(&self, is_foreign: impl Fn(&[&Frame]) -> bool, seen: &Seen) -> Self {
        let mut own = ProfileBuilder::new(self.arm, self.clock, self.hertz);
        for (stack, samples) in self.stacks().filter(|(stack, _)| !is_foreign(stack)) {
            own.add(stack, samples);
        }
        own.miss(self.lost, self.idle);
        self.calls.iter().for_each(|call| own.call(call));
        own.see(seen);
        own.build()
    }

    /// The samples of each function, alone and with what it called. A function that calls itself counts once for each sample.
    pub fn functions(&self) -> BTreeMap<&Frame, FunctionSamples> {
        let mut functions: BTreeMap<&Frame, FunctionSamples> = BTreeMap::new();
        for node in self.nodes.iter().filter(|node| node.own > 0) {
            let mut frames: Vec<&Frame> = self.stack(node).collect();
            if let Some(innermost) = frames.first() {
                functions.entry(innermost).or_default().own += node.own;
            }
            frames.sort_unstable();
            frames.dedup();
            for frame in frames {
                functions.entry(frame).or_default().all += node.own;
            }
        }
        functions
    }
}

/// Functions of the C library that programs call for everything (string, malloc in glibc).
const HELPERS: [&str; 19] = [
    "memcpy",
    "memmove",
    "memset",
    "memcmp",
    "memchr",
    "strlen",
    "strcmp",
    "strncmp",
    "strchr",
    "strcpy",
    "malloc",
    "calloc",
    "realloc",
    "free",
    "cfree",
    "_int_malloc",
    "_int_free",
    "malloc_consolidate",
    "unlink_chunk",
];

/// Whether it is a function of the C library whose caller tells what is done.
pub fn is_helper(function: &str) -> bool {
    HELPERS.contains(&function)
}

/// The program of a process: its name without the service that the process is part of, as in `gzip (command)`.
pub fn program_of(process: &str) -> &str {
    process.split_once(" (").map_or(process, |(program, _)| program)
}

/// How often a function was found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FunctionSamples {
    /// Itself.
    pub own: u64,
    /// Itself, or something that it called.
    pub all: u64,
}

/// Puts stacks together into a profile.
#[derive(Debug)]
pub struct ProfileBuilder {
    profile: Profile,
    frames: HashMap<Frame, u32>,
    nodes: HashMap<(Option<u32>, u32), u32>,
}

impl ProfileBuilder {
    /// Begins with a profile without samples.
    #[must_use]
    pub fn new(arm: Arm, clock: ProfileClock, hertz: u32) -> Self {
        Self { profile: Profile::new(arm, clock, hertz), frames: HashMap::new(), nodes: HashMap::new() }
    }

    /// Counts a stack, its frames from the outermost to the innermost. One without any frame is left out.
    pub fn add<'f>(&mut self, stack: impl IntoIterator<Item = &'f Frame>, samples: u64) {
        let mut at = None;
        for frame in stack {
            at = Some(self.node(at, frame));
        }
        if let Some(node) = at.and_then(|at| self.profile.nodes.get_mut(at as usize)) {
            node.own += samples;
        }
    }

    /// Counts what another profile has.
    pub fn merge(&mut self, other: &Profile) {
        for (stack, samples) in other.stacks() {
            self.add(stack, samples);
        }
        self.miss(other.lost, other.idle);
        other.calls.iter().for_each(|call| self.call(call));
        self.see(&other.seen);
    }

    /// Counts what else was seen of processes.
    pub fn see(&mut self, seen: &Seen) {
        self.profile.seen.merge(seen);
    }

    /// Counts traced calls.
    pub fn call(&mut self, more: &CallCount) {
        let about =
            |a: &CallCount, b: &CallCount| (a.call, &a.owner, &a.process) == (b.call, &b.owner, &b.process);
        join(&mut self.profile.calls, more.clone(), about, |known, more| known.count += more.count);
    }

    /// Counts samples that are in no stack.
    pub fn miss(&mut self, lost: u64, idle: u64) {
        self.profile.lost += lost;
        self.profile.idle += idle;
    }

    /// The profile.
    pub fn build(self) -> Profile {
        self.profile
    }

    fn node(&mut self, parent: Option<u32>, frame: &Frame) -> u32 {
        let frame = match self.frames.get(frame) {
            Some(id) => *id,
            None => {
                let id = number(self.profile.frames.len());
                self.profile.frames.push(frame.clone());
                self.frames.insert(frame.clone(), id);
                id
            }
        };
        *self.nodes.entry((parent, frame)).or_insert_with(|| {
            self.profile.nodes.push(StackNode { parent, frame, own: 0 });
            number(self.profile.nodes.len() - 1)
        })
    }
}

fn number(place: usize) -> u32 {
    u32::try_from(place).expect("a profile has fewer than four billion nodes")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn frame(name: &str) -> Frame {
        Frame::new(FrameKind::Kernel, name)
    }

    fn built(stacks: &[(Vec<Frame>, u64)]) -> Profile {
        let mut builder = ProfileBuilder::new(Arm::Treatment, ProfileClock::CpuClock, 199);
        for (stack, samples) in stacks {
            builder.add(stack, *samples);
        }
        builder.build()
    }

    #[test]
    fn a_function_that_calls_itself_counts_once_for_each_sample() {
        let (walk, step) = (frame("walk"), frame("step"));
        let profile = built(&[(vec![walk.clone(), walk.clone(), step.clone()], 3), (vec![walk.clone()], 1)]);
        let functions = profile.functions();
        assert_eq!(functions[&walk], FunctionSamples { own: 1, all: 4 });
        assert_eq!(functions[&step], FunctionSamples { own: 3, all: 3 });
        assert_eq!(profile.samples(), 4);
    }

    #[test]
    fn a_guests_own_profile_replaces_that_of_its_emulator() {
        let [server, client] = ["server", "client"].map(|name| Frame::new(FrameKind::Host, name));
        let mut machine =
            built(&[(vec![server.clone(), frame("emulate")], 50), (vec![client.clone(), frame("send")], 4)]);
        (machine.idle, machine.seen.sampled_us) = (7, 1000);
        let call = |owner: &Frame| CallCount {
            call: TracedCall::FileSync,
            owner: owner.clone(),
            process: "it".into(),
            count: 1,
        };
        machine.calls = vec![call(&server), call(&client)];
        machine.seen.cpu(CpuUse { owner: server.clone(), process: "qemu".into(), samples: 50 });
        let mut guest = built(&[(vec![server, frame("walk")], 40)]);
        (guest.idle, guest.seen.sampled_us) = (9, 900);
        let rest = machine.without_hosts(&BTreeSet::from(["server".to_owned()]));
        assert_eq!((rest.samples(), &rest.calls, rest.seen.cpu_use.len()), (4, &vec![call(&client)], 0));
        let both = rest.beside(&guest);
        let of = |name: &str| both.functions().get(&frame(name)).map(|it| it.own);
        assert_eq!((of("emulate"), of("walk"), of("send")), (None, Some(40), Some(4)));
        assert_eq!((both.idle, both.seen.sampled_us, both.hertz), (7, 1000, 199));
    }

    #[test]
    fn a_profiler_without_samples_sets_no_rate() {
        let silent = Profile::new(Arm::Treatment, ProfileClock::Cycles, 0);
        let guest = built(&[(vec![frame("walk")], 3)]);
        let both = silent.beside(&guest);
        assert_eq!((both.hertz, both.clock, both.samples()), (199, ProfileClock::CpuClock, 3));
        let counted = Profile::new(Arm::Treatment, ProfileClock::Cycles, 199);
        assert_eq!(counted.beside(&silent).clock, ProfileClock::Cycles);
        assert_eq!(counted.beside(&guest).clock, ProfileClock::CpuClock, "the weaker of two");
    }

    #[test]
    fn other_processes_of_the_machine_are_left_out_where_they_are_marked() {
        let [host, others] = [FrameKind::Host, FrameKind::Others].map(|kind| Frame::new(kind, "it"));
        let (shared, work) = (Frame::new(FrameKind::Shared, "softirq"), frame("work"));
        let theirs = (vec![others, work.clone()], 5);
        let ours = (vec![host, work.clone()], 2);
        let all = built(&[theirs.clone(), ours, (vec![shared, work], 1)]).of_the_run();
        assert_eq!(all.samples(), 3);
        assert_eq!(built(&[theirs]).of_the_run().samples(), 5);
    }

    proptest! {
        #[test]
        fn no_sample_is_lost_in_the_tree_nor_when_profiles_are_merged(
            stacks in prop::collection::vec((prop::collection::vec("[a-e]", 1..6), 1..9_u64), 0..30),
        ) {
            let stacks: Vec<(Vec<Frame>, u64)> = stacks
                .into_iter()
                .map(|(names, samples)| (names.iter().map(|name| frame(name)).collect(), samples))
                .collect();
            let mut counted: BTreeMap<Vec<&Frame>, u64> = BTreeMap::new();
            for (stack, samples) in &stacks {
                *counted.entry(stack.iter().collect()).or_default() += samples;
            }
            let profile = built(&stacks);
            prop_assert_eq!(profile.stacks().collect::<BTreeMap<_, _>>(), counted);
            for (place, node) in profile.nodes.iter().enumerate() {
                prop_assert!(node.parent.is_none_or(|parent| (parent as usize) < place));
            }
            let mut twice = ProfileBuilder::new(Arm::Treatment, ProfileClock::CpuClock, 199);
            twice.merge(&profile);
            twice.merge(&profile);
            let twice = twice.build();
            prop_assert_eq!(twice.samples(), 2 * profile.samples());
            prop_assert_eq!(twice.nodes.len(), profile.nodes.len());
        }
    }
}
