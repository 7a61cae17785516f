//! `disk.writeback_slow`: More is written than the device takes, so that dirty memory grows and writers are held back.

use plimsoll_model::cause::{Cause, CauseId};

use super::{Definition, Known, Page, When, by_counters, by_hand, by_levels};

pub(super) const DEFINITION: Definition = Definition {
    page: Page {
        evidence_for: "much more memory is dirty or being written (Dirty, Writeback), and the device is busy, or tasks wait for it (PSI io, wa)",
        evidence_against: "dirty memory is as before; the device has time left",
        test: "lower vm.dirty_bytes and measure again: writers slow down sooner, and others wait less",
        remedy: "write less, or to a faster device; lower vm.dirty_bytes and vm.dirty_background_bytes, so that the queue stays short",
    },
    when: When::Always,
    find,
    change: by_hand,
};

const ID: CauseId = CauseId::DiskWritebackSlow;
/// Dirty memory in bytes, and in pages.
const DIRTY: [&str; 4] = [
    "machine.meminfo.Dirty",
    "machine.meminfo.Writeback",
    "machine.vmstat.nr_dirty",
    "machine.vmstat.nr_writeback",
];
/// From this share of the time on a device is busy.
const BUSY: f64 = 80.0;

fn find(known: &Known<'_>) -> Vec<Cause> {
    let dirty = DIRTY.iter().find_map(|name| by_counters::grown(name, known.evidence));
    let busy = by_levels::any_above(("disk.", ".busy_share"), BUSY, known.evidence);
    let waiting = by_levels::above(&by_levels::IOWAIT, by_levels::LEAST_IOWAIT, known.evidence);
    let pressure = by_counters::grown("machine.pressure.io.some", known.evidence);
    if dirty.is_none() || busy.or(waiting).or(pressure).is_none() {
        return Vec::new();
    }
    by_levels::shown(ID, if busy.is_some() { 0.75 } else { 0.55 }, &[dirty, busy, waiting, pressure])
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{grew, ids};
    use super::ID;

    #[test]
    fn dirty_memory_before_a_busy_device_is_named() {
        let dirty = grew("machine", "machine.meminfo.Dirty (level)", 1e6, 2e9);
        let busy = grew("machine", "disk.vda.busy_share (level)", 2.0, 99.0);
        assert_eq!(ids(&[dirty.clone(), busy]), [ID]);
        assert!(ids(&[dirty]).is_empty());
    }
}
