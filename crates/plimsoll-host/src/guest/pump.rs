//! Frames between the end of a link in the host's namespace and the guest's network card.

use std::io;
use std::os::unix::net::UnixDatagram;
use std::sync::{Arc, PoisonError, RwLock};
use std::thread;
use std::time::Duration;

use crate::packet::{PacketSocket, Sending};
use crate::tend::thread_beside;

/// The longest frame: the largest MTU, the Ethernet header, and a tag.
const LONGEST_FRAME: usize = 65_535 + 14 + 4;
/// How often to look for an interface that vanished with the neighbour host and returns when that is rebuilt.
const LOOK: Duration = Duration::from_millis(5);

/// The end of a link. A rebuild of the neighbour host replaces it.
type End = Arc<RwLock<PacketSocket>>;

/// Carries frames both ways from now on, until this process ends or the guest does, in two threads: neither way waits for the other.
///
/// # Returns
/// The descriptor for the guest's card (QEMU, `-netdev socket,fd=`): each datagram is a frame.
pub(super) fn start(interface: &str) -> io::Result<UnixDatagram> {
    let (ours, theirs) = UnixDatagram::pair()?;
    let end = Arc::new(RwLock::new(open(interface)?));
    let (to_guest, same, name) = (ours.try_clone()?, Arc::clone(&end), interface.to_owned());
    thread_beside(format!("{interface}-in"), move || arrivals(&name, &same, &to_guest))?;
    thread_beside(format!("{interface}-out"), move || departures(&ours, &end))?;
    Ok(theirs)
}

/// What the guest sends passes the interface's queueing discipline, which may shape the link.
fn open(interface: &str) -> io::Result<PacketSocket> {
    PacketSocket::open(interface, Sending::ThroughQueue)
}

/// From the link to the guest. Where the guest is slow, frames wait in the socket's buffer, and are lost when that is full, as in a card.
fn arrivals(interface: &str, end: &End, guest: &UnixDatagram) {
    let mut buffer = vec![0; LONGEST_FRAME];
    loop {
        let arrived = end.read().unwrap_or_else(PoisonError::into_inner).wait(&mut buffer);
        match arrived {
            Ok(length) => match guest.send(&buffer[..length]) {
                // No memory for one frame at the moment: it is lost.
                Err(error) if is_gone(&error) => return,
                _ => {}
            },
            Err(_) => {
                let found = loop {
                    match open(interface) {
                        Ok(found) => break found,
                        Err(_) => thread::sleep(LOOK),
                    }
                };
                *end.write().unwrap_or_else(PoisonError::into_inner) = found;
            }
        }
    }
}

/// Whether the guest has ended.
fn is_gone(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionRefused, ConnectionReset, NotConnected};
    matches!(error.kind(), BrokenPipe | ConnectionRefused | ConnectionReset | NotConnected)
}

/// From the guest to the link.
fn departures(guest: &UnixDatagram, end: &End) {
    let mut buffer = vec![0; LONGEST_FRAME];
    while let Ok(length @ 1..) = guest.recv(&mut buffer) {
        // A frame that the interface does not take is lost, as on any wire whose end was pulled out.
        let _taken = end.read().unwrap_or_else(PoisonError::into_inner).send(&buffer[..length]);
    }
}
