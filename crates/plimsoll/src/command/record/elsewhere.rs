//! Counters and sockets of other network namespaces with listening sockets; root only.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use nix::sched::{CloneFlags, setns};
use plimsoll_import::saved::{self, Saved};
use plimsoll_probe::busiest::{Sockets, TcpLook};
use plimsoll_probe::profile::HostNamespaces;

use crate::recording::HERE;

/// The most namespaces that are read.
const MOST: usize = 32;
/// How often namespaces are looked for.
const LOOKED_FOR: Duration = Duration::from_secs(30);
/// How much of a list of sockets is read: listening sockets come first in it (proc_net_tcp.txt).
const HEAD: u64 = 64 << 10;
/// The state of a listening socket in such a list.
const LISTEN: &str = "0A";

/// Network namespaces beside the recorded one.
#[derive(Default)]
pub(super) struct Elsewhere {
    /// By name, the folder of the files of a process that is in it.
    known: BTreeMap<String, PathBuf>,
    looked: Option<Instant>,
    /// Counts of their connections at the look before.
    sockets: BTreeMap<String, Sockets>,
}

impl Elsewhere {
    /// Counters of TCP, UDP and IP, each with its namespace: `netns.web.netstat.TcpExt.ListenOverflows`.
    pub(super) fn read(&mut self) -> BTreeMap<String, f64> {
        if self.looked.is_none_or(|at| at.elapsed() >= LOOKED_FOR) {
            self.known = with_listeners(&inhabited(Path::new("/")));
            self.looked = Some(Instant::now());
        }
        self.known.iter().flat_map(|(name, folder)| counters(name, folder)).collect()
    }
}

impl Elsewhere {
    /// The sockets of each namespace that [`Self::read`] found last, by its name.
    pub(super) fn look(&mut self) -> Vec<(String, TcpLook)> {
        let Self { known, sockets, .. } = self;
        sockets.retain(|name, _| known.contains_key(name));
        let looks = known.iter().filter_map(|(name, folder)| {
            let sockets = sockets.entry(name.clone()).or_default();
            let look = within(&folder.with_file_name("ns").join("net"), || sockets.look())?.ok()?;
            Some((format!("{NAMED}{name}"), look))
        });
        looks.collect()
    }
}

/// Does it in a network namespace, by a thread that ends there. `None` if that may not be entered, or its process has ended.
fn within<T: Send>(namespace: &Path, what: impl FnOnce() -> T + Send) -> Option<T> {
    let file = File::open(namespace).ok()?;
    let inside = || setns(file, CloneFlags::CLONE_NEWNET).ok().map(|()| what());
    thread::scope(|scope| scope.spawn(inside).join().ok().flatten())
}

fn counters(name: &str, folder: &Path) -> Vec<(String, f64)> {
    let mut all = Vec::new();
    for file in ["snmp", "netstat"] {
        // The process may have ended; another is looked for soon.
        let Ok(text) = fs::read_to_string(folder.join(file)) else { continue };
        let found = saved::read(&text, &format!("proc/net/{file}")).unwrap_or_default();
        let counters = found.into_iter().filter_map(|saved| match saved {
            Saved::Counters(counters) => Some(counters.readings),
            _ => None,
        });
        let totals = counters.flatten().flat_map(|reading| reading.totals);
        all.extend(totals.map(|(counter, value)| (format!("netns.{name}.{counter}"), value)));
    }
    all
}

/// Namespaces in which a socket listens.
fn with_listeners(all: &BTreeMap<String, PathBuf>) -> BTreeMap<String, PathBuf> {
    let is_listening = |line: &String| line.split_ascii_whitespace().nth(3) == Some(LISTEN);
    // No more is read than up to the first: behind the listening sockets the kernel walks the table of all connections.
    let listens = |folder: &Path| {
        let files = ["tcp", "tcp6"].iter().filter_map(|file| File::open(folder.join(file)).ok());
        files
            .map(|file| BufReader::new(file.take(HEAD)).lines().map_while(Result::ok))
            .any(|mut lines| lines.any(|line| is_listening(&line)))
    };
    let found = all.iter().filter(|(_, folder)| listens(folder)).take(MOST);
    found.map(|(name, folder)| (name.clone(), folder.clone())).collect()
}

/// Network namespaces other than this thread's that have processes, by name: the `net` folder of one of these.
fn inhabited(root: &Path) -> BTreeMap<String, PathBuf> {
    let names = namespaces(root);
    let own = inode(&root.join("proc/thread-self/ns/net"));
    let mut found = BTreeMap::new();
    for process in processes(root) {
        let Some(inode) = inode(&process.join("ns/net")).filter(|it| Some(*it) != own) else { continue };
        if let Some(name) = names.get(&inode) {
            // A dot separates the parts of a counter's name.
            let name = name.trim_start_matches(NAMED).replace('.', "_");
            found.entry(name).or_insert_with(|| process.join("net"));
        }
    }
    found
}

/// How the names of namespaces other than the recorded one begin.
const NAMED: &str = "namespace ";

fn inode(path: &Path) -> Option<u64> {
    fs::metadata(path).ok().map(|it| it.ino())
}

fn processes(root: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(root.join("proc")).into_iter().flatten().flatten();
    entries
        .filter(|entry| entry.file_name().as_encoded_bytes().iter().all(u8::is_ascii_digit))
        .map(|entry| entry.path())
}

/// All network namespaces that processes are in, by their inode. What is not in the recorded one is named by its number.
pub(super) fn namespaces(root: &Path) -> HostNamespaces {
    // The thread may have entered another one.
    let own = inode(&root.join("proc/thread-self/ns/net"));
    let named: BTreeMap<u64, String> = fs::read_dir(root.join("run/netns"))
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| Some((inode(&entry.path())?, entry.file_name().to_string_lossy().into_owned())))
        .collect();
    let name = |inode: u64| match named.get(&inode) {
        _ if own == Some(inode) => HERE.to_owned(),
        Some(name) => format!("{NAMED}{name}"),
        None => format!("{NAMED}{inode}"),
    };
    let of_processes = processes(root).filter_map(|process| inode(&process.join("ns/net")));
    of_processes.chain(own).map(|inode| (inode, name(inode))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_have_the_name_of_their_namespace_and_only_where_somebody_listens() {
        let folder = tempfile::tempdir().unwrap();
        let of = |name: &str, state: &str| {
            let net = folder.path().join(name);
            fs::create_dir_all(&net).unwrap();
            let sockets = format!(
                "  sl  local_address rem_address   st\n   0: 0100007F:1F90 00000000:0000 {state} 0\n"
            );
            fs::write(net.join("tcp"), sockets).unwrap();
            fs::write(net.join("snmp"), "Tcp: ActiveOpens PassiveOpens\nTcp: 7 9\n").unwrap();
            fs::write(net.join("netstat"), "TcpExt: ListenOverflows\nTcpExt: 3\n").unwrap();
            (name.to_owned(), net)
        };
        let all = BTreeMap::from([of("web", "0A"), of("idle", "01")]);
        let known = with_listeners(&all);
        assert_eq!(known.keys().collect::<Vec<_>>(), ["web"]);
        let mut elsewhere = Elsewhere { known, looked: Some(Instant::now()), ..Elsewhere::default() };
        let read = elsewhere.read();
        assert_eq!(read["netns.web.netstat.TcpExt.ListenOverflows"], 3.0);
        assert_eq!(read["netns.web.snmp.Tcp.PassiveOpens"], 9.0);
    }
}
