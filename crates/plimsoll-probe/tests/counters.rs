//! Counters read from folders with files of real machines, and of broken ones.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use plimsoll_model::observation::Snapshot;
use plimsoll_probe::{Counters, CountersError, Depth, Sampler, SamplerError, Scope, Series};
use proptest::prelude::*;

/// A root with the files that are given, below `proc` or `sys`.
fn root(files: &[(&str, &str)]) -> tempfile::TempDir {
    let root = tempfile::tempdir().expect("a directory");
    for (path, text) in files {
        write(root.path(), path, text.as_bytes());
    }
    root
}

fn write(root: &Path, path: &str, text: &[u8]) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
    fs::write(path, text).expect("a file");
}

const STAT: &str = "\
cpu  36231 25103 7276 163297 807 0 124 85 3 2
cpu0 17077 7237 2919 89079 81 0 16 39 1 1
cpu1 19154 17866 4357 74218 725 0 108 45 2 1
intr 489962 0 0 7 0
ctxt 663836
btime 1795293690
processes 15060
procs_running 3
procs_blocked 1
softirq 289040 0 34561 4 20957 100668 0 316 57082 0 75452
";
const SNMP: &str = "\
Ip: Forwarding DefaultTTL InReceives
Ip: 2 64 16319
Tcp: RtoAlgorithm MaxConn ActiveOpens RetransSegs
Tcp: 1 -1 133 17
";
const REST: [(&str, &str); 9] = [
    ("proc/loadavg", "2.86 1.72 0.83 5/111 15063\n"),
    ("proc/meminfo", "MemTotal:       24684084 kB\nActive(anon):  1568 kB\nHugePages_Total:       3\n"),
    ("proc/net/netstat", "TcpExt: SyncookiesSent ListenDrops\nTcpExt: 1 42\nIpExt: InNoRoutes\nIpExt: 5\n"),
    (
        "proc/net/sockstat",
        "sockets: used 20\nTCP: inuse 2 orphan 1 tw 7 alloc 9 mem 139\nFRAG: inuse 0 memory 0\n",
    ),
    (
        "proc/net/softnet_stat",
        "00000013 00000001 00000000 0 0 0 0 0 0 00000000 00000000 00000000 00000000\n\
         00003fb8 00000002 00000005 0 0 0 0 0 0 00000000 00000000 00000000 00000003\n",
    ),
    (
        "proc/net/stat/nf_conntrack",
        "entries  clashres drop\n0000000a  00000001 00000010\n0000000a  00000002 00000001\n",
    ),
    ("proc/pressure/cpu", "some avg10=64.16 avg60=45.08 avg300=23.61 total=112721960\n"),
    ("proc/diskstats", " 254 0 vda 70308 12069 7477402 47691 40618 40319 5509992 20626 1 14732 69630\n"),
    (
        "proc/schedstat",
        "version 15\ntimestamp 4295\ncpu0 0 0 0 0 0 0 5000 7000 9\ndomain0 3 1 2 3\ncpu1 0 0 0 0 0 0 1000 2000 3\n",
    ),
];

fn healthy() -> tempfile::TempDir {
    let root = root(&REST);
    write(root.path(), "proc/stat", STAT.as_bytes());
    write(root.path(), "proc/net/snmp", SNMP.as_bytes());
    root
}

fn assert_values(snapshot: &Snapshot, expected: &[(&str, f64)]) {
    for (name, value) in expected {
        assert_eq!(snapshot.values.get(*name), Some(value), "{name}");
    }
}

