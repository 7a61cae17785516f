//! CPU time of services: of all processes that they consist of.

mod kernel;
mod processes;

use std::time::{Duration, Instant};

use nix::unistd::Pid;
use plimsoll_probe::counters::FRESH;
use plimsoll_probe::thread_cpu_time;

use self::kernel::Proc;
use self::processes::Processes;
use crate::ById;

/// A look takes at most this part of the time since the last one.
const MOST_COST: f64 = 0.01;

/// CPU time of services between two moments.
#[derive(Default)]
pub(crate) struct ServicesTime {
    processes: Processes,
    /// What each service had used when it was marked, in nanoseconds.
    marked: ById<u64>,
    last: Option<Look>,
}

/// The last look at what services have used.
struct Look {
    /// A service that was started again has another group.
    groups: ById<Pid>,
    used: ById<u64>,
    at: Instant,
    /// CPU time that the look took.
    cost: Duration,
}

impl Look {
    /// Whether this look can begin a slice that starts after such a pause. Services with thousands of processes wait in a short pause, while the other
    /// rig has its slice, and another look at them would cost more than they use.
    fn begins_after(&self, pause: Duration) -> bool {
        pause < FRESH.max(self.cost.div_f64(MOST_COST))
    }
}

impl ServicesTime {
    /// Remembers what services have used until now, each by the group of processes that it was started as.
    pub(crate) fn mark(&mut self, groups: &ById<Pid>) {
        let begins = |it: &Look| it.begins_after(it.at.elapsed()) && it.groups == *groups;
        let last = self.last.take().filter(begins);
        self.marked = last.map_or_else(|| self.processes.used(groups, &Proc), |it| it.used);
    }

    /// What all of them used since then, in microseconds; `None` if they are not the same services, or none.
    pub(crate) fn since_mark(&mut self, groups: &ById<Pid>) -> Option<u64> {
        let before = thread_cpu_time();
        let used = self.processes.used(groups, &Proc);
        let cost = thread_cpu_time().saturating_sub(before);
        let spent = spent(&self.marked, &used);
        self.last = Some(Look { groups: groups.clone(), used, at: Instant::now(), cost });
        spent
    }
}

fn spent(before: &ById<u64>, after: &ById<u64>) -> Option<u64> {
    if after.is_empty() || !before.keys().eq(after.keys()) {
        return None;
    }
    let each = after.iter().map(|(id, ns)| ns.checked_sub(before[id]));
    each.sum::<Option<u64>>().map(|ns| ns / 1000)
}

#[cfg(test)]
mod tests {
    use plimsoll_model::frame::Id;

    use super::*;

    #[test]
    fn the_end_of_a_slice_begins_the_next_where_it_follows_soon() {
        let begins = |cost_us, pause_ms| {
            let (groups, used, at) = (ById::new(), ById::new(), Instant::now());
            let look = Look { groups, used, at, cost: Duration::from_micros(cost_us) };
            look.begins_after(Duration::from_millis(pause_ms))
        };
        assert!(begins(1, 4) && !begins(1, 6), "a cheap look");
        assert!(begins(420, 30) && !begins(420, 60), "one at 250 processes");
    }

    #[test]
    fn time_is_known_where_the_same_services_run_before_and_after() {
        let at = |ns: &[(Id, u64)]| ns.iter().copied().collect::<ById<u64>>();
        assert_eq!(spent(&at(&[(1, 5_000), (2, 0)]), &at(&[(1, 9_000), (2, 3_000)])), Some(7));
        assert_eq!(spent(&at(&[(1, 5_000)]), &at(&[(1, 9_000), (2, 3_000)])), None);
        assert_eq!(spent(&at(&[(1, 5_000)]), &at(&[(1, 4_000)])), None);
        assert_eq!(spent(&ById::new(), &ById::new()), None);
    }
}
