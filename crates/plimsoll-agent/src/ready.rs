//! Readiness of a service: its loads' addresses can reach it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use nix::unistd::Pid;
use plimsoll_model::experiment::Ready;
use plimsoll_model::frame::{Approach, Failure, FromAgent, Id, ServiceSpec};

use crate::outbox::Outbox;

/// Time between two attempts to reach a service that is not ready yet.
pub(crate) const POLL: Duration = Duration::from_millis(10);
/// How long one such attempt may take.
pub(crate) const ATTEMPT: Duration = Duration::from_secs(1);
/// The state of a socket that listens, in `/proc/net/tcp` (`TCP_LISTEN`, include/net/tcp_states.h).
const LISTENS: &str = "0A";

/// Address of an attempt, and the address that it comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Door {
    pub(crate) at: SocketAddr,
    /// Source address of the loads, if it is known.
    pub(crate) from: Option<IpAddr>,
}

/// All doors of a service that listens on these addresses: each port at each address at which somebody reaches it.
pub(crate) fn doors(listen: &[SocketAddr], approaches: &[Approach]) -> Vec<Door> {
    if approaches.is_empty() {
        return listen.iter().map(|&at| Door { at, from: None }).collect();
    }
    let of_port = |address: &SocketAddr| {
        let port = address.port();
        approaches.iter().map(move |way| Door { at: SocketAddr::new(way.at, port), from: Some(way.from) })
    };
    listen.iter().flat_map(of_port).collect()
}

/// One attempt at each door. The error has the first closed door and its reason.
pub(crate) fn try_all(doors: &[Door], ready: &Ready) -> Result<(), (Door, String)> {
    doors.iter().try_for_each(|door| reach(door.at, ready).map_err(|met| (*door, met)))
}

/// Tries to reach a service of another host until that succeeds or the time is over, in a thread of its own.
pub(crate) fn reach_from_here(outbox: Outbox, id: Id, targets: Vec<SocketAddr>, ready: Ready) {
    thread::spawn(move || match wait(&doors(&targets, &[]), &ready) {
        Ok(()) => outbox.send_or_drop(&FromAgent::Done { id }),
        Err((waited_ms, last)) => {
            let why = Failure::NotReady { waited_ms, last, stderr: String::new() };
            outbox.send_or_drop(&FromAgent::Failed { id: Some(id), why });
        }
    });
}

/// Waits for a server that runs already, in a thread of its own.
pub(crate) fn meet(outbox: Outbox, id: Id, spec: ServiceSpec) {
    thread::spawn(move || match wait(&doors(&spec.listen, &spec.approaches), &spec.ready) {
        Ok(()) => outbox.send_or_drop(&FromAgent::Ready { id, listen: spec.listen }),
        Err((waited_ms, last)) => {
            let why = Failure::NotRunning { waited_ms, last };
            outbox.send_or_drop(&FromAgent::Failed { id: Some(id), why });
        }
    });
}

/// Tries all doors until each opens or the time is over. The error has the milliseconds and the reason of the last attempt.
fn wait(doors: &[Door], ready: &Ready) -> Result<(), (u64, String)> {
    let start = Instant::now();
    while let Err((_, last)) = try_all(doors, ready) {
        if start.elapsed() >= ready.within.0 {
            return Err((millis(start.elapsed()), last));
        }
        thread::sleep(POLL);
    }
    Ok(())
}

/// Addresses that listen on the port of `at`, but not at its address; `None` if there are none, or if the address itself listens.
pub(crate) fn listens_elsewhere(at: SocketAddr) -> Option<Vec<SocketAddr>> {
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"].map(|file| fs::read_to_string(file).unwrap_or_default());
    elsewhere(at, tables.iter().flat_map(|table| listening(table)).map(|(address, _)| address))
}

/// Listening addresses of a process and its descendants, as far as the kernel shows their sockets to this user.
pub(crate) fn listens(root: Pid) -> Vec<SocketAddr> {
    let sockets: BTreeSet<u64> = descendants(root.as_raw()).into_iter().flat_map(sockets_of).collect();
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"].map(|file| fs::read_to_string(file).unwrap_or_default());
    let own = tables.iter().flat_map(|table| listening(table)).filter(|(_, inode)| sockets.contains(inode));
    own.map(|(address, _)| address).collect::<BTreeSet<_>>().into_iter().collect()
}

/// A process and all that it started, by the parents that the kernel names.
fn descendants(root: i32) -> Vec<i32> {
    let mut children: BTreeMap<i32, Vec<i32>> = BTreeMap::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let process = entry.file_name().to_str().and_then(|name| name.parse().ok());
        let stat = fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        let parent =
            stat.rsplit_once(')').and_then(|(_, rest)| rest.split_ascii_whitespace().nth(1)?.parse().ok());
        if let (Some(process), Some(parent)) = (process, parent) {
            children.entry(parent).or_default().push(process);
        }
    }
    let mut found = vec![root];
    let mut next = 0;
    while let Some(of) = found.get(next) {
        found.extend(children.remove(of).into_iter().flatten());
        next += 1;
    }
    found
}

