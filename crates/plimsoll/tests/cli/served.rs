//! The stored runs as web pages.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

use crate::captured::STREAM;
use crate::lab::{Lab, Process, wait_until};
use crate::models::QUEUE;
use crate::stores::{SHORT, stored_runs};

/// A running server with its runs.
pub(crate) struct Server {
    pub(crate) lab: Lab,
    _running: Process,
    pub(crate) host: String,
    token: Option<String>,
}

/// A status and a whole answer, head and body.
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) text: String,
}

impl Response {
    pub(crate) fn body(&self) -> &str {
        self.text.split_once("\r\n\r\n").expect("a head and a body").1
    }
}

impl Server {
    /// A server with runs of the version before, one of which has a tag and a note with markup that must be escaped.
    fn start(options: &[&str]) -> Self {
        let lab = Lab::of_ordinary_user();
        let store = stored_runs(&lab);
        lab.plimsoll(&[
            "tag",
            "vks6tahx",
            "nightly",
            "--note",
            "<script>alert(1)</script>",
            "--store",
            &store,
        ])
        .exits(0);
        Self::of(lab, &format!("--store {store} {}", options.join(" ")))
    }

    /// A server with the runs of a lab.
    pub(crate) fn of(lab: Lab, words: &str) -> Self {
        let file = lab.path("address").display().to_string();
        let script = format!("exec \"$0\" serve --listen 127.0.0.1:0 {words} >{file}");
        let running = lab.start_script(&script);
        let mut address = String::new();
        wait_until("the address is printed", || {
            address = fs::read_to_string(&file).unwrap_or_default();
            address.ends_with('\n')
        });
        let rest = address.trim().strip_prefix("http://").expect("an address");
        let (host, query) = rest.split_once('/').expect("a path");
        let token = query.strip_prefix("?token=").map(ToOwned::to_owned);
        Self { lab, _running: running, host: host.to_owned(), token }
    }

    fn ask(&self, request: &str) -> Response {
        let mut stream = TcpStream::connect(&self.host).expect("it listens");
        stream.write_all(request.as_bytes()).expect("it reads");
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).expect("it answers and closes");
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let status = text.split(' ').nth(1).and_then(|code| code.parse().ok()).expect("a status");
        Response { status, text }
    }

    /// Imports `ab` output with these rates, and returns the id of the stored run.
    fn import(&self, name: &str, rates: [f64; 6]) -> String {
        let line = |rate| format!("Requests per second:    {rate} [#/sec] (mean)\n");
        let file = self.lab.file(name, &rates.map(line).concat());
        let words = ["import", &file, "--judge", "modes", "--store", "stored.sqlite"];
        let stderr = self.lab.plimsoll(&words).stderr;
        let (_, rest) = stderr.split_once("stored as ").expect("it is stored");
        rest.split(';').next().expect("an id").to_owned()
    }

    pub(crate) fn get(&self, path: &str) -> Response {
        self.ask(&format!("GET {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", self.host))
    }
}

