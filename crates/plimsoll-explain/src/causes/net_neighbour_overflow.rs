//! `net.neighbour_overflow`: The table of neighbours (ARP, NDP) is full, and packets to new ones are dropped.

use plimsoll_model::cause::{Cause, CauseId};

use super::{Definition, Known, Page, by_levels, by_seen};

pub(super) const DEFINITION: Definition = Definition::new(
    Page {
        evidence_for: "the kernel says so in its log (neighbour table overflow), or counts it (table_fulls of /proc/net/stat/arp_cache)",
        evidence_against: "the table has far fewer entries than net.ipv4.neigh.default.gc_thresh3",
        test: "raise net.ipv4.neigh.default.gc_thresh3 and measure again: nothing is logged",
        remedy: "raise gc_thresh1, 2 and 3 of net.ipv4.neigh.default and net.ipv6.neigh.default, or route between smaller networks",
    },
    find,
)
.beyond_the_run();

const ID: CauseId = CauseId::NetNeighbourOverflow;
/// The most neighbours, and what the kernel logs and counts beyond them: net/core/neighbour.c, `neigh_alloc`.
const LIMIT: &str = "net.ipv4.neigh.default.gc_thresh3";
const SIGNS: [&str; 2] = ["kernel_log.neighbour_overflow", "neighbour.table_fulls"];

fn find(known: &Known<'_>) -> Vec<Cause> {
    let seen = SIGNS.map(|name| by_levels::above(&[name], 0.0, known.evidence));
    let lowered = by_levels::lowered(LIMIT, known.evidence);
    let refused = by_seen::failures(known, &["ENOBUFS"]);
    let sure = match (seen.iter().any(Option::is_some), lowered.is_some(), refused.is_empty()) {
        (true, true, _) => 0.95,
        (true, false, _) => 0.9,
        (false, true, false) => 0.7,
        _ => return Vec::new(),
    };
    let [logged, full] = seen;
    let mut found = by_levels::shown(ID, sure, &[lowered, logged, full]);
    found.iter_mut().for_each(|cause| cause.evidence.extend(by_seen::failure_evidence(&refused)));
    found
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{grew, ids};
    use super::ID;

    #[test]
    fn a_full_table_names_itself() {
        let full = grew("relay", "kernel_log.neighbour_overflow (level)", 0.0, 12.0);
        assert_eq!(ids(&[full]), [ID]);
        assert!(ids(&[grew("relay", "neighbour.hash_grows (per connection)", 0.0, 12.0)]).is_empty());
    }
}
