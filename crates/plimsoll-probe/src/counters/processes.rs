//! The host's processes: how many, their CPU time, what they wait for.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::cpu_time;
use crate::small_file;
use plimsoll_inventory::Absence;

/// Sums over the processes.
#[derive(Debug, Default)]
pub(super) struct Processes {
    pub(super) values: BTreeMap<String, f64>,
    pub(super) absent: Vec<Absence>,
}

/// Reads all processes below `proc` that are in the network namespace of the calling thread. A process that ends meanwhile is
/// left out without a word: processes end.
pub(super) fn read(proc: &Path) -> Processes {
    let mut sum = Sum::default();
    let own = fs::read_link(proc.join("thread-self/ns/net")).ok();
    let entries = fs::read_dir(proc).into_iter().flatten().flatten();
    for entry in entries.filter(|entry| entry.file_name().as_encoded_bytes().iter().all(u8::is_ascii_digit)) {
        let directory = entry.path();
        let namespace = fs::read_link(directory.join("ns/net"));
        if own.is_some() {
            match namespace {
                Ok(namespace) if own.as_ref() == Some(&namespace) => {}
                Ok(_) => continue,
                Err(error) => {
                    sum.hidden += usize::from(error.kind() == std::io::ErrorKind::PermissionDenied);
                    continue;
                }
            }
        }
        sum.add(&directory);
    }
    sum.finish()
}

/// The fields of `/proc/PID/stat` that are used here; times in microseconds.
struct Stat {
    user: f64,
    system: f64,
    reaped_user: f64,
    reaped_system: f64,
    threads: f64,
}

impl Stat {
    /// Field numbers are those of proc_pid_stat(5). The name in parentheses may hold anything, parentheses too.
    fn parse(text: &str) -> Option<Self> {
        let mut fields = text.get(text.rfind(')')? + 1..)?.split_ascii_whitespace();
        let mut after_name = |skipped: usize| fields.nth(skipped)?.parse::<f64>().ok();
        let user = after_name(14 - 3)?;
        let (system, reaped_user, reaped_system) = (after_name(0)?, after_name(0)?, after_name(0)?);
        let threads = after_name(20 - 17 - 1)?;
        let [user, system, reaped_user, reaped_system] =
            [user, system, reaped_user, reaped_system].map(cpu_time::ticks);
        Some(Self { user, system, reaped_user, reaped_system, threads })
    }
}

#[derive(Default)]
struct Sum {
    count: usize,
    stat: [f64; 5],
    run_delay_us: Option<f64>,
    descriptors: usize,
    /// The share of its limit that a process uses at most, in per cent.
    fullest: f64,
    waits: BTreeMap<String, usize>,
    /// Processes that may not be looked into.
    hidden: usize,
    descriptors_hidden: usize,
}

impl Sum {
    fn add(&mut self, directory: &Path) {
        let Some(stat) = small_file::read(&directory.join("stat"))
            .ok()
            .and_then(|text| Stat::parse(&String::from_utf8_lossy(&text)))
        else {
            return;
        };
        self.count += 1;
        let fields = [stat.user, stat.system, stat.reaped_user, stat.reaped_system, stat.threads];
        self.stat.iter_mut().zip(fields).for_each(|(sum, field)| *sum += field);
        if let Some(delay_ns) = run_delay_ns(directory) {
            *self.run_delay_us.get_or_insert(0.0) += delay_ns / 1000.0;
        }
        match fs::read_dir(directory.join("fd")) {
            Ok(entries) => {
                let open = entries.count();
                self.descriptors += open;
                let limits = small_file::text(&directory.join("limits")).ok();
                if let Some(limit) = limits.and_then(|text| limit_of_files(&text)) {
                    self.fullest = self.fullest.max(100.0 * open as f64 / limit);
                }
            }
            Err(_) => self.descriptors_hidden += 1,
        }
        let tasks = fs::read_dir(directory.join("task")).into_iter().flatten().flatten();
        for task in tasks {
            self.add_wait(&task.path().join("wchan"));
        }
    }

    /// A task that runs has no wait site; the kernel writes 0 for it.
    fn add_wait(&mut self, wchan: &Path) {
        let Ok(symbol) = small_file::text(wchan) else { return };
        let symbol = symbol.trim();
        if !symbol.is_empty() && symbol != "0" {
            *self.waits.entry(symbol.to_owned()).or_default() += 1;
        }
    }

    fn finish(self) -> Processes {
        let mut values: BTreeMap<String, f64> = BTreeMap::new();
        let mut put = |name: &str, value: f64| {
            values.insert(name.to_owned(), value);
        };
        put("processes.count", self.count as f64);
        for (field, value) in
            ["user", "system", "reaped_user", "reaped_system", "threads"].iter().zip(self.stat)
        {
            put(&format!("processes.{field}"), value);
        }
        if let Some(delay) = self.run_delay_us {
            put("processes.run_delay", delay);
        }
        put("descriptors", self.descriptors as f64);
        put("descriptors.fullest", self.fullest);
        for (symbol, count) in &self.waits {
            put(&format!("wait.{symbol}"), *count as f64);
        }
        let mut absent = Vec::new();
        let mut miss = |what: &str, why: String| absent.push(Absence { file: what.to_owned(), why });
        if self.hidden > 0 {
            miss("other users' processes", format!("no permission to read {}", self.hidden));
        }
        if self.descriptors_hidden > 0 {
            miss(
                "descriptors",
                format!("no permission to read those of {} processes", self.descriptors_hidden),
            );
        }
        if self.waits.is_empty() && self.count > 0 {
            miss(
                "wait sites",
                "no process shows where it waits: needs CONFIG_KALLSYMS and permission".to_owned(),
            );
        }
        Processes { values, absent }
    }
}

/// The soft limit of open files, from `/proc/PID/limits`; `None` if there is none.
fn limit_of_files(text: &str) -> Option<f64> {
    let rest = text.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    rest.split_ascii_whitespace().next()?.parse().ok().filter(|limit| *limit > 0.0)
}

/// The second number of `/proc/PID/schedstat`, in nanoseconds; there without CONFIG_SCHEDSTATS, but not without
/// CONFIG_SCHED_INFO.
fn run_delay_ns(directory: &Path) -> Option<f64> {
    small_file::text(&directory.join("schedstat")).ok()?.split_ascii_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fields_are_found_behind_a_name_with_parentheses_and_blanks() {
        let line = "77 (a) b (c)) S 1 77 77 0 -1 4194560 500 0 0 0 12 34 56 78 20 0 3 0 100 0 0";
        let stat = Stat::parse(line).expect("a whole line");
        let found = [stat.user, stat.system, stat.reaped_user, stat.reaped_system, stat.threads];
        assert_eq!(found, [120_000.0, 340_000.0, 560_000.0, 780_000.0, 3.0]);
    }

    #[test]
    fn the_limit_of_open_files_is_the_soft_one() {
        let text = "Limit                     Soft Limit           Hard Limit           Units\n\
                    Max open files            1024                 524288               files\n";
        assert_eq!(limit_of_files(text), Some(1024.0));
        assert_eq!(limit_of_files("Max open files            unlimited  unlimited  files\n"), None);
    }

    #[test]
    fn a_line_that_was_cut_is_no_process() {
        for line in ["", "77 (a", "77 (a) S 1 77", "77 (a) S 1 77 77 0 -1 4194560 500 0 0 0 12 34 56 78 20 0"]
        {
            assert!(Stat::parse(line).is_none(), "{line:?}");
        }
    }
}
