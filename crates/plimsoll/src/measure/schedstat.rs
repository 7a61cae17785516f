//! How long a process waited for a CPU, as the kernel's scheduler counts it (`/proc/PID/schedstat`, Linux
//! Documentation/scheduler/sched-stats.rst).
//!
//! On a busy machine most of the noise in a wall time is the time that the command stood ready while others ran. Of a command that is
//! a single thread the kernel knows that time to the nanosecond, and all of it is the doing of others. So is the time from its end until
//! Plimsoll itself gets a CPU to read the clock.

use std::time::Duration;

use nix::unistd::Pid;

/// The first thread does this share of all of a command's work where it is the only one.
const ALONE: f64 = 0.95;

/// The scheduler's counts of the first thread of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Scheduled {
    /// The time on a CPU.
    ran: Duration,
    /// The time ready to run, and waiting for a CPU.
    waited: Duration,
}

impl Scheduled {
    /// Counts of a process that runs, or has ended and was not waited for; `None` if the kernel counts nothing.
    pub(super) fn of(pid: Pid) -> Option<Self> {
        let text = std::fs::read_to_string(format!("/proc/{pid}/schedstat")).ok()?;
        Self::parse(&text).filter(|counted| counted.ran > Duration::ZERO)
    }

    /// The counts of the calling thread.
    pub(super) fn own() -> Option<Self> {
        std::fs::read_to_string("/proc/thread-self/schedstat").ok().as_deref().and_then(Self::parse)
    }

    /// The time ready to run, and waiting for a CPU.
    pub(super) fn waited(&self) -> Duration {
        self.waited
    }

    /// How long the same thread waited since an earlier count.
    pub(super) fn waited_since(&self, earlier: &Self) -> Duration {
        self.waited.saturating_sub(earlier.waited)
    }

    fn parse(text: &str) -> Option<Self> {
        let mut fields = text.split_ascii_whitespace().map(|field| field.parse().map(Duration::from_nanos));
        Some(Self { ran: fields.next()?.ok()?, waited: fields.next()?.ok()? })
    }

    /// The time that a command waited because of others, given the CPU time of all its threads and children. Of a command that has
    /// more than one of them it is not known: they may have waited for each other.
    pub(super) fn waited_for_others(&self, cpu: Duration) -> Option<Duration> {
        (self.ran.as_secs_f64() >= ALONE * cpu.as_secs_f64()).then_some(self.waited)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_did_all_the_work_waited_for_others_alone() {
        let counted = Scheduled::parse("80000000 30000000 12\n").unwrap();
        assert_eq!(counted.waited_for_others(Duration::from_millis(80)), Some(Duration::from_millis(30)));
        assert_eq!(
            counted.waited_for_others(Duration::from_millis(160)),
            None,
            "half of it in another thread"
        );
    }

    #[test]
    fn a_kernel_that_counts_nothing_is_no_wait_of_zero() {
        assert_eq!(Scheduled::parse(""), None);
        assert_eq!(Scheduled::of(Pid::from_raw(i32::MAX)), None, "there is no such process");
    }

    #[test]
    fn the_own_process_has_run() {
        assert!(Scheduled::of(Pid::this()).is_some());
        let (earlier, later) = (Scheduled::own().unwrap(), Scheduled::own().unwrap());
        assert!(later.ran >= earlier.ran);
    }
}
