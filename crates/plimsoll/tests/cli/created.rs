//! `plimsoll new`: each combination of answers makes an experiment that `check` accepts and that runs.

use std::fs;
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use crate::lab::{Lab, verdict_of, wait_until};
use crate::live::Terminal;

const SERVER: &str = "python3 -m http.server {port} --bind {address}";
/// A server of Python's, on the port that it is given.
const IN_THE_CLEAR: &str = "import http.server, sys\n\
    http.server.test(http.server.SimpleHTTPRequestHandler, port=int(sys.argv[1]), bind='127.0.0.1')";
/// A server of Python behind OpenSSL, with a self-signed certificate.
const OVER_TLS: &str = "import http.server, ssl, subprocess, sys\n\
    subprocess.run('openssl req -x509 -newkey ed25519 -nodes -subj /CN=me -keyout key.pem -out own.pem'.split(), check=True)\n\
    server = http.server.ThreadingHTTPServer(('127.0.0.1', int(sys.argv[1])), http.server.SimpleHTTPRequestHandler)\n\
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)\n\
    tls.load_cert_chain('own.pem', 'key.pem')\n\
    server.socket = tls.wrap_socket(server.socket, server_side=True)\n\
    server.serve_forever()";
const COMPOSE: &str = "services:\n  web:\n    image: nginx\n    command: [nginx]\n    environment: { KEY: secret }\n    ports: ['127.0.0.1:8080:80']\n";
const KINDS: [&str; 4] = ["compare", "recovery", "capacity", "promise"];

/// Arguments that name a subject, and its counterpart in a comparison.
fn subjects() -> [(&'static str, &'static str); 7] {
    [
        ("http://127.0.0.1:8080", "http://127.0.0.1:8081"),
        ("http://127.0.0.1:8080/a", "http://127.0.0.1:8080/b"),
        ("http://192.0.2.7:8080", "http://127.0.0.1:8080"),
        ("https://127.0.0.1:8443", "https://127.0.0.1/"),
        ("docker-compose.yml:web", "http://127.0.0.1:9"),
        (SERVER, "python3 -m http.server {port}"),
        ("sort 'a b' | uniq", "true"),
    ]
}

#[test]
fn every_question_about_every_subject_makes_a_file_that_is_in_order() {
    let lab = Lab::new();
    lab.file("docker-compose.yml", COMPOSE);
    for (place, (subject, other)) in subjects().into_iter().enumerate() {
        for kind in KINDS {
            let file = format!("{kind}-{place}.toml");
            let mut words = vec!["new", &file, "--kind", kind, "--from", subject];
            if kind == "compare" {
                words.extend(["--from", other]);
            }
            let next = format!("plimsoll check {file} && plimsoll run {file}");
            lab.plimsoll(&words).exits(0).prints(&next);
            lab.plimsoll(&["check", &file]).exits(0).prints("is in order").prints("1 claim");
            let text = fs::read_to_string(lab.path(&file)).expect("it was written");
            assert!(text.contains("# Assumed: the bound of a good result"), "{text}");
            assert!(!text.contains("secret"), "{text}");
        }
    }
}

#[test]
fn the_answers_of_the_command_line_stand_in_the_file() {
    let lab = Lab::new();
    let output =
        lab.plimsoll(&["new", "-", "--from", "./server -p 80", "--port", "80", "--good", "7ms"]).exits(0);
    for line in
        ["exec = [\"./server\", \"-p\", \"80\"]", "port = 80", "below = \"7ms\"", "`--kind` was not given"]
    {
        assert!(output.stdout.contains(line), "{line}: {}", output.stdout);
    }
    assert!(!lab.path("experiment.toml").exists());
}

#[test]
fn what_no_experiment_can_be_made_of_is_refused_and_no_file_is_replaced() {
    let lab = Lab::new();
    lab.file("mine.toml", "mine");
    lab.file("c.yml", "services: { db: { image: postgres } }");
    for (words, why) in [
        (&["new", "mine.toml", "--from", "true"][..], "mine.toml already exists"),
        (&["new"], "there is no terminal to ask on"),
        (
            &["new", "--from", "https://127.0.0.1", "--from", "http://127.0.0.1", "--kind", "compare"],
            "one of the two addresses is https",
        ),
        (&["new", "--from", "true", "--kind", "compare"], "needs `--from` twice"),
        (&["new", "--from", "true", "--from", "http://127.0.0.1", "--kind", "compare"], "no mixture"),
        (&["new", "--from", "c.yml:db"], "publishes no TCP port"),
        (&["new", "--from", "c.yml:web"], "it has db"),
        (&["new", "--from", "true", "--good", "5%"], "expected a time"),
        (&["new", "--from", "run {prot}"], "nothing says what `{prot}` stands for"),
    ] {
        lab.plimsoll(words).exits(2).says(why).prints_nothing();
    }
    assert_eq!(fs::read_to_string(lab.path("mine.toml")).expect("it is there"), "mine");
    assert!(!lab.path("experiment.toml").exists());
}

