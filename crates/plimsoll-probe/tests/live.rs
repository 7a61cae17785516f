//! Against the running kernel: counters move when what they count happens.

use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use nix::sched::{CloneFlags, unshare};
use nix::unistd::geteuid;
use plimsoll_probe::{Counters, Depth, connections};

/// Environment variable of the copy of this program that runs inside a namespace.
const INSIDE: &str = "PLIMSOLL_PROBE_INSIDE";

/// Runs the named test once more, alone in a network namespace; true in that inner run. Ordinary users get one by way of a user namespace.
fn alone_in_a_namespace(test: &str) -> bool {
    if std::env::var_os(INSIDE).is_some() {
        return true;
    }
    let own = std::env::current_exe().expect("this program");
    let mut unshare = Command::new("unshare");
    unshare.args(if geteuid().is_root() { &["--net"][..] } else { &["--net", "--map-root-user"] });
    unshare
        .args(["sh", "-c", "ip link set lo up && exec \"$0\" --exact \"$1\" --test-threads 1"])
        .arg(own)
        .arg(test);
    let output = unshare.env(INSIDE, "1").output().expect("util-linux's unshare");
    let printed = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && printed.contains("1 passed"), "{printed}");
    false
}

#[test]
fn eleven_connections_are_eleven_active_opens_and_twenty_two_sockets() {
    if !alone_in_a_namespace("eleven_connections_are_eleven_active_opens_and_twenty_two_sockets") {
        return;
    }
    let mut counters = Counters::open(Path::new("/")).expect("counters");
    let before = counters.read(Depth::Deep);
    assert_eq!(connections(true).expect("connections"), 0);
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let connect = || TcpStream::connect(address).expect("connected");
    let pairs: Vec<_> = (0..10).map(|_| (connect(), listener.accept().expect("accepted"))).collect();
    let waiting = connect();
    let change = before.change(&counters.read(Depth::Deep));
    assert_eq!((change["snmp.Tcp.ActiveOpens"], change["snmp.Tcp.PassiveOpens"]), (11.0, 11.0));
    assert_eq!((change["tcp.established"], change["tcp.listen"], change["tcp.backlog"]), (22.0, 1.0, 1.0));
    assert_eq!(change["sockstat.TCP.inuse"], 23.0);
    assert_eq!(connections(true).expect("connections"), 22);
    drop((pairs, waiting, listener));
    // Of each connection that was accepted, the client closed first and stays in TIME_WAIT; the one that was not is reset.
    assert_eq!((connections(true).expect("connections"), connections(false).expect("connections")), (10, 0));
}

#[test]
fn a_thread_in_a_namespace_of_its_own_reads_that_namespace() {
    if !alone_in_a_namespace("a_thread_in_a_namespace_of_its_own_reads_that_namespace") {
        return;
    }
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let _client = TcpStream::connect(listener.local_addr().expect("an address")).expect("connected");
    let opens = |counters: &mut Counters| counters.read(Depth::Light).values["snmp.Tcp.ActiveOpens"];
    let outer = opens(&mut Counters::open(Path::new("/")).expect("counters"));
    let inner = std::thread::spawn(move || {
        unshare(CloneFlags::CLONE_NEWNET).expect("a network namespace");
        (
            opens(&mut Counters::open(Path::new("/")).expect("counters")),
            connections(true).expect("connections"),
        )
    });
    assert_eq!((outer, inner.join().expect("no panic")), (1.0, (0.0, 0)));
}

#[test]
fn the_machines_counters_grow_with_what_is_done() {
    let mut counters = Counters::open(Path::new("/")).expect("counters");
    let before = counters.read(Depth::Deep);
    assert!(Command::new("true").status().expect("true").success());
    let end = Instant::now() + Duration::from_millis(60);
    while Instant::now() < end {
        std::hint::spin_loop();
    }
    let after = counters.read(Depth::Deep);
    let change = before.change(&after);
    assert!(change["machine.stat.processes"] >= 1.0);
    assert!(change["machine.stat.cpu.user"] + change["machine.stat.cpu.nice"] > 0.0);
    assert!(change["machine.stat.ctxt"] > 0.0);
    assert!(after.values["processes.count"] >= 1.0 && after.values["descriptors"] >= 3.0);
    assert!(after.values["rules"] >= 3.0);
}
