//! Block devices: what they are, how they are set, and whether their link is as fast as it could be.

use std::collections::BTreeMap;
use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::memory::chosen;
use super::pcie::{self, PcieLink};
use super::tree::Tree;

/// A block device.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Disk {
    /// The model's name, with the maker's where that is separate.
    pub model: Option<String>,
    /// Revision of the firmware.
    pub firmware: Option<String>,
    /// Its size, in bytes.
    pub size: u64,
    /// Whether it has turning platters, according to the kernel: virtual disks often claim so and have none.
    pub rotational: Option<bool>,
    /// The I/O scheduler.
    pub scheduler: Option<String>,
    /// `write back` where it has a volatile cache that is in use, else `write through`.
    pub write_cache: Option<String>,
    /// Transfer mode in the words of its source (`udma6`, `UDMA(100)`); only from saved outputs.
    pub transfer_mode: Option<String>,
    /// Commands that the device takes at once.
    pub queue_depth: Option<u64>,
    /// Requests that the kernel keeps for each queue.
    pub requests: Option<u64>,
    /// Hardware queues.
    pub queues: Option<u64>,
    /// Read ahead of a sequential reader, in bytes.
    pub read_ahead: Option<u64>,
    /// Bytes of its smallest addressable block.
    pub logical_block: Option<u64>,
    /// Bytes of the smallest block that it writes without reading.
    pub physical_block: Option<u64>,
    /// Its health report, as far as the kernel shows that without asking the device.
    #[serde(default, skip_serializing_if = "Health::is_unknown")]
    pub health: Health,
    /// Its SATA link.
    pub link: Option<DiskLink>,
    /// The PCI Express link of the controller that it sits on.
    pub pcie: Option<PcieLink>,
}

/// Health of a block device, as it reports it.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Health {
    /// Commands that failed since it was found (`ioerr_cnt` of SCSI and SATA devices).
    pub errors: Option<u64>,
    /// Commands that took too long since it was found (`iotmo_cnt`).
    pub timeouts: Option<u64>,
    /// How much of its life is used up, as the device puts it: eMMC's estimates for its two kinds of cells (`life_time`).
    pub life_used: Option<String>,
    /// Whether it thinks itself healthy (SMART); only from saved outputs.
    pub passed: Option<bool>,
    /// How long it was powered, in hours (SMART); only from saved outputs.
    pub powered_hours: Option<u64>,
}

impl Health {
    /// Whether nothing is known.
    fn is_unknown(&self) -> bool {
        *self == Self::default()
    }
}

/// A counter of a SCSI device: `0x1a`.
fn hexadecimal(text: &str) -> Option<u64> {
    u64::from_str_radix(text.trim().strip_prefix("0x")?, 16).ok()
}

/// A SATA link.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DiskLink {
    /// Negotiated speed in Mbit/s.
    pub speed: u64,
    /// Capability of the port, in Mbit/s; absent where it has no limit set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_speed: Option<u64>,
}

const BLOCK: &str = "sys/block";
const SECTOR: u64 = 512;

pub(super) fn read(tree: &Tree<'_>) -> BTreeMap<String, Disk> {
    let names = tree.names(BLOCK).into_iter();
    names
        .map(|name| (disk(tree, &Path::new(BLOCK).join(&name)), name))
        .filter(|(disk, _)| disk.size > 0)
        .map(|(disk, name)| (name, disk))
        .collect()
}

fn disk(tree: &Tree<'_>, directory: &Path) -> Disk {
    let queue = directory.join("queue");
    let device = directory.join("device");
    let place = tree.resolved(&device).unwrap_or_default();
    let (vendor, model) = (tree.text(device.join("vendor")), tree.text(device.join("model")));
    Disk {
        // The maker of a virtio device is a number, and that of a SATA disk always "ATA".
        model: match vendor.filter(|vendor| vendor != "ATA" && !vendor.starts_with("0x")) {
            Some(vendor) => model.map(|model| format!("{vendor} {model}")),
            None => model,
        },
        firmware: tree.text(device.join("firmware_rev")).or_else(|| tree.text(device.join("rev"))),
        size: tree.value::<u64>(directory.join("size")).unwrap_or(0).saturating_mul(SECTOR),
        rotational: tree.flag(queue.join("rotational")),
        scheduler: tree.text(queue.join("scheduler")).map(|text| chosen(&text).unwrap_or(text)),
        write_cache: tree.text(queue.join("write_cache")),
        transfer_mode: None,
        queue_depth: tree.value(device.join("queue_depth")),
        requests: tree.value(queue.join("nr_requests")),
        queues: Some(tree.names(directory.join("mq")).len() as u64).filter(|&count| count > 0),
        read_ahead: tree.value::<u64>(queue.join("read_ahead_kb")).map(|kib| kib.saturating_mul(1024)),
        logical_block: tree.value(queue.join("logical_block_size")),
        physical_block: tree.value(queue.join("physical_block_size")),
        health: Health {
            errors: tree.text(device.join("ioerr_cnt")).and_then(|text| hexadecimal(&text)),
            timeouts: tree.text(device.join("iotmo_cnt")).and_then(|text| hexadecimal(&text)),
            life_used: tree.text(device.join("life_time")),
            ..Health::default()
        },
        link: place.ancestors().find_map(|directory| sata_link(tree, directory)),
        pcie: place.ancestors().find_map(|directory| pcie::read(tree, directory)),
    }
}

/// The link of an ATA port's directory: `ata1/link1/ata_link/link1` (Documentation/ABI/testing/sysfs-ata).
fn sata_link(tree: &Tree<'_>, port: &Path) -> Option<DiskLink> {
    port.file_name()?.to_str()?.strip_prefix("ata")?.parse::<u32>().ok()?;
    let link = tree.names(port).into_iter().find(|name| name.starts_with("link"))?;
    let directory = port.join(&link).join("ata_link").join(&link);
    let speed = |file: &str| parse_gbps(&tree.text(directory.join(file))?);
    Some(DiskLink { speed: speed("sata_spd")?, max_speed: speed("hw_sata_spd_limit") })
}

/// `6.0 Gbps` as Mbit/s; `<unknown>` as nothing.
fn parse_gbps(text: &str) -> Option<u64> {
    let gbps: f64 = text.strip_suffix("Gbps")?.trim().parse().ok()?;
    (0.0..1e6).contains(&gbps).then(|| (gbps * 1000.0).round() as u64)
}
