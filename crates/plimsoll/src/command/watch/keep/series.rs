//! The series that are kept of a host each second, and once a minute of its file systems.

use std::collections::BTreeMap;

use plimsoll_assess::watched::State;
use plimsoll_store::weeks::Series;

/// The figures of a second by name. `levels` are counters by their name, of which the free bytes of file systems are taken.
pub(super) fn of(state: &State, levels: &BTreeMap<String, f64>) -> Vec<(Series, f64)> {
    let mut all = Vec::new();
    let mut put = |name: String, unit: &str, value: Option<f64>| {
        all.extend(value.map(|value| (Series { name, unit: unit.to_owned() }, value)));
    };
    put("cpu.busy".into(), "share", state.cpu_busy);
    for (kind, share) in &state.cpu {
        put(format!("cpu.{kind}"), "share", Some(*share));
    }
    for (what, share) in &state.pressure {
        put(format!("pressure.{what}"), "share", Some(*share));
    }
    put("tasks.runnable".into(), "", state.runnable);
    put("tasks.blocked".into(), "", state.blocked);
    put("memory.available".into(), "bytes", state.memory_available);
    put("memory.swapped".into(), "pages/s", state.swapped);
    put("tcp.retransmits".into(), "1/s", state.retransmits);
    put("tcp.listen_overflows".into(), "1/s", state.listen_overflows);
    put("net.backlog_drops".into(), "1/s", state.backlog_drops);
    for disk in &state.disks {
        put(format!("disk.{}.busy", disk.name), "share", Some(disk.busy));
        put(format!("disk.{}.read", disk.name), "bytes/s", Some(disk.read));
        put(format!("disk.{}.written", disk.name), "bytes/s", Some(disk.written));
    }
    for interface in &state.interfaces {
        put(format!("net.{}.received", interface.name), "bytes/s", Some(interface.received));
        put(format!("net.{}.sent", interface.name), "bytes/s", Some(interface.sent));
        put(format!("net.{}.lost", interface.name), "1/s", Some(interface.lost));
    }
    if let Some(group) = &state.group {
        put("group.cpus".into(), "", Some(group.cpus));
        put("group.throttled".into(), "share", Some(group.throttled));
        put("group.memory".into(), "bytes", group.memory);
    }
    for (name, value) in
        levels.range("filesystem.".to_owned()..).take_while(|(name, _)| name.starts_with("filesystem."))
    {
        let mounted = name.strip_prefix("filesystem.").and_then(|rest| rest.strip_suffix(".free.bytes"));
        if let Some(mounted) = mounted {
            put(format!("free.{mounted}"), "bytes", Some(*value));
        }
    }
    all
}
