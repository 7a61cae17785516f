//! The kernel's log, as `dmesg`, `journalctl -k` or syslog wrote it, of any kernel since 2.2: what the machine is, and lines of trouble.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::super::kernel_log::trouble;
use super::known::Facts;
use super::{Reader, leading};

#[derive(Default)]
pub(super) struct Dmesg {
    /// Speed of an ATA port's link in Mbit/s; the port's disk is named later.
    links: BTreeMap<String, u64>,
}

impl Reader for Dmesg {
    fn begins(line: &str) -> bool {
        let (at_us, text) = split(line);
        at_us.is_some() || text.len() < line.len() || text.starts_with("Linux version ")
    }

    fn line(&mut self, line: &str, known: &mut Facts) -> bool {
        let (at_us, text) = split(line);
        let mut taken = false;
        if let Some(trouble) = trouble(text) {
            let mut entry = Map::new();
            if let Some(at_us) = at_us {
                entry.insert("at_us".to_owned(), at_us.into());
            }
            // A kind of trouble is a word in JSON.
            entry.insert("trouble".to_owned(), serde_json::to_value(trouble).unwrap_or_default());
            entry.insert("text".to_owned(), text.into());
            taken = known.push(&["kernel_log"], Value::Object(entry));
        }
        self.machine(text, known)
            || disk(text, known)
            || self.ata(text, known)
            || network(text, known)
            || taken
    }
}

impl Dmesg {
    /// The kernel's lines about itself, the processors and the memory.
    fn machine(&mut self, text: &str, known: &mut Facts) -> bool {
        if let Some(rest) = text.strip_prefix("Linux version ") {
            let release = rest.split(' ').next().unwrap_or(rest);
            known.set_some(&["kernel", "version"], rest.rfind(" #").map(|at| &rest[at + 1..]));
            return known.set(&["kernel", "release"], release);
        }
        if let Some(rest) =
            text.strip_prefix("Command line: ").or_else(|| text.strip_prefix("Kernel command line: "))
        {
            return known.replace(&["kernel", "command_line"], rest.trim());
        }
        // `Memory: 24683704K/25165432K available (...)`, in Linux 2.4 `Memory: 255872k/262080k available (...)`
        if let Some(rest) = text.strip_prefix("Memory: ").filter(|rest| rest.contains("available")) {
            return known
                .set_some(&["memory", "size"], leading(rest).map(|kib| (kib as u64).saturating_mul(1024)));
        }
        if let Some((system, firmware)) =
            text.strip_prefix("DMI: ").and_then(|rest| rest.split_once(", BIOS "))
        {
            if let Some((version, date)) = firmware.rsplit_once(' ') {
                known.set(&["board", "firmware_version"], version);
                known.set(&["board", "firmware_date"], date);
            }
            return known.set(&["virtualization", "product"], system);
        }
        if text.starts_with("Hypervisor detected: ") {
            return known.set(&["virtualization", "hypervisor"], true);
        }
        // `smpboot: CPU0: MODEL (family: ...)`, `CPU0: Intel Pentium III (Coppermine) stepping 03`
        let cpu = text.strip_prefix("smpboot: ").unwrap_or(text);
        if let Some(model) = cpu.strip_prefix("CPU0: ").or_else(|| cpu.strip_prefix("CPU: ")) {
            let end = [" (family:", " stepping ", " (fam:"].iter().find_map(|end| model.find(end));
            return end.is_some_and(|end| known.set(&["cpus", "model"], &model[..end]));
        }
        // `smp: Brought up 1 node, 2 CPUs`, `Total of 2 processors activated (...)`
        let count = text
            .strip_prefix("smp: Brought up ")
            .and_then(|rest| rest.split_once(", "))
            .map(|(_, count)| count)
            .or_else(|| cpu.strip_prefix("Total of "));
        if let Some(count) = count.and_then(leading) {
            return known.set(&["cpus", "count"], count as u64);
        }
        // `tsc: Detected 2596.144 MHz processor`, in Linux 2.4 `Detected 862.190 MHz processor.`
        let detected = text.strip_prefix("tsc: ").unwrap_or(text).strip_prefix("Detected ");
        if let Some(rest) = detected.filter(|rest| rest.contains("MHz processor")) {
            return known.set_some(&["cpus", "nominal_mhz"], leading(rest));
        }
        match text.split_once("clocksource: Switched to clocksource ") {
            Some((_, source)) => known.replace(&["clock", "source"], source.trim()),
            None => false,
        }
    }

    /// `ata1: SATA link up 6.0 Gbps (SStatus 133 SControl 300)`, then `ata1.00: ATA-9: MODEL, FIRMWARE, max UDMA/133`
    fn ata(&mut self, text: &str, known: &mut Facts) -> bool {
        let Some((port, rest)) = text.strip_prefix("ata").and_then(|rest| rest.split_once(": ")) else {
            return false;
        };
        if port.is_empty() || !port.bytes().all(|c| c.is_ascii_digit() || c == b'.') {
            return false;
        }
        if let Some(speed) = rest.strip_prefix("SATA link up ").and_then(leading) {
            self.links.insert(port.to_owned(), (speed * 1000.0).round() as u64);
            return true;
        }
        let Some((_, described)) = rest.split_once(": ").filter(|(kind, _)| kind.starts_with("ATA-")) else {
            return false;
        };
        // The model may have commas in it, what is behind has none.
        let mut parts = described.rsplitn(3, ", ");
        let (mode, firmware, model) = (parts.next(), parts.next(), parts.next());
        let name = format!("ata{port}");
        known.set_some(&["disks", &name, "model"], model);
        known.set_some(&["disks", &name, "firmware"], firmware);
        known.set_some(&["disks", &name, "transfer_mode"], mode.and_then(|mode| mode.strip_prefix("max ")));
        let speed = port.split('.').next().and_then(|port| self.links.get(port));
        known.set_some(&["disks", &name, "link", "speed"], speed.copied());
        model.is_some()
    }
}

