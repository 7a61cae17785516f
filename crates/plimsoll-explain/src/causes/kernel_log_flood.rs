//! `kernel.log_flood`: The kernel writes many messages to its log.

use plimsoll_model::cause::CauseId;

use super::{Definition, Page, by_functions, changes};

pub(super) const DEFINITION: Definition = Definition::new(
    Page {
        evidence_for: "most of the added CPU time is in functions that format and print messages: nf_log_packet, vprintk_emit, console_unlock",
        evidence_against: "dmesg shows no new messages. These functions took as much before",
        test: "take the rule with LOG or `log` away (iptables-save, nft list ruleset), or lower kernel.printk, and measure again",
        remedy: "log with a limit (-m limit, limit rate), log to nflog, or do not log. Keep messages off a serial console (kernel.printk)",
    },
    |known| by_functions::named(CauseId::KernelLogFlood, &FUNCTIONS, known).into_iter().collect(),
)
.confirmed_by(changes::without_rules);

/// The functions are those of net/netfilter/nf_log.c, nf_log_syslog.c, nfnetlink_log.c and kernel/printk.
const FUNCTIONS: by_functions::Signature = by_functions::Signature {
    functions: &[
        "nf_log_packet",
        "nf_log_ip_packet",
        "nf_log_ip6_packet",
        "nf_log_ipv4",
        "dump_ipv4_packet",
        "nf_log_buf_add",
        "nf_log_buf_close",
        "nft_log_eval",
        "log_tg",
        "vprintk_emit",
        "vprintk_store",
        "vprintk",
        "_printk",
        "printk",
        "console_unlock",
        "console_flush_all",
        "serial8250_console_write",
        "nfulnl_log_packet",
    ],
    with: &[],
};
