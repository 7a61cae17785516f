//! How many TCP connections a network namespace has, and in which states.
//!
//! Asked over socket diagnostics (sock_diag(7)), in the form that gives IPv4 and IPv6 in one walk over the kernel's hash table; where
//! that is not to be had, read from `/proc/net/tcp` and `tcp6`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::net::{IpAddr, SocketAddr};
use std::path::Path;

use plimsoll_netlink::{SockProtocol, Socket};

/// The states by their number in the kernel (include/net/tcp_states.h); the first has number 1.
const STATES: [&str; 12] = [
    "established",
    "syn_sent",
    "syn_recv",
    "fin_wait1",
    "fin_wait2",
    "time_wait",
    "close",
    "close_wait",
    "last_ack",
    "listen",
    "closing",
    "new_syn_recv",
];
const SYN_SENT: usize = 2;
const SYN_RECV: usize = 3;
const TIME_WAIT: usize = 6;
const LISTEN: usize = 10;
const NEW_SYN_RECV: usize = 12;

/// Asks inet_diag for TCP of all families (linux/inet_diag.h).
const TCPDIAG_GETSOCK: u16 = 18;
/// Bytes of `struct inet_diag_req`.
const REQUEST: usize = 60;
/// Where the attributes asked for stand in it, one bit for each.
const REQUEST_EXTENSIONS: usize = 3;
/// Where the states asked for stand, one bit for each.
const REQUEST_STATES: usize = 52;
/// Where the receive queue stands in `struct inet_diag_msg`; of a listening socket that is the connections not yet accepted.
const ANSWER_RECEIVE_QUEUE: usize = 56;
/// Where the send queue stands; of a listening socket that is its backlog.
const ANSWER_SEND_QUEUE: usize = 60;
/// Where its port and its address stand.
const ANSWER_PORT: usize = 4;
const ANSWER_ADDRESS: usize = 8;

/// TCP sockets of a network namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TcpSockets {
    counts: [u64; STATES.len() + 1],
    /// Connections that wait to be accepted, over all listening sockets.
    pub backlog: u64,
    /// The listening sockets, by their address. Only socket diagnostics have them.
    pub listeners: BTreeMap<SocketAddr, Listening>,
}

/// The listening sockets of one address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Listening {
    /// How many they are: more than one with SO_REUSEPORT.
    pub sockets: u32,
    /// Connections that wait to be accepted in all of them.
    pub waiting: u64,
    /// Connections in the longest queue.
    pub longest: u32,
    /// How many may wait: the smallest, where they differ.
    pub limit: u32,
}

impl Listening {
    pub(crate) fn add(&mut self, waiting: u32, limit: u32) {
        self.limit = if self.sockets == 0 { limit } else { limit.min(self.limit) };
        self.sockets += 1;
        self.waiting += u64::from(waiting);
        self.longest = waiting.max(self.longest);
    }

    /// Connections that would have to move for all queues to be equally long, as a share of those that could: 0 where all are equal, and
    /// `waiting` where one queue has all.
    pub(crate) fn excess(&self) -> f64 {
        let (waiting, fair) = (self.waiting as f64, 1.0 / f64::from(self.sockets.max(1)));
        if self.sockets < 2 { 0.0 } else { (f64::from(self.longest) - waiting * fair) / (1.0 - fair) }
    }
}

impl TcpSockets {
    /// Each state's name in lower case, and how many sockets are in it.
    pub fn by_state(&self) -> impl Iterator<Item = (&'static str, u64)> {
        // The kernel shows its own NEW_SYN_RECV as SYN_RECV wherever it shows states.
        STATES.iter().zip(&self.counts[1..NEW_SYN_RECV]).map(|(name, count)| (*name, *count))
    }

    /// All but the listening sockets and those that are closed, with or without those in TIME_WAIT.
    pub fn connections(&self, time_wait: bool) -> u64 {
        let all: u64 =
            self.by_state().filter(|(name, _)| !matches!(*name, "listen" | "close")).map(|(_, n)| n).sum();
        if time_wait { all } else { all - self.counts[TIME_WAIT] }
    }

    fn add(&mut self, state: usize, receive_queue: u64) {
        let state = if state == NEW_SYN_RECV { SYN_RECV } else { state };
        if let Some(count) = self.counts.get_mut(state) {
            *count += 1;
        }
        if state == LISTEN {
            self.backlog += receive_queue;
        }
    }
}

