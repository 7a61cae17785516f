//! Which local programs serve others: they have the other end of a connection, or listen where that was made. Servers ask others in turn, which serve as well.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};

use crate::connections::{End, UdpSocket, diagnostics, ends, listening_sockets, udp_sockets};
use crate::small_file;
use crate::tree::ProcessTree;
use crate::unix_sockets::{self, UnixSocket};
use crate::wakers::Wakers;

/// The most processes whose sockets are looked at, and the most open files of each.
const MOST_CLIENTS: usize = 64;
const MOST_FILES: usize = 256;
/// The first process of a machine, and the program that listens for services which are not started yet: all others are below these.
const INIT: u32 = 1;
const SERVICE_MANAGER: &str = "systemd";
/// How often two processes must have woken each other for one to serve the other. A server that is busy is woken seldom.
const LEAST_WAKES: u64 = 3;
/// How many looks there are for one after which wake-ups are seen until the next. They are seen from each beginning of a run to its first look as well.
const WAKERS_EVERY: u32 = 4;

/// Finds the servers of a process and its children, and the servers of those, by the sockets that these have open, and by who wakes whom.
pub struct Servers {
    clients: u32,
    /// Absent where the kernel does not allow it.
    wakers: Option<Wakers>,
    looks: u32,
    /// How often clients, by their names, have woken processes, and were woken by them.
    woken: BTreeMap<(String, u32), [u64; 2]>,
    /// Sockets whose owners were asked for.
    known: BTreeSet<u32>,
    servers: BTreeSet<u32>,
    found: ServerLooks,
}

/// What looks have found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerLooks {
    /// Processes that serve and were not known.
    pub pids: BTreeSet<u32>,
    /// Connections on which a program waited for an answer of another one, summed over looks, by the names of both. A Unix socket counts while it is open.
    /// Who does not answer a SYN has its address for a name.
    pub asked: BTreeMap<(String, String), u64>,
}

/// The ends of TCP connections, by their own address and the peer's.
type Ends = BTreeMap<(SocketAddr, SocketAddr), End>;

/// A socket of a client.
struct Link {
    client: u32,
    /// Sockets that may have its server: the other end, and those that listen there.
    serving: Vec<u32>,
    waits: bool,
}

impl Servers {
    /// None of this process are known yet.
    #[must_use]
    pub fn of(clients: u32) -> Self {
        let (known, servers) = (BTreeSet::new(), BTreeSet::new());
        let (woken, found) = (BTreeMap::new(), ServerLooks::default());
        Self { clients, wakers: None, looks: 0, woken, known, servers, found }
    }

    /// Sees who wakes whom on the whole machine as well, where the kernel allows it.
    #[must_use]
    pub fn with_wakers(self) -> Self {
        Self { wakers: Wakers::open().ok(), ..self }
    }

    /// A run begins. A server that is busy later is woken now.
    pub fn begin(&mut self) {
        self.wakers.take_if(|wakers| wakers.begin().is_err());
    }

    /// A run ends. No wake-up is seen until the next one begins.
    pub fn end(&mut self) {
        self.wakers.as_mut().map(Wakers::end);
    }

    /// Looks at the sockets of the calling thread's network namespace. A connection must be there at this moment to be seen.
    ///
    /// # Errors
    /// The kernel has no socket diagnostics, or refuses them.
    pub fn look(&mut self) -> io::Result<()> {
        let tree = |pid: &u32| ProcessTree::take(Path::new("/"), *pid).pids;
        // The lab's own connections are no part of what it measures.
        let is_other = |pid: &u32| *pid != std::process::id();
        let command = tree(&self.clients);
        let servers = self.servers.iter().copied().filter(is_other).flat_map(|pid| tree(&pid));
        let clients: BTreeSet<u32> =
            command.iter().copied().filter(is_other).chain(servers).take(MOST_CLIENTS).collect();
        let mut waiting = self.look_at_wakers(&clients);
        let own: BTreeMap<u32, u32> =
            clients.into_iter().flat_map(|pid| sockets(pid).map(move |socket| (socket, pid))).collect();
        let found = if own.is_empty() { BTreeSet::new() } else { self.look_at_sockets(&own, &mut waiting)? };
        let found: BTreeSet<u32> = found.difference(&command).copied().collect();
        self.servers.extend(&found);
        self.found.pids.extend(found);
        for asked in waiting {
            *self.found.asked.entry(asked).or_default() += 1;
        }
        Ok(())
    }

