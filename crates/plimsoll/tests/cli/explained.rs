//! Causes outside the experiment that hold a system down: whether they are named.

use std::path::Path;

use serde_json::Value;

use crate::lab::Lab;

pub(crate) const TWO_HOSTS: &str = r#"
question = "Which side is worse, and why?"
[hosts.client]
[hosts.server]
[[links]]
between = ["client", "server"]
[services.web]
on = "server"
web = { model = "fork_per_connection" }
[loads.visitors]
from = "client"
to = "web"
http = { duration = "500ms", concurrency = 40, close_first = "client" }
[[phases]]
name = "visits"
measure = "visitors"
[run]
min_trials = 6
max_trials = 6
"#;

/// The first cause of a run of [`TWO_HOSTS`] with this factor and claim.
fn first_cause(experiment: &str) -> Value {
    let lab = Lab::new();
    let file = lab.file("fault.toml", &format!("{TWO_HOSTS}{experiment}"));
    let output = lab.plimsoll_until_decided(&["run", &file, "--format", "json"]);
    let report = output.exits(0).json();
    assert!(!report["evidence"].as_array().expect("evidence").is_empty());
    report["causes"][0].clone()
}

#[test]
fn a_listen_queue_for_one_connection_is_named_from_the_kernels_counters() {
    let cause = first_cause(
        r#"
[factors.backlog]
set = "services.web.web.backlog"
levels = [511, 1]
[[claims]]
difference = { phase = "visits", factor = "backlog", metric = "connections_per_second", expect = "slower" }
"#,
    );
    assert_eq!(cause["id"], "net.listen_overflow", "{cause}");
    // The backlog that the experiment lowered may stand before the counter that it raised.
    let metric = |at: usize| cause["evidence"][at]["metric"].as_str().unwrap_or_default();
    let counter = usize::from(metric(0).contains("tcp.listener"));
    assert!(metric(counter).contains("ListenOverflows"), "{cause}");
}

/// A client that may connect from a hundred ports.
const NO_PORTS: &str = r#"
[factors.ports]
set = "hosts.client.sysctls.\"net.ipv4.ip_local_port_range\""
levels = ["32768 60999", "32768 32867"]
[[claims]]
difference = { phase = "visits", factor = "ports", metric = "error_share", expect = "slower" }
"#;

#[test]
fn a_client_without_ports_is_named_from_its_errors() {
    let cause = first_cause(NO_PORTS);
    assert_eq!(cause["id"], "net.port_exhaustion", "{cause}");
}

#[test]
fn a_cause_is_confirmed_by_changing_what_it_says_and_the_run_that_it_explains_knows() {
    let lab = Lab::new();
    let file = lab.file("ports.toml", &format!("{TWO_HOSTS}{NO_PORTS}"));
    let report = lab.plimsoll_until_decided(&["run", &file, "--format", "json"]).exits(0).json();
    let run = report["run"].as_str().expect("an id");
    lab.plimsoll(&["explain", run]).exits(0).prints(&format!("plimsoll explain {run} --confirm"));
    lab.plimsoll(&["explain", run, "--confirm", "--cause", "net.rto"])
        .exits(2)
        .says("`net.rto` is not among the causes of the run");
    let output =
        lab.plimsoll_until_decided(&["explain", run, "--confirm", "--format", "json"]).exits(0).json();
    let verdict = &output["verdicts"][0];
    assert_eq!(
        (&verdict["claim"], &verdict["outcome"]),
        (&"confirmation".into(), &"confirmed".into()),
        "{verdict}"
    );
    assert!(verdict["estimate"].as_f64() > Some(0.9), "{verdict}");
    assert_eq!(
        output["rerun_command"],
        serde_json::json!(["plimsoll", "explain", run, "--confirm", "--cause", "net.port_exhaustion"])
    );
    let explained = lab.plimsoll(&["explain", run, "--format", "json"]).exits(0).json();
    assert_eq!(explained["causes"][0]["confirmed"], true);
    let confirmation = output["run"].as_str().expect("an id");
    lab.plimsoll(&["explain", confirmation, "--confirm"]).exits(2).says("is a confirmation itself");
    lab.plimsoll(&["show", confirmation]).exits(0).prints("Confirmed.").prints("intervention = applied");
}

