//! Headers of packets, for a few seconds of a recording.

use std::io::{Read, Seek};
use std::path::Path;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use plimsoll_probe::capture::{self, Capture, CaptureError, Edit, Settings, headers};

use super::now_ms;
use crate::failure::Failure;
use crate::recording::{PacketsAt, Part, Redactor};

/// The longest headers: IPv4 and TCP with all their options.
const SNAP: u32 = 120;
/// The memory between the kernel and this program, for each interface, in bytes.
const RING: usize = 4 << 20;
/// The most packets of an interface: some 10 MB.
const MOST_PACKETS: u64 = 100_000;
/// The most interfaces.
const MOST_INTERFACES: usize = 8;

/// Captures under way.
pub(super) struct Packets {
    running: Vec<(String, Capture, std::fs::File)>,
    began: Instant,
    length: Duration,
}

impl Packets {
    /// Begins on the interfaces that are up.
    pub(super) fn start(length: Duration, redactor: Option<&Redactor>) -> Result<Self, Failure> {
        let wanted = Settings { ports: Vec::new(), snap: SNAP, ring: RING };
        let mut running = Vec::new();
        for interface in
            capture::interfaces().map_err(|error| refused(&error))?.into_iter().take(MOST_INTERFACES)
        {
            let name = interface.name;
            let file = tempfile::tempfile();
            let both = file.and_then(|file| Ok((file.try_clone()?, file)));
            let (file, written) =
                both.map_err(|error| Failure::could_not(format!("packets cannot be kept: {error}")))?;
            // The name may identify somebody; `explain` takes it from the recording, where it is redacted.
            let title = if redactor.is_some() { "" } else { name.as_str() };
            let edit = Some(edit(redactor));
            let started = Capture::start_edited(&name, Path::new(""), file, &wanted, title, edit);
            running.push((name, started.map_err(|error| refused(&error))?, written));
        }
        Ok(Self { running, began: Instant::now(), length })
    }

    pub(super) fn is_over(&self) -> bool {
        self.began.elapsed() >= self.length
    }

    /// Ends the captures. Interfaces without packets have no part.
    pub(super) fn end(self) -> Result<Vec<Part>, Failure> {
        let seconds = self.began.elapsed().as_secs_f64();
        self.running.iter().for_each(|(_, capture, _)| capture.end());
        let mut parts = Vec::new();
        for (interface, capture, mut file) in self.running {
            let captured = capture.stop();
            let mut bytes = Vec::new();
            let read =
                file.rewind().and_then(|()| file.read_to_end(&mut bytes)).map_err(|error| error.to_string());
            if let Some(error) = captured.error.or(read.err()) {
                return Err(Failure::could_not(format!("packets of {interface}: {error}")));
            }
            if captured.packets == 0 {
                continue;
            }
            parts.push(Part::Packets(PacketsAt {
                at_unix_ms: now_ms(),
                seconds,
                interface,
                packets: captured.packets,
                dropped: captured.dropped,
                is_cut: captured.packets >= MOST_PACKETS,
                pcapng: STANDARD.encode(bytes),
            }));
        }
        Ok(parts)
    }
}

/// Cuts a packet to its headers, and replaces addresses where names are redacted.
fn edit(redactor: Option<&Redactor>) -> Edit {
    let mut pseudonyms = redactor.map(Redactor::addresses);
    let mut written = 0;
    Box::new(move |packet| {
        if written >= MOST_PACKETS || !headers::cut(packet) {
            return false;
        }
        if let Some(replace) = &mut pseudonyms {
            headers::replace_addresses(packet, |address| replace(address));
        }
        written += 1;
        true
    })
}

fn refused(error: &CaptureError) -> Failure {
    Failure::could_not(format!("--packets: {error}; it takes CAP_NET_RAW: sudo plimsoll record"))
}
