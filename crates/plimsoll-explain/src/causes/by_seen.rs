//! Causes by what processes were seen to do: wait, fail, ask block devices, use CPUs.

use plimsoll_model::cause::{Cause, CauseEvidence, CauseId};
use plimsoll_model::observation::{FrameKind, StateKind};
use plimsoll_model::report::{
    GrownBlockIo, GrownCpuUse, GrownFailures, GrownThrottling, GrownWait, RaisedState, WaitFor, Who,
};

use super::{Known, QUOTED, cause};

/// Least share of throttled periods that makes the quota the cause.
const LEAST_STOPPED: f64 = 0.1;
/// The name of the agents of hosts, which loads are threads of. A stranger of that name gets another one where it is sampled.
const AGENT: &str = "plimsoll";
/// What comes this many times as often in a second comes clearly more often.
const MORE_OFTEN: f64 = 1.5;
const MIB: f64 = 1024.0 * 1024.0;

/// System calls of processes of the run's hosts that failed with one of these errors.
pub(super) fn failures<'k>(known: &'k Known<'_>, errors: &[&str]) -> Vec<&'k GrownFailures> {
    let all = known.profile.map_or(&[][..], |profile| &profile.failures);
    let of_hosts = all.iter().filter(|it| it.who.owner_kind == FrameKind::Host);
    let of_hosts = of_hosts.filter(|it| known.measured.concerns(&it.who.process));
    of_hosts.filter(|it| errors.contains(&it.error.as_str())).collect()
}

/// Waits for this, without those of strangers beside what is measured.
pub(super) fn waits<'k>(known: &'k Known<'_>, wait_for: WaitFor) -> Vec<&'k GrownWait> {
    let all = known.profile.map_or(&[][..], |profile| &profile.waits);
    all.iter().filter(|it| it.wait_for == wait_for && known.measured.concerns(&it.who.process)).collect()
}

/// Whether these waits are a good part of the added time.
pub(super) fn explain(known: &Known<'_>, waits: &[&GrownWait]) -> bool {
    known.is_explained_by(waits.iter().map(|it| it.after_us - it.before_us).sum())
}

/// What others than what is measured asked of block devices.
pub(super) fn foreign_block_io<'k>(known: &'k Known<'_>) -> Vec<&'k GrownBlockIo> {
    let all = known.profile.map_or(&[][..], |profile| &profile.block_io);
    let grew = |it: &&GrownBlockIo| more_often(it.before_per_s, it.after_per_s);
    all.iter().filter(|it| !is_own(known, &it.who)).filter(grew).collect()
}

/// Whether there is clearly more in each second. What strangers do all the time grows for each operation where fewer are carried out.
pub(super) fn more_often(before_per_s: f64, after_per_s: f64) -> bool {
    after_per_s >= MORE_OFTEN * before_per_s
}

/// What others than what is measured used of the CPUs.
pub(super) fn foreign_cpu_use<'k>(known: &'k Known<'_>) -> Vec<&'k GrownCpuUse> {
    let all = known.profile.map_or(&[][..], |profile| &profile.cpu_use);
    all.iter().filter(|it| !is_own(known, &it.who)).collect()
}

/// Control groups that are stopped by their quota in a good part of their periods: in fewer something else holds them up.
pub(super) fn stopped<'k>(known: &'k Known<'_>) -> Vec<&'k GrownThrottling> {
    let all = known.profile.map_or(&[][..], |profile| &profile.throttling);
    all.iter().filter(|it| it.after_share >= LEAST_STOPPED).collect()
}

/// A group that is stopped, as evidence.
pub(super) fn throttling_evidence(known: &Known<'_>, group: &GrownThrottling) -> Vec<CauseEvidence> {
    let per = known.profile.map_or("operation", |profile| profile.per.as_str());
    let share = CauseEvidence {
        metric: format!("throttled periods of {} on {}", group.group, group.host),
        before: 100.0 * group.before_share,
        after: 100.0 * group.after_share,
        unit: "%".to_owned(),
    };
    let time = CauseEvidence {
        metric: format!("time throttled (per {per})"),
        before: group.before_us,
        after: group.after_us,
        unit: format!("µs/{per}"),
    };
    vec![share, time]
}

/// What Plimsoll's own processes used more of the CPUs, loads and services left out.
pub(super) fn own_cpu_use<'k>(known: &'k Known<'_>) -> Vec<&'k GrownCpuUse> {
    let all = known.profile.map_or(&[][..], |profile| &profile.cpu_use);
    let load = known.measured.load.as_ref();
    let is_load =
        |who: &Who| load.is_some_and(|(host, process)| (host, process) == (&who.owner, &who.process));
    // Only a run that makes load has agents of its own.
    let is_agent = |who: &Who| {
        load.is_some()
            && who.owner_kind == FrameKind::Host
            && who.process == AGENT
            && !known.measured.processes.contains(&who.process)
    };
    let is_plimsoll = |who: &Who| who.owner_kind == FrameKind::Plimsoll || is_agent(who) && !is_load(who);
    all.iter().filter(|it| is_plimsoll(&it.who)).collect()
}

