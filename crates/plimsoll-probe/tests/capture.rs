//! Captures on the loopback interface of a network namespace of the test's own.

use std::fs::File;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::path::Path;
use std::process::Command;
use std::thread;

use nix::sched::{CloneFlags, unshare};
use plimsoll_probe::capture::{Capture, Captured, Settings, interfaces};

/// Runs `body` in a thread whose network is its own, with loopback up.
fn in_own_network<T: Send>(body: impl FnOnce() -> T + Send) -> T {
    thread::scope(|scope| {
        let isolated = move || {
            unshare(CloneFlags::CLONE_NEWNET).expect("root may make a network namespace");
            let up = Command::new("ip").args(["link", "set", "lo", "up"]).status();
            assert!(up.expect("iproute2 is installed").success());
            body()
        };
        scope.spawn(isolated).join().expect("the test's thread")
    })
}

fn wanted(ports: &[u16]) -> Settings {
    Settings { ports: ports.to_vec(), snap: 96, ring: 4 << 20 }
}

/// Sends `bytes` bytes from one end of a connection to the other.
fn transfer(bytes: usize) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    send(&listener, bytes);
    address.port()
}

fn send(listener: &TcpListener, bytes: usize) {
    let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (mut server, _) = listener.accept().unwrap();
    thread::scope(|scope| {
        scope.spawn(|| {
            client.write_all(&vec![7; bytes]).unwrap();
            drop(client);
        });
        let mut all = Vec::new();
        server.read_to_end(&mut all).unwrap();
        assert_eq!(all.len(), bytes);
    });
}

/// The packets of a file as tcpdump sees them.
fn tcpdump(path: &Path) -> Vec<String> {
    let output = Command::new("tcpdump").args(["-nn", "-r"]).arg(path).output();
    let output = output.expect("tcpdump is installed");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().lines().map(ToOwned::to_owned).collect()
}

#[test]
#[ignore = "needs root and tcpdump; cargo xtask test runs it"]
fn a_flow_of_the_experiment_is_captured_whole_and_once_and_others_are_not() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lo.pcapng");
    let (port, captured): (u16, Captured) = in_own_network(|| {
        let interfaces = interfaces().unwrap();
        let named: Vec<_> = interfaces.iter().map(|i| (i.name.as_str(), i.addresses.as_slice())).collect();
        let [("lo", addresses)] = named.as_slice() else { panic!("{named:?}") };
        assert!(addresses.contains(&[127, 0, 0, 1].into()), "{addresses:?}");
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let capture = Capture::start("lo", &path, File::create(&path).unwrap(), &wanted(&[port])).unwrap();
        send(&listener, 100_000);
        transfer(5_000);
        let stranger = UdpSocket::bind("127.0.0.1:0").unwrap();
        stranger.send_to(b"hello", ("127.0.0.1", 9)).unwrap();
        (port, capture.stop())
    });
    assert_eq!((captured.dropped, captured.error.as_deref()), (0, None));
    let lines = tcpdump(&path);
    assert_eq!(lines.len() as u64, captured.packets);
    assert!(lines.iter().all(|line| line.contains(&format!(".{port}"))), "{lines:#?}");
    let count = |flags: &str| lines.iter().filter(|line| line.contains(flags)).count();
    assert_eq!((count("Flags [S]"), count("Flags [S.]")), (1, 1), "each packet once: {lines:#?}");
    let length: usize = lines
        .iter()
        .filter_map(|line| line.rsplit_once("length ")?.1.split(':').next()?.trim().parse::<usize>().ok())
        .sum();
    assert_eq!(length, 100_000, "the length on the wire counts, not what was kept");
    assert!(File::open(&path).unwrap().metadata().unwrap().len() < 40_000);
}

#[test]
#[ignore = "needs root; cargo xtask test runs it"]
fn what_the_ring_has_no_room_for_is_counted() {
    let folder = tempfile::tempdir().unwrap();
    let fifo = folder.path().join("slow");
    // Nobody reads the fifo, so the thread that writes to it stops there.
    nix::unistd::mkfifo(&fifo, nix::sys::stat::Mode::S_IRWXU).unwrap();
    let captured = in_own_network(|| {
        let reader = std::fs::OpenOptions::new().read(true).write(true).open(&fifo).unwrap();
        let file = File::create(&fifo).unwrap();
        let capture = Capture::start("lo", &fifo, file, &Settings { snap: 65535, ..wanted(&[]) }).unwrap();
        transfer(64 << 20);
        let draining = thread::spawn(move || {
            let mut reader = reader;
            let mut buffer = vec![0; 1 << 20];
            while reader.read(&mut buffer).is_ok_and(|n| n > 0) {}
        });
        let captured = capture.stop();
        // The reader holds the fifo's other end itself, so it never ends; the process takes it along.
        drop(draining);
        captured
    });
    assert!(captured.dropped > 0 && captured.packets > 0, "{captured:?}");
}

#[test]
#[ignore = "needs root; cargo xtask test runs it"]
fn an_interface_that_is_not_there_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x");
    let file = File::create(&path).unwrap();
    let result = in_own_network(|| Capture::start("eth9", &path, file, &wanted(&[])));
    let error = result.err().unwrap().to_string();
    assert!(error.contains("eth9"), "{error}");
}
