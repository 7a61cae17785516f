//! `smartctl -a -j`: a disk and its health. Field names are those of smartmontools 7.

use serde_json::Value;

use super::known::Facts;
use super::leading;

/// How many fields were taken.
pub(super) fn read(document: &Value, known: &mut Facts) -> usize {
    let name = document.pointer("/device/name").and_then(Value::as_str).unwrap_or("disk");
    let disk = name.strip_prefix("/dev/").unwrap_or(name);
    let text = |path: &str| document.pointer(path).and_then(Value::as_str).map(str::to_owned);
    let number = |path: &str| document.pointer(path).and_then(Value::as_u64);
    let gbps = |path: &str| {
        let text = document.pointer(path)?.as_str()?;
        Some((leading(text.strip_suffix("Gb/s")?.trim())? * 1000.0).round() as u64)
    };
    let used = number("/nvme_smart_health_information_log/percentage_used").map(|share| format!("{share} %"));
    let errors = number("/ata_smart_error_log/summary/count")
        .or_else(|| number("/nvme_smart_health_information_log/media_errors"));
    [
        known.set_some(&["disks", disk, "model"], text("/model_name")),
        known.set_some(&["disks", disk, "firmware"], text("/firmware_version")),
        known.set_some(&["disks", disk, "size"], number("/user_capacity/bytes")),
        known.set_some(&["disks", disk, "logical_block"], number("/logical_block_size")),
        known.set_some(&["disks", disk, "physical_block"], number("/physical_block_size")),
        known.set_some(&["disks", disk, "rotational"], number("/rotation_rate").map(|rate| rate > 0)),
        known.set_some(&["disks", disk, "link", "speed"], gbps("/interface_speed/current/string")),
        known.set_some(&["disks", disk, "link", "max_speed"], gbps("/interface_speed/max/string")),
        known.set_some(
            &["disks", disk, "health", "passed"],
            document.pointer("/smart_status/passed").and_then(Value::as_bool),
        ),
        known.set_some(&["disks", disk, "health", "powered_hours"], number("/power_on_time/hours")),
        known.set_some(&["disks", disk, "health", "errors"], errors),
        known.set_some(&["disks", disk, "health", "life_used"], used),
    ]
    .into_iter()
    .filter(|&taken| taken)
    .count()
}