/// The inodes of a process's sockets.
fn sockets_of(process: i32) -> Vec<u64> {
    let files = fs::read_dir(Path::new("/proc").join(process.to_string()).join("fd"));
    let targets = files.into_iter().flatten().flatten().filter_map(|file| fs::read_link(file.path()).ok());
    targets
        .filter_map(|target| target.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok())
        .collect()
}

fn elsewhere(at: SocketAddr, listening: impl Iterator<Item = SocketAddr>) -> Option<Vec<SocketAddr>> {
    let mut here: Vec<SocketAddr> = listening.filter(|address| address.port() == at.port()).collect();
    here.sort_unstable();
    here.dedup();
    let serves = |address: &SocketAddr| address.ip().is_unspecified() || address.ip() == at.ip();
    (!here.is_empty() && !here.iter().any(serves)).then_some(here)
}

/// Listening addresses in a table of sockets, with the sockets' inodes (proc_pid_net(5)).
fn listening(table: &str) -> impl Iterator<Item = (SocketAddr, u64)> + '_ {
    table.lines().skip(1).filter_map(|line| {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        let [_, local, _, state, _, _, _, _, _, inode, ..] = fields.as_slice() else { return None };
        Some((address(local).filter(|_| *state == LISTENS)?, inode.parse().ok()?))
    })
}

/// `0100007F:1F90`: each four bytes of the address as a number of the machine's byte order, and the port.
fn address(text: &str) -> Option<SocketAddr> {
    let (address, port) = text.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let mut bytes = Vec::new();
    for word in 0..address.len() / 8 {
        let word = u32::from_str_radix(address.get(8 * word..8 * word + 8)?, 16).ok()?;
        bytes.extend(word.to_ne_bytes());
    }
    let address = match bytes.len() {
        4 => IpAddr::V4(Ipv4Addr::from(<[u8; 4]>::try_from(bytes).ok()?)),
        16 => IpAddr::V6(Ipv6Addr::from(<[u8; 16]>::try_from(bytes).ok()?)),
        _ => return None,
    };
    Some(SocketAddr::new(address, port))
}

/// One attempt to reach a service. The error is the reason.
fn reach(address: SocketAddr, ready: &Ready) -> Result<(), String> {
    let at = |error: io::Error| format!("{address}: {error}");
    let mut stream = TcpStream::connect_timeout(&address, ATTEMPT).map_err(at)?;
    let Some(path) = &ready.http else { return Ok(()) };
    stream.set_read_timeout(Some(ATTEMPT)).map_err(at)?;
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").map_err(at)?;
    let mut line = String::new();
    BufReader::new(stream.take(4096)).read_line(&mut line).map_err(at)?;
    match line.split_whitespace().nth(1) {
        Some("200") => Ok(()),
        _ => Err(format!("{address}: GET {path} was answered with `{}`", line.trim())),
    }
}

/// Whole milliseconds.
pub(crate) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str =
        "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1 1 0 100 0 0 10 0
   1: 0200000A:1F90 0100000A:C350 01 00000000:00000000 00:00000000 00000000     0        0 2 1 0 100 0 0 10 0
   2: 00000000:0016 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 3 1 0 100 0 0 10 0
";

    #[test]
    fn a_port_that_is_open_on_another_address_only_is_reported() {
        let at = |text: &str| elsewhere(text.parse().unwrap(), listening(TABLE).map(|(address, _)| address));
        assert_eq!(at("10.0.0.2:8080"), Some(vec!["127.0.0.1:8080".parse().unwrap()]));
        assert_eq!(at("127.0.0.1:8080"), None, "it is reached there");
        assert_eq!(at("10.0.0.2:22"), None, "every address is listened on");
        assert_eq!(at("10.0.0.2:80"), None, "nobody listens");
    }

    #[test]
    fn a_listener_of_this_process_is_found_and_one_of_others_is_not() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let at = listener.local_addr().unwrap();
        assert!(listens(Pid::this()).contains(&at));
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let of_child = listens(Pid::from_raw(child.id().cast_signed()));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!of_child.contains(&at), "it closed what it did not inherit: {of_child:?}");
    }

    #[test]
    fn a_service_is_tried_at_every_address_at_which_it_is_reached() {
        let way = |from: &str, at: &str| Approach {
            host: "client".into(),
            from: from.parse().unwrap(),
            at: at.parse().unwrap(),
        };
        let listen = ["0.0.0.0:80".parse().unwrap(), "0.0.0.0:81".parse().unwrap()];
        let ways = [way("10.0.0.1", "10.0.0.2"), way("127.0.0.1", "127.0.0.1")];
        let found: Vec<String> = doors(&listen, &ways).iter().map(|door| door.at.to_string()).collect();
        assert_eq!(found, ["10.0.0.2:80", "127.0.0.1:80", "10.0.0.2:81", "127.0.0.1:81"]);
        assert_eq!(doors(&listen, &[])[0], Door { at: listen[0], from: None });
    }
}
