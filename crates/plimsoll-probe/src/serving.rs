//! Which local programs serve others: they have the other end of a connection, or listen where that was made.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};

use crate::connections::{ends, listening_sockets};
use crate::tree::ProcessTree;
use crate::unix_sockets;

/// The most processes whose sockets are looked at, and the most open files of each.
const MOST_CLIENTS: usize = 64;
const MOST_FILES: usize = 256;
/// The first process of a machine, and the program that listens for services which are not started yet: all others are below these.
const INIT: u32 = 1;
const SERVICE_MANAGER: &str = "systemd";

/// Finds the servers of a process and its children, by the sockets that these have open.
#[derive(Clone, Debug)]
pub struct Servers {
    clients: u32,
    /// Sockets whose owners were asked for.
    known: BTreeSet<u32>,
    pids: BTreeSet<u32>,
}

impl Servers {
    /// None of this process are known yet.
    #[must_use]
    pub fn of(clients: u32) -> Self {
        Self { clients, known: BTreeSet::new(), pids: BTreeSet::new() }
    }

    /// Looks at the sockets of the calling thread's network namespace. A connection must be there at this moment to be seen.
    ///
    /// # Errors
    /// The kernel has no socket diagnostics, or refuses them.
    pub fn look(&mut self) -> io::Result<()> {
        let tree = ProcessTree::take(Path::new("/"), self.clients).pids;
        // The lab's own connections are no part of what it measures.
        let clients = tree.iter().filter(|pid| **pid != std::process::id()).take(MOST_CLIENTS);
        let own: BTreeSet<u32> = clients.flat_map(|pid| sockets(*pid)).collect();
        if own.is_empty() {
            return Ok(());
        }
        let mut serving = by_unix(&own)?;
        serving.extend(by_tcp(&own)?);
        serving.retain(|socket| !own.contains(socket) && self.known.insert(*socket));
        self.pids.extend(owners(&serving).difference(&tree));
        Ok(())
    }

    /// Takes the processes that were found since the last call.
    pub fn take(&mut self) -> BTreeSet<u32> {
        std::mem::take(&mut self.pids)
    }
}

/// The sockets at the other end of these Unix sockets, and those that listen under the same name. A client has no name.
fn by_unix(own: &BTreeSet<u32>) -> io::Result<BTreeSet<u32>> {
    let all = unix_sockets::all()?;
    let has_client = |listener: &unix_sockets::UnixSocket| listener.waiting.iter().any(|it| own.contains(it));
    let listeners = all.iter().filter(|(_, it)| has_client(it)).map(|(inode, _)| *inode);
    let mut serving: BTreeSet<u32> = listeners.collect();
    for client in own.iter().filter_map(|inode| all.get(inode)).filter(|it| it.name.is_none()) {
        let Some(peer) = client.peer else { continue };
        match all.get(&peer) {
            // One of a pair, as a parent makes them for its child.
            Some(server) if server.name.is_none() => {}
            Some(server) => {
                let is_listener = |it: &&u32| all[*it].queue.is_some() && all[*it].name == server.name;
                serving.extend(all.keys().filter(is_listener));
                serving.insert(peer);
            }
            // The server is in another network namespace.
            None => drop(serving.insert(peer)),
        }
    }
    Ok(serving)
}

/// The sockets that listen where these TCP sockets are connected to, if the other end is in this namespace as well.
fn by_tcp(own: &BTreeSet<u32>) -> io::Result<BTreeSet<u32>> {
    let (listening, ends) = (listening_sockets()?, ends()?);
    let pairs: BTreeMap<(SocketAddr, SocketAddr), u32> =
        ends.into_iter().map(|(inode, pair)| (pair, inode)).collect();
    let (mut serving, listening) = (BTreeSet::new(), &listening);
    for ((local, remote), _) in pairs.iter().filter(|(_, inode)| own.contains(inode)) {
        // A listener may be on one address, or on all of a family, and that of IPv6 takes IPv4 as well.
        let listens_at = |address: SocketAddr| {
            let of_all = [IpAddr::from(Ipv4Addr::UNSPECIFIED), IpAddr::from(Ipv6Addr::UNSPECIFIED)];
            let addresses = of_all.into_iter().chain([address.ip()]);
            let at = addresses.map(move |ip| SocketAddr::new(ip, address.port()));
            at.filter_map(move |address| listening.get(&address)).flatten()
        };
        let is_client = listens_at(*local).next().is_none();
        if is_client && pairs.contains_key(&(*remote, *local)) {
            serving.extend(listens_at(*remote));
        }
    }
    Ok(serving)
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
    let is_manager = |pid: u32| {
        let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        pid == INIT || name.trim_end() == SERVICE_MANAGER
    };
    pids.filter(|pid| sockets(*pid).any(|inode| wanted.contains(&inode)) && !is_manager(*pid)).collect()
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::OwnedFd;
    use std::os::linux::net::SocketAddrExt;
    use std::os::unix::net::{SocketAddr as UnixAddress, UnixListener, UnixStream};
    use std::process::{Child, Command, Stdio};

    use super::*;

    /// A child whose only connection is this one.
    fn client(connection: impl Into<OwnedFd>) -> Child {
        Command::new("sleep").arg("60").stdin(Stdio::from(connection.into())).spawn().unwrap()
    }

    fn servers_of(child: &Child) -> BTreeSet<u32> {
        let mut servers = Servers::of(child.id());
        servers.look().unwrap();
        servers.take()
    }

    fn end(mut child: Child) {
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn who_listens_on_the_unix_socket_of_a_client_serves_it() {
        let folder = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(folder.path().join("served")).unwrap();
        let child = client(UnixStream::connect(folder.path().join("served")).unwrap());
        // The listener alone is found while the connection waits to be accepted.
        assert_eq!(servers_of(&child), [std::process::id()].into());
        let (accepted, _) = listener.accept().unwrap();
        drop(listener);
        assert_eq!(servers_of(&child), [std::process::id()].into(), "its end of the connection");
        drop(accepted);
        assert!(servers_of(&child).is_empty());
        end(child);
    }

    #[test]
    fn a_pair_of_sockets_makes_no_server_of_the_parent() {
        let (kept, passed) = UnixStream::pair().unwrap();
        let child = client(passed);
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
        let child = client(stranger);
        assert_eq!(servers_of(&child), [std::process::id()].into());
        end(child);
    }

    #[test]
    fn the_client_of_a_command_is_no_server() {
        let name = format!("plimsoll-test-{}", std::process::id());
        let listener = UnixListener::bind_addr(&UnixAddress::from_abstract_name(name).unwrap()).unwrap();
        let stranger = UnixStream::connect_addr(&listener.local_addr().unwrap()).unwrap();
        let (accepted, _) = listener.accept().unwrap();
        let child = client(accepted);
        assert!(servers_of(&child).is_empty());
        end(child);
        drop(stranger);
    }

    #[test]
    fn a_server_is_reported_once() {
        let listener = TcpListener::bind("[::]:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let child = client(TcpStream::connect(("127.0.0.1", port)).unwrap());
        let mut servers = Servers::of(child.id());
        servers.look().unwrap();
        assert_eq!(servers.take(), [std::process::id()].into(), "over IPv4 to a listener of both families");
        servers.look().unwrap();
        assert!(servers.take().is_empty());
        end(child);
    }
}
