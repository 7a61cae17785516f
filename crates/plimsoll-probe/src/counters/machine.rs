//! Parsers of the files about the whole machine. What each value means and its unit stands in [`super`].

use plimsoll_model::counters::DISK_FIELDS;

use super::table::{Rows, Table};
use super::text::{decimal, hexadecimal, lines, name, words};
use crate::cpu_time;

const CPU_FIELDS: [&str; 10] =
    ["user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal", "guest", "guest_nice"];

/// The order of `enum { HI_SOFTIRQ ... }` in include/linux/interrupt.h.
const SOFTIRQS: [&str; 10] =
    ["HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU"];

/// `/proc/stat`.
pub(super) fn stat(rows: &mut Rows, table: &mut Table, text: &[u8]) {
    for line in lines(text) {
        let mut rest = words(line);
        let Some(key) = rest.next() else { continue };
        let prefix = || format!("machine.stat.{}", name(key));
        if key.starts_with(b"cpu") {
            let names = || CPU_FIELDS.map(|field| format!("{}.{field}", prefix())).to_vec();
            rows.set(table, key, names, rest.map(|word| decimal(word).map(cpu_time::ticks)));
        } else if key == b"softirq" {
            let names = || {
                let kinds = SOFTIRQS.iter().map(|kind| format!("{}.{kind}", prefix()));
                std::iter::once(prefix()).chain(kinds).collect()
            };
            rows.set(table, key, names, rest.map(decimal));
        } else if key != b"btime" {
            // Of `intr`, the first number is the sum; one for each of thousands of lines follows.
            rows.set(table, key, || vec![prefix()], rest.take(1).map(decimal));
        }
    }
}

/// Lines of a name and a number, such as `/proc/vmstat` and cgroup's `cpu.stat`.
pub(super) fn pairs(prefix: &'static str) -> impl Fn(&mut Rows, &mut Table, &[u8]) + Send {
    move |rows, table, text| {
        for line in lines(text) {
            let mut rest = words(line);
            let Some(key) = rest.next() else { continue };
            rows.set(table, key, || vec![format!("{prefix}{}", name(key))], rest.take(1).map(decimal));
        }
    }
}

/// `/proc/loadavg`.
pub(super) fn loadavg(rows: &mut Rows, table: &mut Table, text: &[u8]) {
    let names = || ["1m", "5m", "15m", "runnable", "tasks"].map(|n| format!("machine.loadavg.{n}")).to_vec();
    let fields = text.split(|&byte| byte == b'/' || byte.is_ascii_whitespace());
    rows.set(table, b"", names, fields.map(decimal));
}

/// `/proc/meminfo`.
pub(super) fn meminfo(rows: &mut Rows, table: &mut Table, text: &[u8]) {
    for line in lines(text) {
        let Some(colon) = line.iter().position(|&byte| byte == b':') else { continue };
        let (key, mut rest) = (&line[..colon], words(&line[colon + 1..]));
        let (number, unit) = (rest.next(), rest.next());
        let scale = if unit == Some(b"kB") { 1024.0 } else { 1.0 };
        let value = number.and_then(decimal).map(|n| n * scale);
        rows.set(table, key, || vec![format!("machine.meminfo.{}", name(key))], std::iter::once(value));
    }
}

/// A file below `/proc/pressure`: `some avg10=0.00 avg60=0.00 avg300=0.00 total=0`.
pub(super) fn pressure(resource: &'static str) -> impl Fn(&mut Rows, &mut Table, &[u8]) + Send {
    let prefix = format!("machine.pressure.{resource}");
    move |rows, table, text| pressure_lines(&prefix, rows, table, text)
}

/// Pressure stall information of a control group.
pub(super) fn pressure_of(prefix: &'static str) -> impl Fn(&mut Rows, &mut Table, &[u8]) + Send {
    move |rows, table, text| pressure_lines(prefix, rows, table, text)
}

fn pressure_lines(prefix: &str, rows: &mut Rows, table: &mut Table, text: &[u8]) {
    for line in lines(text) {
        let mut rest = words(line);
        let Some(key) = rest.next() else { continue };
        let total = rest.find_map(|word| decimal(word.strip_prefix(b"total=")?));
        rows.set(table, key, || vec![format!("{prefix}.{}", name(key))], std::iter::once(total));
    }
}

/// `/proc/schedstat`, versions 15 to 17: of each CPU the last three fields (kernel/sched/stats.c, `show_schedstat`).
pub(super) fn schedstat(rows: &mut Rows, table: &mut Table, text: &[u8]) {
    for line in lines(text).filter(|line| line.starts_with(b"cpu")) {
        let mut rest = words(line);
        let Some(key) = rest.next() else { continue };
        let names = || {
            let prefix = format!("machine.schedstat.{}", name(key));
            ["running", "run_delay", "timeslices"].map(|field| format!("{prefix}.{field}")).to_vec()
        };
        let mut last = rest.skip(6).map(decimal);
        let mut microseconds = || last.next().flatten().map(|ns| ns / 1000.0);
        let (running, delay) = (microseconds(), microseconds());
        let timeslices = last.next().flatten();
        rows.set(table, key, names, [running, delay, timeslices].into_iter());
    }
}