/// How many TCP connections the calling thread's network namespace has: in any state but LISTEN and CLOSE, and, unless `time_wait`,
/// but TIME_WAIT. A connection with both ends in the namespace counts twice, as it has two sockets.
///
/// The kernel walks the hash table that all namespaces share: 0.1 to 1.5 ms for an empty one on a small machine, about 1.4 µs more for each
/// connection that is left. Who polls should wait some ten times as long as the last answer took.
///
/// # Errors
/// Neither socket diagnostics nor `/proc/net/tcp` can be read.
pub fn connections(time_wait: bool) -> io::Result<u64> {
    let states =
        if time_wait { ALL_STATES & !(1 << LISTEN) } else { ALL_STATES & !(1 << LISTEN | 1 << TIME_WAIT) };
    let sockets = diagnostics().and_then(|diagnostics| sockets_in(&diagnostics, states));
    let sockets = sockets.or_else(|_| sockets_in_files(Path::new("/proc")))?;
    Ok(sockets.connections(time_wait))
}

const ALL_STATES: u32 = (1 << (STATES.len() + 1)) - 1;

/// All TCP sockets of the calling thread's network namespace.
///
/// # Errors
/// Neither socket diagnostics nor `/proc/net/tcp` can be read.
pub fn sockets_by_state() -> io::Result<TcpSockets> {
    let sockets = diagnostics().and_then(|diagnostics| sockets_in(&diagnostics, ALL_STATES));
    sockets.or_else(|_| sockets_in_files(Path::new("/proc")))
}

/// A socket to ask for the sockets of the calling thread's network namespace.
pub(crate) fn diagnostics() -> io::Result<Socket> {
    Socket::open(SockProtocol::NetlinkSockDiag)
}

/// The listening sockets of a network namespace: the kernel walks their own table, which is short.
pub(crate) fn listening(diagnostics: &Socket) -> io::Result<BTreeMap<SocketAddr, Listening>> {
    sockets_in(diagnostics, 1 << LISTEN).map(|sockets| sockets.listeners)
}

/// One end of an open TCP connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct End {
    /// Its inode; 0 where no process has it yet.
    pub(crate) inode: u32,
    /// Whether this side waits for a reply: it sent last. A send and a receive within one tick of the kernel count as a wait.
    pub(crate) waits: bool,
    /// Whether its SYN has no answer yet.
    pub(crate) is_connecting: bool,
}

/// The ends of the TCP connections of the calling thread's network namespace, by their own address and the peer's. Listening sockets are left out.
pub(crate) fn ends() -> io::Result<BTreeMap<(SocketAddr, SocketAddr), End>> {
    let mut found = BTreeMap::new();
    diagnose(ALL_STATES & !(1 << LISTEN | 1 << TIME_WAIT), ASK_INFO, |answer| {
        let own = end(answer, ANSWER_PORT, ANSWER_ADDRESS);
        let peer = end(answer, ANSWER_PEER_PORT, ANSWER_PEER_ADDRESS);
        let Some(inode) = number(answer, ANSWER_INODE) else { return };
        let info = answer.get(ANSWER..).and_then(|rest| plimsoll_netlink::attribute(rest, INET_DIAG_INFO));
        let since = |at| info.and_then(|info| number(info, at));
        let waits =
            since(INFO_LAST_SENT).zip(since(INFO_LAST_RECEIVED)).is_some_and(|(sent, got)| sent <= got);
        let is_connecting = answer.get(1).is_some_and(|state| usize::from(*state) == SYN_SENT);
        let end = End { inode, waits, is_connecting };
        found.extend(own.map(canonical).zip(peer.map(canonical)).map(|pair| (pair, end)));
    })?;
    Ok(found)
}

/// Turns an IPv4-mapped IPv6 address into its IPv4 address: dual-stack sockets report mapped ones.
fn canonical(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}

/// The inodes of the listening sockets of the calling thread's network namespace, by their address.
pub(crate) fn listening_sockets() -> io::Result<BTreeMap<SocketAddr, BTreeSet<u32>>> {
    let mut sockets: BTreeMap<SocketAddr, BTreeSet<u32>> = BTreeMap::new();
    diagnose(1 << LISTEN, 0, |answer| {
        if let (Some(address), Some(inode)) =
            (end(answer, ANSWER_PORT, ANSWER_ADDRESS), number(answer, ANSWER_INODE))
        {
            sockets.entry(canonical(address)).or_default().insert(inode);
        }
    })?;
    Ok(sockets)
}

/// Asks sock_diag for the sockets of a family and a protocol (linux/sock_diag.h), and bytes of `struct inet_diag_req_v2`.
const SOCK_DIAG_BY_FAMILY: u16 = 20;
const REQUEST_BY_FAMILY: usize = 56;
/// Where the port and the address of the peer stand in the answer, and the inode of the socket.
const ANSWER_PEER_PORT: usize = 6;
const ANSWER_PEER_ADDRESS: usize = 24;
const ANSWER_INODE: usize = 68;
/// Bytes of `struct inet_diag_msg`, which attributes follow: one of them is `struct tcp_info`, and the bit that asks for it.
pub(crate) const ANSWER: usize = 72;
pub(crate) const INET_DIAG_INFO: u16 = 2;
pub(crate) const ASK_INFO: u8 = 1 << (INET_DIAG_INFO - 1);
/// Where `struct tcp_info` has the time since data was sent last, and received last (linux/tcp.h).
const INFO_LAST_SENT: usize = 44;
const INFO_LAST_RECEIVED: usize = 52;
/// The port of name servers.
const DNS: u16 = 53;