    /// Looks at these sockets and their processes. What is known of a program from its sockets is not counted once more.
    fn look_at_sockets(
        &mut self,
        own: &BTreeMap<u32, u32>,
        waiting: &mut BTreeSet<(String, String)>,
    ) -> io::Result<BTreeSet<u32>> {
        let mut links = by_unix(own)?;
        let ends = ends()?;
        let silent = unanswered(own, &ends).into_iter();
        let mut asked: Vec<_> = silent.map(|(client, address)| (name(client), address.to_string())).collect();
        links.extend(by_tcp(own, &ends)?);
        links.extend(by_udp(own)?);
        let mut unknown = BTreeSet::new();
        for Link { client, serving, waits } in links {
            match serving.iter().find_map(|socket| own.get(socket)) {
                Some(server) => {
                    let of = (name(own[&client]), name(*server));
                    waiting.remove(&of);
                    asked.extend(waits.then_some(of));
                }
                None if !serving.iter().any(|socket| self.known.contains(socket)) => unknown.extend(serving),
                None => {}
            }
        }
        for asked in asked {
            *self.found.asked.entry(asked).or_default() += 1;
        }
        self.known.extend(&unknown);
        Ok(owners(&unknown))
    }

    /// Who was woken by servers since the last look, and by whom, by the names of both. Servers that were not known count as found.
    fn look_at_wakers(&mut self, clients: &BTreeSet<u32>) -> BTreeSet<(String, String)> {
        let Some(wakers) = &mut self.wakers else { return BTreeSet::new() };
        let wakes = wakers.end();
        let names = clients.iter().flat_map(|pid| names(*pid)).collect();
        let is_due = self.looks.is_multiple_of(WAKERS_EVERY);
        self.looks += 1;
        if wakers.look_for(names).is_err() || is_due && wakers.begin().is_err() {
            self.wakers = None;
        }
        let mut answered = BTreeSet::new();
        for ((waker, thread), times) in wakes {
            let Some(woken) = process_of(thread) else { continue };
            let (asks, answers) = ((name(waker), woken), (name(woken), waker));
            // Where both were clients before anybody saw one serve the other, nothing shows who asks.
            let is_known = |pair| self.woken.contains_key(pair);
            let [from_client, to_client] = [waker, woken].map(|pid| clients.contains(&pid));
            if to_client && (!from_client || is_known(&answers)) {
                self.woken.entry(answers.clone()).or_default()[1] += times;
                answered.insert(answers);
            } else if from_client && (!to_client || is_known(&asks)) {
                self.woken.entry(asks).or_default()[0] += times;
            }
        }
        let serves = |pair: &(String, u32)| self.woken[pair].iter().all(|times| *times >= LEAST_WAKES);
        let serving = answered.into_iter().filter(|pair| serves(pair) && is_program(pair.1));
        let waiting: Vec<(String, u32)> = serving.collect();
        self.found.pids.extend(waiting.iter().map(|(_, server)| *server).filter(|it| !clients.contains(it)));
        self.servers.extend(&self.found.pids);
        waiting.into_iter().map(|(client, server)| (client, name(server))).collect()
    }

    /// Takes what was found since the last call.
    pub fn take(&mut self) -> ServerLooks {
        std::mem::take(&mut self.found)
    }
}

/// The connections of these Unix sockets. A client has no name.
fn by_unix(own: &BTreeMap<u32, u32>) -> io::Result<Vec<Link>> {
    let all = unix_sockets::all()?;
    let listeners: Vec<(&u32, &UnixSocket)> = all.iter().filter(|(_, it)| it.queue.is_some()).collect();
    let listening = |is_it: &dyn Fn(&UnixSocket) -> bool| {
        listeners.iter().filter(|(_, it)| is_it(it)).map(|(inode, _)| **inode).collect::<Vec<u32>>()
    };
    let link = |client: &u32| {
        let socket = all.get(client).filter(|it| it.name.is_none())?;
        let serving = match socket.peer {
            // The server has not accepted it.
            None => listening(&|it| it.waiting.contains(client)),
            Some(peer) => match all.get(&peer) {
                // The server is in another network namespace.
                None => vec![peer],
                // One of a pair, as a parent makes them for its child.
                Some(UnixSocket { name: None, .. }) => return None,
                Some(server) => {
                    let mut serving = listening(&|it| it.name == server.name);
                    serving.push(peer);
                    serving
                }
            },
        };
        Some(Link { client: *client, serving, waits: true })
    };
    Ok(own.keys().filter_map(link).collect())
}

