//! `limit.file_descriptors`: A process has reached its limit of open files and sockets.

use plimsoll_model::cause::{Cause, CauseId};

use super::{Definition, Known, Page, by_counters, by_levels, by_seen, cause, changes, quoted};

pub(super) const DEFINITION: Definition = Definition::new(
    Page {
        evidence_for: "calls fail with EMFILE or ENFILE: the process, or the machine, has reached its limit of open files. Or `accept` fails nearly always although connections wait in the listen queue",
        evidence_against: "the other side refuses connections",
        test: "raise the limit (ulimit -n, fs.file-max) and measure again: the errors disappear",
        remedy: "raise RLIMIT_NOFILE of the process (LimitNOFILE of a systemd unit), or find the descriptors that it leaks",
    },
    find,
)
.confirmed_by(|experiment| {
    // Only root may raise the upper limit; everybody may raise the lower one up to it.
    let commands = "most=$(cat /proc/sys/fs/nr_open)
        for p in /proc/[0-9]*; do
            p=${p#/proc/}
            prlimit --pid $p --nofile=$most:$most 2>/dev/null ||
                prlimit --pid $p --nofile=$(prlimit --pid $p --nofile --noheadings -o HARD): || [ ! -e /proc/$p ] || exit 1
        done";
    changes::run("with the most file descriptors", commands, changes::of_namespaces(experiment))
});

const ID: CauseId = CauseId::LimitFileDescriptors;
/// What must have been counted.
const COUNTERS: by_counters::Signature =
    by_counters::Signature { counter: "errors.no_descriptor", least: 0.005, with: &[] };

/// Calls that take a connection, and the share of them that must fail, in per cent.
const ACCEPT: [&str; 2] = ["syscall.accept.failed_share", "syscall.accept4.failed_share"];
const MOST_CALLS: f64 = 80.0;
/// Connections that wait to be accepted.
const WAITING: [&str; 2] = ["tcp.backlog", "listen.fullest_share"];

/// Calls that fail although a connection waits do not fail because there is none (EAGAIN): no descriptor is left for it.
fn by_tools(known: &Known<'_>) -> Option<Cause> {
    let failed = by_levels::above(&ACCEPT, MOST_CALLS, known.evidence)?;
    let waiting = by_levels::above(&WAITING, 1.0, known.evidence)?;
    Some(cause(ID, 0.7, [failed, waiting].map(quoted).to_vec()))
}

fn find(known: &Known<'_>) -> Vec<Cause> {
    let of_the_load = by_counters::named(ID, &COUNTERS, known.evidence);
    let failed = by_seen::failures(known, &["EMFILE", "ENFILE"]);
    let of_a_process = failed.first().map(|first| {
        let title = format!("{}: `{}` on {}", ID.title(), first.who.process, first.who.owner);
        Cause { title, ..cause(ID, 0.9, by_seen::failure_evidence(&failed)) }
    });
    of_a_process.into_iter().chain(of_the_load).chain(by_tools(known)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{failing, grew, ids};
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
    #[test]
    fn accept_that_fails_while_connections_wait_lacks_descriptors() {
        let failed = grew("host", "syscall.accept4.failed_share (level)", 0.0, 100.0);
        let waiting = grew("host", "tcp.backlog (level)", 0.0, 114.0);
        assert_eq!(ids(&[failed.clone(), waiting.clone()]), [ID]);
        assert!(ids(&[failed]).is_empty(), "a server that polls has no connection to take");
        let half = grew("host", "syscall.accept4.failed_share (level)", 0.0, 50.0);
        assert!(ids(&[half, waiting]).is_empty(), "each second call looks whether there is one more");
    }
}