/// A UDP socket.
pub(crate) struct UdpSocket {
    pub(crate) inode: u32,
    pub(crate) own: SocketAddr,
    /// Whom it is connected to.
    pub(crate) peer: Option<SocketAddr>,
}

/// The UDP sockets of a network namespace.
pub(crate) fn udp_sockets(diagnostics: &Socket) -> io::Result<Vec<UdpSocket>> {
    let mut sockets = Vec::new();
    for family in [libc::AF_INET, libc::AF_INET6] {
        let mut request = [0; REQUEST_BY_FAMILY];
        request[..2].copy_from_slice(&[family as u8, libc::IPPROTO_UDP as u8]);
        request[4..8].copy_from_slice(&ALL_STATES.to_ne_bytes());
        diagnostics.dump(SOCK_DIAG_BY_FAMILY, &request, |answer| {
            let own = end(answer, ANSWER_PORT, ANSWER_ADDRESS).map(canonical);
            let peer = end(answer, ANSWER_PEER_PORT, ANSWER_PEER_ADDRESS).map(canonical);
            let peer = peer.filter(|peer| peer.port() != 0);
            let socket = number(answer, ANSWER_INODE).zip(own);
            sockets.extend(socket.map(|(inode, own)| UdpSocket { inode, own, peer }));
        })?;
    }
    Ok(sockets)
}

/// How many UDP sockets of a network namespace wait for a name server: a resolver connects one for each question, and closes it with the answer.
pub(crate) fn open_questions(diagnostics: &Socket) -> io::Result<u64> {
    let asks = |it: &&UdpSocket| it.peer.is_some_and(|peer| peer.port() == DNS);
    Ok(udp_sockets(diagnostics)?.iter().filter(asks).count() as u64)
}

/// Hands each TCP socket of the calling thread's network namespace that is in these states to `each` as a `struct inet_diag_msg`, with the attributes
/// that the bits of `extensions` ask for.
pub(crate) fn diagnose(states: u32, extensions: u8, each: impl FnMut(&[u8])) -> io::Result<()> {
    diagnose_by(&diagnostics()?, states, extensions, each)
}

fn diagnose_by(diagnostics: &Socket, states: u32, extensions: u8, each: impl FnMut(&[u8])) -> io::Result<()> {
    let mut request = [0; REQUEST];
    request[REQUEST_EXTENSIONS] = extensions;
    request[REQUEST_STATES..REQUEST_STATES + 4].copy_from_slice(&states.to_ne_bytes());
    diagnostics.dump(TCPDIAG_GETSOCK, &request, each)
}

fn sockets_in(diagnostics: &Socket, states: u32) -> io::Result<TcpSockets> {
    let mut sockets = TcpSockets::default();
    diagnose_by(diagnostics, states, 0, |answer| {
        if let (Some(state), Some(queue)) = (answer.get(1), number(answer, ANSWER_RECEIVE_QUEUE)) {
            sockets.add(usize::from(*state), u64::from(queue));
            let listener = (usize::from(*state) == LISTEN)
                .then(|| end(answer, ANSWER_PORT, ANSWER_ADDRESS).zip(number(answer, ANSWER_SEND_QUEUE)));
            if let Some((address, limit)) = listener.flatten() {
                sockets.listeners.entry(address).or_default().add(queue, limit);
            }
        }
    })?;
    Ok(sockets)
}

fn number(answer: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(*answer.get(at..)?.first_chunk()?))
}

/// One end of a socket: its port and its address stand at these places.
fn end(answer: &[u8], port: usize, address: usize) -> Option<SocketAddr> {
    let port = u16::from_be_bytes(*answer.get(port..)?.first_chunk()?);
    let address = answer.get(address..)?;
    let ip = match i32::from(*answer.first()?) {
        libc::AF_INET => IpAddr::from(*address.first_chunk::<4>()?),
        _ => IpAddr::from(*address.first_chunk::<16>()?),
    };
    Some(SocketAddr::new(ip, port))
}

/// Reads `net/tcp` and `net/tcp6` below `proc`; the latter is missing where there is no IPv6.
pub(crate) fn sockets_in_files(proc: &Path) -> io::Result<TcpSockets> {
    let own = proc.join("thread-self/net");
    let net = if own.is_dir() { own } else { proc.join("net") };
    let mut sockets = TcpSockets::default();
    add_file(&mut sockets, &net.join("tcp"))?;
    match add_file(&mut sockets, &net.join("tcp6")) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(sockets),
    }
}

