//! Files that a program opens more often on the worse side, beside the causes that speak of the program.

use plimsoll_model::cause::{Cause, CauseId};
use plimsoll_model::observation::program_of;
use plimsoll_model::report::Evidence;

use super::by_settings::is_named;
use super::{Known, OPENED, cause, quoted};

/// Causes that the opens of files may explain, by the beginnings of their ids.
const OF_OPENS: [&str; 6] =
    ["cpu.user", "cpu.single", "cpu.kernel", "kernel.path", "disk.", "service.failing"];

/// The least CPU time of an open and the close that follows, in microseconds. In a loop of Python on ext4 both took 2.6 µs.
const OPEN_US: f64 = 1.5;
/// From this part of the added time on, opens are a cause of their own, and how sure that is.
const PART: f64 = 0.05;
const SURE: f64 = 0.5;
/// Ends the title of a cause that speaks of opens.
const OPENS: &str = "opens of files of `";

/// How many times the factor by which processes became more the opens of each of them must have grown.
const BEYOND: f64 = 1.5;

/// The program that opens files more often, and the place of these.
fn opened(evidence: &Evidence) -> Option<(&str, &str)> {
    let name = evidence.metric.strip_prefix(OPENED)?.strip_suffix(" (per run)")?;
    name.split_once(": ").filter(|_| evidence.after > evidence.before)
}

/// Whether the opens of a process grew by clearly more than this factor: it does other work, and not only more often.
pub(super) fn opens_beyond(known: &Known<'_>, process: &str, factor: f64) -> bool {
    known.evidence.iter().any(|it| {
        opened(it).is_some_and(|(program, _)| program == program_of(process))
            && it.after > BEYOND * factor * it.before
    })
}

/// Names files that a program opens more often: as a cause if that costs a good part of the added time, else beside the first cause that speaks of
/// the program.
pub(super) fn attach(known: &Known<'_>, causes: &mut Vec<Cause>) {
    for (evidence, (program, path)) in known.evidence.iter().filter_map(|it| Some((it, opened(it)?))) {
        let what = path.strip_suffix('/').map_or_else(
            || format!("`{path}`"),
            |folder| format!("files below `{}`", if folder.is_empty() { "/" } else { folder }),
        );
        let (before, after) = (evidence.before, evidence.after);
        let opens = format!("`{program}` opens {what} {after:.0} times a run, and {before:.0} before");
        let us = OPEN_US * (after - before);
        let is_costly = known.took_us.is_some_and(|(before, after)| us >= PART * (after - before));
        let is_about = |cause: &&mut Cause| {
            let is_of_opens = cause.title.contains(OPENS);
            OF_OPENS.iter().any(|start| cause.id.id().starts_with(start))
                && is_named(program, cause)
                && (is_of_opens || !is_costly)
        };
        if let Some(cause) = causes.iter_mut().find(is_about) {
            cause.title += &format!("; {opens}");
            cause.evidence.push(quoted(evidence));
        } else if is_costly {
            let id = CauseId::CpuKernelSaturated;
            let title = format!("{}: {opens}", id.title());
            causes.push(Cause { title, ..cause(id, SURE, vec![quoted(evidence)]) });
        }
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_model::cause::CauseId;

    use super::super::cause;
    use super::super::fixture::grew;
    use super::*;

    #[test]
    fn opens_stand_beside_the_cause_of_their_program() {
        let of = |id, opened: &str| {
            let evidence = [grew("here", opened, 2.0, 400.0)];
            let title = "A program uses up the CPUs: `parse` of `cc1plus`".to_owned();
            let mut causes = vec![Cause { title, ..cause(id, 0.7, Vec::new()) }];
            attach(&Known { evidence: &evidence, ..Known::default() }, &mut causes);
            let cause = &causes[0];
            (cause.title.split_once("; ").map(|(_, what)| what.to_owned()), cause.evidence.len())
        };
        let below = "files.opened by cc1plus: /usr/include/ (per run)";
        let what = "`cc1plus` opens files below `/usr/include` 400 times a run, and 2 before";
        assert_eq!(of(CauseId::CpuUserSaturated, below), (Some(what.to_owned()), 1));
        let one = of(CauseId::CpuUserSaturated, "files.opened by cc1plus: /var/log/a (per run)").0.unwrap();
        assert!(one.contains("opens `/var/log/a` 400 times"), "{one}");
        assert_eq!(of(CauseId::CpuUserSaturated, "files.opened by ld: /usr/lib/ (per run)"), (None, 0));
        assert_eq!(of(CauseId::NetRto, below), (None, 0));
    }

    #[test]
    fn a_program_that_opens_more_than_it_is_started_does_other_work() {
        let of = |process: &str, factor| {
            let evidence = [grew("here", "files.opened by cc1plus: /usr/include/ (per run)", 15.0, 500.0)];
            opens_beyond(&Known { evidence: &evidence, ..Known::default() }, process, factor)
        };
        assert!(of("cc1plus (command)", 5.0));
        assert!(!of("cc1plus (command)", 30.0), "it is started as many times as often");
        assert!(!of("sh (command)", 5.0));
    }

    #[test]
    fn opens_that_cost_a_part_of_the_added_time_are_a_cause() {
        let of = |title: &str, took_us| {
            let evidence = [grew("here", "files.opened by node: /var/log/a (per run)", 1.0, 30_001.0)];
            let mut causes =
                vec![Cause { title: title.to_owned(), ..cause(CauseId::CpuUserSaturated, 0.7, Vec::new()) }];
            attach(&Known { evidence: &evidence, took_us: Some(took_us), ..Known::default() }, &mut causes);
            causes.into_iter().map(|cause| cause.title).collect::<Vec<_>>()
        };
        let first = "A program uses up the CPUs: `shift` of `node`";
        let both = of(first, (5e5, 1.3e6));
        assert_eq!(both[0], first);
        assert!(both[1].ends_with("`node` opens `/var/log/a` 30001 times a run, and 1 before"), "{both:?}");
        assert_eq!(of(first, (5e5, 9e6)).len(), 1, "a small part");
        assert_eq!(of("The kernel uses up the CPUs: opens of files of `node`", (5e5, 1.3e6)).len(), 1);
    }
}
