//! `lock.contended`: CPUs spin until another CPU releases a kernel lock.

use plimsoll_model::cause::{Cause, CauseId};
use plimsoll_model::observation::WaitSite;
use plimsoll_model::report::{GrownWait, WaitFor};

use super::{Definition, Known, Page, by_functions, by_seen, cause};

pub(super) const DEFINITION: Definition = Definition::new(
    Page {
        evidence_for: "threads sleep until another process releases a lock on a file or a semaphore. Or each operation takes more CPU time, mostly in functions that spin on a lock (native_queued_spin_lock_slowpath, osq_lock, rwsem_spin_on_owner)",
        evidence_against: "a single CPU is as slow",
        test: "use fewer CPUs or processes: each operation needs less CPU time",
        remedy: "find the lock's callers in the profile. Spread the work over more sockets, files, cgroups or devices",
    },
    find,
);

const ID: CauseId = CauseId::LockContended;
/// What a thread sleeps in that waits for a lock on a file, or a semaphore, that another process holds (fs/locks.c, ipc/sem.c). Threads without work sleep
/// in futexes as well, so that those tell nothing.
const HELD: [&str; 6] =
    ["flock_lock", "posix_lock", "locks_lock", "fcntl_setlk", "do_lock_file_wait", "__do_semtimedop"];
/// The functions are those of kernel/locking.
const FUNCTIONS: by_functions::Signature = by_functions::Signature {
    functions: &[
        "native_queued_spin_lock_slowpath",
        "__pv_queued_spin_lock_slowpath",
        "queued_spin_lock_slowpath",
        "queued_read_lock_slowpath",
        "queued_write_lock_slowpath",
        "osq_lock",
        "mutex_spin_on_owner",
        "rwsem_spin_on_owner",
    ],
    with: &[],
};

fn find(known: &Known<'_>) -> Vec<Cause> {
    let is_held = |it: &&&GrownWait| match &it.site {
        WaitSite::Sleep { functions, .. } => {
            functions.iter().any(|function| HELD.iter().any(|start| function.starts_with(start)))
        }
        WaitSite::Cpu => false,
    };
    let waits = by_seen::waits(known, WaitFor::Lock);
    // Processes of Postfix without work wait for the lock before accept. For each operation they wait longer if there are fewer operations.
    let wait_more = |it: &&&GrownWait| {
        known.took_us.is_some() || by_seen::more_often(it.before_threads, it.after_threads)
    };
    let held: Vec<&GrownWait> = waits.iter().filter(is_held).filter(wait_more).copied().collect();
    let slept = held.first().filter(|_| by_seen::explain(known, &held)).map(|first| {
        let file = file_of(first).map_or_else(String::new, |file| format!(" on {file}"));
        let title = format!("`{}` waits for a lock{file} that another process holds", first.who.process);
        Cause { title, ..cause(ID, 0.8, by_seen::wait_evidence(known, &held)) }
    });
    by_functions::named(ID, &FUNCTIONS, known).into_iter().chain(slept).collect()
}

/// The file whose lock a thread waits for, where the kernel tells it.
fn file_of(wait: &GrownWait) -> Option<&str> {
    match &wait.site {
        WaitSite::Sleep { call: Some(call), .. } => {
            call.split_once(WaitSite::OF_A_FILE).map(|(_, file)| file)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_model::report::ProfileReport;

    use super::super::fixture::{asleep, profile, wait};
    use super::super::named;
    use super::*;

    #[test]
    fn who_waits_for_a_file_that_another_has_locked_is_named_and_threads_without_work_are_not() {
        let of = |function: &str, call: &str| {
            let waits = vec![wait("relay", asleep(function, call), WaitFor::Lock)];
            let profile = ProfileReport { waits, ..profile() };
            named(&Known { profile: Some(&profile), ..Known::default() })
        };
        let causes = of("flock_lock_inode_wait", "flock of /srv/sess");
        assert_eq!(causes[0].id, ID);
        assert_eq!(causes[0].title, "`relay` waits for a lock on /srv/sess that another process holds");
        assert_eq!(
            causes[0].evidence[0].metric,
            "relay/relay waited: flock_lock_inode_wait in flock of /srv/sess (per connection)"
        );
        assert!(of("futex_do_wait", "futex").is_empty());
    }

    #[test]
    fn processes_that_wait_for_the_lock_before_accept_are_as_many_before() {
        let of = |before_threads| {
            let site = asleep("locks_lock_inode_wait", "flock of {scratch}/queue/pid/unix.smtp");
            let waits = vec![GrownWait { before_threads, ..wait("smtp", site, WaitFor::Lock) }];
            let profile = ProfileReport { waits, ..profile() };
            named(&Known { profile: Some(&profile), ..Known::default() }).len()
        };
        // One of them waits on the worse side.
        assert_eq!((of(0.1), of(0.9)), (1, 0));
    }
}
