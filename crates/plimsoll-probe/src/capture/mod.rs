//! Captures the packets of an experiment: from a memory-mapped ring into pcapng files, one for each network interface.
//!
//! The kernel puts packets into blocks of a ring that it shares with this process (`TPACKET_V3`,
//! Documentation/networking/packet_mmap.rst), so that no system call is spent on any of them; a filter in the kernel lets only the
//! experiment's own flows through, and only the first bytes of each. What the ring had no room for is counted, and written to the file.
//!
//! Packets are taken without their link headers, so that every kind of interface gives the same: IP from its first byte on.

mod filter;
pub mod headers;
mod pcapng;
mod ring;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use nix::ifaddrs::getifaddrs;
use nix::net::if_::InterfaceFlags;
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use thiserror::Error;

use self::pcapng::Pcapng;
use self::ring::Ring;

/// How long the thread waits for packets before it looks whether it is to end.
const WAIT: Duration = Duration::from_millis(50);

/// Settings of a capture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Ports of the experiment's services: a packet must have one of them on either side. Without ports, every TCP and UDP packet counts.
    pub ports: Vec<u16>,
    /// How many bytes of each packet are kept (64 to 65535).
    pub snap: u32,
    /// How many bytes the ring of an interface has; rounded up to whole blocks.
    pub ring: usize,
}

/// Why packets cannot be captured.
#[derive(Debug, Error)]
pub enum CaptureError {
    /// The interface cannot be listened to.
    #[error("capture packets on `{interface}`: {source}")]
    Interface {
        /// Its name.
        interface: String,
        /// What the system said.
        source: io::Error,
    },
    /// The file cannot be written.
    #[error("write packets to {}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The interfaces cannot be listed.
    #[error("list the network interfaces: {0}")]
    Interfaces(io::Error),
}

/// Packets captured on one interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Captured {
    /// The interface.
    pub interface: String,
    /// The file.
    pub path: PathBuf,
    /// Packets in it.
    pub packets: u64,
    /// Packets that the ring had no room for.
    pub dropped: u64,
    /// CPU time of the capturing thread, in microseconds.
    pub cpu_us: u64,
    /// The error while it was written; the file then ends early.
    pub error: Option<String>,
}

/// A network interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// Its name.
    pub name: String,
    /// Its addresses.
    pub addresses: Vec<IpAddr>,
}

/// The network interfaces of this namespace that are up, by name.
///
/// # Errors
/// When they cannot be listed.
pub fn interfaces() -> Result<Vec<Interface>, CaptureError> {
    let all = getifaddrs().map_err(|error| CaptureError::Interfaces(error.into()))?;
    let mut found: BTreeMap<String, Vec<IpAddr>> = BTreeMap::new();
    // An interface comes once for each of its addresses, and once for itself.
    for entry in all.filter(|entry| entry.flags.contains(InterfaceFlags::IFF_UP)) {
        let ipv4 = entry.address.as_ref().and_then(|a| Some(IpAddr::from(a.as_sockaddr_in()?.ip())));
        let ipv6 = entry.address.as_ref().and_then(|a| Some(IpAddr::from(a.as_sockaddr_in6()?.ip())));
        found.entry(entry.interface_name).or_default().extend(ipv4.or(ipv6));
    }
    Ok(found.into_iter().map(|(name, addresses)| Interface { name, addresses }).collect())
}

/// Edit of a packet's bytes before they are written; `false` leaves it out.
pub type Edit = Box<dyn FnMut(&mut Vec<u8>) -> bool + Send>;

/// A capture on one interface, under way.
pub struct Capture {
    interface: String,
    path: PathBuf,
    stop: Arc<AtomicBool>,
    thread: JoinHandle<(Counts, io::Result<()>)>,
}

#[derive(Clone, Copy, Default)]
struct Counts {
    packets: u64,
    dropped: u64,
    cpu_us: u64,
}