/// `/proc/diskstats`.
pub(super) fn diskstats(rows: &mut Rows, table: &mut Table, text: &[u8]) {
    for line in lines(text) {
        let mut rest = words(line).skip(2);
        let Some(key) = rest.next() else { continue };
        let names = || {
            let prefix = format!("machine.diskstats.{}", name(key));
            DISK_FIELDS.iter().map(|(field, _)| format!("{prefix}.{field}")).collect()
        };
        let scaled = rest.zip(DISK_FIELDS).map(|(word, (_, scale))| Some(decimal(word)? * scale));
        rows.set(table, key, names, scaled);
    }
}

/// `/proc/net/softnet_stat` (net/core/net-procfs.c, `softnet_seq_show`): one line of hexadecimal numbers for each CPU that is
/// online. The CPU's number is the 13th since Linux 5.10; before, it is the line's.
pub(super) fn softnet(rows: &mut Rows, table: &mut Table, text: &[u8]) {
    const FIELDS: [(&str, usize); 5] =
        [("processed", 0), ("dropped", 1), ("time_squeeze", 2), ("received_rps", 9), ("flow_limit", 10)];
    let mut sums = [0.0; FIELDS.len()];
    for (number, line) in lines(text).enumerate() {
        let column = |index| words(line).nth(index).and_then(hexadecimal);
        let cpu = column(12).unwrap_or(number as f64);
        let values = FIELDS.map(|(_, index)| column(index));
        for (sum, value) in sums.iter_mut().zip(values) {
            *sum += value.unwrap_or(0.0);
        }
        let names = || FIELDS.map(|(field, _)| format!("machine.softnet.cpu{cpu}.{field}")).to_vec();
        rows.set(table, &cpu.to_ne_bytes(), names, values.into_iter());
    }
    let names = || FIELDS.map(|(field, _)| format!("machine.softnet.{field}")).to_vec();
    rows.set(table, b"sum", names, sums.into_iter().map(Some));
}

/// `/proc/slabinfo`: objects in use and the bytes of all slabs, in use or not.
pub(super) fn slabinfo(rows: &mut Rows, table: &mut Table, text: &[u8]) {
    for line in lines(text).filter(|line| !line.starts_with(b"#") && !line.starts_with(b"slabinfo")) {
        let mut rest = words(line);
        let Some(key) = rest.next() else { continue };
        let mut number = || rest.next().and_then(decimal);
        let (active, objects, size) = (number(), number(), number());
        let bytes = objects.zip(size).map(|(objects, size)| objects * size);
        let names = || ["active", "bytes"].map(|n| format!("machine.slab.{}.{n}", name(key))).to_vec();
        rows.set(table, key, names, [active, bytes].into_iter());
    }
}

/// `/proc/interrupts`: the sum over all CPUs of each line, named by its number and, where there is one, its device.
pub(super) fn interrupts(rows: &mut Rows, table: &mut Table, text: &[u8]) {
    let mut all = lines(text);
    let cpus = all.next().map_or(0, |header| words(header).count());
    for line in all {
        let Some(colon) = line.iter().position(|&byte| byte == b':') else { continue };
        let key = line[..colon].trim_ascii();
        let counts = words(&line[colon + 1..]).take(cpus).map_while(decimal);
        let sum = counts.fold(None, |sum: Option<f64>, count| Some(sum.unwrap_or(0.0) + count));
        let names = || {
            let device = words(&line[colon + 1..]).last().filter(|_| key.iter().all(u8::is_ascii_digit));
            let device = device.map_or_else(String::new, |word| format!(".{}", name(word)));
            vec![format!("machine.interrupts.{}{device}", name(key))]
        };
        rows.set(table, key, names, std::iter::once(sum));
    }
}

/// `/proc/softirqs`: of each kind and each CPU.
pub(super) fn softirqs(rows: &mut Rows, table: &mut Table, text: &[u8]) {
    let mut all = lines(text);
    let Some(header) = all.next() else { return };
    for line in all {
        let Some(colon) = line.iter().position(|&byte| byte == b':') else { continue };
        let key = line[..colon].trim_ascii();
        let names = || {
            let cpus = words(header).map(|cpu| name(cpu).to_lowercase());
            cpus.map(|cpu| format!("machine.softirqs.{}.{cpu}", name(key))).collect()
        };
        rows.set(table, key, names, words(&line[colon + 1..]).map(decimal));
    }
}

/// `/proc/sys/fs/file-nr`: handles in use, handles free (always 0 today), the most that may be.
pub(super) fn file_nr(rows: &mut Rows, table: &mut Table, text: &[u8]) {
    let names = || ["allocated", "free", "max"].map(|n| format!("machine.file-nr.{n}")).to_vec();
    rows.set(table, b"", names, words(text).map(decimal));
}
