//! The TCP sockets of a network namespace that move most bytes, with what the kernel knows of each (TCP_INFO), and
//! those that listen, with their queues.
//!
//! Asked over socket diagnostics (sock_diag(7), linux/inet_diag.h). It needs no privilege.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use serde::{Deserialize, Serialize};

use crate::connections::{self, ANSWER, ASK_INFO, INET_DIAG_INFO};

const AF_INET: u8 = 2;
const ESTABLISHED: u8 = 1;
const LISTEN: u8 = 10;
/// The most sockets of each kind that are kept.
const MOST: usize = 20;

/// State of a connection in the kernel. Times are microseconds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Connection {
    /// The network namespace, where it is another one than that of the other sockets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// The address and port on this side.
    pub local: String,
    /// Address of the peer.
    pub peer: String,
    /// Bytes that moved both ways since the look before; since it was opened at the first.
    pub moved_bytes: u64,
    /// Smoothed round-trip time.
    pub rtt_us: u32,
    /// Its mean deviation.
    pub rtt_deviation_us: u32,
    /// The congestion window, in segments.
    pub congestion_window: u32,
    /// The largest segment that is sent.
    pub segment_bytes: u32,
    /// Segments in flight.
    pub unacknowledged: u32,
    /// Segments sent again since it was opened.
    pub retransmits: u32,
    /// Bytes not sent yet.
    pub unsent_bytes: u32,
    /// Time in which there was something to send.
    pub busy_us: u64,
    /// Time of it in which the receiver's window was the limit.
    pub window_limited_us: u64,
    /// Time of it in which the send buffer was the limit.
    pub buffer_limited_us: u64,
    /// Bytes received that the program has not read.
    pub unread_bytes: u32,
}

/// A socket that listens.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listener {
    /// The network namespace, where it is another one than that of the other sockets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Its address and port.
    pub local: String,
    /// Connections that wait to be accepted.
    pub waiting: u32,
    /// How many may wait: the backlog of listen(2), at most net.core.somaxconn.
    pub backlog: u32,
}

/// Sockets at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TcpLook {
    /// The connections that moved most bytes, the busiest first.
    pub busiest: Vec<Connection>,
    /// The listening sockets, the fullest first.
    pub listeners: Vec<Listener>,
}

impl TcpLook {
    /// Takes the sockets of another network namespace in.
    pub fn add(&mut self, namespace: &str, other: Self) {
        let name = || Some(namespace.to_owned());
        self.busiest.extend(other.busiest.into_iter().map(|it| Connection { namespace: name(), ..it }));
        self.listeners.extend(other.listeners.into_iter().map(|it| Listener { namespace: name(), ..it }));
        self.keep_most();
    }

    /// Sorts, and keeps the busiest connections and the fullest listeners.
    fn keep_most(&mut self) {
        self.busiest.sort_by_key(|it| std::cmp::Reverse(it.moved_bytes));
        self.busiest.truncate(MOST);
        self.listeners.sort_by(|a, b| b.fullness().total_cmp(&a.fullness()));
        self.listeners.truncate(MOST);
    }
}

/// Looks at sockets again and again.
#[derive(Debug, Default)]
pub struct Sockets {
    /// The bytes that each connection had moved at the look before, by its cookie.
    moved: HashMap<u64, u64>,
}

impl Sockets {
    /// Looks at the sockets of the calling thread's network namespace.
    ///
    /// # Errors
    /// The kernel has no socket diagnostics, or refuses them.
    pub fn look(&mut self) -> io::Result<TcpLook> {
        let mut look = TcpLook::default();
        let mut moved = HashMap::with_capacity(self.moved.len());
        let states: u32 = 1 << ESTABLISHED | 1 << LISTEN;
        connections::diagnose(states, ASK_INFO, |answer| self.take(answer, &mut moved, &mut look))?;
        self.moved = moved;
        look.keep_most();
        Ok(look)
    }

    fn take(&self, answer: &[u8], moved: &mut HashMap<u64, u64>, look: &mut TcpLook) {
        let Some(socket) = Socket::read(answer) else { return };
        if socket.state == LISTEN {
            let Socket { local, queues: [waiting, backlog], .. } = socket;
            look.listeners.push(Listener { namespace: None, local, waiting, backlog });
            return;
        }
        let Some(info) = socket.info else { return };
        let bytes = info.u64(120) + info.u64(128);
        let before = self.moved.get(&socket.cookie).copied().unwrap_or(0);
        moved.insert(socket.cookie, bytes);
        let moved_bytes = bytes.saturating_sub(before);
        if moved_bytes == 0 {
            return;
        }
        look.busiest.push(Connection {
            namespace: None,
            local: socket.local,
            peer: socket.peer,
            moved_bytes,
            rtt_us: info.u32(68),
            rtt_deviation_us: info.u32(72),
            congestion_window: info.u32(80),
            segment_bytes: info.u32(16),
            unacknowledged: info.u32(24),
            retransmits: info.u32(100),
            unsent_bytes: info.u32(144),
            busy_us: info.u64(168),
            window_limited_us: info.u64(176),
            buffer_limited_us: info.u64(184),
            unread_bytes: socket.queues[0],
        });
        // A machine with a hundred thousand connections is not to hold them all.
        if look.busiest.len() >= 8 * MOST {
            look.busiest.sort_by_key(|it| std::cmp::Reverse(it.moved_bytes));
            look.busiest.truncate(MOST);
        }
    }
}