/// A host on which somebody loads rules into the packet filter, none of which ever applies.
const FILTERED: &str = r#"
[services.filter]
on = "server"
exec = ["sh", "-c", "{ echo add table ip t; echo 'add chain ip t c { type filter hook input priority 0; }'; i=0; while [ $i -lt $RULES ]; do i=$((i+1)); echo add rule ip t c tcp sport $i counter drop; done; } | nft -f - && exec python3 -m http.server {port}"]
privileged = true
env = { RULES = "0" }
[factors.release]
set = "services.filter.env.RULES"
levels = ["0", "8000"]
[[claims]]
difference = { phase = "visits", factor = "release", metric = "connections_per_second", expect = "slower" }
"#;

#[test]
fn rules_that_a_strangers_program_has_loaded_are_named_from_the_profile() {
    let lab = Lab::new();
    let file = lab.file("filtered.toml", &format!("{TWO_HOSTS}{FILTERED}"));
    let few = "loads.visitors.http.concurrency=8";
    // Longer, and more often than elsewhere: few connections at a time leave more to other users of the CPUs.
    let (long, often) = ("loads.visitors.http.duration=1500ms", "run.max_trials=16");
    let args = ["run", &file, "--yes", "--set", few, "--set", long, "--set", often, "--format", "json"];
    let output = lab.plimsoll_until_decided(&args);
    let report = output.exits(0).json();
    let cause = &report["causes"][0];
    assert_eq!(cause["id"], "net.rule_chain", "{}", report["profile"]);
    let metric = cause["evidence"][0]["metric"].as_str().expect("a metric");
    assert!(metric.starts_with("CPU time in nft_do_chain"), "{metric}");
    let run = report["run"].as_str().expect("an id");
    lab.plimsoll(&["explain", run]).exits(0).prints("net.rule_chain").prints("nft_do_chain");
    let confirmed = lab.plimsoll_until_decided(&["explain", run, "--confirm", "--yes", "--format", "json"]);
    let confirmed = confirmed.exits(0).json();
    assert!(confirmed["verdicts"][0]["estimate"].as_f64() > Some(0.8), "{}", confirmed["verdicts"]);
    lab.plimsoll(&["show", run, "--format", "html"]).exits(0).prints("\"icicle\"");
    let folded = lab.plimsoll(&["show", run, "--format", "folded"]).exits(0);
    let samples = folded.stdout.lines().filter(|line| line.contains("nft_do_chain_[k]")).map(|line| {
        let mut words = line.rsplit(' ').map(|word| word.parse::<u64>().expect("a number of samples"));
        (words.next().expect("after"), words.next().expect("before"))
    });
    let (after, before) = samples.fold((0, 0), |sum, each| (sum.0 + each.0, sum.1 + each.1));
    assert!(after > 10 * before.max(1), "{before} to {after} samples:\n{}", folded.stdout);
}

