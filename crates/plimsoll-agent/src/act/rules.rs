//! Taking away the rules of routing policy and of nftables of this network namespace.

use std::fmt::Display;

use futures_util::TryStreamExt;
use netlink_packet_route::rule::{RuleAttribute, RuleMessage};
use plimsoll_model::frame::Failure;
use rtnetlink::{Handle, IpVersion};

use super::run_own;
use crate::other;

const WHAT: &str = "take the rules away";
/// Priorities of the rules that the kernel makes with a namespace: local, main and default (`fib_default_rules_init` in
/// net/ipv4/fib_rules.c; IPv6 has the first two).
const OF_THE_KERNEL: [u32; 3] = [0, 32766, 32767];

/// Removes them, and returns a note with their number.
pub(super) fn flush() -> Result<String, Failure> {
    let removed = without_policy().map_err(failed)?;
    let nftables = match run_own("nft", &["flush", "ruleset"]) {
        Some(done) => {
            done.map_err(failed)?;
            "and all of nftables"
        }
        None => "rules of nftables, if there are any, stayed, since `nft` is not installed",
    };
    Ok(format!("took {removed} rules of routing policy away; {nftables}"))
}

fn failed(error: impl Display) -> Failure {
    other(WHAT, error)
}

fn without_policy() -> Result<usize, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build();
    runtime.map_err(|error| error.to_string())?.block_on(async {
        let (connection, handle, _) = rtnetlink::new_connection().map_err(|error| error.to_string())?;
        let connection = tokio::spawn(connection);
        let mut removed = 0;
        for version in [IpVersion::V4, IpVersion::V6] {
            removed += without_policy_of(&handle, version).await.map_err(|error| error.to_string())?;
        }
        connection.abort();
        Ok(removed)
    })
}

async fn without_policy_of(handle: &Handle, version: IpVersion) -> Result<usize, rtnetlink::Error> {
    let all: Vec<RuleMessage> = handle.rule().get(version).execute().try_collect().await?;
    let mut removed = 0;
    for rule in all.into_iter().filter(|rule| !OF_THE_KERNEL.contains(&priority(rule))) {
        handle.rule().del(rule).execute().await?;
        removed += 1;
    }
    Ok(removed)
}

fn priority(rule: &RuleMessage) -> u32 {
    let priority = rule.attributes.iter().find_map(|attribute| match attribute {
        RuleAttribute::Priority(priority) => Some(*priority),
        _ => None,
    });
    // The kernel leaves out what is 0.
    priority.unwrap_or(0)
}