/// A disk of SCSI and virtio (`[sda] 500118192 512-byte logical blocks: ...`), or of drivers/ide (`hda: 60036480 sectors (...), UDMA(100)`).
fn disk(text: &str, known: &mut Facts) -> bool {
    if let Some((name, rest)) = text.split_once('[').and_then(|(_, rest)| rest.split_once("] ")) {
        if rest.contains("-byte logical blocks") {
            let mut words = rest.split(' ');
            let (count, block) = (words.next().and_then(leading), words.next().and_then(leading));
            if let (Some(count), Some(block)) = (count, block) {
                known.replace(&["disks", name, "size"], (count as u64).saturating_mul(block as u64));
                return known.replace(&["disks", name, "logical_block"], block as u64);
            }
        }
        if let Some(size) = rest.strip_suffix("-byte physical blocks").and_then(leading) {
            return known.replace(&["disks", name, "physical_block"], size as u64);
        }
        if let Some(cache) = rest.strip_prefix("Write cache: ") {
            let on = if cache.starts_with("enabled") { "write back" } else { "write through" };
            return known.replace(&["disks", name, "write_cache"], on);
        }
        return false;
    }
    let Some((name, rest)) = text.split_once(": ") else { return false };
    if name.len() != 3 || !name.starts_with("hd") {
        return false;
    }
    if let Some(model) = rest.strip_suffix(", ATA DISK drive") {
        return known.set(&["disks", name, "model"], model);
    }
    let Some((sectors, details)) = rest.split_once(" sectors ") else { return false };
    let Ok(sectors) = sectors.parse::<u64>() else { return false };
    let mode = details.rsplit(", ").next().filter(|mode| mode.contains("DMA"));
    known.set_some(&["disks", name, "transfer_mode"], mode);
    known.set(&["disks", name, "size"], sectors.saturating_mul(512))
}

/// `e1000e 0000:00:19.0 eth0: NIC Link is Up 1000 Mbps Full Duplex`, `r8169 0000:01:00.0 eth0: Link is Up - 1Gbps/Full - flow control off`
fn network(text: &str, known: &mut Facts) -> bool {
    let lower = text.to_ascii_lowercase();
    let Some(at) = lower.find("link is ") else { return false };
    let Some(card) = text[..at].trim_end().trim_end_matches("NIC").trim_end().strip_suffix(':') else {
        return false;
    };
    let card = card.rsplit(' ').next().unwrap_or(card);
    let state = &lower[at + "link is ".len()..];
    if state.starts_with("down") {
        return known.replace(&["networks", card, "state"], "down");
    }
    let Some(rest) = state.strip_prefix("up") else { return false };
    let rest = rest.trim_start_matches([' ', '-', ',']);
    let unit = rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.').trim_start();
    let factor = if unit.starts_with("gbps") { 1000.0 } else { 1.0 };
    if let Some(speed) = leading(rest) {
        known.replace(&["networks", card, "speed"], (speed * factor).round() as u64);
    }
    let duplex = ["full", "half"].into_iter().find(|duplex| rest.contains(duplex));
    if let Some(duplex) = duplex {
        known.replace(&["networks", card, "duplex"], duplex);
    }
    known.replace(&["networks", card, "state"], "up")
}

/// Microseconds since the kernel's start, where the line has them, and the message. Before it may stand syslog's date and host up to
/// `kernel:`, a priority in angle brackets, and a time in square ones.
fn split(line: &str) -> (Option<u64>, &str) {
    let line = match line.split_once(" kernel: ") {
        Some((_, rest)) => rest,
        None => line,
    };
    let line = match line.strip_prefix('<').and_then(|rest| rest.split_once('>')) {
        Some((priority, rest)) if priority.bytes().all(|c| c.is_ascii_digit()) => rest,
        _ => line,
    };
    let stamp = line.strip_prefix('[').and_then(|rest| rest.split_once(']'));
    let Some((seconds, rest)) = stamp else { return (None, line) };
    match seconds.trim().split_once('.').map(|(whole, part)| (whole.parse::<u64>(), part)) {
        Some((Ok(whole), part)) if part.len() == 6 => {
            let micros =
                part.parse::<u64>().ok().and_then(|part| whole.checked_mul(1_000_000)?.checked_add(part));
            (micros, rest.trim_start())
        }
        // `dmesg -T`: the date and time of day.
        _ if seconds.matches(':').count() == 2 && seconds.split(' ').count() >= 5 => {
            (None, rest.trim_start())
        }
        _ => (None, line),
    }
}
