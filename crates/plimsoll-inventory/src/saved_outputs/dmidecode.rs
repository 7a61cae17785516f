//! `dmidecode`: board, firmware, processors and memory modules.

use super::super::dmi::Dimm;
use super::known::Facts;
use super::{Reader, leading, pair, size};

#[derive(Default)]
pub(super) struct Dmidecode {
    kind: Option<Kind>,
    dimm: Option<Dimm>,
    sockets: u64,
    cores: u64,
    threads: u64,
}

/// The structures that are read, by their titles.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Firmware,
    System,
    Board,
    Processor,
    Memory,
}

impl Reader for Dmidecode {
    fn begins(line: &str) -> bool {
        line.starts_with("# dmidecode") || (line.starts_with("Handle 0x") && line.contains("DMI type"))
    }

    fn line(&mut self, line: &str, known: &mut Facts) -> bool {
        if line.starts_with("Handle 0x") {
            self.close(known);
            return false;
        }
        let kind = match line {
            "BIOS Information" => Kind::Firmware,
            "System Information" => Kind::System,
            "Base Board Information" => Kind::Board,
            "Processor Information" => Kind::Processor,
            "Memory Device" => Kind::Memory,
            _ => return pair(line).is_some_and(|(key, value)| self.field(key, value, known)),
        };
        self.kind = Some(kind);
        if kind == Kind::Memory {
            self.dimm = Some(Dimm::default());
        }
        true
    }

    fn end(mut self, known: &mut Facts) {
        self.close(known);
        known.set_some(&["cpus", "sockets"], Some(self.sockets).filter(|&count| count > 0));
        known.set_some(&["cpus", "cores"], Some(self.cores).filter(|&count| count > 0));
        if self.cores > 0 && self.threads > 0 {
            known.set(&["cpus", "threads_per_core"], self.threads.div_ceil(self.cores));
            known.set(&["cpus", "count"], self.threads);
        }
    }
}

impl Dmidecode {
    /// An empty slot has no size.
    fn close(&mut self, known: &mut Facts) {
        self.kind = None;
        if let Some(dimm) = self.dimm.take().filter(|dimm| dimm.size > 0) {
            known.dimm(&dimm);
        }
    }

    fn field(&mut self, key: &str, value: &str, known: &mut Facts) -> bool {
        // Texts of vendors in fields that they do not fill.
        const EMPTY: [&str; 7] = [
            "Not Specified",
            "Unknown",
            "None",
            "To Be Filled By O.E.M.",
            "Default string",
            "<OUT OF SPEC>",
            "System Product Name",
        ];
        if value.is_empty() || EMPTY.contains(&value) {
            return false;
        }
        let text = || value.to_owned();
        match (self.kind, key) {
            (Some(Kind::Firmware), "Vendor") => known.set(&["board", "firmware_vendor"], text()),
            (Some(Kind::Firmware), "Version") => known.set(&["board", "firmware_version"], text()),
            (Some(Kind::Firmware), "Release Date") => known.set(&["board", "firmware_date"], text()),
            (Some(Kind::System), "Manufacturer") => known.set(&["virtualization", "vendor"], text()),
            (Some(Kind::System), "Product Name") => known.set(&["virtualization", "product"], text()),
            (Some(Kind::Board), "Manufacturer") => known.set(&["board", "vendor"], text()),
            (Some(Kind::Board), "Product Name") => known.set(&["board", "name"], text()),
            (Some(Kind::Processor), "Version") => known.set(&["cpus", "model"], text()),
            (Some(Kind::Processor), "Status") if value.starts_with("Populated") => {
                self.sockets += 1;
                true
            }
            (Some(Kind::Processor), "Core Count") => add(&mut self.cores, value),
            (Some(Kind::Processor), "Thread Count") => add(&mut self.threads, value),
            (Some(Kind::Memory), _) => self.dimm.as_mut().is_some_and(|dimm| module(dimm, key, value)),
            _ => false,
        }
    }
}

fn add(sum: &mut u64, value: &str) -> bool {
    let Ok(count) = value.parse::<u64>() else { return false };
    *sum = sum.saturating_add(count);
    true
}

fn module(dimm: &mut Dimm, key: &str, value: &str) -> bool {
    // MHz in older versions of dmidecode, MT/s since 3.2; both mean transfers.
    let speed = || leading(value).filter(|&speed| speed >= 1.0).map(|speed| speed as u64);
    match key {
        "Size" => dimm.size = size(value).unwrap_or(0),
        "Locator" => dimm.slot = Some(value.to_owned()),
        "Manufacturer" => dimm.vendor = Some(value.to_owned()),
        "Part Number" => dimm.part = Some(value.to_owned()),
        "Speed" => dimm.speed = speed(),
        "Configured Memory Speed" | "Configured Clock Speed" => dimm.configured_speed = speed(),
        _ => return false,
    }
    true
}
