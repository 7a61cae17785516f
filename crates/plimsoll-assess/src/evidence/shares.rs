//! Shares of the CPUs' and the disks' time, and rates, that follow from what counters moved by.

use std::collections::BTreeMap;

/// Datagrams without an answer.
pub(crate) const UNANSWERED: &str = "datagrams.unanswered";

/// All shares and rates that the movement of counters within this time shows.
pub(super) fn all(values: &BTreeMap<String, f64>, seconds: f64) -> Vec<(String, f64)> {
    let mut all = of_cpus(values);
    all.extend(of_disks(values, 1e6 * seconds));
    all.extend(unanswered(values, seconds));
    all
}

/// States of the CPUs that add up to their time (proc_stat(5)); guests are a part of `user` and `nice`.
pub(crate) const STATES: [&str; 8] = ["user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal"];

/// Where the time of all CPUs went, in per cent.
pub(crate) fn of_cpus(values: &BTreeMap<String, f64>) -> Vec<(String, f64)> {
    let of = |state: &str| values.get(&format!("machine.stat.cpu.{state}")).copied();
    let all: f64 = STATES.iter().filter_map(|state| of(state)).sum();
    if all <= 0.0 {
        return Vec::new();
    }
    let share = |state: &&str| Some((format!("cpu.all.{state}_share"), 100.0 * of(state)? / all));
    STATES.iter().filter_map(share).collect()
}

/// Datagrams that were sent beyond those that came, in each second.
pub(crate) fn unanswered(values: &BTreeMap<String, f64>, seconds: f64) -> Option<(String, f64)> {
    let sent = values.get("snmp.Udp.OutDatagrams")?;
    let came = values.get("snmp.Udp.InDatagrams").copied().unwrap_or(0.0);
    Some((UNANSWERED.to_owned(), (sent - came).max(0.0) / seconds))
}

/// How busy each disk was, in per cent, and how long its requests took, in ms.
pub(crate) fn of_disks(values: &BTreeMap<String, f64>, us: f64) -> Vec<(String, f64)> {
    let mut found = Vec::new();
    for (name, busy) in values {
        let disk = name.strip_prefix("machine.diskstats.").and_then(|rest| rest.strip_suffix(".busy"));
        let Some(disk) = disk else { continue };
        let of =
            |field: &str| values.get(&format!("machine.diskstats.{disk}.{field}")).copied().unwrap_or(0.0);
        let requests = of("reads") + of("writes");
        found.push((format!("disk.{disk}.busy_share"), (100.0 * busy / us).min(100.0)));
        if requests > 0.0 {
            let ms = (of("read_time") + of("write_time")) / requests / 1e3;
            found.push((format!("disk.{disk}.request_ms"), ms));
        }
    }
    found
}