/// A relay for mail on a disk that somebody else writes to. How often that is flushed is what the two releases differ by.
const FLUSHED: &str = r#"
question = "Which release is worse, and why?"
[hosts.source]
[hosts.relay]
forward = true
[hosts.sink]
[[links]]
between = ["source", "relay"]
[[links]]
between = ["relay", "sink"]
[volumes.disk]
on = "relay"
loop = { size = "256M", filesystem = "ext4", options = "noatime" }
limit = { iops = 1000 }
[services.sink]
on = "sink"
smtp_sink = {}
[services.relay]
on = "relay"
mail_relay = { to = "sink", volume = "disk" }
[loads.mail]
from = "source"
to = "relay"
smtp = { duration = "1s", sessions = 10, messages_per_session = 100, size = { most = "10k" } }
[loads.other]
from = "relay"
to = "disk"
storage = { duration = "1s", threads = 8, reads = 0, block = "4k", size = "1M", sync_every = 1 }
[background.other]
load = "other"
[[phases]]
name = "mail"
measure = "mail"
warm_up = 1
[[phases]]
name = "drain"
settle = { delivered = "sink" }
[factors.release]
set = "loads.other.storage.sync_every"
levels = [1000000, 1]
[[claims]]
difference = { phase = "mail", factor = "release", metric = "messages_per_minute", expect = "slower" }
[run]
min_trials = 6
max_trials = 12
"#;

#[test]
fn the_process_that_makes_the_disk_flush_is_named() {
    let lab = Lab::of_root().allowing("machine");
    let file = lab.file("flushed.toml", FLUSHED);
    let output = lab.plimsoll_until_decided(&["run", &file, "--format", "json"]);
    let report = output.exits(0).json();
    let cause = &report["causes"][0];
    assert_eq!(cause["id"], "disk.foreign_sync", "{} {}", report["causes"], report["profile"]["calls"]);
    let metric = cause["evidence"][0]["metric"].as_str().expect("a metric");
    assert_eq!(metric, "fsync of a file by relay/plimsoll");
}

/// A host with little memory, on which a program needs more in one of its releases.
const STARVED: &str = r#"
[services.cache]
on = "server"
exec = ["sh", "-c", "while true; do python3 -c \"import time, os; kept = bytearray(int(os.environ['SIZE']) << 20); time.sleep(0.3)\"; done & exec python3 -m http.server {port}"]
env = { SIZE = "10" }
[factors.release]
set = "services.cache.env.SIZE"
levels = ["10", "600"]
[[claims]]
difference = { phase = "visits", factor = "release", metric = "connections_per_second", expect = "slower" }
"#;

#[test]
fn a_process_that_is_killed_for_want_of_memory_is_named() {
    let lab = Lab::of_root().allowing("machine");
    let file = lab.file("starved.toml", &format!("{TWO_HOSTS}{STARVED}"));
    let mut args = vec!["run", &file, "--format", "json"];
    let settings = [
        "hosts.server.memory=200M",
        "loads.visitors.http.concurrency=8",
        "loads.visitors.http.duration=2s",
        "run.min_trials=12",
        "run.max_trials=12",
    ];
    args.extend(settings.iter().flat_map(|setting| ["--set", setting]));
    let output = lab.plimsoll_until_decided(&args);
    let report = output.exits(0).json();
    let cause = &report["causes"][0];
    assert_eq!(cause["id"], "memory.oom", "{} {}", report["causes"], report["profile"]["calls"]);
    assert_eq!(cause["evidence"][0]["metric"], "killed for lack of memory: server/python3 (cache)");
}

#[test]
fn runs_with_other_levels_are_compared_in_what_both_have_and_else_the_command_is_named() {
    let lab = Lab::new();
    let factor = "[factors.backlog]\nset = \"services.web.web.backlog\"\nlevels = [511, 1]\n";
    let (plain, varied) =
        (lab.file("plain.toml", TWO_HOSTS), lab.file("varied.toml", &format!("{TWO_HOSTS}{factor}")));
    let of = |args: &[&str]| {
        let output = lab.plimsoll(&[&["run"], args, &["--format", "json"]].concat());
        output.json()["run"].as_str().expect("an id").to_owned()
    };
    let bad = of(&[&plain, "--set", "services.web.web.backlog=1"]);
    let good = of(&[&varied, "--factor", "backlog=511,300"]);
    let both = of(&[&varied]);
    lab.plimsoll(&["explain", &good, &both])
        .exits(0)
        .prints("visits, backlog = 511:")
        .prints("Only A has backlog = 300.")
        .prints("Only B has backlog = 1.");
    lab.plimsoll(&["explain", &bad, &both]).exits(0).prints("visits, backlog = 1:");
    lab.plimsoll(&["explain", &good, &of(&[&varied, "--factor", "backlog=1,2"])])
        .exits(2)
        .says("has backlog = 300; backlog = 511, and ")
        .says("has backlog = 1; backlog = 2.")
        .says(&format!("plimsoll run {varied} --factor backlog=511,300,1,2"));
}

