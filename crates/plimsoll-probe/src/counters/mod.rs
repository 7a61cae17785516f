//! All counters of a host, read raw: what the kernel has counted since it started, never a rate.
//!
//! # Names
//!
//! A name that starts with `machine.` is of the whole machine and says the same on every host of it; any other is of the host's
//! own namespaces. After that come the file and the names that the kernel itself uses. **Times are microseconds and amounts of
//! memory are bytes**, whatever the kernel's own unit; all else is a count. Values that may fall (memory in use, sockets in use,
//! load) stand beside those that only grow; the kernel's documentation of the file says which is which.
//!
//! | names | file | how often | what |
//! | --- | --- | --- | --- |
//! | `machine.stat.cpu.FIELD`, `machine.stat.cpuN.FIELD` | `stat` | each sample | CPU time: `user` (`guest` is in it), `nice` (`guest_nice` is in it), `system`, `idle`, `iowait`, `irq`, `softirq`, `steal`, `guest`, `guest_nice`; ticks of 10 ms, given in µs |
//! | `machine.stat.{ctxt,processes,intr,procs_running,procs_blocked}` | `stat` | each sample | context switches, forks (threads too), interrupts; tasks now runnable, now blocked |
//! | `machine.stat.softirq`, `machine.stat.softirq.KIND` | `stat` | each sample | softirqs raised: all, by kind |
//! | `machine.loadavg.{1m,5m,15m,runnable,tasks}` | `loadavg` | each second | load averages; tasks that can run, tasks |
//! | `machine.pressure.{cpu,memory,io,irq}.{some,full}` | `pressure/*` | each second | µs in which some task, all tasks waited for it |
//! | `machine.softnet.FIELD`, `machine.softnet.cpuN.FIELD` | `net/softnet_stat` | each second | `processed`, `dropped` (backlog full), `time_squeeze` (budget used up), `received_rps`, `flow_limit` |
//! | `snmp.PROTOCOL.FIELD` | `net/snmp` | each sample | RFC 1213's counters: `snmp.Tcp.RetransSegs` |
//! | `sockstat.PROTOCOL.FIELD`; `machine.sockstat.{TCP.alloc,TCP.mem,TCP.orphan,UDP.mem}` | `net/sockstat`, `net/sockstat6` | each sample, each second | sockets in use, in TIME_WAIT (`tw`); memory in pages, over all namespaces |
//! | `nf_conntrack.count` | `sys/net/netfilter/nf_conntrack_count` | each second | connections tracked |
//! | `nf_conntrack.FIELD` | `net/stat/nf_conntrack` | each second | summed over CPUs: `insert_failed`, `drop`, `early_drop`, `search_restart` ... |
//! | `neighbour.FIELD` | `1/net/stat/arp_cache` | each second | of the table that all namespaces share (IPv4), summed over CPUs: `table_fulls`, `unresolved_discards`, `forced_gc_runs` ... |
//! | `netstat.PROTOCOL.FIELD` | `net/netstat` | each second | Linux's own counters: `netstat.TcpExt.ListenDrops` |
//! | `dev.INTERFACE.FIELD` | `net/dev` | each second | bytes, packets, errors, drops, each way |
//! | `qdisc.KIND.drops`, `qdisc.KIND.overlimits` | route netlink | each second | packets that queueing disciplines dropped (`tc -s qdisc`); of those that limit a rate, times that one had to wait because the rate was used up |
//! | `machine.group.PATH.at_limit` | `memory.failcnt`, `memory.events` of control groups with a limit | each second | times that the group came to its limit of memory (`high` and `max` in version 2) |
//! | `machine.drops.REASON` | tracepoint `skb/kfree_skb` (root) | each second | packets that the kernel dropped, by its own reason: `netfilter_drop`, `qdisc_drop`, `tc_ingress` ... |
//! | `machine.vmstat.FIELD` | `vmstat` | each second | memory management, in pages and events |
//! | `machine.meminfo.FIELD` | `meminfo` | each second | memory by use |
//! | `machine.diskstats.DEVICE.FIELD` | `diskstats` | each second | `reads`, `read_bytes`, `read_time`, `busy`, `queue_time`, `flushes` ... |
//! | `machine.jbd2.DEVICE.{commits,requested}` | `fs/jbd2/*/info` | each second | transactions that ext4's journal committed; those that a task waited for |
//! | `machine.schedstat.cpuN.{running,run_delay,timeslices}` | `schedstat` | each second | time tasks ran, waited to run; how many times they ran |
//! | `cgroup.cpu.FIELD`, `cgroup.memory.FIELD` | `cpu.stat`, `memory.events` of the own control group | each second | `nr_throttled` and the time of it as the kernel gives it; `max`, `oom_kill` |
//! | `cgroup.memory.failcnt` | `memory.failcnt` of a control group of version 1 | each second | times that it came to its limit |
//! | `cgroup.cpu.usage_usec`, `cgroup.io.{read,written}_bytes` | of the group that `watch --cgroup` names; `cpuacct.usage`, `blkio.throttle.io_service_bytes_recursive` in version 1 | each second | µs of all CPUs; bytes |
//! | `cgroup.memory.current`, `cgroup.pressure.{cpu,memory,io}.{some,full}` | of the group that `watch --cgroup` names | each second | bytes of memory; µs in which some task, all tasks of it waited |
//! | `snmp6.FIELD` | `net/snmp6` | deep | IPv6's counters |
//! | `machine.slab.CACHE.{active,bytes}` | `slabinfo` (root) | deep | objects in use; bytes of its slabs |
//! | `machine.interrupts.IRQ.DEVICE` | `interrupts` | deep | over all CPUs |
//! | `machine.softirqs.KIND.cpuN` | `softirqs` | deep | softirqs run |
//! | `machine.file-nr.{allocated,max}` | `sys/fs/file-nr` | deep | open file descriptions |
//! | `limit.SYSCTL` | `sys/...` | deep | limits that a flood may run into, by the name of the sysctl |
//! | `locks.{held,blocked}` | `locks` | deep | file locks |
//! | `tcp.STATE`, `tcp.backlog` | socket diagnostics, else `net/tcp`, `net/tcp6` | deep | TCP sockets by state; connections that wait to be accepted |
//! | `tcp.listener.ADDRESS.limit` | socket diagnostics | deep | connections that may wait there to be accepted |
//! | `listen.looks`, `listen.ADDRESS.{filled,waiting}` | socket diagnostics | each second | looks at listening sockets; of each that ever had a connection waiting, sums over looks of the share of its queue that is used, in per cent, and of the connections that wait |
//! | `tcp.{looked_at,held}` | socket diagnostics | where asked | sums over looks of the busiest connections, and of those that hold less than a segment back |
//! | `dns.questions` | socket diagnostics | each second | sum over the same looks of the UDP sockets that wait for a name server (port 53) |
//! | `listen.ADDRESS.excess` | socket diagnostics | each second | where several sockets listen on one address (SO_REUSEPORT): the sum over looks of the connections that wait in the longest queue beyond an equal share |
//! | `rules`, `routes`, `neighbours` | route netlink | deep | routing-policy rules, routes and neighbours of all families |
//! | `rules.iptables` | `net/ip_tables_names`, getsockopt(2) | deep | rules of iptables-legacy, of all tables and both families |
//! | `rules.nftables` | netfilter netlink | deep | rules of nftables, of all families and tables |
//! | `filesystem.MOUNTED.free.{bytes,inodes}` | `self/mounts`, statvfs(3) | deep | what is free on file systems that are on a device |
//! | `processes.{count,threads}` | `PID/stat` | deep | of the host's network namespace |
//! | `processes.{user,system,reaped_user,reaped_system}` | `PID/stat` | deep | CPU time of those that live, of their children that were waited for |
//! | `processes.run_delay` | `PID/schedstat` | deep | time they waited for a CPU (their first threads alone) |
//! | `descriptors` | `PID/fd` | deep | open file descriptors of the host's processes |
//! | `descriptors.fullest` | `PID/fd`, `PID/limits` | deep | the share of its limit that the process uses which uses most of it, in per cent |
//! | `wait.SYMBOL` | `PID/task/TID/wchan` | deep | threads that sleep in this kernel function; one that is not there is 0 |
//!
//! # Cost
//!
//! The kernel regenerates each of these texts at each reading, and that is most of the cost. `vmstat` and `netstat` add
//! up every counter over all CPUs; `slabinfo` and `interrupts` hold locks that others need; a dump of TCP sockets walks
//! the whole machine's hash table. Even the smallest file takes some 15 µs between two naps, when nothing of it is in
//! the CPU's caches. So a series reads three files at its full rate, the next group once a second, and the rest when
//! asked. `lab/examples/sampling_cost.rs` measures each file.

