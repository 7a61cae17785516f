//! How much memory workers need.

use std::fs;

use plimsoll_model::experiment::load::messaging::WorkersMemory;

/// Memory of the kernel that comes with workers, in `/proc/meminfo`.
const KERNELS: [&str; 3] = ["KernelStack:", "PageTables:", "SUnreclaim:"];

/// Memory before the workers were made, in bytes.
pub(super) struct Memory {
    /// Of the kernel.
    kernel: u64,
    /// Of this process.
    own: u64,
}

impl Memory {
    /// Memory now; `None` if the kernel does not report it.
    pub(super) fn now() -> Option<Self> {
        Some(Self { kernel: of_kernel()?, own: of_process(std::process::id())? })
    }

    /// Memory added since; `processes` are those that the workers are, or are in.
    pub(super) fn grown(&self, processes: &[u32]) -> Option<WorkersMemory> {
        let all: u64 = processes.iter().map(|pid| of_process(*pid)).sum::<Option<u64>>()?;
        let before = if processes == [std::process::id()] { self.own } else { 0 };
        Some(WorkersMemory {
            own_bytes: all.saturating_sub(before),
            kernel_bytes: of_kernel()?.saturating_sub(self.kernel),
        })
    }
}

fn of_kernel() -> Option<u64> {
    // The counts of each CPU are added to those of the machine when root reads this file; without that they may lag by some hundred pages.
    fs::read("/proc/sys/vm/stat_refresh").ok();
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    KERNELS.iter().map(|name| kilobytes(&text, name)).sum()
}

/// The pages of a process, shared ones in equal parts.
fn of_process(pid: u32) -> Option<u64> {
    kilobytes(&fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?, "Pss:")
}

/// The figure of a line `name  123 kB`, in bytes.
fn kilobytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse::<u64>().ok().map(|kilobytes| kilobytes << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_kilobytes_become_bytes() {
        let text = "Pss:                  12 kB\nPss_Anon:              9 kB\nPageTables:  x kB\n";
        assert_eq!(kilobytes(text, "Pss:"), Some(12 << 10));
        assert_eq!((kilobytes(text, "Rss:"), kilobytes(text, "PageTables:")), (None, None));
    }

    #[test]
    fn what_a_process_takes_is_weighed() {
        let before = Memory::now().expect("the kernel reports this process");
        let pages = std::hint::black_box(vec![7_u8; 32 << 20]);
        let grown = before.grown(&[std::process::id()]).expect("it still does");
        assert!(grown.own_bytes >= pages.len() as u64 * 9 / 10, "{grown:?}");
    }
}