#[test]
fn runs_are_listed_searched_shown_and_compared() {
    let server = Server::start(&[]);
    let all = server.get("/");
    assert_eq!(all.status, 200, "{}", all.text);
    for run in ["xbfcwz18", "vks6tahx", "pz91sh5w", "frr1yy2c"] {
        assert!(all.text.contains(run), "{run}");
        let page = server.get(&format!("/runs/{run}"));
        let report =
            server.lab.plimsoll(&["show", run, "--format", "json", "--store", "stored.sqlite"]).json();
        let question = report["question"].as_str().expect("a question");
        assert!(page.status == 200 && page.text.contains(question), "{run}");
        assert!(!page.text.contains("<script>"), "no script stands in a page");
    }
    let tagged = server.get("/?tag=nightly").text;
    assert!(tagged.contains("vks6tahx") && !tagged.contains("xbfcwz18"));
    let searched = server.get("/?q=ALERT").text;
    assert!(searched.contains("vks6tahx") && !searched.contains("xbfcwz18"));
    assert!(searched.contains("&lt;script&gt;alert(1)") && !searched.contains("<script>alert"), "{searched}");
    assert!(server.get("/?q=%22%3E%3Cscript%3Ex").text.contains("&quot;&gt;&lt;script&gt;x"));
    let both = server.get("/compare?a=xbfcwz18&b=vks6tahx").text;
    assert!(both.contains("not recovered") && both.contains("The experiments differ"), "{both}");
    assert_eq!(server.get("/compare?a=xbfcwz18").status, 400);
    assert_eq!(server.get("/compare?a=xbfcwz18&b=nothing").status, 404);
    let moved = server.get("/runs/xbfc");
    assert!(moved.status == 302 && moved.text.contains("location: /runs/xbfcwz18"), "{}", moved.text);
    assert!(server.get("/recording").text.contains("plimsoll serve --recording FILE"));
    assert!(server.get("/causes/net.delayed_ack").text.contains("net.delayed_ack"));
    history_and_machine(&server);
    for nowhere in ["/causes/no.such", "/runs/zzzz", "/no/such/page", "/assets/../etc/passwd"] {
        assert_eq!(server.get(nowhere).status, 404, "{nowhere}");
    }
}

/// The figures of an experiment are drawn run by run, and the machine as its weeks are kept.
fn history_and_machine(server: &Server) {
    let name = "flood-relay-leaky-service";
    let page = format!("/experiments/{name}");
    let output = server.lab.plimsoll(&["history", name, "--changes", "--store", "stored.sqlite"]).exits(0);
    output.prints("claim 1, recovery: connections per second: 1 run, the newest 0.275 ratio");
    let drawn = server.get(&page).text;
    assert!(drawn.contains("figure-1-data"), "{drawn}");
    assert_eq!(server.get("/experiments/no/such").status, 404);
    assert!(server.get("/experiments").text.contains(&page));
    assert!(server.get("/machine").text.contains("plimsoll watch --unit"), "nothing is kept yet");
    let weeks = server.lab.path("weeks.sqlite").display().to_string();
    server.lab.plimsoll(&["watch", "--keep", "2d", "--into", &weeks, "--count", "3"]).exits(0);
    let machine = server.get("/machine?span=day");
    assert!(machine.status == 200 && machine.text.contains("series-1-data"), "{}", machine.text);
    assert_eq!(server.get("/machine?series=no.such").status, 404);
}

#[test]
fn what_was_imported_is_listed_shown_and_compared_with_what_was_measured() {
    let server = Server::start(&[]);
    let before = server.import("<i>before.txt", [219.1, 221.4, 220.2, 218.9, 220.7, 219.8]);
    let after = server.import("after.txt", [48.2, 47.9, 48.4, 48.1, 47.7, 48.3]);
    let all = server.get("/").text;
    assert!(all.contains(&before) && all.contains("&lt;i&gt;before.txt") && !all.contains("<i>"), "{all}");
    let page = server.get(&format!("/runs/{before}"));
    assert_eq!(page.status, 200, "{}", page.text);
    for part in [
        "221.4",
        "requests_per_second",
        "read as ab",
        "id=\"content\"",
        "plimsoll import",
        "aria-label=\"Site\"",
    ] {
        assert!(page.text.contains(part), "{part}: {}", page.text);
    }
    assert!(!page.text.contains("<i>before"));
    let both = server.get(&format!("/compare?a={before}&b={after}"));
    assert!(both.status == 200 && both.text.contains("<h2>Slower</h2>"), "{} {}", both.status, both.text);
    let [back, measured] =
        [format!("/compare?a={after}&b={before}"), format!("/compare?a={after}&b=xbfcwz18")];
    assert!(server.get(&back).text.contains("<h2>Faster</h2>"));
    // A run of connections per second has no figure of that name: the page says so, and the server goes on.
    let refused = server.get(&measured);
    assert!(refused.status == 400 && refused.text.contains("requests_per_second"), "{}", refused.text);
}

