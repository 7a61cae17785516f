//! `disk.competing_io`: Another process reads or writes the same device and uses part of its capacity.

use plimsoll_model::cause::{Cause, CauseId};
use plimsoll_model::report::{GrownWait, WaitFor};

use super::{BackgroundLoad, Definition, Known, Page, Shown, by_calls, by_seen, cause, changes};

pub(super) const DEFINITION: Definition = Definition::new(
    Page {
        evidence_for: "the worse mode appears while a background load runs, and the better mode while it is off. The device moved bytes that the measured load did not request",
        evidence_against: "the worse mode is as frequent without the background load. No other process used the device",
        test: "switch the background load off and measure again: one mode remains",
        remedy: "give the background load its own device, a limit, or another time",
    },
    find,
)
.of_use()
.confirmed_by(changes::without_background_loads);

const ID: CauseId = CauseId::DiskCompetingIo;

fn find(known: &Known<'_>) -> Vec<Cause> {
    let switched = known.shown.iter().filter_map(|shown| match shown {
        Shown::Background(background) => switched(background),
        Shown::Flushing(_) => None,
    });
    foreign(known).into_iter().chain(switched).collect()
}

/// Others who ask more of a device, where something of the run waits for one and waits longer.
fn foreign(known: &Known<'_>) -> Option<Cause> {
    let foreign = by_seen::foreign_block_io(known);
    let first = foreign.first()?;
    let waits = by_seen::waits(known, WaitFor::Disk);
    // If any program may be the service, the service is a program that waits but issues no more requests.
    let is_other = |it: &GrownWait| foreign.iter().all(|io| io.who != it.who);
    let waits: Vec<&GrownWait> =
        waits.into_iter().filter(|it| known.measured.has(&it.who.process) && is_other(it)).collect();
    if !known.measured.waits_for_disk || waits.is_empty() || !by_seen::explain(known, &waits) {
        return None;
    }
    // Whoever makes the device flush writes to it as well, and the flushes are what is waited for.
    let sure = if by_calls::syncs(known).foreign.is_empty() { 0.85 } else { 0.55 };
    let evidence =
        by_seen::block_io_evidence(&foreign).into_iter().chain(by_seen::wait_evidence(known, &waits));
    let title = format!("{}: `{}` on {}", ID.title(), first.who.process, first.who.owner);
    Some(Cause { title, ..cause(ID, sure, evidence.collect()) })
}

/// A second mode that is there when a background load is: that was switched on and off, so it is confirmed. A cause is named only where there are
/// two figures.
fn switched(background: &BackgroundLoad) -> Option<Cause> {
    let title = format!("{}: the background load `{}`", ID.title(), background.name);
    let found = cause(ID, background.confidence, background.evidence.clone());
    (background.evidence.len() >= 2).then_some(Cause { title, confirmed: true, ..found })
}

#[cfg(test)]
mod tests {
    use plimsoll_model::observation::FrameKind;
    use plimsoll_model::report::ProfileReport;

    use super::super::fixture::{asleep, profile, relay, wait, writes};
    use super::super::named;
    use super::*;

    #[test]
    fn whoever_writes_to_the_device_that_the_service_waits_for_is_named() {
        let of = |process: &str, kind, waits| {
            let profile = ProfileReport { block_io: vec![writes(kind, process)], waits, ..profile() };
            named(&Known { profile: Some(&profile), measured: relay(), ..Known::default() })
        };
        let waits = vec![wait("relay", asleep("jbd2_log_wait_commit", "fsync"), WaitFor::Disk)];
        let causes = of("dd", FrameKind::Others, waits.clone());
        assert_eq!(causes[0].id, ID);
        assert!(causes[0].title.ends_with(": `dd` on machine"), "{}", causes[0].title);
        assert!(of("relay", FrameKind::Host, waits.clone()).is_empty(), "that is the service itself");
        assert!(of("kworker", FrameKind::Shared, waits).is_empty(), "that is on behalf of somebody");
        assert!(of("dd", FrameKind::Others, Vec::new()).is_empty(), "nobody waits for it");
    }
}
