//! Captures: packets into files, until the controller stops them or the agent ends.

use std::io;
use std::net::IpAddr;
use std::path::Path;

use nix::fcntl::OFlag;
use plimsoll_model::frame::{CAPTURE_ENDING, CaptureSpec, Failure, FromAgent, Id};
use plimsoll_model::observation::CapturedFile;
use plimsoll_path::Folder;
use plimsoll_probe::capture::{self, Capture, CaptureError, Captured, Settings};

use crate::outbox::Outbox;
use crate::{ById, other};

/// The captures of a host.
pub(crate) struct Captures {
    outbox: Outbox,
    running: ById<Vec<Capture>>,
}

impl Captures {
    pub(crate) fn new(outbox: Outbox) -> Self {
        Self { outbox, running: ById::new() }
    }

    pub(crate) fn start(&mut self, id: Id, spec: &CaptureSpec) -> io::Result<()> {
        match start_all(spec) {
            Ok(captures) => {
                self.running.insert(id, captures);
                self.outbox.send(&FromAgent::Done { id })
            }
            Err(why) => self.outbox.fail(Some(id), why),
        }
    }

    pub(crate) fn stop(&mut self, id: Id) -> io::Result<()> {
        let files = self.running.remove(&id).map(stop_all).unwrap_or_default();
        self.outbox.send(&FromAgent::Captured { id, files })
    }
}

impl Drop for Captures {
    /// Stops the captures, which writes their packets. So an interrupted trial keeps its packets too.
    fn drop(&mut self) {
        for (_, captures) in std::mem::take(&mut self.running) {
            stop_all(captures);
        }
    }
}

fn start_all(spec: &CaptureSpec) -> Result<Vec<Capture>, Failure> {
    let (folder, _) = Folder::make(Path::new(&spec.folder))
        .map_err(|error| other("make the folder of the captures", error))?;
    let wanted = Settings {
        ports: spec.ports.clone(),
        snap: spec.snap,
        ring: usize::try_from(spec.ring).unwrap_or(usize::MAX),
    };
    let interfaces = capture::interfaces().map_err(|error| other("capture packets", error))?;
    let chosen = interfaces
        .iter()
        .filter(|interface| spec.addresses.is_empty() || has_one(&interface.addresses, &spec.addresses));
    let mut captures = Vec::new();
    for interface in chosen {
        let name = format!("{}-{}.{CAPTURE_ENDING}", spec.name, interface.name);
        let file = folder.file(Path::new(&name), OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_TRUNC);
        let path = folder.path().join(&name);
        let started = file
            .map_err(|error| CaptureError::File { path: path.clone(), source: error.into() })
            .and_then(|file| Capture::start(&interface.name, &path, file, &wanted));
        match started {
            Ok(capture) => captures.push(capture),
            Err(error) => {
                stop_all(captures);
                return Err(refused(error));
            }
        }
    }
    Ok(captures)
}

fn refused(error: CaptureError) -> Failure {
    match error {
        CaptureError::Interface { interface, source } if source.kind() == io::ErrorKind::PermissionDenied => {
            let needs = Some("CAP_NET_RAW over the host's network namespace".into());
            Failure::Permission { what: format!("capture packets on {interface}"), needs }
        }
        error => other("start a capture", error),
    }
}

fn has_one(has: &[IpAddr], of: &[IpAddr]) -> bool {
    has.iter().any(|address| of.contains(address))
}

fn stop_all(captures: Vec<Capture>) -> Vec<CapturedFile> {
    // Signal all before waiting for the first.
    captures.iter().for_each(Capture::end);
    captures.into_iter().map(|capture| described(capture.stop())).collect()
}

fn described(captured: Captured) -> CapturedFile {
    CapturedFile {
        interface: captured.interface,
        file: captured.path.to_string_lossy().into_owned(),
        packets: captured.packets,
        dropped: captured.dropped,
        cpu_us: captured.cpu_us,
        error: captured.error,
    }
}