#[test]
fn of_two_runs_the_worse_one_is_explained() {
    let lab = Lab::new();
    let claim = "[[claims]]\ndifference = { phase = \"visits\", factor = \"clients\", expect = \"any\" }\n";
    let factor = "[factors.clients]\nset = \"loads.visitors.http.concurrency\"\nlevels = [40, 41]\n";
    let file = lab.file("one.toml", &format!("{TWO_HOSTS}{factor}{claim}"));
    let of = |backlog: &str| {
        let output = lab.plimsoll(&[
            "run",
            &file,
            "--set",
            &format!("services.web.web.backlog={backlog}"),
            "--format",
            "json",
        ]);
        output.json()["run"].as_str().expect("an id").to_owned()
    };
    let (good, bad) = (of("511"), of("1"));
    let output = lab.plimsoll(&["explain", &good, &bad]);
    output.exits(0).prints("net.listen_overflow").prints("What sets the worse run apart");
    let document = lab.plimsoll(&["explain", &good, &bad, "--format", "json"]).exits(0).json();
    assert_eq!(document["verdicts"][0]["causes"][0]["id"], "net.listen_overflow", "{document}");
    let alone = lab.plimsoll(&["explain", &bad, "--format", "json"]).exits(0).json();
    assert_eq!((&alone["schema"], &alone["run"]), (&"plimsoll.explain/1".into(), &bad.into()));
}

#[test]
fn of_two_commands_the_worse_one_is_explained() {
    let lab = Lab::of_root();
    let (few, many) =
        ("dd if=/dev/zero of=/dev/null bs=64k count=2000", "dd if=/dev/zero of=/dev/null bs=1 count=400000");
    let args = ["compare", "--explain", "--a", many, "--b", few, "--min-pairs", "8", "--format", "json"];
    let output = lab.plimsoll(&args).exits(0).json();
    assert_eq!(output["outcome"], "faster", "{output}");
    // The first command is the worse one: it stands on the side of after.
    let profile = &output["profile"];
    let us = |side: &str| profile[side]["cpu_us"].as_f64().expect("a time");
    assert_eq!(profile["per"], "run");
    assert!(us("after") > 3.0 * us("before"), "{profile}");
    assert!(output["evidence"].is_array() && output["causes"].is_array(), "{output}");
    let again = lab.plimsoll(&["explain", "latest", "--format", "json"]).exits(0).json();
    assert_eq!((&again["summary"], &again["causes"]), (&output["summary"], &output["causes"]));
    lab.plimsoll(&["explain", "latest"]).exits(0).prints(output["summary"].as_str().expect("a sentence"));
    let alike = ["compare", "--explain", "--a", few, "--b", few, "--min-pairs", "3", "--max-pairs", "3"];
    lab.plimsoll(&alike).exits(4).prints("nothing to explain");
    lab.plimsoll(&["compare", "--explain", "latest", "latest"])
        .exits(2)
        .says("`plimsoll explain latest latest` shows why a stored run is worse");
}

#[test]
fn a_comparison_with_a_command_that_always_fails_is_shown_again() {
    let lab = Lab::of_root();
    let failed = "B fails in each of 5 runs, and A in none";
    lab.plimsoll(&["compare", "--explain", "--a", "true", "--b", "cat /nowhere"]).exits(1).prints(failed);
    lab.plimsoll(&["explain", "latest"]).exits(0).prints(failed);
}

