//! `disk.writeback_slow`: More is written than the device takes, so that dirty memory grows and writers are held back.

use plimsoll_model::cause::{Cause, CauseId};

use super::{Definition, Known, Page, by_counters, by_levels};

pub(super) const DEFINITION: Definition = Definition::new(
    Page {
        evidence_for: "much more memory is dirty or being written (Dirty, Writeback), and the device is busy, or tasks wait for it (PSI io, wa). Or each fsync takes several times as long, and most of the time of a program's calls",
        evidence_against: "dirty memory is as before; the device has time left",
        test: "lower vm.dirty_bytes and measure again: writers slow down sooner, and others wait less",
        remedy: "write less, or to a faster device; lower vm.dirty_bytes and vm.dirty_background_bytes, so that the queue stays short",
    },
    find,
)
.of_use()
.beyond_the_run();

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

/// Calls that return when the data is written: how long each takes, and their part of the time of all calls.
const SYNCS: [&str; 3] = ["fsync", "fdatasync", "sync_file_range"];
/// So many times as long as before takes longer, and this share of the time is most of it, in per cent.
const LONGER: f64 = 3.0;
const MOST: f64 = 40.0;

/// A program whose calls for durable data take longer, as strace counts them.
fn by_calls(known: &Known<'_>) -> Vec<Cause> {
    let slower = SYNCS.iter().find_map(|call| {
        let [mean, share] = ["mean_us", "time_share"].map(|what| format!("syscall.{call}.{what}"));
        let mean = by_levels::above(&[&mean], 0.0, known.evidence)?;
        let share = by_levels::above(&[&share], MOST, known.evidence)?;
        (mean.before > 0.0 && mean.after >= LONGER * mean.before).then_some([Some(mean), Some(share)])
    });
    slower.map_or_else(Vec::new, |evidence| by_levels::shown(ID, 0.7, &evidence))
}

fn find(known: &Known<'_>) -> Vec<Cause> {
    let dirty = DIRTY.iter().find_map(|name| by_counters::grown(name, known.evidence));
    let busy = by_levels::any_above(("disk.", ".busy_share"), BUSY, known.evidence);
    let waiting = by_levels::above(&by_levels::IOWAIT, by_levels::LEAST_IOWAIT, known.evidence);
    let pressure = by_counters::grown("machine.pressure.io.some", known.evidence);
    if dirty.is_none() || busy.or(waiting).or(pressure).is_none() {
        return by_calls(known);
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
    #[test]
    fn a_program_whose_syncs_take_longer_waits_for_the_device() {
        let of = |what: &str, before, after| {
            grew("host", &format!("syscall.fdatasync.{what} (level)"), before, after)
        };
        let (mean, share) = (of("mean_us", 169.0, 969.0), of("time_share", 9.0, 63.0));
        assert_eq!(ids(&[mean.clone(), share.clone()]), [ID]);
        assert!(ids(&[mean]).is_empty(), "the program does other things meanwhile");
        assert!(ids(&[of("mean_us", 0.0, 969.0), share]).is_empty(), "it did not sync before");
    }
}