mod drops;
mod filesystems;
mod group;
mod iptables;
mod journals;
mod listeners;
mod machine;
mod memory_groups;
mod network;
mod nftables;
mod processes;
mod rtnetlink;
mod source;
mod table;
mod text;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use plimsoll_inventory::Absence;
use plimsoll_model::observation::Snapshot;
use plimsoll_netlink::Socket;

use crate::clock::raw_now_ns;
use crate::connections;
use drops::Drops;
use listeners::Listeners;
use memory_groups::MemoryGroups;
use rtnetlink::{RouteObject, count_route_objects, queueing_disciplines, route_socket};
use source::{Source, Tier};
use table::Table;

/// How much to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// Cheap enough to be read many times a second.
    Light,
    /// All there is; takes some milliseconds, more with many processes or sockets.
    Deep,
}

/// Whose counters to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The machine's and the host's own.
    MachineAndHost,
    /// The host's own: for all hosts of a machine but one.
    HostOnly,
}

/// Why counters can't be read at all.
#[derive(Debug, thiserror::Error)]
pub enum CountersError {
    /// A file that every Linux has is not there: the root is wrong, or `/proc` is not mounted.
    #[error("can't read {path}, which every Linux has; is /proc mounted there?")]
    Required {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// Reads counters again and again, with its files kept open.
///
/// The files stay those of the network namespace in which the thread was that called [`Counters::open`]. A live root is that
/// of the running kernel; with any other, what does not come from a file is absent.
pub struct Counters {
    proc: PathBuf,
    live: bool,
    scope: Scope,
    sources: Vec<Source>,
    table: Table,
    buffer: Vec<u8>,
    /// To ask for queueing disciplines; `None` if the kernel refuses.
    route: Option<Socket>,
    listeners: Listeners,
    drops: Drops,
    memory_groups: MemoryGroups,
    /// When [`Self::changes_since_mark`] read them, if nothing has since.
    changes_read: Option<Instant>,
    /// Files that could not be read at the last attempt.
    absent_files: BTreeMap<PathBuf, String>,
    /// Further absences of the last deep reading.
    absent_state: Vec<Absence>,
    listed: Vec<Absence>,
}

impl Counters {
    /// Opens all counters below `root`, the directory that holds `proc` and `sys`: `/` for the running kernel.
    ///
    /// # Errors
    /// A file that every Linux has can't be read. Others may be missing; [`Self::absent`] names them.
    pub fn open(root: &Path) -> Result<Self, CountersError> {
        Self::open_scope(root, Scope::MachineAndHost)
    }

    /// Opens the counters of a scope below `root`.
    ///
    /// # Errors
    /// As for [`Self::open`].
    pub fn open_scope(root: &Path, scope: Scope) -> Result<Self, CountersError> {
        Self::open_sources(root, scope, cgroup_sources(root))
    }

    /// Opens the machine's counters below `root`, and those of the control group that has these folders: one of version 2, or one in each
    /// hierarchy of version 1.
    ///
    /// # Errors
    /// As for [`Self::open`].
    pub fn open_with_group(root: &Path, folders: &[PathBuf]) -> Result<Self, CountersError> {
        Self::open_sources(root, Scope::MachineAndHost, group::sources(folders))
    }

    fn open_sources(root: &Path, scope: Scope, of_group: Vec<Source>) -> Result<Self, CountersError> {
        let proc = root.join("proc");
        let mut sources = network_sources(&proc);
        sources.extend(of_group);
        if scope == Scope::MachineAndHost {
            sources.extend(machine_sources(&proc));
        }
        let mut counters = Self {
            live: root == Path::new("/"),
            scope,
            proc,
            sources,
            table: Table::default(),
            buffer: Vec::new(),
            route: route_socket().ok(),
            listeners: Listeners::default(),
            drops: Drops::default(),
            memory_groups: MemoryGroups::default(),
            changes_read: None,
            absent_files: BTreeMap::new(),
            absent_state: Vec::new(),
            listed: Vec::new(),
        };
        if counters.live && scope == Scope::MachineAndHost {
            counters.drops = Drops::open();
        }
        counters.check_required()?;
        counters.refresh(Tier::Deep);
        counters.list_absences();
        Ok(counters)
    }

    /// Reads all counters of a depth.
    pub fn read(&mut self, depth: Depth) -> Snapshot {
        let at_ns = raw_now_ns();
        self.refresh(match depth {
            Depth::Light => Tier::Slow,
            Depth::Deep => Tier::Deep,
        });
        if depth == Depth::Deep {
            self.read_state();
        }
        self.list_absences();
        Snapshot { at_ns, values: self.table.all() }
    }

    /// Looks at sockets alone: queues of listeners, questions to name servers, and connections that hold data back. What it adds shows in the next
    /// reading.
    pub fn look_at_sockets(&mut self) {
        self.listeners.look_closely(&mut self.table);
    }

    /// Reads the counters lightly, and remembers them for [`Self::changes_since_mark`]. The reading that ended one slice, just before, begins the next.
    pub fn mark(&mut self) {
        if self.changes_read.is_none_or(|at| at.elapsed() >= FRESH) {
            self.refresh(Tier::Slow);
        }
        self.table.mark();
    }

    /// Reads the counters lightly: what differs from when they were last marked, and by how much. What was not there both times is left out.
    pub fn changes_since_mark(&mut self) -> BTreeMap<String, f64> {
        self.refresh(Tier::Slow);
        self.changes_read = Some(Instant::now());
        self.table.changes_since_mark()
    }

    /// Reads for a series: the fast files, and with `slow_too` the slow ones.
    pub(crate) fn read_series(&mut self, series: Series, slow_too: bool) -> Snapshot {
        let at_ns = raw_now_ns();
        self.refresh(if slow_too { Tier::Slow } else { Tier::Fast });
        let values = match series {
            Series::Changes => self.table.changes(),
            Series::Full => self.table.all_since_series(),
        };
        Snapshot { at_ns, values }
    }

    /// Begins a series: the next [`Self::read_series`] gives everything.
    pub(crate) fn begin_series(&mut self) {
        self.table.begin_series();
    }

    /// Absences of the last reading, each with the reason. Deep readings add to it.
    pub fn absent(&self) -> &[Absence] {
        &self.listed
    }

    fn check_required(&mut self) -> Result<(), CountersError> {
        self.table.begin();
        for source in self.sources.iter_mut().filter(|source| source.absent_when.is_none()) {
            source
                .read(&mut self.table, &mut self.buffer)
                .map_err(|error| CountersError::Required { path: source.path.clone(), source: error })?;
        }
        Ok(())
    }

    /// Reads the files of a tier and those below it. A file that is absent is looked for again in deep readings: modules get
    /// loaded while an experiment runs.
    fn refresh(&mut self, tier: Tier) {
        self.changes_read = None;
        self.table.begin();
        for source in self.sources.iter_mut().filter(|source| source.tier <= tier) {
            if tier < Tier::Deep && self.absent_files.contains_key(&source.path) {
                continue;
            }
            match source.read(&mut self.table, &mut self.buffer) {
                Ok(()) => drop(self.absent_files.remove(&source.path)),
                Err(error) => {
                    let why = source.absent_when.map_or(String::new(), |why| format!(": {why}"));
                    self.absent_files.insert(source.path.clone(), format!("{error}{why}"));
                }
            }
        }
        if tier >= Tier::Slow && self.scope == Scope::MachineAndHost {
            journals::read(&self.proc, &mut self.table);
        }
        if tier >= Tier::Slow && self.live {
            self.read_queueing_disciplines();
            // Most hosts have no UDP sockets, and to find none the kernel walks those of the whole machine.
            let has_udp = UDP_IN_USE.iter().any(|name| self.table.value(name) != Some(0.0));
            self.listeners.look(&mut self.table, has_udp);
        }
        if tier == Tier::Deep && self.live && self.scope == Scope::MachineAndHost {
            self.memory_groups.find();
        }
        if tier >= Tier::Slow {
            self.drops.read(&mut self.table);
            self.memory_groups.read(&mut self.table);
        }
    }

    /// Reads the queueing disciplines. Without permission, or without any, the snapshot has none.
    fn read_queueing_disciplines(&mut self) {
        let counts = self.route.as_ref().map(queueing_disciplines);
        // The rest of an answer that broke off would pass for the next one.
        self.route.take_if(|_| matches!(counts, Some(Err(_))));
        for (kind, counts) in counts.and_then(Result::ok).unwrap_or_default() {
            self.table.set_named(&format!("qdisc.{kind}.drops"), counts.drops as f64);
            if SHAPERS.contains(&kind.as_str()) {
                self.table.set_named(&format!("qdisc.{kind}.overlimits"), counts.overlimits as f64);
            }
        }
    }

    /// Reads what does not stand in one file.
    fn read_state(&mut self) {
        self.absent_state.clear();
        self.read_sockets();
        self.read_route_objects();
        let processes = processes::read(&self.proc);
        self.table.zero("wait.");
        for (name, value) in &processes.values {
            self.table.set_named(name, *value);
        }
        self.absent_state.extend(processes.absent);
        for (name, value) in filesystems::read(&self.proc, self.live) {
            self.table.set_named(&name, value);
        }
    }

    fn read_sockets(&mut self) {
        let sockets = if self.live {
            connections::sockets_by_state()
        } else {
            connections::sockets_in_files(&self.proc)
        };
        match sockets {
            Ok(sockets) => {
                for (state, count) in sockets.by_state() {
                    self.table.set_named(&format!("tcp.{state}"), count as f64);
                }
                self.table.set_named("tcp.backlog", sockets.backlog as f64);
                for (address, it) in &sockets.listeners {
                    self.table.set_named(&format!("tcp.listener.{address}.limit"), f64::from(it.limit));
                }
            }
            Err(error) => {
                self.absent_state.push(Absence { file: "tcp sockets".to_owned(), why: error.to_string() });
            }
        }
    }

    fn read_route_objects(&mut self) {
        for (name, object) in [
            ("rules", RouteObject::Rule),
            ("routes", RouteObject::Route),
            ("neighbours", RouteObject::Neighbour),
        ] {
            let counted = if self.live {
                count_route_objects(object).map_err(|error| error.to_string())
            } else {
                Err("only the running kernel can be asked".to_owned())
            };
            match counted {
                Ok(count) => self.table.set_named(name, count as f64),
                Err(why) => self.absent_state.push(Absence { file: name.to_owned(), why }),
            }
        }
        if let Some(count) = self.live.then(|| iptables::count_rules(&self.proc)).flatten() {
            self.table.set_named("rules.iptables", count as f64);
        }
        // Without permission or support, this host has made no rules either.
        if let Some(count) = self.live.then(nftables::count_rules).and_then(Result::ok) {
            self.table.set_named("rules.nftables", count as f64);
        }
    }

    fn list_absences(&mut self) {
        let files = self.absent_files.iter();
        self.listed =
            files.map(|(file, why)| Absence { file: file.display().to_string(), why: why.clone() }).collect();
        self.listed.extend_from_slice(&self.absent_state);
    }
}

/// For how long a reading passes for the present.
pub const FRESH: Duration = Duration::from_millis(5);

/// How many UDP sockets the network namespace has, of each family.
const UDP_IN_USE: [&str; 2] = ["sockstat.UDP.inuse", "sockstat.UDP6.inuse"];

/// Queueing disciplines that hold traffic to a rate: net/sched.
const SHAPERS: [&str; 7] = ["tbf", "htb", "hfsc", "cake", "netem", "cbq", "etf"];

/// Where the network namespace's files are: the calling thread's, since `/proc/net` is the main thread's.
fn net_directory(proc: &Path) -> PathBuf {
    let own = proc.join("thread-self/net");
    if own.is_dir() { own } else { proc.join("net") }
}

fn machine_sources(proc: &Path) -> Vec<Source> {
    let net = net_directory(proc);
    let pressure = |resource, why| {
        let path = proc.join("pressure").join(resource);
        Source::new(path, Tier::Slow, Some(why), machine::pressure(resource))
    };
    let psi = "the kernel was built without CONFIG_PSI, or started without psi=1";
    vec![
        Source::new(proc.join("stat"), Tier::Fast, None, machine::stat),
        Source::new(proc.join("loadavg"), Tier::Slow, None, machine::loadavg),
        Source::new(proc.join("meminfo"), Tier::Slow, None, machine::meminfo),
        Source::new(
            proc.join("vmstat"),
            Tier::Slow,
            Some("the kernel was built without CONFIG_VM_EVENT_COUNTERS"),
            machine::pairs("machine.vmstat."),
        ),
        Source::new(
            net.join("softnet_stat"),
            Tier::Slow,
            Some("the kernel was built without CONFIG_NET"),
            machine::softnet,
        ),
        pressure("cpu", psi),
        pressure("memory", psi),
        pressure("io", psi),
        pressure("irq", "needs CONFIG_PSI and CONFIG_IRQ_TIME_ACCOUNTING"),
        Source::new(
            proc.join("schedstat"),
            Tier::Slow,
            Some("the kernel was built without CONFIG_SCHEDSTATS"),
            machine::schedstat,
        ),
        Source::new(
            proc.join("diskstats"),
            Tier::Slow,
            Some("the kernel was built without CONFIG_BLOCK"),
            machine::diskstats,
        ),
        Source::new(
            proc.join("slabinfo"),
            Tier::Deep,
            Some("only root of the machine may read it"),
            machine::slabinfo,
        ),
        Source::new(
            proc.join("interrupts"),
            Tier::Deep,
            Some("some containers hide it"),
            machine::interrupts,
        ),
        Source::new(proc.join("softirqs"), Tier::Deep, Some("some containers hide it"), machine::softirqs),
        Source::new(
            proc.join("sys/fs/file-nr"),
            Tier::Deep,
            Some("some containers hide it"),
            machine::file_nr,
        ),
    ]
}

fn network_sources(proc: &Path) -> Vec<Source> {
    let net = net_directory(proc);
    let no_inet = Some("the kernel was built without CONFIG_INET");
    let no_ipv6 = Some("the kernel has no IPv6, or it is turned off");
    let no_conntrack = Some("connections are not tracked: the module nf_conntrack is not loaded");
    let mut sources = vec![
        Source::new(net.join("snmp"), Tier::Fast, no_inet, network::protocols("snmp")),
        Source::new(net.join("sockstat"), Tier::Fast, no_inet, network::sockstat),
        Source::new(net.join("sockstat6"), Tier::Slow, no_ipv6, network::sockstat),
        Source::new(
            proc.join("sys/net/netfilter/nf_conntrack_count"),
            Tier::Slow,
            no_conntrack,
            network::setting("nf_conntrack.count"),
        ),
        Source::new(
            net.join("stat/nf_conntrack"),
            Tier::Slow,
            no_conntrack,
            network::per_cpu("nf_conntrack."),
        ),
        Source::new(
            proc.join("1/net/stat/arp_cache"),
            Tier::Slow,
            Some("the first process is in another network namespace, or hidden"),
            network::per_cpu("neighbour."),
        ),
        Source::new(net.join("netstat"), Tier::Slow, no_inet, network::protocols("netstat")),
        Source::new(net.join("dev"), Tier::Slow, no_inet, network::dev),
        Source::new(net.join("snmp6"), Tier::Deep, no_ipv6, machine::pairs("snmp6.")),
        Source::new(
            proc.join("locks"),
            Tier::Deep,
            Some("the kernel was built without CONFIG_FILE_LOCKING"),
            network::locks,
        ),
    ];
    for (path, name, absent_when) in LIMITS {
        let path = proc.join("sys").join(path);
        sources.push(Source::new(path, Tier::Deep, Some(absent_when), network::setting(name)));
    }
    sources
}

const OF_FIRST_NAMESPACE: &str = "visible only in the initial network namespace";

/// Settings that are limits which a flood may run into; each a file below `/proc/sys`, its name, and when it is missing.
const LIMITS: [(&str, &str, &str); 8] = [
    (
        "net/netfilter/nf_conntrack_max",
        "limit.net.netfilter.nf_conntrack_max",
        "connections are not tracked: the module nf_conntrack is not loaded",
    ),
    ("net/core/netdev_max_backlog", "limit.net.core.netdev_max_backlog", OF_FIRST_NAMESPACE),
    ("net/ipv4/neigh/default/gc_thresh3", "limit.net.ipv4.neigh.default.gc_thresh3", OF_FIRST_NAMESPACE),
    ("net/core/somaxconn", "limit.net.core.somaxconn", "some containers hide it"),
    ("net/ipv4/tcp_max_tw_buckets", "limit.net.ipv4.tcp_max_tw_buckets", "some containers hide it"),
    ("net/ipv4/tcp_max_syn_backlog", "limit.net.ipv4.tcp_max_syn_backlog", "some containers hide it"),
    ("net/ipv4/ip_local_port_range", "limit.net.ipv4.ip_local_port_range", "some containers hide it"),
    ("net/ipv4/tcp_mem", "limit.net.ipv4.tcp_mem", OF_FIRST_NAMESPACE),
];

/// The files of the control group in which this process is, of version 2 or 1.
fn cgroup_sources(root: &Path) -> Vec<Source> {
    let why = "the control group lacks this controller, or is invisible in this namespace";
    let directory = |controller| plimsoll_inventory::cgroup_directory(root, controller);
    let source = |directory: Option<PathBuf>, file, prefix| {
        let path = directory?.join(file);
        Some(Source::new(path, Tier::Slow, Some(why), machine::pairs(prefix)))
    };
    // How often the group came to its limit: `max` of version 2's memory.events, a file of its own in version 1.
    let failures = directory("memory").map(|directory| directory.join("memory.failcnt"));
    let at_limit = match failures.filter(|path| path.exists()) {
        Some(path) => {
            Some(Source::new(path, Tier::Slow, Some(why), network::setting("cgroup.memory.failcnt")))
        }
        None => source(directory("memory"), "memory.events", "cgroup.memory."),
    };
    [source(directory("cpu"), "cpu.stat", "cgroup.cpu."), at_limit].into_iter().flatten().collect()
}

/// Values in the samples of a series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Series {
    /// The first holds everything; each later one what was read and has another value than before. A name that is missing has the
    /// value of the last sample that has it. A tenth of the size, usually less.
    Changes,
    /// Each holds everything; what was not read again has the value that it had.
    Full,
}
