//! Named explanations of a verdict.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The catalogue: what stands here is all that this crate knows of a cause. The list is given to a macro, so that each crate makes of it what it
/// needs: here the ids, in `plimsoll-explain` the module of each cause, which holds everything else.
///
/// A line is the cause's variant, its module, its public id, and its title as a sentence without its full stop.
#[macro_export]
macro_rules! each_cause {
    ($then:ident) => {
        $then! {
            /// Senders wait for acknowledgements that receivers hold back (RFC 9293, section 3.8.6.3; 40 ms in Linux).
            NetDelayedAck: net_delayed_ack = "net.delayed_ack", "Senders wait for acknowledgements that come late";
            /// The sender's kernel waits for more before it sends what does not fill a segment (Nagle, `TCP_CORK`, `MSG_MORE`; up to 200 ms in Linux).
            NetSenderCorked: net_sender_corked = "net.sender_corked", "The sender's kernel holds part of a segment back";
            /// Only a timer brings losses to light (RFC 6298).
            NetRto: net_rto = "net.rto", "Connections stand still until a retransmission timeout";
            /// Packets are lost, and sent again.
            NetPacketLoss: net_packet_loss = "net.packet_loss", "Packets are lost on the way";
            /// The receiving program does not take what has arrived.
            NetZeroWindow: net_zero_window = "net.zero_window", "The receiver's window is closed";
            /// The receiver's buffer is smaller than the rate times the round trip.
            NetSmallBuffer: net_small_buffer = "net.small_buffer", "The receiver's buffer is too small for the path";
            /// Requests for connections, or their answers, are lost or dropped.
            NetSynDropped: net_syn_dropped = "net.syn_dropped", "Connections are asked for more than once";
            /// More connections come than a server has room for until it accepts them.
            NetListenOverflow: net_listen_overflow = "net.listen_overflow", "The server's listen queue overflows";
            /// A client has no local port left to connect from.
            NetPortExhaustion: net_port_exhaustion = "net.port_exhaustion", "The client runs out of ports";
            /// A process has as many files and sockets open as it may.
            LimitFileDescriptors: limit_file_descriptors = "limit.file_descriptors", "A process runs out of file descriptors";
            /// The kernel tracks as many connections as it may, and drops packets of new ones.
            NetConntrackFull: net_conntrack_full = "net.conntrack_full", "The table of tracked connections is full";
            /// Packets are larger than a link on the way takes, and the sender never learns.
            NetMtuBlackhole: net_mtu_blackhole = "net.mtu_blackhole", "Packets too large for a link disappear";
            /// Ports are used again before the other side has forgotten their last connection.
            NetTimeWaitReuse: net_time_wait_reuse = "net.time_wait_reuse", "Connections meet their predecessors in TIME_WAIT";
            /// Each packet or connection is compared with rule after rule: of routing policy, of a packet filter, of a classifier.
            NetRuleChain: net_rule_chain = "net.rule_chain", "Packets are compared with a long list of rules";
            /// CPUs spin until another one has released a lock.
            LockContended: lock_contended = "lock.contended", "CPUs wait for a lock of the kernel";
            /// Threads of a program sleep until another of its threads has released a lock.
            LockUserSpace: lock_user_space = "lock.user_space", "Threads wait for a lock of their own program";
            /// The kernel has to find memory before it can give any.
            MemoryReclaim: memory_reclaim = "memory.reclaim", "The kernel looks for memory that it can take back";
            /// Memory has run out, and the kernel ends a process to get some.
            MemoryOom: memory_oom = "memory.oom", "The kernel kills processes because memory runs out";
            /// Memory is written to swap, and read from there when it is needed.
            MemorySwap: memory_swap = "memory.swap", "Programs wait for memory that was swapped out";
            /// The service waits for the disk to make durable what it has written, and does so more often.
            DiskSyncBound: disk_sync_bound = "disk.sync_bound", "The service makes more of its writes durable";
            /// A file system has no room left, or no inode.
            DiskFull: disk_full = "disk.full", "A file system is full";
            /// The CPUs are busy, and most of what was added is the kernel's.
            CpuKernelSaturated: cpu_kernel_saturated = "cpu.kernel_saturated", "The kernel uses up the CPUs";
            /// One thread is busy all the time, while CPUs are idle.
            CpuSingleThread: cpu_single_thread = "cpu.single_thread", "A single thread uses up a CPU";
            /// The CPUs are busy, and most of what was added is the program's.
            CpuUserSaturated: cpu_user_saturated = "cpu.user_saturated", "A program uses up the CPUs";
            /// Measuring changes what is measured.
            ProbeEffect: probe_effect = "probe.effect", "The probes change the result";
            /// State that a service keeps per past connection makes each new one dearer; it goes with the process.
            ServiceStateGrows: service_state_grows = "service.state_grows", "The service keeps state that grows with every connection";
            /// State that the host's kernel keeps makes each operation dearer; it outlives the service and goes with the host.
            KernelStateGrows: kernel_state_grows = "kernel.state_grows", "The host's kernel keeps state that grows with every connection";
            /// Another process flushes the same disk, so the service's own flushes queue behind it.
            DiskForeignSync: disk_foreign_sync = "disk.foreign_sync", "Somebody else makes the disk flush";
            /// Somebody else reads or writes the same device, and takes a part of what it can do.
            DiskCompetingIo: disk_competing_io = "disk.competing_io", "Another load competes for the same device";
            /// The device does all that it can: requests wait in its queue.
            DiskSaturated: disk_saturated = "disk.saturated", "The device does all that it can";
            /// A control group has used up its quota of CPU time, and is stopped until its next period.
            CpuQuotaThrottled: cpu_quota_throttled = "cpu.quota_throttled", "A quota of CPU time stops the service";
            /// Others use the CPUs that what is measured waits for.
            CpuContended: cpu_contended = "cpu.contended", "Another program takes the CPUs";
            /// One CPU does the network's work for all (softirqs), and is busy with it.
            CpuSoftirqImbalance: cpu_softirq_imbalance = "cpu.softirq_imbalance", "One CPU does the network's work for all";
            /// A control group, or the kernel, lets a program ask less of a disk than this could do.
            DiskThrottled: disk_throttled = "disk.throttled", "Somebody limits what may be asked of the disk";
            /// A queueing discipline lets no more through than its rate.
            NetShaped: net_shaped = "net.shaped", "Traffic is held to a rate";
            /// A service waits for answers to questions for names.
            NameLookupSlow: name_lookup_slow = "name.lookup_slow", "Looking up names takes long";
            /// A process of the service ends by a signal.
            ServiceCrashed: service_crashed = "service.crashed", "A process of the service crashes or is killed";
            /// The load generator cannot do what it is to do, so that it is measured and not the system.
            GeneratorSaturated: generator_saturated = "generator.saturated", "The load generator is the bottleneck";
            /// The kernel takes longer for each operation, in a function that no other cause knows.
            KernelPathLonger: kernel_path_longer = "kernel.path_longer", "The kernel takes longer for each operation";
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
            #[must_use]
            pub fn id(self) -> &'static str {
                match self { $(Self::$variant => $id,)+ }
            }

            /// The title, as a sentence without its full stop.
            #[must_use]
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
    /// What it says, in a sentence.
    pub title: String,
    /// How sure it is, from 0 to 1.
    pub confidence: f64,
    /// What speaks for it.
    pub evidence: Vec<CauseEvidence>,
    /// What would mend it.
    pub remedy: String,
    /// Whether an intervention has confirmed it.
    pub confirmed: bool,
}

/// Below even odds a cause is a guess, and its title says so.
const EVEN: f64 = 0.5;

impl Cause {
    /// The title, which says how likely it is where that is less than even.
    #[must_use]
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
