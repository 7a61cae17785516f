//! `service.answers_late`: A program waits for an answer of another.

use plimsoll_model::cause::{Cause, CauseId};
use plimsoll_model::observation::WaitSite;
use plimsoll_model::report::{GrownWait, WaitFor};

use super::{Definition, Known, Page, by_functions, by_seen, cause};

pub(super) const DEFINITION: Definition = Definition::new(
    Page {
        evidence_for: "threads of the program sleep in a call that waits for something to read or for a connection, for most of the added time. Or the kernel has asked another program for them, as a watcher of files (fanotify), a file system in a program (FUSE) or a file server (NFS)",
        evidence_against: "a cause in the program that should answer is known. The program waits for input on both sides",
        test: "find whom it waits for (`ss -tnp`, `lsof -p PID`), and look at that program in the same way",
        remedy: "mend what answers late. Ask several questions at a time, or keep answers that do not change",
    },
    find,
)
.of_use()
.where_nothing_else_fits();

const ID: CauseId = CauseId::ServiceAnswersLate;
/// How sure it is: of five outside cases where it came first, it named the whole fault in none (faults/measured.jsonl).
const SURE: f64 = 0.2;
/// How sure it is where the kernel itself waits for the answer.
const SURE_OF_KERNEL: f64 = 0.9;
/// Functions in which the kernel waits for a program before a call goes on, and for whom it waits: fs/notify/fanotify, fs/fuse, fs/autofs, fs/userfaultfd.c, kernel/seccomp.c, net/sunrpc.
const ASKED: [(&str, &str); 8] = [
    ("fanotify_", "a watcher of files (fanotify)"),
    ("request_wait_answer", "a file system in a program (FUSE)"),
    ("fuse_", "a file system in a program (FUSE)"),
    ("autofs_wait", "automount (autofs)"),
    ("handle_userfault", "who fills in memory (userfaultfd)"),
    ("seccomp_do_user_notification", "a supervisor of system calls (seccomp)"),
    ("rpc_wait_bit_killable", "a file server (NFS)"),
    ("nfs_wait", "a file server (NFS)"),
];
/// Calls that wait for something to read, or for a connection.
const CALLS: [&str; 16] = [
    "read",
    "readv",
    "recvfrom",
    "recvmsg",
    "recvmmsg",
    "poll",
    "ppoll",
    "select",
    "pselect6",
    "epoll_wait",
    "epoll_pwait",
    "epoll_pwait2",
    "connect",
    "msgrcv",
    "mq_timedreceive",
    "io_uring_enter",
];

fn find(known: &Known<'_>) -> Vec<Cause> {
    let of_kernel = by_kernel(known);
    if of_kernel.is_some() {
        return of_kernel.into_iter().collect();
    }
    // A service waits for questions on both sides: only who asks in turn waits for answers.
    if known.took_us.is_none() || by_functions::explains_all(known) {
        return Vec::new();
    }
    let is_it = |it: &&GrownWait| {
        call_of(it).is_some_and(|call| CALLS.contains(&call)) && known.measured.has(&it.who.process)
    };
    let kinds = [WaitFor::Other, WaitFor::Datagram, WaitFor::Connection];
    let waits = kinds.into_iter().flat_map(|kind| by_seen::waits(known, kind));
    let waits: Vec<&GrownWait> = waits.filter(is_it).collect();
    let Some(first) = waits.first().filter(|_| by_seen::explain(known, &waits)) else { return Vec::new() };
    let call = call_of(first).unwrap_or_default();
    let title = format!("{}: `{}` in {call}", ID.title(), first.who.process);
    vec![Cause { title, ..cause(ID, SURE, by_seen::wait_evidence(known, &waits)) }]
}

/// Threads for whose calls the kernel asks another program.
fn by_kernel(known: &Known<'_>) -> Option<Cause> {
    let waits: Vec<&GrownWait> = by_seen::waits(known, WaitFor::Other);
    let asked = waits.into_iter().filter(|it| known.measured.has(&it.who.process));
    let asked: Vec<(&GrownWait, &str)> = asked.filter_map(|it| Some((it, whom(it)?))).collect();
    let &(first, whom) = asked.first()?;
    let waits: Vec<&GrownWait> = asked.iter().map(|(it, _)| *it).collect();
    by_seen::explain(known, &waits).then(|| {
        let call = call_of(first).unwrap_or("a call");
        let title = format!("{}: `{}` in {call}, for {whom}", ID.title(), first.who.process);
        Cause { title, ..cause(ID, SURE_OF_KERNEL, by_seen::wait_evidence(known, &waits)) }
    })
}

/// Whom the kernel asks while a thread sleeps there.
fn whom(wait: &GrownWait) -> Option<&'static str> {
    let WaitSite::Sleep { functions, .. } = &wait.site else { return None };
    let is_in = |start: &str| functions.iter().any(|function| function.starts_with(start));
    ASKED.iter().find(|(start, _)| is_in(start)).map(|(_, whom)| *whom)
}

/// The system call that a thread sleeps in.
fn call_of(wait: &GrownWait) -> Option<&str> {
    match &wait.site {
        WaitSite::Sleep { call, .. } => call.as_deref(),
        WaitSite::Cpu => None,
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_model::report::ProfileReport;

    use super::super::fixture::{asleep, profile, relay, wait};
    use super::super::named;
    use super::*;

    #[test]
    fn opens_that_a_watcher_of_files_holds_up_are_laid_to_it() {
        let of = |function: &str, took_us| {
            let site = asleep(function, "openat");
            let wait_for = crate::seen::wait_for(&site);
            let waits = vec![wait("relay", site, wait_for)];
            let profile = ProfileReport { waits, ..profile() };
            let known = Known {
                profile: Some(&profile),
                measured: relay(),
                took_us: Some(took_us),
                ..Known::default()
            };
            named(&known).iter().map(|cause| cause.title.clone()).collect::<Vec<_>>()
        };
        let found = of("fanotify_handle_event", (500.0, 3500.0));
        assert!(found.len() == 1 && found[0].contains("fanotify"), "{found:?}");
        assert!(of("fanotify_handle_event", (500.0, 90_000.0)).is_empty(), "a small part of the time");
        assert!(of("do_sys_openat2", (500.0, 3500.0)).is_empty());
    }

    #[test]
    fn a_program_that_waits_for_something_to_read_is_named_where_nothing_else_is() {
        let of = |process: &str, call: &str, took_us| {
            let waits = vec![wait(process, asleep("sk_wait_data", call), WaitFor::Other)];
            let profile = ProfileReport { waits, ..profile() };
            let known = Known { profile: Some(&profile), measured: relay(), took_us, ..Known::default() };
            named(&known).iter().map(|cause| cause.id).collect::<Vec<_>>()
        };
        // The wait grew by 2700 µs.
        let took_us = Some((500.0, 3500.0));
        assert_eq!(of("relay", "recvfrom", took_us), [ID]);
        assert!(of("relay", "wait4", took_us).is_empty(), "its child is looked at itself");
        assert!(of("relay", "recvfrom", Some((500.0, 90_000.0))).is_empty(), "a small part of it");
        assert!(of("relay", "recvfrom", None).is_empty() && of("stranger", "recvfrom", took_us).is_empty());
    }
}
