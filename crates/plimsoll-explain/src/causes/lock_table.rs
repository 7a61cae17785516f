//! `lock.table`: The kernel walks a long list of file locks under the lock of that list.

use plimsoll_model::cause::{Cause, CauseEvidence, CauseId};
use plimsoll_model::observation::{FrameKind, StateKind, WaitSite};
use plimsoll_model::report::{GrownFunction, GrownWait, RaisedState, WaitFor};

use super::{Definition, Known, Page, by_counters, by_functions, by_seen, cause, quoted};

pub(super) const DEFINITION: Definition = Definition::new(
    Page {
        evidence_for: "/proc/locks has many more locks, and most of the added time is in functions that walk them (posix_lock_inode, flock_lock_inode) or wait for those that do",
        evidence_against: "/proc/locks is as long as before. The functions that walk the locks take no more time",
        test: "end the process that holds the locks, or let it unlock its ranges, and measure again",
        remedy: "unlock each range after use. Close the file. Lock whole files, or different ones",
    },
    find,
);

const ID: CauseId = CauseId::LockTable;
/// What walks the locks of a file (fs/locks.c).
const WALKS: [&str; 8] = [
    "posix_lock_inode",
    "posix_test_lock",
    "flock_lock_inode",
    "locks_remove_posix",
    "locks_remove_file",
    "__break_lease",
    "posix_locks_conflict",
    "locks_delete_lock_ctx",
];
/// The smallest part of the added time.
const MOST: f64 = 0.3;
/// Locks of a host.
const LEVEL: &str = "locks.held";

fn find(known: &Known<'_>) -> Vec<Cause> {
    let Some(profile) = known.profile else { return Vec::new() };
    let walks = |name: &String| WALKS.contains(&name.as_str());
    // Most of the time goes by in the lock of the list, which the walk is above.
    let is_below = |it: &&GrownFunction| {
        it.kind == FrameKind::Kernel && (walks(&it.function) || it.called_by.iter().any(walks))
    };
    let own: f64 = profile.functions.iter().filter(is_below).map(|it| it.share).sum();
    let narrowest = profile.narrowest.as_ref().filter(is_below);
    let share = own.max(narrowest.map_or(0.0, |it| it.share));
    let waits: Vec<&GrownWait> =
        by_seen::waits(known, WaitFor::Lock).into_iter().filter(|it| is_at(it, &WALKS)).collect();
    let held: Vec<&RaisedState> =
        profile.states.iter().filter(|it| it.kind == StateKind::FileLocks).collect();
    let level = by_counters::grown(LEVEL, known.evidence);
    if (held.is_empty() && level.is_none()) || (share < MOST && waits.is_empty()) {
        return Vec::new();
    }
    let functions = narrowest.into_iter().chain(profile.functions.iter().filter(is_below)).take(2);
    let functions: Vec<CauseEvidence> =
        functions.map(|it| by_functions::function_evidence(it, &profile.per)).collect();
    let mut evidence = by_seen::state_evidence(&held);
    evidence.extend(level.map(quoted));
    evidence.extend(functions);
    evidence.extend(by_seen::wait_evidence(known, &waits));
    let holder = held.iter().max_by_key(|it| it.after).map(|it| by_seen::title(&it.who));
    let title =
        holder.map_or_else(|| ID.title().to_owned(), |it| format!("{}: `{it}` holds them", ID.title()));
    vec![Cause { title, ..cause(ID, 0.93, evidence) }]
}

fn is_at(wait: &GrownWait, functions: &[&str]) -> bool {
    match &wait.site {
        WaitSite::Sleep { functions: at, .. } => at.iter().any(|it| functions.contains(&it.as_str())),
        WaitSite::Cpu => false,
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_model::report::ProfileReport;

    use super::super::fixture::{profile, relay, who};
    use super::super::named;
    use super::*;

    #[test]
    fn a_list_that_is_walked_under_a_lock_comes_before_the_lock() {
        let of = |caller: &str, locks: bool| {
            let spin = GrownFunction {
                function: "native_queued_spin_lock_slowpath".into(),
                was: None,
                kind: FrameKind::Kernel,
                before_us: 0.0,
                after_us: 900.0,
                share: 0.8,
                owner: vec!["relay".into()],
                called_by: vec!["fcntl_setlk".into(), caller.into(), "_raw_spin_lock".into()],
            };
            let who = who(FrameKind::Host, "leaker");
            let held = RaisedState { who, kind: StateKind::FileLocks, before: 0, after: 20_000 };
            let states = if locks { vec![held] } else { Vec::new() };
            let profile = ProfileReport { functions: vec![spin], grew: true, states, ..profile() };
            let after = plimsoll_model::report::ProfileSide { cpu_us: 1400.0, ..profile.after };
            let profile = ProfileReport { after, ..profile };
            let causes = named(&Known { profile: Some(&profile), measured: relay(), ..Known::default() });
            causes.iter().map(|cause| (cause.id, cause.title.clone())).collect::<Vec<_>>()
        };
        let both = of("posix_lock_inode", true);
        assert_eq!([both[0].0, both[1].0], [ID, CauseId::LockContended]);
        assert!(both[0].1.ends_with(": `relay/leaker` holds them"), "{}", both[0].1);
        assert_eq!(of("posix_lock_inode", false)[0].0, CauseId::LockContended);
        assert_eq!(of("unix_stream_sendmsg", true)[0].0, CauseId::LockContended);
    }
}
