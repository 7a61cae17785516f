//! `disk.full`: A file system has no free space or no free inodes.

use plimsoll_model::cause::{Cause, CauseId};
use plimsoll_model::report::Evidence;

use super::{Definition, Known, Page, by_seen, cause, changes, quoted};

pub(super) const DEFINITION: Definition = Definition::new(
    Page {
        evidence_for: "calls fail with ENOSPC or EDQUOT, and the file system has hardly any free bytes or inodes",
        evidence_against: "the file system has room. The calls fail with other errors",
        test: "free space on the file system and measure again: the errors disappear",
        remedy: "find what fills the file system (du), then delete or rotate it. Reserve space for essential services",
    },
    find,
)
.confirmed_by(changes::larger_volumes);

fn find(known: &Known<'_>) -> Vec<Cause> {
    let failed = by_seen::failures(known, &["ENOSPC", "EDQUOT"]);
    if failed.is_empty() {
        return Vec::new();
    }
    let mut evidence = by_seen::failure_evidence(&failed);
    let fell = |it: &&Evidence| it.shift < 0.0 && it.metric.starts_with("filesystem.");
    evidence.extend(known.evidence.iter().filter(fell).take(2).map(quoted));
    vec![cause(CauseId::DiskFull, 0.9, evidence)]
}

#[cfg(test)]
mod tests {
    use super::super::fixture::failing;
    use super::super::named;
    use super::*;

    #[test]
    fn a_write_that_finds_no_room_is_named_with_its_process() {
        let profile = failing("relay", "write", "ENOSPC");
        let causes = named(&Known { profile: Some(&profile), ..Known::default() });
        assert_eq!(causes[0].id, CauseId::DiskFull);
        assert_eq!(causes[0].evidence[0].metric, "write failed with ENOSPC in relay/relay");
        let other = failing("relay", "write", "EPIPE");
        assert!(named(&Known { profile: Some(&other), ..Known::default() }).is_empty());
    }
}
