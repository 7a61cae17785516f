//! `net.conntrack_hash`: Tracked connections stand in long chains, since their hash table has too few buckets.

use plimsoll_model::cause::{Cause, CauseId};

use super::{Definition, Known, Page, by_counters, by_levels};

pub(super) const DEFINITION: Definition = Definition::new(
    Page {
        evidence_for: "the kernel counts entries that it refused because their chain was too long (nf_conntrack chaintoolong), or there are far more entries than buckets and searches start again",
        evidence_against: "there are fewer entries than buckets; searches find at once",
        test: "raise net.netfilter.nf_conntrack_buckets and measure again",
        remedy: "raise net.netfilter.nf_conntrack_buckets to about nf_conntrack_max, or do not track what need not be (NOTRACK)",
    },
    find,
)
.beyond_the_run();

const ID: CauseId = CauseId::NetConntrackHash;
/// What must have been counted: net/netfilter/nf_conntrack_core.c, since Linux 5.15.
const TOO_LONG: &str = "nf_conntrack.chaintoolong";
/// Searches that began again because an entry moved; those that looked at many entries, before Linux 4.10.
const SEARCHES: [&str; 2] = ["nf_conntrack.search_restart", "nf_conntrack.searched"];
const ENTRIES: [&str; 2] = ["nf_conntrack.count", "nf_conntrack.entries"];

fn find(known: &Known<'_>) -> Vec<Cause> {
    let too_long = by_counters::grown(TOO_LONG, known.evidence);
    let searches = SEARCHES.iter().find_map(|name| by_counters::grown(name, known.evidence));
    let entries = ENTRIES.iter().find_map(|name| by_counters::grown(name, known.evidence));
    match (too_long, searches.zip(entries)) {
        (Some(_), _) => by_levels::shown(ID, 0.85, &[too_long, searches, entries]),
        (None, Some(_)) => by_levels::shown(ID, 0.55, &[searches, entries]),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{grew, ids};
    use super::ID;

    #[test]
    fn chains_that_are_too_long_name_it_and_more_entries_alone_do_not() {
        let entries = grew("relay", "nf_conntrack.count (level)", 900.0, 90_000.0);
        let long = grew("relay", "nf_conntrack.chaintoolong (per connection)", 0.0, 0.2);
        let again = grew("relay", "nf_conntrack.search_restart (per connection)", 0.0, 0.4);
        assert_eq!(ids(&[long]), [ID]);
        assert_eq!(ids(&[again, entries.clone()]), [ID]);
        assert!(ids(&[entries]).is_empty());
    }
}
