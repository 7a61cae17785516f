//! PCI devices: in which slot, of which kind, with which driver, and how fast their link is.

use std::collections::BTreeMap;
use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::pcie::{self, PcieLink};
use super::tree::Tree;

/// A PCI device.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PciDevice {
    /// Kind of the device: `Ethernet controller`.
    pub class: Option<String>,
    /// Its maker and name, or their numbers (`8086:10d3`) where the machine has no list of names.
    pub name: Option<String>,
    /// The kernel's driver that has it.
    pub driver: Option<String>,
    /// The version of its firmware, where the driver reports one.
    pub firmware: Option<String>,
    /// Its PCI Express link.
    pub link: Option<PcieLink>,
}

const DEVICES: &str = "sys/bus/pci/devices";
/// Where the list of names is kept: Debian's package pci.ids, and that of Fedora and others.
const NAMES: [&str; 2] = ["usr/share/misc/pci.ids", "usr/share/hwdata/pci.ids"];

pub(super) fn read(tree: &Tree<'_>) -> BTreeMap<String, PciDevice> {
    let slots = tree.names(DEVICES);
    if slots.is_empty() {
        return BTreeMap::new();
    }
    let list = NAMES.iter().find_map(|path| tree.bytes(path).ok()).unwrap_or_default();
    let list = String::from_utf8_lossy(&list);
    let names = Names::read(&list);
    slots
        .into_iter()
        .map(|slot| (slot.clone(), device(tree, &Path::new(DEVICES).join(slot), &names)))
        .collect()
}

fn device(tree: &Tree<'_>, directory: &Path, names: &Names<'_>) -> PciDevice {
    let number = |file: &str| {
        let text = tree.text(directory.join(file))?;
        u32::from_str_radix(text.strip_prefix("0x")?, 16).ok()
    };
    let ids = number("vendor").zip(number("device"));
    PciDevice {
        class: number("class").map(|class| names.class(class)),
        name: ids.map(|(vendor, device)| names.device(vendor, device)),
        driver: tree.link_name(directory.join("driver")),
        firmware: None,
        link: pcie::read(tree, directory),
    }
}

/// The names of makers, devices and classes by number (pci.ids).
#[derive(Debug, Default)]
struct Names<'t> {
    makers: BTreeMap<u32, &'t str>,
    devices: BTreeMap<(u32, u32), &'t str>,
    classes: BTreeMap<u32, &'t str>,
}

impl<'t> Names<'t> {
    /// Makers and classes begin a line, what belongs to them has a tab before it; two tabs are subsystems, and of no use here.
    fn read(list: &'t str) -> Self {
        #[derive(Clone, Copy)]
        enum Above {
            Nothing,
            Maker(u32),
            Class(u32),
        }
        let split = |text: &'t str| {
            let (number, name) = text.split_once("  ")?;
            Some((u32::from_str_radix(number, 16).ok()?, name.trim()))
        };
        let mut names = Self::default();
        let mut above = Above::Nothing;
        for line in list.lines().filter(|line| !line.starts_with('#')) {
            if let Some(inner) = line.strip_prefix('\t') {
                let Some((number, name)) = (!inner.starts_with('\t')).then(|| split(inner)).flatten() else {
                    continue;
                };
                match above {
                    Above::Maker(maker) => _ = names.devices.insert((maker, number), name),
                    Above::Class(class) => _ = names.classes.insert(class << 8 | number, name),
                    Above::Nothing => {}
                }
            } else if let Some((class, _)) = line.strip_prefix("C ").and_then(split) {
                above = Above::Class(class);
            } else if let Some((maker, name)) = split(line) {
                names.makers.insert(maker, name);
                above = Above::Maker(maker);
            } else {
                above = Above::Nothing;
            }
        }
        names
    }

    fn device(&self, maker: u32, device: u32) -> String {
        match (self.makers.get(&maker), self.devices.get(&(maker, device))) {
            (Some(maker), Some(device)) => format!("{maker} {device}"),
            (Some(maker), None) => format!("{maker} {device:04x}"),
            (None, _) => format!("{maker:04x}:{device:04x}"),
        }
    }

    /// The number of a class has three bytes, of which the last is the programming interface.
    fn class(&self, class: u32) -> String {
        let class = class >> 8;
        self.classes.get(&class).map_or_else(|| format!("{class:04x}"), |&name| name.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = "# a comment\n8086  Intel Corporation\n\t10d3  82574L Gigabit Network Connection\n\t\t8086 a01f  Gigabit CT\n\nC 02  Network controller\n\t00  Ethernet controller\n\t\t01  with an interface\n";

    #[test]
    fn devices_have_their_names_or_their_numbers() {
        let names = Names::read(LIST);
        assert_eq!(names.device(0x8086, 0x10d3), "Intel Corporation 82574L Gigabit Network Connection");
        assert_eq!(names.device(0x8086, 0x1), "Intel Corporation 0001");
        assert_eq!(names.device(0x1af4, 0x1000), "1af4:1000");
        assert_eq!(
            (names.class(0x02_0000), names.class(0x01_0601)),
            ("Ethernet controller".to_owned(), "0106".to_owned())
        );
    }

    #[test]
    fn slots_are_read_from_sysfs() {
        let root = tempfile::tempdir().expect("a folder");
        let device = root.path().join(DEVICES).join("0000:03:00.0");
        std::fs::create_dir_all(&device).expect("a device");
        std::fs::create_dir_all(root.path().join("usr/share/misc")).expect("a folder");
        std::fs::write(root.path().join(NAMES[0]), LIST).expect("the list of names");
        for (file, text) in [
            ("vendor", "0x8086\n"),
            ("device", "0x10d3\n"),
            ("class", "0x020000\n"),
            ("current_link_speed", "2.5 GT/s PCIe\n"),
            ("max_link_speed", "2.5 GT/s PCIe\n"),
            ("current_link_width", "1\n"),
            ("max_link_width", "1\n"),
        ] {
            std::fs::write(device.join(file), text).expect("a file");
        }
        let found = read(&Tree::new(root.path()));
        let card = &found["0000:03:00.0"];
        assert_eq!(card.class.as_deref(), Some("Ethernet controller"));
        assert_eq!(card.link.as_ref().map(|link| (link.capacity, link.full)), Some((2000.0, true)));
    }
}
