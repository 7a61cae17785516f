//! Lines of the kernel's log that speak of trouble.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::time::{Duration, Instant};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::tree::Tree;

/// Problem that a line of the kernel's log reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "Trouble")]
pub enum KernelProblem {
    /// A machine check, or an error that memory or PCI Express corrected or did not.
    Hardware,
    /// A processor was slowed down for its heat or power, or a link or disk was put to a slower mode.
    Throttled,
    /// A device or link was reset.
    Reset,
    /// A device, a queue or a task did not answer in time.
    Timeout,
    /// A read or write failed, or a file system found itself spoilt.
    Io,
    /// A process was killed for lack of memory.
    OutOfMemory,
    /// The kernel itself went wrong.
    Bug,
    /// A table or queue of the network is full, or a flood was suspected.
    NetworkFull,
}

/// A line of the kernel's log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LogLine {
    /// Microseconds after the kernel's start.
    pub at_us: u64,
    /// Its subject.
    pub trouble: KernelProblem,
    /// The line.
    pub text: String,
}

/// Words in lower case that all must be in a line, and what it then speaks of; the first that fits counts. Taken from the messages of the
/// drivers themselves; a word alone, such as "error", is in too many lines that report none.
const SIGNS: [(&[&str], KernelProblem); 48] = [
    (&["machine check"], KernelProblem::Hardware),
    (&["[hardware error]"], KernelProblem::Hardware),
    (&["edac", "ce "], KernelProblem::Hardware),
    (&["edac", "ue "], KernelProblem::Hardware),
    (&["aer:", "error"], KernelProblem::Hardware),
    (&["pcie bus error"], KernelProblem::Hardware),
    (&["temperature above threshold"], KernelProblem::Throttled),
    (&["clock throttled"], KernelProblem::Throttled),
    (&["power limit notification"], KernelProblem::Throttled),
    (&["bandwidth", "limited by"], KernelProblem::Throttled),
    (&["out of memory"], KernelProblem::OutOfMemory),
    (&["invoked oom-killer"], KernelProblem::OutOfMemory),
    (&["page allocation failure"], KernelProblem::OutOfMemory),
    (&["i/o error"], KernelProblem::Io),
    (&["critical medium error"], KernelProblem::Io),
    (&["ext4-fs error"], KernelProblem::Io),
    (&["remounting filesystem read-only"], KernelProblem::Io),
    (&["xfs", "corruption"], KernelProblem::Io),
    (&["btrfs", "csum failed"], KernelProblem::Io),
    (&["failed command:"], KernelProblem::Io),
    (&["nvme", "timeout"], KernelProblem::Timeout),
    (&["netdev watchdog"], KernelProblem::Timeout),
    (&["transmit queue", "timed out"], KernelProblem::Timeout),
    (&["blocked for more than"], KernelProblem::Timeout),
    (&["soft lockup"], KernelProblem::Timeout),
    (&["self-detected stall"], KernelProblem::Timeout),
    (&["marking clocksource", "unstable"], KernelProblem::Timeout),
    (&["hard resetting link"], KernelProblem::Reset),
    (&["resetting controller"], KernelProblem::Reset),
    (&["reset adapter"], KernelProblem::Reset),
    (&["kernel bug at"], KernelProblem::Bug),
    (&["general protection fault", "smp"], KernelProblem::Bug),
    (&["table full, dropping packet"], KernelProblem::NetworkFull),
    (&["possible syn flooding"], KernelProblem::NetworkFull),
    // Of drivers/ide and others in Linux 2.2 and 2.4.
    (&["dma disabled"], KernelProblem::Throttled),
    (&["status timeout"], KernelProblem::Timeout),
    (&["irq timeout"], KernelProblem::Timeout),
    (&["drive not ready for command"], KernelProblem::Timeout),
    (&["lost interrupt"], KernelProblem::Timeout),
    (&["aborting command due to timeout"], KernelProblem::Timeout),
    (&["transmit timed out"], KernelProblem::Timeout),
    (&["_intr: error=0x"], KernelProblem::Io),
    (&["seekcomplete error"], KernelProblem::Io),
    (&["ide", ": reset:"], KernelProblem::Reset),
    (&["scsi bus", "reset"], KernelProblem::Reset),
    (&["neighbour table overflow"], KernelProblem::NetworkFull),
    (&["neighbor table overflow"], KernelProblem::NetworkFull),
    (&["too many of orphaned sockets"], KernelProblem::NetworkFull),
];

/// The most lines that are kept: the last ones.
const MOST_LINES: usize = 200;
/// How long the log is read. One that grows as fast as it is read has no newest line: a rule that logs each packet writes thousands in a second.
const LONGEST: Duration = Duration::from_millis(500);
/// The longest record of /dev/kmsg (kernel/printk, PRINTKRB_RECORD_MAX), with room.
const RECORD: usize = 16 << 10;

