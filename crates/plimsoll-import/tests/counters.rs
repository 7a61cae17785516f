//! Counters in the output of commands, against the kernel's own files at the same moment in an otherwise idle namespace.

use std::collections::BTreeMap;

use plimsoll_import::saved::{self, Counters, Saved};
use proptest::prelude::*;

const NETSTAT_S: &str = include_str!("counters/netstat-s.txt");
const NSTAT: &str = include_str!("counters/nstat.txt");
const SNMP: &str = include_str!("counters/snmp.txt");
const NETSTAT: &str = include_str!("counters/netstat.txt");
/// The wording of net-tools 1.60 and of ss of iproute2 4.
const OLD: &str = "\
Ip:
    9000 total packets received
Tcp:
    100 active connections openings
    220 passive connection openings
    8000 segments received
    7000 segments send out
    41 segments retransmited
    3 bad segments received.
TcpExt:
    57 times the listen queue of a socket overflowed
    57 SYNs to LISTEN sockets ignored
    12 other TCP timeouts
";
const SS: &str = "\
Total: 207 (kernel 260)
TCP:   30 (estab 4, closed 10, orphaned 1, synrecv 0, timewait 9/0), ports 0

Transport Total     IP        IPv6
RAW\t  0         0         0
State      Recv-Q Send-Q Local Address:Port               Peer Address:Port
LISTEN     129    128          *:80                       *:*
LISTEN     0      128          *:80                       *:*
";
const SYSCTL: &str =
    "net.core.somaxconn = 128\nnet.netfilter.nf_conntrack_count = 41\nkernel.random.entropy_avail = 3072\n";

fn counters(text: &str, path: &str) -> Vec<Counters> {
    let all = saved::read(text, path).expect("it is known");
    let counters = all.into_iter().map(|saved| match saved {
        Saved::Counters(counters) => *counters,
        other => panic!("{} is no counters", other.program()),
    });
    counters.collect()
}

fn values(text: &str, path: &str) -> BTreeMap<String, f64> {
    let mut all = BTreeMap::new();
    for reading in counters(text, path).into_iter().flat_map(|it| it.readings) {
        all.extend(reading.totals);
        all.extend(reading.levels.into_iter().map(|(name, values)| (name, values[0])));
    }
    all
}

/// Groups with a quota of 10 of 100 ms, and with 4 MiB for a file of 20 MB, on Linux 6.18.
const GROUPS: &str = "\
==> /sys/fs/cgroup/cpu/h2t/job/cpu.stat <==
nr_periods 11
nr_throttled 10
throttled_time 613442703
nr_bursts 0
burst_time 0
$ cat /sys/fs/cgroup/memory/small/memory.failcnt
8239
==> /sys/fs/cgroup/system.slice/a.service/memory.events <==
low 0
high 3
max 39
oom 0
";

#[test]
fn files_of_control_groups_name_their_group() {
    let found = values(GROUPS, "groups.txt");
    let expected = [
        ("machine.group./h2t/job.nr_periods", 11.0),
        ("machine.group./h2t/job.nr_throttled", 10.0),
        ("machine.group./small.at_limit", 8239.0),
        ("machine.group./system.slice/a.service.at_limit", 42.0),
    ];
    assert_eq!(found, expected.map(|(name, value)| (name.to_owned(), value)).into());
    assert!(values("nr_periods 40\nnr_throttled 30\nthrottled_usec 2500\n", "sick/cpu.stat").len() == 2);
}

fn of_kernel() -> BTreeMap<String, f64> {
    let mut all = values(SNMP, "");
    all.extend(values(NETSTAT, ""));
    all
}

