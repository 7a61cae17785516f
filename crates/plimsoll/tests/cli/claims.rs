//! Expectations of claims decide whether they pass.

use crate::lab::{Lab, verdict_of};

/// A server of which one level of the factor takes its time.
const UNEVEN: &str = r#"#!/usr/bin/env python3
import http.server, sys, time
class Slow(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        time.sleep(float(sys.argv[2]) / 1000)
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")
    def log_message(self, *args):
        pass
http.server.ThreadingHTTPServer(("", int(sys.argv[1])), Slow).serve_forever()
"#;

fn experiment(more: &str) -> String {
    format!(
        r#"
question = "What does waiting do?"
[hosts.here]
[services.mine]
on = "here"
exec = ["./server", "{{port}}", "2"]
[loads.some]
from = "here"
to = "mine"
http = {{ connections = 200, concurrency = 2 }}
[[phases]]
name = "all"
measure = "some"
slices = 10
{more}
"#
    )
}

#[test]
fn a_difference_passes_when_it_is_the_one_that_is_expected() {
    let lab = Lab::new();
    lab.file("server", UNEVEN);
    let more = "[factors.wait]\nset = \"services.mine.exec.2\"\nlevels = [\"20\", \"1\"]\n\
                [[claims]]\ndifference = { phase = \"all\", factor = \"wait\", expect = \"faster\" }\n\
                [run]\nmin_trials = 6\nmax_trials = 6";
    let file = lab.file("waits.toml", &experiment(more).replace("connections = 200", "connections = 40"));
    let report = lab.plimsoll(&["run", &file, "--format", "json"]).exits(0).json();
    let verdict = verdict_of(&report);
    assert_eq!((&verdict["outcome"], &verdict["expected"]), (&"faster".into(), &"faster".into()));
    assert_eq!(verdict["holds"], true);
    lab.plimsoll(&["show"]).prints("The claim holds (expected: faster).");
    let same = ["run", &file, "--set", "claims.0.difference.expect=same", "--format", "junit"];
    lab.plimsoll(&same).exits(1).prints("type=\"faster\"").prints("The claim fails (expected: same).");
}

/// Uses 4 ms of CPU time for each request, by its own clock; with `fork` in a child that it waits for.
const BURNING: &str = r#"#!/usr/bin/env python3
import http.server, os, sys, time
def burn():
    until = time.process_time() + 0.004
    while time.process_time() < until:
        pass
class Busy(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        if sys.argv[2] == "fork":
            child = os.fork()
            if child == 0:
                burn()
                os._exit(0)
            os.waitpid(child, 0)
        else:
            burn()
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")
    def log_message(self, *args):
        pass
http.server.HTTPServer(("", int(sys.argv[1])), Busy).serve_forever()
"#;

#[test]
fn the_cpu_time_of_services_is_what_they_use_whether_in_children_or_not() {
    let lab = Lab::new();
    lab.file("server", BURNING);
    let more = "[factors.way]\nset = \"services.mine.exec.2\"\nlevels = [\"itself\", \"fork\"]\n\
                [[claims]]\ndifference = { phase = \"all\", factor = \"way\", metric = \"service_cpu_us_per_request\", margin = \"90 %\", expect = \"any\" }\n\
                [run]\nmin_trials = 2\nmax_trials = 2";
    let file =
        lab.file("burns.toml", &experiment(more).replace("200, concurrency = 2", "50, concurrency = 1"));
    let report = lab.plimsoll(&["run", &file, "--format", "json"]).exits_as_it_judges().json();
    let trials = report["trials"].as_array().expect("trials");
    assert_eq!(trials.len(), 4, "{report}");
    for trial in trials {
        let figures = &trial["phases"][0]["figures"];
        let us = figures["service_cpu_us_per_request"].as_f64().unwrap_or_else(|| panic!("{trial}"));
        // The server has to read, to answer and to fork as well.
        assert!((4_000.0..9_000.0).contains(&us), "{us} µs of {trial}");
        let own = figures["cpu_us_per_request"].as_f64().expect("the load's own");
        assert!(own < us, "{own} µs by the load, {us} by the service");
    }
}

#[test]
fn a_plain_limit_holds_fails_or_is_undecided() {
    let lab = Lab::new();
    lab.file("server", UNEVEN);
    let run = |limit: &str| {
        let text = experiment(&format!("[[claims]]\nlimit = {limit}\n[run]\nmax_trials = 1"));
        lab.plimsoll(&["run", &lab.file("limit.toml", &text), "--format", "json"])
    };
    let quick = run(r#"{ metric = "p90_ms", below = "30s" }"#).exits(0).json();
    assert_eq!(
        (&verdict_of(&quick)["claim"], &verdict_of(&quick)["outcome"]),
        (&"limit".into(), &"held".into())
    );
    let slow = run(r#"{ phase = "all", metric = "median_ms", below = "1ms" }"#).exits(1).json();
    assert_eq!(verdict_of(&slow)["outcome"], "not_held");
    run(r#"{ metric = "median_ms", below = "1ms", expect = "not_held" }"#).exits(0);
    run(r#"{ metric = "p99_9_ms", below = "30s" }"#).exits(4).prints("requests are too few for p99_9_ms");
    run(r#"{ metric = "error_share", below = "5 %" }"#).exits(0);
    run(r#"{ metric = "requests_per_second", above = "100000/s" }"#).exits(1);
}

#[test]
fn an_expectation_that_does_not_suit_its_claim_is_refused_with_those_that_do() {
    let lab = Lab::new();
    let check = |claim: &str| {
        let text = experiment(&format!(
            "[factors.wait]\nset = \"services.mine.exec.2\"\nlevels = [\"1\", \"2\"]\n[[claims]]\n{claim}"
        ));
        lab.plimsoll(&["check", &lab.file("wrong.toml", &text)]).exits(2)
    };
    check("difference = { phase = \"all\", factor = \"wait\", expect = \"interaction\" }")
        .says("unknown variant `interaction`")
        .says("`not_slower`, `same`, `faster`, `slower`, `any`");
    check("limit = { metric = \"p99_ms\", below = \"50ms\", expect = \"reached\" }")
        .says("expected `held` or `not_held`");
    check("limit = { metric = \"p99_ms\", below = \"50 MB/s\" }")
        .says("`50 MB/s` is no amount of `p99_ms`")
        .says("a length of time such as");
    check("limit = { metric = \"error_share\", above = \"150 %\" }").says("a share from 0 to 1");
    check("limit = { metric = \"p99_ms\" }").says("`below` or `above`");
    check("limit = { metric = \"p99_ms\", below = \"1s\", at_least = 5 }")
        .says("`at_least` belongs to a search");
}
