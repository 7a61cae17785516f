//! The processes of services, as they were seen last.
//!
//! A service may have thousands of processes that wait, and each slice looks twice. So a process is asked for its own time, which costs a tenth of
//! `/proc/PID/stat`. That file has the time of its ended children. It is read only where a child may have ended:
//!
//! - Processes are listed when a new number was given, so each child is known from then on, or has ended before.
//! - When a known process has ended, all others are asked.
//! - An unknown child costs its parent CPU time to start and to wait for, so those are asked whose own time moved.

use std::collections::HashMap;

use nix::unistd::{Pid, SysconfVar, sysconf};
use plimsoll_model::frame::Id;

use super::kernel::{Kernel, Stat};
use crate::ById;

/// The most passes over all processes until no child ended during one of them.
const MOST_PASSES: usize = 5;

/// All processes of the host.
#[derive(Default)]
pub(super) struct Processes {
    /// The services that there were when the processes were seen.
    groups: ById<Pid>,
    known: HashMap<i32, Process>,
    /// The number that was given to a process last, before the last look; `None` if it is not known.
    newest: Option<u32>,
    /// Whether that was a new one. The process with this number may have been too young for the list.
    lists_again: bool,
}

struct Process {
    inode: u64,
    service: Option<Id>,
    /// Its own time, in nanoseconds.
    own_ns: u64,
    /// Its own time when it was asked for that of its children.
    asked_at_ns: u64,
    /// Time of children that were waited for, in ticks.
    reaped: u64,
}

impl Processes {
    /// The CPU time of each service until now, in nanoseconds. What left its group belongs to it as long as its parents do, and from then on that
    /// it was seen to.
    pub(super) fn used(&mut self, groups: &ById<Pid>, kernel: &impl Kernel) -> ById<u64> {
        if groups.is_empty() {
            return ById::new();
        }
        if self.groups != *groups {
            *self = Self { groups: groups.clone(), ..Self::default() };
        }
        let newest = kernel.newest();
        let has_new = newest.is_none() || newest != self.newest;
        let lists = has_new || self.lists_again;
        let mut has_lost_some = lists && self.find(kernel);
        (self.newest, self.lists_again) = (newest, has_new);
        for _ in 0..MOST_PASSES {
            has_lost_some |= self.ask_each(kernel);
            // A child that ended after it was asked is in the time of its parent too.
            if !(lists || has_lost_some) || !self.ask_for_children(kernel, has_lost_some) {
                break;
            }
            has_lost_some = false;
        }
        let tick_ns = sysconf(SysconfVar::CLK_TCK)
            .ok()
            .flatten()
            .map_or(0, |hertz| 1_000_000_000 / hertz.unsigned_abs().max(1));
        let mut used: ById<u64> = groups.keys().map(|id| (*id, 0)).collect();
        for process in self.known.values() {
            if let Some(used) = process.service.and_then(|id| used.get_mut(&id)) {
                *used += process.own_ns + process.reaped.saturating_mul(tick_ns);
            }
        }
        used
    }

    /// Asks the processes of services for their own times; true where one has ended. The parent that reaped it has its time.
    fn ask_each(&mut self, kernel: &impl Kernel) -> bool {
        let ended = self.known.extract_if(|pid, process| {
            process.service.is_some() && kernel.own_ns(*pid).map(|ns| process.own_ns = ns).is_none()
        });
        ended.count() > 0
    }

    /// Asks processes of services for the times of their children: all, or those that did something; true where there is more.
    fn ask_for_children(&mut self, kernel: &impl Kernel, all: bool) -> bool {
        let mut has_more = false;
        for (pid, process) in &mut self.known {
            if process.service.is_none() || !all && process.own_ns == process.asked_at_ns {
                continue;
            }
            if let Some(stat) = kernel.stat(*pid) {
                has_more |= stat.reaped != process.reaped;
                (process.reaped, process.asked_at_ns) = (stat.reaped, process.own_ns);
            }
        }
        has_more
    }

