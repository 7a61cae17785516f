//! Changed settings, against the kernel's own defaults.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::tree::Tree;

/// A setting that is not what the kernel sets by itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChangedSysctl {
    /// Its value.
    pub value: String,
    /// Defaults of kernels; several where releases differ.
    pub defaults: Vec<String>,
}

/// Settings that matter under load, and what kernels since 5.4 set by themselves (Documentation/admin-guide/sysctl,
/// Documentation/networking/ip-sysctl.rst and the initialisers in the source). Where releases differ, each value counts as a default:
/// somaxconn 4096 since 5.4; optmem_max 131072 since 6.8; rmem_max and wmem_max 4194304 since 6.17; netdev_budget_usecs is two
/// ticks of 1000, 300, 250 or 100 a second. Left out is what the kernel computes from the size of the machine (tcp_mem,
/// tcp_max_tw_buckets, tcp_max_syn_backlog, the last of tcp_rmem and tcp_wmem, threads-max, file-max, pid_max), since there a value alone
/// does not show whether somebody set it.
const DEFAULTS: [(&str, &[&str]); 52] = [
    ("net.core.somaxconn", &["4096"]),
    ("net.core.netdev_max_backlog", &["1000"]),
    ("net.core.netdev_budget", &["300"]),
    ("net.core.netdev_budget_usecs", &["8000", "2000", "20000", "6666"]),
    ("net.core.rmem_default", &["212992"]),
    ("net.core.wmem_default", &["212992"]),
    ("net.core.rmem_max", &["212992", "4194304"]),
    ("net.core.wmem_max", &["212992", "4194304"]),
    ("net.core.optmem_max", &["20480", "131072"]),
    ("net.core.busy_poll", &["0"]),
    ("net.core.busy_read", &["0"]),
    ("net.core.rps_sock_flow_entries", &["0"]),
    ("net.core.default_qdisc", &["pfifo_fast"]),
    ("net.ipv4.ip_forward", &["0"]),
    ("net.ipv4.ip_local_port_range", &["32768 60999"]),
    ("net.ipv4.tcp_abort_on_overflow", &["0"]),
    ("net.ipv4.tcp_autocorking", &["1"]),
    ("net.ipv4.tcp_congestion_control", &["cubic"]),
    ("net.ipv4.tcp_early_retrans", &["3"]),
    ("net.ipv4.tcp_ecn", &["2"]),
    ("net.ipv4.tcp_fastopen", &["1"]),
    ("net.ipv4.tcp_fin_timeout", &["60"]),
    ("net.ipv4.tcp_keepalive_time", &["7200"]),
    ("net.ipv4.tcp_limit_output_bytes", &["1048576", "4194304"]),
    ("net.ipv4.tcp_moderate_rcvbuf", &["1"]),
    ("net.ipv4.tcp_mtu_probing", &["0"]),
    ("net.ipv4.tcp_no_metrics_save", &["0"]),
    ("net.ipv4.tcp_notsent_lowat", &["4294967295"]),
    ("net.ipv4.tcp_recovery", &["1"]),
    ("net.ipv4.tcp_reordering", &["3"]),
    ("net.ipv4.tcp_sack", &["1"]),
    ("net.ipv4.tcp_slow_start_after_idle", &["1"]),
    ("net.ipv4.tcp_syn_retries", &["6"]),
    ("net.ipv4.tcp_synack_retries", &["5"]),
    ("net.ipv4.tcp_syncookies", &["1"]),
    ("net.ipv4.tcp_timestamps", &["1"]),
    ("net.ipv4.tcp_tw_reuse", &["2"]),
    ("net.ipv4.tcp_window_scaling", &["1"]),
    ("net.ipv4.neigh.default.gc_thresh3", &["1024"]),
    ("net.ipv4.conf.all.rp_filter", &["0"]),
    ("vm.dirty_background_ratio", &["10"]),
    ("vm.dirty_ratio", &["20"]),
    ("vm.dirty_expire_centisecs", &["3000"]),
    ("vm.dirty_writeback_centisecs", &["500"]),
    ("vm.max_map_count", &["65530"]),
    ("vm.overcommit_memory", &["0"]),
    ("vm.page-cluster", &["3"]),
    ("vm.swappiness", &["60"]),
    ("vm.vfs_cache_pressure", &["100"]),
    ("vm.zone_reclaim_mode", &["0"]),
    ("fs.aio-max-nr", &["65536"]),
    ("fs.nr_open", &["1048576"]),
];

/// Differences; a setting that this kernel does not have differs from nothing.
pub(super) fn read(tree: &Tree<'_>) -> BTreeMap<String, ChangedSysctl> {
    let changed = DEFAULTS.iter().filter_map(|(name, defaults)| {
        let text = tree.text(format!("proc/sys/{}", name.replace('.', "/")))?;
        let value = text.split_ascii_whitespace().collect::<Vec<_>>().join(" ");
        let defaults: Vec<_> = defaults.iter().map(|default| (*default).to_owned()).collect();
        (!defaults.contains(&value)).then(|| ((*name).to_owned(), ChangedSysctl { value, defaults }))
    });
    changed.collect()
}