#[test]
fn requests_that_never_end_keep_nobody_out() {
    let server = Server::start(&[]);
    let half_open: Vec<TcpStream> = (0..140)
        .map(|_| {
            let mut stream = TcpStream::connect(&server.host).expect("it listens");
            stream.write_all(b"GET / HTTP/1.1\r\nHost: local").expect("it reads");
            stream
        })
        .collect();
    // More connections than it takes at a time; each is closed after ten seconds.
    assert_eq!(server.get("/").status, 200);
    drop(half_open);
}

#[test]
fn a_strange_name_another_method_and_a_missing_token_are_refused() {
    let server = Server::start(&[]);
    let ask =
        |server: &Server, head: &str| server.ask(&format!("{head}\r\nConnection: close\r\n\r\n")).status;
    assert_eq!(ask(&server, "GET / HTTP/1.1\r\nHost: evil.example"), 421);
    assert_eq!(ask(&server, "GET / HTTP/1.1\r\nHost: localhost"), 200);
    assert_eq!(ask(&server, "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0"), 405);
    let policy = server.get("/").text.to_lowercase();
    assert!(policy.contains("content-security-policy: default-src 'none'; script-src 'self'"), "{policy}");

    let secret = server.lab.file("token", "0123456789abcdef0123\n");
    let guarded = Server::start(&["--token-file", &secret]);
    let token = guarded.token.as_deref().expect("the address has the token");
    assert_eq!(guarded.get("/").status, 401);
    assert_eq!(guarded.get("/assets/style.css").status, 401);
    let entered = guarded.get(&format!("/?token={token}"));
    assert!(entered.status == 303 && entered.text.contains("HttpOnly; SameSite=Strict"), "{}", entered.text);
    let with =
        |cookie: &str| ask(&guarded, &format!("GET / HTTP/1.1\r\nHost: localhost\r\nCookie: {cookie}"));
    let cookie = entered.text.lines().find_map(|line| line.strip_prefix("set-cookie: ")).expect("a cookie");
    let (cookie, _) = cookie.split_once(';').expect("attributes");
    let port = guarded.host.rsplit(':').next().expect("a port");
    assert!(cookie.starts_with(&format!("plimsoll-{port}=")) && !cookie.contains(token), "{cookie}");
    assert_eq!(with(cookie), 200);
    assert_eq!(with(&format!("plimsoll-{port}={token}")), 401);
    let short = server.lab.file("short", "secret");
    server.lab.plimsoll(&["serve", "--token-file", &short]).exits(2).says("at least 16 letters");
}

/// Folder of `cargo xtask test` for the packages of npm.
const PACKAGES: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/npm/node_modules");
const LOOK: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cli/look.cjs");

/// Findings of `look.cjs` on pages, as it prints them: `{}` without faults.
pub(crate) fn seen_in_chromium(addresses: &[String]) -> String {
    seen_in("light,dark", addresses)
}