impl Connection {
    /// Whether it holds less than a segment back while something is unacknowledged and the window open (Nagle's algorithm, RFC 896).
    pub fn is_held(&self) -> bool {
        (1..self.segment_bytes).contains(&self.unsent_bytes)
            && (1..self.congestion_window).contains(&self.unacknowledged)
    }
}

impl Listener {
    /// The share of its queue that is used.
    pub fn fullness(&self) -> f64 {
        f64::from(self.waiting) / f64::from(self.backlog.max(1))
    }
}

/// `struct inet_diag_msg`, and the attribute behind it.
struct Socket<'a> {
    state: u8,
    local: String,
    peer: String,
    cookie: u64,
    /// Receive and send queue; of a listening socket the connections that wait, and how many may.
    queues: [u32; 2],
    info: Option<TcpInfo<'a>>,
}

impl<'a> Socket<'a> {
    fn read(answer: &'a [u8]) -> Option<Self> {
        let fixed = TcpInfo(answer.get(..ANSWER)?);
        let address = |port: usize, at: usize| -> Option<String> {
            let port = u16::from_be_bytes(*answer.get(port..)?.first_chunk()?);
            let ip = match answer[0] {
                AF_INET => IpAddr::from(Ipv4Addr::from(*answer.get(at..)?.first_chunk::<4>()?)),
                _ => IpAddr::from(Ipv6Addr::from(*answer.get(at..)?.first_chunk::<16>()?)),
            };
            Some(SocketAddr::new(ip, port).to_string())
        };
        Some(Self {
            state: answer[1],
            local: address(4, 8)?,
            peer: address(6, 24)?,
            cookie: fixed.u64(44),
            queues: [fixed.u32(56), fixed.u32(60)],
            info: plimsoll_netlink::attribute(&answer[ANSWER..], INET_DIAG_INFO).map(TcpInfo),
        })
    }
}

/// `struct tcp_info` (linux/tcp.h), of which older kernels give less.
#[derive(Clone, Copy)]
struct TcpInfo<'a>(&'a [u8]);

impl TcpInfo<'_> {
    fn u32(self, at: usize) -> u32 {
        self.0.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |bytes| u32::from_ne_bytes(*bytes))
    }

    fn u64(self, at: usize) -> u64 {
        self.0.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |bytes| u64::from_ne_bytes(*bytes))
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn what_moved_since_the_look_before_and_a_queue_are_those_of_the_sockets() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let here = listener.local_addr().unwrap();
        let mut client = TcpStream::connect(here).unwrap();
        let (mut server, _) = listener.accept().unwrap();
        let _waiting = TcpStream::connect(here).unwrap();
        let mut sockets = Sockets::default();
        sockets.look().unwrap();
        // More than whatever else goes on beside this test.
        let sent = vec![7; 8 << 20];
        let writer = std::thread::spawn(move || {
            client.write_all(&sent).unwrap();
            client
        });
        server.read_exact(&mut vec![0; 8 << 20]).unwrap();
        let client = writer.join().unwrap();
        let look = sockets.look().unwrap();
        let of = |local: SocketAddr| look.busiest.iter().find(|it| it.local == local.to_string()).cloned();
        let received = of(server.local_addr().unwrap()).unwrap();
        assert_eq!(
            (received.moved_bytes, received.peer.clone()),
            (8 << 20, client.local_addr().unwrap().to_string())
        );
        let sent = of(client.local_addr().unwrap()).unwrap();
        assert!(sent.moved_bytes <= 8 << 20 && sent.moved_bytes > 7 << 20, "acknowledged: {sent:?}");
        assert!(sent.rtt_us > 0 && sent.congestion_window > 0 && sent.segment_bytes > 500, "{sent:?}");
        assert!(sent.busy_us > 0 && sent.busy_us < 60_000_000, "{sent:?}");
        // A socket without work is not busy: nothing moved since.
        assert!(sockets.look().unwrap().busiest.iter().all(|it| it.local != received.peer));
        let queue = look.listeners.iter().find(|it| it.local == here.to_string()).unwrap();
        assert_eq!(queue.waiting, 1);
        assert!(queue.backlog >= 1);
    }
    #[test]
    fn sockets_of_another_namespace_stand_among_the_others_by_what_they_moved() {
        let moved = |moved_bytes| Connection { moved_bytes, ..Connection::default() };
        let look = |all: &[u64]| TcpLook {
            busiest: all.iter().map(|it| moved(*it)).collect(),
            listeners: Vec::new(),
        };
        let mut here = look(&[90, 10]);
        here.add("namespace web", look(&[40; MOST]));
        assert_eq!(here.busiest.len(), MOST);
        assert_eq!(here.busiest[0], moved(90));
        assert_eq!(here.busiest[1].namespace.as_deref(), Some("namespace web"));
    }
}
