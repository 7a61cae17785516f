//! `service.answers_late`: A program waits for an answer of another.

use std::net::SocketAddr;

use plimsoll_model::cause::{Cause, CauseId};
use plimsoll_model::observation::{WaitSite, program_of};
use plimsoll_model::report::{Evidence, GrownWait, WaitFor};

use super::{
    Definition, Dependency, Known, Page, by_functions, by_levels, by_seen, by_servers, cause, quoted,
};

pub(super) const DEFINITION: Definition = Definition::new(
    Page {
        evidence_for: "threads of the program sleep in a call that waits for something to read or for a connection, for most of the added time. Where their sockets show it, the title names the server, and the server that this one waits for. A server that passes few of the questions on to its own servers, and neither computes nor waits for a lock or a disk, has the others in a queue. Or more reaches a host behind the service for each operation. A server that leaves connections in its listen queue has too few processes or threads. Or the kernel has asked another program for them, as a watcher of files (fanotify), a file system in a program (FUSE) or a file server (NFS)",
        evidence_against: "a cause in the program that should answer is known. The program waits for input on both sides",
        test: "find whom it waits for (`ss -tnp`, `lsof -p PID`), and look at that program in the same way",
        remedy: "mend what answers late. Allow a server that queues more connections to its own servers (maxconn of HAProxy, max_conns of nginx, a larger pool), or more processes (MaxRequestWorkers of Apache, pm.max_children of PHP). Ask several questions at a time, or keep answers that do not change",
    },
    find,
)
.of_use()
.where_nothing_else_fits();

const ID: CauseId = CauseId::ServiceAnswersLate;
/// How sure it is: of five outside cases where it came first, it named the whole fault in none (faults/measured.jsonl).
const SURE: f64 = 0.2;
/// How sure it is where the server keeps questions in a queue.
const SURE_OF_QUEUE: f64 = 0.8;
/// How sure it is where more questions are passed on.
const SURE_OF_QUESTIONS: f64 = 0.6;
/// Confidence where the kernel waits for the answer, or a SYN stays unanswered.
const SURE_OF_KERNEL: f64 = 0.9;
/// Functions in which the kernel waits for a program before a call goes on, and for whom it waits: fs/notify/fanotify, fs/fuse, fs/autofs, fs/userfaultfd.c, fs/pipe.c, kernel/seccomp.c, net/sunrpc, net/unix.
const ASKED: [(&str, &str); 10] = [
    ("fanotify_", "a watcher of files (fanotify)"),
    ("request_wait_answer", "a file system in a program (FUSE)"),
    ("fuse_", "a file system in a program (FUSE)"),
    ("autofs_wait", "automount (autofs)"),
    ("handle_userfault", "who fills in memory (userfaultfd)"),
    ("wait_for_partner", "the other end of a FIFO, which no program has open"),
    ("seccomp_do_user_notification", "a supervisor of system calls (seccomp)"),
    ("rpc_wait_bit_killable", "a file server (NFS)"),
    ("nfs_wait", "a file server (NFS)"),
    ("unix_wait_for_peer", "who reads a full queue of datagrams (Unix socket)"),
];
/// Where a program of a pipeline waits for the one before it, which is part of the same command (fs/pipe.c).
const PIPES: [&str; 2] = ["anon_pipe_read", "pipe_read"];
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
    if known.took_us.is_none() {
        return by_questions(known).into_iter().collect();
    }
    let is_it = |it: &&GrownWait| {
        call_of(it).is_some_and(|call| CALLS.contains(&call))
            && !is_in(it, &PIPES)
            && known.measured.has(&it.who.process)
    };
    let waits: Vec<&GrownWait> = of_others(known).filter(is_it).collect();
    if !by_seen::explain(known, &waits) {
        return Vec::new();
    }
    let chain_of = |it: &&GrownWait| by_servers::chain(known, program_of(&it.who.process));
    // Servers wait for questions as well: the program whose server is known is the one that asks.
    let asking = waits.iter().copied().find(|it| !chain_of(it).is_empty());
    let Some(first) = asking.or(waits.first().copied()) else { return Vec::new() };
    let chain = chain_of(&first);
    let queue = chain.last().and_then(|last| by_servers::queue(known, &last.server));
    let not_accepted =
        chain.last().filter(|_| queue.is_none()).and_then(|last| not_accepted(known, &last.server));
    let has_queue = queue.is_some() || not_accepted.is_some();
    // A program has no address for a name.
    let is_silent = chain.last().is_some_and(|last| last.server.parse::<SocketAddr>().is_ok());
    if !has_queue && !is_silent && by_functions::saturated(known).is_some() {
        return Vec::new();
    }
    let call = call_of(first).unwrap_or_default();
    let kept = queue.as_ref().map(|queue| {
        format!(", which keeps {:.0} of {:.0} questions in a queue", queue.kept()[1], queue.asked[1])
    });
    let accepted = not_accepted.map(|(address, it)| {
        format!(", while {:.0} connections wait in the listen queue of {address}", it.after)
    });
    let silent = is_silent.then(|| ", which does not answer a SYN".to_owned());
    let kept = kept.or(accepted).or(silent).unwrap_or_default();
    let title = format!("{}: `{}` in {call}{}{kept}", ID.title(), first.who.process, whom_of(&chain));
    let evidence = queue.iter().flat_map(by_servers::Queue::evidence);
    let evidence = evidence.chain(not_accepted.map(|(_, it)| quoted(it)));
    let evidence = evidence.chain(by_seen::wait_evidence(known, &waits));
    let evidence = evidence.chain(chain.iter().map(|asked| by_servers::evidence(asked)));
    let work = chain.last().map(|last| by_servers::work(known, &last.server)).unwrap_or_default();
    let evidence = evidence.chain(work);
    let sure = if is_silent {
        SURE_OF_KERNEL
    } else if has_queue {
        SURE_OF_QUEUE
    } else {
        SURE
    };
    vec![Cause { title, ..cause(ID, sure, evidence.collect()) }]
}

