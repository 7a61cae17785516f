//! Work that is shared out among threads.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// How many things are done at once: as many as there are CPUs.
pub(crate) fn cpus() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// Does `work` for each of the items, as many at once as there are CPUs, and returns what came of it in the order of the items.
pub(crate) fn each<'i, T: Sync, R: Send>(items: &'i [T], work: impl Fn(&'i T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let share = || {
        let mut done = Vec::new();
        loop {
            let place = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(place) else { return done };
            done.push((place, work(item)));
        }
    };
    let mut done: Vec<(usize, R)> = thread::scope(|scope| {
        let threads: Vec<_> = (0..cpus().min(items.len())).map(|_| scope.spawn(share)).collect();
        threads.into_iter().flat_map(|one| one.join().expect("no work panics")).collect()
    });
    done.sort_by_key(|(place, _)| *place);
    done.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_item_is_worked_on_once_and_its_result_stands_at_its_place() {
        let items: Vec<u64> = (0..1000).collect();
        assert_eq!(
            each(&items, |item| item * item),
            items.iter().map(|item| item * item).collect::<Vec<_>>()
        );
        assert!(each(&[0_u64; 0], |item| *item).is_empty());
    }
}
