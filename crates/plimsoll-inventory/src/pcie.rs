//! Rate of a PCI Express link, against its largest.

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::tree::Tree;

/// A PCI Express link.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PcieLink {
    /// Giga-transfers a second and lane, now.
    pub speed: f64,
    /// Lanes, now.
    pub width: u64,
    /// Giga-transfers a second and lane that the device is capable of.
    pub max_speed: f64,
    /// Lanes that the device is capable of.
    pub max_width: u64,
    /// Rate of the link each way, in Mbit/s after line coding, before packet headers.
    pub capacity: f64,
    /// Whether it runs at what the device is capable of.
    pub full: bool,
}

/// The link of the PCI device at a directory of sysfs; `None` for any other device.
pub(super) fn read(tree: &Tree<'_>, device: &Path) -> Option<PcieLink> {
    let speed = |file: &str| parse_speed(&tree.text(device.join(file))?);
    let width = |file: &str| tree.value::<u64>(device.join(file)).filter(|width| (1..=64).contains(width));
    let (speed, max_speed) = (speed("current_link_speed")?, speed("max_link_speed")?);
    let (width, max_width) = (width("current_link_width")?, width("max_link_width")?);
    Some(PcieLink::new((speed, width), (max_speed, max_width)))
}

impl PcieLink {
    /// A link of this speed and width, of a device that is capable of the other.
    pub(super) fn new((speed, width): (f64, u64), (max_speed, max_width): (f64, u64)) -> Self {
        let capacity = speed * 1000.0 * width as f64 * coding(speed);
        let full = speed >= max_speed && width >= max_width;
        Self { speed, width, max_speed, max_width, capacity, full }
    }
}

/// `8.0 GT/s PCIe`, before Linux 5.8 `8 GT/s`.
fn parse_speed(text: &str) -> Option<f64> {
    let speed = text.split_ascii_whitespace().next()?.parse::<f64>().ok()?;
    (speed.is_finite() && speed > 0.0).then_some(speed)
}

/// Share of the transfers that are data: 8b/10b for the first two generations, 128b/130b for the next three, and from 64 GT/s flits of
/// 242 bytes in 256 (PCI Express Base Specification).
fn coding(speed: f64) -> f64 {
    match speed {
        ..=5.0 => 0.8,
        ..=32.0 => 128.0 / 130.0,
        _ => 242.0 / 256.0,
    }
}