#[test]
fn netstat_and_nstat_give_the_names_and_values_of_the_kernel() {
    let kernel = of_kernel();
    for (text, least) in [(NETSTAT_S, 40), (NSTAT, 150)] {
        let printed = values(text, "");
        let same = printed.iter().filter(|(name, value)| kernel.get(*name) == Some(value)).count();
        let other: Vec<_> = printed
            .iter()
            .filter(|(name, value)| kernel.get(*name).is_some_and(|kernel| kernel != *value))
            .collect();
        assert!(other.is_empty(), "{other:?}");
        assert!(same >= least, "{same} of {}", printed.len());
    }
    assert_eq!(values(NETSTAT_S, "")["netstat.TcpExt.ListenOverflows"], 213.0);
    assert_eq!(counters(NETSTAT_S, "")[0].unread.lines, 0);
}

#[test]
fn a_mail_with_prompts_and_quoted_paths_is_read_part_by_part() {
    let text = format!(
        "Hello,\nthis is what I see:\n\nroot@relay:~# netstat -s\n{OLD}root@relay:~# ss -s\n{SS}==> /proc/uptime <==\n120.5 99.0\n[root@relay ~]# conntrack -C\n41\n"
    );
    let found = counters(&text, "mail.txt");
    let programs: Vec<&str> = found.iter().map(|it| it.program.as_str()).collect();
    assert_eq!(programs, ["netstat -s", "ss -s", "ss -tin", "/proc/uptime", "conntrack -C", "other text"]);
    assert_eq!(found[0].host.as_deref(), Some("relay"));
    assert_eq!(found[3].readings[0].at, Some(120.5));
    assert_eq!((found[5].unread.lines, found[5].unread.first.clone()), (2, Some((1, "Hello,".to_owned()))));
    let all = values(&text, "mail.txt");
    for (name, value) in [
        ("snmp.Tcp.RetransSegs", 41.0),
        ("netstat.TcpExt.ListenDrops", 57.0),
        ("tcp.time_wait", 9.0),
        ("listen.uneven_share", 100.0),
        ("nf_conntrack.count", 41.0),
    ] {
        assert_eq!(all.get(name), Some(&value), "{name} of {all:?}");
    }
}

#[test]
fn names_of_files_say_what_has_no_heading() {
    assert_eq!(values("41\n", "sos/sos_commands/networking/conntrack_-C")["nf_conntrack.count"], 41.0);
    let pressure = "some avg10=0.00 avg60=0.00 avg300=0.00 total=77\n";
    assert_eq!(values(pressure, "sos/proc/pressure/io")["machine.pressure.io.some"], 77.0);
    assert!(saved::read(pressure, "").is_err(), "of which resource?");
}

/// Lines in another order, some cut.
fn disturbed(text: &str, order: &[usize], cut: usize) -> String {
    let mut lines: Vec<&str> = text.lines().collect();
    for (at, to) in order.iter().enumerate() {
        let n = lines.len();
        lines.swap(at % n, to % n);
    }
    let text = lines.join("\n");
    let chars: Vec<char> = text.chars().collect();
    chars[..chars.len() - cut % (chars.len() / 2)].iter().collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    /// These formats neither scale nor add up: each value stands in the text.
    #[test]
    fn disturbed_text_never_yields_a_value_that_is_not_in_it(
        which in 0..6_usize,
        order in prop::collection::vec(any::<usize>(), 0..40),
        cut in any::<usize>(),
    ) {
        let text = disturbed([NETSTAT_S, NSTAT, SNMP, NETSTAT, OLD, SYSCTL][which], &order, cut);
        let Ok(all) = saved::read(&text, "") else { return Ok(()) };
        let words: std::collections::BTreeSet<&str> = text.split(|c: char| !c.is_ascii_digit()).collect();
        for saved in all {
            let Saved::Counters(counters) = saved else { continue };
            for reading in counters.readings {
                for value in reading.totals.values().chain(reading.levels.values().flatten()) {
                    prop_assert!(words.contains(format!("{value}").as_str()), "{value} of {text}");
                }
            }
        }
    }

    #[test]
    fn nothing_panics(text in r"(\$ (ss -tin|top -b|iostat -x|free|tc -s qdisc|ip -s link|slabtop -o|nft list ruleset|perf report|strace -c|dmesg)\n([ -~]{0,60}\n){0,8}){1,4}") {
        let _ = saved::read(&text, "");
    }
}
