//! CPU time of services: of all processes that they consist of.

mod kernel;
mod processes;

use std::time::Instant;

use nix::unistd::Pid;
use plimsoll_probe::counters::FRESH;

use self::kernel::Proc;
use self::processes::Processes;
use crate::ById;

/// CPU time of services between two moments.
#[derive(Default)]
pub(crate) struct ServicesTime {
    processes: Processes,
    /// What each service had used when it was marked, in nanoseconds.
    marked: ById<u64>,
    /// What they had used at the last question, and when that was.
    last: Option<(ById<u64>, Instant)>,
}

impl ServicesTime {
    /// Remembers what services have used until now, each by the group of processes that it was started as.
    pub(crate) fn mark(&mut self, groups: &ById<Pid>) {
        // The end of one slice is the beginning of the next, where that follows at once.
        let last =
            self.last.take().filter(|(used, at)| at.elapsed() < FRESH && used.keys().eq(groups.keys()));
        self.marked = last.map_or_else(|| self.processes.used(groups, &Proc), |(used, _)| used);
    }

    /// What all of them used since then, in microseconds; nothing where they are not the same services, or none.
    pub(crate) fn since_mark(&mut self, groups: &ById<Pid>) -> Option<u64> {
        let used = self.processes.used(groups, &Proc);
        let spent = spent(&self.marked, &used);
        self.last = Some((used, Instant::now()));
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
    fn time_is_known_where_the_same_services_run_before_and_after() {
        let at = |ns: &[(Id, u64)]| ns.iter().copied().collect::<ById<u64>>();
        assert_eq!(spent(&at(&[(1, 5_000), (2, 0)]), &at(&[(1, 9_000), (2, 3_000)])), Some(7));
        assert_eq!(spent(&at(&[(1, 5_000)]), &at(&[(1, 9_000), (2, 3_000)])), None);
        assert_eq!(spent(&at(&[(1, 5_000)]), &at(&[(1, 4_000)])), None);
        assert_eq!(spent(&ById::new(), &ById::new()), None);
    }
}