#[test]
fn a_terminal_is_asked_four_questions_and_again_after_a_wrong_answer() {
    let lab = Lab::new();
    let file = lab.path("asked.toml");
    let command = format!("{} new {}", env!("CARGO_BIN_EXE_plimsoll"), file.display());
    let terminal = Terminal::start(&lab, 100, &command);
    for (question, answer) in [
        ("What do you want to know?", "five"),
        ("none of the four", "recovery"),
        ("What gets the load?", "./server"),
        ("On which port does it listen?", "8080"),
        ("How much may be lost for good?", ""),
    ] {
        terminal.wait_for(question);
        if !answer.is_empty() {
            terminal.press(answer);
        }
        terminal.press("Enter");
    }
    terminal.wait_for("exit status 0");
    let text = fs::read_to_string(&file).expect("it was written");
    for line in ["exec = [\"./server\"]", "port = 8080", "margin = \"20 %\""] {
        assert!(text.contains(line), "{line}: {text}");
    }
}

/// A server of Python on a free port of this machine, which ends with the test.
struct PythonServer(Child, u16);

impl PythonServer {
    fn start(lab: &Lab, script: &str) -> Self {
        let free = std::net::TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr());
        let port = free.expect("a port is free").port();
        let mut python = Command::new("python3");
        python.args(["-c", script, &port.to_string()]).current_dir(lab.folder());
        let child = python.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("python3 starts");
        let running = Self(child, port);
        wait_until("the server listens", || TcpStream::connect(("127.0.0.1", port)).is_ok());
        running
    }
}

impl Drop for PythonServer {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

#[test]
fn a_running_server_is_measured_and_left_as_it_is() {
    measured_and_left("http", IN_THE_CLEAR);
}

#[test]
fn a_running_server_with_a_certificate_of_its_own_is_measured_over_tls() {
    measured_and_left("https", OVER_TLS);
}

fn measured_and_left(scheme: &str, script: &str) {
    let lab = Lab::new();
    let server = PythonServer::start(&lab, script);
    let from = format!("{scheme}://127.0.0.1:{}/", server.1);
    lab.plimsoll(&["new", "--from", &from, "--good", "9s"]).exits(0).prints("--allow privileged");
    let quick = ["--set", "loads.clients.http.duration=500ms", "--format", "json", "--allow", "privileged"];
    let words = [&["run", "experiment.toml", "--reps", "1"][..], &quick].concat();
    let report = lab.plimsoll(&words).exits(0).json();
    assert_eq!(verdict_of(&report)["outcome"], "held");
    let phase = &report["trials"][0]["phases"][0];
    assert!(phase["figures"]["p90_ms"].as_f64().is_some_and(|time| time > 0.0), "{phase}");
    assert_eq!(phase["errors"], serde_json::json!({}), "{phase}");
    assert_eq!(phase["figures"].get("handshake_median_ms").is_some(), scheme == "https", "{phase}");
    assert!(TcpStream::connect(("127.0.0.1", server.1)).is_ok(), "the server still runs");
    drop(server);
    let gone = [&words[..], &["--set", "services.mine.ready={ within = \"300ms\" }"]].concat();
    lab.plimsoll(&gone).exits(3).says("no running server answered").says("start the server before the run");
}

#[test]
fn a_program_is_started_and_measured() {
    let lab = Lab::new();
    lab.plimsoll(&["new", "--from", SERVER, "--good", "9s"]).exits(0);
    let words = [
        "run",
        "experiment.toml",
        "--reps",
        "1",
        "--set",
        "loads.clients.http.duration=500ms",
        "--format",
        "json",
    ];
    let report = lab.plimsoll(&words).exits(0).json();
    assert_eq!(verdict_of(&report)["outcome"], "held");
}

#[test]
fn what_concerns_a_running_server_is_checked() {
    let lab = Lab::new();
    lab.plimsoll(&["new", "--from", "http://127.0.0.1:8080"]).exits(0);
    let text = fs::read_to_string(lab.path("experiment.toml")).expect("it was written");
    let killed =
        format!("{text}\n[[phases]]\nname = \"fault\"\ndo = [{{ kill = {{ service = \"mine\" }} }}]\n");
    let made = "question = \"?\"\n[hosts.a]\n[services.mine]\non = \"a\"\nport = 80\nrunning = {}\n\
                [loads.some]\nfrom = \"a\"\nto = \"mine\"\nhttp = { connections = 1 }\n\
                [[phases]]\nname = \"all\"\nmeasure = \"some\"\n";
    for (text, why) in [
        (text.replace("port = 8080\n", ""), "a running server has a port of its own"),
        (text.replace("running = {}", "running = {}\nenv = { A = \"b\" }"), "cannot set this"),
        (killed, "`mine` runs already, and Plimsoll leaves it as it is"),
        (made.to_owned(), "no server runs on it before the run starts"),
    ] {
        let file = lab.file("wrong.toml", &text);
        lab.plimsoll(&["check", &file]).exits(2).says(why);
    }
}