/// Who of these waits until a SYN is answered, and the address that it was sent to.
fn unanswered(own: &BTreeMap<u32, u32>, ends: &Ends) -> Vec<(u32, SocketAddr)> {
    let waiting = ends.iter().filter(|(_, end)| end.is_connecting);
    waiting.filter_map(|((_, remote), end)| Some((*own.get(&end.inode)?, *remote))).collect()
}

/// The connections of these TCP sockets, if the other end is in this namespace as well.
fn by_tcp(own: &BTreeMap<u32, u32>, ends: &Ends) -> io::Result<Vec<Link>> {
    let listening = listening_sockets()?;
    let listens_at = |address: &SocketAddr| {
        places(*address).filter_map(|place| listening.get(&place)).flatten().copied().collect::<Vec<u32>>()
    };
    let link = |(pair, end): (&(SocketAddr, SocketAddr), &End)| {
        let (local, remote) = pair;
        let is_client = own.contains_key(&end.inode) && listens_at(local).is_empty();
        let peer = ends.get(&(*remote, *local)).filter(|_| is_client)?;
        let mut serving = listens_at(remote);
        // Who has inherited a connection has no listener.
        serving.extend((peer.inode != 0 && !serving.is_empty()).then_some(peer.inode));
        Some(Link { client: end.inode, serving, waits: end.waits })
    };
    Ok(ends.iter().filter_map(link).collect())
}

/// The connected ones of these UDP sockets. Who serves them waits for datagrams of anybody.
fn by_udp(own: &BTreeMap<u32, u32>) -> io::Result<Vec<Link>> {
    let all = udp_sockets(&diagnostics()?)?;
    let link = |socket: &UdpSocket| {
        let peer = socket.peer.filter(|_| own.contains_key(&socket.inode))?;
        let serves = |it: &&UdpSocket| it.peer.is_none() && places(peer).any(|place| place == it.own);
        let serving = all.iter().filter(serves).map(|it| it.inode).collect();
        Some(Link { client: socket.inode, serving, waits: true })
    };
    Ok(all.iter().filter_map(link).collect())
}

/// Where a server may be bound that an address leads to: there, or to all addresses of a family. One of IPv6 takes IPv4 as well.
fn places(address: SocketAddr) -> impl Iterator<Item = SocketAddr> {
    let of_all = [IpAddr::from(Ipv4Addr::UNSPECIFIED), IpAddr::from(Ipv6Addr::UNSPECIFIED)];
    of_all.into_iter().chain([address.ip()]).map(move |ip| SocketAddr::new(ip, address.port()))
}

/// What a process is called; nothing where it has ended.
fn name(pid: u32) -> String {
    let name = small_file::text(Path::new(&format!("/proc/{pid}/comm"))).unwrap_or_default();
    name.trim_end().to_owned()
}

/// What the threads of a process are called.
fn names(pid: u32) -> impl Iterator<Item = String> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten().take(MOST_FILES);
    threads.filter_map(|thread| {
        let name = small_file::text(&thread.path().join("comm")).ok()?;
        Some(name.trim_end().to_owned())
    })
}

/// The process of a thread.
fn process_of(thread: u32) -> Option<u32> {
    let status = small_file::text(Path::new(&format!("/proc/{thread}/status"))).ok()?;
    status.lines().find_map(|line| line.strip_prefix("Tgid:"))?.trim().parse().ok()
}

/// Whether a process may serve others: it is no thread of the kernel, and neither the lab nor what starts services.
fn is_program(pid: u32) -> bool {
    let is_of_kernel = fs::read_link(format!("/proc/{pid}/exe")).is_err();
    !is_of_kernel && pid != std::process::id() && !is_manager(pid)
}

fn is_manager(pid: u32) -> bool {
    pid == INIT || name(pid) == SERVICE_MANAGER
}