#[test]
fn light_counters_come_with_their_names_and_in_their_units() {
    let root = healthy();
    let mut counters = Counters::open(root.path()).expect("counters");
    let expected = [
        ("machine.stat.cpu.user", 362_310_000.0),
        ("machine.stat.cpu1.softirq", 1_080_000.0),
        ("machine.stat.ctxt", 663_836.0),
        ("machine.stat.intr", 489_962.0),
        ("machine.stat.processes", 15_060.0),
        ("machine.stat.softirq.NET_RX", 20_957.0),
        ("machine.loadavg.15m", 0.83),
        ("machine.loadavg.runnable", 5.0),
        ("machine.meminfo.Active(anon)", 1_605_632.0),
        ("machine.meminfo.HugePages_Total", 3.0),
        ("netstat.TcpExt.ListenDrops", 42.0),
        ("netstat.IpExt.InNoRoutes", 5.0),
        ("snmp.Tcp.MaxConn", -1.0),
        ("snmp.Tcp.RetransSegs", 17.0),
        ("sockstat.TCP.tw", 7.0),
        ("machine.sockstat.TCP.orphan", 1.0),
        ("machine.softnet.cpu3.time_squeeze", 5.0),
        ("machine.softnet.dropped", 3.0),
        ("nf_conntrack.entries", 10.0),
        ("nf_conntrack.drop", 17.0),
        ("machine.pressure.cpu.some", 112_721_960.0),
        ("machine.diskstats.vda.read_bytes", 3_828_429_824.0),
        ("machine.diskstats.vda.busy", 14_732_000.0),
        ("machine.schedstat.cpu0.run_delay", 7.0),
        ("machine.schedstat.cpu1.timeslices", 3.0),
    ];
    let snapshot = counters.read(Depth::Light);
    assert_values(&snapshot, &expected);
    assert!(!snapshot.values.keys().any(|name| name.contains("btime") || name.contains("flush")));
}

#[test]
fn a_second_reading_follows_files_that_changed() {
    let root = healthy();
    let mut counters = Counters::open(root.path()).expect("counters");
    let mut marked = Counters::open(root.path()).expect("counters");
    let before = counters.read(Depth::Light);
    marked.mark();
    write(root.path(), "proc/stat", STAT.replace("ctxt 663836", "ctxt 663900").as_bytes());
    let more = "sockets: used 20\nUDP: inuse 4 mem 1\nTCP: inuse 5 orphan 1 tw 7 alloc 9 mem 139\n";
    write(root.path(), "proc/net/sockstat", more.as_bytes());
    let after = counters.read(Depth::Light);
    assert!(after.at_ns > before.at_ns);
    let change = before.change(&after);
    assert_eq!((change["machine.stat.ctxt"], change["sockstat.TCP.inuse"]), (64.0, 3.0));
    assert_values(&after, &[("sockstat.UDP.inuse", 4.0), ("machine.sockstat.UDP.mem", 1.0)]);
    let moved: BTreeMap<String, f64> = change.into_iter().filter(|(_, change)| *change != 0.0).collect();
    assert_eq!(marked.changes_since_mark(), moved);
}