/// What arrives at programs of a host, in packets and in bytes.
const ARRIVED: [&str; 2] = ["snmp.Ip.InDelivers", "netstat.IpExt.InOctets"];
/// Connections that it accepts. Each one takes packets that carry no question.
const ACCEPTED: &str = "snmp.Tcp.PassiveOpens";
/// How many times as much of it there is at least, and which part of the factor by which operations became slower that is.
const TIMES: f64 = 1.3;
const ALIKE: f64 = 0.5;
/// How many packets more for each operation there are at least.
const LEAST_PACKETS: f64 = 0.2;

/// A host behind the service which more of the questions reach: they are passed on, as what a cache has lost.
fn by_questions(known: &Known<'_>) -> Option<Cause> {
    let slower = known.lost.filter(|lost| *lost < 1.0).map(|lost| 1.0 / (1.0 - lost))?;
    let times = TIMES.max(1.0 + ALIKE * (slower - 1.0));
    let (load, _) = known.measured.load.as_ref()?;
    // Where all of the service runs on one host, each question reaches that.
    let is_behind = |host: &String| host != load && known.measured.hosts != [host.as_str()];
    let of = |name: &'static str| {
        let all = known.evidence.iter().filter(move |it| by_levels::name(it) == name);
        all.filter(|it| is_behind(&it.host) && it.after >= times * it.before)
    };
    let factor = |it: &Evidence| it.after / it.before.max(LEAST_PACKETS);
    let packets = of(ARRIVED[0]).max_by(|a, b| factor(a).total_cmp(&factor(b)))?;
    let bytes = of(ARRIVED[1]).find(|it| it.host == packets.host)?;
    let title = format!("{}: more of the questions are passed on to {}", ID.title(), packets.host);
    // Who has passed on all questions before may use a new connection for each of them now.
    let is_of_connections = packets.before >= LEAST_PACKETS && of(ACCEPTED).any(|it| it.host == packets.host);
    let is_more = packets.after - packets.before >= LEAST_PACKETS && !is_of_connections;
    is_more.then(|| Cause { title, ..cause(ID, SURE_OF_QUESTIONS, [packets, bytes].map(quoted).to_vec()) })
}

/// Waits that others may end.
fn of_others<'k>(known: &'k Known<'_>) -> impl Iterator<Item = &'k GrownWait> {
    let kinds = [WaitFor::Other, WaitFor::Datagram, WaitFor::Connection];
    kinds.into_iter().flat_map(|kind| by_seen::waits(known, kind))
}

/// Connections that wait on average until a listening socket is asked for them, by its address.
const NOT_ACCEPTED: &str = "listen.waiting of ";

/// The address where more connections wait to be accepted, if the server neither computes nor waits for something of its own: it has too few processes.
fn not_accepted<'k>(known: &'k Known<'_>, server: &str) -> Option<(&'k str, &'k Evidence)> {
    let at = |it: &'k Evidence| Some((it.metric.strip_prefix(NOT_ACCEPTED)?.split(' ').next()?, it));
    let added = |it: &Evidence| it.after - it.before;
    let longest = known.evidence.iter().filter_map(at).max_by(|a, b| added(a.1).total_cmp(&added(b.1)));
    longest.filter(|(_, it)| added(it) >= by_servers::LEAST_QUEUED && !by_servers::works(known, server))
}

/// The servers in words: `, for nginx, which waits for php-fpm`.
fn whom_of(chain: &[&Dependency]) -> String {
    let links = ["for"].into_iter().chain(std::iter::repeat("which waits for"));
    chain.iter().zip(links).map(|(asked, link)| format!(", {link} `{}`", asked.server)).collect()
}