/// The inodes of the sockets that a process has open.
fn sockets(pid: u32) -> impl Iterator<Item = u32> {
    let folder = PathBuf::from(format!("/proc/{pid}/fd"));
    let files = fs::read_dir(folder).into_iter().flatten().flatten().take(MOST_FILES);
    files.filter_map(|file| {
        let link = fs::read_link(file.path()).ok()?;
        link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()
    })
}

/// The processes that have one of these sockets open.
fn owners(wanted: &BTreeSet<u32>) -> BTreeSet<u32> {
    if wanted.is_empty() {
        return BTreeSet::new();
    }
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|pid| sockets(*pid).any(|inode| wanted.contains(&inode)) && !is_manager(*pid)).collect()
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream, UdpSocket};
    use std::os::fd::{AsRawFd, OwnedFd};
    use std::os::linux::net::SocketAddrExt;
    use std::os::unix::net::{SocketAddr as UnixAddress, UnixListener, UnixStream};
    use std::process::{Child, Command, Stdio};
    use std::thread;
    use std::time::{Duration, Instant};

    use nix::sys::socket::{
        AddressFamily, Backlog, SockFlag, SockType, SockaddrIn, bind, connect, getsockname, listen, socket,
    };

    use super::*;

    /// A child whose only socket is this one. Other tests open more files in this process than are looked at.
    fn holder(socket: impl Into<OwnedFd>) -> Child {
        Command::new("sleep").arg("60").stdin(Stdio::from(socket.into())).spawn().unwrap()
    }

    fn servers_of(child: &Child) -> BTreeSet<u32> {
        let mut servers = Servers::of(child.id());
        servers.look().unwrap();
        servers.take().pids
    }

    fn end(mut child: Child) {
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn who_listens_on_the_unix_socket_of_a_client_serves_it() {
        let folder = tempfile::tempdir().unwrap();
        let listen = |name: &str| {
            let path = folder.path().join(name);
            let listener = UnixListener::bind(&path).unwrap();
            (listener, holder(UnixStream::connect(path).unwrap()))
        };
        let (listener, waiting) = listen("waiting");
        let server = holder(listener);
        assert_eq!(servers_of(&waiting), [server.id()].into(), "its connection waits to be accepted");
        let (listener, child) = listen("accepted");
        let accepted = holder(listener.accept().unwrap().0);
        drop(listener);
        assert_eq!(servers_of(&child), [accepted.id()].into(), "its end of the connection");
        end(accepted);
        assert!(servers_of(&child).is_empty());
        [waiting, server, child].into_iter().for_each(end);
    }

    #[test]
    fn who_is_bound_where_a_udp_socket_is_connected_to_serves_it() {
        let [server, stranger] = [(); 2].map(|()| UdpSocket::bind("0.0.0.0:0").unwrap());
        let asking = UdpSocket::bind("127.0.0.1:0").unwrap();
        asking.connect(("127.0.0.1", server.local_addr().unwrap().port())).unwrap();
        let [server, child, other] = [server, asking, stranger].map(holder);
        assert_eq!(servers_of(&child), [server.id()].into());
        assert!(servers_of(&other).is_empty(), "its socket has no peer");
        end(server);
        assert!(servers_of(&child).is_empty(), "the server has closed its socket");
        [child, other].into_iter().for_each(end);
    }

    #[test]
    fn a_pair_of_sockets_makes_no_server_of_the_parent() {
        let (kept, passed) = UnixStream::pair().unwrap();
        let child = holder(passed);
        assert!(servers_of(&child).is_empty());
        end(child);
        drop(kept);
    }

    #[test]
    fn a_listener_that_only_strangers_use_serves_no_command() {
        let used = TcpListener::bind("127.0.0.1:0").unwrap();
        let stranger = TcpStream::connect(used.local_addr().unwrap()).unwrap();
        let idle = Command::new("sleep").arg("60").stdin(Stdio::null()).spawn().unwrap();
        assert!(servers_of(&idle).is_empty(), "its port has a connection, of another program");
        end(idle);
        let (child, server) = (holder(stranger), holder(used));
        assert_eq!(servers_of(&child), [server.id()].into());
        [child, server].into_iter().for_each(end);
    }

    #[test]
    fn who_answers_through_pipes_serves_and_a_stranger_that_computes_does_not() {
        let mut stranger = Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
        let mut server = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let asks = "while :; do echo question; read answer; done";
        let mut asking = Command::new("sh")
            .args(["-c", asks])
            .stdin(server.stdout.take().unwrap())
            .stdout(server.stdin.take().unwrap())
            .spawn()
            .unwrap();
        let mut servers = Servers::of(asking.id()).with_wakers();
        let end = Instant::now() + Duration::from_secs(10);
        let mut found = ServerLooks::default();
        while found.asked.is_empty() && Instant::now() < end {
            servers.look().unwrap();
            thread::sleep(Duration::from_millis(20));
            let ServerLooks { pids, asked } = servers.take();
            found.pids.extend(pids);
            found.asked.extend(asked);
        }
        let asked: Vec<_> = found.asked.into_keys().collect();
        assert_eq!((found.pids, asked), ([server.id()].into(), vec![("sh".to_owned(), "cat".to_owned())]));
        for child in [&mut asking, &mut server, &mut stranger] {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    #[test]
    fn the_client_of_a_command_is_no_server() {
        let name = format!("plimsoll-test-{}", std::process::id());
        let listener = UnixListener::bind_addr(&UnixAddress::from_abstract_name(name).unwrap()).unwrap();
        let stranger = UnixStream::connect_addr(&listener.local_addr().unwrap()).unwrap();
        let (accepted, _) = listener.accept().unwrap();
        let child = holder(accepted);
        assert!(servers_of(&child).is_empty());
        end(child);
        drop(stranger);
    }

    #[test]
    fn the_server_of_a_server_is_found_and_who_waits_for_whom() {
        let [proxy, database] = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
        let to = |listener: &TcpListener| TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let mut question = to(&proxy);
        let (accepted, _) = proxy.accept().unwrap();
        io::Write::write_all(&mut question, b"?").unwrap();
        let asking = holder(question);
        let proxying = Command::new("tail")
            .args(["-f", "/dev/null"])
            .stdin(OwnedFd::from(accepted))
            .stdout(OwnedFd::from(proxy))
            .stderr(OwnedFd::from(to(&database)))
            .spawn()
            .unwrap();
        let database = holder(database);
        let mut servers = Servers::of(asking.id());
        servers.look().unwrap();
        assert_eq!(servers.take(), ServerLooks { pids: [proxying.id()].into(), ..ServerLooks::default() });
        servers.look().unwrap();
        let asked = [(("sleep".to_owned(), "tail".to_owned()), 1)];
        assert_eq!(servers.take(), ServerLooks { pids: [database.id()].into(), asked: asked.into() });
        [asking, proxying, database].into_iter().for_each(end);
    }

    #[test]
    fn who_does_not_answer_a_syn_is_known_by_its_address() {
        // A queue for one connection, which is full: Linux drops further SYNs (tcp_conn_request).
        let open = |flags| {
            socket(AddressFamily::Inet, SockType::Stream, SockFlag::SOCK_CLOEXEC | flags, None).unwrap()
        };
        let server = open(SockFlag::empty());
        bind(server.as_raw_fd(), &SockaddrIn::new(127, 0, 0, 1, 0)).unwrap();
        listen(&server, Backlog::new(0).unwrap()).unwrap();
        let address: SockaddrIn = getsockname(server.as_raw_fd()).unwrap();
        let connect_one = || {
            let one = open(SockFlag::SOCK_NONBLOCK);
            let _ = connect(one.as_raw_fd(), &address);
            one
        };
        let _queued = [(); 3].map(|()| connect_one());
        let child = holder(connect_one());
        let mut servers = Servers::of(child.id());
        servers.look().unwrap();
        let asked = (("sleep".to_owned(), format!("127.0.0.1:{}", address.port())), 1);
        assert_eq!(servers.take().asked, [asked].into());
        end(child);
    }

    #[test]
    fn a_server_is_reported_once() {
        let listener = TcpListener::bind("[::]:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let child = holder(TcpStream::connect(("127.0.0.1", port)).unwrap());
        let server = holder(listener);
        let mut servers = Servers::of(child.id());
        servers.look().unwrap();
        assert_eq!(servers.take().pids, [server.id()].into(), "over IPv4 to a listener of both families");
        servers.look().unwrap();
        assert!(servers.take().pids.is_empty());
        [child, server].into_iter().for_each(end);
    }
}