    /// Forgets processes that have ended, and learns to which service new ones belong; true where one of a service has ended.
    fn find(&mut self, kernel: &impl Kernel) -> bool {
        let living = kernel.list();
        let ended = self.known.extract_if(|pid, process| living.get(pid) != Some(&process.inode));
        let has_lost_some = ended.fold(false, |lost, (_, process)| lost | process.service.is_some());
        let new =
            living.iter().filter(|(pid, _)| !self.known.contains_key(pid)).filter_map(|(pid, inode)| {
                let own_ns = kernel.own_ns(*pid)?;
                let stat = kernel.stat(*pid)?;
                Some((*pid, (stat, *inode, own_ns)))
            });
        let new: HashMap<i32, (Stat, u64, u64)> = new.collect();
        let parents = new.iter().map(|(pid, (stat, ..))| (*pid, *stat)).collect();
        let found = new.iter().map(|(pid, (stat, inode, own_ns))| {
            let service = self.service_of(*pid, &parents);
            let (own_ns, asked_at_ns) = (*own_ns, *own_ns);
            (*pid, Process { inode: *inode, service, own_ns, asked_at_ns, reaped: stat.reaped })
        });
        let found: Vec<_> = found.collect();
        self.known.extend(found);
        has_lost_some
    }

    /// The service that a new process is part of: its group says so, or that of a process above it.
    fn service_of(&self, pid: i32, new: &HashMap<i32, Stat>) -> Option<Id> {
        let mut above = pid;
        // There are no more generations than processes, also where the list was read while they changed.
        for _ in 0..=new.len() {
            if let Some(known) = self.known.get(&above) {
                return known.service;
            }
            let stat = new.get(&above)?;
            if let Some((id, _)) = self.groups.iter().find(|(_, group)| group.as_raw() == stat.group) {
                return Some(*id);
            }
            above = stat.parent;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use std::cell::{Cell, RefCell};
    use std::collections::BTreeMap;
    use std::io::{BufRead, BufReader, Write};
    use std::os::unix::process::CommandExt;
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};

    use super::super::kernel::Proc;
    use super::*;

    const TICK_NS: u64 = 10_000_000;
    const SHELL: i32 = 10;
    const CHILD: i32 = 11;

    /// What happens before a question, by its number.
    type Event = (usize, fn(&mut State));

    /// A kernel in which something happens before one of the questions.
    struct Fake {
        now: RefCell<State>,
        asked: Cell<usize>,
        events: RefCell<Vec<Event>>,
    }

    #[derive(Clone)]
    struct State {
        newest: u32,
        /// Each with its inode, its line and its own time.
        processes: BTreeMap<i32, (u64, Stat, u64)>,
    }

    impl State {
        fn add(&mut self, pid: i32, parent: i32, group: i32, own_ns: u64) {
            self.newest += 1;
            let stat = Stat { parent, group, reaped: 0 };
            self.processes.insert(pid, (self.newest.into(), stat, own_ns));
        }

        /// A process ends, and its parent gets its time and that of its children.
        fn end(&mut self, pid: i32) {
            let (_, stat, own_ns) = self.processes.remove(&pid).unwrap();
            self.processes.get_mut(&stat.parent).unwrap().1.reaped += own_ns / TICK_NS + stat.reaped;
        }

        fn run(&mut self, pid: i32, ns: u64) {
            self.processes.get_mut(&pid).unwrap().2 += ns;
        }
    }

    impl Fake {
        /// A shell that has used 5 ticks, a child of 3, and a stranger.
        fn new(events: &[Event]) -> Self {
            let mut now = State { newest: 100, processes: BTreeMap::new() };
            now.add(1, 0, 1, 70 * TICK_NS);
            now.add(SHELL, 1, SHELL, 5 * TICK_NS);
            now.add(CHILD, SHELL, SHELL, 3 * TICK_NS);
            Self { now: RefCell::new(now), asked: Cell::new(0), events: RefCell::new(events.to_vec()) }
        }

        fn ask(&self) -> std::cell::Ref<'_, State> {
            self.asked.set(self.asked.get() + 1);
            self.until(self.asked.get());
            self.now.borrow()
        }

        /// Lets all happen that has to before a question.
        fn until(&self, question: usize) {
            let due = self.events.borrow_mut().extract_if(.., |(at, _)| *at <= question).collect::<Vec<_>>();
            due.into_iter().for_each(|(_, event)| event(&mut self.now.borrow_mut()));
        }
    }

