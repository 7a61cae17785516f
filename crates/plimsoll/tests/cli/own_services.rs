//! Services of the user's own: any program that listens.

use crate::experiments::one_service;
use crate::lab::{Lab, verdict_of};

/// A small server in Python: it answers a number of connections, and then ends with these words.
const PATIENCE: &str = r#"#!/usr/bin/env python3
import socket, sys
port, patience = int(sys.argv[1]), int(sys.argv[2])
server = socket.create_server(("", port), backlog=100)
while patience != 0:
    connection, _ = server.accept()
    if connection.recv(4096):
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")
        patience -= 1
    connection.close()
sys.exit("out of patience")
"#;

#[test]
fn a_program_from_the_path_is_driven_and_measured() {
    let lab = Lab::new();
    let service = r#"exec = ["python3", "-m", "http.server", "{port}", "--bind", "{address}"]"#;
    let experiment = lab.file("python.toml", &one_service(service));
    let report = lab.plimsoll(&["run", &experiment, "--format", "json"]).exits(0).json();
    assert_eq!(verdict_of(&report)["outcome"], "recovered");
    let phases = report["trials"][0]["phases"].as_array().expect("phases");
    assert_eq!(phases.len(), 2);
    for phase in phases {
        assert_eq!(phase["connections"], 50, "{phase}");
        assert_eq!(phase["errors"], serde_json::json!({}), "{phase}");
        assert!(phase["figures"]["median_ms"].as_f64().is_some_and(|median| median > 0.0), "{phase}");
    }
}

#[test]
fn a_program_beside_the_experiment_is_found_from_where_plimsoll_was_started() {
    let lab = Lab::of_ordinary_user();
    lab.file("my-server", PATIENCE);
    let service = "port = 8080\nexec = [\"./my-server\", \"{port}\", \"-1\"]\nready.http = \"/\"";
    let experiment = lab.file("own.toml", &one_service(service));
    let report = lab.plimsoll(&["run", &experiment, "--format", "json"]).exits(0).json();
    assert_eq!(report["trials"][0]["phases"][1]["connections"], 50);
}

#[test]
fn a_run_whose_service_dies_in_the_middle_is_invalid_and_names_the_service() {
    let lab = Lab::new();
    lab.file("my-server", PATIENCE);
    let experiment = lab.file("dies.toml", &one_service(r#"exec = ["./my-server", "{port}", "70"]"#));
    let output = lab.plimsoll(&["run", &experiment, "--format", "json"]).exits(4);
    let report = output.json();
    let verdict = verdict_of(&report);
    assert_eq!(verdict["outcome"], "invalid");
    let reason = verdict["reason"].as_str().expect("a reason");
    for part in ["in `after`", "the service `web` on `server` ended", "exit status 1", "out of patience"] {
        assert!(reason.contains(part), "`{part}` is not in `{reason}`");
    }
    assert_eq!(report["trials"][0]["phases"][0]["connections"], 50, "what was measured before is kept");
    lab.plimsoll(&["gate"]).exits(4).prints("**Invalid**");
    lab.plimsoll(&["show"]).exits(4).prints("Invalid.").prints("out of patience");
}

/// A server that answers garbage, half a response, or never, in turns, and after forty connections is no longer there.
const UNRELIABLE: &str = r#"#!/usr/bin/env python3
import socket, sys, time
server = socket.create_server(("", int(sys.argv[1])), backlog=100)
kept = []
for turn in range(40):
    connection, _ = server.accept()
    if not connection.recv(4096):
        continue
    if turn % 3 == 0:
        connection.sendall(b"220 mail.example ESMTP\r\n")
    elif turn % 3 == 1:
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
        connection.close()
    else:
        kept.append(connection)
server.close()
time.sleep(60)
"#;

#[test]
fn each_way_in_which_a_server_fails_is_counted_under_its_own_name() {
    let lab = Lab::new();
    lab.file("my-server", UNRELIABLE);
    let text = r#"
question = "How does it fail?"

[hosts.server]

[services.unreliable]
on = "server"
exec = ["./my-server", "{port}"]

[loads.clients]
from = "server"
to = "unreliable"
http = { connections = 60, concurrency = 4, timeout = "300ms" }

[[phases]]
name = "tried"
measure = "clients"
slices = 1

[run]
min_trials = 1
max_trials = 1
"#;
    let experiment = lab.file("fails.toml", text);
    lab.plimsoll(&["run", &experiment]);
    let report = lab.plimsoll(&["show", "latest", "--format", "json"]).json();
    let phase = &report["trials"][0]["phases"][0];
    assert_eq!(phase["connections"], 0, "{phase}");
    let count = |kind: &str| phase["errors"][kind].as_u64().unwrap_or(0);
    // The last connections of the server were perhaps waiting when it closed; they are reset, or find nobody.
    for (kind, least) in [("garbage", 10), ("truncated", 10), ("timeout", 10), ("refused", 10)] {
        assert!(count(kind) >= least, "{kind}: {phase}");
    }
    let shown = lab.plimsoll(&["show", "latest", "--details"]);
    ["not the protocol", "closed half-way", "answer timed out", "refused"]
        .iter()
        .fold(shown, |shown, kind| shown.prints(kind));
}
