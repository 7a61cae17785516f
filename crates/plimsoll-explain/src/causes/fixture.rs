//! What tests of causes are made of.

use plimsoll_model::cause::CauseId;
use plimsoll_model::observation::{FrameKind, ProfileClock, TracedCall, WaitSite};
use plimsoll_model::report::{
    Evidence, GrownBlockIo, GrownCalls, GrownFailures, GrownFunction, GrownWait, ProfileReport, ProfileSide,
    WaitFor, Who,
};

use super::{Known, Measured, named};

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
    Measured {
        processes: vec!["relay".into()],
        helpers: vec!["policy".into()],
        hosts: vec!["relay".into()],
        waits_for_disk: true,
        load: Some(("client".into(), "plimsoll".into())),
        ..Measured::default()
    }
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
        programs: Vec::new(),
        entered: Vec::new(),
        busiest_threads: Vec::new(),
        throttling: Vec::new(),
        io_limits: Vec::new(),
        states: Vec::new(),
        members: Vec::new(),
    }
}

/// A process of a host of the run, or of the rest of the machine.
pub(super) fn who(owner_kind: FrameKind, process: &str) -> Who {
    let owner = if owner_kind == FrameKind::Host { "relay" } else { "machine" };
    Who { owner_kind, owner: owner.into(), process: process.into() }
}

/// A sleep in one function.
pub(super) fn asleep(function: &str, call: &str) -> WaitSite {
    WaitSite::Sleep { functions: vec![function.into()], call: Some(call.into()) }
}

/// A wait of a process on a host of the run, ten times as long as before.
pub(super) fn wait(process: &str, site: WaitSite, wait_for: WaitFor) -> GrownWait {
    let who = who(FrameKind::Host, process);
    let (before_threads, after_threads) = (0.1, 1.0);
    GrownWait { who, site, wait_for, before_us: 300.0, after_us: 3000.0, before_threads, after_threads }
}

/// A function of the relay that takes this share of the added time.
pub(super) fn function(name: &str, kind: FrameKind, share: f64) -> GrownFunction {
    let owner = ["firewall", "relay"].map(str::to_owned).to_vec();
    GrownFunction {
        function: name.into(),
        was: None,
        kind,
        before_us: 1.0,
        after_us: 1.0 + 1000.0 * share,
        share,
        owner,
        called_by: vec!["connect".to_owned()],
    }
}

/// A profile in which calls of a process fail.
pub(super) fn failing(process: &str, call: &str, error: &str) -> ProfileReport {
    let who = who(FrameKind::Host, process);
    let (call, error) = (call.into(), error.into());
    let failed = GrownFailures { who, call, error, before_per_s: 0.0, after_per_s: 50.0 };
    ProfileReport { failures: vec![failed], ..profile() }
}

/// Writes of a process to a device, of which there were none before.
pub(super) fn writes(owner_kind: FrameKind, process: &str) -> GrownBlockIo {
    GrownBlockIo {
        who: who(owner_kind, process),
        device: "vda".into(),
        writes: true,
        before_per_s: 0.0,
        after_per_s: 400.0,
        before_bytes_per_s: 0.0,
        after_bytes_per_s: 4e7,
    }
}

/// The causes that this evidence names.
pub(super) fn ids(evidence: &[Evidence]) -> Vec<CauseId> {
    named(&Known { evidence, ..Known::default() }).into_iter().map(|cause| cause.id).collect()
}