#[test]
fn deep_counters_cover_slabs_sockets_and_processes() {
    let root = healthy();
    for (path, text) in [
        (
            "proc/slabinfo",
            "slabinfo - version: 2.1\n# name <active_objs>\nfib_rules 10003 10010 192 21 1 : tunables 0 0 0\n",
        ),
        ("proc/net/tcp", "sl\n 0: 0:0 0:0 0A 0:4 0 0\n 1: 0:0 0:0 01 0:0 0 0\n 2: 0:0 0:0 06 0:0 0 0\n"),
        (
            "proc/interrupts",
            "     CPU0  CPU1\n 36:  5  7  PCI-MSIX 1-edge  virtio1-req.0\nNMI:  1 2  Non-maskable\nERR:  3\n",
        ),
        ("proc/10/stat", "10 (we (b)) S 1 10 10 0 -1 4194560 500 0 0 0 12 34 56 78 20 0 3 0 100 0 0\n"),
        ("proc/10/schedstat", "5000000 2000000 77\n"),
        ("proc/10/task/10/wchan", "do_epoll_wait"),
        ("proc/10/task/11/wchan", "futex_wait_queue"),
        ("proc/10/task/12/wchan", "0"),
        ("proc/10/fd/0", ""),
        ("proc/10/fd/1", ""),
        ("proc/sys/net/ipv4/ip_local_port_range", "32768\t60999\n"),
    ] {
        write(root.path(), path, text.as_bytes());
    }
    let mut counters = Counters::open(root.path()).expect("counters");
    let expected = [
        ("machine.slab.fib_rules.active", 10_003.0),
        ("machine.slab.fib_rules.bytes", 1_921_920.0),
        ("machine.interrupts.36.virtio1-req.0", 12.0),
        ("machine.interrupts.NMI", 3.0),
        ("machine.interrupts.ERR", 3.0),
        ("tcp.listen", 1.0),
        ("tcp.time_wait", 1.0),
        ("tcp.syn_sent", 0.0),
        ("tcp.backlog", 4.0),
        ("processes.count", 1.0),
        ("processes.threads", 3.0),
        ("processes.user", 120_000.0),
        ("processes.run_delay", 2000.0),
        ("descriptors", 2.0),
        ("wait.do_epoll_wait", 1.0),
        ("wait.futex_wait_queue", 1.0),
        ("limit.net.ipv4.ip_local_port_range", 32_768.0),
        ("limit.net.ipv4.ip_local_port_range.2", 60_999.0),
    ];
    assert_values(&counters.read(Depth::Deep), &expected);
    fs::remove_file(root.path().join("proc/10/task/11/wchan")).expect("removed");
    assert_values(&counters.read(Depth::Deep), &[("wait.futex_wait_queue", 0.0)]);
    assert!(!counters.read(Depth::Light).values.contains_key("machine.slab.fib_rules.active"));
}

#[test]
fn what_is_absent_is_named_with_the_reason_and_found_once_it_is_there() {
    let root = healthy();
    fs::remove_file(root.path().join("proc/schedstat")).expect("removed");
    let mut counters = Counters::open(root.path()).expect("counters");
    let missing = |counters: &Counters, file: &str| {
        counters
            .absent()
            .iter()
            .find(|absence| absence.file.ends_with(file))
            .map(|absence| absence.why.clone())
    };
    assert!(missing(&counters, "proc/schedstat").expect("absent").contains("CONFIG_SCHEDSTATS"));
    assert!(missing(&counters, "proc/slabinfo").expect("absent").contains("root"));
    assert_eq!(missing(&counters, "proc/stat"), None);
    counters.read(Depth::Deep);
    assert!(missing(&counters, "rules").expect("absent").contains("running kernel"));
    write(root.path(), "proc/schedstat", b"version 15\ncpu0 0 0 0 0 0 0 5000 7000 9\n");
    assert_values(&counters.read(Depth::Deep), &[("machine.schedstat.cpu0.running", 5.0)]);
    assert_eq!(missing(&counters, "proc/schedstat"), None);
}

#[test]
fn a_root_without_proc_is_an_error_that_names_the_file() {
    let empty = root(&[]);
    let error = Counters::open(empty.path()).err().expect("no counters");
    let CountersError::Required { ref path, .. } = error;
    assert!(error.to_string().contains(&path.display().to_string()));
}

#[test]
fn the_hosts_own_scope_leaves_out_the_machine() {
    let root = healthy();
    let snapshot = Counters::open_scope(root.path(), Scope::HostOnly).expect("counters").read(Depth::Light);
    let machine: Vec<_> = snapshot.values.keys().filter(|name| name.starts_with("machine.")).collect();
    assert!(machine.iter().all(|name| name.starts_with("machine.sockstat.")), "{machine:?}");
    assert_values(&snapshot, &[("snmp.Tcp.ActiveOpens", 133.0)]);
}

const FILES: [&str; 19] = [
    "stat",
    "loadavg",
    "meminfo",
    "vmstat",
    "net/softnet_stat",
    "net/snmp",
    "net/netstat",
    "net/sockstat",
    "net/dev",
    "net/stat/nf_conntrack",
    "net/tcp",
    "pressure/io",
    "schedstat",
    "diskstats",
    "slabinfo",
    "interrupts",
    "softirqs",
    "locks",
    "1/stat",
];