/// States of this kind that rose, of what is measured.
pub(super) fn own_states<'k>(known: &'k Known<'_>, kind: StateKind) -> Vec<&'k RaisedState> {
    let all = known.profile.map_or(&[][..], |profile| &profile.states);
    let is_it = |it: &&RaisedState| it.kind == kind && known.measured.has(&it.who.process);
    all.iter().filter(is_it).collect()
}

/// States that rose, as evidence.
pub(super) fn state_evidence(states: &[&RaisedState]) -> Vec<CauseEvidence> {
    let evidence = states.iter().take(QUOTED).map(|it| {
        let (what, unit) = match it.kind {
            StateKind::Nice => ("nice value of", "count"),
            StateKind::IdleOnly => ("runs only on idle CPUs (SCHED_IDLE):", "count"),
            StateKind::WithheldCpus => ("CPUs withheld from", "CPUs"),
            StateKind::TimerSlack => ("timer slack, by which timeouts may end late, of", "ns"),
            StateKind::FileLocks => ("file locks held by", "count"),
        };
        CauseEvidence {
            metric: format!("{what} {}", title(&it.who)),
            before: it.before as f64,
            after: it.after as f64,
            unit: unit.to_owned(),
        }
    });
    evidence.collect()
}

/// A cause by how the scheduler treats what is measured: surer where it waits longer for a CPU.
pub(super) fn scheduled(id: CauseId, known: &Known<'_>, kinds: &[StateKind]) -> Option<Cause> {
    let states: Vec<&RaisedState> = kinds.iter().flat_map(|kind| own_states(known, *kind)).collect();
    let first = states.first()?;
    let mut waits = waits(known, WaitFor::Cpu);
    // Of all processes of a machine, its own waits show that a process is held up.
    waits.retain(|it| states.iter().any(|state| state.who == it.who));
    if known.measured.is_everybody && waits.is_empty() {
        return None;
    }
    let sure = if waits.is_empty() { 0.55 } else { 0.88 };
    let evidence = state_evidence(&states).into_iter().chain(wait_evidence(known, &waits));
    let title = format!("{}: `{}`", id.title(), title(&first.who));
    Some(Cause { title, ..cause(id, sure, evidence.collect()) })
}

/// Whether it is a measured process, Plimsoll itself, or the kernel, which works for others.
fn is_own(known: &Known<'_>, who: &Who) -> bool {
    match who.owner_kind {
        FrameKind::Host => known.measured.processes.contains(&who.process) || who.process == AGENT,
        FrameKind::Others => false,
        _ => true,
    }
}

/// Calls that failed, as evidence.
pub(super) fn failure_evidence(failures: &[&GrownFailures]) -> Vec<CauseEvidence> {
    let evidence = failures.iter().take(QUOTED).map(|it| CauseEvidence {
        metric: format!("{} failed with {} in {}", it.call, it.error, title(&it.who)),
        before: it.before_per_s,
        after: it.after_per_s,
        unit: "per second".to_owned(),
    });
    evidence.collect()
}

/// Waits, as evidence.
pub(super) fn wait_evidence(known: &Known<'_>, waits: &[&GrownWait]) -> Vec<CauseEvidence> {
    let per = known.profile.map_or("operation", |profile| profile.per.as_str());
    let evidence = waits.iter().take(QUOTED).map(|it| CauseEvidence {
        metric: format!("{} waited: {} (per {per})", title(&it.who), it.site.title()),
        before: it.before_us,
        after: it.after_us,
        unit: format!("µs/{per}"),
    });
    evidence.collect()
}

/// Who asked block devices, as evidence.
pub(super) fn block_io_evidence(block_io: &[&GrownBlockIo]) -> Vec<CauseEvidence> {
    let evidence = block_io.iter().take(QUOTED).map(|it| CauseEvidence {
        metric: format!(
            "{} {} {}",
            title(&it.who),
            if it.writes { "writes to" } else { "reads from" },
            it.device
        ),
        before: it.before_bytes_per_s / MIB,
        after: it.after_bytes_per_s / MIB,
        unit: "MiB/s".to_owned(),
    });
    evidence.collect()
}

/// Evidence of the CPUs that processes used.
pub(super) fn cpu_use_evidence(cpu_use: &[&GrownCpuUse]) -> Vec<CauseEvidence> {
    let rows = cpu_use.iter().take(QUOTED).map(|it| CauseEvidence {
        metric: format!("CPUs used by {}", title(&it.who)),
        before: it.before_cpus,
        after: it.after_cpus,
        unit: "CPUs".to_owned(),
    });
    rows.collect()
}

/// A process and what it belongs to.
pub(super) fn title(who: &Who) -> String {
    format!("{}/{}", who.owner, who.process)
}
