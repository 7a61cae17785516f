//! Increases of the processes on the worse side: waits, failed calls, requests to block devices, CPU time.

use plimsoll_model::report::{ProfileReport, WaitFor, Who};

use crate::findings::Sides;
use crate::number::{figure, percent};
use crate::section::{Row, Section, columns, left, right};

/// The microseconds from which on a time is shown in milliseconds.
const LONG_US: f64 = 1000.0;
const MIB: f64 = 1024.0 * 1024.0;

/// A section for each kind of which something was seen.
pub(crate) fn sections(sides: Sides<'_>, found: Option<&ProfileReport>) -> Vec<Section> {
    let Some(found) = found else { return Vec::new() };
    [
        waits(sides, found),
        failures(sides, found),
        block_io(sides, found),
        cpu_use(sides, found),
        throttling(sides, found),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn waits((_, before, after): Sides<'_>, found: &ProfileReport) -> Option<Section> {
    let columns = columns![
        left "process", left "waits in", left "for" => 1, right before, right after,
        right "threads there" => 2,
    ];
    let rows = found.waits.iter().map(|wait| {
        Row::of([
            who(&wait.who),
            wait.site.title(),
            wait_for(wait.wait_for).to_owned(),
            time(wait.before_us),
            time(wait.after_us),
            format!("{} → {}", figure(wait.before_threads), figure(wait.after_threads)),
        ])
    });
    let title = "Where threads waited longer";
    let unit = format!("Time for each {}, over all threads of the process.", found.per);
    (!found.waits.is_empty()).then(|| Section::new(title).say(unit).table(columns, rows))
}

fn failures((_, before, after): Sides<'_>, found: &ProfileReport) -> Option<Section> {
    let columns = [left("process"), left("call"), left("error"), right(before), right(after)];
    let rows = found.failures.iter().map(|failed| {
        Row::of([
            who(&failed.who),
            failed.call.clone(),
            failed.error.clone(),
            format!("{}/s", figure(failed.before_per_s)),
            format!("{}/s", figure(failed.after_per_s)),
        ])
    });
    let section = Section::new("System calls that failed more often").table(columns, rows);
    (!found.failures.is_empty()).then_some(section)
}

fn block_io((_, before, after): Sides<'_>, found: &ProfileReport) -> Option<Section> {
    let columns =
        [left("process"), left("device"), left("does"), right(before), right(after), right("requests/s")];
    let rows = found.block_io.iter().map(|io| {
        Row::of([
            who(&io.who),
            io.device.clone(),
            if io.writes { "writes" } else { "reads" }.to_owned(),
            format!("{} MiB/s", figure(io.before_bytes_per_s / MIB)),
            format!("{} MiB/s", figure(io.after_bytes_per_s / MIB)),
            format!("{} → {}", figure(io.before_per_s), figure(io.after_per_s)),
        ])
    });
    let section = Section::new("Who asked more of block devices").table(columns, rows);
    (!found.block_io.is_empty()).then_some(section)
}

fn cpu_use((_, before, after): Sides<'_>, found: &ProfileReport) -> Option<Section> {
    let columns = [left("process"), right(before), right(after)];
    let rows = found.cpu_use.iter().map(|used| {
        Row::of([
            who(&used.who),
            format!("{} CPUs", figure(used.before_cpus)),
            format!("{} CPUs", figure(used.after_cpus)),
        ])
    });
    let section = Section::new("Who used more of the CPUs").table(columns, rows);
    (!found.cpu_use.is_empty()).then_some(section)
}

fn throttling((_, before, after): Sides<'_>, found: &ProfileReport) -> Option<Section> {
    let columns =
        [left("host"), left("control group"), right(before), right(after), right("stopped").expendable(1)];
    let rows = found.throttling.iter().map(|group| {
        Row::of([
            group.host.clone(),
            group.group.clone(),
            format!("{} % of its periods", percent(group.before_share)),
            format!("{} % of its periods", percent(group.after_share)),
            format!("{} → {}", time(group.before_us), time(group.after_us)),
        ])
    });
    let section = Section::new("Control groups that their quota of CPU time stopped").table(columns, rows);
    (!found.throttling.is_empty()).then_some(section)
}

fn who(who: &Who) -> String {
    format!("{}/{}", who.owner, who.process)
}

fn wait_for(wait_for: WaitFor) -> &'static str {
    match wait_for {
        WaitFor::Cpu => "a CPU",
        WaitFor::Disk => "a disk",
        WaitFor::Lock => "a lock",
        WaitFor::Memory => "memory",
        WaitFor::SendBuffer => "room to send",
        WaitFor::Pipe => "room in a pipe",
        WaitFor::Connection => "a connection",
        WaitFor::Datagram => "a datagram",
        WaitFor::Stopped => "whatever stopped it",
        WaitFor::Timer => "a time to pass",
        WaitFor::Other => "",
    }
}

fn time(us: f64) -> String {
    if us >= LONG_US { format!("{} ms", figure(us / 1000.0)) } else { format!("{} µs", figure(us)) }
}