#[test]
fn a_command_that_sleeps_or_starts_processes_is_named_in_whatever_namespace_it_runs() {
    let lab = Lab::of_root();
    let first_cause = |good: &str, bad: &str| {
        let args = ["compare", "--explain", "--a", good, "--b", bad, "--min-pairs", "4", "--format", "json"];
        let causes = &lab.plimsoll(&args).exits(1).json()["causes"];
        (causes[0]["id"].as_str().unwrap_or_default().to_owned(), causes.to_string())
    };
    let (id, causes) = first_cause("unshare -n true", "unshare -n sleep 0.2");
    assert_eq!(id, "service.sleeps", "{causes}");
    let [built_in, started] = ["true", "/bin/true"].map(|command| {
        format!("unshare -n sh -c 'i=0; while [ $i -lt 200 ]; do {command}; i=$((i + 1)); done'")
    });
    let (id, causes) = first_cause(&built_in, &started);
    assert_eq!(id, "service.many_processes", "{causes}");
    assert!(causes.contains("process started by host/sh"), "{causes}");
}

#[test]
fn a_stranger_beside_a_command_is_named_with_what_it_takes() {
    let lab = Lab::of_root();
    // What is compared is the same work, of `gzip`; in the second command somebody else uses the CPUs meanwhile.
    let work = "head -c 3000000 /dev/urandom | gzip -1 > /dev/null";
    let quiet = format!("sh -c '{work}'");
    let crowded = format!(
        "sh -c 'for i in 1 2 3 4 5 6; do sha256sum /dev/zero & all=\"$all $!\"; done; {work}; kill $all'"
    );
    let mut args = vec!["compare", "--explain", "--observe", "host", "--program", "gzip"];
    args.extend(["--a", &quiet, "--b", &crowded, "--min-pairs", "8", "--format", "json"]);
    let output = lab.plimsoll(&args).exits(1).json();
    assert_eq!(output["outcome"], "slower", "{output}");
    // The report also names another load on the machine, such as another test.
    let causes = output["causes"].as_array().expect("a list");
    let contended = causes.iter().find(|cause| cause["id"] == "cpu.contended");
    let evidence = contended.and_then(|cause| cause["evidence"].as_array()).map_or(&[][..], Vec::as_slice);
    let is_stranger = |metric: &str| metric.starts_with("CPUs used by host/sha256sum");
    let stranger = evidence.iter().any(|it| it["metric"].as_str().is_some_and(is_stranger));
    assert!(stranger, "{} {}", output["causes"], output["profile"]["cpu_use"]);
    let args = ["compare", "--explain", "--a", "true", "--b", "true", "--observe"];
    for (what, says) in [("all", "expected host"), ("cgroup=/no/such", "expected a control group")] {
        lab.plimsoll(&[&args[..], &[what]].concat()).exits(2).says(says);
    }
}

/// A server that answers lines, on a port that it writes down.
const ECHO: &str = "
import socket, sys
server = socket.create_server(('127.0.0.1', 0))
open(sys.argv[1], 'w').write(str(server.getsockname()[1]))
while True:
    client, _ = server.accept()
    for line in client.makefile('rb'):
        client.sendall(line)
";
/// A client that sends each line in two parts, and waits for its answer.
const ASK: &str = "
import socket, sys
server = socket.create_connection(('127.0.0.1', int(open(sys.argv[1]).read())))
server.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, int(sys.argv[2]))
for _ in range(40):
    server.sendall(b'x')
    server.sendall(b'y\\n')
    server.recv(100)
";

/// A process that ends with the test.
struct Ended(std::process::Child);

