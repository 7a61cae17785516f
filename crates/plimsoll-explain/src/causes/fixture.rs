//! What tests of causes are made of.

use plimsoll_model::observation::{FrameKind, ProfileClock, TracedCall};
use plimsoll_model::report::{Evidence, GrownCalls, ProfileReport, ProfileSide};

use super::Measured;

/// A figure that was one value and is another.
pub(super) fn grew(host: &str, metric: &str, before: f64, after: f64) -> Evidence {
    Evidence {
        host: host.into(),
        metric: metric.into(),
        before,
        after,
        unit: "count".into(),
        shift: if after > before { 1.0 } else { -1.0 },
        control_ratio: None,
    }
}

/// Calls of a process, of which there were none before.
pub(super) fn calls(call: TracedCall, owner_kind: FrameKind, process: &str) -> GrownCalls {
    let owner = if owner_kind == FrameKind::Host { "relay" } else { "machine" };
    GrownCalls {
        call,
        owner_kind,
        owner: owner.into(),
        process: process.into(),
        before_per_s: 0.0,
        after_per_s: 120.0,
    }
}

/// A device that flushes more often.
pub(super) fn flushes() -> Evidence {
    grew("machine", "machine.diskstats.vda.flushes (per operation)", 1.0, 3.0)
}

/// A relay that waits for a disk.
pub(super) fn relay() -> Measured {
    Measured { processes: vec!["relay".into()], waits_for_disk: true }
}

/// A profile in which nothing grew.
pub(super) fn profile() -> ProfileReport {
    let side = ProfileSide {
        samples: 1000,
        lost: 0,
        idle: Some(0.5),
        operations: 100,
        cpu_us: 500.0,
        kernel_us: 300.0,
    };
    ProfileReport {
        clock: ProfileClock::CpuClock,
        hertz: 99,
        per: "connection".into(),
        before: side,
        after: side,
        control: None,
        grew: false,
        narrowest: None,
        functions: Vec::new(),
        calls: Vec::new(),
        own_syncs_per_s: 0.0,
        waits: Vec::new(),
        failures: Vec::new(),
        block_io: Vec::new(),
        cpu_use: Vec::new(),
    }
}