impl Capture {
    /// Begins to capture on an interface, into an empty file, which `path` names in messages. When this returns, no packet is missed any more.
    ///
    /// # Errors
    /// When the interface cannot be listened to, or the file not be written.
    pub fn start(interface: &str, path: &Path, file: File, wanted: &Settings) -> Result<Self, CaptureError> {
        Self::start_edited(interface, path, file, wanted, interface, None)
    }

    /// Like [`Capture::start`], for packets that are edited. `title` is the name of the interface in the file.
    ///
    /// # Errors
    /// When the interface cannot be listened to, or the file not be written.
    pub fn start_edited(
        interface: &str,
        path: &Path,
        file: File,
        wanted: &Settings,
        title: &str,
        edit: Option<Edit>,
    ) -> Result<Self, CaptureError> {
        let of_interface =
            |source: io::Error| CaptureError::Interface { interface: interface.to_owned(), source };
        let of_file = |source: io::Error| CaptureError::File { path: path.to_owned(), source };
        let ring = Ring::open(interface, wanted).map_err(of_interface)?;
        let file = BufWriter::with_capacity(1 << 20, file);
        let out = Pcapng::begin(file, title, wanted.snap).map_err(of_file)?;
        let stop = Arc::new(AtomicBool::new(false));
        let stopping = Arc::clone(&stop);
        let thread = Builder::new()
            .name(format!("capture {interface}"))
            .spawn(move || follow(ring, out, &stopping, edit))
            .map_err(of_interface)?;
        Ok(Self { interface: interface.to_owned(), path: path.to_owned(), stop, thread })
    }

    /// Ends the capture. [`Capture::stop`] waits for that.
    pub fn end(&self) {
        self.stop.store(true, Ordering::Release);
    }

    /// Ends the capture, once all that has arrived is written.
    pub fn stop(self) -> Captured {
        self.end();
        let (counts, done) = self.thread.join().unwrap_or_else(|_| {
            (Counts::default(), Err(io::Error::other("the capturing thread has panicked")))
        });
        Captured {
            interface: self.interface,
            path: self.path,
            packets: counts.packets,
            dropped: counts.dropped,
            cpu_us: counts.cpu_us,
            error: done.err().map(|error| error.to_string()),
        }
    }
}

/// The life of the capturing thread.
fn follow(
    mut ring: Ring,
    mut out: Pcapng<impl Write>,
    stop: &AtomicBool,
    edit: Option<Edit>,
) -> (Counts, io::Result<()>) {
    let mut counts = Counts::default();
    let done = write_all(&mut ring, &mut out, stop, &mut counts.packets, edit);
    // Each read resets the kernel's counts, so they are read once.
    counts.dropped = ring.dropped();
    counts.cpu_us = cpu_us();
    let ended = out.end(counts.packets, counts.dropped);
    (counts, done.and(ended))
}

fn write_all(
    ring: &mut Ring,
    out: &mut Pcapng<impl Write>,
    stop: &AtomicBool,
    packets: &mut u64,
    mut edit: Option<Edit>,
) -> io::Result<()> {
    let mut edited = Vec::new();
    loop {
        // Looked at before the ring is: what came before the end was asked for is in it by then.
        let last = stop.load(Ordering::Acquire);
        if last {
            Ring::let_last_block_come();
        }
        while ring.next_block(|packet| {
            let mut bytes = packet.bytes;
            if let Some(edit) = &mut edit {
                edited.clear();
                edited.extend_from_slice(bytes);
                if !edit(&mut edited) {
                    return Ok(());
                }
                bytes = &edited;
            }
            *packets += 1;
            out.packet(packet.time_ns, packet.length, bytes)
        })? {}
        if last {
            return Ok(());
        }
        ring.wait(WAIT)?;
    }
}

/// CPU time of the calling thread.
fn cpu_us() -> u64 {
    let micros = |time: nix::sys::time::TimeVal| u64::try_from(time.num_microseconds()).unwrap_or(0);
    getrusage(UsageWho::RUSAGE_THREAD)
        .map_or(0, |usage| micros(usage.user_time()) + micros(usage.system_time()))
}
