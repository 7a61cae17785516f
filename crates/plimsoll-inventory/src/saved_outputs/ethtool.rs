//! `ethtool DEVICE`, `ethtool -k DEVICE` and `ethtool -i DEVICE`: a network card's link, offloads and driver.

use super::known::Facts;
use super::{Reader, leading, pair};

#[derive(Default)]
pub(super) struct Ethtool {
    card: Option<String>,
    driver: Option<String>,
    firmware: Option<String>,
}

/// The names of offloads in an inventory, by those of ethtool.
const OFFLOADS: [(&str, &str); 7] = [
    ("rx-checksumming", "rx"),
    ("tx-checksumming", "tx"),
    ("scatter-gather", "sg"),
    ("tcp-segmentation-offload", "tso"),
    ("generic-segmentation-offload", "gso"),
    ("generic-receive-offload", "gro"),
    ("large-receive-offload", "lro"),
];

impl Reader for Ethtool {
    fn begins(line: &str) -> bool {
        card(line).is_some() || line.starts_with("driver: ")
    }

    fn line(&mut self, line: &str, known: &mut Facts) -> bool {
        if let Some(name) = card(line) {
            self.card = Some(name.to_owned());
            return true;
        }
        let Some((key, value)) = pair(line) else { return false };
        // `-i` does not say which card it is of, but where that sits.
        match key {
            "driver" => {
                self.driver = Some(value.to_owned());
                return true;
            }
            "firmware-version" => {
                self.firmware = Some(value.to_owned()).filter(|text| !text.is_empty());
                return true;
            }
            "bus-info" => {
                let driver = self.driver.take();
                let firmware = self.firmware.take();
                return value.contains(':')
                    && known.set_some(&["pci", value, "driver"], driver)
                        | known.set_some(&["pci", value, "firmware"], firmware);
            }
            _ => {}
        }
        let Some(card) = &self.card else { return false };
        if let Some((_, name)) = OFFLOADS.iter().find(|(long, _)| *long == key) {
            return known.set(&["networks", card, "offloads", name], value.starts_with("on"));
        }
        match key {
            // Mbit/s; "Unknown!" where there is no link.
            "Speed" => {
                let speed = value.strip_suffix("Mb/s").and_then(leading);
                known.set_some(&["networks", card, "speed"], speed.map(|speed| speed as u64))
            }
            "Duplex" if !value.starts_with("Unknown") => {
                known.set(&["networks", card, "duplex"], value.to_ascii_lowercase())
            }
            "Link detected" => {
                known.set(&["networks", card, "state"], if value.starts_with("yes") { "up" } else { "down" })
            }
            _ => false,
        }
    }
}

/// `Settings for eth0:`, or `Features for eth0:`
fn card(line: &str) -> Option<&str> {
    let name = line.strip_prefix("Settings for ").or_else(|| line.strip_prefix("Features for "))?;
    name.strip_suffix(':')
}
