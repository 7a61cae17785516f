//! `service.pipe_full`: A program waits for room in a pipe, since the reader of the pipe is slow.

use plimsoll_model::cause::{Cause, CauseId};
use plimsoll_model::report::{GrownWait, WaitFor};

use super::{Definition, Known, Page, by_functions, by_seen, cause};

pub(super) const DEFINITION: Definition = Definition::new(
    Page {
        evidence_for: "threads of the program sleep in a write to a pipe (pipe_write) for longer, and hardly any did before",
        evidence_against: "as many threads slept there before. The program writes to files or sockets only",
        test: "find the reader (`lsof +E -p PID`). Send the output to a file or to /dev/null, and measure again",
        remedy: "mend the reader of the pipe: a log shipper that waits for its collector, a pager, a slow filter. Write less, or write to a file",
    },
    find,
)
.of_use();

const ID: CauseId = CauseId::ServicePipeFull;
/// Smallest average number of waiting threads.
const LEAST_THREADS: f64 = 0.3;
/// Largest share of the waiting threads that also waited before. The first programs of a pipeline always wait for the last one.
const FEW: f64 = 0.5;

fn find(known: &Known<'_>) -> Vec<Cause> {
    // In a pipeline of commands all wait for the one that computes.
    if known.took_us.is_some() && by_functions::explains_all(known) {
        return Vec::new();
    }
    let is_it = |it: &&GrownWait| {
        known.measured.has(&it.who.process)
            && it.after_threads >= LEAST_THREADS
            && it.before_threads <= FEW * it.after_threads
    };
    let waits: Vec<&GrownWait> = by_seen::waits(known, WaitFor::Pipe).into_iter().filter(is_it).collect();
    let Some(first) = waits.first().filter(|_| by_seen::explain(known, &waits)) else { return Vec::new() };
    let title = format!("{}: `{}` on {}", ID.title(), first.who.process, first.who.owner);
    vec![Cause { title, ..cause(ID, 0.8, by_seen::wait_evidence(known, &waits)) }]
}

#[cfg(test)]
mod tests {
    use plimsoll_model::report::{ProfileReport, ProfileSide};

    use super::super::fixture::{asleep, profile, relay, wait};
    use super::super::named;
    use super::*;

    #[test]
    fn a_writer_that_hardly_ever_waited_for_its_reader_and_now_does_is_named() {
        let of = |process: &str, function: &str, before_threads: f64, took_us| {
            let site = asleep(function, "write");
            let wait_for = crate::seen::wait_for(&site);
            let waits = vec![GrownWait { before_threads, ..wait(process, site, wait_for) }];
            let profile = ProfileReport { waits, ..profile() };
            let known = Known { profile: Some(&profile), measured: relay(), took_us, ..Known::default() };
            named(&known).iter().map(|cause| cause.id).collect::<Vec<_>>()
        };
        // The wait grew by 2700 µs.
        assert_eq!(of("relay", "anon_pipe_write", 0.0, Some((500.0, 3500.0))), [ID]);
        assert_eq!(of("relay", "pipe_write", 0.1, None), [ID]);
        assert!(of("relay", "pipe_write", 0.9, None).is_empty(), "it waited as much before");
        assert!(of("relay", "pipe_write", 0.0, Some((500.0, 90_000.0))).is_empty(), "a small part of it");
        assert!(of("relay", "anon_pipe_read", 0.0, None).is_empty(), "it waits for something to read");
        assert!(of("stranger", "pipe_write", 0.0, None).is_empty());
    }

    #[test]
    fn a_writer_whose_reader_computes_for_the_added_time_is_no_cause() {
        let of = |added_cpu_us: f64| {
            let waits = vec![wait("relay", asleep("anon_pipe_write", "write"), WaitFor::Pipe)];
            let before = profile().before;
            let after = ProfileSide { cpu_us: before.cpu_us + added_cpu_us, ..before };
            let profile = ProfileReport { waits, after, grew: added_cpu_us > 0.0, ..profile() };
            let took_us = Some((500.0, 3500.0));
            let known = Known { profile: Some(&profile), measured: relay(), took_us, ..Known::default() };
            named(&known).iter().any(|cause| cause.id == ID)
        };
        assert_eq!((of(100.0), of(2500.0)), (true, false));
    }
}
