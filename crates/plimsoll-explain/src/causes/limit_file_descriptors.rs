//! `limit.file_descriptors`: A process has reached its limit of open files and sockets.

use plimsoll_model::cause::{Cause, CauseId};

use super::{Definition, Known, Page, When, by_counters, by_hand, by_seen, cause};

pub(super) const DEFINITION: Definition = Definition {
    page: Page {
        evidence_for: "calls fail with EMFILE or ENFILE: the process, or the machine, has reached its limit of open files",
        evidence_against: "the other side refuses connections",
        test: "raise the limit (ulimit -n, fs.file-max) and measure again: the errors disappear",
        remedy: "raise RLIMIT_NOFILE of the process (LimitNOFILE of a systemd unit), or find the descriptors that it leaks",
    },
    when: When::Always,
    find,
    change: by_hand,
};

const ID: CauseId = CauseId::LimitFileDescriptors;
/// What must have been counted.
const COUNTERS: by_counters::Signature =
    by_counters::Signature { counter: "errors.no_descriptor", least: 0.005, with: &[] };

fn find(known: &Known<'_>) -> Vec<Cause> {
    let of_the_load = by_counters::named(ID, &COUNTERS, known.evidence);
    let failed = by_seen::failures(known, &["EMFILE", "ENFILE"]);
    let of_a_process = failed.first().map(|first| {
        let title = format!("{}: `{}` on {}", ID.title(), first.who.process, first.who.owner);
        Cause { title, ..cause(ID, 0.9, by_seen::told_failures(&failed)) }
    });
    of_a_process.into_iter().chain(of_the_load).collect()
}

#[cfg(test)]
mod tests {
    use super::super::fixture::failing;
    use super::super::named;
    use super::*;

    #[test]
    fn a_server_that_can_accept_no_more_is_named_although_its_clients_see_other_errors() {
        let profile = failing("nginx", "accept4", "EMFILE");
        let causes = named(&Known { profile: Some(&profile), ..Known::default() });
        assert_eq!(causes[0].id, ID);
        assert!(causes[0].title.ends_with(": `nginx` on relay"), "{}", causes[0].title);
        assert_eq!(causes[0].evidence[0].metric, "accept4 failed with EMFILE in relay/nginx");
    }
}
