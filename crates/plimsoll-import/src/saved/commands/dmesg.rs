//! The kernel's log (`dmesg`, `journalctl -k`): lines that name a known trouble, counted.

use super::{Format, Out, Section, command_words};

pub(super) const FORMAT: Format = Format {
    program: "dmesg",
    is_command: |command| {
        let (first, rest) = command_words(command);
        first == "dmesg"
            || first == "journalctl"
            || rest.is_empty() && matches!(first, "kern" | "messages" | "syslog")
    },
    starts: |lines| is_stamped(lines[0]) || lines[0].contains(" kernel: "),
    read,
};

/// Messages of the kernel, and the sign of each: net/netfilter/nf_conntrack_core.c, mm/oom_kill.c, kernel/hung_task.c, kernel/watchdog.c,
/// net/core/neighbour.c, net/ipv4/tcp.c, tcp_input.c, kernel/time/clocksource.c, arch/x86/kernel/cpu/mce/therm_throt.c, kernel/audit.c,
/// drivers/char/random.c, fs/ext4/super.c, block/blk-core.c, net/sched/sch_generic.c.
const SIGNS: [(&str, &str); 22] = [
    ("table full, dropping packet", "conntrack_full"),
    ("Out of memory", "oom"),
    ("oom-kill:", "oom"),
    ("Memory cgroup out of memory", "oom_group"),
    ("blocked for more than", "hung_task"),
    ("soft lockup", "soft_lockup"),
    ("rcu_sched self-detected stall", "rcu_stall"),
    ("neighbour table overflow", "neighbour_overflow"),
    ("neighbor table overflow", "neighbour_overflow"),
    ("Neighbour table overflow", "neighbour_overflow"),
    ("TCP: out of memory", "tcp_memory"),
    ("out of memory -- consider tuning tcp_mem", "tcp_memory"),
    ("too many orphaned sockets", "tcp_orphans"),
    ("Possible SYN flooding", "syn_flooding"),
    ("possible SYN flooding", "syn_flooding"),
    ("time wait bucket table overflow", "time_wait_overflow"),
    ("as unstable because the skew", "clocksource"),
    ("Switched to clocksource hpet", "clocksource"),
    ("temperature above threshold, cpu clock throttled", "thermal"),
    ("backlog limit exceeded", "audit_backlog"),
    ("uninitialized urandom read", "entropy"),
    ("I/O error", "io_error"),
];
/// `net_ratelimit: 12 callbacks suppressed`: the kernel dropped 12 more copies of the previous line.
const SUPPRESSED: &str = "callbacks suppressed";

fn is_stamped(line: &str) -> bool {
    let Some((stamp, _)) = line.strip_prefix('[').and_then(|rest| rest.split_once("] ")) else {
        return false;
    };
    let stamp = stamp.trim();
    stamp.contains('.') && stamp.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
}

fn read(section: &Section<'_>, out: &mut Out) {
    // A log without any sign says that there is none.
    for (_, sign) in SIGNS {
        out.reading.levels.insert(format!("kernel_log.{sign}"), vec![0.0]);
    }
    for sign in kernel_log_signs(section.numbered().map(|(_, line)| line)) {
        out.reading.add_level(sign, 1.0);
    }
}

/// The known troubles that lines of the kernel's log speak of, one for each line: `kernel_log.oom`.
pub fn kernel_log_signs<'l>(lines: impl Iterator<Item = &'l str>) -> impl Iterator<Item = String> {
    let lines = lines.filter(|line| !line.contains(SUPPRESSED));
    lines.filter_map(|line| {
        let (_, sign) = SIGNS.iter().find(|(text, _)| line.contains(text))?;
        Some(format!("kernel_log.{sign}"))
    })
}
