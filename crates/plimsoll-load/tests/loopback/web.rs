//! The web server, as a client sees it.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::process::Command;
use std::time::{Duration, Instant};

use plimsoll_model::experiment::{HttpLoad, Ready, WebService};
use plimsoll_model::frame::{ServiceKind, ServiceSpec};
use plimsoll_model::units::ByteSize;

use crate::lifetime::children;
use crate::load::{connections, result};
use crate::service::{Service, command};

/// The whole reply to `request`.
fn talk(to: SocketAddr, request: &str) -> String {
    let mut stream = TcpStream::connect(to).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn documents_of_any_size_are_whole() {
    let root = tempfile::tempdir().unwrap();
    let content: Vec<u8> = (0..3_000_000u32).flat_map(u32::to_le_bytes).collect();
    std::fs::write(root.path().join("large.bin"), &content).unwrap();
    std::fs::write(root.path().join("empty"), "").unwrap();
    let web = Service::web(WebService {
        clients: 4,
        document: ByteSize(100),
        root: root.path().to_str().map(Into::into),
        ..WebService::default()
    });
    for (path, length) in [
        ("/", 100),
        ("/?s=0", 0),
        ("/?s=1k", 1024),
        ("/?s=20M", 20 << 20),
        ("/large.bin", content.len()),
        ("/empty", 0),
    ] {
        let mut stream = TcpStream::connect(web.address()).unwrap();
        write!(stream, "GET {path} HTTP/1.0\r\n\r\n").unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        let end = answer.windows(4).position(|bytes| bytes == b"\r\n\r\n").unwrap() + 4;
        let head = String::from_utf8_lossy(&answer[..end]);
        assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
        assert!(head.contains(&format!("Content-Length: {length}\r\n")), "{head}");
        assert_eq!(answer.len() - end, length, "{path}");
        assert!(path != "/large.bin" || answer[end..] == content);
    }
    let found = result(&web.addresses, HttpLoad { path: "/large.bin".into(), ..connections(4, 2) });
    assert_eq!((found.connections, found.failed()), (4, 0));
}

#[test]
fn head_has_the_same_head_and_no_body() {
    let web = Service::small_web();
    let answer = talk(web.address(), "HEAD / HTTP/1.0\r\n\r\n");
    assert!(
        answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.contains("Content-Length: 1024\r\n"),
        "{answer}"
    );
    assert!(answer.ends_with("\r\n\r\n"), "{answer}");
}

#[test]
fn requests_that_come_together_are_answered_in_order() {
    let web = Service::small_web();
    let request = "GET /?s=1 HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabcGET /none HTTP/1.1\r\nHost: x\r\n\r\n\
                   GET /?s=2 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    let answer = talk(web.address(), request);
    let statuses: Vec<_> = answer.lines().filter(|line| line.contains("HTTP/1.1")).collect();
    assert_eq!(statuses.len(), 3, "{answer}");
    assert!(statuses[0].ends_with("200 OK") && statuses[1].ends_with("404 Not Found"), "{answer}");
    assert!(statuses[2].ends_with("200 OK"), "{answer}");
}

#[test]
fn what_is_wrong_gets_its_status() {
    let web = Service::small_web();
    let cases = [
        ("PUT / HTTP/1.1\r\nHost: x\r\n\r\n", "405"),
        ("GET / HTTP/1.1\r\n\r\n", "400"),
        ("\x16\x03\x01\x02\r\n\r\n", "400"),
        ("GET /../etc/passwd HTTP/1.0\r\n\r\n", "400"),
        ("GET /none HTTP/1.0\r\n\r\n", "404"),
    ];
    for (request, status) in cases {
        let answer = talk(web.address(), request);
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{request}: {answer}");
    }
}

#[test]
fn slow_and_broken_clients_disturb_nobody() {
    let web = Service::small_web();
    let mut slow: Vec<_> = (0..4).map(|_| TcpStream::connect(web.address()).unwrap()).collect();
    for stream in &mut slow {
        stream.write_all(b"GET / HT").unwrap();
    }
    for _ in 0..50 {
        let mut broken = TcpStream::connect(web.address()).unwrap();
        broken.write_all(b"GET /?s=10M HTTP/1.0\r\n\r\n").unwrap();
        broken.shutdown(Shutdown::Both).unwrap();
    }
    let found = result(&web.addresses, connections(200, 4));
    assert_eq!((found.connections, found.failed()), (200, 0));
    for mut stream in slow {
        stream.write_all(b"TP/1.0\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    }
}

#[test]
fn a_dead_process_is_replaced() {
    let web = Service::small_web();
    let before = children(web.pid());
    assert_eq!(before.len(), 8);
    for pid in &before[..4] {
        assert!(Command::new("kill").args(["-9", &pid.to_string()]).status().unwrap().success());
    }
    let end = Instant::now() + Duration::from_secs(10);
    loop {
        let now = children(web.pid());
        if now.len() == 8 && before[..4].iter().all(|pid| !now.contains(pid)) {
            break;
        }
        assert!(Instant::now() < end, "{before:?} became {now:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(result(&web.addresses, connections(50, 4)).failed(), 0);
}

#[test]
fn an_address_in_use_is_named() {
    let web = Service::small_web();
    let kind = ServiceKind::Web(WebService::default());
    let spec = ServiceSpec {
        folder: None,
        name: "second".into(),
        listen: web.addresses.clone(),
        to: Vec::new(),
        kind,
        env: Default::default(),
        pass_env: Vec::new(),
        template: None,
        certificate: None,
        privileged: false,
        ready: Ready::default(),
        approaches: Vec::new(),
    };
    let output = command(&spec).output().unwrap();
    assert!(!output.status.success());
    let expected = format!("{} is in use by another program\n", web.address());
    assert_eq!(String::from_utf8_lossy(&output.stderr), expected);
}