fn seen_in(schemes: &str, addresses: &[String]) -> String {
    let mut node = Command::new("node");
    node.arg(LOOK).args(["/usr/bin/chromium", "-", schemes]).args(addresses).env("NODE_PATH", PACKAGES);
    let output = node.output().expect("node starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

#[test]
#[ignore = "needs chromium, node and packages of npm; cargo xtask test has them"]
fn pages_are_sound_in_a_browser_at_all_widths_in_light_and_dark() {
    let maker = Lab::new();
    let recording = maker.path("it.jsonl.gz").display().to_string();
    maker.plimsoll(&["record", "--for", "8s", "-o", &recording]).exits(0);
    // The server is another user's.
    for (path, mode) in [(maker.folder().to_owned(), 0o755), (recording.clone().into(), 0o644)] {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("allowed");
    }
    let server = Server::start(&["--recording", &recording]);
    let weeks = server.lab.path("weeks.sqlite").display().to_string();
    server.lab.plimsoll(&["watch", "--keep", "2d", "--into", &weeks, "--count", "2"]).exits(0);
    let paths = [
        "/recording",
        "/experiments",
        "/experiments/limit",
        "/machine?span=day",
        "/",
        "/runs/xbfcwz18",
        "/runs/pz91sh5w",
        "/compare?a=xbfcwz18&b=vks6tahx",
        "/causes",
        "/causes/net.rto",
    ];
    let mut addresses: Vec<String> = paths.map(|path| format!("http://{}{path}", server.host)).to_vec();
    let before = server.import("before.txt", [219.1, 221.4, 220.2, 218.9, 220.7, 219.8]);
    let after = server.import("after.txt", [48.2, 47.9, 48.4, 48.1, 47.7, 48.3]);
    for path in [format!("/runs/{before}"), format!("/compare?a={before}&b={after}")] {
        addresses.push(format!("http://{}{path}", server.host));
    }
    let alone: PathBuf = server.lab.path("alone.html");
    let shown = server.lab.plimsoll(&["show", "xbfcwz18", "--format", "html", "--store", "stored.sqlite"]);
    fs::write(&alone, &shown.exits(0).stdout).expect("allowed");
    addresses.push(format!("file://{}", alone.display()));
    assert_eq!(seen_in_chromium(&addresses), "{}");
}

/// Two levels of a factor.
const CLIENTS: &str = r#"
[factors.clients]
set = "services.web.web.clients"
levels = [1, 8]
[[claims]]
difference = { phase = "all", factor = "clients", expect = "any" }
[[claims]]
difference = { phase = "all", factor = "clients", metric = "p99_ms", expect = "any" }
[run]
max_trials = 3
"#;

/// A second factor, with which the first may interact.
const DOCUMENTS: &str = r#"
[factors.document]
set = "services.web.web.document"
levels = ["100", "10k", "100k"]
[[claims]]
interaction = { phase = "all", factors = ["clients", "document"] }
"#;

/// Recovery pages are in the test above.
#[test]
#[ignore = "needs chromium, node and packages of npm; cargo xtask test has them"]
fn pages_of_differences_factors_load_curves_and_streams_are_arranged_at_all_widths() {
    let lab = Lab::of_ordinary_user();
    let short = SHORT.replace("[run]\nmax_trials = 1\n", "");
    let experiments = [
        ("difference.toml", format!("{short}{CLIENTS}")),
        ("factors.toml", format!("{short}{CLIENTS}{DOCUMENTS}")),
        ("curve.toml", QUEUE.replace("5s", "2s")),
        ("stream.toml", STREAM.replace("16000", "160000")),
    ];
    let runs = experiments.map(|(name, text)| {
        let report = lab.plimsoll(&["run", &lab.file(name, &text), "--yes", "--format", "json"]).json();
        report["run"].as_str().expect("an id").to_owned()
    });
    let server = Server::of(lab, "");
    let page = server.get(&format!("/runs/{}", runs[0])).text;
    for chart in ["pairs-1", "pairs-2", "sides-times-1"] {
        assert!(page.contains(&format!("<figure id=\"{chart}\"")), "{chart}");
    }
    let page = server.get(&format!("/runs/{}", runs[1])).text;
    for part in ["<figure id=\"levels-1\"", "clients 1", "clients 8"] {
        assert!(page.contains(part), "{part}");
    }
    let both = format!("/compare?a={}&b={}", runs[0], runs[1]);
    assert!(server.get(&both).text.contains("<figure id=\"sides-times-1\""), "two runs share a chart");
    let pages = runs.iter().map(|run| format!("/runs/{run}")).chain([both]);
    let addresses: Vec<String> = pages.map(|path| format!("http://{}{path}", server.host)).collect();
    assert_eq!(seen_in("light", &addresses), "{}");
}
