//! Named explanations of a verdict.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The catalogue: this crate knows no more of a cause. The list is given to a macro, so that each crate makes of it what it
/// needs: here the ids, in `plimsoll-explain` the module of each cause, which holds everything else.
///
/// A line is the cause's variant, its module, its public id, and its title as a sentence without its full stop.
#[macro_export]
macro_rules! each_cause {
    ($then:ident) => {
        $then! {
            /// Senders wait for acknowledgements that receivers hold back (RFC 9293, section 3.8.6.3; 40 ms in Linux).
            NetDelayedAck: net_delayed_ack = "net.delayed_ack", "Senders wait for delayed acknowledgements";
            /// The sender's kernel holds a partial segment back until more data comes (Nagle, `TCP_CORK`, `MSG_MORE`; up to 200 ms in Linux).
            NetSenderCorked: net_sender_corked = "net.sender_corked", "The sender's kernel holds part of a segment back";
            /// Only the retransmission timer detects the losses (RFC 6298).
            NetRto: net_rto = "net.rto", "Connections stand still until a retransmission timeout";
            /// Packets are lost and retransmitted.
            NetPacketLoss: net_packet_loss = "net.packet_loss", "Packets are lost on the path";
            /// The receiving program does not read the data that has arrived.
            NetZeroWindow: net_zero_window = "net.zero_window", "The receiver's window is closed";
            /// The receiver's buffer is smaller than the bandwidth-delay product.
            NetSmallBuffer: net_small_buffer = "net.small_buffer", "The receiver's buffer is too small for the path";
            /// SYNs or SYN-ACKs are lost or dropped.
            NetSynDropped: net_syn_dropped = "net.syn_dropped", "SYNs or SYN-ACKs are lost";
            /// The queue of connections that the server has not accepted yet is full.
            NetListenOverflow: net_listen_overflow = "net.listen_overflow", "The server's listen queue overflows";
            /// The client has no free local port.
            NetPortExhaustion: net_port_exhaustion = "net.port_exhaustion", "The client runs out of ports";
            /// A process has reached its limit of open files and sockets.
            LimitFileDescriptors: limit_file_descriptors = "limit.file_descriptors", "A process runs out of file descriptors";
            /// Connection tracking is full, so the kernel drops packets of new connections.
            NetConntrackFull: net_conntrack_full = "net.conntrack_full", "The connection tracking table is full";
            /// Packets exceed the MTU of a link on the path, and the sender is not notified.
            NetMtuBlackhole: net_mtu_blackhole = "net.mtu_blackhole", "Packets larger than a link's MTU disappear";
            /// The client reuses ports while the other side still holds their last connection in TIME_WAIT.
            NetTimeWaitReuse: net_time_wait_reuse = "net.time_wait_reuse", "New connections reuse ports that are in TIME_WAIT";
            /// Each packet or connection traverses many rules of routing policy, a packet filter or a classifier.
            NetRuleChain: net_rule_chain = "net.rule_chain", "Packets are compared with a long list of rules";
            /// CPUs spin until another CPU releases a kernel lock.
            LockContended: lock_contended = "lock.contended", "CPUs spin on a kernel lock";
            /// Threads of a program sleep until another of its threads releases a lock.
            LockUserSpace: lock_user_space = "lock.user_space", "Threads contend for a lock of their program";
            /// The kernel must reclaim memory before it can allocate any.
            MemoryReclaim: memory_reclaim = "memory.reclaim", "The kernel reclaims memory";
            /// Memory has run out, and the kernel kills a process to free some.
            MemoryOom: memory_oom = "memory.oom", "The kernel kills processes because memory runs out";
            /// The kernel writes memory to swap, and programs wait to read it back.
            MemorySwap: memory_swap = "memory.swap", "Programs wait for swapped-out memory";
            /// The service waits for flushes of the disk, and requests them more often.
            DiskSyncBound: disk_sync_bound = "disk.sync_bound", "The service flushes its writes more often";
            /// A file system has no free space or no free inodes.
            DiskFull: disk_full = "disk.full", "A file system is full";
            /// The CPUs are busy, and the kernel uses most of the additional time.
            CpuKernelSaturated: cpu_kernel_saturated = "cpu.kernel_saturated", "The kernel uses up the CPUs";
            /// One thread is always busy while other CPUs are idle.
            CpuSingleThread: cpu_single_thread = "cpu.single_thread", "A single thread uses up a CPU";
            /// The CPUs are busy, and a program uses most of the additional time.
            CpuUserSaturated: cpu_user_saturated = "cpu.user_saturated", "A program uses up the CPUs";
            /// The probes disturb the measured system.
            ProbeEffect: probe_effect = "probe.effect", "The probes change the result";
            /// A service keeps state for past connections, which makes each new one more expensive. A restart clears it.
            ServiceStateGrows: service_state_grows = "service.state_grows", "The service keeps state that grows with every connection";
            /// The host's kernel keeps state that makes each operation more expensive. It outlives the service, not the host.
            KernelStateGrows: kernel_state_grows = "kernel.state_grows", "The host's kernel keeps state that grows with every connection";
            /// The disk carries the same data in more and smaller requests, as without read-ahead.
            DiskSmallRequests: disk_small_requests = "disk.small_requests", "The disk is asked for smaller pieces";
            /// Another process flushes the same disk, so the service's own flushes queue behind it.
            DiskForeignSync: disk_foreign_sync = "disk.foreign_sync", "Another process flushes the disk";
            /// Another process reads or writes the same device and uses part of its capacity.
            DiskCompetingIo: disk_competing_io = "disk.competing_io", "Another load competes for the same device";
            /// The disk is at its capacity: requests wait in its queue.
            DiskSaturated: disk_saturated = "disk.saturated", "The disk is saturated";
            /// A control group has used its CPU quota and is stopped until the next period.
            CpuQuotaThrottled: cpu_quota_throttled = "cpu.quota_throttled", "A CPU quota throttles the service";
            /// Other processes use the CPUs that the measured processes wait for.
            CpuContended: cpu_contended = "cpu.contended", "Another program competes for the CPUs";
            /// One CPU handles nearly all network softirqs and is saturated.
            CpuSoftirqImbalance: cpu_softirq_imbalance = "cpu.softirq_imbalance", "One CPU handles nearly all network softirqs";
            /// A control group, or the kernel, limits a program's disk I/O below the disk's capacity.
            DiskThrottled: disk_throttled = "disk.throttled", "A limit throttles disk I/O";
            /// A queueing discipline limits traffic to its configured rate.
            NetShaped: net_shaped = "net.shaped", "A queueing discipline limits the rate";
            /// A service waits for DNS replies.
            NameLookupSlow: name_lookup_slow = "name.lookup_slow", "Name lookups are slow";
            /// A signal ends a process of the service.
            ServiceCrashed: service_crashed = "service.crashed", "A process of the service crashes or is killed";
            /// The load generator cannot keep up, so the figure measures the generator instead of the system.
            GeneratorSaturated: generator_saturated = "generator.saturated", "The load generator is the bottleneck";
            /// The service has a lower priority than whatever else wants the CPUs.
            CpuLowPriority: cpu_low_priority = "cpu.low_priority", "The service runs at a low priority";
            /// The service may use fewer CPUs than the machine has.
            CpuPinned: cpu_pinned = "cpu.pinned", "The service is pinned to fewer CPUs";
            /// Something stops the service for a while, by a signal, a tracer or a freezer, and lets it go on.
            ServiceStopped: service_stopped = "service.stopped", "Something stops the service and lets it go on";
            /// The kernel walks a long list of file locks under the lock of that list.
            LockTable: lock_table = "lock.table", "File locks are compared with a long list of locks";
            /// The kernel writes messages of a packet filter, a driver or itself to its log.
            KernelLogFlood: kernel_log_flood = "kernel.log_flood", "The kernel writes many messages to its log";
            /// Each fork copies the page tables of a large process.
            MemoryLargeFork: memory_large_fork = "memory.large_fork", "Each fork copies the page tables of a large process";
            /// The table of neighbours (ARP, NDP) is full, and packets to new ones are dropped.
            NetNeighbourOverflow: net_neighbour_overflow = "net.neighbour_overflow", "The table of neighbours is full";
            /// Tracked connections stand in long chains, since their hash table has too few buckets.
            NetConntrackHash: net_conntrack_hash = "net.conntrack_hash", "The hash table of tracked connections is too small";
            /// The queue of packets that a CPU has yet to handle is full, or its budget for them is used up.
            NetBacklogDropped: net_backlog_dropped = "net.backlog_dropped", "CPUs drop packets before they handle them";
            /// Of several listeners of one port (SO_REUSEPORT) some have long queues while others wait.
            NetListenerUneven: net_listener_uneven = "net.listener_uneven", "Listeners of one port get unequal shares";
            /// Allocations wait while the kernel moves pages to make room for a huge one.
            MemoryCompaction: memory_compaction = "memory.compaction", "Programs wait for huge pages to be put together";
            /// More is written than the device takes, so that dirty memory grows and writers are held back.
            DiskWritebackSlow: disk_writeback_slow = "disk.writeback_slow", "Written data waits for a slow device";
            /// The kernel has too little entropy, and programs wait for random numbers.
            KernelEntropyLow: kernel_entropy_low = "kernel.entropy_low", "Programs wait for random numbers";
            /// The kernel gave up its fast clock, and each question for the time goes to a slow device.
            KernelClocksource: kernel_clocksource = "kernel.clocksource", "Reading the clock became slow";
            /// CPUs run at a lower frequency, because of heat, power or a governor.
            CpuFrequencyLimited: cpu_frequency_limited = "cpu.frequency_limited", "CPUs run slower because of heat or power";
            /// The hypervisor gives the CPUs of this machine to other guests.
            CpuSteal: cpu_steal = "cpu.steal", "The hypervisor gives the CPUs to others";
            /// Programs use memory of another NUMA node, because their own has none free.
            MemoryRemoteNuma: memory_remote_numa = "memory.remote_numa", "Memory of another node is used";
            /// Interrupts, or a thread of the kernel, take a large part of the CPUs.
            CpuInterruptStorm: cpu_interrupt_storm = "cpu.interrupt_storm", "Interrupts or kernel threads take the CPUs";
            /// One CPU takes the interrupts of all queues of a device.
            CpuInterruptImbalance: cpu_interrupt_imbalance = "cpu.interrupt_imbalance", "One CPU takes the interrupts of all queues";
            /// A program adds watches (inotify, epoll) and does not remove them.
            LimitWatches: limit_watches = "limit.watches", "Watches of files or sockets pile up";
            /// So much is logged that the journal or the audit takes the CPU, or holds callers up.
            ServiceLogFlood: service_log_flood = "service.log_flood", "Writing logs takes the machine";
            /// A program waits for room in a pipe, since the reader of the pipe is slow.
            ServicePipeFull: service_pipe_full = "service.pipe_full", "A program waits until another reads its output";
            /// A program makes the same system call again and again, and it fails.
            ServiceFailingCalls: service_failing_calls = "service.failing_calls", "A program repeats a system call that fails";
            /// A program sleeps for a time that it has set itself: a pause between attempts, a poll, a rate limit of its own.
            ServiceSleeps: service_sleeps = "service.sleeps", "A program sleeps for a time of its own choice";
            /// A program makes many small writes to a file, as a log at debug level does, and the calls take its time.
            ServiceFileWrites: service_file_writes = "service.file_writes", "A program spends its time on writes to a file";
            /// A program starts far more processes.
            ServiceManyProcesses: service_many_processes = "service.many_processes", "A program starts many processes";
            /// A connection is opened for each request, or for many more of them.
            ServiceManyConnections: service_many_connections = "service.many_connections", "Far more connections are opened";
            /// A program handles far more signals, as those of a timer.
            ServiceManySignals: service_many_signals = "service.many_signals", "A program handles many signals";
            /// A program waits for an answer, or for something to read, from another.
            ServiceAnswersLate: service_answers_late = "service.answers_late", "A program waits for another program";
            /// Packets carry less data each, as without segmentation offload or with a small MTU.
            NetSmallPackets: net_small_packets = "net.small_packets", "Data goes in smaller packets";
            /// A program, its files or its network have settings that the better side has not: a variable, a library, a limit, a mount option, a sysctl.
            ServiceOtherSettings: service_other_settings = "service.other_settings", "A program runs with other settings";
            /// The kernel needs more CPU time per operation, in a function that no other cause covers.
            KernelPathLonger: kernel_path_longer = "kernel.path_longer", "The kernel needs more CPU time per operation";
        }
    };
}

