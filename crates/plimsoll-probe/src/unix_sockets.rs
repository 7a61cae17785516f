//! The Unix sockets of a network namespace, by socket diagnostics (linux/unix_diag.h).

use std::collections::BTreeMap;
use std::io;

use plimsoll_netlink::{Socket, attribute};

use crate::connections::{Listening, diagnostics};

/// Asks sock_diag for the sockets of a family (linux/sock_diag.h).
const SOCK_DIAG_BY_FAMILY: u16 = 20;
/// Bytes of `struct unix_diag_req`, and where the states and the wanted attributes stand in it, one bit for each.
const REQUEST: usize = 24;
const REQUEST_STATES: usize = 4;
const REQUEST_SHOW: usize = 12;
/// UDIAG_SHOW_NAME, UDIAG_SHOW_PEER, UDIAG_SHOW_ICONS and UDIAG_SHOW_RQLEN.
const SHOW: u32 = 0x1 | 0x4 | 0x8 | 0x10;
/// Bytes of `struct unix_diag_msg`, and where the state and the inode stand in it; attributes follow.
const ANSWER: usize = 16;
const ANSWER_STATE: usize = 2;
const ANSWER_INODE: usize = 4;
const NAME: u16 = 0;
const PEER: u16 = 2;
const WAITING: u16 = 3;
const QUEUES: u16 = 4;
/// TCP_LISTEN, which Unix sockets have as well (net/unix/af_unix.c).
const LISTEN: u8 = 10;

/// One Unix socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UnixSocket {
    /// Its path or abstract name; connections that a server accepted have the one of its listener.
    pub(crate) name: Option<Vec<u8>>,
    /// The inode of the socket that it is connected to; nothing until the server accepts the connection.
    pub(crate) peer: Option<u32>,
    /// The inodes of clients whose connections this listener has not accepted.
    pub(crate) waiting: Vec<u32>,
    /// Connections that wait to be accepted and the most that may, of a listener.
    pub(crate) queue: Option<(u32, u32)>,
}

/// All Unix sockets of the calling thread's network namespace, by their inodes.
pub(crate) fn all() -> io::Result<BTreeMap<u32, UnixSocket>> {
    in_states(&diagnostics()?, u32::MAX)
}

/// The listeners of a network namespace, by their names. The zero that an abstract name begins with is written `@`, as ss(8) does.
pub(crate) fn listening(diagnostics: &Socket) -> io::Result<BTreeMap<String, Listening>> {
    let mut found: BTreeMap<String, Listening> = BTreeMap::new();
    for socket in in_states(diagnostics, 1 << LISTEN)?.into_values() {
        if let (Some(name), Some((waiting, limit))) = (socket.name, socket.queue) {
            found.entry(readable(&name)).or_default().add(waiting, limit);
        }
    }
    Ok(found)
}

fn readable(name: &[u8]) -> String {
    match name.strip_prefix(&[0]) {
        Some(rest) => format!("@{}", String::from_utf8_lossy(rest)),
        None => String::from_utf8_lossy(name).trim_end_matches('\0').to_owned(),
    }
}

fn in_states(diagnostics: &Socket, states: u32) -> io::Result<BTreeMap<u32, UnixSocket>> {
    let mut request = [0; REQUEST];
    request[0] = libc::AF_UNIX as u8;
    request[REQUEST_STATES..REQUEST_STATES + 4].copy_from_slice(&states.to_ne_bytes());
    request[REQUEST_SHOW..REQUEST_SHOW + 4].copy_from_slice(&SHOW.to_ne_bytes());
    let mut sockets = BTreeMap::new();
    diagnostics.dump(SOCK_DIAG_BY_FAMILY, &request, |answer| {
        let Some(inode) = number(answer, ANSWER_INODE) else { return };
        let attributes = answer.get(ANSWER..).unwrap_or_default();
        let queues = attribute(attributes, QUEUES).filter(|_| answer.get(ANSWER_STATE) == Some(&LISTEN));
        let socket = UnixSocket {
            name: attribute(attributes, NAME).filter(|name| !name.is_empty()).map(<[u8]>::to_vec),
            peer: attribute(attributes, PEER).and_then(|peer| number(peer, 0)).filter(|inode| *inode != 0),
            waiting: attribute(attributes, WAITING).map(numbers).unwrap_or_default(),
            queue: queues.and_then(|queues| Some((number(queues, 0)?, number(queues, 4)?))),
        };
        sockets.insert(inode, socket);
    })?;
    Ok(sockets)
}

fn numbers(bytes: &[u8]) -> Vec<u32> {
    let (each, _) = bytes.as_chunks();
    each.iter().map(|number| u32::from_ne_bytes(*number)).collect()
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::{UnixListener, UnixStream};

    use super::*;

    #[test]
    fn a_queue_of_connections_that_nobody_accepts_is_seen_with_its_limit() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("queue");
        let listener = UnixListener::bind(&path).unwrap();
        let waiting = [(); 3].map(|()| UnixStream::connect(&path).unwrap());
        let name = path.to_str().unwrap();
        let diagnostics = diagnostics().unwrap();
        let seen = listening(&diagnostics).unwrap()[name];
        assert_eq!((seen.sockets, seen.longest), (1, 3));
        assert!(seen.limit >= 3, "{seen:?}");
        drop((waiting, listener));
        assert!(!listening(&diagnostics).unwrap().contains_key(name));
    }

    #[test]
    fn abstract_names_are_written_as_ss_writes_them() {
        assert_eq!(readable(b"\0abstract"), "@abstract");
        assert_eq!(readable(b"/run/x\0"), "/run/x");
    }
}
