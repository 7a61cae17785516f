//! `limit.watches`: A program adds watches (inotify, epoll) and does not remove them.

use plimsoll_model::cause::{Cause, CauseId};

use super::{Definition, Known, Page, by_counters, by_levels, changes};

pub(super) const DEFINITION: Definition = Definition::new(
    Page {
        evidence_for: "the kernel's caches of watches hold many more (inotify_inode_mark, eventpoll_epi), beside the objects that each of them keeps",
        evidence_against: "the number of watches follows the number of connections or files, and falls with them",
        test: "restart the program that `find /proc/*/fd -lname anon_inode:*` shows most of, and measure again",
        remedy: "let the program remove its watches and close their descriptors; fs.inotify.max_user_watches only postpones it",
    },
    find,
)
.confirmed_by(changes::restarted);

const ID: CauseId = CauseId::LimitWatches;
/// Caches, each with another figure that grows where watches are added and not where places of old ones are used again: fs/notify and fs/eventpoll.c.
/// Which caches stand by themselves depends on the kernel, which merges those of one size (mm/slab_common.c).
const PAIRS: [(&str, &str); 4] = [
    ("machine.slab.inotify_inode_mark.active", "machine.slab.fsnotify_mark_connector.active"),
    ("machine.slab.inotify_inode_mark.active", "machine.slab.inotify_inode_mark.bytes"),
    ("machine.slab.eventpoll_epi.active", "machine.slab.eventpoll_pwq.active"),
    ("machine.slab.eventpoll_epi.active", "machine.slab.eventpoll_epi.bytes"),
];
/// Fewer watches are no leak.
const LEAST: f64 = 10_000.0;

fn find(known: &Known<'_>) -> Vec<Cause> {
    let both = PAIRS.iter().find_map(|(first, second)| {
        let first = by_counters::grown(first, known.evidence).filter(|it| it.after >= LEAST)?;
        Some((first, by_counters::grown(second, known.evidence)?))
    });
    both.map(|(a, b)| by_levels::shown(ID, 0.7, &[Some(a), Some(b)])).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{grew, ids};
    use super::ID;

    #[test]
    fn watches_that_pile_up_are_named_from_ten_thousand_on() {
        let of =
            |name: &str, after| grew("machine", &format!("machine.slab.{name}.active (level)"), 200.0, after);
        assert_eq!(ids(&[of("eventpoll_epi", 5e4), of("eventpoll_pwq", 5e4)]), [ID]);
        assert!(ids(&[of("eventpoll_epi", 900.0), of("eventpoll_pwq", 900.0)]).is_empty());
    }
}