    impl Kernel for Fake {
        fn newest(&self) -> Option<u32> {
            Some(self.ask().newest)
        }

        fn list(&self) -> HashMap<i32, u64> {
            self.ask().processes.iter().map(|(pid, (inode, ..))| (*pid, *inode)).collect()
        }

        fn stat(&self, pid: i32) -> Option<Stat> {
            self.ask().processes.get(&pid).map(|(_, stat, _)| *stat)
        }

        fn own_ns(&self, pid: i32) -> Option<u64> {
            self.ask().processes.get(&pid).map(|(.., own_ns)| *own_ns)
        }
    }

    /// What three looks find while these things happen some questions after the first look.
    fn looks(events: &[Event]) -> [u64; 3] {
        let (kernel, mut processes) = (Fake::new(&[]), Processes::default());
        let groups = ById::from([(7, Pid::from_raw(SHELL))]);
        let first = processes.used(&groups, &kernel)[&7];
        let asked = kernel.asked.get();
        kernel.events.replace(events.iter().map(|(at, event)| (asked + at, *event)).collect());
        let second = processes.used(&groups, &kernel)[&7];
        kernel.until(usize::MAX);
        [first, second, processes.used(&groups, &kernel)[&7]]
    }

    #[test]
    fn a_child_that_ends_during_a_look_is_counted_once() {
        for at in 0..40 {
            assert_eq!(looks(&[(at, |now| now.end(CHILD))]), [8 * TICK_NS; 3], "question {at}");
            // Here the shell is asked for its children in any case.
            let [_, found @ ..] = looks(&[(0, |now| now.run(SHELL, 1)), (at, |now| now.end(CHILD))]);
            assert_eq!(found, [8 * TICK_NS + 1; 2], "question {at}");
        }
    }

    #[test]
    fn a_child_that_no_look_sees_is_counted_by_the_next() {
        for at in 0..40 {
            let [first, second, third] = looks(&[(at, |now| {
                now.add(12, SHELL, SHELL, 2 * TICK_NS);
                now.end(12);
                now.run(SHELL, 1);
            })]);
            assert_eq!([first, third], [8 * TICK_NS, 10 * TICK_NS + 1], "question {at}");
            assert!((first..=third).contains(&second), "question {at}: {second}");
        }
    }

    #[test]
    fn a_child_whose_number_is_known_before_it_is_listed_is_found_by_the_next_look() {
        for at in 0..10 {
            for later in 0..10 {
                let is_listed = |now: &mut State| {
                    now.add(12, SHELL, SHELL, 2 * TICK_NS);
                    now.newest -= 1;
                };
                let [.., third] = looks(&[(at, |now| now.newest += 1), (at + later, is_listed)]);
                assert_eq!(third, 10 * TICK_NS, "questions {at} and {later} later");
            }
        }
    }

    #[test]
    fn a_stranger_with_the_number_of_an_ended_child_is_nobody_of_the_service() {
        let reused = |now: &mut State| {
            now.end(CHILD);
            now.add(CHILD, 1, CHILD, 99 * TICK_NS);
        };
        assert_eq!(looks(&[(0, reused)]), [8 * TICK_NS; 3]);
    }

    #[test]
    fn a_process_that_left_its_group_and_its_parents_stays_part_of_the_service() {
        let left = |now: &mut State| {
            let (_, stat, _) = now.processes.get_mut(&CHILD).unwrap();
            (stat.parent, stat.group) = (1, CHILD);
            now.newest += 1;
        };
        assert_eq!(looks(&[(0, left)]), [8 * TICK_NS; 3]);
    }

