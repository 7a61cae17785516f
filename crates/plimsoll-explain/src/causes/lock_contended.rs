//! `lock.contended`: CPUs spin until another one has released a lock.

use plimsoll_model::cause::{Cause, CauseId};

use super::{Definition, Known, Page, When, by_functions, by_hand};

pub(super) const DEFINITION: Definition = Definition {
    page: Page {
        evidence_for: "the CPU time of each operation grew, and most of what was added is spent spinning on a lock (native_queued_spin_lock_slowpath, osq_lock, rwsem_spin_on_owner)",
        evidence_against: "one CPU alone is as slow",
        test: "use fewer CPUs or processes: each operation needs less CPU time",
        remedy: "look in the profile for who takes the lock; spread the work over more sockets, files, cgroups or devices",
    },
    when: When::Always,
    find,
    change: by_hand,
};

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
    by_functions::named(CauseId::LockContended, &FUNCTIONS, known).into_iter().collect()
}