fn add_file(sockets: &mut TcpSockets, path: &Path) -> io::Result<()> {
    let mut lines = BufReader::with_capacity(64 << 10, File::open(path)?);
    let mut line = Vec::new();
    while lines.read_until(b'\n', &mut line)? > 0 {
        // sl local_address rem_address st tx_queue:rx_queue ...
        let mut words = str::from_utf8(&line).unwrap_or_default().split_ascii_whitespace().skip(3);
        let state = words.next().and_then(|word| usize::from_str_radix(word, 16).ok());
        let queue = words.next().and_then(|word| u64::from_str_radix(word.split_once(':')?.1, 16).ok());
        if let (Some(state), Some(queue)) = (state, queue) {
            sockets.add(state, queue);
        }
        line.clear();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    const TCP: &str = "\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 00000000:07E8 00000000:0000 0A 00000000:00000003 00:00000000 00000000     0        0 1075 1 0 100 0 0 10 0
   1: 020200C0:9FFE 507100CB:01BB 01 00000000:00000000 00:00000000 00000000     0        0 20153 1 0 21 4 17 31 -1
   2: 0100007F:0050 0100007F:9C40 06 00000000:00000000 03:00001770 00000000     0        0 0 3 0
   3: 0100007F:0050 0100007F:9C41 03 00000000:00000000 03:00001770 00000000     0        0 0 3 0
";

    #[test]
    fn the_files_are_counted_by_state_with_the_backlog_of_listeners() {
        let proc = tempfile::tempdir().expect("a directory");
        fs::create_dir(proc.path().join("net")).expect("a directory");
        fs::write(proc.path().join("net/tcp"), TCP).expect("a file");
        let sockets = sockets_in_files(proc.path()).expect("readable");
        let found: Vec<_> = sockets.by_state().filter(|(_, count)| *count > 0).collect();
        assert_eq!(found, [("established", 1), ("syn_recv", 1), ("time_wait", 1), ("listen", 1)]);
        assert_eq!((sockets.connections(true), sockets.connections(false), sockets.backlog), (3, 2, 3));
    }

    #[test]
    fn a_listener_is_known_with_the_backlog_that_it_asked_for() {
        use nix::sys::socket::{
            AddressFamily, Backlog, SockFlag, SockType, SockaddrIn, bind, getsockname, listen, socket,
        };
        use std::os::fd::AsRawFd;
        let socket =
            socket(AddressFamily::Inet, SockType::Stream, SockFlag::empty(), None).expect("a socket");
        bind(socket.as_raw_fd(), &SockaddrIn::new(127, 0, 0, 1, 0)).expect("a free port");
        listen(&socket, Backlog::new(37).expect("a backlog")).expect("it listens");
        let own: SockaddrIn = getsockname(socket.as_raw_fd()).expect("an address");
        let address = SocketAddr::from(([127, 0, 0, 1], own.port()));
        let own = listening(&diagnostics().unwrap()).expect("diagnostics")[&address];
        assert_eq!(own, Listening { sockets: 1, waiting: 0, longest: 0, limit: 37 });
    }

    #[test]
    fn a_question_to_a_name_server_counts_until_its_socket_is_closed() {
        let ask = |port: u16| {
            let socket = std::net::UdpSocket::bind("127.0.0.1:0").expect("a socket");
            socket.connect(("127.0.0.77", port)).expect("connected");
            socket
        };
        let diagnostics = diagnostics().unwrap();
        let before = open_questions(&diagnostics).expect("diagnostics");
        let sockets = [ask(DNS), ask(DNS), ask(5353)];
        // Other tests of this machine may ask as well.
        assert!(open_questions(&diagnostics).expect("diagnostics") >= before.min(1) + 2);
        drop(sockets);
    }

    #[test]
    fn one_queue_of_several_that_has_all_is_as_uneven_as_can_be() {
        let of = |queues: &[u32]| {
            let mut all = Listening::default();
            queues.iter().for_each(|waiting| all.add(*waiting, 128));
            all.excess()
        };
        assert_eq!([of(&[8, 0, 0, 0]), of(&[2, 2, 2, 2]), of(&[9]), of(&[])], [8.0, 0.0, 0.0, 0.0]);
        assert!((of(&[6, 2]) - 4.0).abs() < 1e-9, "half of what could be");
    }

    #[test]
    fn a_namespace_without_the_file_is_an_error() {
        let proc = tempfile::tempdir().expect("a directory");
        sockets_in_files(proc.path()).expect_err("no file");
    }
}