impl Drop for Ended {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

#[test]
fn data_that_a_command_holds_back_is_seen_in_its_sockets_while_it_runs() {
    let lab = Lab::of_root();
    let [echo, ask] = [("echo.py", ECHO), ("ask.py", ASK)].map(|(name, text)| lab.file(name, text));
    let port = lab.file("port", "");
    let _server =
        Ended(std::process::Command::new("python3").args([&echo, &port]).spawn().expect("it starts"));
    while std::fs::read_to_string(&port).expect("a file").is_empty() {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let [at_once, held] = ["1", "0"].map(|now| format!("python3 {ask} {port} {now}"));
    let args =
        ["compare", "--explain", "--a", &at_once, "--b", &held, "--min-pairs", "5", "--format", "json"];
    let output = lab.plimsoll(&args).exits(1).json();
    assert_eq!(output["causes"][0]["id"], "net.delayed_ack", "{} {}", output["causes"], output["evidence"]);
    let notes = output["notes"].to_string();
    assert!(notes.contains("Plimsoll itself used "), "{notes}");
    let members = output["profile"]["members"].to_string();
    assert!(members.contains("served"), "{members}");
}

/// A server in Python that waits a little for each answer, with a low limit on open files and sockets.
const FEW_DESCRIPTORS: &str = r#"
question = "Which side is worse, and why?"
[hosts.client]
[hosts.server]
[[links]]
between = ["client", "server"]
[services.web]
on = "server"
exec = ["python3", "-c", """
import http.server, os, resource, sys, time
limit = int(os.environ['DESCRIPTORS'])
resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        time.sleep(0.004)
        self.send_response(200)
        self.end_headers()
    def log_message(self, *words):
        pass
class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 128
Server(('', int(sys.argv[1])), Page).serve_forever()
""", "{port}"]
env = { DESCRIPTORS = "256" }
[loads.visitors]
from = "client"
to = "web"
http = { duration = "1s", concurrency = 20, close_first = "server" }
[[phases]]
name = "visits"
measure = "visitors"
[factors.release]
set = "services.web.env.DESCRIPTORS"
levels = ["256", "8"]
[[claims]]
difference = { phase = "visits", factor = "release", metric = "connections_per_second", expect = "slower" }
[run]
min_trials = 6
max_trials = 6
"#;

#[test]
fn a_server_that_may_open_few_files_is_named_with_the_call_that_failed() {
    let lab = Lab::of_root();
    let file = lab.file("few.toml", FEW_DESCRIPTORS);
    let report = lab.plimsoll_until_decided(&["run", &file, "--format", "json"]).exits(0).json();
    let cause = &report["causes"][0];
    assert_eq!(
        cause["id"], "limit.file_descriptors",
        "{} {}",
        report["causes"], report["profile"]["failures"]
    );
    assert_eq!(cause["evidence"][0]["metric"], "accept4 failed with EMFILE in server/python3 (web)");
    // It is no text.
    let profile = lab.path("profile.pb.gz");
    lab.script(&format!("$PLIMSOLL export latest --format pprof > {}", profile.display())).exits(0);
    let bytes = std::fs::read(&profile).expect("it was just written");
    assert!(bytes.starts_with(&[0x1f, 0x8b]) && bytes.len() > 500, "{} bytes", bytes.len());
}

/// Somebody who holds the server's processes to a quota of CPU time, in one of two releases.
const QUOTA: &str = r#"
[services.quota]
on = "server"
to = "web"
exec = ["sh", "-c", "g=$GROUP; mkdir -p $g && echo $QUOTA > $g/cpu.cfs_quota_us && for p in /proc/[0-9]*; do [ \"$(cat $p/comm 2>/dev/null)\" = web ] && echo ${p#/proc/} > $g/cgroup.procs; done; exec python3 -m http.server {port}"]
privileged = true
env = { QUOTA = "-1", GROUP = "/sys/fs/cgroup/cpu/plimsoll-test-quota" }
[factors.release]
set = "services.quota.env.QUOTA"
levels = ["-1", "10000"]
[[claims]]
difference = { phase = "visits", factor = "release", metric = "connections_per_second", expect = "slower" }
"#;

#[test]
#[ignore = "needs control groups of version 1, as the machine of the CI has them"]
fn a_quota_of_cpu_time_that_somebody_set_is_named_with_its_group() {
    let lab = Lab::of_root();
    let group = Path::new("/sys/fs/cgroup/cpu/plimsoll-test-quota");
    assert!(group.parent().is_some_and(Path::is_dir), "there are no control groups of version 1");
    let file = lab.file("quota.toml", &format!("{TWO_HOSTS}{QUOTA}"));
    let prefork = ["--set", "services.web.web.model=prefork", "--set", "services.web.web.clients=64"];
    let args = [&["run", &file, "--yes", "--format", "json"][..], &prefork].concat();
    let output = lab.plimsoll_until_decided(&args);
    // All of its processes have ended with their hosts.
    std::fs::remove_dir(group).expect("the group is empty");
    let report = output.exits(0).json();
    let cause = &report["causes"][0];
    assert_eq!(
        cause["id"], "cpu.quota_throttled",
        "{} {}",
        report["causes"], report["profile"]["throttling"]
    );
    let metric = cause["evidence"][0]["metric"].as_str().expect("a metric");
    assert!(metric.contains("plimsoll-test-quota on server"), "{metric}");
}

/// A packet filter that drops every tenth request for a connection, in one of two releases.
const SYNS_LOST: &str = r#"
[services.filter]
on = "server"
exec = ["sh", "-c", "{ echo add table ip t; echo 'add chain ip t c { type filter hook input priority 0; }'; [ $PART = 0 ] || echo \"add rule ip t c tcp flags & (syn|ack) == syn numgen random mod 100 < $PART drop\"; } | nft -f - && exec python3 -m http.server {port}"]
privileged = true
env = { PART = "0" }
[factors.release]
set = "services.filter.env.PART"
levels = ["0", "10"]
[[claims]]
difference = { phase = "visits", factor = "release", metric = "connections_per_second", expect = "slower" }
"#;

#[test]
#[ignore = "needs root; cargo xtask test runs it"]
fn dropped_requests_for_connections_differ_from_a_full_queue() {
    let lab = Lab::of_root();
    let file = lab.file("syns.toml", &format!("{TWO_HOSTS}{SYNS_LOST}"));
    let report = lab.plimsoll_until_decided(&["run", &file, "--yes", "--format", "json"]).exits(0).json();
    assert_eq!(report["causes"][0]["id"], "net.syn_dropped", "{}", report["causes"]);
}

/// Somebody on the server's host who uses the CPUs, in one of two releases.
const CROWDED: &str = r#"
[services.crowd]
on = "server"
exec = ["sh", "-c", "i=0; while [ $i -lt $LOOPS ]; do i=$((i+1)); (while :; do :; done) & done; exec python3 -m http.server {port}"]
env = { LOOPS = "0" }
[factors.release]
set = "services.crowd.env.LOOPS"
levels = ["0", "6"]
[[claims]]
difference = { phase = "visits", factor = "release", metric = "connections_per_second", expect = "slower" }
"#;

#[test]
#[ignore = "needs root; cargo xtask test runs it"]
fn the_process_that_takes_the_cpus_of_the_server_is_named() {
    let lab = Lab::of_root();
    let file = lab.file("crowded.toml", &format!("{TWO_HOSTS}{CROWDED}"));
    let report = lab.plimsoll_until_decided(&["run", &file, "--yes", "--format", "json"]).exits(0).json();
    let cause = &report["causes"][0];
    assert_eq!(cause["id"], "cpu.contended", "{} {}", report["causes"], report["profile"]["cpu_use"]);
    // Another test beside this one may take CPUs as well.
    let evidence = cause["evidence"].as_array().expect("evidence");
    let crowd = evidence.iter().any(|it| it["metric"] == "CPUs used by server/sh (crowd)");
    assert!(crowd, "{cause}");
}
