//! Measurements that failed altogether: never a success, and reported with advice.

use serde_json::Value;

use crate::lab::{Lab, Printed, verdict_of};

/// A client, a server across a link, and a load without a claim.
fn experiment(service: &str, load: &str, more: &str) -> String {
    format!(
        r#"
question = "Does it work?"
[hosts.client]
[hosts.server]
[[links]]
between = ["client", "server"]
[services.mine]
on = "server"
{service}
[loads.some]
from = "client"
to = "mine"
{load}
[[phases]]
name = "all"
measure = "some"
slices = 5
[run]
max_trials = 2
{more}
"#
    )
}

/// A server that answers every request with 500, and says why to its standard error alone.
const BROKEN: &str = r#"#!/usr/bin/env python3
import http.server, sys
class Broken(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        sys.stderr.write("the table `users` is missing\n")
        self.send_error(500)
    def log_message(self, *args):
        pass
http.server.ThreadingHTTPServer(("", int(sys.argv[1])), Broken).serve_forever()
"#;

/// A mail server that accepts no mail.
const NO_RELAY: &str = r#"#!/usr/bin/env python3
import socketserver, sys
class Session(socketserver.StreamRequestHandler):
    def handle(self):
        self.wfile.write(b"220 closed.example ESMTP\r\n")
        for line in self.rfile:
            word = line[:4].upper()
            if word in (b"EHLO", b"HELO"):
                self.wfile.write(b"250 closed.example\r\n")
            elif word == b"MAIL":
                self.wfile.write(b"550 5.7.1 no mail from you\r\n")
            elif word == b"QUIT":
                return self.wfile.write(b"221 bye\r\n")
            else:
                self.wfile.write(b"503 bad sequence\r\n")
class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    request_queue_size = 100
Server(("", int(sys.argv[1])), Session).serve_forever()
"#;

/// A server that answers a number of requests and then ends with these words.
const PATIENCE: &str = r#"#!/usr/bin/env python3
import socket, sys
server = socket.create_server(("", int(sys.argv[1])), backlog=100)
left = int(sys.argv[2])
while left:
    connection, _ = server.accept()
    if connection.recv(4096):
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")
        left -= 1
    connection.close()
sys.exit("out of handles")
"#;

/// Requires that every command and format calls the run invalid.
fn is_invalid(lab: &Lab, output: Printed) -> Value {
    let report = output.exits(4).json();
    let verdict = verdict_of(&report);
    assert_eq!((&verdict["claim"], &verdict["outcome"]), (&"measurement".into(), &"invalid".into()));
    lab.plimsoll(&["gate", "--format", "json"]).exits(4).says("warning: the experiment has no claims");
    let junit = lab.plimsoll(&["gate", "--format", "junit"]).exits(4);
    junit.prints("name=\"measurement of error_share\"").prints("type=\"invalid\"");
    report
}

#[test]
fn a_server_that_answers_every_request_with_500_makes_the_run_invalid_and_is_quoted() {
    let lab = Lab::new();
    lab.file("server", BROKEN);
    let text = experiment("exec = [\"./server\", \"{port}\"]", "http = { connections = 50 }", "");
    let file = lab.file("broken.toml", &text);
    let report = is_invalid(&lab, lab.plimsoll(&["run", &file, "--format", "json"]));
    assert_eq!(report["trials"].as_array().map(Vec::len), Some(1), "a second trial would add nothing");
    lab.plimsoll(&["show"])
        .exits(0)
        .prints("In `all` all 50 connections of `some` failed (50 status not 2xx);")
        .prints("the answer was HTTP status 500.")
        .prints("The last lines of stderr of `mine`: the table `users` is missing")
        .prints("Try: request the same path from `mine` by hand");
}

#[test]
fn a_difference_between_cells_that_both_fail_is_no_answer() {
    let lab = Lab::new();
    lab.file("server", BROKEN);
    let more = "min_trials = 6\nmax_trials = 6\n[factors.clients]\nset = \"loads.some.http.concurrency\"\nlevels = [1, 2]\n\
                [[claims]]\ndifference = { phase = \"all\", factor = \"clients\" }";
    let text = experiment("exec = [\"./server\", \"{port}\"]", "http = { connections = 20 }", more);
    let file = lab.file("broken.toml", &text.replace("max_trials = 2\n", ""));
    let report = lab.plimsoll(&["run", &file, "--reps", "1", "--format", "json"]).exits(4).json();
    assert_eq!(verdict_of(&report)["outcome"], "invalid");
    assert_eq!(verdict_of(&report)["expected"], "not_slower");
}

#[test]
fn requests_of_an_open_loop_that_are_all_answered_404_make_the_run_invalid() {
    let lab = Lab::new();
    let load = "http = { duration = \"500ms\", path = \"/nothing-here\", requests_per_connection = 0, open = { rate = 100 } }";
    let service = "exec = [\"python3\", \"-m\", \"http.server\", \"{port}\", \"--bind\", \"{address}\"]";
    let file = lab.file("missing.toml", &experiment(service, load, ""));
    is_invalid(&lab, lab.plimsoll(&["run", &file, "--format", "json"]));
    lab.plimsoll(&["show"]).prints("the answer was HTTP status 404");
}

#[test]
fn mail_that_is_refused_altogether_makes_the_run_invalid_and_the_reply_is_quoted() {
    let lab = Lab::new();
    lab.file("server", NO_RELAY);
    let load = "smtp = { messages = 20, sessions = 2 }";
    let file = lab.file("closed.toml", &experiment("exec = [\"./server\", \"{port}\"]", load, ""));
    is_invalid(&lab, lab.plimsoll(&["run", &file, "--format", "json"]));
    lab.plimsoll(&["show"])
        .prints("all 20 messages of `some` failed (20 refused for good)")
        .prints("the server said `550 5.7.1 no mail from you`")
        .prints("must accept mail for the `senders`");
}

#[test]
fn a_service_that_dies_makes_the_run_invalid_though_nothing_was_claimed_and_its_figures_are_kept() {
    let lab = Lab::new();
    lab.file("server", PATIENCE);
    let service = "exec = [\"./server\", \"{port}\", \"30\"]";
    let file = lab.file("dies.toml", &experiment(service, "http = { connections = 50 }", ""));
    let report = is_invalid(&lab, lab.plimsoll(&["run", &file, "--format", "json"]));
    assert_eq!(report["status"], "failed");
    assert!(report["trials"][0]["phases"][0]["connections"].as_u64() >= Some(20), "{report}");
    lab.plimsoll(&["show"]).prints("2 of 2 trials did not finish").prints("out of handles").prints("conn/s");
}

#[test]
fn a_sound_run_that_claims_nothing_passes_with_a_warning() {
    let lab = Lab::new();
    let file = lab.file("plain.toml", &experiment("web = {}", "http = { connections = 50 }", ""));
    lab.plimsoll(&["run", &file]).exits(0);
    lab.plimsoll(&["gate"]).exits(0).says("warning: the experiment has no claims");
    lab.plimsoll(&["gate", "--format", "junit"]).exits(0).prints("type=\"nothing_claimed\"");
}

#[test]
fn a_server_that_is_bound_to_loopback_is_not_ready_for_a_client_on_another_host() {
    let lab = Lab::new();
    let load = "http = { connections = 10 }";
    let run = |service: &str| {
        let text = experiment(&format!("port = 8080\nready.within = \"1s\"\n{service}"), load, "");
        lab.plimsoll(&["run", &lab.file("near.toml", &text)])
    };
    run("exec = [\"python3\", \"-m\", \"http.server\", \"8080\", \"--bind\", \"127.0.0.1\"]")
        .exits(3)
        .says("it runs, and listens on 127.0.0.1:8080 only; the load comes from 10.")
        .says("try: let it listen on every address (0.0.0.0)");
    run("exec = [\"sh\", \"-c\", \"echo no such table >&2; exit 1\"]")
        .exits(3)
        .says("exit status 1; on stderr it wrote: no such table");
}
