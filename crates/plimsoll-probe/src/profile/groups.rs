//! The control groups of the processes of the run's hosts: which they are, what they are held to, and how often a quota stopped them.

use std::collections::HashSet;
use std::fs;
use std::sync::Arc;

use super::io_limits::{IoLimits, Limits};
use super::quotas::{Groups, Quotas};

/// Watches groups.
#[derive(Debug, Default)]
pub(super) struct ControlGroups {
    /// Watched groups: by the host's network namespace, what `/proc/PID/cgroup` says of its processes.
    known: HashSet<(u64, Arc<str>)>,
    quotas: Quotas,
    io_limits: IoLimits,
}

impl ControlGroups {
    /// A process of a host was seen in these groups: they are watched from now on.
    pub(super) fn watch(&mut self, namespace: u64, of_process: &Arc<str>) {
        if self.known.insert((namespace, Arc::clone(of_process))) {
            self.quotas.watch(namespace, of_process);
            self.io_limits.watch(namespace, of_process);
        }
    }

    /// What groups count is counted from now on.
    pub(super) fn begin(&mut self) {
        self.quotas.begin();
    }

    /// Adds what was counted since each group of these hosts was looked at last.
    pub(super) fn look(&mut self, is_of_now: impl Fn(u64) -> bool, groups: &mut Groups) {
        self.quotas.look(is_of_now, groups);
    }

    /// Adds what the groups of these hosts may ask of block devices now.
    pub(super) fn look_at_limits(&mut self, is_of_now: impl Fn(u64) -> bool, limits: &mut Limits) {
        self.io_limits.look(is_of_now, limits);
    }
}

/// The groups that a process is in, as the kernel tells them (cgroups(7)); `None` if it has ended.
///
/// The kernel holds `css_set_lock` meanwhile, which each fork takes (kernel/cgroup/cgroup.c): it is not to be asked for each of hundreds of processes again and
/// again.
pub(super) fn of_process(pid: u32) -> Option<String> {
    fs::read_to_string(format!("/proc/{pid}/cgroup")).ok()
}