/// Reads the log from its oldest line that is newer than `after_us` to its newest, without waiting for more.
pub(super) fn read(tree: &mut Tree<'_>, after_us: Option<u64>) -> Vec<LogLine> {
    let began = Instant::now();
    let path = tree.root().join("dev/kmsg");
    let mut file = match OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path) {
        Ok(file) => file,
        Err(error) => {
            tree.miss(
                "dev/kmsg",
                format!("{error}: the kernel's log takes root, or kernel.dmesg_restrict=0"),
            );
            return Vec::new();
        }
    };
    let mut lines = Vec::new();
    let mut buffer = vec![0; RECORD];
    while began.elapsed() < LONGEST {
        match file.read(&mut buffer) {
            Ok(0) => break,
            // A record each from the device; from a file of a folder, as much as fits.
            Ok(length) => {
                let text = String::from_utf8_lossy(&buffer[..length]);
                lines.extend(text.lines().filter_map(|line| parse(line, after_us)));
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => break,
            // EPIPE: the record was overwritten before it was read; the next read goes on behind it.
            Err(error) if matches!(error.kind(), ErrorKind::BrokenPipe | ErrorKind::Interrupted) => {}
            Err(error) => {
                tree.miss("dev/kmsg", error.to_string());
                break;
            }
        }
    }
    let surplus = lines.len().saturating_sub(MOST_LINES);
    lines.split_off(surplus)
}

/// `PRIORITY,SEQUENCE,MICROSECONDS,FLAGS;TEXT` (Documentation/ABI/testing/dev-kmsg). What programs wrote into the log is not the kernel's
/// word: only facility 0 counts.
fn parse(record: &str, after_us: Option<u64>) -> Option<LogLine> {
    let (head, text) = record.split_once(';')?;
    let mut fields = head.split(',');
    let priority: u32 = fields.next()?.parse().ok()?;
    let at_us: u64 = fields.nth(1)?.parse().ok()?;
    if priority >> 3 != 0 || after_us.is_some_and(|after_us| at_us <= after_us) {
        return None;
    }
    let trouble = trouble(text)?;
    Some(LogLine { at_us, trouble, text: text.to_owned() })
}

pub(super) fn trouble(text: &str) -> Option<KernelProblem> {
    let text = text.to_lowercase();
    let sign = SIGNS.iter().find(|(words, _)| words.iter().all(|word| text.contains(word)))?;
    Some(sign.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_trouble_are_distinguished_from_lines_that_only_sound_so() {
        for (text, expected) in [
            ("mce: [Hardware Error]: Machine check events logged", Some(KernelProblem::Hardware)),
            (
                "CPU3: Core temperature above threshold, cpu clock throttled (total events = 1)",
                Some(KernelProblem::Throttled),
            ),
            ("ata1: hard resetting link", Some(KernelProblem::Reset)),
            ("nvme nvme0: I/O 12 QID 3 timeout, aborting", Some(KernelProblem::Timeout)),
            ("NETDEV WATCHDOG: eth0 (e1000e): transmit queue 0 timed out", Some(KernelProblem::Timeout)),
            ("blk_update_request: I/O error, dev sda, sector 123", Some(KernelProblem::Io)),
            ("Out of memory: Killed process 77 (stress)", Some(KernelProblem::OutOfMemory)),
            ("nf_conntrack: nf_conntrack: table full, dropping packet", Some(KernelProblem::NetworkFull)),
            (
                "igb 0000:01:00.0: 4.000 Gb/s available PCIe bandwidth, limited by 2.5 GT/s PCIe x2 link",
                Some(KernelProblem::Throttled),
            ),
            ("hda: DMA disabled", Some(KernelProblem::Throttled)),
            ("hda: status timeout: status=0xd0 { Busy }", Some(KernelProblem::Timeout)),
            ("hda: irq timeout: status=0xd0 { Busy }", Some(KernelProblem::Timeout)),
            ("hdc: drive not ready for command", Some(KernelProblem::Timeout)),
            ("hda: dma_intr: status=0x51 { DriveReady SeekComplete Error }", Some(KernelProblem::Io)),
            ("ide0: reset: success", Some(KernelProblem::Reset)),
            ("ide0: BM-DMA at 0xf000-0xf007, BIOS settings: hda:DMA, hdb:pio", None),
            ("EXT4-fs (vda): mounted filesystem r/w. Opts: errors=remount-ro", None),
            ("RAS: Correctable Errors collector initialized.", None),
            ("pcieport 0000:00:1c.0: AER: enabled with IRQ 122", None),
        ] {
            assert_eq!(trouble(text), expected, "{text}");
        }
    }

    #[test]
    fn what_a_program_wrote_is_not_the_kernels_word() {
        let line = parse("3,77,123456,-;ata1: hard resetting link", None).expect("the kernel's");
        assert_eq!((line.at_us, line.trouble), (123_456, KernelProblem::Reset));
        assert_eq!(parse("11,77,123456,-;ata1: hard resetting link", None), None);
        assert_eq!(parse("3,77,123456,-;ata1: hard resetting link", Some(123_456)), None, "known already");
        for cut in ["", "3", "3,77", "3,77,123456,-", "x,y,z;ata1: hard resetting link", " KEY=value"] {
            assert_eq!(parse(cut, None), None);
        }
    }

    #[test]
    fn a_log_that_grows_as_fast_as_it_is_read_is_left_in_time() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir(root.path().join("dev")).unwrap();
        std::os::unix::fs::symlink("/dev/zero", root.path().join("dev/kmsg")).unwrap();
        let began = Instant::now();
        assert!(read(&mut Tree::new(root.path()), None).is_empty());
        assert!(began.elapsed() < 10 * LONGEST);
    }
}