    #[test]
    fn waiting_processes_are_asked_for_their_own_time_alone() {
        let (kernel, mut processes) = (Fake::new(&[]), Processes::default());
        let groups = ById::from([(7, Pid::from_raw(SHELL))]);
        let questions = |processes: &mut Processes| {
            let before = kernel.asked.get();
            processes.used(&groups, &kernel);
            kernel.asked.get() - before
        };
        // The newest number, and the two; the second look lists once more.
        let [_, second, third] = [(); 3].map(|()| questions(&mut processes));
        assert_eq!((second, third), (4, 3));
    }

    #[test]
    fn a_process_is_part_of_the_service_above_it_and_a_circle_is_of_none() {
        let stat = |parent, group| Stat { parent, group, reaped: 0 };
        let new = HashMap::from([
            (10, stat(1, 10)),
            (11, stat(10, 10)),
            (12, stat(11, 12)),
            (13, stat(9, 13)),
            (20, stat(1, 20)),
            (30, stat(31, 30)),
            (31, stat(30, 31)),
        ]);
        let before = Process { inode: 1, service: Some(8), own_ns: 0, asked_at_ns: 0, reaped: 0 };
        let processes = Processes {
            groups: ById::from([(7, Pid::from_raw(10))]),
            known: HashMap::from([(9, before)]),
            ..Processes::default()
        };
        let of = |pid| processes.service_of(pid, &new);
        let expected = [Some(7), Some(7), Some(7), Some(8), None, None, None];
        assert_eq!([10, 11, 12, 13, 20, 30, 99].map(of), expected);
    }

    /// Looks until a service has used so much, which it does sooner or later.
    fn look_until(processes: &mut Processes, groups: &ById<Pid>, id: Id, ns: u64) -> u64 {
        let until = Instant::now() + Duration::from_secs(60);
        loop {
            let used = processes.used(groups, &Proc)[&id];
            if used >= ns {
                return used;
            }
            assert!(Instant::now() < until, "service {id} has used {used} ns of {ns}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    #[test]
    fn a_service_keeps_the_time_of_children_that_ended_and_of_those_that_left_its_group() {
        let shell = |script: &str| {
            let mut command = Command::new("sh");
            command.args(["-c", script]).process_group(0);
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap()
        };
        let mut service = shell("while read line; do eval \"$line\"; done");
        let mut other = shell("read line");
        let groups = [(1, service.id()), (2, other.id())];
        let groups: ById<Pid> = groups.map(|(id, pid)| (id, Pid::from_raw(pid.cast_signed()))).into();
        let mut input = service.stdin.take().unwrap();
        let mut output = BufReader::new(service.stdout.take().unwrap()).lines();
        let mut processes = Processes::default();
        let mut used = processes.used(&groups, &Proc)[&1];
        let busy = "i=0; while [ $i -lt 9000000 ]; do i=$((i+1)); done";
        for start in [format!("({busy}) &"), format!("setsid sh -c '{busy}' &")] {
            writeln!(input, "{start}").unwrap();
            let before = look_until(&mut processes, &groups, 1, used + 10 * TICK_NS);
            writeln!(input, "kill $!; wait $!; echo ended").unwrap();
            assert_eq!(output.next().unwrap().unwrap(), "ended");
            used = processes.used(&groups, &Proc)[&1];
            // What its parent is charged with is cut to ticks, of user and of system time.
            assert!(used + 2 * TICK_NS >= before, "{used} ns after {before}");
        }
        // A child that ends before anybody looks.
        writeln!(input, "({}); echo ended", busy.replace("9000000", "300000")).unwrap();
        assert_eq!(output.next().unwrap().unwrap(), "ended");
        look_until(&mut processes, &groups, 1, used + TICK_NS);
        assert!(processes.used(&groups, &Proc)[&2] < 10 * TICK_NS);
        drop((input, other.stdin.take()));
        for shell in [&mut service, &mut other] {
            shell.wait().unwrap();
        }
    }
}