#[test]
fn empty_and_cut_files_and_files_of_garbage_are_read_without_a_panic() {
    let shapes: [&[u8]; 7] = [
        b"",
        b"\n\n\n",
        b"cpu",
        b"a: b\na:",
        b"\xff\xfe\x00 \x00: 1 2 3\n\x80\x80: 4",
        b"x: 99999999999999999999999999999999999999 -99999999999999999999 1\n",
        b"cpu 1 2\ncpu 3 4\ncpu: ) ( 5\n",
    ];
    for shape in shapes {
        let root = healthy();
        for file in FILES {
            write(root.path(), &format!("proc/{file}"), shape);
        }
        let mut counters = Counters::open(root.path()).expect("counters");
        counters.read(Depth::Deep);
        assert!(counters.read(Depth::Deep).values.values().all(|value| value.is_finite()));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_text_makes_a_parser_panic(text in "[a-z0-9:.=/()\\- \n\u{e4}]{0,200}") {
        let root = healthy();
        for file in FILES {
            write(root.path(), &format!("proc/{file}"), text.as_bytes());
        }
        let mut counters = Counters::open(root.path()).expect("counters");
        let snapshot = counters.read(Depth::Deep);
        prop_assert!(snapshot.values.values().all(|value| value.is_finite()));
    }
}

/// Samples a folder; its count of context switches changes after the first batch.
fn sample_a_change(series: Series) -> Vec<Snapshot> {
    let root = healthy();
    let (sender, receiver) = std::sync::mpsc::channel();
    let counters = Counters::open(root.path()).expect("counters");
    let sampler = Sampler::start(counters, 20, series, move |batch| sender.send(batch).expect("open"));
    let sampler = sampler.expect("a sampler");
    let mut samples = receiver.recv().expect("a first batch");
    // In one write of the same length, so that no reading falls between.
    let later = STAT.replace("ctxt 663836", "ctxt 663900");
    let file = fs::OpenOptions::new().write(true).open(root.path().join("proc/stat")).expect("the file");
    std::os::unix::fs::FileExt::write_all_at(&file, later.as_bytes(), 0).expect("written");
    let cost = sampler.stop();
    samples.extend(receiver.iter().flatten());
    assert_eq!(cost.samples, samples.len() as u64);
    let span_ns = samples[samples.len() - 1].at_ns - samples[0].at_ns;
    // With room: the two clocks may differ in rate.
    assert!(span_ns > 0 && cost.elapsed_us * 1000 >= span_ns / 10 * 9);
    samples
}

#[test]
fn a_series_of_changes_has_a_value_once_and_its_first_sample_has_all() {
    let samples = sample_a_change(Series::Changes);
    assert!(samples.is_sorted_by_key(|sample| sample.at_ns));
    let of_ctxt: Vec<_> =
        samples.iter().filter_map(|sample| sample.values.get("machine.stat.ctxt")).collect();
    assert_eq!(of_ctxt, [&663_836.0, &663_900.0]);
    assert_values(&samples[0], &[("netstat.TcpExt.ListenDrops", 42.0), ("snmp.Tcp.RetransSegs", 17.0)]);
}

#[test]
fn each_sample_of_a_full_series_has_all() {
    let samples = sample_a_change(Series::Full);
    let names = |sample: &Snapshot| sample.values.keys().cloned().collect::<Vec<_>>();
    assert!(samples.iter().all(|sample| names(sample) == names(&samples[0])));
    assert_values(
        &samples[samples.len() - 1],
        &[("machine.stat.ctxt", 663_900.0), ("netstat.IpExt.InNoRoutes", 5.0)],
    );
}

#[test]
fn a_rate_out_of_range_is_refused() {
    for hz in [0, 101] {
        let root = healthy();
        let counters = Counters::open(root.path()).expect("counters");
        let refused = Sampler::start(counters, hz, Series::Full, drop).err().expect("refused");
        assert!(
            matches!(refused, SamplerError::Rate { .. }) && refused.to_string().contains(&hz.to_string())
        );
    }
}
