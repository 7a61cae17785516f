//! Names of series, including those of `plimsoll watch`.

use std::path::Path;

use super::Monitored;

/// Unit of a series of `plimsoll watch`; empty for others.
pub(super) fn unit(name: &str) -> &'static str {
    if name.starts_with("free.") || name == "memory.available" { "bytes" } else { "" }
}

/// Series of a column of a file that collectd or RRDtool named: `df-root/df_complex-free-2026-11-28`, `load.xml`.
pub(super) fn of_file(path: &Path, column: &str, points: Vec<(u64, f64)>) -> Monitored {
    let part = |part: Option<&std::ffi::OsStr>| part.unwrap_or_default().to_string_lossy().into_owned();
    let folder = part(path.parent().and_then(Path::file_name));
    let file = part(path.file_stem());
    let kind = undated(&file);
    if let (Some(mounted), "df_complex-free") = (folder.strip_prefix("df-"), kind) {
        let mounted = if mounted == "root" { String::new() } else { mounted.replace('-', "/") };
        return Monitored { name: format!("free./{mounted}"), unit: "bytes", points };
    }
    if let ("cpu", "percent-idle") = (folder.as_str(), kind) {
        let busy = points.into_iter().map(|(at, idle)| (at, 1.0 - idle / 100.0));
        return Monitored { name: "cpu.busy".to_owned(), unit: "share", points: busy.collect() };
    }
    let name =
        [folder.as_str(), kind].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("/");
    let name = if column == "value" { name } else { format!("{name}.{column}") };
    Monitored { name, unit: "", points }
}

/// The name of a file without the day that collectd adds.
fn undated(file: &str) -> &str {
    let is_date = |end: &str| {
        end.len() == 11
            && end.bytes().enumerate().all(|(at, byte)| match at {
                0 | 5 | 8 => byte == b'-',
                _ => byte.is_ascii_digit(),
            })
    };
    match file.len().checked_sub(11).and_then(|at| file.split_at_checked(at)) {
        Some((kind, end)) if is_date(end) => kind,
        _ => file,
    }
}

/// Series of a column of sysstat's, with what its value is multiplied by; a label is that of its line. Nothing for columns that `plimsoll watch` does not keep.
pub(super) fn of_sysstat(label: &str, column: &str) -> Option<(String, &'static str, f64)> {
    let plain = |name: &str, unit, times| Some((name.to_owned(), unit, times));
    match column {
        "kbavail" => plain("memory.available", "bytes", 1024.0),
        "runq-sz" => plain("tasks.runnable", "", 1.0),
        "blocked" => plain("tasks.blocked", "", 1.0),
        "MBfsfree" => plain(&format!("free.{label}"), "bytes", 1_048_576.0),
        "rxkB/s" => plain(&format!("net.{label}.received"), "bytes/s", 1024.0),
        "txkB/s" => plain(&format!("net.{label}.sent"), "bytes/s", 1024.0),
        "%util" => plain(&format!("disk.{label}.busy"), "share", 0.01),
        "rkB/s" => plain(&format!("disk.{label}.read"), "bytes/s", 1024.0),
        "wkB/s" => plain(&format!("disk.{label}.written"), "bytes/s", 1024.0),
        _ => None,
    }
}
