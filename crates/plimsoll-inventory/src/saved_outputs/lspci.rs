//! `lspci`, with `-v`, `-vv`, `-n`, `-nn` or `-k`: devices by slot, their drivers and links.

use super::known::Facts;
use super::{Reader, leading, pair};

#[derive(Default)]
pub(super) struct Lspci {
    slot: Option<String>,
    most: Option<(f64, u64)>,
}

impl Reader for Lspci {
    fn begins(line: &str) -> bool {
        device(line).is_some()
    }

    fn line(&mut self, line: &str, known: &mut Facts) -> bool {
        if let Some((slot, class, name)) = device(line) {
            known.set(&["pci", &slot, "class"], class);
            known.set(&["pci", &slot, "name"], name);
            (self.slot, self.most) = (Some(slot), None);
            return true;
        }
        let (Some(slot), Some((key, value))) = (&self.slot, pair(line)) else { return false };
        match key {
            "Kernel driver in use" => known.set(&["pci", slot, "driver"], value),
            "LnkCap" => {
                self.most = link(value);
                self.most.is_some()
            }
            "LnkSta" => match (link(value), self.most) {
                (Some(now), Some(most)) => {
                    known.link(slot, now, most);
                    true
                }
                _ => false,
            },
            _ => false,
        }
    }
}

/// `00:1f.2 SATA controller: Intel Corporation ... (rev 05)` as the slot with its domain, the class, and the name.
fn device(line: &str) -> Option<(String, &str, &str)> {
    let (slot, rest) = line.split_once(' ')?;
    let parts: Vec<&str> = slot.split([':', '.']).collect();
    let hexadecimal =
        |text: &&str, length| text.len() == length && text.bytes().all(|c| c.is_ascii_hexdigit());
    let (domain, address) = match parts.as_slice() {
        [bus, device, function] => ("0000", [bus, device, function]),
        [domain, bus, device, function] if hexadecimal(domain, 4) => (*domain, [bus, device, function]),
        _ => return None,
    };
    let [bus, device, function] = address;
    if !(hexadecimal(bus, 2) && hexadecimal(device, 2) && hexadecimal(function, 1) && slot.contains('.')) {
        return None;
    }
    let (class, name) = rest.split_once(": ")?;
    // `-nn` puts numbers behind the names.
    let class = class.split_once(" [").map_or(class, |(class, _)| class);
    let name = name.split_once(" (rev ").map_or(name, |(name, _)| name);
    let name = name.split_once(" (prog-if ").map_or(name, |(name, _)| name);
    Some((format!("{domain}:{bus}:{device}.{function}"), class.trim(), name.trim()))
}

/// `Port #0, Speed 8GT/s (ok), Width x8 (downgraded), ASPM ...` as giga-transfers and lanes.
fn link(text: &str) -> Option<(f64, u64)> {
    let after = |word: &str| text.split(',').find_map(|part| part.trim().strip_prefix(word)).map(str::trim);
    let speed = leading(after("Speed ")?).filter(|&speed| speed > 0.0)?;
    let width = leading(after("Width x")?).filter(|width| (1.0..=64.0).contains(width))? as u64;
    Some((speed, width))
}
