//! `hdparm -I`: what a SATA or IDE disk says of itself (ATA command set, IDENTIFY DEVICE).

use super::known::Facts;
use super::{Reader, leading, pair};

#[derive(Default)]
pub(super) struct Hdparm {
    disk: Option<String>,
    sectors: Option<u64>,
    sector: Option<u64>,
    link: Option<u64>,
}

impl Reader for Hdparm {
    fn begins(line: &str) -> bool {
        disk(line).is_some()
            || line.starts_with("ATA device, with ")
            || line.starts_with("ATAPI ") && line.contains(", with ")
    }

    fn line(&mut self, line: &str, known: &mut Facts) -> bool {
        if let Some(name) = disk(line) {
            self.close(known);
            self.disk = Some(name.to_owned());
            return true;
        }
        // `hdparm --Istdin` names no device.
        let disk = self.disk.get_or_insert_with(|| "disk".to_owned()).clone();
        let at = |field: &'static str| [String::from("disks"), disk.clone(), field.to_owned()];
        let mut set = |field, value: serde_json::Value| {
            let path = at(field);
            known.set(&path.each_ref().map(String::as_str), value)
        };
        match line {
            "*    Write cache" | "*\tWrite cache" => return set("write_cache", "write back".into()),
            "Write cache" => return set("write_cache", "write through".into()),
            _ => {}
        }
        if let Some(text) = line.strip_prefix('*').filter(|text| text.contains("signaling speed (")) {
            let speed = text.split_once('(').and_then(|(_, speed)| leading(speed));
            self.link = self.link.max(speed.map(|gbps| (gbps * 1000.0).round() as u64));
            return speed.is_some();
        }
        let Some((key, value)) = pair(line) else { return false };
        match key.split_ascii_whitespace().collect::<Vec<_>>().join(" ").as_str() {
            "Model Number" => set("model", value.into()),
            "Firmware Revision" => set("firmware", value.into()),
            "Nominal Media Rotation Rate" => set("rotational", (value != "Solid State Device").into()),
            "Queue depth" => value.parse::<u64>().is_ok_and(|depth| set("queue_depth", depth.into())),
            "DMA" => {
                let chosen = value.split_ascii_whitespace().find_map(|mode| mode.strip_prefix('*'));
                chosen.is_some_and(|mode| set("transfer_mode", mode.into()))
            }
            "LBA48 user addressable sectors" => number(&mut self.sectors, value),
            "LBA user addressable sectors" if self.sectors.is_none() => number(&mut self.sectors, value),
            "Logical Sector size" | "Logical/Physical Sector size" => number(&mut self.sector, value),
            "Physical Sector size" => {
                leading(value).is_some_and(|size| set("physical_block", (size as u64).into()))
            }
            _ => false,
        }
    }

    fn end(mut self, known: &mut Facts) {
        self.close(known);
    }
}

impl Hdparm {
    fn close(&mut self, known: &mut Facts) {
        let sector = self.sector.take();
        let size = self.sectors.take().and_then(|sectors| sectors.checked_mul(sector.unwrap_or(512)));
        let link = self.link.take();
        if let Some(disk) = &self.disk {
            known.set_some(&["disks", disk, "size"], size);
            known.set_some(&["disks", disk, "logical_block"], sector);
            known.set_some(&["disks", disk, "link", "max_speed"], link);
        }
    }
}

/// `/dev/sda:`
fn disk(line: &str) -> Option<&str> {
    let name = line.strip_prefix("/dev/")?.strip_suffix(':')?;
    (!name.is_empty() && name.bytes().all(|c| c.is_ascii_alphanumeric())).then_some(name)
}

fn number(into: &mut Option<u64>, value: &str) -> bool {
    let Some(number) = leading(value) else { return false };
    *into = Some(number as u64);
    true
}
