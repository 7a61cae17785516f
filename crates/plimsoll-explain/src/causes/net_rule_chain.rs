//! `net.rule_chain`: Each packet or connection traverses many rules of routing policy, a packet filter or a classifier.

use plimsoll_model::cause::{Cause, CauseId};

use super::{Definition, Known, Page, by_functions, changes};

pub(super) const DEFINITION: Definition = Definition::new(
    Page {
        evidence_for: "each connection or packet takes more CPU time, mostly in a function that walks a list of rules: fib_rules_lookup (routing policy), nft_do_chain, ipt_do_table (packet filters), tcf_classify",
        evidence_against: "the same function took as much before. Both sides have the same number of rules",
        test: "remove the added rules (ip rule, nft list ruleset, iptables-save, tc filter) and measure again",
        remedy: "find what adds rules and never removes them. Put the rest into sets, maps or fewer tables",
    },
    find,
)
.confirmed_by(changes::without_rules);

/// The functions are those of net/core/fib_rules.c, net/netfilter/nf_tables_core.c, net/ipv4/netfilter/ip_tables.c and net/sched/cls_api.c.
const FUNCTIONS: by_functions::Signature = by_functions::Signature {
    functions: &[
        "fib_rules_lookup",
        "fib4_rule_match",
        "fib6_rule_match",
        "fib4_rule_action",
        "fib6_rule_action",
        "nft_do_chain",
        "ipt_do_table",
        "ip6t_do_table",
        "ebt_do_table",
        "tcf_classify",
    ],
    with: &["rules"],
};

fn find(known: &Known<'_>) -> Vec<Cause> {
    by_functions::named(CauseId::NetRuleChain, &FUNCTIONS, known).into_iter().collect()
}