/// Threads for whose calls the kernel asks another program.
fn by_kernel(known: &Known<'_>) -> Option<Cause> {
    let asked = of_others(known).filter(|it| known.measured.has(&it.who.process));
    let asked: Vec<(&GrownWait, &str)> = asked.filter_map(|it| Some((it, whom(it)?))).collect();
    let &(first, whom) = asked.first()?;
    let waits: Vec<&GrownWait> = asked.iter().map(|(it, _)| *it).collect();
    // Each of these waits costs CPU time and a wake-up besides, so that a smaller part of the added time is enough.
    by_seen::explain(&Known { is_beside: true, ..known.clone() }, &waits).then(|| {
        let call = call_of(first).unwrap_or("a call");
        let title = format!("{}: `{}` in {call}, for {whom}", ID.title(), first.who.process);
        Cause { title, ..cause(ID, SURE_OF_KERNEL, by_seen::wait_evidence(known, &waits)) }
    })
}

/// Whom the kernel asks while a thread sleeps there.
fn whom(wait: &GrownWait) -> Option<&'static str> {
    ASKED.iter().find(|(start, _)| is_in(wait, &[*start])).map(|(_, whom)| *whom)
}

/// Whether a thread sleeps in a function that begins so.
fn is_in(wait: &GrownWait, starts: &[&str]) -> bool {
    let WaitSite::Sleep { functions, .. } = &wait.site else { return false };
    functions.iter().any(|function| starts.iter().any(|start| function.starts_with(start)))
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
    use plimsoll_model::observation::FrameKind;
    use plimsoll_model::report::{GrownCpuUse, ProfileReport};

    use super::super::fixture::{asleep, grew, profile, relay, wait, who};
    use super::super::{Measured, named};
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
        let full = of("unix_wait_for_peer", (500.0, 3500.0));
        assert!(full.len() == 1 && full[0].contains("a full queue of datagrams"), "{full:?}");
    }

    #[test]
    fn questions_that_are_passed_on_to_a_host_behind_the_service_are_named_where_less_is_done() {
        let from = |host: &str, before, after, lost| {
            let count = |name: &str, times| {
                grew(host, &format!("{name} (per operation)"), times * before, times * after)
            };
            let evidence = [count(ARRIVED[0], 1.0), count(ARRIVED[1], 60.0), count(ACCEPTED, 0.2)];
            let known = Known { evidence: &evidence, measured: relay(), lost, ..Known::default() };
            named(&known).iter().map(|cause| cause.title.clone()).collect::<Vec<_>>()
        };
        let of = |host: &str, after, lost| from(host, 0.01, after, lost);
        assert!(from("server", 1.0, 5.0, Some(0.7)).is_empty(), "a connection for each question");
        let found = of("server", 1.0, Some(0.7));
        assert!(found.len() == 1 && found[0].ends_with("are passed on to server"), "{found:?}");
        assert!(of("server", 1.0, None).is_empty(), "as much is done");
        assert!(of("server", 0.1, Some(0.7)).is_empty(), "few");
        assert!(of("relay", 1.0, Some(0.7)).is_empty(), "that is the service's own host");
        assert!(of("client", 1.0, Some(0.7)).is_empty());
    }

    fn waits_for(client: &str, server: &str, before: f64, after: f64) -> Dependency {
        Dependency { client: client.into(), server: server.into(), before, after }
    }

    /// The title and the sureness where `ab` waits in each run, for 1.1 s more, and these programs waited for each other.
    fn of_servers(dependencies: Vec<Dependency>, more: impl FnOnce(&mut ProfileReport)) -> (String, f64) {
        let ab = wait("ab (command)", asleep("do_epoll_wait", "epoll_wait"), WaitFor::Other);
        let waits = vec![GrownWait { before_us: 665_000.0, after_us: 1_805_000.0, ..ab }];
        let mut profile = ProfileReport { waits, ..profile() };
        more(&mut profile);
        let processes = vec!["ab (command)".to_owned(), "haproxy (served)".to_owned()];
        let measured = Measured { processes, dependencies, ..relay() };
        let took_us = Some((780_000.0, 1_920_000.0));
        let known = Known { profile: Some(&profile), measured, took_us, ..Known::default() };
        let cause = named(&known).into_iter().find(|cause| cause.id == ID).unwrap();
        (cause.title, cause.confidence)
    }

    #[test]
    fn the_servers_behind_a_server_are_named_as_far_as_they_add_time() {
        let of = |php: [f64; 2]| {
            let asked =
                vec![waits_for("ab", "nginx", 2.6, 2.9), waits_for("nginx", "php-fpm", php[0], php[1])];
            of_servers(asked, |_| {}).0
        };
        let silent = of_servers(vec![waits_for("ab", "[fd00::1]:80", 0.0, 0.6)], |_| {});
        assert!(silent.0.ends_with("for `[fd00::1]:80`, which does not answer a SYN"), "{}", silent.0);
        assert_eq!(silent.1, SURE_OF_KERNEL);
        assert!(of([2.5, 2.9]).ends_with("in epoll_wait, for `nginx`, which waits for `php-fpm`"));
        assert!(!of([2.5, 1.1]).contains("php-fpm"), "it answers as fast as before");
    }

    #[test]
    fn a_proxy_with_few_connections_to_its_servers_has_a_queue_unless_it_computes() {
        // HAProxy with maxconn 60 and maxconn 6 for 16 clients.
        let recorded =
            || vec![waits_for("ab", "haproxy", 15.1, 15.6), waits_for("haproxy", "python3", 14.6, 5.8)];
        let (title, sure) = of_servers(recorded(), |_| {});
        assert!(title.ends_with("for `haproxy`, which keeps 10 of 16 questions in a queue"), "{title}");
        assert_eq!(sure, SURE_OF_QUEUE);
        let (_, sure) = of_servers(recorded(), |profile| {
            let who = who(FrameKind::Host, "haproxy (served)");
            profile.cpu_use = vec![GrownCpuUse { who, before_cpus: 0.1, after_cpus: 0.97 }];
        });
        assert_eq!(sure, SURE, "it computes all the time");
        let few = vec![waits_for("ab", "haproxy", 0.9, 0.95), waits_for("haproxy", "python3", 0.8, 0.3)];
        assert_eq!(of_servers(few, |_| {}).1, SURE, "less than one question");
    }

    #[test]
    fn a_server_that_leaves_connections_in_its_listen_queue_has_too_few_processes_unless_it_computes() {
        let of = |waiting: f64, more: &dyn Fn(&mut ProfileReport)| {
            let ab = wait("ab (command)", asleep("do_epoll_wait", "epoll_wait"), WaitFor::Other);
            let waits = vec![GrownWait { before_us: 665_000.0, after_us: 1_805_000.0, ..ab }];
            let mut profile = ProfileReport { waits, ..profile() };
            more(&mut profile);
            let dependencies = vec![waits_for("ab", "apache2", 5.1, 7.6)];
            let processes = vec!["ab (command)".to_owned(), "apache2 (served)".to_owned()];
            let evidence = [grew("host", "listen.waiting of 127.0.0.1:80 (level)", 0.1, waiting)];
            let known = Known {
                profile: Some(&profile),
                measured: Measured { processes, dependencies, ..relay() },
                evidence: &evidence,
                took_us: Some((780_000.0, 1_920_000.0)),
                ..Known::default()
            };
            let cause = named(&known).into_iter().find(|cause| cause.id == ID).unwrap();
            (cause.title, cause.confidence)
        };
        let (title, sure) = of(4.8, &|_| {});
        assert!(title.ends_with("while 5 connections wait in the listen queue of 127.0.0.1:80"), "{title}");
        assert_eq!(sure, SURE_OF_QUEUE);
        assert_eq!(of(0.6, &|_| {}).1, SURE, "less than one connection");
        let computes = |profile: &mut ProfileReport| {
            let who = who(FrameKind::Host, "apache2 (served)");
            profile.cpu_use = vec![GrownCpuUse { who, before_cpus: 0.1, after_cpus: 0.97 }];
        };
        assert_eq!(of(4.8, &computes).1, SURE);
    }

    #[test]
    fn a_program_that_waits_for_something_to_read_is_named_where_nothing_else_is() {
        let in_function = |function: &str, process: &str, call: &str, took_us| {
            let waits = vec![wait(process, asleep(function, call), WaitFor::Other)];
            let profile = ProfileReport { waits, ..profile() };
            let known = Known { profile: Some(&profile), measured: relay(), took_us, ..Known::default() };
            named(&known).iter().map(|cause| cause.id).collect::<Vec<_>>()
        };
        let of = |process: &str, call: &str, took_us| in_function("sk_wait_data", process, call, took_us);
        // The wait grew by 2700 µs.
        let took_us = Some((500.0, 3500.0));
        assert_eq!(of("relay", "recvfrom", took_us), [ID]);
        assert!(of("relay", "wait4", took_us).is_empty(), "its child is looked at itself");
        assert!(in_function("anon_pipe_read", "relay", "read", took_us).is_empty(), "so is who writes to it");
        assert!(of("relay", "recvfrom", Some((500.0, 90_000.0))).is_empty(), "a small part of it");
        assert!(of("relay", "recvfrom", None).is_empty() && of("stranger", "recvfrom", took_us).is_empty());
    }
}
