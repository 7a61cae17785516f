//! `kernel.entropy_low`: The kernel has too little entropy, and programs wait for random numbers.

use plimsoll_model::cause::{Cause, CauseId};
use plimsoll_model::report::Evidence;

use super::{Definition, Known, Page, by_levels};

pub(super) const DEFINITION: Definition = Definition::new(
    Page {
        evidence_for: "kernel.random.entropy_avail is low, and the kernel logs or threads show that somebody waits for it (wait_for_random_bytes, getrandom)",
        evidence_against: "the kernel is 5.18 or later, where the count is always 256 and no program waits after the start",
        test: "run rngd or give a virtual machine virtio-rng, and measure again",
        remedy: "give the machine a source of randomness (virtio-rng, rngd), use /dev/urandom, or a newer kernel",
    },
    find,
)
.beyond_the_run();

const ID: CauseId = CauseId::KernelEntropyLow;
/// Before Linux 5.6 readers of /dev/random waited below this (drivers/char/random.c, `random_read_wakeup_bits` and the reserve).
const LOW: f64 = 200.0;
const WAITS: [&str; 4] =
    ["wait.wait_for_random_bytes", "wait._random_read.part.0", "wait.random_read", "kernel_log.entropy"];

fn find(known: &Known<'_>) -> Vec<Cause> {
    let is_low = |it: &&Evidence| by_levels::name(it) == "kernel.entropy" && it.shift < 0.0 && it.after < LOW;
    let low = known.evidence.iter().find(is_low);
    let waits = by_levels::above(&WAITS, 0.0, known.evidence);
    if low.is_none() || waits.is_none() { Vec::new() } else { by_levels::shown(ID, 0.85, &[low, waits]) }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{grew, ids};
    use super::ID;

    #[test]
    fn little_entropy_is_named_where_somebody_waits_for_it() {
        let low = grew("machine", "kernel.entropy (level)", 3000.0, 40.0);
        let waits = grew("host", "wait.wait_for_random_bytes (level)", 0.0, 3.0);
        assert_eq!(ids(&[low.clone(), waits]), [ID]);
        assert!(ids(&[low]).is_empty());
    }
}
