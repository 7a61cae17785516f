//! `top -b` and `free`: the CPUs' time, memory, and the processes that use most.

use std::collections::BTreeMap;

use super::{Format, Out, Reading, Section, command_words, decimal};

pub(super) const TOP: Format = Format {
    program: "top -b",
    is_command: |command| command_words(command).0 == "top",
    starts: |lines| lines[0].starts_with("top - ") && lines[0].contains("load average:"),
    read: top,
};
pub(super) const FREE: Format = Format {
    program: "free",
    is_command: |command| command_words(command).0 == "free",
    starts: |lines| {
        let words: Vec<&str> = lines[0].split_ascii_whitespace().collect();
        words.starts_with(&["total", "used", "free"])
    },
    read: free,
};

/// Threads of the kernel, by how their names begin (kernel/workqueue.c, kernel/softirq.c, mm/vmscan.c ...).
const KERNEL_THREADS: [&str; 12] = [
    "kworker/",
    "ksoftirqd/",
    "kswapd",
    "kcompactd",
    "khugepaged",
    "migration/",
    "rcu_",
    "rcuop/",
    "jbd2/",
    "irq/",
    "kauditd",
    "ksmd",
];

pub(super) fn is_kernel_thread(command: &str) -> bool {
    KERNEL_THREADS.iter().any(|start| command.starts_with(start))
}

/// The letters of `%Cpu(s)`: top(1).
const STATES: [(&str, &str); 8] = [
    ("us", "user"),
    ("ni", "nice"),
    ("sy", "system"),
    ("id", "idle"),
    ("wa", "iowait"),
    ("hi", "irq"),
    ("si", "softirq"),
    ("st", "steal"),
];

fn top(section: &Section<'_>, out: &mut Out) {
    let mut heading: Vec<&str> = Vec::new();
    let mut moments = 0_usize;
    // Processes of one name together; one that is absent from a moment used nothing.
    let mut processes: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    // How often a process was listed, and as stopped.
    let mut stops: BTreeMap<String, (f64, f64)> = BTreeMap::new();
    // The highest nice value of each: the lowest priority.
    let mut nice: BTreeMap<String, f64> = BTreeMap::new();
    section.each(out, |line, reading| {
        let text = line.trim();
        if text.starts_with("top - ") {
            (heading, moments) = (Vec::new(), moments + 1);
        } else if let Some((_, states)) = text.split_once("Cpu(s):") {
            cpu(states, reading);
        } else if text.starts_with("PID ") {
            heading = text.split_ascii_whitespace().collect();
        } else if heading.is_empty() {
            if !["Tasks:", "Threads:", "KiB ", "MiB ", "GiB ", "Mem", "Swap"]
                .iter()
                .any(|it| text.starts_with(it))
            {
                return None;
            }
        } else {
            let words: Vec<&str> = text.split_ascii_whitespace().collect();
            let place = |name: &str| heading.iter().position(|it| *it == name);
            let of = |name: &str| place(name).and_then(|at| words.get(at)).copied();
            let (command, used) = (of("COMMAND")?, of("%CPU").and_then(decimal)?);
            let name = command.split('/').next().filter(|_| is_kernel_thread(command)).unwrap_or(command);
            let values = processes.entry(name.to_owned()).or_default();
            values.resize(moments.max(1), 0.0);
            if let Some(last) = values.last_mut() {
                *last += used;
            }
            if let Some(value) = of("NI").and_then(|value| value.parse::<f64>().ok()) {
                let highest = nice.entry(name.to_owned()).or_insert(value);
                *highest = highest.max(value);
            }
            let (seen, stopped) = stops.entry(name.to_owned()).or_default();
            *seen += 1.0;
            // A process that a signal or a tracer has stopped (proc_pid_stat(5)).
            *stopped += if matches!(of("S"), Some("T" | "t")) { 100.0 } else { 0.0 };
        }
        Some(())
    });
    for (name, (seen, stopped)) in stops {
        out.reading.level(format!("process.{name}.stopped_share"), stopped / seen);
    }
    for (name, value) in nice {
        out.reading.level(format!("process.{name}.nice"), value);
    }
    for (name, mut values) in processes {
        values.resize(moments.max(1), 0.0);
        out.reading.levels.insert(format!("process.{name}.cpu_share"), values);
    }
}

/// `45.3 us,  6.5 sy, ...`, or `1.2%us, ...` before 2012.
fn cpu(states: &str, reading: &mut Reading) {
    for part in states.split(',').map(str::trim) {
        let Some((value, letters)) = part.split_once(['%', ' ']) else { continue };
        let state = STATES.iter().find(|(known, _)| *known == letters.trim());
        if let Some(((_, state), value)) = state.zip(decimal(value)) {
            reading.level(format!("cpu.all.{state}_share"), value);
        }
    }
}

/// `free`, in the unit that its option gives; KiB without one.
fn free(section: &Section<'_>, out: &mut Out) {
    let (_, options) = command_words(section.command);
    let has = |wanted: [&str; 2]| options.iter().any(|it| wanted.contains(it));
    let unit = if has(["-b", "--bytes"]) {
        1.0
    } else if has(["-m", "--mebi"]) {
        f64::from(1 << 20)
    } else if has(["-g", "--gibi"]) {
        f64::from(1 << 30)
    } else {
        1024.0
    };
    let mut heading: Vec<&str> = Vec::new();
    section.each(out, |line, reading| {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        if words.contains(&"total") {
            heading = words;
            return Some(());
        }
        let of = words[0].strip_suffix(':').filter(|of| matches!(*of, "Mem" | "Swap"))?;
        for (name, value) in heading.iter().zip(&words[1..]) {
            let known = match (of, *name) {
                ("Mem", "available") => "machine.meminfo.MemAvailable",
                ("Mem", "free") => "machine.meminfo.MemFree",
                ("Swap", "free") => "machine.meminfo.SwapFree",
                _ => continue,
            };
            reading.level(known, decimal(value).map(|value| value * unit));
        }
        Some(())
    });
}
