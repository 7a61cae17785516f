//! Commands whose time passes in a server behind a Unix socket or in a network namespace of their own, and two causes at once.

use std::path::Path;

use crate::explained::Ended;
use crate::lab::Lab;

/// A server on a Unix socket that computes for each question, adds to a file, or waits, as it says.
const LOCAL: &str = "
import os, socket, sys, time
def reckon():
    return sum(n * n for n in range(200000))
server = socket.socket(socket.AF_UNIX)
server.bind(sys.argv[1])
server.listen(64)
while True:
    client, _ = server.accept()
    for line in client.makefile('rb'):
        if line == b'reckon\\n':
            reckon()
        if line == b'sleep\\n':
            time.sleep(0.02)
        if line == b'store\\n':
            with open(sys.argv[1] + '.log', 'ab', 0) as log:
                for _ in range(4000):
                    log.write(b'x' * 100)
                log.truncate(0)
        client.sendall(line)
    client.close()
";
/// A client that asks it ten times, and computes nothing itself.
const ASK_LOCALLY: &str = "
import socket, sys
server = socket.socket(socket.AF_UNIX)
server.connect(sys.argv[1])
for _ in range(10):
    server.sendall(sys.argv[2].encode() + b'\\n')
    server.recv(100)
";

#[test]
fn what_a_server_behind_a_unix_socket_does_for_a_command_is_the_commands() {
    let lab = Lab::of_root();
    let [local, ask] =
        [("local.py", LOCAL), ("ask.py", ASK_LOCALLY)].map(|(name, text)| lab.file(name, text));
    let folder = tempfile::tempdir().expect("a folder");
    let socket = folder.path().join("socket").to_str().expect("a path").to_owned();
    let _server =
        Ended(std::process::Command::new("python3").args([&local, &socket]).spawn().expect("it starts"));
    while !Path::new(&socket).exists() {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let of = |question: &str| {
        let [nothing, asked] = ["nothing", question].map(|what| format!("python3 {ask} {socket} {what}"));
        let args =
            ["compare", "--explain", "--a", &nothing, "--b", &asked, "--min-pairs", "5", "--format", "json"];
        let output = lab.plimsoll(&args).exits(1).json();
        let members = output["profile"]["members"].to_string();
        assert!(members.contains("python3 (served)"), "{members}");
        (output["causes"][0]["id"].as_str().unwrap_or_default().to_owned(), output["causes"][0].to_string())
    };
    for (question, id) in
        [("reckon", "cpu.user_saturated"), ("sleep", "service.sleeps"), ("store", "service.file_writes")]
    {
        let (first, cause) = of(question);
        assert_eq!(first, id, "{cause}");
        assert!(cause.contains("python3 (served)"), "{cause}");
    }
}

#[test]
fn a_namespace_that_a_command_makes_counts_for_it() {
    let lab = Lab::of_root();
    let server = lab.file(
        "queue.py",
        "
import socket, sys, time
server = socket.create_server(('127.0.0.1', 7999), backlog=int(sys.argv[1]))
while True:
    client, _ = server.accept()
    time.sleep(0.002)
    client.close()
",
    );
    let clients = lab.file(
        "clients.py",
        "
import socket, threading
def ask():
    for _ in range(6):
        with socket.create_connection(('127.0.0.1', 7999)) as server:
            server.recv(1)
all = [threading.Thread(target=ask) for _ in range(12)]
for each in all: each.start()
for each in all: each.join()
",
    );
    let [long, short] = ["64", "1"].map(|backlog| {
        format!(
            "unshare -n sh -c 'ip link set lo up; python3 {server} {backlog} & server=$!; sleep 0.2; python3 {clients}; kill $server'"
        )
    });
    let args = ["compare", "--explain", "--a", &long, "--b", &short, "--min-pairs", "5", "--format", "json"];
    let output = lab.plimsoll(&args).exits(1).json();
    assert_eq!(
        output["causes"][0]["id"], "net.listen_overflow",
        "{} {}",
        output["causes"], output["evidence"]
    );
}

#[test]
fn a_program_that_computes_longer_and_flushes_more_has_both_named() {
    let lab = Lab::of_root();
    let work = lab.file(
        "work.py",
        "
import os, sys
def reckon(n):
    return sum(i * i for i in range(n))
with open(sys.argv[1], 'wb') as file:
    for _ in range(20):
        file.write(b'x')
        file.flush()
        if sys.argv[2] != '0':
            os.fdatasync(file.fileno())
reckon(int(sys.argv[3]))
",
    );
    let store = lab.file("store", "");
    let [good, bad] = ["0 1000", "1 4000000"].map(|arguments| format!("python3 {work} {store} {arguments}"));
    let args = ["compare", "--explain", "--a", &good, "--b", &bad, "--min-pairs", "6", "--format", "json"];
    let output = lab.plimsoll(&args).exits(1).json();
    let causes = output["causes"].as_array().expect("a list");
    let ids: Vec<&str> = causes.iter().filter_map(|cause| cause["id"].as_str()).collect();
    assert!(ids.contains(&"disk.sync_bound") && ids.contains(&"cpu.user_saturated"), "{}", output["causes"]);
}