/// Declares the ids of the catalogue.
macro_rules! ids {
    ($($(#[doc = $doc:literal])+ $variant:ident: $module:ident = $id:literal, $title:literal;)+) => {
        /// The ids of the catalogue: a public contract.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
        pub enum CauseId {
            $($(#[doc = $doc])+ #[serde(rename = $id)] $variant,)+
        }

        impl CauseId {
            /// Every cause of the catalogue.
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            /// The public id.
            pub fn id(self) -> &'static str {
                match self { $(Self::$variant => $id,)+ }
            }

            /// The title, as a sentence without its full stop.
            pub fn title(self) -> &'static str {
                match self { $(Self::$variant => $title,)+ }
            }
        }
    };
}

each_cause!(ids);

/// An explanation of a verdict, with what speaks for it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cause {
    /// 1 for the likeliest.
    pub rank: u32,
    /// The id in the catalogue.
    pub id: CauseId,
    /// Statement of the cause, in a sentence.
    pub title: String,
    /// How sure it is, from 0 to 1.
    pub confidence: f64,
    /// Evidence of the cause.
    pub evidence: Vec<CauseEvidence>,
    /// Remedy of the cause.
    pub remedy: String,
    /// Whether an intervention has confirmed it.
    pub confirmed: bool,
}

/// Below even odds a cause is a guess, and its title says so.
const EVEN: f64 = 0.5;

impl Cause {
    /// The title, which says how likely it is where that is less than even.
    pub fn headline(&self) -> String {
        let is_guess = self.confidence < EVEN && !self.confirmed;
        if is_guess { format!("Perhaps: {}", self.title) } else { self.title.clone() }
    }
}

/// One piece of evidence for a cause.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CauseEvidence {
    /// Name of the metric.
    pub metric: String,
    /// Its value before.
    pub before: f64,
    /// Its value after.
    pub after: f64,
    /// The unit of both.
    pub unit: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_less_likely_than_not_is_said_to_be_perhaps_so() {
        let of = |confidence, confirmed| {
            let (id, title) = (CauseId::NetRto, "Timeouts".to_owned());
            let (evidence, remedy) = (Vec::new(), String::new());
            Cause { rank: 1, id, title, confidence, evidence, remedy, confirmed }.headline()
        };
        assert_eq!(
            [of(0.49, false), of(0.5, false), of(0.3, true)],
            ["Perhaps: Timeouts", "Timeouts", "Timeouts"]
        );
    }

    #[test]
    fn the_id_in_json_is_that_of_the_catalogue() {
        for &cause in CauseId::ALL {
            assert_eq!(serde_json::to_value(cause).unwrap(), cause.id());
        }
    }
}
