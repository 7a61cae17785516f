//! Nothing outlives a service.

use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

use crate::service::Service;

/// Processes whose parent is `pid`.
pub(crate) fn children(pid: u32) -> Vec<u32> {
    let processes = std::fs::read_dir("/proc").unwrap();
    let pids = processes.filter_map(|entry| entry.unwrap().file_name().to_str()?.parse().ok());
    pids.filter(|&child| parent(child) == Some(pid)).collect()
}

/// The parent of a process; `None` once it has ended.
fn parent(pid: u32) -> Option<u32> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name, in parentheses, may have spaces: state and parent follow the last parenthesis.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    if fields.next()? == "Z" { None } else { fields.next()?.parse().ok() }
}

fn descendants(pid: u32) -> Vec<u32> {
    let children = children(pid);
    let further: Vec<_> = children.iter().flat_map(|&child| descendants(child)).collect();
    [children, further].concat()
}

fn assert_all_end(pids: &[u32]) {
    let end = Instant::now() + Duration::from_secs(5);
    while let Some(pid) = pids.iter().find(|&&pid| parent(pid).is_some()) {
        assert!(Instant::now() < end, "process {pid} has outlived its service");
        thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_killed_web_server_leaves_no_process() {
    let mut web = Service::small_web();
    let _busy = TcpStream::connect(web.address()).unwrap();
    let all = descendants(web.pid());
    assert_eq!(all.len(), 8);
    web.kill();
    assert_all_end(&all);
}

#[test]
fn a_killed_relay_leaves_no_process_not_even_those_of_open_connections() {
    let web = Service::small_web();
    let mut relay = Service::relay(2, &web.addresses, None);
    let open: Vec<_> = relay.addresses.iter().map(|address| TcpStream::connect(address).unwrap()).collect();
    let end = Instant::now() + Duration::from_secs(5);
    while descendants(relay.pid()).len() < 4 {
        assert!(Instant::now() < end, "no process for each connection");
        thread::sleep(Duration::from_millis(10));
    }
    let all = descendants(relay.pid());
    relay.kill();
    assert_all_end(&all);
    drop(open);
}
