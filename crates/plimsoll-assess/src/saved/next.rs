//! Commands that would show more: those that support the causes for which some evidence exists already.

use plimsoll_model::cause::{Cause, CauseId};
use plimsoll_model::report::Evidence;

/// The most commands that are listed.
const MOST: usize = 5;

/// A cause that is this sure needs no further evidence.
const SURE: f64 = 0.8;

/// Counters that hint at a cause, and the commands that would show it.
struct Hint {
    /// The cause.
    cause: CauseId,
    /// How names of figures begin that hint at it; a name without a dot is a whole column.
    signs: &'static [&'static str],
    /// The command lines that show it.
    command: &'static str,
}

const fn hint(cause: CauseId, signs: &'static [&'static str], command: &'static str) -> Hint {
    Hint { cause, signs, command }
}

impl Hint {
    fn is_given_by(&self, evidence: &Evidence) -> bool {
        let name = evidence.metric.split(' ').next().unwrap_or_default();
        self.signs.iter().any(|sign| if sign.contains('.') { name.starts_with(sign) } else { name == *sign })
    }
}

/// A command line, and the cause that it would show.
pub type Next = (CauseId, &'static str);

const HINTS: [Hint; 17] = [
    hint(
        CauseId::NetListenOverflow,
        &["netstat.TcpExt.Listen", "listen.", "netstat.TcpExt.TCPReqQFull", "kernel_log.syn_flooding"],
        "nstat -az; ss -ltn",
    ),
    hint(
        CauseId::NetConntrackFull,
        &["nf_conntrack.", "kernel_log.conntrack_full"],
        "conntrack -C; conntrack -S; sysctl net.netfilter.nf_conntrack_max net.netfilter.nf_conntrack_buckets",
    ),
    hint(
        CauseId::NetPacketLoss,
        &["snmp.Tcp.RetransSegs", "netstat.TcpExt.TCPLost", "netstat.TcpExt.TCPTimeouts", "dev.", "nic."],
        "nstat -az; ip -s link; tc -s qdisc; ss -tin",
    ),
    hint(
        CauseId::NetBacklogDropped,
        &["machine.softnet.", "cpu.all.softirq_share"],
        "cat /proc/net/softnet_stat; mpstat -P ALL 1 10; cat /proc/interrupts",
    ),
    hint(
        CauseId::NetNeighbourOverflow,
        &["neighbour.", "neighbours", "kernel_log.neighbour_overflow"],
        "cat /proc/net/stat/arp_cache; dmesg; sysctl -a",
    ),
    hint(
        CauseId::NetRuleChain,
        &["rules.", "rules"],
        "nft list ruleset; iptables -S; perf record -a -g -F 99 sleep 20; perf script",
    ),
    hint(
        CauseId::DiskSaturated,
        &["wa", "%iowait", "cpu.all.iowait_share", "machine.pressure.io", "disk.", "b"],
        "iostat -x 1 10; cat /proc/diskstats; cat /proc/pressure/io",
    ),
    hint(
        CauseId::MemoryReclaim,
        &[
            "machine.vmstat.pgscan",
            "machine.vmstat.pgsteal",
            "machine.meminfo.MemAvailable",
            "machine.pressure.memory",
            "so",
            "si",
        ],
        "vmstat 1 10; cat /proc/vmstat; cat /proc/pressure/memory",
    ),
    hint(
        CauseId::MemoryCompaction,
        &["machine.vmstat.compact_", "machine.vmstat.thp_"],
        "cat /proc/vmstat; cat /proc/buddyinfo",
    ),
    hint(CauseId::MemoryOom, &["kernel_log.oom"], "dmesg; free; top -b -n 1"),
    hint(
        CauseId::LimitWatches,
        &["machine.slab.inotify", "machine.slab.eventpoll"],
        "cat /proc/slabinfo; cat /proc/sys/fs/file-nr",
    ),
    hint(CauseId::KernelStateGrows, &["machine.slab."], "slabtop -o; cat /proc/slabinfo"),
    hint(CauseId::CpuSteal, &["st", "%steal", "cpu.all.steal_share"], "mpstat -P ALL 1 10"),
    hint(
        CauseId::CpuInterruptStorm,
        &[
            "machine.stat.intr",
            "machine.interrupts.",
            "process.kworker",
            "process.ksoftirqd",
            "cpu.all.irq_share",
        ],
        "cat /proc/interrupts; top -b -n 3 -d 1",
    ),
    hint(
        CauseId::CpuKernelSaturated,
        &["sy", "%system", "cpu.all.system_share", "machine.stat.cpu.system"],
        "perf record -a -g -F 99 sleep 20; perf script",
    ),
    hint(
        CauseId::CpuUserSaturated,
        &["us", "%user", "cpu.all.user_share", "machine.stat.cpu.user", "r"],
        "top -b -n 3 -d 1; pidstat 1 10",
    ),
    hint(
        CauseId::NetTimeWaitReuse,
        &["tcp.time_wait", "sockstat.TCP.tw", "netstat.TcpExt.PAWS"],
        "ss -s; nstat -az; sysctl -a",
    ),
];

/// Commands that every side should have, where nothing hints at any cause.
pub const FIRST: [&str; 5] = [
    "cat /proc/uptime /proc/stat /proc/vmstat /proc/diskstats",
    "nstat -az; ss -s; ss -ltn",
    "vmstat 1 10; iostat -x 1 10",
    "cat /proc/net/softnet_stat; dmesg",
    "perf record -a -g -F 99 sleep 20; perf script",
];

/// The commands to run next, on both sides. `evidence` is everything that moved, `programs` what both sides have already.
pub(super) fn commands(causes: &[Cause], evidence: &[Evidence], programs: &[&str]) -> Vec<Next> {
    if causes.first().is_some_and(|cause| cause.confidence >= SURE) {
        return Vec::new();
    }
    let is_there = |command: &str| programs.iter().any(|program| is_of(command, program));
    let is_missing = |hint: &&Hint| !hint.command.split("; ").all(is_there);
    let is_hinted = |hint: &&Hint| {
        let is_named = causes.iter().any(|cause| cause.id == hint.cause);
        !is_named && evidence.iter().any(|it| hint.is_given_by(it))
    };
    let hints = HINTS.iter().filter(is_hinted).filter(is_missing).take(MOST);
    hints.map(|hint| (hint.cause, hint.command)).collect()
}

/// Whether a command line writes what a program is known for: `cat /proc/vmstat`, `iostat -x 1 10`.
fn is_of(command: &str, program: &str) -> bool {
    let is_path = |word: &str| match program.strip_suffix('*') {
        Some(start) => word.starts_with(start),
        None => word == program,
    };
    let is_file = program.starts_with('/') && command.split(' ').any(is_path);
    let option = |text: &str| text.split(' ').nth(1).map(|word| word.chars().take(2).collect::<String>());
    let first = |text: &str| text.split(' ').next().unwrap_or_default().to_owned();
    is_file
        || first(command) == first(program)
            && (option(program).is_none() || option(command) == option(program))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_the_evidence_of_a_cause_asks_for_the_other_half() {
        let evidence = Evidence {
            host: "machine".into(),
            metric: "wa (of all CPUs' time)".into(),
            before: 1.0,
            after: 72.0,
            unit: "%".into(),
            shift: 1.0,
            control_ratio: None,
        };
        let next = commands(&[], std::slice::from_ref(&evidence), &["vmstat"]);
        assert_eq!(next.iter().map(|(cause, _)| *cause).collect::<Vec<_>>(), [CauseId::DiskSaturated]);
        assert!(next[0].1.contains("iostat -x"));
        let all = ["iostat -x", "/proc/diskstats", "/proc/pressure/io"];
        assert!(commands(&[], std::slice::from_ref(&evidence), &all).is_empty(), "that is there already");
        assert!(commands(&[], &[Evidence { metric: "waits (level)".into(), ..evidence }], &[]).is_empty());
    }
}
